"""Small models, and servers that answer in the process of the tests."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import cladist
from cladist import Hieron, Taxonomy, TextClassifier
from cladist.persistence.models import save
from cladist.server import LabelledRows, Settings, create_app

TOKEN = "a token of the tests".replace(" ", "-")
AUTHORISED = {"authorization": f"Bearer {TOKEN}"}
TREE = {"tennis": "sport", "chess": "sport", "tea": "food", "soup": "food", "sport": None, "food": None}
TEXTS = ["ball and net", "a net and a racket", "king and rook", "pawn takes rook", "hot water and leaves"]
TEXTS += ["a cup with leaves", "carrots in hot water", "a bowl of carrots"]
LABELS = ["tennis", "tennis", "chess", "chess", "tea", "tea", "soup", "soup"]
Serve = Callable[..., TestClient]


def taxonomy() -> Taxonomy:
    return Taxonomy.from_parents(TREE, titles={"tennis": "Tennis & <b>rackets</b>"})


@pytest.fixture(scope="session")
def calibrated() -> Any:
    model = TextClassifier("top-down", taxonomy=taxonomy(), calibrate=True)
    return model.fit(TEXTS * 6, LABELS * 6)


@pytest.fixture(scope="session")
def online_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that learns row by row, saved."""
    model = TextClassifier("hieron", taxonomy=taxonomy())
    model.partial_fit(TEXTS, LABELS)
    folder = tmp_path_factory.mktemp("models") / "online"
    save(model, folder)
    return folder


@pytest.fixture(scope="session")
def numbers() -> Any:
    return Hieron(taxonomy()).partial_fit(
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]], ["tennis", "chess", "tea"]
    )


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Return a function that starts a server of some models and returns a client of it."""
    with ExitStack() as resources:

        def start(models: dict[str, Any], data: LabelledRows | None = None, **settings: Any) -> TestClient:
            app = create_app(models, Settings(**{"token": TOKEN, "feedback": tmp_path, **settings}), data=data)
            return resources.enter_context(TestClient(app, base_url="http://localhost"))

        yield start


def loaded(folder: Path) -> Any:
    return cladist.load(folder)
