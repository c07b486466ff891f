"""LabelMatrix: closed by construction, whatever it is built from."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import train_test_split

from cladist import LabelMatrix, Taxonomy
from cladist.errors import LabelError
from cladist.labels import to_indicator
from cladist.labels.matrix import as_indicator
from tests.strategies import consistent_sets, forests, node_sets

TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])  # sport, art, tennis, chess


def closure(taxonomy, rows):
    """The 0/1 matrix of rows of node ids with all their ancestors."""
    dense = np.zeros((len(rows), len(taxonomy)), np.int8)
    for i, row in enumerate(rows):
        for v in row:
            dense[i, taxonomy.path_ids(v)] = 1
    return dense


def frontier(taxonomy, dense):
    """The ids of each row that have no child in it."""
    return [
        [v for v in np.flatnonzero(row) if not row[taxonomy.child_start[v] : taxonomy.child_start[v + 1]].any()]
        for row in dense
    ]


@given(node_sets(min_rows=0))
def test_closing_adds_all_ancestors(case):
    taxonomy, rows = case
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = np.array([v for row in rows for v in row], dtype=np.int64)
    labels = LabelMatrix.from_ids(indptr, flat, taxonomy)
    dense = closure(taxonomy, rows)
    assert labels.shape == dense.shape
    assert len(labels) == len(rows)
    np.testing.assert_array_equal(labels.to_indicator().toarray(), dense)
    assert labels.to_indicator().dtype == np.int8
    assert labels.indices.dtype == np.int32
    assert labels.indptr.dtype == np.int64
    assert labels.to_indicator().has_canonical_format
    found = frontier(taxonomy, dense)
    assert labels.frontier_names() == [[taxonomy.names[v] for v in row] for row in found]
    assert labels.is_single == all(len(row) == 1 for row in found)
    again = LabelMatrix.from_ids(*labels.frontier, taxonomy)
    assert again == labels


@given(forests(), st.data())
def test_from_nodes(taxonomy, data):
    nodes = np.array(data.draw(st.lists(st.integers(0, len(taxonomy) - 1))), dtype=np.int64)
    labels = LabelMatrix.from_nodes(nodes, taxonomy)
    np.testing.assert_array_equal(labels.to_indicator().toarray(), closure(taxonomy, [[v] for v in nodes]))
    assert labels.nodes("test").tolist() == nodes.tolist()
    assert labels.is_single
    assert len(labels.indices) == (taxonomy.depth[nodes] + 1).sum()


@given(forests(max_nodes=7))
def test_every_consistent_labelling_is_taken_as_an_indicator(taxonomy):
    every = consistent_sets(taxonomy.parent)
    for given_matrix in (
        every,
        every.astype(bool),
        every.astype(float),
        every.astype(np.uint64),
        sparse.csr_array(every),
    ):
        labels = LabelMatrix.from_indicator(given_matrix, taxonomy)
        np.testing.assert_array_equal(labels.to_indicator().toarray(), every)


@given(forests(max_nodes=6))
def test_every_inconsistent_labelling_is_refused(taxonomy):
    consistent = {tuple(row) for row in consistent_sets(taxonomy.parent).tolist()}
    for bits in np.ndindex(*(2,) * len(taxonomy)):
        matrix = np.array([[0] * len(taxonomy), bits])
        if bits in consistent:
            LabelMatrix.from_indicator(matrix, taxonomy)
            continue
        with pytest.raises(LabelError, match=r"Row 1 has '(.*)' but not its parent '(.*)'; an indicator") as caught:
            LabelMatrix.from_indicator(matrix, taxonomy)
        node, parent = (part for part in str(caught.value).split("'")[1:4:2])
        assert taxonomy.ancestors(node)[-1] == parent
        assert matrix[1, taxonomy.index(node)] == 1
        assert matrix[1, taxonomy.index(parent)] == 0


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32, np.float64])
def test_every_sparse_layout(kind, container, dtype):
    dense = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
    given_matrix = getattr(sparse, f"{kind}_{container}")(dense.astype(dtype))
    before = given_matrix.toarray().copy()
    np.testing.assert_array_equal(LabelMatrix.from_indicator(given_matrix, TREE).to_indicator().toarray(), dense)
    np.testing.assert_array_equal(given_matrix.toarray(), before)


def test_stored_zeros_and_unsorted_entries_are_harmless():
    matrix = sparse.csr_array((np.array([1, 1, 0]), np.array([3, 0, 1]), np.array([0, 3])), shape=(1, 4))
    labels = LabelMatrix.from_indicator(matrix, TREE)
    assert labels.indices.tolist() == [0, 3]
    assert matrix.indices.tolist() == [3, 0, 1]


def test_entries_that_stand_twice_add_up():
    ones, art, row = np.array([1, 1]), np.array([1, 1]), np.array([0, 0])
    for twice in (
        sparse.coo_array((ones, (row, art)), shape=(1, 4)),
        sparse.csr_array((ones, art, np.array([0, 2])), shape=(1, 4)),
    ):
        with pytest.raises(LabelError, match="holds only 0 and 1; row 0 has 2 at 'art'"):
            LabelMatrix.from_indicator(twice, TREE)


@pytest.mark.parametrize("value", [2, -1, 0.5, np.nan, np.inf])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.csc_matrix])
def test_other_values_are_named_with_row_and_label(value, make):
    dense = np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [0, value, 0, 0]])
    with pytest.raises(LabelError, match=f"holds only 0 and 1; row 2 has {float(value)} at 'art'"):
        LabelMatrix.from_indicator(make(dense), TREE)


@pytest.mark.parametrize("shape", [(2, 3), (2, 5), (2, 0)])
@pytest.mark.parametrize("make", [np.zeros, sparse.csr_array])
def test_the_width_must_be_one_column_a_node(shape, make):
    with pytest.raises(LabelError, match=rf"one column per node, here 4; this one has shape \(2, {shape[1]}\)"):
        LabelMatrix.from_indicator(make(shape), TREE)


@pytest.mark.parametrize("matrix", [np.zeros(4), np.zeros((1, 4, 1)), np.float64(1), sparse.coo_array(np.zeros(4))])
def test_other_dimensions_are_refused(matrix):
    with pytest.raises(LabelError, match="one column per node"):
        LabelMatrix.from_indicator(matrix, TREE)


@pytest.mark.parametrize("matrix", [[["a", "b", "c", "d"]], np.full((1, 4), None), np.zeros((1, 4), complex)])
def test_what_is_not_a_number_is_refused(matrix):
    with pytest.raises(LabelError, match="holds numbers 0 and 1"):
        LabelMatrix.from_indicator(matrix, TREE)


def test_an_indicator_need_not_be_closed_for_losses():
    np.testing.assert_array_equal(as_indicator([[0, 0, 1, 0]], TREE).toarray(), [[0, 0, 1, 0]])
    labels = LabelMatrix.from_sets([["chess"]], TREE)
    np.testing.assert_array_equal(as_indicator(labels, TREE).toarray(), labels.to_indicator().toarray())


@pytest.mark.parametrize("ids", [[4], [-1], [0, 99], [2**40]])
def test_ids_outside_are_refused_before_they_reach_compiled_code(ids):
    with pytest.raises(LabelError, match=rf"Row {len(ids) - 1} has the node id {ids[-1]}; ids run from 0 to 3"):
        LabelMatrix.from_nodes(np.array(ids), TREE)
    with pytest.raises(LabelError, match=rf"Row 1 has the node id {ids[-1]}"):
        LabelMatrix.from_ids(np.array([0, 0, len(ids)]), np.array(ids), TREE)


# ---------------------------------------------------------------- one label per row


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([["art"], []], "row 1 has no label"),
        ([["art", "tennis"], ["art"]], "row 0 has 2 labels: 'art', 'tennis'"),
        ([["chess"], ["tennis", "chess"]], "row 1 has 2 labels: 'tennis', 'chess'"),
    ],
)
def test_where_one_label_is_needed_the_row_is_named(rows, what):
    labels = LabelMatrix.from_sets(rows, TREE)
    assert not labels.is_single
    with pytest.raises(LabelError, match=f"Hieron needs exactly one label per row; {what}"):
        labels.nodes("Hieron")


def test_ancestors_are_no_further_labels():
    assert LabelMatrix.from_sets([["sport", "chess"], ["sport"]], TREE).nodes("test").tolist() == [3, 0]


# ---------------------------------------------------------------- cutting, comparing


@given(node_sets(max_rows=8), st.data())
def test_rows_are_cut_as_from_an_array(case, data):
    taxonomy, rows = case
    labels = LabelMatrix.from_sets([[taxonomy.names[v] for v in row] for row in rows], taxonomy)
    dense = labels.to_indicator().toarray()
    n = len(rows)
    keys = [
        data.draw(st.slices(n)),
        np.array(data.draw(st.lists(st.integers(-n, n - 1))), dtype=np.int64),
        np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n))),
        data.draw(st.lists(st.integers(-n, n - 1), min_size=1)),
    ]
    for key in keys:
        part = labels[key]
        assert part.taxonomy is taxonomy
        np.testing.assert_array_equal(part.to_indicator().toarray(), dense[key])
        assert part == labels[key, ...] == labels[key, :]
    one = data.draw(st.integers(-n, n - 1))
    np.testing.assert_array_equal(labels[one].to_indicator().toarray(), dense[[one]])


def test_columns_cannot_be_cut():
    labels = LabelMatrix.from_sets([["art"], ["chess"]], TREE)
    for key in ((0, 1), (slice(None), slice(0, 2)), (slice(None), slice(None), slice(None))):
        with pytest.raises(LabelError, match="indexed by rows only"):
            labels[key]
    with pytest.raises(IndexError):
        labels[2]


def test_scikit_learn_splits_it():
    labels = LabelMatrix.from_sets([["art"], ["chess"], [], ["tennis"]], TREE)
    one, other = train_test_split(labels, test_size=0.5, shuffle=False)
    assert (one.frontier_names(), other.frontier_names()) == ([["art"], ["chess"]], [[], ["tennis"]])


def test_equality_is_by_content_and_taxonomy():
    labels = LabelMatrix.from_sets([["chess"], []], TREE)
    assert labels == LabelMatrix.from_sets([["sport", "chess"], []], TREE)
    assert labels != LabelMatrix.from_sets([["chess"], ["art"]], TREE)
    assert labels != LabelMatrix.from_sets([["chess"]], TREE)
    other = Taxonomy.from_paths(["sport/tennis", "sport/go", "art"])
    assert labels != LabelMatrix.from_sets([["go"], []], other)
    assert labels != "labels"
    assert pickle.loads(pickle.dumps(labels)) == labels
    assert repr(labels) == "LabelMatrix(2 rows, 4 nodes, 2 entries)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(labels)


def test_to_indicator_takes_every_form():
    expected = [[1, 0, 0, 1], [0, 1, 0, 0]]
    for y in (["chess", "art"], [{"chess"}, ["art"]], np.array([["sport", "chess"], ["art", ""]]), np.array(expected)):
        matrix = to_indicator(y, TREE)
        assert matrix.format == "csr"
        np.testing.assert_array_equal(matrix.toarray(), expected)


def test_stacked_rows_are_those_of_the_parts():
    taxonomy = Taxonomy.from_paths(["a/b", "c"])
    parts = [LabelMatrix.from_sets(rows, taxonomy) for rows in ([["b"], []], [["c", "a"]])]
    assert LabelMatrix.from_parts(parts, taxonomy) == LabelMatrix.from_sets([["b"], [], ["c", "a"]], taxonomy)
    assert len(LabelMatrix.from_parts([], taxonomy)) == 0
