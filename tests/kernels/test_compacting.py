"""Rows taken out of a matrix: the kernels against their Python source and against plain indexing."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cladist.kernels import compact_rows
from tests.twins import kernels_not_named_in, same_as_python


@st.composite
def choices(draw):
    """A matrix of numbers that float32 holds, and some of its rows, more than once and in any order."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(1, 6)), draw(st.integers(0, 7))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = sparse.csr_array((random.integers(-4, 5, shape) * (random.random(shape) < 0.6)).astype(dtype))
    return X, np.array(draw(st.lists(st.integers(0, shape[0] - 1), max_size=8)), np.int64)


@given(choices())
def test_count_features(choice):
    X, chosen = choice
    counts = same_as_python(compact_rows.count_features, (X.indptr, X.indices), chosen, X.shape[1])
    np.testing.assert_array_equal(counts, (X.toarray()[chosen] != 0).sum(axis=0))


@given(choices(), st.booleans(), st.randoms())
def test_gather_rows(choice, constant, random):
    X, chosen = choice
    n_features = X.shape[1]
    place = np.array(random.sample(range(n_features), n_features), np.int64)
    indptr = np.append(0, np.cumsum(np.diff(X.indptr)[chosen] + constant)).astype(np.int64)
    indices, data = np.zeros(indptr[-1], np.uint32), np.zeros(indptr[-1], np.float32)
    norms, rows = np.zeros(len(chosen), np.float32), (X.indptr, X.indices, X.data)
    *_, indices, data, norms = same_as_python(
        compact_rows.gather_rows, rows, chosen, place, constant, n_features, indptr, indices, data, norms
    )
    expected = np.zeros((len(chosen), n_features + 1))
    expected[:, place] = X.toarray()[chosen]
    expected[:, -1] = constant
    gathered = sparse.csr_array((data, indices.astype(np.int64), indptr), shape=expected.shape)
    np.testing.assert_array_equal(gathered.toarray(), expected)
    np.testing.assert_array_equal(norms, (expected**2).sum(axis=1))
    if constant:
        assert np.all(indices[indptr[1:] - 1] == n_features)


@given(choices())
def test_copy_rows(choice):
    X, chosen = choice
    X = X.astype(np.float32)
    indptr = np.append(0, np.cumsum(np.diff(X.indptr)[chosen])).astype(np.int64)
    indices, data = np.zeros(indptr[-1], X.indices.dtype), np.zeros(indptr[-1], np.float32)
    rows = (X.indptr, X.indices, X.data)
    *_, indices, data = same_as_python(compact_rows.copy_rows, rows, chosen, indptr, indices, data)
    copied = sparse.csr_array((data, indices, indptr), shape=(len(chosen), X.shape[1]))
    np.testing.assert_array_equal(copied.toarray(), X.toarray()[chosen])


def test_every_kernel_is_compared_with_its_source():
    assert kernels_not_named_in(__file__, compact_rows) == []
