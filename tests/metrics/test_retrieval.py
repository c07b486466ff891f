"""Precision, recall, F1: the worked example, scikit-learn, and every form of labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.metrics import precision_recall_fscore_support

from cladist import LabelMatrix, Taxonomy, metrics
from cladist.errors import LabelError, ParameterError, TaxonomyError
from cladist.metrics import (
    accuracy,
    count,
    hierarchical_f1,
    hierarchical_precision_recall_f1,
    macro_f1,
    micro_f1,
    per_level_precision_recall,
    precision_recall_f1,
)

TREE = Taxonomy.from_parents({0: None, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2})
TRUE = [{3}, {3, 5}, {1}, {6}, {4}, {5}]
PRED = [{4}, {3}, {3}, {2}, {5}, {5}]


def close(values):
    return pytest.approx(values, abs=5e-5)


# ---------------------------------------------------------------- the worked numbers


@pytest.mark.parametrize(
    ("nodes", "counted", "scores"),
    [
        ("all", (13, 4, 6), (0.7647, 0.6842, 0.7222)),
        ("nonroot", (7, 4, 6), (0.6364, 0.5385, 0.5833)),
        ("leaves", (2, 3, 4), (0.4, 0.3333, 0.3636)),
        (["0"], (6, 0, 0), (1, 1, 1)),
        (["1", "2"], (5, 1, 2), (0.8333, 0.7143, 0.7692)),
        ([3, 4, 5, 6], (2, 3, 4), (0.4, 0.3333, 0.3636)),
    ],
)
def test_micro_scores(nodes, counted, scores):
    counts = count(TRUE, PRED, TREE)
    names = {"all": range(7), "nonroot": range(1, 7), "leaves": range(3, 7)}
    ids = [TREE.index(v) for v in (names[nodes] if isinstance(nodes, str) else nodes)]
    assert (counts.tp[ids].sum(), counts.fp[ids].sum(), counts.fn[ids].sum()) == counted
    assert precision_recall_f1(TRUE, PRED, TREE, nodes=nodes) == close(scores)
    assert micro_f1(TRUE, PRED, TREE, nodes=nodes) == close(scores[2])


def test_levels():
    rows = per_level_precision_recall(TRUE, PRED, TREE)
    assert [row.level for row in rows] == [0, 1, 2]
    expected = [(1, 1, 1), (0.8333, 0.7143, 0.7692), (0.4, 0.3333, 0.3636)]
    np.testing.assert_allclose([row[1:] for row in rows], expected, atol=5e-5)


def test_hierarchical_scores():
    assert hierarchical_precision_recall_f1(TRUE, PRED, TREE) == close((0.6364, 0.5385, 0.5833))
    precision, recall, f1 = hierarchical_precision_recall_f1(TRUE, PRED, TREE, average="samples")
    assert (precision, recall) == close((0.6667, 0.5833))
    assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
    assert hierarchical_f1(TRUE, PRED, TREE) == close(0.5833)
    assert hierarchical_f1(TRUE, PRED, TREE, average="samples") == f1


def test_the_f1_of_each_node():
    f1 = count(TRUE, PRED, TREE).node_scores()[2]
    np.testing.assert_allclose(f1, [1, 0.8571, 0.6667, 0.5, 0, 0.5, 0], atol=5e-5)


@pytest.mark.parametrize(("nodes", "value"), [("all", 0.5034), ("nonroot", 0.4206), ("leaves", 0.25)])
def test_macro_f1(nodes, value):
    assert macro_f1(TRUE, PRED, TREE, nodes=nodes) == close(value)
    assert precision_recall_f1(TRUE, PRED, TREE, nodes=nodes, average="macro").f1 == close(value)


# ---------------------------------------------------------------- conventions


def test_leaves_are_the_default():
    assert micro_f1(TRUE, PRED, TREE) == micro_f1(TRUE, PRED, TREE, nodes="leaves")
    assert macro_f1(TRUE, PRED, TREE) == macro_f1(TRUE, PRED, TREE, nodes="leaves")


def test_a_node_without_true_rows_counts_zero_or_is_skipped():
    true, pred = [3, 5, 5], [3, 5, 6]  # nobody is truly 4 or 6; 6 is predicted once
    f1_of_5 = 2 / 3
    assert macro_f1(true, pred, TREE) == pytest.approx((1 + 0 + f1_of_5 + 0) / 4)
    assert macro_f1(true, pred, TREE, absent="skip") == pytest.approx((1 + f1_of_5) / 2)
    assert macro_f1([[], []], [[3], []], TREE, absent="skip") == 0


def test_the_roots_of_a_forest_are_ordinary_nodes():
    forest = Taxonomy.from_parents({"a": None, "b": None, "c": "b", "d": "b"})
    true, pred = ["a", "c", "d"], ["b", "c", "c"]
    assert micro_f1(true, pred, forest, nodes="nonroot") == micro_f1(true, pred, forest, nodes="all")
    assert hierarchical_f1(true, pred, forest) == micro_f1(true, pred, forest, nodes="all")
    averaged = hierarchical_precision_recall_f1(true, pred, forest, average="samples")
    assert averaged == pytest.approx([(0 + 1 + 0.5) / 3] * 3)


def test_a_tree_of_one_node_has_no_other():
    alone = Taxonomy.from_parents({"a": None})
    assert micro_f1(["a"], ["a"], alone) == 1
    assert hierarchical_f1(["a"], ["a"], alone) == 0
    assert hierarchical_f1(["a"], ["a"], alone, zero_division=1) == 1
    assert macro_f1(["a"], ["a"], alone, nodes="nonroot") == 0


def test_zero_division():
    true, pred = [{3}, set()], [set(), set()]
    assert precision_recall_f1(true, pred, TREE) == (0, 0, 0)
    assert precision_recall_f1(true, pred, TREE, zero_division=1) == (1, 0, 0)
    assert precision_recall_f1(true, pred, TREE, nodes=[6], zero_division=0.5) == (0.5, 0.5, 0.5)
    macro = precision_recall_f1(true, pred, TREE, average="macro", zero_division=1)
    assert macro == (1, 0.75, 0.75)
    samples = hierarchical_precision_recall_f1(true, pred, TREE, average="samples", zero_division=1)
    assert samples == pytest.approx((1, 0.5, 2 / 3))
    assert hierarchical_precision_recall_f1(true, pred, TREE, average="samples") == (0, 0, 0)
    levels = per_level_precision_recall(true, pred, TREE, zero_division=1)
    assert levels[2] == (2, 1, 0, 0)


@given(st.lists(st.tuples(st.sampled_from([3, 4, 5, 6]), st.sampled_from([3, 4, 5, 6])), min_size=1))
def test_for_one_leaf_a_row_micro_f1_over_leaves_is_the_accuracy(rows):
    true, pred = ([str(v) for v in side] for side in zip(*rows, strict=True))
    assert micro_f1(true, pred, TREE) == pytest.approx(accuracy(true, pred, TREE))


# ---------------------------------------------------------------- scikit-learn's numbers


@st.composite
def labelled_forests(draw):
    n_nodes = draw(st.integers(2, 9))
    forest = Taxonomy.from_parents({v: draw(st.sampled_from([None, *range(v)])) for v in range(n_nodes)})
    shape = (draw(st.integers(1, 8)), n_nodes)
    sides = [sparse.csr_array(draw(hnp.arrays(bool, shape))) for _ in range(2)]
    true, pred = (LabelMatrix.from_ids(side.indptr, side.indices, forest) for side in sides)
    weight = draw(st.none() | hnp.arrays(float, shape[0], elements=st.sampled_from([0.5, 1.0, 2.0])))
    return forest, true, pred, weight


@given(
    labelled_forests(),
    st.sampled_from(["all", "leaves", "nonroot"]),
    st.sampled_from(["micro", "macro"]),
    st.sampled_from([0.0, 1.0]),
)
def test_scores_are_those_of_scikit_learn(case, nodes, average, zero_division):
    forest, true, pred, weight = case
    first = 1 if forest.kind == "tree" else 0
    ids = {
        "all": np.arange(forest.n_nodes),
        "leaves": forest.leaves,
        "nonroot": np.arange(first, forest.n_nodes),
    }
    columns = [side.to_indicator().toarray()[:, ids[nodes]] for side in (true, pred)]
    if columns[0].shape[1] == 1:  # scikit-learn takes one column for a binary problem; a second, empty one is not
        expected = precision_recall_fscore_support(
            *(side.ravel() for side in columns),
            average="binary",
            sample_weight=weight,
            zero_division=zero_division,
        )
    else:
        expected = precision_recall_fscore_support(
            *columns, average=average, sample_weight=weight, zero_division=zero_division
        )
    found = precision_recall_f1(
        true, pred, forest, nodes=nodes, average=average, sample_weight=weight, zero_division=zero_division
    )
    assert found == pytest.approx(expected[:3])


@given(labelled_forests())
def test_samples_scores_are_those_of_scikit_learn(case):
    forest, true, pred, weight = case
    first = 1 if forest.kind == "tree" else 0
    columns = [side.to_indicator().toarray()[:, first:] for side in (true, pred)]
    if columns[0].shape[1] == 1:
        columns = [np.hstack([side, np.zeros_like(side)]) for side in columns]
    expected = precision_recall_fscore_support(*columns, average="samples", sample_weight=weight, zero_division=0)
    found = hierarchical_precision_recall_f1(true, pred, forest, average="samples", sample_weight=weight)
    assert found[:2] == pytest.approx(expected[:2])


# ---------------------------------------------------------------- forms of labels

ALL_METRICS = [
    metrics.accuracy,
    metrics.cumulative_error,
    metrics.h_loss,
    metrics.hamming_loss,
    metrics.hierarchical_precision_recall_f1,
    metrics.macro_f1,
    metrics.micro_f1,
    metrics.multiclass_error,
    metrics.per_level_precision_recall,
    metrics.precision_recall_f1,
    metrics.symmetric_difference_loss,
    metrics.tree_induced_error,
    metrics.zero_one_loss,
]


def forms(nodes):
    pandas = pytest.importorskip("pandas")
    names = [TREE.names[v] for v in nodes]
    labels = LabelMatrix.from_nodes(np.array(nodes), TREE)
    dense = labels.to_indicator().toarray()
    paths = np.full((len(nodes), 3), "", dtype=object)
    for row, name in enumerate(names):
        path = TREE.path(name)
        paths[row, : len(path)] = path
    return {
        "list": names,
        "integers": np.array(nodes),
        "series": pandas.Series(names, index=range(10, 10 + len(names))),
        "sets": [{name} for name in names],
        "paths": paths,
        "path frame": pandas.DataFrame(paths),
        "dense": dense,
        "sparse": sparse.csr_matrix(dense),
        "frame": pandas.DataFrame(dense),
        "LabelMatrix": labels,
    }


@pytest.mark.parametrize("metric", ALL_METRICS)
def test_every_form_of_labels_on_either_side(metric):
    true, pred = forms([3, 5, 1, 6, 4, 0]), forms([4, 3, 3, 2, 4, 6])
    expected = metric(true["list"], pred["list"], TREE)
    for name in true:
        np.testing.assert_array_equal(metric(true[name], pred["list"], TREE), expected, err_msg=name)
        np.testing.assert_array_equal(metric(true["list"], pred[name], TREE), expected, err_msg=name)


def test_an_inconsistent_frame_is_compared_as_it_is():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[0, 1, 0, 0, 0, 0, 0]])
    assert metrics.symmetric_difference_loss(frame, [3], TREE) == 2


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "metric",
    [micro_f1, macro_f1, precision_recall_f1, hierarchical_precision_recall_f1, per_level_precision_recall],
)
def test_an_inconsistent_matrix_is_refused(metric):
    with pytest.raises(LabelError, match="y_pred: Row 0 has '1' but not its parent '0'"):
        metric([3], np.array([[0, 1, 0, 0, 0, 0, 0]]), TREE)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ParameterError, "nodes must be one of 'leaves'", lambda: micro_f1(TRUE, PRED, TREE, nodes="inner")),
        (ParameterError, "'3' is repeated", lambda: micro_f1(TRUE, PRED, TREE, nodes=["3", 3])),
        (ParameterError, "the list is empty", lambda: macro_f1(TRUE, PRED, TREE, nodes=[])),
        (TaxonomyError, "'8' is not in the taxonomy", lambda: macro_f1(TRUE, PRED, TREE, nodes=["8"])),
        (ParameterError, "absent must be", lambda: macro_f1(TRUE, PRED, TREE, absent="one")),
        (ParameterError, "average must be", lambda: precision_recall_f1(TRUE, PRED, TREE, average="samples")),
        (ParameterError, "average must be", lambda: hierarchical_f1(TRUE, PRED, TREE, average="macro")),
        (ParameterError, "zero_division must be", lambda: micro_f1(TRUE, PRED, TREE, zero_division="warn")),
        (ParameterError, "zero_division must be", lambda: hierarchical_f1(TRUE, PRED, TREE, zero_division=2)),
        (LabelError, "y_true has 6 rows and y_pred has 5", lambda: micro_f1(TRUE, PRED[:5], TREE)),
    ],
)
def test_bad_options_are_refused(error, message, call):
    with pytest.raises(error, match=message):
        call()
