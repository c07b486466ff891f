"""Second-best, runner-up and loss-augmented labellings equal brute force on thousands of forests, ties included."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import LabelMatrix, Taxonomy
from cladist.decoders import (
    best_labelling,
    loss_augmented_labelling,
    loss_shift,
    node_margins,
    runner_up_labelling,
    second_best_labelling,
)
from cladist.losses import HLoss, SymmetricDifference
from tests.laws.test_decoders import layouts, scored
from tests.strategies import consistent_sets, small_forests

SMALL = [taxonomy for taxonomy in small_forests(5) if len(taxonomy) <= 4]
LOSSES = [
    SymmetricDifference(),
    *(HLoss(w, simplified=s) for w in ("uniform", "sibling", "subtree") for s in (False, True)),
    HLoss("sibling", virtual_root=True),
]


def random_forest(rng):
    n_nodes = int(rng.integers(1, 10))
    roots = rng.random() < 0.5
    parents = {v: None if v == 0 or (roots and rng.random() < 0.3) else int(rng.integers(v)) for v in range(n_nodes)}
    return Taxonomy.from_parents(parents)


def dense(labels):
    return labels.to_indicator().toarray()


def check_second(taxonomy, scores, every=None):
    """The value is the second highest of all labellings', counted with multiplicity, and the labelling another one."""
    every = consistent_sets(taxonomy.parent).astype(float) if every is None else every
    totals = scores @ every.T
    found, leads = second_best_labelling(scores, taxonomy)
    marks, best = dense(found), dense(best_labelling(scores, taxonomy))
    in_order = np.sort(totals, axis=1)
    np.testing.assert_array_equal((marks * scores).sum(axis=1), in_order[:, -2])
    np.testing.assert_array_equal(leads, in_order[:, -1] - in_order[:, -2])
    assert np.all((marks != best).any(axis=1))
    assert LabelMatrix.from_indicator(marks, taxonomy) == found  # refuses what is not consistent
    margins = node_margins(scores, taxonomy)
    for v in range(len(taxonomy)):
        on, off = (np.where(every[:, v] == side, totals, -np.inf).max(axis=1) for side in (1, 0))
        np.testing.assert_array_equal(margins[:, v], on - off)
    np.testing.assert_array_equal(np.abs(margins).min(axis=1), leads)
    np.testing.assert_array_equal(margins > 0, best == 1)
    switched = np.abs(margins).argmin(axis=1)  # ties to the first
    assert np.all(marks[np.arange(len(marks)), switched] != best[np.arange(len(marks)), switched])


def check_runner_up(taxonomy, scores, rng):
    every = consistent_sets(taxonomy.parent)
    totals = scores @ every.T.astype(float)
    y = rng.integers(0, len(every), len(scores))
    y[::2] = totals[::2].argmax(axis=1)  # the best one, so that the second is asked for
    found = dense(runner_up_labelling(scores, LabelMatrix.from_indicator(every[y], taxonomy), taxonomy))
    assert np.all((found != every[y]).any(axis=1))
    totals[np.arange(len(y)), y] = -np.inf
    np.testing.assert_array_equal((found * scores).sum(axis=1), totals.max(axis=1))


def check_loss_augmented(taxonomy, scores, rng, loss):
    every = consistent_sets(taxonomy.parent)
    y = LabelMatrix.from_indicator(every[rng.integers(0, len(every), len(scores))], taxonomy)
    shift, constant = loss_shift(y, taxonomy, loss=loss)
    found = loss_augmented_labelling(scores, y, taxonomy, loss=loss)
    rows = [LabelMatrix.from_indicator(np.repeat(z[None], len(y), axis=0), taxonomy) for z in every]
    charged = np.array([loss.per_example(y, z, taxonomy) for z in rows]).T
    np.testing.assert_allclose(shift @ every.T + constant[:, None], charged, atol=1e-12)
    totals = scores @ every.T + charged
    np.testing.assert_allclose(
        (dense(found) * scores).sum(axis=1) + loss.per_example(y, found, taxonomy), totals.max(axis=1), atol=1e-12
    )


def test_every_small_forest_and_sign_pattern():
    """All scores in {−1, 0, 1}: every tie there is."""
    rng = np.random.default_rng(0)
    for taxonomy in SMALL:
        scores = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=len(taxonomy))))
        check_second(taxonomy, scores)
        check_runner_up(taxonomy, scores, rng)


@pytest.mark.parametrize("part", range(4))
def test_thousands_of_random_trees_and_forests(part):
    """Half of them with integer scores, that is, with many ties."""
    rng = np.random.default_rng(part)
    for k in range(500):
        taxonomy = random_forest(rng)
        scores = rng.integers(-3, 4, (4, len(taxonomy))).astype(float)
        if k % 2:
            scores = np.round(rng.normal(size=scores.shape) * 2**20) / 2**20  # sums are exact, ties are rare
        check_second(taxonomy, scores)
        check_runner_up(taxonomy, scores, rng)
        check_loss_augmented(taxonomy, scores, rng, LOSSES[k % len(LOSSES)])


@given(scored(), st.integers(0, 2**32 - 1))
def test_any_case(case, seed):
    taxonomy, scores = case
    check_second(taxonomy, scores)
    check_runner_up(taxonomy, scores, np.random.default_rng(seed))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(case=scored(), seed=st.integers(0, 2**32 - 1))
def test_loss_augmented(loss, case, seed):
    check_loss_augmented(*case, np.random.default_rng(seed), loss)


@given(scored())
def test_layouts(case):
    taxonomy, scores = case
    labels, leads = second_best_labelling(scores, taxonomy)
    for layout in layouts(scores).values():
        other = second_best_labelling(layout, taxonomy)
        assert other.labels == labels
        np.testing.assert_array_equal(other.leads, leads)
        np.testing.assert_array_equal(node_margins(layout, taxonomy), node_margins(scores, taxonomy))
    other = second_best_labelling(scores.T, taxonomy, node_major=True)
    assert other.labels == labels
    assert runner_up_labelling(scores.T, labels, taxonomy, node_major=True) == best_labelling(scores, taxonomy)
    for loss in (SymmetricDifference(), HLoss()):
        plain = loss_augmented_labelling(scores, labels, taxonomy, loss=loss)
        assert loss_augmented_labelling(scores.T, labels, taxonomy, loss=loss, node_major=True) == plain


@pytest.mark.parametrize("n_nodes", [1, 7, 8, 9, 200])
@pytest.mark.parametrize("n_rows", [0, 1, 255, 256, 257, 515])
def test_any_number_of_examples(n_rows, n_nodes):
    rng = np.random.default_rng(n_rows * 1000 + n_nodes)
    taxonomy = Taxonomy.from_parents({v: None if v < 2 else int(rng.integers(v)) for v in range(n_nodes)})
    scores = rng.normal(size=(n_rows, n_nodes))
    found, leads = second_best_labelling(scores, taxonomy)
    for part in range(0, n_rows, 100):
        rows = slice(part, part + 100)
        alone = second_best_labelling(scores[rows], taxonomy)
        assert alone.labels == found[rows]
        np.testing.assert_array_equal(alone.leads, leads[rows])
    best = dense(best_labelling(scores, taxonomy))
    np.testing.assert_allclose((best * scores).sum(axis=1) - (dense(found) * scores).sum(axis=1), leads, atol=1e-9)
