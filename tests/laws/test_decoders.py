"""Every decoder equals brute force on every small tree and forest, ties included."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cladist import Taxonomy
from cladist.decoders import best_labelling, greedy_path, path_scores, prototype_argmax, top_down
from tests.strategies import consistent_sets, forests, small_forests

SMALL = list(small_forests(5))
SEVEN = Taxonomy.from_paths(["1/2/4", "1/2/5", "1/3/6", "1/3/7"])

# Halves add up exactly in any order, so equal totals are ties and not rounding.
halves = st.integers(-4, 4).map(lambda k: k / 2)


def count(taxonomy):
    """|Y_T| = Π_roots c(r), c(i) = 1 + Π_children c(k)."""
    c = np.ones(len(taxonomy), dtype=object)
    for v in range(len(taxonomy) - 1, -1, -1):
        children = range(taxonomy.child_start[v], taxonomy.child_start[v + 1])
        c[v] = 1 + int(np.prod([c[k] for k in children], dtype=object))
    return int(np.prod(c[taxonomy.roots], dtype=object))


@st.composite
def scored(draw, taxonomies=None):
    taxonomy = draw(forests(max_nodes=8) if taxonomies is None else st.sampled_from(taxonomies))
    shape = (draw(st.integers(1, 5)), len(taxonomy))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    return taxonomy, draw(hnp.arrays(dtype, shape, elements=halves))


def test_the_number_of_consistent_labellings():
    assert count(SEVEN) == len(consistent_sets(SEVEN.parent)) == 26
    for taxonomy in SMALL:
        assert count(taxonomy) == len(consistent_sets(taxonomy.parent))


def check_best(taxonomy, scores):
    """The highest total over all consistent labellings; of several, the one that is part of all others."""
    every = consistent_sets(taxonomy.parent).astype(float)
    totals = scores @ every.T
    found = best_labelling(scores, taxonomy).to_indicator().toarray()
    for row, total in zip(found, totals, strict=True):
        highest = every[total == total.max()]
        np.testing.assert_array_equal(row, highest.min(axis=0))
    signs = scores @ (2 * every - 1).T
    np.testing.assert_array_equal((scores * (2 * found - 1)).sum(axis=1), signs.max(axis=1))


def test_best_labelling_on_every_small_forest_and_sign_pattern():
    """All scores in {−1, 0, 1, 2}: every tie there is."""
    for taxonomy in SMALL:
        if len(taxonomy) <= 4:
            check_best(taxonomy, np.array(list(itertools.product([-1.0, 0.0, 1.0, 2.0], repeat=len(taxonomy)))))


@given(scored())
def test_best_labelling(case):
    check_best(*case)


@given(scored([SEVEN, *SMALL]))
def test_best_labelling_on_all_small_shapes(case):
    check_best(*case)


@given(scored(), st.data())
def test_top_down(case, data):
    taxonomy, scores = case
    thresholds = data.draw(hnp.arrays(np.float64, len(taxonomy), elements=halves))
    for threshold in (0.0, 0.5, thresholds, thresholds.tolist()):
        above = scores > np.asarray(threshold)
        expected = [[all(row[u] for u in taxonomy.path_ids(v)) for v in range(len(taxonomy))] for row in above]
        found = top_down(scores, taxonomy, threshold=threshold)
        np.testing.assert_array_equal(found.to_indicator().toarray(), np.array(expected, dtype=int))


@given(scored())
def test_the_best_labelling_never_loses_to_top_down(case):
    taxonomy, scores = case
    total = [
        (labels.to_indicator().toarray() * scores).sum(1)
        for labels in (best_labelling(scores, taxonomy), top_down(scores, taxonomy))
    ]
    assert np.all(total[0] >= total[1])


@given(scored())
def test_path_scores(case):
    taxonomy, scores = case
    before = scores.copy()
    summed = path_scores(scores, taxonomy)
    assert summed.dtype == scores.dtype
    expected = [[sum(row[u] for u in taxonomy.path_ids(v)) for v in range(len(taxonomy))] for row in scores]
    np.testing.assert_array_equal(summed, expected)
    np.testing.assert_array_equal(scores, before)


@given(scored(), st.data())
def test_prototype_argmax(case, data):
    taxonomy, scores = case
    subset = data.draw(hnp.arrays(bool, len(taxonomy)).filter(np.any))
    for allowed in (None, taxonomy.is_leaf, subset, subset.tolist()):
        nodes = np.arange(len(taxonomy)) if allowed is None else np.flatnonzero(allowed)
        found = prototype_argmax(scores, taxonomy, allowed=allowed)
        for row, v in zip(scores, found, strict=True):
            total = {u: sum(row[w] for w in taxonomy.path_ids(u)) for u in nodes.tolist()}
            assert v == min(u for u in total if total[u] == max(total.values()))


@given(scored())
def test_greedy_path(case):
    taxonomy, scores = case
    for row, leaf in zip(scores, greedy_path(scores, taxonomy), strict=True):
        among, v = taxonomy.roots.tolist(), None
        while among:
            v = min(u for u in among if row[u] == max(row[among]))
            among = list(range(taxonomy.child_start[v], taxonomy.child_start[v + 1]))
        assert leaf == v
        assert taxonomy.is_leaf[leaf]


# ---------------------------------------------------------------- layouts

DECODERS = {
    "best_labelling": lambda s, t: best_labelling(s, t).to_indicator().toarray(),
    "top_down": lambda s, t: top_down(s, t, threshold=0.25).to_indicator().toarray(),
    "path_scores": path_scores,
    "prototype_argmax": prototype_argmax,
    "greedy_path": greedy_path,
}


def layouts(scores):
    wide = np.repeat(np.repeat(scores, 2, axis=0), 3, axis=1)
    frozen = scores.copy()
    frozen.flags.writeable = False
    return {
        "fortran": np.asfortranarray(scores),
        "strided": wide[::2, ::3],
        "reversed": scores[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": frozen,
        "list": scores.tolist(),
        "swapped bytes": scores.astype(scores.dtype.newbyteorder()),
        "long": scores.astype(np.longdouble),
    }


@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS)
@given(case=scored())
def test_the_layout_of_scores_changes_nothing(decoder, case):
    taxonomy, scores = case
    expected = decoder(scores, taxonomy)
    for layout in layouts(scores).values():
        np.testing.assert_array_equal(decoder(layout, taxonomy), expected)
    integers = (2 * scores).astype(int)
    np.testing.assert_array_equal(decoder(integers, taxonomy), decoder(2 * scores, taxonomy))


@given(scored())
def test_node_major_scores(case):
    taxonomy, scores = case
    for decoder in (best_labelling, top_down):
        expected = decoder(scores, taxonomy)
        for layout in (scores.T, np.ascontiguousarray(scores.T), np.repeat(scores.T, 2, axis=1)[:, ::2]):
            assert decoder(layout, taxonomy, node_major=True) == expected


@pytest.mark.parametrize("n_nodes", [1, 3, 4, 7, 8, 9, 200])
@pytest.mark.parametrize("n_rows", [0, 1, 3, 255, 256, 257, 515, 1000])
def test_any_number_of_examples(n_rows, n_nodes):
    """Examples are labelled in tiles, nodes in fours and eights: every remainder has its turn."""
    rng = np.random.default_rng(n_rows * 1000 + n_nodes)
    taxonomy = Taxonomy.from_parents({v: None if v < 2 else int(rng.integers(v)) for v in range(n_nodes)})
    scores = rng.integers(-3, 3, size=(n_rows, n_nodes)) + 0.5
    gains = scores.copy()
    for v in range(n_nodes - 1, -1, -1):
        if taxonomy.parent[v] >= 0:
            gains[:, taxonomy.parent[v]] += np.maximum(gains[:, v], 0)
    for values, decoder in ((gains, best_labelling), (scores, top_down)):
        on = values > 0
        for v, p in enumerate(taxonomy.parent):
            if p >= 0:
                on[:, v] &= on[:, p]
        for dtype in (np.float64, np.float32):
            for found in (
                decoder(scores.astype(dtype), taxonomy),
                decoder(np.ascontiguousarray(scores.T.astype(dtype)), taxonomy, node_major=True),
            ):
                np.testing.assert_array_equal(found.to_indicator().toarray(), on)
    assert greedy_path(scores, taxonomy).shape == prototype_argmax(scores, taxonomy).shape == (n_rows,)


def test_the_result_outgrows_its_first_guess():
    """Empty labellings first, full ones after: the room guessed from the beginning is too small."""
    taxonomy = Taxonomy.from_parents({v: None if v == 0 else (v - 1) // 3 for v in range(50)})
    scores = np.full((3_000, 50), -1.0)
    scores[1_500:] = 1
    labels = best_labelling(scores, taxonomy)
    np.testing.assert_array_equal(np.diff(labels.indptr), np.where(np.arange(3_000) < 1_500, 0, 50))
    np.testing.assert_array_equal(labels.indices.reshape(-1, 50), np.tile(np.arange(50), (1_500, 1)))
