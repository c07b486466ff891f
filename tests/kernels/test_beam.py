"""A walk down a tree: the kernels against their Python source, in the calls that `DifferenceWeights` makes of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladist.kernels import beam, linear_scores, top_k
from cladist.linear_model import node_differences
from cladist.linear_model.problem_tree import ProblemTree
from tests.kernels.sources import compared
from tests.linear_model.test_node_differences import halves, made
from tests.twins import kernels_not_named_in, same_as_python

TREE = ProblemTree(np.array([-1, 0, 0, 0, 1, 1, 2, 2, 2, 4, 4]), np.array([9, 10, 5, 6, 7, 8, 3]))
KERNELS = {
    "expand": beam.expand,  # and, inside, beam.weights_of, beam.add_weights, beam.sum_by_search, beam.sum_by_table,
    "choose": beam.choose,  # beam.note_features, beam.forget_features and beam.write_children
    "count_by_feature": beam.count_by_feature,
    "list_by_feature": beam.list_by_feature,
}


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 10**6]), st.sampled_from([1, 2, 20]))
def test_every_call_does_what_its_source_says(seed, steps, width):
    random = np.random.default_rng(seed)
    weights, V, _ = made(TREE, random)
    X = np.abs(halves(random, 5, V.shape[1]))
    with pytest.MonkeyPatch.context() as patch:
        for name, kernel in KERNELS.items():
            patch.setattr(node_differences.kernels, name, compared(kernel, beam, top_k, linear_scores))
        exact = weights.top_k(X, 2)
        walked = weights.top_k(X, 2, width)
        patch.setattr(node_differences, "MOST_INDEX_BYTES", -1)
        streamed = weights.scores(X)
    assert np.all(walked[1] <= exact[1])
    np.testing.assert_array_equal(streamed, weights.scores(X))


@given(st.lists(st.integers(-3, 12), max_size=8))
def test_features_that_are_none_are_not_noted(features):
    features, table = np.array(features, np.int32), np.zeros(10, np.int32)
    inside = (features >= 0) & (features < 10)
    noted = table.copy()
    assert same_as_python(beam.note_features, features, noted) == bool(np.all(inside))
    beam.note_features(features, noted)
    assert set(np.flatnonzero(noted)) == set(features[inside])
    beam.forget_features(features, noted)
    np.testing.assert_array_equal(noted, table)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=6), st.integers(0, 5))
def test_weights_stay_within_their_chunk(ends, n_weights):
    ends = np.array(ends, np.uint32)
    for q in range(len(ends)):
        first, last = same_as_python(beam.weights_of, q, ends, n_weights)
        assert 0 <= first <= n_weights
        assert 0 <= last <= n_weights


def test_every_kernel_is_compared_with_its_source():
    assert kernels_not_named_in(__file__, beam) == []
