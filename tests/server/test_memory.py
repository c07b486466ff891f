"""What a server has answered does not stay in memory: nothing waits for a search for garbage, and that comes early."""

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cladist.learners.row_decisions import DecisionOptions
from cladist.server.process import collect_often
from cladist.server.served import Question, ServedModel
from tests.server.conftest import TEXTS

QUESTIONS = [Question(), Question(top_k=3, proba=True), Question(decisions=DecisionOptions(min_confidence=0.6))]


@pytest.fixture
def no_search() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def answer_and_explain(model: ServedModel, rows: Any, questions: list[Question]) -> None:
    for question in questions:
        assert len(model.answer_all([(rows, question)] * 2, np.concatenate([rows, rows]))[1]) == rows.shape[0]
    assert len(model.explain(rows, None)) == rows.shape[0]


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_an_answer_leaves_nothing_to_collect(kind: str, calibrated: Any, numbers: Any) -> None:
    """Objects that refer to each other stay until a search for garbage: with long texts, hundreds of MiB a minute."""
    model = ServedModel(calibrated if kind == "texts" else numbers)
    rows: Any = np.array(TEXTS, dtype=object) if kind == "texts" else np.eye(3)
    questions = QUESTIONS if kind == "texts" else QUESTIONS[:1]
    answer_and_explain(model, rows, questions)  # the first time imports, compiles and fills caches
    gc.collect()
    answer_and_explain(model, rows, questions)
    assert gc.collect() == 0


@pytest.fixture
def settings_of_gc() -> Iterator[None]:
    threshold = gc.get_threshold()
    gc.set_threshold(100_000)  # as the command line
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()


@pytest.mark.usefixtures("settings_of_gc")
def test_a_process_looks_for_garbage_early_but_not_among_what_is_loaded() -> None:
    loaded = [[k] for k in range(1000)]
    collect_often()
    assert gc.get_threshold()[0] <= 5000
    assert gc.get_freeze_count() > len(loaded)
