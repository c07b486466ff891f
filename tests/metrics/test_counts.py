"""Counts add up, and say what they cannot."""

import numpy as np
import pytest

from cladist import LabelMatrix, Taxonomy
from cladist.errors import LabelError, ParameterError
from cladist.metrics import Counts

TREE = Taxonomy.from_parents({0: None, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2})
TRUE = LabelMatrix.from_sets([{3}, {3, 5}, {1}, {6}, {4}, {5}], TREE)
PRED = LabelMatrix.from_sets([{4}, {3}, {3}, {2}, {5}, {5}], TREE)


def test_the_sums_of_the_worked_example():
    counts = Counts.from_labels(TRUE, PRED)
    assert (counts.n_rows, counts.weight, counts.n_multi) == (6, 6, 1)
    assert counts.tp.tolist() == [6, 3, 2, 1, 0, 1, 0]
    assert counts.fp.tolist() == [0, 0, 1, 1, 1, 1, 0]
    assert counts.fn.tolist() == [0, 1, 1, 1, 1, 1, 1]
    assert (counts.zero_one, counts.symmetric_difference, counts.h_uniform) == (5, 10, 7)
    assert counts.h_sibling == pytest.approx(2.5)
    assert counts.h_subtree == pytest.approx(13 / 7)
    assert counts.tree_distance == 2 + 1 + 1 + 4 + 0  # row b has two labels
    assert counts.sample_precision == pytest.approx(6 * 0.6667, abs=5e-4)
    assert counts.sample_recall == pytest.approx(6 * 0.5833, abs=5e-4)
    assert (counts.no_precision, counts.no_recall) == (0, 0)


def test_adding_changes_neither_side():
    one, other = Counts.from_labels(TRUE[:2], PRED[:2]), Counts.from_labels(TRUE[2:], PRED[2:])
    before = one.tp.copy()
    both = one + other
    np.testing.assert_array_equal(one.tp, before)
    np.testing.assert_array_equal(both.tp, Counts.from_labels(TRUE, PRED).tp)
    assert (both.n_rows, both.n_multi) == (6, 1)


def test_rows_without_a_label_are_noted():
    counts = Counts.from_labels(LabelMatrix.from_sets([{3}, set()], TREE), LabelMatrix.from_sets([set(), {3}], TREE))
    assert (counts.no_precision, counts.no_recall, counts.n_multi) == (1, 1, 2)
    assert not counts.is_single


def test_a_row_of_weight_zero_counts_nothing():
    counts = Counts.from_labels(TRUE, PRED, sample_weight=[0, 0, 0, 0, 0, 2])
    assert counts.fp.sum() == counts.fn.sum() == 0
    assert counts.tp.tolist() == [2, 0, 2, 0, 0, 2, 0]
    assert counts.weight == 2
    assert counts.mean("symmetric_difference") == 0


def test_the_tree_distance_of_several_labels_is_refused():
    with pytest.raises(LabelError, match="1 of 6 rows have none or several"):
        Counts.from_labels(TRUE, PRED).mean("tree_distance")


def test_an_unknown_loss_is_refused():
    with pytest.raises(ParameterError, match="loss must be one of 'zero_one'"):
        Counts.from_labels(TRUE, PRED).mean("h_loss")


def test_other_taxonomies_are_refused():
    star = Taxonomy.from_parents(dict.fromkeys(range(7)))
    elsewhere = LabelMatrix.from_nodes(np.arange(6), star)
    with pytest.raises(LabelError, match=r"y_pred: .*another taxonomy"):
        Counts.from_labels(TRUE, elsewhere)
    with pytest.raises(LabelError, match="two different taxonomies"):
        Counts.from_labels(TRUE, PRED) + Counts.from_labels(elsewhere, elsewhere)
    with pytest.raises(TypeError):
        Counts.from_labels(TRUE, PRED) + 1


def test_many_rows_and_nodes_need_no_dense_matrix():
    n_rows, n_nodes = 50_000, 100_000  # dense: 5 GB a side
    star = Taxonomy.from_parents({v: None if v == 0 else 0 for v in range(n_nodes)})
    rng = np.random.default_rng(0)
    true, pred = (LabelMatrix.from_nodes(rng.integers(n_nodes, size=n_rows), star) for _ in range(2))
    counts = Counts.from_labels(true, pred)
    assert counts.tp[0] == n_rows
    assert counts.tp.sum() + counts.fn.sum() == len(true.indices)
    assert counts.tp.sum() + counts.fp.sum() == len(pred.indices)
