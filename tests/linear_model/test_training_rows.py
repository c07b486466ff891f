"""Rows as solvers read them: relabelled features, the constant, norms, and the way back."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cladist.linear_model.training_rows import FEW, LINE, NORESERVE, aligned_zeros, reserved_zeros
from cladist.solvers import TrainingRows


@st.composite
def matrices(draw):
    """Sparse matrices of small numbers that float32 holds; some are much wider than their entries are many."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(0, 8)), draw(st.sampled_from([0, 1, 5, 12, 400]))
    density = draw(st.sampled_from([0.01, 0.3, 1.0]))
    dtype = draw(st.sampled_from([np.float64, np.float32, np.int64]))
    X = sparse.csr_array((random.integers(-4, 5, shape) * (random.random(shape) < density)).astype(dtype))
    X.indices = X.indices.astype(draw(st.sampled_from([np.int32, np.int64])))
    return X


@st.composite
def chosen_rows(draw):
    X = draw(matrices())
    if X.shape[0] == 0 or draw(st.booleans()):
        return X, None
    return X, np.array(draw(st.lists(st.integers(0, X.shape[0] - 1), max_size=10)), np.int64)


def dense_of(rows):
    """The rows under the numbers they had, the constant one past the last."""
    whole = np.zeros((len(rows), rows.n_features + 1))
    for i in range(len(rows)):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        whole[i, rows.feature_of[rows.indices[part]]] = rows.data[part]
    return whole


@given(chosen_rows(), st.booleans())
def test_rows_are_those_of_the_matrix(problem, constant):
    X, chosen = problem
    expected = X.toarray() if chosen is None else X.toarray()[chosen]
    rows = TrainingRows.from_matrix(X, constant=constant, chosen=chosen)
    assert (rows.indptr.dtype, rows.indices.dtype, rows.data.dtype) == (np.int64, np.uint32, np.float32)
    assert (rows.norms.dtype, rows.feature_of.dtype) == (np.float32, np.int64)
    assert (len(rows), rows.n_features, rows.has_constant) == (*expected.shape, constant)
    whole = dense_of(rows)
    np.testing.assert_array_equal(whole[:, :-1], expected)
    np.testing.assert_array_equal(whole[:, -1], float(constant))
    np.testing.assert_array_equal(rows.norms, (whole**2).sum(axis=1))


@given(chosen_rows(), st.booleans())
def test_features_are_numbered_by_how_often_they_occur(problem, constant):
    X, chosen = problem
    rows = TrainingRows.from_matrix(X, constant=constant, chosen=chosen)
    if constant:
        assert rows.feature_of[-1] == X.shape[1]
        if len(rows):
            np.testing.assert_array_equal(rows.indices[rows.indptr[1:] - 1], rows.n_used - 1)
    features = rows.feature_of[:-1] if constant else rows.feature_of
    occurring = X if chosen is None else X[chosen]
    counts = np.bincount(occurring.indices, minlength=X.shape[1])
    expected = sorted(np.flatnonzero(counts), key=lambda feature: (-counts[feature], feature))
    assert features.tolist() == expected
    assert rows.n_used == len(expected) + constant


@given(matrices(), st.booleans(), st.data())
def test_the_way_back(X, constant, data):
    rows = TrainingRows.from_matrix(X, constant=constant)
    chosen = np.array(data.draw(st.lists(st.integers(0, X.shape[0] - 1), max_size=9)) if X.shape[0] else [], np.int64)
    back = rows.matrix(chosen)
    assert back.shape == (len(chosen), X.shape[1])
    assert back.has_sorted_indices
    np.testing.assert_array_equal(back.toarray(), X.toarray()[chosen])


@pytest.mark.parametrize("constant", [True, False])
def test_wide_matrices_take_the_same_rows(constant):
    random = np.random.default_rng(0)
    narrow = random.integers(-4, 5, (6, 5)) * (random.random((6, 5)) < 0.6)
    wide = np.zeros((6, 40 * FEW))
    wide[:, ::8][:, :5] = narrow
    one, other = TrainingRows.from_matrix(narrow, constant=constant), TrainingRows.from_matrix(wide, constant=constant)
    for name in ("indptr", "indices", "data", "norms"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    last = {5: wide.shape[1]}
    assert other.feature_of.tolist() == [last.get(feature, 8 * feature) for feature in one.feature_of.tolist()]


def test_entries_of_the_same_feature_add_up():
    twice = sparse.csr_array((np.array([1.0, 1.0, 2.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 3))
    rows = TrainingRows.from_matrix(twice, constant=False)
    assert rows.norms.tolist() == [8]
    np.testing.assert_array_equal(rows.matrix(np.array([0])).toarray(), [[2, 2, 0]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_any_matrix_will_do(form):
    X = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0]])
    np.testing.assert_array_equal(dense_of(TrainingRows.from_matrix(form(X), constant=False))[:, :-1], X)


@given(st.integers(0, 50), st.sampled_from([1, 16]))
def test_aligned_zeros(n_rows, n_columns):
    zeros = aligned_zeros(n_rows, n_columns)
    assert zeros.shape == (n_rows, n_columns)
    assert zeros.dtype == np.float32
    assert zeros.flags.c_contiguous
    assert not zeros.any()
    assert n_rows == 0 or zeros.ctypes.data % LINE == 0


@pytest.mark.skipif(not NORESERVE, reason="other systems reserve what they give")
def test_zeros_may_be_more_than_fit_into_memory():
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    zeros = reserved_zeros(memory // 2**19, 2**18)  # twice as many bytes
    zeros[-1, 7] += 1
    assert zeros[-1, :9].tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 0]
    assert reserved_zeros(3, 2).tolist() == [[0, 0]] * 3
