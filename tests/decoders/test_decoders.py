"""Decoders at the edges: what they refuse, infinities, NaN. Their laws are in tests/laws."""

import numpy as np
import pytest
from scipy import sparse

from cladist import Taxonomy
from cladist.decoders import (
    best_labelling,
    greedy_path,
    loss_augmented_labelling,
    loss_shift,
    node_margins,
    path_scores,
    prototype_argmax,
    runner_up_labelling,
    second_best_labelling,
    top_down,
)
from cladist.errors import LabelError, ParameterError, TaxonomyError
from cladist.losses import HLoss, SymmetricDifference, TreeDistance, ZeroOne

TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])  # sport, art, tennis, chess
ALL = [best_labelling, second_best_labelling, node_margins, top_down, path_scores, prototype_argmax, greedy_path]
every_decoder = pytest.mark.parametrize("decoder", ALL, ids=lambda decoder: decoder.__name__)


@every_decoder
@pytest.mark.parametrize("shape", [(4,), (2, 3), (4, 2), (2, 4, 1), ()])
def test_the_shape_of_scores(decoder, shape):
    with pytest.raises(LabelError, match="one column per node, here 4; got shape"):
        decoder(np.zeros(shape), TREE)


@pytest.mark.parametrize("decoder", [best_labelling, top_down])
def test_the_shape_of_node_major_scores(decoder):
    with pytest.raises(LabelError, match=r"one row per node, here 4; got shape \(2, 4\)"):
        decoder(np.zeros((2, 4)), TREE, node_major=True)


@every_decoder
@pytest.mark.parametrize(
    "scores", [[["a"] * 4], np.full((1, 4), None), np.zeros((1, 4), complex), sparse.csr_array((1, 4))]
)
def test_scores_are_numbers(decoder, scores):
    with pytest.raises(LabelError, match="Scores are a dense array of numbers"):
        decoder(scores, TREE)


@pytest.mark.parametrize("shape", [(3,), (5,), (1, 4), (4, 1)])
def test_thresholds_are_one_number_or_one_a_node(shape):
    with pytest.raises(LabelError, match="threshold is one number, or one per node, here 4"):
        top_down(np.zeros((2, 4)), TREE, threshold=np.zeros(shape))


@pytest.mark.parametrize("allowed", [[True] * 3, [False] * 4, [[True] * 4], [0, 1, 2, 3], ["sport"] * 4])
def test_allowed_is_one_truth_value_a_node(allowed):
    with pytest.raises(LabelError, match="allowed has one truth value per node, here 4, at least one true"):
        prototype_argmax(np.zeros((2, 4)), TREE, allowed=allowed)


# ---------------------------------------------------------------- NaN and infinities


@pytest.mark.parametrize("decoder", [best_labelling, second_best_labelling, top_down, prototype_argmax])
@pytest.mark.parametrize("node", range(4))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("row", [0, 5, 299, 511])
def test_nan_is_refused_wherever_it_stands(decoder, node, dtype, row):
    scores = np.random.default_rng(0).standard_normal((512, 4)).astype(dtype)
    scores[row, node] = np.nan
    scores[row:, 1] = np.nan
    with pytest.raises(LabelError, match=f"Example {row} has a score that is not a number"):
        decoder(scores, TREE)


def test_nan_on_the_greedy_way_is_refused():
    nan = np.nan
    for row in ([nan, 0, 0, 0], [0, nan, 0, 0], [1, 0, nan, 0], [1, 0, 0, nan]):
        with pytest.raises(LabelError, match="Example 1 has a score that is not a number"):
            greedy_path([[0, 0, 0, 0], row], TREE)
    assert greedy_path([[0, 1, nan, nan]], TREE).tolist() == [1]  # below sport, where the walk does not come


def test_nan_where_no_node_is_allowed_is_harmless():
    assert prototype_argmax([[0, np.nan, 1, 2]], TREE, allowed=[True, False, True, True]).tolist() == [3]
    assert np.isnan(path_scores([[np.nan, 0, 0, 0]], TREE)).tolist() == [[True, False, True, True]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_minus_infinity_forbids_a_node_and_all_below(dtype):
    scores = np.array([[1, 1, -np.inf, 1], [-np.inf, 1, 5, 5], [-np.inf] * 4], dtype=dtype)
    names = [["art", "chess"], ["art"], []]
    assert best_labelling(scores, TREE).frontier_names() == names
    assert top_down(scores, TREE).frontier_names() == names
    assert prototype_argmax(scores, TREE).tolist() == [3, 1, 0]
    assert prototype_argmax(scores, TREE, allowed=[False, False, True, True]).tolist() == [3, 2, 2]
    assert greedy_path(scores, TREE).tolist() == [3, 1, 2]


def test_infinite_thresholds():
    scores = np.array([[np.inf, 1.0, 0.0, -np.inf]])
    assert top_down(scores, TREE, threshold=-np.inf).frontier_names() == [["art", "tennis"]]
    assert top_down(scores, TREE, threshold=np.inf).frontier_names() == [[]]


def test_thresholds_are_compared_exactly():
    """float32(0.1) is a little more than 0.1; rounding the threshold, or the difference, would say otherwise."""
    one = Taxonomy.from_parents({"a": None})
    assert top_down(np.array([[0.1]], dtype=np.float32), one, threshold=0.1).is_single
    tiny = np.array([[np.finfo(np.float32).smallest_subnormal]], dtype=np.float32)
    assert top_down(tiny, one, threshold=float(tiny[0, 0]) / 2).is_single
    assert not top_down(tiny, one, threshold=float(tiny[0, 0])).is_single


# ---------------------------------------------------------------- worked examples


def test_a_good_leaf_pays_for_its_parent():
    # sport costs 1, tennis earns 3: together they earn 2. Top-down never comes to tennis.
    scores = [[-1.0, -2.0, 3.0, -1.0]]
    assert best_labelling(scores, TREE).frontier_names() == [["tennis"]]
    assert top_down(scores, TREE).frontier_names() == [[]]


def test_a_tie_leaves_nodes_off():
    assert best_labelling([[-1.0, 0.0, 0.5, 0.5]], TREE).frontier_names() == [[]]
    assert best_labelling([[1.0, 0.0, 0.0, -0.0]], TREE).frontier_names() == [["sport"]]
    assert top_down([[0.0, 1.0, 1.0, 1.0]], TREE).frontier_names() == [["art"]]


def test_results_are_fresh_and_well_formed():
    scores = np.ones((3, 4))
    labels = best_labelling(scores, TREE)
    assert labels.taxonomy is TREE
    assert labels.indptr.dtype == np.int64
    assert labels.indices.dtype == np.int32
    assert labels.to_indicator().has_canonical_format
    assert scores.tolist() == np.ones((3, 4)).tolist()
    assert prototype_argmax(scores, TREE).dtype == greedy_path(scores, TREE).dtype == np.int64


# ---------------------------------------------------------------- second best, and loss-augmented


def test_an_example_without_a_second_labelling():
    with pytest.raises(LabelError, match="Example 1 has no second labelling"):
        second_best_labelling([[0.0, 1.0, -np.inf, 1.0], [-np.inf] * 4], TREE)
    second = second_best_labelling([[2.0, -np.inf, -np.inf, -np.inf]], TREE)
    assert second.labels.frontier_names() == [[]]
    assert second.leads.tolist() == [2.0]


def test_scores_and_labels_have_as_many_rows():
    for call in (
        lambda: runner_up_labelling(np.zeros((2, 4)), ["art"], TREE),
        lambda: loss_augmented_labelling(np.zeros((2, 4)), ["art"], TREE, loss=HLoss()),
    ):
        with pytest.raises(LabelError, match="scores of 2 examples and labels of 1"):
            call()


@pytest.mark.parametrize("loss", [ZeroOne(), TreeDistance()], ids=repr)
def test_losses_that_are_no_sum_over_nodes(loss):
    with pytest.raises(ParameterError, match="must be SymmetricDifference or HLoss"):
        loss_augmented_labelling(np.zeros((1, 4)), ["art"], TREE, loss=loss)


def test_dags_are_refused_by_name():
    diamond = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    y = ["d"]
    for name, call in {
        "second_best_labelling": lambda: second_best_labelling(np.zeros((1, 4)), diamond),
        "runner_up_labelling": lambda: runner_up_labelling(np.zeros((1, 4)), y, diamond),
        "node_margins": lambda: node_margins(np.zeros((1, 4)), diamond),
        "loss_shift": lambda: loss_shift(y, diamond, loss=SymmetricDifference()),
        "loss_augmented_labelling": lambda: loss_augmented_labelling(np.zeros((1, 4)), y, diamond, loss=HLoss()),
    }.items():
        with pytest.raises(TaxonomyError, match=name):
            call()
