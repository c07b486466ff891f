"""What benchmarks share: the choice of C, results on disk, processes of their own."""

import doctest
import json
import os
import sys
import time

import numpy as np
import pytest

from benchmarks import harness
from benchmarks.papers import published
from cladist import progress


class Constant:
    """Predicts what C says, and remembers what it was fitted to."""

    fitted: list = []  # noqa: RUF012

    def __init__(self, C):
        self.C = C

    def fit(self, X, y):
        Constant.fitted.append((self.C, sorted(int(row[0]) for row in X)))
        return self

    def predict(self, X):
        return [self.C] * len(X)


def test_the_best_c_is_chosen_and_of_equals_the_smallest():
    X, y = np.arange(12)[:, None], [1.0] * 8 + [10.0] * 4
    assert harness.choose_C(Constant, X, y, [10.0, 0.1, 1.0]) == (1.0, {0.1: 0, 1.0: 8 / 12, 10.0: 4 / 12})
    assert harness.choose_C(Constant, X, [0] * 12, [10.0, 0.1, 1.0]).C == 0.1


def test_every_c_sees_the_same_folds_and_no_row_is_in_its_own_model():
    Constant.fitted = []
    seen = []

    def score(y_true, y_pred):
        seen.append(sorted(y_true))
        return 0.5

    X, y = np.arange(9)[:, None], list(range(9))
    harness.choose_C(Constant, X, y, [1.0, 2.0], score=score)
    folds = {C: [rows for c, rows in Constant.fitted if c == C] for C in (1.0, 2.0)}
    assert folds[1.0] == folds[2.0]
    for (_, train), test in zip(Constant.fitted, seen, strict=True):
        assert sorted(train + test) == y
    assert sorted(seen[0] + seen[1] + seen[2]) == y


def test_examples():
    for module in (harness, published):
        assert doctest.testmod(module).failed == 0


def test_results_are_written_whole(results, capsys, monkeypatch):
    content = harness.write_results("toy", [{"a": 1}], data="none")
    assert json.loads((results / "toy.json").read_text()) == content
    assert {"command", "date", "machine", "versions", "data", "rows"} == set(content)
    assert capsys.readouterr().out == "\nwritten: benchmarks/results/toy.json\n"
    with pytest.raises(TypeError):
        harness.write_results("toy", [{"a": object()}], quiet=True)
    assert json.loads((results / "toy.json").read_text()) == content
    assert [path.name for path in results.iterdir()] == ["toy.json"]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/somewhere/bin/cladist", "bench", "hr"], "cladist bench hr"),
        (["/somewhere/cladist/cli/__main__.py", "bench"], "cladist bench"),
        (["benchmarks/papers/hr/run.py", "--again"], "python benchmarks/papers/hr/run.py --again"),
        (["/somewhere/else/run.py"], "python run.py"),
    ],
)
def test_the_command_names_no_folder_of_the_machine(monkeypatch, arguments, said):
    monkeypatch.chdir(harness.RESULTS.parent.parent)
    monkeypatch.setattr(sys, "argv", arguments)
    assert harness.command() == said


class Recorded:
    def __init__(self):
        self.events = []

    def start(self, description, total):
        self.events.append((description, total))
        return self

    def advance(self, steps=1):
        self.events.append(steps)

    def finish(self, task):
        self.events.append("done")


def test_a_process_of_its_own_answers_and_tells_how_far_it_is():
    recorded = Recorded()
    with progress.report_to(recorded):
        found = harness.in_new_process("tests.benchmarks.work:counted", 3)
    assert found["steps"] == 3
    assert found["process"] != os.getpid()
    assert recorded.events == [("outer", 3), 1, 1, 1, "done"]


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="the roof is leaking"):
        harness.in_new_process("tests.benchmarks.work:broken")


def test_ctrl_c_in_the_process_is_ctrl_c_here():
    with pytest.raises(KeyboardInterrupt):
        harness.in_new_process("tests.benchmarks.work:interrupted")


def test_ctrl_c_here_ends_the_process():
    class Impatient(Recorded):
        def start(self, description, total):
            super().start(description, total)
            raise KeyboardInterrupt

    impatient, started = Impatient(), time.monotonic()
    with progress.report_to(impatient), pytest.raises(KeyboardInterrupt):
        harness.in_new_process("tests.benchmarks.work:sleepy")
    assert time.monotonic() - started < 30
    with pytest.raises(ProcessLookupError):
        os.kill(impatient.events[0][1], 0)
