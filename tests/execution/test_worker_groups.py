"""Work in other processes: payloads, workers that are lost, models that do not depend on where they were trained."""

import numpy as np
import pytest

import cladist
from cladist import Relations
from cladist.errors import ExecutionError, ParameterError
from cladist.execution import Threads, executor_for, pack, unpack
from cladist.execution.payload import attempt, result_of
from cladist.execution.worker_group import MOST_LOSSES, WorkerGroup
from cladist.solvers.tree.joint_workers import Division
from tests.execution.engines import Isolated
from tests.execution.learners import DATA, learners


def recursive(root="zero", blocks=3, **options):
    relations = Relations(root=root, blocks_per_round=blocks)
    return lambda executor: cladist.RecursiveSVM(
        DATA.taxonomy, **{"sharing": 1, "loss": "hinge", **options}, relations=relations, executor=executor
    )


LEARNERS = {
    "flat": lambda executor: cladist.FlatSVM(DATA.taxonomy, executor=executor),
    "nodewise": lambda executor: cladist.NodewiseSVM(DATA.taxonomy, executor=executor),
    "top-down": lambda executor: cladist.TopDown(DATA.taxonomy, executor=executor),
    "per node": lambda executor: cladist.LocalPerNode(DATA.taxonomy, executor=executor),
    "hinge": recursive(),
    "free roots": recursive("free", 2),
    "fixed roots, dual": recursive("fixed", 4, weights="dual"),
    "squared hinge": recursive(blocks=2, loss="squared_hinge", weights="differences"),
    "large costs": recursive(C=1000.0, max_iter=12),
    "perceptron": lambda executor: cladist.StochasticPerceptron(
        DATA.taxonomy, max_iter=5, random_state=0, executor=executor
    ),
}


def without_seconds(history):
    return [{name: value for name, value in entry.items() if name != "seconds"} for entry in history]


def test_workers_share_nodes(monkeypatch):
    divisions = []
    of = Division.of
    monkeypatch.setattr(Division, "of", lambda *given: divisions.append(of(*given)) or divisions[-1])
    recursive()(Isolated(3)).fit(DATA.X, DATA.y)
    assert divisions[0].is_shared.sum() > 1
    assert not divisions[0].is_shared.all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_the_model_does_not_depend_on_where_it_was_trained(name):
    here = LEARNERS[name](None).fit(DATA.X, DATA.y)
    for executor in (Threads(2), Isolated(1), Isolated(3), Isolated(3, losses=(2, 11, 30, 31, 32, 44))):
        there = LEARNERS[name](executor).fit(DATA.X, DATA.y)
        assert np.array_equal(here.decision_function(DATA.X), there.decision_function(DATA.X))
        if hasattr(here, "history_"):
            assert without_seconds(here.history_) == without_seconds(there.history_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "make"), learners().items(), ids=learners())
def test_no_model_of_any_learner_depends_on_it(name, make):
    here, threads, there = (make(executor).fit(DATA.X, DATA.y) for executor in (None, Threads(2), Isolated(3)))
    scores = here.decision_function(DATA.X)
    assert np.array_equal(scores, threads.decision_function(DATA.X))
    assert np.array_equal(scores, there.decision_function(DATA.X))


def test_vectors_do_not_travel(capsys):
    executor = Isolated(3)
    recursive()(executor).set_params(verbose=1).fit(DATA.X, DATA.y)
    assert "3 workers exchanged" in capsys.readouterr().err
    assert executor.n_calls > 20  # so the rounds did run on workers
    assert executor.largest_call < DATA.X.nnz * 8  # the rows themselves, which are given once, take more


# ---------------------------------------------------------------- groups


class NeverPickledError(Exception):
    def __reduce__(self):
        raise TypeError


def raise_never_pickled():
    raise NeverPickledError("no")


class Sum:
    def __init__(self, number):
        self.number, self.total = number, 100 * number


def add(state, argument, shared):
    state.total += argument + shared
    return state.total


@pytest.mark.parametrize("losses", [(), (1,), (2, 3), (4, 5, 7), (3, 6, 7, 8)])
def test_lost_workers_are_told_what_they_missed(losses):
    group = WorkerGroup(Isolated(2, losses), Sum, 2)
    totals = [group.call(add, [k, 2 * k], 1) for k in range(4)]
    assert totals == [[1, 101], [3, 104], [6, 109], [10, 116]]


def test_a_worker_that_is_lost_again_and_again_ends_the_run_in_one_sentence():
    group = WorkerGroup(Isolated(1, range(1000)), Sum, 1)
    with pytest.raises(ExecutionError, match=f"lost {MOST_LOSSES} times in the same step"):
        group.call(add, [1], 1)


def test_errors_of_workers_come_out_as_they_are():
    def fail(number):
        raise KeyError("made")

    with pytest.raises(KeyError, match="made"):
        WorkerGroup(Isolated(1), fail, 1).call(add, [1], 1)
    with pytest.raises(TypeError):
        WorkerGroup(Isolated(1), Sum, 1).call(add, ["a"], 1)
    with pytest.raises(ExecutionError, match="NeverPickledError: no"):
        result_of(attempt(raise_never_pickled))


def test_payloads_keep_values_and_copy_no_large_array():
    array = np.arange(1000.0)
    payload = pack((array, "text"))
    assert any(np.shares_memory(part, array) for part in payload)
    back, text = unpack(payload)
    assert np.shares_memory(back, array)
    assert text == "text"
    assert not np.shares_memory(unpack(payload, copy=True)[0], array)


def test_an_engine_elsewhere_needs_workers():
    class Mine:
        shares_memory = False

        def map(self, function, tasks):
            return map(function, tasks)

    with pytest.raises(ParameterError, match="start_workers"):
        executor_for(None, Mine())
