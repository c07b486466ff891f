"""Pairs of true and predicted labels, against a definition row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.errors import LabelError
from cladist.metrics import report, tree_induced_error
from cladist.report import find_errors, html_report
from cladist.report.error_sections import branch_groups, sample_rows, sibling_groups
from cladist.report.error_words import frequency_bins, key_sentences
from cladist.taxonomy import Taxonomy

TREE = Taxonomy.from_paths(["a/x/1", "a/x/2", "a/y/3", "b/z/4", "b/z/5", "c"])


def pair_by_hand(true, pred):
    """The pairs of one row: each missed label with the nearest wrong prediction, and predictions that are left."""
    missed, extra = sorted(set(true) - set(pred), key=TREE.index), sorted(set(pred) - set(true), key=TREE.index)
    pairs = [(t, min(extra, key=lambda p: (TREE.distance(t, p), TREE.index(p)), default=None)) for t in missed]
    return pairs + [(None, p) for p in extra if p not in {q for _, q in pairs}]


def frontier(labels):
    return [v for v in labels if not any(w != v and v in TREE.path(w) for w in labels)]


SETS = st.lists(st.tuples(*[st.sets(st.sampled_from(TREE.names), max_size=4)] * 2), min_size=1, max_size=12)


@given(SETS)
def test_pairs_equal_their_definition(rows):
    errors = find_errors(*[[sorted(row[k]) for row in rows] for k in (0, 1)], TREE)
    name = lambda v: None if v < 0 else TREE.names[v]  # noqa: E731
    found = [
        (int(row), name(t), name(p))
        for k, (t, p) in enumerate(zip(errors.true, errors.pred, strict=True))
        for row in errors.rows_of(k)
    ]
    wanted = [(i, t, p) for i, row in enumerate(rows) for t, p in pair_by_hand(frontier(row[0]), frontier(row[1]))]
    assert sorted(found, key=str) == sorted(wanted, key=str)
    assert errors.n_errors == len(wanted)
    assert list(errors.cost) == sorted(errors.cost, reverse=True)


@given(st.lists(st.tuples(*[st.sampled_from(TREE.names)] * 2), min_size=1, max_size=30))
def test_costs_of_single_labels_are_tree_distances(rows):
    true, pred = map(list, zip(*rows, strict=True))
    errors = find_errors(true, pred, TREE)
    assert errors.total == pytest.approx(tree_induced_error(true, pred, TREE) * len(rows))
    assert errors.distance_counts.sum() == len(rows)
    assert errors.label_counts.sum() == len(rows)
    below = errors.node_costs()
    for v, node in enumerate(TREE.names):
        own = sum(TREE.distance(t, p) for t, p in rows if node in TREE.path(t))
        assert below[v] == own
    turns = sum(errors.turn_costs()) + errors.cost[errors.meet < 0].sum()
    assert turns == errors.total
    for t, p, kind, meet, left, right in zip(
        errors.true, errors.pred, errors.kind, errors.meet, *errors.branches, strict=True
    ):
        parents = [TREE.parent[v] for v in (t, p)]
        assert (kind == "siblings") == (parents[0] == parents[1] and t != p)
        assert (kind == "depth") == (meet in (t, p))
        if kind in ("siblings", "branches"):
            assert TREE.parent[left] == TREE.parent[right] == meet
            assert left != right


def test_groups_add_up():
    true = ["1"] * 4 + ["2"] * 3 + ["3", "4", "c"]
    pred = ["2"] * 4 + ["4", "4", "5"] + ["3", "5", "1"]
    errors = find_errors(true, pred, TREE)
    near, far = sibling_groups(errors), branch_groups(errors)
    assert [(TREE.names[g.true], TREE.names[g.pred], g.n_rows) for g in near] == [("1", "2", 4), ("4", "5", 1)]
    assert [(TREE.names[g.true], TREE.names[g.pred], g.n_rows, g.cost) for g in far] == [
        ("a", "b", 3, 18),
        ("c", "a", 1, 4),
    ]
    assert [TREE.names[errors.pred[k]] for k in far[0].pairs] == ["4", "5"]
    assert set(sample_rows(errors)) <= set(range(10)) - {7}


def test_frequencies_and_sentences():
    true = ["1"] * 12 + ["3", "c"]
    pred = ["1"] * 9 + ["2"] * 3 + ["4", "c"]
    errors = find_errors(true, pred, TREE)
    bins = frequency_bins(errors)
    assert [(b.title, b.n_classes, b.n_labels, b.n_right, b.cost) for b in bins] == [
        ("1 to 2", 2, 2, 1, 6),
        ("10 to 29", 1, 12, 9, 6),
    ]
    text = " ".join(key_sentences(report(true, pred, TREE), errors))
    assert "71.4% of 14 rows are right. A wrong label is 3.0 edges from the truth on average" in text
    assert "75% of the errors stay among siblings; 25% end in another branch" in text
    assert "right in 50% of their rows, the others in 75%" in text


def test_no_errors():
    errors = find_errors(["1", "c"], ["1", "c"], TREE)
    assert (errors.n_errors, errors.total, sample_rows(errors)) == (0, 0, [])
    assert key_sentences(report(["1"], ["1"], TREE), errors) == ["All 1 rows are right."]
    assert np.array_equal(errors.distance_counts, [2])


def test_sides_of_different_length_are_refused():
    with pytest.raises(LabelError, match="rows"):
        find_errors(["1"], ["1", "c"], TREE)


def test_codes_stand_beside_titles_that_do_not_say_them():
    titles = {"9": "Diseases of the heart (I00-I99)", "I10": "Pressure (I10)"}
    taxonomy = Taxonomy.from_paths(["9", "I10"]).with_titles(titles)
    errors = find_errors(["9"], ["I10"], taxonomy)
    page = html_report(report(["9"], ["I10"], taxonomy), title="t", errors=errors)
    assert "(I00-I99)</bdi></button> <code>9</code>" in page
    assert "<code>I10</code>" not in page
