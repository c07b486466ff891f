"""Measures up to common ancestors against walks over all paths; HiClass's convention against its sets of names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import ParameterError
from cladist.metrics import hierarchical_f1, hierarchical_precision_recall_f1, lca_f1, lca_precision_recall_f1
from tests.strategies import dags, node_sets

TREE = Taxonomy.from_parents({0: None, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2})
DAG = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "e")])


def ways_up(taxonomy, v):
    """All ways from a node up to the virtual root, as lists."""
    parents = [] if v < 0 else taxonomy.parent_ids(v).tolist() or [-1]
    return [[v]] if v < 0 else [[v, *way] for p in parents for way in ways_up(taxonomy, p)]


def join(taxonomy, t, p):
    """The best pair of ways to one node: few edges, then a deep node, then a small id."""
    pairs = []
    for first in ways_up(taxonomy, t):
        for second in ways_up(taxonomy, p):
            for meet in set(first) & set(second):
                one, other = first[: first.index(meet) + 1], second[: second.index(meet) + 1]
                depth = -1 if meet < 0 else int(taxonomy.depth[meet])
                pairs.append((len(one) + len(other) - 2, -depth, meet, len(one), len(other)))
    return min(pairs)


@given(dags(max_nodes=7), st.data())
@settings(max_examples=60)
def test_one_label_per_row_equals_all_ways_up(taxonomy, data):
    nodes = st.integers(0, taxonomy.n_nodes - 1)
    t, p = data.draw(nodes), data.draw(nodes)
    *_, n_true, n_pred = join(taxonomy, t, p)
    # The two ways have only the common ancestor in common, or a nearer one would be found.
    expected = 1 / n_pred, 1 / n_true, 2 / (n_pred + n_true)
    found = lca_precision_recall_f1([taxonomy.names[t]], [taxonomy.names[p]], taxonomy)
    assert found == pytest.approx(expected)


@given(node_sets(max_nodes=8), st.data())
@settings(max_examples=60)
def test_sets_on_trees_equal_unions_of_paths(case, data):
    taxonomy, rows = case
    other = [data.draw(st.sets(st.integers(0, taxonomy.n_nodes - 1), max_size=3)) for _ in rows]

    def deepest(row):
        return sorted(v for v in row if not any(v in taxonomy.ids_above(u) for u in row))

    def up_to(v, meet):
        way = ways_up(taxonomy, v)[0]
        return set(way[: way.index(meet) + 1])

    scores = []
    for true, pred in zip(map(deepest, rows), map(deepest, other), strict=True):
        if not true or not pred:
            scores.append((1.0, 1.0, 1.0) if true == pred else (0.0, 0.0, 0.0))
            continue
        nearest = [(t, min(pred, key=lambda p, t=t: (join(taxonomy, t, p)[:3], p))) for t in true]
        nearest += [(min(true, key=lambda t, p=p: (join(taxonomy, t, p)[:3], t)), p) for p in pred]
        expected = set().union(*(up_to(t, join(taxonomy, t, p)[2]) for t, p in nearest))
        found = set().union(*(up_to(p, join(taxonomy, t, p)[2]) for t, p in nearest))
        both = len(expected & found)
        scores.append((both / len(found), both / len(expected), 2 * both / (len(found) + len(expected))))
    names = [[{taxonomy.names[v] for v in row} for row in side] for side in (rows, other)]
    assert lca_precision_recall_f1(*names, taxonomy) == pytest.approx(tuple(np.mean(scores, axis=0)))


def test_worked_numbers():
    assert lca_f1([3], [3], TREE) == 1
    assert lca_precision_recall_f1([3], [4], TREE) == (0.5, 0.5, 0.5)  # both one edge below node 1
    assert lca_precision_recall_f1([3], [0], TREE) == (1, 1 / 3, 0.5)  # 3, 1, 0 against 0
    assert lca_precision_recall_f1([3], [5], TREE) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert lca_precision_recall_f1(["e"], ["d"], DAG) == pytest.approx((1 / 2, 1 / 3, 0.4))  # they meet in b, not in r
    weighted = lca_f1([3, 3], [3, 4], TREE, sample_weight=[3, 1])
    assert weighted == pytest.approx(0.875)


# ---------------------------------------------------------------- HiClass's convention


@given(node_sets(max_nodes=8), st.data())
@settings(max_examples=60)
def test_the_convention_of_hiclass_is_its_sets_of_names(case, data):
    taxonomy, rows = case
    other = [data.draw(st.sets(st.integers(0, taxonomy.n_nodes - 1), max_size=3)) for _ in rows]
    sides = [[{u for v in row for u in [v, *taxonomy.ids_above(v).tolist()]} for row in side] for side in (rows, other)]
    names = [[{taxonomy.names[v] for v in row} for row in side] for side in (rows, other)]

    def ratio(part, whole):
        return part / whole if whole else 0.0

    pairs = [(len(t & p), len(p), len(t)) for t, p in zip(*sides, strict=True)]
    both, n_pred, n_true = map(sum, zip(*pairs, strict=True))
    micro = ratio(both, n_pred), ratio(both, n_true), ratio(2 * both, n_pred + n_true)
    macro = [(ratio(b, p), ratio(b, t), ratio(2 * b, p + t)) for b, p, t in pairs]
    options = {"convention": "hiclass"}
    assert hierarchical_precision_recall_f1(*names, taxonomy, **options) == pytest.approx(micro)
    samples = hierarchical_precision_recall_f1(*names, taxonomy, average="samples", **options)
    assert samples == pytest.approx(tuple(np.mean(macro, axis=0)))
    assert hierarchical_f1(*names, taxonomy, average="samples", **options) == samples.f1


def test_another_convention_is_refused():
    with pytest.raises(ParameterError, match="convention must be one of"):
        hierarchical_f1([3], [3], TREE, convention="other")
    with pytest.raises(ParameterError, match="average must be one of"):
        hierarchical_f1([3], [3], TREE, convention="hiclass", average="macro")
