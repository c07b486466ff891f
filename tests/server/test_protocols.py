"""What Annif and Label Studio send is answered in their forms."""

from pathlib import Path
from typing import Any

import pytest

from cladist.server.feedback_log import FeedbackLog
from tests.server.conftest import AUTHORISED, Serve

CHOICES = """<View><Text name="body" value="$words"/><Taxonomy name="topic" toName="body">
<Choice value="sport"><Choice value="Tennis &amp; &lt;b&gt;rackets&lt;/b&gt;"/><Choice value="chess"/></Choice>
<Choice value="food"><Choice value="tea"/><Choice value="soup"/></Choice></Taxonomy></View>"""
FLAT = '<View><Text name="t" value="$text"/><Choices name="c" toName="t"><Choice value="tea"/></Choices></View>'
PROJECT = {"id": 5, "label_config": CHOICES}
# As Label Studio sends them: to /predict, /setup and, when an annotation is made, /webhook.
PREDICT = {
    "tasks": [{"id": 1, "data": {"words": "a net"}}, {"id": 2, "data": {"words": "rook"}}],
    "model_version": None,
    "project": "5.1700000000",
    "label_config": CHOICES,
    "params": {"login": None, "password": None, "context": None},
}
SETUP = {"project": "5.1700000000", "schema": CHOICES, "hostname": "http://localhost:8080", "access_token": "x"}


def event(annotation_id: int, path: list[str], action: str = "ANNOTATION_CREATED") -> dict[str, Any]:
    result = [
        {
            "id": "abc",
            "type": "taxonomy",
            "value": {"taxonomy": [path]},
            "origin": "manual",
            "to_name": "body",
            "from_name": "topic",
        }
    ]
    annotation = {"id": annotation_id, "result": result, "was_cancelled": False, "ground_truth": False, "task": 1}
    return {"action": action, "project": PROJECT, "task": PREDICT["tasks"][0], "annotation": annotation}


def test_annif_gets_subjects(serve: Serve, calibrated: Any) -> None:
    client = serve({"topics": calibrated}, uri_prefix="http://example.org/topic/")
    assert client.get("/annif/topics").json()["is_trained"] is True
    answer = client.post("/annif/topics/suggest", data={"text": "a net", "limit": 2, "metadata_title": "x"}).json()
    assert [hit["uri"] for hit in answer][:1] == ["http://example.org/topic/tennis"]
    assert [set(hit) for hit in answer] == [{"uri", "label", "notation", "score"}] * 2
    expected = calibrated.predict_top_k(["a net"], 2)[1][0]
    assert [hit["score"] for hit in answer] == pytest.approx(expected, rel=1e-5)
    assert client.post("/annif/nothing/suggest", data={"text": "a"}).status_code == 404
    assert client.post("/annif/topics/suggest", data={}).status_code == 422


def test_scores_for_annif_are_positive_without_probabilities(serve: Serve, online_folder: Path) -> None:
    client = serve({"m": online_folder})
    hits = client.post("/annif/m/suggest", data={"text": "a net"}).json()
    assert all(0 < hit["score"] < 1 for hit in hits)
    assert sorted(hits, key=lambda hit: -hit["score"]) == hits
    assert client.get("/annif/m").json()["modification_time"] is not None


@pytest.mark.parametrize("prefix", ["/label-studio", "/label-studio/topics", ""])
def test_label_studio_gets_predictions(serve: Serve, calibrated: Any, prefix: str) -> None:
    client = serve({"topics": calibrated})
    assert client.get(f"{prefix}/health").json()["status"] == "UP"
    assert client.post(f"{prefix}/setup", json=SETUP).json()["model_version"] == "topics"
    answer = client.post(f"{prefix}/predict", json=PREDICT).json()
    first, second = answer["results"]
    assert first["result"] == [
        {
            "from_name": "topic",
            "to_name": "body",
            "type": "taxonomy",
            "value": {"taxonomy": [["sport", "Tennis & <b>rackets</b>"]]},  # as the configuration writes it
        }
    ]
    assert second["result"][0]["value"] == {"taxonomy": [["sport", "chess"]]}
    assert first["score"] == pytest.approx(calibrated.predict_top_k(["a net"], 1)[1][0, 0], rel=1e-5)
    assert first["model_version"] == answer["model_version"] == "topics"


def test_choices_get_last_parts_and_no_configuration_names(serve: Serve, calibrated: Any) -> None:
    client = serve({"topics": calibrated})
    task = {"data": {"text": "hot water and leaves"}}
    (flat,) = client.post("/label-studio/predict", json={"tasks": [task], "label_config": FLAT}).json()["results"]
    assert flat["result"][0] | {"value": None} == {"from_name": "c", "to_name": "t", "type": "choices", "value": None}
    assert flat["result"][0]["value"] == {"choices": ["tea"]}
    (plain,) = client.post("/label-studio/predict", json={"tasks": [task]}).json()["results"]
    assert plain["result"][0]["value"] == {"taxonomy": [["food", "tea"]]}


@pytest.mark.parametrize("path", ["/label-studio/webhook", "/webhook", "/label-studio/m/fit"])
def test_annotations_are_learnt_once(serve: Serve, online_folder: Path, tmp_path: Path, path: str) -> None:
    client = serve({"m": online_folder})
    title = ["sport", "Tennis & <b>rackets</b>"]

    def send(body: Any) -> Any:
        answer = client.post(path, json=body, headers=AUTHORISED)
        assert answer.status_code == 201
        return answer.json()["result"]

    assert send(event(1, ["food", "soup"]))["learnt"] == 1
    assert send(event(1, ["food", "soup"]))["kept"] == 0  # the same event again
    assert send(event(1, title, "ANNOTATION_UPDATED"))["learnt"] == 1
    contents = [record.content for record in FeedbackLog(tmp_path / "m.feedback").read()]
    assert [content["labels"] for content in contents] == [["soup"], ["tennis"]]
    assert contents[0]["text"] == "a net"
    assert client.post("/predict", json={"texts": ["a net"]}).json()["predictions"][0]["label"] == "tennis"


def test_all_annotations_of_a_project_are_learnt(serve: Serve, online_folder: Path) -> None:
    client = serve({"m": online_folder})
    tasks = [
        {"data": {"words": "abc"}, "annotations": [event(7, ["food", "tea"])["annotation"]]},
        {"data": {"words": "def"}, "annotations": [event(8, ["food"])["annotation"] | {"was_cancelled": True}]},
        {"data": {"words": "ghi"}, "annotations": []},
    ]
    body = {"annotations": tasks, "project": "5.1", "label_config": CHOICES, "params": {}}
    for path in ("/label-studio/train", "/fit"):
        result = client.post(path, json=body, headers=AUTHORISED).json()["result"]
        assert result["annotations"] == 1
    assert result["kept"] == 0


def test_other_events_are_ignored(serve: Serve, online_folder: Path) -> None:
    client = serve({"m": online_folder})
    answer = client.post("/webhook", json={"action": "PROJECT_UPDATED"}, headers=AUTHORISED)
    assert (answer.status_code, answer.json()["status"]) == (200, "ignored")


BOMB = '<!DOCTYPE v [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><View>&b;</View>'


@pytest.mark.parametrize("config", [BOMB, "<View>", "<View/>", "x", 3, "<View><Taxonomy/></View>"])
def test_configurations_that_are_none_are_refused(serve: Serve, calibrated: Any, config: Any) -> None:
    client = serve({"topics": calibrated})
    answer = client.post("/label-studio/predict", json={"tasks": [{"data": {"other": 1}}], "label_config": config})
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        {"annotations": 3},
        {"annotations": [3]},
        {"annotations": [{"annotations": [{"result": [{"type": "taxonomy", "value": {"taxonomy": [[]]}}]}]}]},
        {"annotations": [{"annotations": [{"result": [{"type": "choices", "value": {"choices": ["tenis"]}}]}]}]},
        {"annotations": [{"annotations": [{"result": [{"type": "choices", "value": {"choices": ["tea"]}}]}]}]},
        event(1, ["nothing"]),
        event(1, ["tea"]) | {"task": {"data": 3}},
        event(1, ["tea"]) | {"project": {"label_config": "<"}},
    ],
)
def test_annotations_that_say_nothing_are_refused(
    serve: Serve, online_folder: Path, tmp_path: Path, body: dict[str, Any]
) -> None:
    answer = serve({"m": online_folder}).post("/fit", json=body, headers=AUTHORISED)
    assert answer.status_code == 422
    assert not (tmp_path / "m.feedback").exists()
