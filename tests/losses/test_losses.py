"""The losses on the worked example: 0 → 1, 2; 1 → 3, 4; 2 → 5, 6."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse

from cladist import LabelMatrix, Taxonomy
from cladist.errors import LabelError, ParameterError
from cladist.losses import LOSSES, HLoss, SymmetricDifference, TreeDistance, ZeroOne

TREE = Taxonomy.from_parents({0: None, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2})
TRUE = [{3}, {3, 5}, {1}, {6}, {4}, {5}]
PRED = [{4}, {3}, {3}, {2}, {5}, {5}]
SINGLE_TRUE, SINGLE_PRED = [3, 5, 1, 6, 4, 0], [4, 3, 3, 2, 4, 6]

TABLE = [
    (ZeroOne(), [1, 1, 1, 1, 1, 0], 0.8333),
    (SymmetricDifference(), [2, 2, 1, 1, 4, 0], 1.6667),
    (HLoss(), [2, 1, 1, 1, 2, 0], 1.1667),
    (HLoss("sibling"), [0.5, 0.5, 0.25, 0.25, 1.0, 0], 0.4167),
    (HLoss("subtree"), [0.2857, 0.4286, 0.1429, 0.1429, 0.8571, 0], 0.3095),
]


def every_vector():
    return np.array(list(itertools.product([0, 1], repeat=7)))


def consistent(vectors):
    parent = np.maximum(TREE.parent, 0)
    return vectors[np.all(vectors <= vectors[:, parent], axis=1)]


def every_pair(vectors):
    n = len(vectors)
    return np.repeat(vectors, n, axis=0), np.tile(vectors, (n, 1))


def test_the_vectors_of_the_example():
    z = LabelMatrix.from_sets(TRUE, TREE).to_indicator().toarray()
    rows = ["".join(map(str, row)) for row in z]
    assert rows == ["1101000", "1111010", "1100000", "1010001", "1100100", "1010010"]


@pytest.mark.parametrize(("loss", "rows", "mean"), TABLE, ids=lambda x: repr(x) if callable(x) else None)
def test_the_worked_table(loss, rows, mean):
    np.testing.assert_allclose(loss.per_example(TRUE, PRED, TREE), rows, atol=5e-5)
    assert loss(TRUE, PRED, TREE) == pytest.approx(mean, abs=5e-5)


@pytest.mark.parametrize("weights", ["uniform", "sibling", "subtree"])
def test_the_simplified_h_loss_equals_the_h_loss_in_the_table(weights):
    simplified = HLoss(weights, simplified=True).per_example(TRUE, PRED, TREE)
    np.testing.assert_array_equal(simplified, HLoss(weights).per_example(TRUE, PRED, TREE))


def test_an_inconsistent_pair():
    guess, truth = np.array([[0, 1, 0, 0, 0, 0, 0]]), np.array([[1, 1, 0, 1, 0, 0, 0]])
    assert HLoss()(truth, guess, TREE) == 1
    assert HLoss(simplified=True)(truth, guess, TREE) == 2
    assert SymmetricDifference()(truth, guess, TREE) == 2


def test_the_order_of_losses_on_all_pairs_of_vectors():
    a, b = every_pair(every_vector())
    assert len(a) == 2**14
    chain = [ZeroOne(), HLoss(), HLoss(simplified=True), SymmetricDifference()]
    values = [loss.per_example(a, b, TREE) for loss in chain]
    for smaller, larger in itertools.pairwise(values):
        assert np.all(smaller <= larger)
        assert np.any(smaller < larger)


@pytest.mark.parametrize("weights", ["uniform", "sibling", "subtree", [1, 0.3, 2, 0.1, 5, 0.7, 0.2]])
def test_on_all_consistent_pairs_both_h_losses_agree(weights):
    vectors = consistent(every_vector())
    assert len(vectors) == 26
    a, b = every_pair(vectors)
    found = HLoss(weights).per_example(a, b, TREE)
    np.testing.assert_array_equal(found, HLoss(weights, simplified=True).per_example(a, b, TREE))
    np.testing.assert_array_equal(found == 0, np.all(a == b, axis=1))


def test_the_h_loss_is_no_metric():
    vectors = consistent(every_vector())
    d = HLoss().per_example(*every_pair(vectors), TREE).reshape(26, 26)
    np.testing.assert_array_equal(d, d.T)
    violated = d[:, None, :] > d[:, :, None] + d[None, :, :]  # d(x, z) > d(x, y) + d(y, z)
    assert violated.sum() == 144


@pytest.mark.parametrize("weights", ["uniform", "sibling", "subtree"])
def test_everything_wrong_costs_only_the_root(weights):
    all_on, none = np.ones((1, 7), int), np.zeros((1, 7), int)
    assert HLoss(weights)(all_on, none, TREE) == 1
    assert HLoss().per_example(*every_pair(consistent(every_vector())), TREE).max() > 1


def test_the_distance_matrix():
    rows = ["0112222", "1021133", "1203311", "2130244", "2132044", "2314402", "2314420"]
    u, v = np.divmod(np.arange(49), 7)
    expected = np.array([int(digit) for row in rows for digit in row])
    np.testing.assert_array_equal(TreeDistance().per_example(u, v, TREE), expected)
    np.testing.assert_array_equal(SymmetricDifference().per_example(u, v, TREE), expected)


def test_the_rounds_of_the_single_node_example():
    assert TreeDistance().per_example(SINGLE_TRUE, SINGLE_PRED, TREE).tolist() == [2, 4, 1, 1, 0, 2]
    assert TreeDistance()(SINGLE_TRUE, SINGLE_PRED, TREE) == pytest.approx(1.6667, abs=5e-5)


def test_trees_of_a_forest_meet_in_the_virtual_root():
    forest = Taxonomy.from_parents({"a": None, "b": None, "c": "b"})
    assert TreeDistance().per_example(["a", "a"], ["b", "c"], forest).tolist() == [2, 3]


def test_the_virtual_root_reaches_the_sibling_costs():
    forest = Taxonomy.from_parents({"a": None, "b": None, "c": "b"})
    assert HLoss("sibling")(["a"], ["b"], forest) == 2
    assert HLoss("sibling", virtual_root=True)(["a"], ["b"], forest) == 1


def test_the_mean_is_weighted():
    weight = [1, 0, 0, 0, 3, 0]
    assert SymmetricDifference()(TRUE, PRED, TREE, sample_weight=weight) == (2 + 3 * 4) / 4


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_forms_of_the_same_labels_give_the_same_loss(loss):
    true = LabelMatrix.from_nodes(np.array(SINGLE_TRUE), TREE)
    dense = true.to_indicator().toarray()
    expected = loss.per_example(SINGLE_TRUE, SINGLE_PRED, TREE)
    for form in (true, dense, dense.astype(float), dense.astype(bool), sparse.csr_matrix(dense)):
        np.testing.assert_array_equal(loss.per_example(form, SINGLE_PRED, TREE), expected)
        np.testing.assert_array_equal(loss.per_example(SINGLE_PRED, form, TREE), expected)


def test_an_unsorted_sparse_matrix_with_stored_zeros_is_read_right():
    ragged = sparse.csr_array((np.array([1, 1, 0, 1]), np.array([3, 0, 6, 1]), np.array([0, 4])), shape=(1, 7))
    ragged.has_sorted_indices = False
    assert SymmetricDifference()(ragged, [3], TREE) == 0
    assert ragged.nnz == 4


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_loss_is_a_value(loss):
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss
    assert hash(again) == hash(loss)


def test_given_costs_are_kept_by_content():
    assert HLoss(np.arange(7)) == HLoss([0, 1, 2, 3, 4, 5, 6])
    assert hash(HLoss(np.arange(7))) == hash(HLoss(range(7)))
    assert HLoss(np.arange(7)) != HLoss(np.arange(8))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_different_numbers_of_rows_are_refused(loss):
    with pytest.raises(LabelError, match="y_true has 2 rows and y_pred has 3"):
        loss([3, 4], [3, 4, 5], TREE)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_rows_are_refused(loss):
    nothing = np.zeros((0, 7), int)
    with pytest.raises(LabelError, match="0 rows"):
        loss(nothing, nothing, TREE)


@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([[3, 5]], [[3]], r"y_true.* row 0 has 2 labels: '3', '5'"),
        ([[3], [3]], [[3], []], r"y_pred.* row 1 has no label"),
        (np.array([[0, 1, 0, 0, 0, 0, 0]]), [3], "y_true: Row 0 has '1' but not its parent '0'"),
    ],
)
def test_the_tree_distance_needs_one_path_a_row(true, pred, message):
    with pytest.raises(LabelError, match=message):
        TreeDistance()(true, pred, TREE)


@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([3], [7], "y_pred: Row 0: the label 7 is not in the taxonomy"),
        (np.zeros((1, 6)), [3], "y_true: .* one column per node, here 7"),
        (np.full((1, 7), 2), [3], "y_true: .* only 0 and 1"),
    ],
)
def test_the_side_at_fault_is_named(true, pred, message):
    with pytest.raises(LabelError, match=message):
        SymmetricDifference()(true, pred, TREE)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1], r"one number per row, here 1; got shape \(2,\)"),
        ([-1], "row 0 has -1.0"),
        ([float("nan")], "row 0 has nan"),
        ([0], "all are 0"),
        (["x"], "must hold numbers"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ParameterError, match=message):
        ZeroOne()([3], [3], TREE, sample_weight=weight)


def test_only_a_taxonomy_will_do():
    with pytest.raises(ParameterError, match="must be a Taxonomy; got dict"):
        ZeroOne()([3], [3], {"3": None})
