"""`create_app`: the HTTP interface of some models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.responses import FileResponse

from cladist._version import __version__
from cladist.server import browsing_routes, model_routes
from cladist.server.evaluation import Evaluation
from cladist.server.failures import add_handlers
from cladist.server.guard import Guard
from cladist.server.served import ServedModel
from cladist.server.settings import Settings
from cladist.server.slots import Slot, Slots

STATIC = Path(__file__).with_name("static")
DESCRIPTION = """Hierarchical classification over HTTP: predictions with paths, probabilities and decisions,
explanations, and the taxonomy with the numbers of each node."""


def create_app(
    models: Mapping[str, Any], settings: Settings | None = None, *, evaluations: Mapping[str, Evaluation] | None = None
) -> FastAPI:
    """Return the web application that answers for some models.

    Parameters
    ----------
    models : mapping of str to path, learner, Pipeline or ServedModel
        The models by name, the first one of which is the default; paths are folders that `cladist.save` wrote.
    settings : Settings, optional
        Who may ask, and how much.
    evaluations : mapping of str to Evaluation, optional
        The predictions of models for labelled rows, which numbers of nodes are computed from.

    Examples
    --------
    >>> from cladist import TextClassifier
    >>> model = TextClassifier("top-down", taxonomy={"tennis": "sport", "chess": "sport", "tea": "food"})
    >>> model = model.fit(["ball and net", "king and rook", "hot water"], ["tennis", "chess", "tea"])
    >>> from fastapi.testclient import TestClient
    >>> with TestClient(create_app({"topics": model}), base_url="http://localhost") as client:
    ...     answer = client.post("/predict", json={"texts": ["a net"]}).json()
    >>> answer["predictions"][0]["label"]
    'tennis'
    """
    settings = settings or Settings()
    slots = Slots([_slot(name, model, settings) for name, model in models.items()])
    for name, evaluation in (evaluations or {}).items():
        slots.find(name).evaluation = evaluation

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.is_ready = True
        yield
        app.state.is_ready = False
        slots.stop()

    app = FastAPI(
        title="cladist",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
    )
    app.state.slots, app.state.settings, app.state.is_ready = slots, settings, False
    app.include_router(model_routes.router)
    app.include_router(browsing_routes.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    add_handlers(app)
    app.add_middleware(Guard, settings=settings)
    return app


def _slot(name: str, model: Any, settings: Settings) -> Slot:
    if isinstance(model, ServedModel):
        return Slot(name, model, settings)
    if isinstance(model, str | Path):
        return Slot(name, ServedModel.load(Path(model)), settings, Path(model))
    return Slot(name, ServedModel(model), settings)
