"""`MixedRows`: the rows that hstack would make CSR, of blocks in any form."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from cladist import FlatSVM, Hieron, LocalPerNode, MixedRows, TopDown
from cladist.errors import DatasetError
from cladist.mixed_rows import as_array

RANDOM = np.random.default_rng(0)
WORDS = sparse.csr_array((RANDOM.random((12, 7)) < 0.4) * RANDOM.random((12, 7)))
VECTORS = RANDOM.normal(size=(12, 3)).astype(np.float32)
WHOLE = np.hstack([WORDS.toarray(), VECTORS])
Y = np.array(["a", "b", "c"] * 4)


class Tensor:
    """An array of a library that numpy knows by DLPack alone, in the memory of a device."""

    def __init__(self, array, device=1):
        self.array, self.device, self.ndim, self.shape = array, device, array.ndim, array.shape

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.device, 0


def test_rows_are_those_of_hstack():
    rows = MixedRows([WORDS, VECTORS])
    assert (rows.shape, len(rows), rows.ndim, rows.dtype, rows.starts) == ((12, 10), 12, 2, np.float64, [0, 7])
    assert rows.size == WORDS.nnz + VECTORS.size
    assert repr(rows) == "MixedRows of 12 rows: 7 sparse and 3 dense columns"
    np.testing.assert_array_equal(rows.tocsr().toarray(), WHOLE)
    np.testing.assert_array_equal(rows.toarray(), WHOLE)
    assert np.shares_memory(rows.blocks[1], VECTORS)
    assert MixedRows([VECTORS]).dtype == np.float32


@pytest.mark.parametrize(
    "chosen", [slice(2, 9, 3), np.array([4, 4, 0]), WHOLE[:, 7] > 0, 5, -1, (np.array([3, 1]), Ellipsis)]
)
def test_some_rows(chosen):
    whole = WHOLE[chosen[0] if isinstance(chosen, tuple) else chosen]
    np.testing.assert_array_equal(MixedRows([WORDS, VECTORS])[chosen].toarray(), np.atleast_2d(whole))


def test_scikit_learn_splits_them():
    parts = train_test_split(MixedRows([VECTORS, WORDS]), Y, test_size=4, random_state=0)
    assert [part.shape for part in parts[:2]] == [(8, 10), (4, 10)]


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.int64, bool])
def test_types_of_blocks(dtype):
    block = (VECTORS > 0).astype(dtype)
    rows = MixedRows([block, sparse.csr_array(block.astype(np.int32))])
    assert rows.dtype in (np.float32, np.float64)
    np.testing.assert_array_equal(rows.toarray(), np.hstack([block, block]).astype(np.float64))


def test_memory_maps_stay_on_disk(tmp_path):
    np.save(tmp_path / "vectors.npy", VECTORS)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    assert np.shares_memory(MixedRows([mapped]).blocks[0], mapped)


def test_arrays_of_other_libraries():
    rows = MixedRows([Tensor(VECTORS), WORDS])
    assert np.shares_memory(rows.blocks[0], VECTORS)
    assert FlatSVM().fit(Tensor(VECTORS), Y).score(Tensor(VECTORS), Y) == FlatSVM().fit(VECTORS, Y).score(VECTORS, Y)
    with pytest.raises(DatasetError, match="memory of another device"):
        as_array(Tensor(VECTORS, device=2))
    with pytest.raises(DatasetError, match="memory of another device"):
        FlatSVM().fit(Tensor(VECTORS, device=2), Y)


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(VECTORS, requires_grad=True)
    np.testing.assert_array_equal(as_array(tensor), VECTORS)
    np.testing.assert_array_equal(as_array(tensor.bfloat16()), tensor.detach().bfloat16().float().numpy())
    assert as_array(tensor.half()).dtype == np.float16


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (VECTORS, "takes a list of blocks; got a ndarray"),
        ([], "one block or more"),
        ([WORDS, VECTORS[:5]], r"as many rows each; they have \[12, 5\]"),
        ([VECTORS[:, 0]], "Block 0 of MixedRows must have rows and columns; got 1 dimensions"),
        ([WORDS, np.array([["a"]] * 12)], "Block 1 of MixedRows must be numbers; got <U1"),
        ([MixedRows([VECTORS])], "Block 0 of MixedRows is MixedRows itself"),
    ],
)
def test_blocks_that_are_refused(blocks, message):
    with pytest.raises(DatasetError, match=message):
        MixedRows(blocks)


def test_what_they_do_not_do():
    rows = MixedRows([WORDS, VECTORS])
    with pytest.raises(DatasetError, match="indexed by rows alone"):
        rows[:, :3]
    with pytest.raises(DatasetError, match=r"give rows.tocsr\(\)"):
        np.asarray(rows)
    with pytest.raises(ValueError, match="NaN"):
        FlatSVM().fit(MixedRows([WORDS, VECTORS * np.nan]), Y)
    with pytest.raises(ValueError, match="features"):
        FlatSVM().fit(rows, Y).predict(MixedRows([WORDS]))


def test_other_learners_get_csr():
    rows = MixedRows([WORDS, VECTORS])
    models = Hieron(random_state=0), TopDown(estimator=LinearSVC()), LocalPerNode(estimator=LinearSVC())
    for model in models:
        other = type(model)(**model.get_params(deep=False)).fit(rows.tocsr(), Y)
        assert model.fit(rows, Y).predict(rows).tolist() == other.predict(rows.tocsr()).tolist()
