"""`create_app`: the HTTP interface of some models."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cladist._version import __version__
from cladist.server import annif_routes, browsing_routes, feedback_routes, label_studio_routes, model_routes
from cladist.server.counters import Share
from cladist.server.evaluation import LabelledRows, evaluate
from cladist.server.failures import add_handlers
from cladist.server.findings import Finding
from cladist.server.guard import Guard
from cladist.server.offline import explorer_script, explorer_style
from cladist.server.served import ServedModel
from cladist.server.settings import Settings
from cladist.server.slots import Slot, Slots
from cladist.server.stored_evaluation import stored_evaluation
from cladist.server.versions import Watch, load_version, signature_of

LOGGER = logging.getLogger("cladist.server")
ROUTERS = (model_routes.router, browsing_routes.router, feedback_routes.router, annif_routes.router)
LABEL_STUDIO = (label_studio_routes.router, label_studio_routes.predict_router)
STATIC = Path(__file__).with_name("static")
FIRST_NUMBERS = "taxonomy/arrays?packed=true&amp;columns=parent,support,f1"  # as source.js asks for them
DESCRIPTION = """Hierarchical classification over HTTP: predictions with paths, probabilities and decisions,
explanations, and the taxonomy with the numbers of each node."""


def create_app(
    models: Mapping[str, Any],
    settings: Settings | None = None,
    *,
    data: LabelledRows | None = None,
    share: Share | None = None,
    findings: Sequence[Finding] = (),
) -> FastAPI:
    """Return the web application that answers for some models.

    Parameters
    ----------
    models : mapping of str to path, learner, Pipeline or ServedModel
        The models by name, the first one of which is the default; paths are folders that `cladist.save` wrote.
    settings : Settings, optional
        Who may ask, and how much.
    data : LabelledRows, optional
        Rows whose predictions the numbers of nodes are computed from, for each model that takes them; without, the
        evaluation that ``cladist evaluate --store`` wrote beside a model.
    share : Share, optional
        Where several processes of one server count.
    findings : sequence of Finding, optional
        What ``cladist doctor`` has found, to be shown at its nodes; see `read_findings`.

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
    for slot in slots.by_name.values():
        add_evaluation(slot.model, slot.folder, data)
    watch = Watch(
        list(slots.by_name.values()),
        settings.reload_every,
        lambda slot, model: add_evaluation(model, slot.folder, data),
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.is_ready = True
        watch.start()
        yield
        app.state.is_ready = False
        watch.stop()
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
    app.state.findings = list(findings)
    for router in ROUTERS:
        app.include_router(router)
    for prefix in ("/label-studio", "/label-studio/{model}"):
        for router in LABEL_STUDIO:
            app.include_router(router, prefix=prefix, include_in_schema=prefix == "/label-studio")
    app.include_router(label_studio_routes.router, include_in_schema=False)  # its /predict is told apart by its body
    for name, kind, content in page_files():
        app.add_route(f"/static/{name}", fixed_answer(content, kind), include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC, packages=[("cladist.report", "static")]), name="static")

    app.add_route("/", fixed_answer(page_html(is_open=settings.is_open), "text/html"), include_in_schema=False)
    add_handlers(app)
    counters = (share or Share()).counters(route_paths(), list(slots.by_name))
    for slot in slots.by_name.values():
        slot.counters = counters
    app.state.counters = counters
    app.add_middleware(Guard, settings=settings, counters=counters)
    return app


def page_files() -> Iterator[tuple[str, str, str]]:
    """Yield name, type and text of the script and the style of the explorer, each joined from the files in `static`."""
    yield "all.js", "text/javascript", explorer_script()
    yield "all.css", "text/css", explorer_style()


def page_html(*, is_open: bool) -> str:
    """Return the page; where reading needs no token, it asks for the numbers of the first picture at once."""
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    if not is_open:
        return text
    preload = f'<link rel="preload" as="fetch" crossorigin href="{FIRST_NUMBERS}">\n</head>'
    return text.replace("<html ", "<html data-open ").replace("</head>", preload)


def fixed_answer(content: str, kind: str) -> Callable[[Request], Response]:
    """Return a route that always answers the same text."""
    body = content.encode("utf-8")

    def answer(_: Request) -> Response:
        return Response(body, media_type=kind, headers={"Cache-Control": "no-cache"})

    return answer


def route_paths() -> list[str]:
    """Return the paths of the routes that are counted, in a fixed order."""
    routes = [route for router in (*ROUTERS, *LABEL_STUDIO) for route in router.routes if isinstance(route, Route)]
    return sorted({"/", *(route.path for route in routes)})


def add_evaluation(model: ServedModel, folder: Path | None, data: LabelledRows | None) -> None:
    """Add an evaluation to a model: on the data, unless it takes other rows or has other labels, or the stored one."""
    try:
        if data is not None:
            model.evaluation = evaluate(model.model, data)
        elif folder is not None:
            model.evaluation = stored_evaluation(folder, model.version, model.learner)
    except ValueError as problem:
        LOGGER.warning("A model has no evaluation, and is served without the numbers of nodes: %s", problem)


def _slot(name: str, model: Any, settings: Settings) -> Slot:
    if not isinstance(model, str | Path):
        return Slot(name, model if isinstance(model, ServedModel) else ServedModel(model), settings)
    folder = Path(model)
    signature = signature_of(folder)
    slot = Slot(name, load_version(folder, mmap=settings.mmap), settings, folder)
    slot.signature = signature
    return slot
