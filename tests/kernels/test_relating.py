"""Products with the matrix of a graph: the kernels against their Python source and against plain matrices."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.kernels import graph_products
from tests.twins import kernels_not_named_in, same_as_python

seeds = st.integers(0, 2**32 - 1)


def drawn(seed, n_nodes, n_features):
    """A graph, what pulls at its nodes, and vectors; all numbers are such that float32 adds them up exactly."""
    random = np.random.default_rng(seed)
    upper = np.triu(random.integers(0, 3, (n_nodes, n_nodes)), 1).astype(np.float64)
    graph = sparse.csr_array(upper + upper.T)
    pull = 2.0 ** random.integers(0, 3, n_nodes)
    return graph, (graph.indptr, graph.indices, graph.data), pull, random.integers(-8, 9, (n_nodes, n_features))


@settings(max_examples=20)
@given(seeds, st.integers(1, 6), st.sampled_from([1, 5, graph_products.TILE + 3]), st.integers(1, 16))
def test_put_means(seed, n_nodes, n_features, n_lanes):
    graph, edges, pull, W = drawn(seed, n_nodes, n_features)
    nodes = np.random.default_rng(seed).integers(0, n_nodes, n_lanes)
    above = np.full((n_features, 16), np.nan, np.float32)
    *_, above = same_as_python(graph_products.put_means, edges, pull, nodes, W.astype(np.float32), above)
    lanes = np.append(nodes, np.repeat(nodes[-1:], 16 - n_lanes))
    np.testing.assert_array_equal(above, ((graph @ W) / pull[:, None])[lanes].T)


@settings(max_examples=20)
@given(seeds, st.sampled_from([1, graph_products.TILE + 3]), st.integers(1, 16))
def test_put_columns(seed, n_features, n_lanes):
    random = np.random.default_rng(seed)
    block, scales = (random.normal(size=shape).astype(np.float32) for shape in ((n_features, 16), 16))
    nodes, W = random.permutation(20)[:n_lanes], np.zeros((20, n_features), np.float32)
    *_, W = same_as_python(graph_products.put_columns, block, scales, nodes, W)
    np.testing.assert_array_equal(W[nodes], (block * scales).T[:n_lanes])
    assert not np.delete(W, nodes, axis=0).any()


@settings(max_examples=20)
@given(seeds, st.integers(1, 6), st.integers(1, 5))
def test_multiply(seed, n_nodes, n_features):
    graph, edges, pull, W = drawn(seed, n_nodes, n_features)
    V = W.astype(np.float64)
    *_, product = same_as_python(graph_products.multiply, edges, pull, V, np.empty_like(V))
    np.testing.assert_array_equal(product, pull[:, None] * V - graph @ V)


@settings(max_examples=20)
@given(seeds, st.integers(1, 7))
def test_differences(seed, n_features):
    random = np.random.default_rng(seed)
    weights, above, before = random.integers(-8, 9, (3, n_features, 16)).astype(np.float32)
    shares, terms = np.empty_like(weights), np.empty((3, 16))
    *_, shares, terms = same_as_python(graph_products.differences, weights, above, before, shares, terms)
    np.testing.assert_array_equal(shares, weights - above)
    expected = [((weights - above) * weights), (weights - above) ** 2, (before - above) ** 2]
    np.testing.assert_array_equal(terms, np.sum(expected, axis=1))


def test_every_kernel_is_tested():
    assert not kernels_not_named_in(__file__, graph_products)
