"""Where descent on a graph begins: shares that cancel, what they prove, and the best common score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize_scalar

from cladist.execution import Serial
from cladist.solvers.graph.quadratic_form import Graph
from cladist.solvers.graph.solver import common_score, initial_point
from cladist.surrogates import SURROGATES
from tests.solvers.problems import LOSSES
from tests.solvers.test_related import graph_case, objective, optimum, random_graph

every_loss = pytest.mark.parametrize("loss", LOSSES)
costs = st.one_of(st.just(0.0), st.floats(1e-3, 50))


@every_loss
@settings(max_examples=50)
@given(P=costs, N=costs, other=st.floats(0, 1))
def test_shares_cancel_are_feasible_and_gain_most_of_those_that_cancel(loss, P, N, other):
    surrogate = SURROGATES[loss]
    r, q = surrogate.balanced_shares(np.array([P]), np.array([N]))
    most = 4 if loss in ("squared_hinge", "squared") else 1
    assert P * r[0] == pytest.approx(N * q[0], rel=1e-9)
    assert 0 <= r[0] <= most * (1 + 1e-12)
    assert 0 <= q[0] <= most * (1 + 1e-12)
    if P > 0 and N > 0:

        def gain(total):
            positive, negative = np.array([total / P]), np.array([total / N])
            return float(P * surrogate.gain(positive)[0] + N * surrogate.gain(negative)[0])

        assert gain(other * most * min(P, N)) <= gain(P * r[0]) * (1 + 1e-9) + 1e-12


@every_loss
@settings(max_examples=30)
@given(P=st.floats(0.1, 9), N=st.floats(0.1, 9), ridge=st.sampled_from([0.0, 0.5, 20.0]))
def test_the_level_is_the_best_common_score(loss, P, N, ridge):
    surrogate = SURROGATES[loss]

    def cost(z):
        z = np.float64(z)
        return P * surrogate.value(z) + N * surrogate.value(-z) + ridge * z * z / 2

    found = minimize_scalar(cost, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10})
    assert cost(common_score(surrogate, P, N, ridge)) <= found.fun * (1 + 1e-7)


def started(problem, graph, tol=1e3):
    return initial_point(problem.problem, graph, tol, Serial())


@every_loss
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("C", [1e-4, 0.1, 10])
def test_what_shares_prove_is_true_everywhere(loss, ridge, C):
    """No vectors are better, wherever the components' means are; costs and weights of rows differ."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        graph = random_graph(seed, density=0.6, ridge=ridge, n_problems=6)
        options = {"costs": C * random.uniform(0.3, 3, (2, 6)), "row_weights": random.uniform(0.2, 3, 40)}
        problem = graph_case(seed, graph, loss, **options)
        best, W = optimum(problem, graph)
        alone = np.bincount(graph.components)[graph.components] == 1
        of_alone = sum(problem.primal(k, W[v]) for k, v in enumerate(graph.nodes) if alone[v])
        of_alone += sum((graph.pull[v] - 1) * W[v] @ W[v] / 2 for v in graph.nodes if alone[v])
        _, bounds = started(problem, graph)
        assert np.isfinite(bounds).any()
        assert not np.isfinite(bounds[graph.components[alone]]).any()
        assert bounds[np.isfinite(bounds)].sum() <= (best - of_alone) * (1 + 1e-6)


@every_loss
def test_where_relations_pull_hard_the_start_is_nearly_the_optimum(loss):
    graph = Graph(sparse.csr_array(1 - np.eye(5)), np.arange(5))
    problem = graph_case(1, graph, loss, 1e-5, constant=True)
    (levels, bounds), W = started(problem, graph), np.zeros((5, problem.X.shape[1]))
    W[:, -1] = levels[0]
    here = objective(problem, graph, W)
    assert here * (1 - 1e-3) <= bounds[0] <= here * (1 + 1e-6)


def test_nothing_is_computed_where_descent_will_soon_know_better():
    graph = random_graph(2, density=0.6)
    problem = graph_case(2, graph, "hinge", 100.0)
    assert not np.isfinite(started(problem, graph, tol=1e-6)[1]).any()


def test_nodes_without_relations_begin_at_zero():
    graph = Graph(sparse.csr_array((3, 3)), np.array([0, 2]))
    levels, bounds = started(graph_case(0, graph, "hinge"), graph)
    assert not levels.any()
    assert not np.isfinite(bounds).any()
