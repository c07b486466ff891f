"""Measures of probabilities equal their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss as sklearn_log_loss

from cladist import Taxonomy
from cladist.errors import CladistError
from cladist.metrics import (
    brier_score,
    calibration_by_level,
    expected_calibration_error,
    log_loss,
    reliability_curve,
    sharpness,
)
from tests.strategies import forests


def node_at(taxonomy, name, level):
    path = [taxonomy.names[v] for v in taxonomy.path_ids(taxonomy.index(name))]
    return path[min(level, len(path) - 1)]


@settings(max_examples=40, deadline=None)
@given(forests(), st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_all_measures_equal_brute_force(taxonomy, seed, n_bins):
    random = np.random.default_rng(seed)
    names = [
        taxonomy.names[v] for v in random.permutation(taxonomy.n_nodes)[: random.integers(1, taxonomy.n_nodes + 1)]
    ]
    P = random.dirichlet(np.ones(len(names)), size=7)
    y = [taxonomy.names[v] for v in random.integers(0, taxonomy.n_nodes, 7)]
    for found in calibration_by_level(y, P, taxonomy, classes=names, n_bins=n_bins):
        level = taxonomy.n_nodes if found.level is None else found.level
        confidence, hits, brier, losses = [], [], [], []
        for row, label in zip(P, y, strict=True):
            sums = {}
            for name, p in zip(names, row, strict=True):
                at = node_at(taxonomy, name, level)
                sums[at] = sums.get(at, 0.0) + p
            true = node_at(taxonomy, label, level)
            best = max(sums, key=sums.get)
            confidence.append(sums[best])
            hits.append(best == true)
            brier.append(sum((p - (g == true)) ** 2 for g, p in sums.items()) + (true not in sums))
            losses.append(-np.log(max(sums.get(true, 0.0), np.finfo(float).eps)))
        order = np.argsort(confidence, kind="stable")
        bins = [b.tolist() for b in np.array_split(order, min(n_bins, 7))]
        gaps = [abs(np.mean([hits[i] for i in b]) - np.mean([confidence[i] for i in b])) * len(b) for b in bins]
        expected = (np.mean(hits), sum(gaps) / 7, np.mean(brier), np.mean(losses), np.mean(confidence))
        np.testing.assert_allclose(found[1:], expected, atol=1e-12)
        options = {"classes": names, "level": found.level}
        assert expected_calibration_error(y, P, taxonomy, n_bins=n_bins, **options) == found[2]
        assert (brier_score(y, P, taxonomy, **options), log_loss(y, P, taxonomy, **options)) == (found[3], found[4])
        assert sharpness(P, taxonomy, **options) == found[5]


def test_log_loss_is_scikit_learns():
    random = np.random.default_rng(0)
    star = Taxonomy.from_parents(dict.fromkeys("abc"))
    P, y = random.dirichlet(np.ones(3), size=50), random.choice(list("abc"), 50)
    assert log_loss(y, P, star) == pytest.approx(sklearn_log_loss(y, P))


def test_probabilities_that_hold_have_a_small_error():
    random = np.random.default_rng(1)
    star = Taxonomy.from_parents(dict.fromkeys("abcd"))
    P = random.dirichlet(np.ones(4), size=40_000)
    y = np.array(list("abcd"))[(P.cumsum(axis=1) < random.random((len(P), 1))).sum(axis=1)]
    assert expected_calibration_error(y, P, star) < 0.015
    assert expected_calibration_error(y, P**3 / (P**3).sum(axis=1, keepdims=True), star) > 0.1
    curve = reliability_curve(y, P, star, n_bins=10)
    assert np.all(np.diff(curve.confidence) > 0)
    assert curve.n_rows.sum() == len(P)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 2}, "level must be from 0 to 1"),
        ({"n_bins": 0}, "n_bins must be"),
        ({"classes": ["b"]}, "1 classes need as many columns"),
        ({"y": ["b", "c"]}, "one row per label"),
    ],
)
def test_what_is_refused(options, message):
    tree = Taxonomy.from_paths(["a/b", "a/c"])
    with pytest.raises(CladistError, match=message):
        expected_calibration_error(options.pop("y", ["b"]), [[0.5, 0.5]], tree, **options)
