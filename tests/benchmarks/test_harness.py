"""What benchmarks share: the choice of C, results on disk, processes of their own."""

import doctest
import json
import os
import sys
from functools import partial

import numpy as np
import pytest

from benchmarks import cells, choosing, comparison, harness, tables
from benchmarks.papers import published
from benchmarks.papers.hr import run as hr
from benchmarks.papers.hr import verdicts
from cladist import FlatSVM, progress
from cladist.datasets import make_topics
from cladist.errors import LabelError


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


@pytest.mark.parametrize("workers", [1, 3])
def test_c_is_chosen_along_the_learners_own_path(monkeypatch, workers):
    data = make_topics(n_samples=120, n_features=200, branching=(2, 3), noise=0.7, random_state=0)
    walked = []
    walk = FlatSVM.C_path
    monkeypatch.setattr(FlatSVM, "C_path", lambda self, X, *rest: walked.append(X.shape[0]) or walk(self, X, *rest))

    def choose(**options):
        make = partial(FlatSVM, data.taxonomy, tol=1e-5)
        return harness.choose_C(lambda C: make(C=C), data.X, data.y, [0.01, 0.1, 1.0], **options)

    along = choose(workers=workers)
    assert walked == [80, 80, 80]
    monkeypatch.setattr("benchmarks.choosing.MOST_STATE_BYTES", 0)
    assert choose() == along
    assert len(walked) == 3


def test_a_fold_that_fails_says_why_from_its_thread():
    class Refusing(Constant):
        def fit(self, X, y):
            raise LabelError("these rows have no labels")

    with pytest.raises(LabelError, match="no labels"):
        harness.choose_C(Refusing, np.arange(9)[:, None], [0] * 9, [1.0], workers=3)


def test_examples():
    for module in (harness, choosing, published, verdicts, cells, comparison, tables, hr):
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
        (["benchmarks/x.py", "--folder", "/somewhere/big"], "python benchmarks/x.py --folder big"),
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

    impatient = Impatient()
    with progress.report_to(impatient), pytest.raises(KeyboardInterrupt):
        harness.in_new_process("tests.benchmarks.work:sleepy")
    with pytest.raises(ProcessLookupError):
        os.kill(impatient.events[0][1], 0)
