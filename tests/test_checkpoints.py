"""Checkpoints: a fit that is killed again and again ends with the model of one that is not; other fits are refused."""

import errno
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import cladist
from cladist import checkpoints
from cladist.checkpoints import Store, keep
from cladist.datasets import make_topics
from cladist.errors import CladistWarning, ModelFormatError, ParameterError
from cladist.evaluation import compare
from cladist.storage.array_pool import ArrayPool, take_arrays
from cladist.taxonomy import RelationGraph
from tests.execution.engines import Isolated

DATA = make_topics(n_samples=120, n_features=80, branching=(3, 3, 2), random_state=0)  # 18 leaves: two blocks
GRAPH = RelationGraph.from_taxonomy(DATA.taxonomy)


def related(**options):
    return cladist.Relations(GRAPH, **options)


LEARNERS = {
    "flat": lambda **kept: cladist.FlatSVM(DATA.taxonomy, **kept),
    "flat, C by cv": lambda **kept: cladist.FlatLogistic(DATA.taxonomy, C="cv", **kept),
    "flat, Newton": lambda **kept: cladist.FlatSVM(DATA.taxonomy, solver="newton", weights="sparse", **kept),
    "nodewise": lambda **kept: cladist.NodewiseSVM(DATA.taxonomy, **kept),
    "top-down": lambda **kept: cladist.TopDown(DATA.taxonomy, **kept),
    "top-down, estimator": lambda **kept: cladist.TopDown(DATA.taxonomy, estimator=LogisticRegression(), **kept),
    "per node": lambda **kept: cladist.LocalPerNode(DATA.taxonomy, **kept),
    "recursive": lambda **kept: cladist.RecursiveSVM(
        DATA.taxonomy, sharing=1, loss="hinge", tol=1e-5, relations=cladist.Relations(blocks_per_round=2), **kept
    ),
    "recursive, free": lambda **kept: cladist.RecursiveLogistic(
        DATA.taxonomy, sharing=1, tol=1e-5, solver="coordinate", relations=cladist.Relations(root="free"), **kept
    ),
    "recursive, by turns": lambda **kept: cladist.RecursiveSVM(
        DATA.taxonomy, sharing=1, solver="alternating", tol=1e-5, **kept
    ),
    "graph": lambda **kept: cladist.RecursiveSVM(DATA.taxonomy, sharing=1, relations=related(), **kept),
    "graph, accelerated": lambda **kept: cladist.RecursiveLogistic(
        DATA.taxonomy, sharing=1, relations=related(schedule="jacobi"), max_iter=12, **kept
    ),
    "bayesian": lambda **kept: cladist.BayesianLogistic(DATA.taxonomy, max_iter=6, **kept),
    "hieron": lambda **kept: cladist.Hieron(DATA.taxonomy, max_iter=3, random_state=0, **kept),
    "perceptron, kernel": lambda **kept: cladist.HierarchicalPerceptron(
        DATA.taxonomy, max_iter=3, kernel="rbf", random_state=0, **kept
    ),
    "margin markov": lambda **kept: cladist.MaxMarginMarkov(DATA.taxonomy, max_iter=8, random_state=0, **kept),
    "cutting planes": lambda **kept: cladist.StructuralSVM(
        DATA.taxonomy, max_iter=3, solver="cutting_plane", random_state=0, **kept
    ),
    "orthogonal transfer": lambda **kept: cladist.OrthogonalTransfer(DATA.taxonomy, max_iter=5, random_state=0, **kept),
    "stochastic perceptron": lambda **kept: cladist.StochasticPerceptron(
        DATA.taxonomy, max_iter=8, n_chunks=2, random_state=0, **kept
    ),
    "hard perceptron": lambda **kept: cladist.HardPerceptron(DATA.taxonomy, max_iter=6, **kept),
}


LIVES = {"flat, C by cv": 9, "recursive": 1, "recursive, by turns": 1}  # writings until the fit is killed, if not 2


class Killed(BaseException):
    """Ends a fit at any point, as no handler of errors expects it."""


@pytest.fixture
def eager(monkeypatch):
    """Let checkpoints be written at every opportunity; the disk is trusted, since the machine does not stop."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(checkpoints, "SHARE", float("inf"))


def fit_in_lives(monkeypatch, make, folder, n_writes):
    """Return the model of a fit that is killed after every few writings, and how many times it was."""
    write, deaths, left = Store.write, 0, n_writes

    def killing(store, name, value):
        nonlocal left
        write(store, name, value)
        left -= 1
        if not left:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", killing)
        while True:
            try:
                left = n_writes
                return make(checkpoint=folder).fit(DATA.X, DATA.y), deaths
            except Killed:
                deaths += 1


def without_seconds(history):
    return [{name: value for name, value in entry.items() if name != "seconds"} for entry in history]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*is at the end of what was")
@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_that_is_killed_again_and_again_ends_with_the_same_model(name, tmp_path, monkeypatch, eager):
    make = LEARNERS[name]
    whole = make().fit(DATA.X, DATA.y)
    model, deaths = fit_in_lives(monkeypatch, make, tmp_path / "kept", LIVES.get(name, 2))
    assert deaths > 0
    for fitted in (model, make(checkpoint=tmp_path / "kept").fit(DATA.X, DATA.y)):  # and from what is there at the end
        assert np.array_equal(fitted.decision_function(DATA.X), whole.decision_function(DATA.X))
        if hasattr(whole, "history_"):
            assert without_seconds(fitted.history_) == without_seconds(whole.history_)


def test_a_fit_goes_on_where_others_work(tmp_path, monkeypatch, eager):
    whole = LEARNERS["recursive"]().fit(DATA.X, DATA.y)

    def make(checkpoint):
        return LEARNERS["recursive"](checkpoint=checkpoint, executor=Isolated(2))

    _, deaths = fit_in_lives(monkeypatch, make, tmp_path, 1)
    assert deaths > 0
    for executor in (None, Isolated(2)):  # from the state at the last writing
        model = LEARNERS["recursive"](checkpoint=tmp_path, executor=executor).fit(DATA.X, DATA.y)
        assert np.array_equal(model.decision_function(DATA.X), whole.decision_function(DATA.X))


def test_what_is_kept_is_not_computed_again(tmp_path, eager, monkeypatch):
    learner = cladist.FlatSVM(DATA.taxonomy, checkpoint=tmp_path)
    first = learner.fit(DATA.X, DATA.y)

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("cladist.solvers.linear.one_vs_rest._solve_block", refuse)
    assert np.array_equal(first.coef_, cladist.FlatSVM(DATA.taxonomy, checkpoint=tmp_path).fit(DATA.X, DATA.y).coef_)


@pytest.mark.filterwarnings("ignore:.*is at the end of what was")
def test_wrappers_and_pipelines_go_on_too(tmp_path, monkeypatch, eager):
    def fit():
        return cladist.CalibratedClassifier(cladist.TopDown(DATA.taxonomy), cv=2, random_state=0).fit(DATA.X, DATA.y)

    write, left = Store.write, 5

    def killing(store, name, value):
        nonlocal left
        write(store, name, value)
        left -= 1
        if not left:
            raise Killed

    monkeypatch.setattr(Store, "write", killing)
    with pytest.raises(Killed), keep(tmp_path, DATA.X, DATA.y):
        fit()
    with keep(tmp_path, DATA.X, DATA.y):
        model = fit()
    assert np.array_equal(model.predict_proba(DATA.X), fit().predict_proba(DATA.X))
    with pytest.raises(ParameterError, match="other rows, labels or weights"), keep(tmp_path, DATA.X[:9], DATA.y[:9]):
        fit()


def test_a_comparison_goes_on_too(tmp_path, monkeypatch, eager):
    def run():
        options = {"methods": ["top-down"], "cv": 2, "budget": 10_000.0, "control": False, "n_resamples": 50}
        found = compare(DATA.X, DATA.y, DATA.taxonomy, **options)
        return [(row.method, row.C, row.scores, row.difference) for row in found.rows]

    written = 0

    def counting(store, name, value, write=Store.write):
        nonlocal written
        write(store, name, value)
        written += 1
        if written == 7:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", counting)
        with pytest.raises(Killed), keep(tmp_path, DATA.X, DATA.y):
            run()
    with keep(tmp_path, DATA.X, DATA.y):
        assert run() == run()  # the second has nothing that was kept, since parts are numbered on


SCRIPT = """
import sys
from cladist import checkpoints
from tests.test_checkpoints import DATA, LEARNERS
checkpoints.SHARE = float("inf")
LEARNERS["recursive"](checkpoint=sys.argv[1]).set_params(tol=1e-9, max_iter=100_000).fit(DATA.X, DATA.y)
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_kill_9(tmp_path, eager):
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path / "kept")])
    try:
        while process.poll() is None and not list(tmp_path.glob("kept/*-sweeps/manifest.json")):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    finally:
        process.wait()
    assert process.returncode == -signal.SIGKILL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = {"tol": 1e-9, "max_iter": 100_000}
        on = LEARNERS["recursive"](checkpoint=tmp_path / "kept").set_params(**exact).fit(DATA.X, DATA.y)
        whole = LEARNERS["recursive"]().set_params(**exact).fit(DATA.X, DATA.y)
    assert np.array_equal(on.coef_, whole.coef_)


# ---------------------------------------------------------------- what is refused


@pytest.fixture
def kept(tmp_path, eager):
    cladist.FlatSVM(DATA.taxonomy, checkpoint=tmp_path / "kept").fit(DATA.X, DATA.y)
    return tmp_path / "kept"


@pytest.mark.parametrize(
    ("learner", "rows", "words"),
    [
        (cladist.FlatSVM(DATA.taxonomy, C=2.0), 120, "a fit with C='1.0', not '2.0'"),
        (cladist.TopDown(DATA.taxonomy), 120, "a fit with the method 'FlatSVM', not 'TopDown'"),
        (cladist.FlatSVM(DATA.taxonomy), 119, "a fit with other rows, labels or weights"),
    ],
)
def test_another_fit_is_refused_in_one_sentence(kept, learner, rows, words):
    with pytest.raises(ParameterError, match=words) as refused:
        learner.set_params(checkpoint=kept).fit(DATA.X[:rows], DATA.y[:rows])
    assert str(refused.value).endswith("fit the same again, or choose another folder.")


def test_what_does_not_change_the_model_may_change(kept):
    cladist.FlatSVM(DATA.taxonomy, checkpoint=kept, n_jobs=2, verbose=0).fit(DATA.X, DATA.y)


@pytest.mark.parametrize("value", [3, True, b"kept"])
def test_a_checkpoint_that_is_no_path(value):
    with pytest.raises(ParameterError, match="checkpoint must be the path of a folder"):
        cladist.FlatSVM(DATA.taxonomy, checkpoint=value).fit(DATA.X, DATA.y)


def test_a_checkpoint_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="is a file"):
        cladist.FlatSVM(DATA.taxonomy, checkpoint=tmp_path / "file").fit(DATA.X, DATA.y)


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "letters.txt").write_text("mine")
    with pytest.raises(ParameterError, match="contains files but no checkpoint"):
        cladist.FlatSVM(DATA.taxonomy, checkpoint=tmp_path).fit(DATA.X, DATA.y)
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


# ---------------------------------------------------------------- faults


def parts_of(folder):
    return sorted(folder.glob("*part*"))


@pytest.mark.parametrize("cut", [0, 100])
def test_a_damaged_part_is_computed_anew(kept, cut):
    whole = cladist.FlatSVM(DATA.taxonomy).fit(DATA.X, DATA.y)
    [path] = parts_of(kept)[0].glob("arrays-*")
    path.write_bytes(path.read_bytes()[:cut] + b"\0" + path.read_bytes()[cut + 1 :])
    with pytest.warns(CladistWarning, match="is damaged and is computed anew"):
        model = cladist.FlatSVM(DATA.taxonomy, checkpoint=kept).fit(DATA.X, DATA.y)
    assert np.array_equal(model.coef_, whole.coef_)


def test_a_full_disk_is_told_of_once_and_training_goes_on(tmp_path, monkeypatch, eager):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    whole = cladist.TopDown(DATA.taxonomy).fit(DATA.X, DATA.y)
    write = checkpoints.write_folder
    monkeypatch.setattr(checkpoints, "write_folder", lambda path, *a: write(path, *a) if path.name == "fit" else full())
    with pytest.warns(CladistWarning, match="could not be written .No space left on device") as told:
        model = cladist.TopDown(DATA.taxonomy, checkpoint=tmp_path).fit(DATA.X, DATA.y)
    assert len(told) == 1
    assert np.array_equal(model.decision_function(DATA.X), whole.decision_function(DATA.X))


def test_what_was_written_before_the_disk_was_full_stays(tmp_path, monkeypatch, eager):
    whole = cladist.TopDown(DATA.taxonomy).fit(DATA.X, DATA.y)
    write, written = checkpoints.write_folder, []

    def filling(path, *content):
        if len(written) == 3:  # the mark, and two parts
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, *content)
        written.append(path)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_folder", filling)
        with pytest.warns(CladistWarning, match="could not be written"):
            cladist.TopDown(DATA.taxonomy, checkpoint=tmp_path).fit(DATA.X, DATA.y)
    assert [path for path in written if not (path / "manifest.json").exists()] == []
    model = cladist.TopDown(DATA.taxonomy, checkpoint=tmp_path).fit(DATA.X, DATA.y)
    assert np.array_equal(model.decision_function(DATA.X), whole.decision_function(DATA.X))


def test_a_disk_that_is_full_from_the_beginning_is_told_of_in_one_sentence(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoints, "write_folder", full)
    with pytest.raises(ParameterError, match=r"could not be written \(No space left on device\)"):
        cladist.TopDown(DATA.taxonomy, checkpoint=tmp_path).fit(DATA.X, DATA.y)


def test_a_mark_that_is_damaged_is_told_of_in_one_sentence(kept):
    (kept / "fit" / "manifest.json").write_text("{")
    with pytest.raises(ModelFormatError, match="manifest"):
        cladist.FlatSVM(DATA.taxonomy, checkpoint=kept).fit(DATA.X, DATA.y)


def test_a_clock_that_jumps_changes_nothing(tmp_path, monkeypatch, eager):
    jumps = iter(range(10**9, 0, -86_400))
    monkeypatch.setattr(checkpoints.time, "time", lambda: next(jumps))
    whole = cladist.TopDown(DATA.taxonomy).fit(DATA.X, DATA.y)
    for _ in range(2):
        model = cladist.TopDown(DATA.taxonomy, checkpoint=tmp_path).fit(DATA.X, DATA.y)
        assert np.array_equal(model.decision_function(DATA.X), whole.decision_function(DATA.X))
    assert parts_of(tmp_path)


def test_two_processes_do_not_share_a_checkpoint(tmp_path):
    code = "import sys\nfrom cladist.locks import lock_folder as lock\n"
    code += "with lock(sys.argv[1]):\n  print('ready', flush=True)\n  sys.stdin.read()"
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"ready\n"
        with pytest.raises(ModelFormatError, match="is in use: another process"):
            cladist.FlatSVM(DATA.taxonomy, checkpoint=tmp_path).fit(DATA.X, DATA.y)
        other.stdin.close()


def test_writing_takes_a_small_share_of_the_time(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(checkpoints.time, "perf_counter", lambda: clock[0])

    def slow(*_):
        clock[0] += 3.0

    monkeypatch.setattr(checkpoints, "write_folder", slow)
    store = Store(tmp_path)
    written = 0
    for _ in range(10_000):
        clock[0] += 1.0
        if store.is_due:
            store.write("part", None)
            written += 1
    assert written > 10
    assert written * 3.0 <= 0.021 * clock[0]


# ---------------------------------------------------------------- values


def test_values_come_back_as_they_were():
    array = np.arange(6.0).reshape(2, 3)
    value = {"a": [array, array], "b": (array.T, np.zeros((0, 4), np.int32)), "c": [np.inf, None, "x", np.float32(3)]}
    pool = ArrayPool()
    content = pool.add(value, "value")
    back = take_arrays(content, pool.arrays())
    assert back["a"][0] is back["a"][1]
    assert np.array_equal(back["b"][0], array.T)
    assert back["b"][0].flags.f_contiguous
    assert back["b"][1].shape == (0, 4)
    assert back["b"][1].dtype == np.int32
    assert back["c"] == value["c"]
    assert type(back["c"][3]) is np.float32


def test_only_listed_types_are_made():
    with pytest.raises(ModelFormatError, match="cannot be read"):
        take_arrays({"$kind": ["Popen", "ls"]}, {})
