"""P@k, nDCG@k and their propensity-scored forms against sums by hand; AU(PRC) against counts at every threshold."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import LabelError, ParameterError
from cladist.labels import LabelMatrix
from cladist.metrics import average_precision, ndcg_at_k, precision_at_k, propensities
from tests.strategies import dags

TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/film", "food"])


@st.composite
def ranked_rows(draw):
    taxonomy = draw(dags())
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, k = draw(st.integers(1, 6)), draw(st.integers(1, taxonomy.n_nodes))
    sets = [random.permutation(taxonomy.n_nodes)[: random.integers(0, 4)].tolist() for _ in range(n_rows)]
    ranked = np.array([random.permutation(taxonomy.n_nodes) for _ in range(n_rows)])
    return taxonomy, sets, ranked, k, 0.05 + 0.95 * random.random(taxonomy.n_nodes)


def by_hand(taxonomy, sets, ranked, k, weights, *, ancestors):
    """The sums of the definitions, row by row."""
    gain, best_gain, ndcg, best_ndcg = [], [], [], []
    for own, order in zip(sets, ranked.tolist(), strict=True):
        closed = {u for v in own for u in [v, *taxonomy.ids_above(v).tolist()]}
        true = closed if ancestors else {v for v in closed if not any(v in taxonomy.ids_above(u) for u in closed)}
        found = [weights[v] if v in true else 0.0 for v in order[:k]]
        best = sorted((weights[v] for v in true), reverse=True)[:k]
        gain.append(sum(found) / k)
        best_gain.append(sum(best) / k)
        ideal = sum(1 / math.log2(r + 2) for r in range(min(k, len(true)))) or 1.0
        ndcg.append(sum(g / math.log2(r + 2) for r, g in enumerate(found)) / ideal)
        best_ndcg.append(sum(g / math.log2(r + 2) for r, g in enumerate(best)) / ideal)
    return np.mean(gain), np.mean(best_gain), np.mean(ndcg), np.mean(best_ndcg)


@given(ranked_rows(), st.booleans())
@settings(max_examples=60)
def test_measures_of_the_best_k_equal_sums_by_hand(case, ancestors):
    taxonomy, sets, ranked, k, p = case
    names = np.array(taxonomy.names, dtype=object)
    y, labels = [{str(names[v]) for v in row} for row in sets], names[ranked]
    options = {"k": k, "ancestors": ancestors}
    gain, _, ndcg, _ = by_hand(taxonomy, sets, ranked, k, np.ones(len(p)), ancestors=ancestors)
    assert precision_at_k(y, labels, taxonomy, **options) == pytest.approx(gain)
    assert ndcg_at_k(y, labels, taxonomy, **options) == pytest.approx(ndcg)
    gain, best, ndcg, best_ndcg = by_hand(taxonomy, sets, ranked, k, 1 / p, ancestors=ancestors)
    expected = gain / best if best else 0.0
    assert precision_at_k(y, labels, taxonomy, propensities=p, **options) == pytest.approx(expected)
    expected = ndcg / best_ndcg if best else 0.0
    assert ndcg_at_k(y, labels, taxonomy, propensities=p, **options) == pytest.approx(expected)


def test_propensities_are_those_of_the_formula():
    y = ["tennis"] * 3 + ["film"] * 60 + ["food"] * 7
    found = dict(zip(TREE.names, propensities(y, TREE, A=0.6, B=2.6), strict=True))
    C = (math.log(70) - 1) * 3.6**0.6
    for name, n in {"sport": 3, "tennis": 3, "chess": 0, "film": 60, "food": 7}.items():
        assert found[name] == pytest.approx(1 / (1 + C * (n + 2.6) ** -0.6))
    assert np.all(propensities(["food"], TREE) == 1)  # one row says nothing about how many are missing


def test_the_best_ranking_has_one():
    y, ranked = [{"tennis", "food"}, {"film"}], [["food", "tennis"], ["film", "food"]]
    p = propensities(["food"] * 50 + ["tennis"], TREE)
    assert ndcg_at_k(y, ranked, TREE, k=2) == 1
    assert precision_at_k(y, ranked, TREE, k=2, propensities=p) == pytest.approx(1)


def test_what_is_refused():
    with pytest.raises(ParameterError, match="k must be a whole number from 1 up"):
        precision_at_k(["food"], [["food"]], TREE, k=0)
    with pytest.raises(LabelError, match="rows × 2 or more; got shape"):
        ndcg_at_k(["food"], [["food"]], TREE, k=2)
    with pytest.raises(LabelError, match="must be different"):
        ndcg_at_k(["food"], [["food", "food"]], TREE, k=2)
    with pytest.raises(ParameterError, match="6 numbers above 0"):
        precision_at_k(["food"], [["food"]], TREE, k=1, propensities=[0.0] * 6)


# ---------------------------------------------------------------- AU(PRC)


def area_by_counting(true, scores):
    """Precision at every threshold times the recall gained there, counted anew for each threshold."""
    area, recall = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        chosen = scores >= threshold
        tp = (true & chosen).sum()
        area += (tp / true.sum() - recall) * tp / chosen.sum()
        recall = tp / true.sum()
    return area


@given(ranked_rows())
@settings(max_examples=60)
def test_areas_equal_counts_at_every_threshold(case):
    taxonomy, sets, ranked, _, _ = case
    labels = LabelMatrix.from_ids(
        np.cumsum([0, *map(len, sets)]), np.array([v for row in sets for v in row], np.int32), taxonomy
    )
    scores = ranked // 2  # with ties
    first = 1 if len(taxonomy.roots) == 1 and taxonomy.n_nodes > 1 else 0
    true = labels.to_indicator().toarray().astype(bool)[:, first:]
    scores_of = scores[:, first:]
    if not true.any():
        with pytest.raises(LabelError, match="no row has a label"):
            average_precision(labels, scores, taxonomy)
        return
    columns = [v for v in range(true.shape[1]) if true[:, v].any()]
    areas, n_rows = [area_by_counting(true[:, v], scores_of[:, v]) for v in columns], true.sum(axis=0)[columns]
    expected = {
        "micro": area_by_counting(true.ravel(), scores_of.ravel()),
        "macro": np.mean(areas),
        "weighted": np.average(areas, weights=n_rows),
    }
    for average, area in expected.items():
        assert average_precision(labels, scores, taxonomy, average=average) == pytest.approx(area)
