"""Kernels of decisions against their own Python source; `tests/decisions` compares them with brute force."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cladist.decisions.conformal import preorder
from cladist.decisions.rule import ClassTree
from cladist.kernels import decision
from tests.strategies import forests
from tests.twins import kernels_not_named_in, same_as_python


@given(forests(max_nodes=10), st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
def test_kernels_equal_python(taxonomy, seed, most, some):
    random = np.random.default_rng(seed)
    tree = ClassTree(taxonomy, taxonomy.leaves)
    k = random.integers(1, len(tree.nodes) + 1)
    columns = np.array([random.permutation(len(tree.nodes))[:k] for _ in range(3)])
    values = random.dirichlet(np.ones(k), 3) * (random.random((3, k)) < 0.8)
    rows, depth = (columns, values, *tree.closure), taxonomy.depth
    mass, touched = np.zeros(len(taxonomy)), np.zeros(len(taxonomy), np.int64)
    count = decision.add_mass(columns[0], values[0], *tree.closure, mass, touched)
    same_as_python(decision.add_mass, columns[0], values[0], *tree.closure, np.zeros(len(taxonomy)), touched)
    same_as_python(decision.order_touched, mass, touched, count, some)
    same_as_python(decision.clear_mass, mass, touched, count)
    nodes = random.integers(-1, len(taxonomy), 3)
    same_as_python(decision.node_masses, *rows, len(taxonomy))
    same_as_python(decision.mass_at, *rows, nodes)
    allowed = taxonomy.is_leaf.copy() if some else np.ones(len(taxonomy), bool)
    cost = random.random(len(taxonomy))
    for first_mistakes in (False, True):
        same_as_python(decision.least_risk, *rows, taxonomy.parent, cost, allowed, first_mistakes)
    same_as_python(decision.highest_overlap, *rows, taxonomy.parent, depth, allowed, 1.5)
    same_as_python(decision.deepest_nodes, *rows, depth, np.array([0.2, 0.5, 0.9]))
    same_as_python(decision.greatest_gain, *rows, (depth + 1) / (depth.max() + 1), np.array([0.2, 0.9]), 0.1)
    same_as_python(decision.most_informative, *rows, cost, 0.3)
    order = np.flatnonzero(mass)
    scratch = np.zeros(len(taxonomy), np.int64), np.zeros(len(taxonomy) + 1), np.zeros(len(taxonomy) + 1)
    rank, last_rank = preorder(tree)
    by_rank, listed = np.argsort(rank), np.zeros(len(taxonomy), np.int64)
    for some_touched in (touched[:count], touched[: min(count, 1)]):
        same_as_python(decision.put_in_preorder, mass, some_touched, rank, by_rank, listed)
    same_as_python(decision.look_ahead, order[np.argsort(rank[order])], rank, last_rank, mass, *scratch)
    for level in (-1.0, 0.0, 0.6):
        same_as_python(decision.smallest_covers, *rows, tree.n_classes_below, *preorder(tree), most, level)


@given(forests(max_nodes=12), st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(0, 1))
def test_covers_of_a_level_are_the_first_of_all(taxonomy, seed, most, level):
    random = np.random.default_rng(seed)
    tree = ClassTree(taxonomy, taxonomy.leaves)
    columns = np.tile(np.arange(len(tree.nodes)), (4, 1))
    values = random.dirichlet(np.full(len(tree.nodes), 0.5), 4)
    rows = columns, values, *tree.closure, tree.n_classes_below, *preorder(tree), most
    indptr, masses, nodes = decision.smallest_covers(*rows, -1.0)
    if random.integers(2) and len(masses):
        level = float(random.choice(masses))  # which only the next one exceeds
    parts = zip(indptr[:-1], np.split(masses, indptr[1:-1]), strict=True)
    found = [first + int(np.argmax(part > level)) for first, part in parts if np.any(part > level)]
    of_level, its_masses, its_nodes = decision.smallest_covers(*rows, level)
    np.testing.assert_array_equal(its_masses, masses[found])
    np.testing.assert_array_equal(its_nodes, nodes[found])
    assert np.diff(of_level).tolist() == [int(np.any(part > level)) for part in np.split(masses, indptr[1:-1])]


def test_small_steps_equal_python():
    same_as_python(decision.grow, np.arange(3), 2)
    assert len(decision.grow(np.arange(3), 5)) == len(decision.grow.py_func(np.arange(3), 5)) == 10
    sizes, masses = np.array([0, 1, 2, 0, 0, 0, 0]), np.array([0.0, 0.2, 0.6, 0, 0, 0, 0])
    nodes, rest = np.array([-1, 4, 5, 0, 0, 0, 0]), np.zeros(7, np.int64)
    for low, high, n_sets in ((-1.0, np.inf, 2), (0.5, np.inf, 1), (-1.0, 0.1, 1), (0.7, np.inf, 0)):
        bounds = 7, 2, 0.7, low, high
        used = same_as_python(decision.merge_frontiers, 1, 3, 0, 1, *bounds, sizes, masses, nodes, rest, 3)
        assert used == 3 + n_sets


def test_every_kernel_is_tested():
    assert kernels_not_named_in(__file__, decision) == []
