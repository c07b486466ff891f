"""Losses and errors as metrics, on the worked example: 0 → 1, 2; 1 → 3, 4; 2 → 5, 6."""

import numpy as np
import pytest

from cladist import Taxonomy
from cladist.errors import LabelError, ParameterError
from cladist.metrics import (
    accuracy,
    cumulative_error,
    h_loss,
    hamming_loss,
    multiclass_error,
    symmetric_difference_loss,
    tree_induced_error,
    zero_one_loss,
)

TREE = Taxonomy.from_parents({0: None, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2})
TRUE = [{3}, {3, 5}, {1}, {6}, {4}, {5}]
PRED = [{4}, {3}, {3}, {2}, {5}, {5}]
SINGLE = [3, 5, 1, 6, 4, 0], [4, 3, 3, 2, 4, 6]

OF_SETS = [zero_one_loss, symmetric_difference_loss, hamming_loss, h_loss]
OF_NODES = [tree_induced_error, multiclass_error]


@pytest.mark.parametrize(
    ("metric", "options", "value"),
    [
        (accuracy, {}, 0.1667),
        (zero_one_loss, {}, 0.8333),
        (symmetric_difference_loss, {}, 1.6667),
        (hamming_loss, {}, 10 / 42),
        (h_loss, {}, 1.1667),
        (h_loss, {"weights": "sibling"}, 0.4167),
        (h_loss, {"weights": "subtree"}, 0.3095),
        (h_loss, {"weights": "subtree", "simplified": True}, 0.3095),
        (h_loss, {"weights": [0, 0, 1, 0, 0, 0, 0]}, 2 / 6),
    ],
)
def test_means_of_the_multi_label_example(metric, options, value):
    found = metric(TRUE, PRED, TREE, **options)
    assert isinstance(found, float)
    assert found == pytest.approx(value, abs=5e-5)


def test_means_of_the_single_node_example():
    assert tree_induced_error(*SINGLE, TREE) == pytest.approx(1.6667, abs=5e-5)
    assert multiclass_error(*SINGLE, TREE) == pytest.approx(0.8333, abs=5e-5)


def test_one_number_an_example():
    assert tree_induced_error(*SINGLE, TREE, reduction="none").tolist() == [2, 4, 1, 1, 0, 2]
    assert multiclass_error(*SINGLE, TREE, reduction="none").tolist() == [1, 1, 1, 1, 0, 1]
    assert zero_one_loss(TRUE, PRED, TREE, reduction="none").tolist() == [1, 1, 1, 1, 1, 0]
    assert symmetric_difference_loss(TRUE, PRED, TREE, reduction="none").tolist() == [2, 2, 1, 1, 4, 0]
    assert h_loss(TRUE, PRED, TREE, reduction="none").tolist() == [2, 1, 1, 1, 2, 0]
    np.testing.assert_allclose(hamming_loss(TRUE, PRED, TREE, reduction="none") * 7, [2, 2, 1, 1, 4, 0])


def test_cumulative_errors():
    np.testing.assert_allclose(cumulative_error(*SINGLE, TREE), [2.0, 3.0, 2.3333, 2.0, 1.6, 1.6667], atol=5e-5)
    percent = 100 * cumulative_error(*SINGLE, TREE, error="multiclass")
    np.testing.assert_allclose(percent, [100, 100, 100, 100, 80, 83.33], atol=5e-3)


def test_inconsistent_matrices_are_compared_as_they_are():
    guess, truth = np.array([[0, 1, 0, 0, 0, 0, 0]]), np.array([[1, 1, 0, 1, 0, 0, 0]])
    assert h_loss(truth, guess, TREE) == 1
    assert h_loss(truth, guess, TREE, simplified=True) == 2
    assert symmetric_difference_loss(truth, guess, TREE) == 2
    assert hamming_loss(truth, guess, TREE) == 2 / 7
    assert zero_one_loss(truth, guess, TREE) == 1


@pytest.mark.parametrize("metric", OF_SETS + OF_NODES)
def test_repeating_a_row_is_doubling_its_weight(metric):
    true, pred = np.array(SINGLE[0]), np.array(SINGLE[1])
    times = np.array([2, 1, 0, 3, 1, 1])
    repeated = metric(np.repeat(true, times), np.repeat(pred, times), TREE)
    assert metric(true, pred, TREE, sample_weight=times) == pytest.approx(repeated)


@pytest.mark.parametrize("metric", OF_NODES)
def test_errors_of_nodes_refuse_several_labels(metric):
    with pytest.raises(LabelError, match=r"\(y_true\) needs exactly one label per row; row 1 has 2 labels"):
        metric(TRUE, PRED, TREE)


@pytest.mark.parametrize("metric", OF_SETS + OF_NODES)
def test_a_weight_without_a_mean_is_refused(metric):
    with pytest.raises(ParameterError, match="reduction='none'"):
        metric(*SINGLE, TREE, sample_weight=np.ones(6), reduction="none")


@pytest.mark.parametrize("metric", OF_SETS + OF_NODES)
def test_an_unknown_reduction_is_refused(metric):
    with pytest.raises(ParameterError, match="reduction must be one of 'mean', 'none'; got 'sum'"):
        metric(*SINGLE, TREE, reduction="sum")


def test_an_unknown_error_is_refused():
    with pytest.raises(ParameterError, match="error must be one of 'tree', 'multiclass'"):
        cumulative_error(*SINGLE, TREE, error="flat")
