"""Accelerated means of components: lower objectives in as many sweeps where the means move slowly."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from benchmarks.speed.acceleration import short_texts
from cladist.execution import Serial, Threads
from cladist.solvers import Settings
from cladist.solvers.graph import block_descent
from cladist.solvers.graph.block_descent import FASTEST, Anderson, Momentum
from cladist.solvers.graph.quadratic_form import Graph
from cladist.solvers.graph.solver import solve_graph
from tests.solvers.problems import LOSSES

FURTHER = {"hinge": 0.997, "squared_hinge": 0.9985}  # of the plain objective after as many sweeps
MEASURED = {"hinge": 20, "squared_hinge": 15, "logistic": 15, "squared": 10}  # sweeps whose gap is measured, at least
every_loss = pytest.mark.parametrize("loss", LOSSES)


@pytest.fixture(scope="module")
def texts():
    return short_texts()


def solve(texts, sweeps, executor=None, loss="hinge"):
    problem, graph = texts
    settings = Settings(tol=1e-5, max_iter=sweeps)
    return solve_graph(replace(problem, loss=loss), graph, settings, executor=executor)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])  # the logistic loss needs none here
def test_accelerated_sweeps_get_further(texts, loss, monkeypatch):
    accelerated = solve(texts, 40, loss=loss).history
    monkeypatch.setattr(block_descent, "SLOW", np.inf)
    plain = solve(texts, 40, loss=loss).history
    assert accelerated[-1]["objective"] < FURTHER[loss] * plain[-1]["objective"]
    assert accelerated[-1]["dual"] < accelerated[-1]["objective"]
    assert accelerated[-1]["gap"] < plain[-1]["gap"]


@every_loss
def test_no_sweep_ends_higher_than_it_began(texts, loss):
    objectives = [entry["objective"] for entry in solve(texts, 40, loss=loss).history]
    assert len(objectives) > MEASURED[loss]
    assert np.all(np.diff(objectives) <= 1e-6 * objectives[0])


@pytest.mark.parametrize(("loss", "kind"), [("hinge", Momentum), ("squared_hinge", Anderson), ("logistic", Anderson)])
def test_a_move_too_far_is_taken_back(texts, loss, kind, monkeypatch):
    moves = []

    def leap(self, W):
        moves.append(1)
        W += 10.0

    monkeypatch.setattr(kind, "move", leap)
    objectives = [entry["objective"] for entry in solve(texts, 12, loss=loss).history]
    assert moves
    assert np.all(np.diff(objectives) <= 1e-6 * objectives[0])


@every_loss
def test_weights_are_the_same_for_any_executor(texts, loss):
    one, two = (solve(texts, 15, executor, loss) for executor in (Serial(), Threads(2)))
    np.testing.assert_array_equal(one.weights.matrix(), two.weights.matrix())


def test_the_pace_has_a_limit():
    graph = Graph(sparse.csr_array(np.array([[0.0, 1], [1, 0]])), np.arange(2))
    momentum, W = Momentum(graph, 1), np.zeros((2, 1), np.float32)
    for _ in range(20):
        momentum.begin(W)
        W += 1
        momentum.end(W)
    assert momentum.pace.item() == FASTEST
    momentum.reject()
    before = W.copy()
    momentum.move(W)
    np.testing.assert_array_equal(W, before)
    assert momentum.pace.item() == FASTEST / 4


def test_a_linear_map_of_few_directions_is_solved_at_once():
    """Two components, each with three directions of its own: a few sweeps tell all there is to know."""
    graph = Graph(sparse.csr_array(np.kron(np.eye(2), [[0, 1], [1, 0]])), np.arange(4))
    random = np.random.default_rng(0)
    speeds, ends = random.uniform(0.001, 0.2, (2, 3)), random.normal(size=(2, 3))
    anderson, W = Anderson(graph, 3), np.zeros((4, 3), np.float32)
    for _ in range(6):
        anderson.move(W)
        anderson.begin(W)
        W += (speeds[graph.components] * (ends[graph.components] - W)).astype(np.float32)
        anderson.end(W)
    np.testing.assert_allclose(W, ends[graph.components], atol=1e-3)
