"""Laws of every loss, and of counts that are merged."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from cladist import LabelMatrix, Taxonomy, metrics
from cladist.losses import LOSSES, HLoss, SymmetricDifference, TreeDistance, ZeroOne
from cladist.metrics import Counts, Report

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


@st.composite
def forests(draw):
    n_nodes = draw(st.integers(1, 10))
    return Taxonomy.from_parents({v: draw(st.sampled_from([None, *range(v)])) for v in range(n_nodes)})


@st.composite
def nodes(draw):
    """A forest and two nodes for each of some rows."""
    forest = draw(forests())
    one_node = st.integers(0, forest.n_nodes - 1)
    rows = draw(st.lists(st.tuples(one_node, one_node), min_size=1, max_size=6))
    return forest, *(LabelMatrix.from_nodes(np.array(side), forest) for side in zip(*rows, strict=True))


@st.composite
def vectors(draw):
    """A forest and two 0/1 matrices, of any vectors; sparse, since one dense column would be names."""
    forest = draw(forests())
    shape = (draw(st.integers(1, 6)), forest.n_nodes)
    return forest, *(sparse.csr_array(draw(hnp.arrays(bool, shape))) for _ in range(2))


def closed(matrix, forest):
    return LabelMatrix.from_ids(matrix.indptr, matrix.indices, forest)


@every_loss
@given(case=nodes())
def test_a_loss_is_zero_exactly_on_equality_and_symmetric(loss, case):
    forest, a, b = case
    values = loss.per_example(a, b, forest)
    assert values.dtype == np.float64
    equal = a.nodes("a") == b.nodes("b")
    np.testing.assert_array_equal(values == 0, equal)
    assert np.all(values >= 0)
    np.testing.assert_array_equal(values, loss.per_example(b, a, forest))


@given(vectors())
def test_the_order_of_losses_for_any_vectors(case):
    forest, a, b = case
    chain = (ZeroOne(), HLoss(), HLoss(simplified=True), SymmetricDifference())
    for smaller, larger in itertools.pairwise(loss.per_example(a, b, forest) for loss in chain):
        assert np.all(smaller <= larger)


@given(vectors(), st.integers(0, 2**32 - 1))
def test_on_consistent_labels_both_h_losses_agree(case, seed):
    forest, *sides = case
    a, b = (closed(side, forest) for side in sides)
    for weights in ("uniform", "sibling", "subtree", np.random.default_rng(seed).random(forest.n_nodes)):
        one, other = (HLoss(weights, simplified=s).per_example(a, b, forest) for s in (False, True))
        np.testing.assert_array_equal(one, other)


@given(nodes())
def test_the_symmetric_difference_of_paths_is_the_tree_distance(case):
    forest, a, b = case
    one, other = (loss.per_example(a, b, forest) for loss in (SymmetricDifference(), TreeDistance()))
    np.testing.assert_array_equal(one, other)


# ---------------------------------------------------------------- counts


@given(vectors(), st.data())
def test_metrics_of_merged_counts_are_metrics_of_the_whole(case, data):
    forest, *sides = case
    true, pred = (closed(side, forest) for side in sides)
    n_rows = len(true)
    weight = data.draw(hnp.arrays(float, n_rows, elements=st.sampled_from([0.25, 0.5, 1.0, 3.0])))
    cut = data.draw(st.integers(0, n_rows))
    parts = [part for part in (slice(0, cut), slice(cut, n_rows)) if part.start < part.stop]
    counted = [Counts.from_labels(true[p], pred[p], sample_weight=weight[p]) for p in parts]
    merged = counted[0] + counted[1] if len(counted) == 2 else counted[0]
    whole = Counts.from_labels(true, pred, sample_weight=weight)
    assert merged.n_rows == whole.n_rows
    assert merged.is_single == whole.is_single
    one, other = Report(merged), Report(whole)
    assert one.metrics == pytest.approx(other.metrics, rel=1e-12)
    np.testing.assert_allclose(one.per_level, other.per_level, rtol=1e-12)
    np.testing.assert_allclose([r[1:] for r in one.per_node], [r[1:] for r in other.per_node], rtol=1e-12)


METRICS = {
    "accuracy": metrics.accuracy,
    "zero_one_loss": metrics.zero_one_loss,
    "symmetric_difference_loss": metrics.symmetric_difference_loss,
    "hamming_loss": metrics.hamming_loss,
    "h_loss": metrics.h_loss,
    "h_loss_sibling": lambda *y, **weight: metrics.h_loss(*y, weights="sibling", **weight),
    "h_loss_subtree": lambda *y, **weight: metrics.h_loss(*y, weights="subtree", **weight),
    "micro_f1": metrics.micro_f1,
    "macro_f1": metrics.macro_f1,
    "macro_f1_present": lambda *y, **weight: metrics.macro_f1(*y, absent="skip", **weight),
    "micro_f1_all": lambda *y, **weight: metrics.micro_f1(*y, nodes="all", **weight),
    "macro_f1_all": lambda *y, **weight: metrics.macro_f1(*y, nodes="all", **weight),
    "hierarchical_f1": metrics.hierarchical_f1,
    "hierarchical_f1_samples": lambda *y, **weight: metrics.hierarchical_f1(*y, average="samples", **weight),
    "tree_induced_error": metrics.tree_induced_error,
    "multiclass_error": metrics.multiclass_error,
}


@pytest.mark.parametrize("name", METRICS)
@given(case=nodes(), weighted=st.booleans())
def test_counts_know_every_metric(name, case, weighted):
    forest, true, pred = case
    weight = np.arange(1.0, len(true) + 1) if weighted else None
    from_counts = Report(Counts.from_labels(true, pred, sample_weight=weight)).metrics[name]
    assert METRICS[name](true, pred, forest, sample_weight=weight) == pytest.approx(from_counts, rel=1e-12)
