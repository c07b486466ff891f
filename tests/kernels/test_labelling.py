"""Labelling kernels: each against its own Python source and against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cladist.kernels import labelling
from tests.strategies import breadth_first, parent_arrays
from tests.twins import kernels_not_named_in, same_as_python

halves = st.integers(-6, 6).map(lambda k: k / 2)
some_nan = st.one_of(halves, st.sampled_from([float("nan"), float("inf"), -float("inf")]))
dtypes = st.sampled_from([np.float32, np.float64])


@st.composite
def tiles(draw, *, elements=halves):
    """Parents, and a tile (nodes × examples) of scores."""
    parent = draw(parent_arrays(max_nodes=19))
    return parent, draw(hnp.arrays(draw(dtypes), (len(parent), draw(st.integers(1, 9))), elements=elements))


@given(tiles(elements=some_nan), st.integers(0, 3))
def test_load_tile(case, first):
    _, tile = case
    rows = np.concatenate([np.ones((first, len(tile)), tile.dtype), tile.T, np.ones((2, len(tile)), tile.dtype)])
    for kernel, scores in ((labelling.load_tile, rows), (labelling.load_tile_node_major, rows.T.copy())):
        _, _, loaded = same_as_python(kernel, scores, first, np.zeros_like(tile))
        np.testing.assert_array_equal(loaded, tile)


@given(tiles(elements=some_nan), halves)
def test_rows_of_a_tile(case, threshold):
    _, tile = case
    a, b = tile[0], tile[-1][::-1].copy()
    added, *_ = same_as_python(labelling.add_positive, a, b, tile.dtype.type(0))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(added, a + np.maximum(b, 0))
    marks = [same_as_python(labelling.mark_over, row, threshold, np.full(len(a), 7, np.uint8))[2] for row in (a, b)]
    for row, mark in zip((a, b), marks, strict=True):
        np.testing.assert_array_equal(mark, row > threshold)
    both, _ = same_as_python(labelling.mark_both, *marks)
    np.testing.assert_array_equal(both, marks[0] & marks[1])


@given(tiles(elements=some_nan))
def test_add_gains(case):
    parent, tile = case
    gains, _ = same_as_python(labelling.add_gains, tile, parent)
    for t in range(tile.shape[1]):
        expected = tile[:, t].astype(float)
        for v in range(len(parent) - 1, -1, -1):
            if parent[v] >= 0:
                with np.errstate(invalid="ignore"):
                    expected[parent[v]] += np.maximum(expected[v], 0)  # numpy's maximum passes NaN on
        np.testing.assert_array_equal(gains[:, t], expected)


@given(tiles(elements=some_nan), st.data())
def test_mark_tile(case, data):
    parent, tile = case
    thresholds = data.draw(
        hnp.arrays(data.draw(st.sampled_from([tile.dtype, np.float64])), len(parent), elements=halves)
    )
    *_, on = same_as_python(labelling.mark_tile, tile, parent, thresholds, np.full(tile.shape, 7, np.uint8))
    expected = tile > thresholds[:, None].astype(np.float64)
    for v, p in enumerate(parent):
        if p >= 0:
            expected[v] &= expected[p]
    np.testing.assert_array_equal(on, expected)


@given(tiles(elements=st.one_of(halves, halves, st.just(float("nan")))))
def test_first_nan(case):
    _, tile = case
    wrong = np.flatnonzero(np.isnan(tile).any(axis=0))
    assert same_as_python(labelling.first_nan, tile) == (wrong[0] if len(wrong) else -1)


@given(st.integers(1, 35), st.integers(1, 20), st.data())
def test_marks_are_packed_and_listed(n_nodes, size, data):
    on = data.draw(hnp.arrays(np.uint8, (n_nodes, size), elements=st.integers(0, 1)))
    _, packed = same_as_python(labelling.pack_marks, on, np.full(((n_nodes + 7) // 8, size), 255, np.uint8))
    np.testing.assert_array_equal(packed, np.packbits(on, axis=0, bitorder="little"))
    first, total = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 5))
    indptr, indices = np.full(first + size + 1, -1), np.full(total + int(on.sum()) + 8, -1, np.int32)
    for append in (labelling.append_marked, labelling.append_marked.py_func):
        ends, listed = indptr.copy(), indices.copy()
        assert append(packed, ends, listed, first, total) == total + on.sum()
        assert np.all(listed[:total] == -1)
        assert ends[first + 1 :].tolist() == (total + np.cumsum(on.sum(axis=0))).tolist()
        nodes = [v for t in range(size) for v in np.flatnonzero(on[:, t])]
        assert listed[total : total + len(nodes)].tolist() == nodes


def test_the_table_of_set_bits():
    for byte in range(256):
        count = labelling.SET_COUNT[byte]
        assert count == byte.bit_count()
        assert sum(1 << int(k) for k in labelling.SET_BITS[byte, :count]) == byte
        assert sorted(labelling.SET_BITS[byte]) == list(range(8))
        assert np.all(np.diff(labelling.SET_BITS[byte, :count]) > 0)


@given(tiles(elements=st.one_of(halves, halves, halves, st.just(float("nan")))), st.booleans(), st.booleans())
def test_label_rows(case, node_major, best):
    parent, tile = case
    scores = tile if node_major else np.ascontiguousarray(tile.T)
    thresholds = np.zeros(len(parent), tile.dtype)
    indptr, indices, not_a_number = same_as_python(labelling.label_rows, scores, node_major, parent, thresholds, best)
    wrong = np.flatnonzero(np.isnan(tile).any(axis=0))
    assert not_a_number == (wrong[0] if len(wrong) else -1)
    if len(wrong):
        return
    values = tile.copy()
    if best:
        labelling.add_gains(values, parent)
    on = np.zeros(tile.shape, np.uint8)
    labelling.mark_tile(values, parent, thresholds, on)
    assert np.diff(indptr).tolist() == on.sum(axis=0).tolist()
    assert indices.tolist() == [v for t in range(tile.shape[1]) for v in np.flatnonzero(on[:, t])]


@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize("node_major", [False, True])
def test_label_rows_over_several_tiles(best, node_major):
    rng = np.random.default_rng(0)
    n = 2 * labelling.TILE + 5
    parent = np.array([-1, 0, 0, 1, -1])
    scores = rng.integers(-2, 3, (5, n) if node_major else (n, 5)).astype(float)
    same_as_python(labelling.label_rows, scores, node_major, parent, np.zeros(5), best)


def test_with_room():
    indices = np.arange(10, dtype=np.int32)
    for kernel in (labelling.with_room, labelling.with_room.py_func):
        np.testing.assert_array_equal(kernel(indices, 4, 6, 1, 2), indices)
        larger = kernel(indices, 5, 6, 1, 3)
        assert len(larger) == 11 + int(1.1 * 5 * 2)
        np.testing.assert_array_equal(larger[:5], indices[:5])


@given(parent_arrays(), dtypes, st.data())
def test_greedy_leaves(parent, dtype, data):
    parent = breadth_first(parent)
    n_roots = int((parent < 0).sum())
    child_start = n_roots + np.concatenate([[0], np.cumsum(np.bincount(parent[n_roots:], minlength=len(parent)))])
    shape = (data.draw(st.integers(0, 5)), len(parent))
    scores = data.draw(hnp.arrays(dtype, shape, elements=st.one_of(halves, halves, halves, st.just(float("nan")))))
    leaves = same_as_python(labelling.greedy_leaves, scores, child_start, n_roots)
    for row, leaf in zip(scores, leaves, strict=True):
        among, v = list(range(n_roots)), -1
        while among:
            if np.isnan(row[among]).any():
                v = -1
                break
            v = among[int(np.argmax(row[among]))]
            among = np.flatnonzero(parent == v).tolist()
        assert leaf == v


def test_every_kernel_has_its_test():
    assert kernels_not_named_in(__file__, labelling) == []
