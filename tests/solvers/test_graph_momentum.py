"""What related nodes share, hurried along: where that moves slowly, lower objectives in as many sweeps."""

import numpy as np
import pytest
from scipy import sparse

from benchmarks.speed.hurried import short_texts
from cladist.execution import Serial, Threads
from cladist.solvers import Settings, graph_descent
from cladist.solvers.graph_momentum import FASTEST, Momentum
from cladist.solvers.graphs import Graph
from cladist.solvers.related import solve_graph


@pytest.fixture(scope="module")
def texts():
    return short_texts()


def solved(texts, sweeps, executor=None):
    return solve_graph(*texts, Settings(tol=1e-5, max_iter=sweeps), executor=executor)


def test_what_is_shared_gets_further(texts, monkeypatch):
    hurried = solved(texts, 40).history
    monkeypatch.setattr(graph_descent, "COARSE", np.inf)
    plain = solved(texts, 40).history
    assert hurried[-1]["objective"] < 0.997 * plain[-1]["objective"]
    assert hurried[-1]["dual"] < hurried[-1]["objective"]
    assert hurried[-1]["gap"] < plain[-1]["gap"]


def test_no_sweep_ends_higher_than_it_began(texts):
    objectives = [entry["objective"] for entry in solved(texts, 40).history]
    assert len(objectives) > 20
    assert np.all(np.diff(objectives) <= 1e-6 * objectives[0])


def test_a_move_too_far_is_taken_back(texts, monkeypatch):
    moves = []

    def leap(self, W):
        moves.append(1)
        W += 10.0

    monkeypatch.setattr(Momentum, "move", leap)
    objectives = [entry["objective"] for entry in solved(texts, 12).history]
    assert moves
    assert np.all(np.diff(objectives) <= 1e-6 * objectives[0])


def test_weights_are_the_same_for_any_executor(texts):
    one, two = (solved(texts, 15, executor) for executor in (Serial(), Threads(2)))
    np.testing.assert_array_equal(one.weights.matrix(), two.weights.matrix())


def test_the_pace_has_a_limit():
    graph = Graph(sparse.csr_array(np.array([[0.0, 1], [1, 0]])), np.arange(2))
    momentum, W = Momentum(graph, 1), np.zeros((2, 1), np.float32)
    for _ in range(20):
        momentum.begin(W)
        W += 1
        momentum.end(W)
    assert momentum.pace.item() == FASTEST
    momentum.slow_down()
    before = W.copy()
    momentum.move(W)
    np.testing.assert_array_equal(W, before)
    assert momentum.pace.item() == FASTEST / 4
