"""An evaluation beside a model is shown by the server, as long as it is of that version and whole."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cladist
from cladist.errors import ModelFormatError
from cladist.persistence.models import save
from cladist.server import LabelledRows
from cladist.server.evaluation import evaluate
from cladist.server.stored_evaluation import place_of, store_evaluation, stored_evaluation
from cladist.server.versions import version_of
from cladist.storage import read_folder, write_folder
from tests.cli.conftest import call
from tests.server.conftest import LABELS, TEXTS, Serve

ROWS = LabelledRows(np.array(TEXTS, dtype=object), LABELS, TEXTS)


@pytest.fixture
def folder(tmp_path: Path, calibrated: Any) -> Path:
    save(calibrated, tmp_path / "model", notes={"text": ["words"], "label": "topic"})
    return tmp_path / "model"


def test_what_is_stored_is_shown(serve: Serve, folder: Path, tmp_path: Path) -> None:
    table = "words,topic\n" + "".join(f"{text},{label}\n" for text, label in zip(TEXTS, LABELS, strict=True))
    (tmp_path / "test.csv").write_text(table)
    result = call("evaluate", folder, tmp_path / "test.csv", "--store")
    assert result.exit_code == 0, result.stderr
    stored, fresh = serve({"m": folder}), serve({"m": folder}, data=ROWS)
    for path in ("/taxonomy/arrays", "/nodes/2", "/automation"):
        assert stored.get(path).json() == fresh.get(path).json()
    assert stored.get("/automation").json()["source"] == "evaluation"


def test_that_of_another_version_is_not_shown(serve: Serve, folder: Path, online_folder: Path) -> None:
    model = cladist.load(folder)
    store_evaluation(evaluate(model, ROWS), folder, version_of(folder))
    assert serve({"m": folder}).get("/model").json()["models"][0]["evaluation"]["rows"] == len(TEXTS)
    save(cladist.load(online_folder), folder)
    assert serve({"m": folder}).get("/model").json()["models"][0]["evaluation"] is None


def test_a_damaged_one_is_reported_and_not_shown(serve: Serve, folder: Path, caplog: Any) -> None:
    store_evaluation(evaluate(cladist.load(folder), ROWS), folder, version_of(folder))
    (arrays,) = place_of(folder).glob("*.safetensors")
    arrays.write_bytes(arrays.read_bytes()[:-1])
    assert serve({"m": folder}).get("/model").json()["models"][0]["evaluation"] is None
    assert "truncated" in caplog.text


@pytest.mark.parametrize("name", ["truth/indptr", "predicted/indices", "texts/offsets", "probabilities/columns"])
def test_parts_that_do_not_fit_together_are_refused(folder: Path, name: str) -> None:
    store_evaluation(evaluate(cladist.load(folder), ROWS), folder, version_of(folder))
    content, arrays = read_folder(place_of(folder))
    for altered in ({name: arrays[name][:-1]}, {name: arrays[name] + 100}):
        shutil.rmtree(place_of(folder))
        write_folder(place_of(folder), content, arrays | altered)
        with pytest.raises(ModelFormatError):
            stored_evaluation(folder, version_of(folder), cladist.load(folder)[-1])
