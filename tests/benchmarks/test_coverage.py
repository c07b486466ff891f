"""The study of coverage: what it draws is what it says, and the page has its figures."""

import numpy as np
import pytest

from benchmarks import coverage, coverage_table
from cladist.metrics.bootstrap import ADDED, Sample


def test_the_page_is_what_the_results_say():
    text = coverage_table.PAGE.read_text(encoding="utf-8")
    assert text == coverage_table.filled(text), "run: python benchmarks/coverage_table.py"


@pytest.mark.parametrize("right", [(0.8,), (0.8, 0.75)])
def test_models_are_right_as_often_as_they_should_be(right):
    population = coverage.Population.of(coverage.SHARES["skewed"], right)
    assert population.share.sum() == pytest.approx(1)
    for pred, share in zip(population.preds, right, strict=True):
        assert population.share[pred == population.true].sum() == pytest.approx(share, abs=0.03)
    of_leaf = [population.share[population.true == leaf].sum() for leaf in range(6)]
    assert of_leaf == pytest.approx(coverage.SHARES["skewed"] / coverage.SHARES["skewed"].sum(), abs=0.01)


@pytest.mark.parametrize("n_models", [1, 2])
def test_rows_are_added_as_the_library_adds_them(n_models):
    population = coverage.Population.of(coverage.SHARES["even"], (0.8, 0.75)[:n_models])
    rng = np.random.default_rng(0)
    counts = rng.multinomial(60, population.share).astype(float)
    kinds = np.repeat(np.arange(len(counts)), counts.astype(int))
    labels = [coverage.LEAVES[side[kinds]] for side in (population.true, *population.preds)]
    true, *preds = (coverage.LabelMatrix.from_nodes(side, coverage.TREE) for side in labels)
    sums = np.zeros(4)
    expected = _shares(population, population.added(counts))
    for seed in range(200):
        sample = Sample.from_rows(true, preds, np.random.default_rng(seed))  # type: ignore[arg-type]
        weights = sample.weights()[sample.n_rows :]
        assert weights.sum() == pytest.approx(ADDED)
        right = [_same(sample.true, pred)[sample.n_rows :] for pred in sample.preds]
        code = sum(2**k * flag for k, flag in enumerate(right))
        sums += np.bincount(code, weights=weights, minlength=4)
    assert sums / 200 == pytest.approx(expected)


def _shares(population, weights):
    right = [pred == population.true for pred in population.preds]
    return np.bincount(sum(2**k * flag.astype(int) for k, flag in enumerate(right)), weights=weights, minlength=4)


def _same(one, other):
    pairs = zip(one.indptr[:-1], one.indptr[1:], other.indptr[:-1], other.indptr[1:], strict=True)
    return np.array([np.array_equal(one.indices[a:b], other.indices[c:d]) for a, b, c, d in pairs]).astype(int)
