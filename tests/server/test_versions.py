"""A new version saved to the folder of a model takes its place, and no request is dropped."""

import logging
import threading
from pathlib import Path
from typing import Any

import pytest

import cladist
from cladist import TextClassifier
from cladist.persistence.models import save
from cladist.server.versions import Watch, version_of
from tests.server.conftest import AUTHORISED, LABELS, TEXTS, Serve, taxonomy


def other_model() -> Any:
    return TextClassifier("hieron", taxonomy=taxonomy()).partial_fit(TEXTS, LABELS[::-1])


@pytest.fixture
def folder(tmp_path: Path, online_folder: Path) -> Path:
    save(cladist.load(online_folder), tmp_path / "model")
    return tmp_path / "model"


def watch_of(client: Any) -> tuple[Watch, Any]:
    slot = client.app.state.slots.default
    return Watch([slot], 0.0), slot


def test_what_is_saved_is_served(serve: Serve, folder: Path) -> None:
    client = serve({"m": folder}, reload_every=0.0)
    watch, slot = watch_of(client)
    ask = {"texts": TEXTS}
    before = client.post("/predict", json=ask).json()
    assert before["version"] == version_of(folder)
    assert not watch.look(slot)
    save(other_model(), folder)
    assert watch.look(slot)
    after = client.post("/predict", json=ask).json()
    assert after["version"] == version_of(folder) != before["version"]
    assert [row["label"] for row in after["predictions"]] == other_model().predict(TEXTS).tolist()
    assert 'cladist_reloads_total{model="m"} 1' in client.get("/metrics").text


def test_a_new_version_learns_the_corrections_of_the_log(serve: Serve, folder: Path, tmp_path: Path) -> None:
    client = serve({"m": folder}, reload_every=0.0)
    watch, slot = watch_of(client)
    correction = {"id": "1", "text": "quantum", "labels": ["tea"]}
    client.post("/feedback", json=correction, headers=AUTHORISED)
    save(other_model(), folder)
    assert watch.look(slot)
    expected = other_model().partial_fit(["quantum"], ["tea"])
    row = client.post("/predict", json={"texts": ["quantum"]}).json()["predictions"][0]
    score = expected.predict_top_k(["quantum"], 1)[1][0, 0]
    assert row["candidates"][0]["score"] == pytest.approx(score, rel=1e-5)
    # One that was saved after it learnt them does not learn them again.
    save(slot.learning.model.model, folder, notes=slot.learning.notes())
    assert watch.look(slot)
    assert client.post("/predict", json={"texts": ["quantum"]}).json()["predictions"][0] == row


def test_what_cannot_be_served_is_reported_and_the_old_version_stays(
    serve: Serve, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve({"m": folder}, reload_every=0.0)
    watch, slot = watch_of(client)
    (folder / "manifest.json").write_text("{}")
    with caplog.at_level(logging.ERROR):
        assert not watch.look(slot)
        assert not watch.look(slot)
    assert len(caplog.records) == 1
    assert client.post("/predict", json={"texts": TEXTS}).status_code == 200


def test_no_request_is_dropped_while_versions_change(serve: Serve, folder: Path) -> None:
    client = serve({"m": folder}, reload_every=0.01)
    models, versions, answers = [cladist.load(folder), other_model()], set(), []
    expected = [model.predict(TEXTS).tolist() for model in models]
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            answers.append(client.post("/predict", json={"texts": TEXTS}))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in range(1, 200):
        save(models[k % 2], folder)
        while len(answers) < 5 * k:
            assert all(thread.is_alive() for thread in threads)
        versions = {answer.json()["version"] for answer in list(answers)}
        if k >= 4 and len(versions) == 2:
            break
    stop.set()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {200}
    assert len(versions) == 2
    for answer in answers:  # each is of one version, wholly
        assert [row["label"] for row in answer.json()["predictions"]] in expected
