"""Corrections are kept before they are acknowledged, learnt at once and once, and learnt again from the log."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cladist
from cladist.persistence.models import load_noted, save
from cladist.server.feedback_log import FeedbackLog
from cladist.server.learner import Learning
from cladist.server.served import ServedModel
from cladist.storage import read_folder
from tests.server.conftest import AUTHORISED, TOKEN, Serve

CORRECTIONS = [
    {"id": f"c{k}", "text": text, "labels": [label]}
    for k, (text, label) in enumerate(
        [("quantum kettle", "tea"), ("a net of rooks", "chess"), ("quantum soup", "soup"), ("food", "food")] * 3
    )
]


def weights(folder: Path) -> dict[str, Any]:
    """Return the arrays of a model's folder."""
    return read_folder(folder)[1]


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_a_correction_is_learnt_at_once_and_once(serve: Serve, online_folder: Path) -> None:
    client = serve({"online": online_folder})
    ask = {"texts": ["quantum kettle"]}
    before = client.post("/predict", json=ask).json()["predictions"][0]["candidates"][0]["score"]
    first, second = (client.post("/feedback", json=CORRECTIONS[0], headers=AUTHORISED).json() for _ in range(2))
    assert (first["learnt"], first["duplicate"], first["sequence"]) == (True, False, 1)
    assert (second["learnt"], second["duplicate"], second["sequence"]) == (True, True, 1)
    expected = cladist.load(online_folder)
    assert expected.predict_top_k(ask["texts"], 1)[1][0, 0] == pytest.approx(before, rel=1e-5)
    expected.partial_fit([CORRECTIONS[0]["text"]], CORRECTIONS[0]["labels"])
    after = client.post("/predict", json=ask).json()["predictions"][0]
    assert after["label"] == "tea" == expected.predict(ask["texts"])[0]
    assert after["candidates"][0]["score"] == pytest.approx(expected.predict_top_k(ask["texts"], 1)[1][0, 0], rel=1e-5)
    assert client.get("/model").json()["models"][0]["feedback"] == {"log": True, "learnt": 1}


def test_the_model_after_replay_equals_the_live_one(serve: Serve, online_folder: Path, tmp_path: Path) -> None:
    client = serve({"online": online_folder})
    for correction in CORRECTIONS:
        assert client.post("/feedback", json=correction, headers=AUTHORISED).json()["learnt"]
    live = client.app.state.slots.default.learning  # type: ignore[attr-defined]
    save(live.model.model, tmp_path / "live", notes=live.notes())
    replayed = Learning(ServedModel(*load_noted(online_folder)[:2]), FeedbackLog(tmp_path / "online.feedback"))
    assert replayed.catch_up() == len(CORRECTIONS)
    save(replayed.model.model, tmp_path / "replayed", notes=replayed.notes())
    assert same(weights(tmp_path / "live"), weights(tmp_path / "replayed"))
    assert not same(weights(tmp_path / "live"), weights(online_folder))
    # What it has learnt is noted in it: replayed again, it stays the same.
    again = Learning(ServedModel(*load_noted(tmp_path / "replayed")[:2]), FeedbackLog(tmp_path / "online.feedback"))
    assert again.catch_up() == 0


def test_a_server_that_starts_again_knows_what_it_learnt(serve: Serve, online_folder: Path) -> None:
    client = serve({"online": online_folder})
    for correction in CORRECTIONS:
        client.post("/feedback", json=correction, headers=AUTHORISED)
    ask = {"texts": ["quantum", "a net of rooks"], "top_k": 4}
    answer = client.post("/predict", json=ask).json()["predictions"]
    assert serve({"online": online_folder}).post("/predict", json=ask).json()["predictions"] == answer


def test_two_servers_of_one_log_learn_from_each_other(serve: Serve, online_folder: Path) -> None:
    one, other = serve({"online": online_folder}), serve({"online": online_folder})
    for k, correction in enumerate(CORRECTIONS):
        (one, other)[k % 2].post("/feedback", json=correction, headers=AUTHORISED)
    again = other.post("/feedback", json=CORRECTIONS[0], headers=AUTHORISED).json()
    assert (again["duplicate"], again["sequence"]) == (True, 1)
    ask = {"texts": ["quantum", "a net of rooks"], "top_k": 4}
    answers = [client.post("/predict", json=ask).json()["predictions"] for client in (one, other)]
    assert answers[0] == answers[1]


def test_a_model_that_cannot_learn_keeps_corrections(serve: Serve, calibrated: Any, tmp_path: Path) -> None:
    client = serve({"topics": calibrated})
    answer = client.post("/feedback", json=CORRECTIONS[0], headers=AUTHORISED).json()
    assert (answer["learnt"], answer["sequence"]) == (False, 1)
    assert len(list(FeedbackLog(tmp_path / "topics.feedback").read())) == 1


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"text": "a", "labels": ["tenis"]}, 422, "tennis"),
        ({"text": "a", "labels": []}, 422, "one label"),
        ({"text": "a", "labels": ["tea", "soup"]}, 422, "one label"),
        ({"labels": ["tea"]}, 422, "either"),
        ({"text": "a", "row": {}, "labels": ["tea"]}, 422, "either"),
        ({"row": {"0": 1}, "labels": ["tea"]}, 422, "text columns"),
        ({"id": "", "text": "a", "labels": ["tea"]}, 422, "id"),
        ({"text": "a" * 200_000, "labels": ["tea"]}, 422, "characters"),
        ({"text": "a", "labels": ["tea"], "model": "x"}, 404, "x"),
    ],
)
def test_what_is_refused_is_not_kept(
    serve: Serve, online_folder: Path, tmp_path: Path, body: Any, status: int, word: str
) -> None:
    answer = serve({"online": online_folder}).post("/feedback", json=body, headers=AUTHORISED)
    assert answer.status_code == status
    assert word in answer.json()["detail"]
    assert not (tmp_path / "online.feedback").exists()


def test_an_id_of_another_correction_is_a_conflict(serve: Serve, online_folder: Path) -> None:
    client = serve({"online": online_folder})
    client.post("/feedback", json=CORRECTIONS[0], headers=AUTHORISED)
    other = CORRECTIONS[0] | {"labels": ["soup"]}
    assert client.post("/feedback", json=other, headers=AUTHORISED).status_code == 409


def test_a_damaged_log_takes_no_corrections_and_predictions_go_on(
    serve: Serve, online_folder: Path, tmp_path: Path
) -> None:
    client = serve({"online": online_folder})
    for correction in CORRECTIONS[:3]:
        client.post("/feedback", json=correction, headers=AUTHORISED)
    path = tmp_path / "online.feedback"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[2], lines[1]]))
    answer = client.post("/feedback", json=CORRECTIONS[3], headers=AUTHORISED)
    assert answer.status_code == 503
    assert "checksum" in answer.json()["detail"]
    assert client.post("/predict", json={"texts": ["a net"]}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": "Bearer "}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": TOKEN},
     {"authorization": "Basic !"}, {"authorization": "Bearer \xe9\xff"}],
)  # fmt: skip
def test_without_the_token_nothing_is_kept(
    serve: Serve, online_folder: Path, tmp_path: Path, headers: dict[str, str]
) -> None:
    client = serve({"online": online_folder})
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    for path in ("/feedback", "/feedback/", "/webhook", "/label-studio/fit", "/label-studio/online/webhook"):
        assert client.post(path, json=CORRECTIONS[0], headers=raw).status_code == 401  # type: ignore[arg-type]
    assert not (tmp_path / "online.feedback").exists()


def test_a_server_without_a_token_takes_no_corrections(serve: Serve, online_folder: Path) -> None:
    client = serve({"online": online_folder}, token=None)
    for value in ("Bearer ", "Bearer None", "Basic Og=="):
        assert client.post("/feedback", json=CORRECTIONS[0], headers={"authorization": value}).status_code == 401


def test_a_copy_of_a_model_is_beside_its_own_log(serve: Serve, online_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(online_folder, tmp_path / "mine")
    client = serve({"a": tmp_path / "mine"}, feedback=None)
    client.post("/feedback", json=CORRECTIONS[0], headers=AUTHORISED)
    assert (tmp_path / "mine.feedback").is_file()
    assert (tmp_path / "mine.feedback").stat().st_mode & 0o077 == 0
