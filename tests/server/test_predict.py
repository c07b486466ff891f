"""Predictions and explanations over HTTP are those of the model; what cannot be answered is refused with a sentence."""

from typing import Any

import numpy as np
import pytest

from tests.server.conftest import LABELS, TEXTS, Serve, taxonomy

NEW = ["a net", "rook", "leaves", "carrots", "a net and a rook"]


def test_labels_scores_and_paths_are_those_of_the_model(serve: Serve, calibrated: Any) -> None:
    answer = serve({"topics": calibrated}).post("/predict", json={"texts": NEW, "top_k": 3, "proba": True}).json()
    labels, scores = calibrated.predict_top_k(NEW, 3)
    tree = taxonomy()
    masses = calibrated[-1].predict_proba(calibrated[:-1].transform(NEW), nodes="all")
    for row, expected, values, mass in zip(answer["predictions"], labels, scores, masses, strict=True):
        assert [c["label"] for c in row["candidates"]] == expected.tolist()
        assert [c["score"] for c in row["candidates"]] == pytest.approx(values, rel=1e-5)
        assert row["label"] == expected[0]
        for candidate in row["candidates"]:
            path = tree.path(candidate["label"])
            assert [step["name"] for step in candidate["path"]] == path
            assert [step["node"] for step in candidate["path"]] == [tree.index(name) for name in path]
            expected_masses = [mass[tree.index(name)] for name in path]
            assert [step["probability"] for step in candidate["path"]] == pytest.approx(expected_masses, rel=1e-5)
    assert answer["model"] == "topics"


def test_decisions_stop_at_inner_nodes(serve: Serve, calibrated: Any) -> None:
    client = serve({"topics": calibrated})
    rows = client.post("/predict", json={"texts": ["net rook", "a net"], "min_confidence": 0.99}).json()["predictions"]
    assert {row["decided_at"] for row in rows} <= {"leaf", "inner node", "abstained"}
    assert all(row["confidence"] is None or row["confidence"] >= 0.99 or row["label"] is None for row in rows)
    least = client.post("/predict", json={"texts": NEW, "minimise": "tree-distance"}).json()["predictions"]
    assert all(row["decided_at"] == "leaf" or row["label"] in TREE_NODES for row in least)


TREE_NODES = set(taxonomy().names)


def test_rows_of_numbers(serve: Serve, numbers: Any) -> None:
    rows = [{"0": 2.0}, {"1": 1, "2": 0.5}, {}]
    X = np.array([[2.0, 0, 0], [0, 1, 0.5], [0, 0, 0]])
    answer = serve({"numbers": numbers}).post("/predict", json={"rows": rows}).json()
    assert [row["label"] for row in answer["predictions"]] == numbers.predict(X).tolist()


def test_explanations_sum_to_the_score(serve: Serve, calibrated: Any, numbers: Any) -> None:
    client = serve({"topics": calibrated, "numbers": numbers})
    (why,) = client.post("/explain", json={"texts": ["a net"], "labels": ["tennis"]}).json()["explanations"]
    (expected,) = calibrated.explain(["a net"], nodes=["tennis"])
    assert why == expected.to_dict()
    (why,) = client.post("/explain", json={"rows": [{"0": 1.0}], "model": "numbers"}).json()["explanations"]
    assert sum(node["part"] for node in why["nodes"]) == pytest.approx(why["score"])


def test_the_second_model_answers_if_it_is_named(serve: Serve, calibrated: Any, numbers: Any) -> None:
    client = serve({"topics": calibrated, "numbers": numbers})
    assert client.post("/predict", json={"rows": [{"0": 1}], "model": "numbers"}).json()["model"] == "numbers"
    assert [model["name"] for model in client.get("/model").json()["models"]] == ["topics", "numbers"]
    refused = client.post("/predict", json={"texts": ["a"], "model": "nothing"})
    assert refused.status_code == 404
    assert "topics, numbers" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "texts"),
        ({"texts": []}, "at least one row"),
        ({"texts": ["a"], "rows": [{}]}, "either"),
        ({"rows": [{"0": 1}]}, "text columns"),
        ({"texts": ["a"] * 6}, "5 rows"),
        ({"texts": ["a" * 101]}, "100 characters"),
        ({"texts": ["a"], "top_k": 0}, "top_k"),
        ({"texts": ["a"], "tok": 1}, "tok"),
        ({"texts": "a"}, "texts"),
        ({"texts": ["a"], "min_confidence": 0.9, "minimise": "tree-distance"}, "two rules"),
        ({"texts": ["a"], "minimise": "nothing"}, "nothing"),
        ({"texts": ["a"], "conformal": 0.1}, "held out"),
    ],
)
def test_mistakes_are_refused_with_a_sentence(serve: Serve, calibrated: Any, body: Any, word: str) -> None:
    answer = serve({"topics": calibrated}, max_rows=5, max_text=100).post("/predict", json=body)
    assert answer.status_code == 422
    assert word in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"3": 1}, "from 0 to 2"),
        ({"x": 1}, "from 0 to 2"),
        ({"0": "a"}, "finite number"),
        ({"0": True}, "finite number"),
        ({"0": None}, "finite number"),
        ({"0": 10**400}, "finite number"),
    ],
)
def test_features_that_the_model_has_not_are_refused(serve: Serve, numbers: Any, row: Any, word: str) -> None:
    answer = serve({"numbers": numbers}).post("/predict", json={"rows": [row]})
    assert answer.status_code == 422
    assert word in answer.json()["detail"]


def test_one_bad_request_does_not_spoil_those_beside_it(serve: Serve, numbers: Any) -> None:
    client = serve({"numbers": numbers})
    slot = client.app.state.slots.default  # type: ignore[attr-defined]
    from cladist.server.bodies import PredictBody
    from cladist.server.served import Question
    from tests.server.test_batches import ask_all

    good = slot.model.matrix_of([{"0": 1.0}])
    bad = PredictBody(rows=[{}], proba=True).question()
    answers = ask_all(
        slot.batches, [("predict", good, Question()), ("predict", good, bad), ("predict", good, Question())]
    )
    assert [type(answer).__name__ for answer in answers] == ["tuple", "ParameterError", "tuple"]
    assert answers[0][1] == answers[2][1]


def test_unknown_words_are_told(serve: Serve, calibrated: Any) -> None:
    rows = serve({"topics": calibrated}).post("/predict", json={"texts": ["a net", "zzz"]}).json()["predictions"]
    assert [row["known"] for row in rows] == [True, False]


def test_the_description_has_examples_that_are_answered(serve: Serve, calibrated: Any) -> None:
    client = serve({"topics": calibrated})
    schema = client.get("/openapi.json").json()
    assert {"/predict", "/explain", "/taxonomy", "/taxonomy/arrays", "/nodes/{node}", "/feedback", "/model"} <= set(
        schema["paths"]
    )
    examples = schema["components"]["schemas"]["PredictBody"]["examples"]
    assert client.post("/predict", json=examples[0]).status_code == 200
    assert len(TEXTS) == len(LABELS)
