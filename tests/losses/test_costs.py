"""The costs of nodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import ParameterError
from cladist.losses import HLoss, node_costs

TREE = Taxonomy.from_parents({0: None, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2})


@st.composite
def forests(draw):
    n_nodes = draw(st.integers(1, 12))
    return Taxonomy.from_parents({v: draw(st.sampled_from([None, *range(v)])) for v in range(n_nodes)})


def test_the_worked_costs():
    assert node_costs("uniform", TREE).tolist() == [1] * 7
    assert node_costs("sibling", TREE).tolist() == [1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    np.testing.assert_allclose(node_costs("subtree", TREE), np.array([7, 3, 3, 1, 1, 1, 1]) / 7)


def test_given_costs_are_taken_as_they_are():
    assert node_costs([0, 1, 2, 3, 4, 5, 6], TREE).tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_a_virtual_root_changes_nothing_in_a_tree():
    for weights in ("uniform", "sibling", "subtree"):
        one, other = (node_costs(weights, TREE, virtual_root=above) for above in (False, True))
        np.testing.assert_array_equal(one, other)


@given(forests(), st.booleans())
def test_costs_by_their_definitions(forest, virtual_root):
    sibling = node_costs("sibling", forest, virtual_root=virtual_root)
    subtree = node_costs("subtree", forest)
    for v, name in enumerate(forest.names):
        assert subtree[v] == (1 + len(forest.descendants(name))) / forest.n_nodes
        if forest.parent[v] >= 0:
            assert sibling[v] == sibling[forest.parent[v]] / (1 + len(forest.siblings(name)))
        else:
            assert sibling[v] == (1 / len(forest.roots) if virtual_root else 1)
    assert subtree[forest.roots].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("sibbling", "must be one of 'uniform', 'sibling', 'subtree'; got 'sibbling'"),
        ([1, 2], r"one number per node, here 7; got shape \(2,\)"),
        (np.ones((7, 1)), r"got shape \(7, 1\)"),
        (3.0, r"got shape"),
        ([1, 1, 1, -2, 1, 1, 1], "node 3 has -2.0"),
        ([1, 1, 1, 1, 1, np.inf, 1], "node 5 has inf"),
        (["a"] * 7, "must hold numbers; got list"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(ParameterError, match=message):
        node_costs(weights, TREE)
    with pytest.raises(ParameterError):
        HLoss(weights)([3], [4], TREE)
