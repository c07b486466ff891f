"""Models in MLflow's folders: what is saved is loaded, by MLflow and by cladist."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cladist
from cladist import Hieron, TextClassifier
from cladist.errors import ModelFormatError, ParameterError
from cladist.mlflow import PyfuncModel

TREE = {"tennis": "sport", "chess": "sport", "tea": "food"}
TEXTS = ["ball and net", "king and rook", "hot water"]


@pytest.fixture
def texts() -> Any:
    return TextClassifier("top-down", taxonomy=TREE).fit(TEXTS, ["tennis", "chess", "tea"])


def test_a_frame_has_one_row_per_label(texts: Any) -> None:
    model = PyfuncModel(texts, {"text": ["title", "body"]})
    frame = model.predict(pd.DataFrame({"title": ["ball", "hot"], "body": ["net", None], "other": ["x", "y"]}))
    assert frame["label"].tolist() == texts.predict(["ball net", "hot "]).tolist()
    assert frame["path"].tolist() == ["sport > tennis", "food > tea"]
    best = model.predict(["a net", "rook"], params={"top_k": 2})
    labels, scores = texts.predict_top_k(["a net", "rook"], 2)
    assert best["label"].tolist() == labels.ravel().tolist()
    assert best["score"].tolist() == pytest.approx(scores.ravel())
    assert best["row"].tolist() == [0, 0, 1, 1]


def test_rows_of_numbers_are_taken_as_they_are() -> None:
    model = Hieron(TREE).fit([[0.0, 1.0], [1.0, 0.0]], ["tea", "chess"])
    assert PyfuncModel(model, {}).predict(np.array([[0.0, 2.0]]))["label"].tolist() == ["tea"]


def test_mlflow_loads_what_is_saved(tmp_path: Path, texts: Any) -> None:
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    from cladist import mlflow as flavor

    flavor.save_model(texts, tmp_path / "m", metadata={"a": 1})
    assert cladist.load(tmp_path / "m" / flavor.FOLDER).predict(["a net"]).tolist() == ["tennis"]
    assert flavor.load_model(str(tmp_path / "m")).predict(["a net"]).tolist() == ["tennis"]
    loaded = pyfunc.load_model(str(tmp_path / "m"))
    assert loaded.predict(["a net"])["label"].tolist() == ["tennis"]
    assert loaded.metadata.flavors["cladist"]["cladist_version"] == cladist.__version__
    with pytest.raises(ModelFormatError, match="not empty"):
        flavor.save_model(texts, tmp_path / "m")
    with pytest.raises(ParameterError, match="code_paths"):
        flavor.save_model(texts, tmp_path / "n", code_paths=["x"])
    assert not list(tmp_path.rglob("*.pkl"))
