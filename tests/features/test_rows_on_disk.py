"""Rows in files: chosen and reordered as in memory, in pieces of any size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.errors import DatasetError, TooLargeError
from cladist.features import rows_on_disk
from cladist.linear_model.training_rows import TrainingRows
from cladist.storage import is_mapped, scratch
from cladist.storage.scratch import ScratchArray, Spool, scratch_in


@pytest.fixture
def tiny_pieces(monkeypatch):
    """Let everything that is mapped stay on disk, in pieces of a few entries."""
    monkeypatch.setattr(rows_on_disk, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(rows_on_disk, "PIECE_BYTES", 7 * rows_on_disk.ENTRY_BYTES)


def on_disk(X):
    """Return a CSR matrix whose indices and values are mapped."""
    arrays = []
    for array in (X.indices, X.data):
        spool = Spool(array.dtype, in_memory=0)
        spool.append(array)
        arrays.append(spool.array())
    return rows_on_disk.as_csr(X.indptr, *arrays, X.shape[1])


def rows_of(n_rows, n_columns, density, seed):
    return (
        sparse.random_array(
            (n_rows, n_columns), density=density, format="csr", dtype=np.float32, rng=np.random.default_rng(seed)
        )
        .tocsr()
        .sorted_indices()
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 12), st.sampled_from([0.0, 0.2, 1.0]), st.integers(0, 99), st.booleans())
def test_training_rows_are_those_in_memory(n_rows, n_columns, density, seed, constant):
    X = rows_of(n_rows, n_columns, density, seed)
    order = np.random.default_rng(seed).permutation(n_rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_on_disk, "MOST_IN_MEMORY", 0)
        patch.setattr(rows_on_disk, "PIECE_BYTES", 7 * rows_on_disk.ENTRY_BYTES)
        there = TrainingRows.from_matrix(on_disk(X), constant=constant)
        assert there.on_disk == bool(X.nnz)
        pairs = [(there, TrainingRows.from_matrix(X, constant=constant))]
        pairs.append(tuple(rows.reorder(order) for rows in pairs[0]))
        for got, wanted in pairs:
            for name in ("indptr", "indices", "data", "norms", "feature_of"):
                np.testing.assert_array_equal(getattr(got, name), getattr(wanted, name))
        chosen = np.sort(order[: n_rows // 2])
        np.testing.assert_array_equal(pairs[1][0].matrix(chosen).toarray(), pairs[1][1].matrix(chosen).toarray())


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(0, 99), st.booleans())
def test_rows_are_taken_from_disk_to_disk(n_rows, seed, repeated):
    X, generator = rows_of(n_rows, 9, 0.4, seed), np.random.default_rng(seed)
    rows = generator.integers(0, n_rows, 5) if repeated else generator.permutation(n_rows)[: n_rows // 2 + 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_on_disk, "MOST_IN_MEMORY", 0)
        patch.setattr(rows_on_disk, "PIECE_BYTES", 7 * rows_on_disk.ENTRY_BYTES)
        taken = rows_on_disk.take_rows(on_disk(X), rows)
    np.testing.assert_array_equal(taken.toarray(), X[rows].toarray())


def test_small_rows_are_copied_into_memory():
    X = rows_of(30, 9, 0.4, 0)
    assert not TrainingRows.from_matrix(on_disk(X), constant=True).on_disk
    assert not is_mapped(rows_on_disk.take_rows(on_disk(X), np.arange(10)).data)


def test_indices_are_shared_where_row_ends_need_more_digits():
    """Beyond 2³¹ entries the types differ, and no step may copy the indices to make them equal."""
    X = on_disk(rows_of(30, 9, 0.4, 0))
    X.indptr = X.indptr.astype(np.int64)
    part = rows_on_disk.slice_rows(X, 3, 20)
    assert np.shares_memory(part.indices, X.indices)
    got, wanted = (TrainingRows.from_matrix(Y, constant=True) for Y in (X, rows_of(30, 9, 0.4, 0)))
    np.testing.assert_array_equal(got.indices, wanted.indices)


@pytest.mark.parametrize("wrong", [-1, 9, 2**31 - 1])
def test_a_feature_that_is_not_there_is_refused_before_it_is_used(wrong):
    X = rows_of(30, 9, 0.4, 0)
    X.indices[17] = wrong
    with pytest.raises(DatasetError, match="altered or damaged"):
        TrainingRows.from_matrix(on_disk(X), constant=True)


def test_blocks_of_weights_of_rows_on_disk_are_there_too(tiny_pieces):
    rows = TrainingRows.from_matrix(on_disk(rows_of(30, 9, 0.4, 0)), constant=True)
    blocks = rows.new_blocks(2)
    assert blocks.shape == (2, 10, 16)
    assert is_mapped(blocks)
    assert not blocks.any()


def test_a_file_that_does_not_fit_is_refused_in_one_sentence(tmp_path):
    with scratch_in(tmp_path), pytest.raises(TooLargeError, match=r"do not fit into .*TMPDIR"):
        ScratchArray((2**52,), np.float64)
    assert list(tmp_path.iterdir()) == []


def test_scratch_arrays_are_written_in_any_order(tmp_path):
    with scratch_in(tmp_path):
        numbers = ScratchArray((3, 2), np.int64)
    numbers.write(2, np.array([[5, 6]]))
    numbers.write(0, np.arange(4).reshape(2, 2))
    assert numbers.array.tolist() == [[0, 1], [2, 3], [5, 6]]
    assert scratch._folder.get() is None
    assert ScratchArray((0, 3), np.float32).array.shape == (0, 3)
