"""Rows relabelled across a revision: by the crosswalk, by models that checked rows vouch for, or left open."""

from __future__ import annotations

import numpy as np
import pytest

from cladist import Crosswalk, RecursiveLogistic, Taxonomy
from cladist.errors import DatasetError, ParameterError
from cladist.evaluation.candidate_models import fit_candidates, group_labels, text_matrix
from cladist.evaluation.migration import Drawn, Migration, Row
from cladist.evaluation.migration_report import Tally, describe_splits, worklist
from cladist.evaluation.sureness import find_threshold, fit_temperature, lower_bound

NEW = Taxonomy.from_parents(
    {"food": None, "bread": "food", "sweets": "food", "chocolate": "sweets", "toffee": "sweets", "tools": None},
    titles={"chocolate": "Chocolate and cocoa", "toffee": "Toffee and caramel"},
)
WALK = Crosswalk(
    [
        ("bread", "bread"),
        ("sweets", "chocolate"),
        ("sweets", "toffee"),
        ("fax", None),
        ("axes", "tools", "rename", 0.3),
    ],
    new=NEW,
)
WORDS = {"chocolate": ["chocolate", "cocoa", "praline", "nougat"], "toffee": ["toffee", "caramel", "fudge", "butter"]}


def make_rows(n: int, seed: int = 0, *, known: float = 0.3, noise: float = 0.0) -> tuple[list[Row], list[str]]:
    """Return rows of a split label, some of them checked, and the true new labels."""
    random = np.random.default_rng(seed)
    rows, truth = [], []
    for _ in range(n):
        label = "chocolate" if random.random() < 0.5 else "toffee"
        other = "toffee" if label == "chocolate" else "chocolate"
        own = WORDS[other if random.random() < noise else label]
        text = " ".join([*random.choice(own, 2), *random.choice(["bar", "box", "bag", "tin"], 2)])
        rows.append(Row(text, "sweets", label if random.random() < known else None))
        truth.append(label)
    return rows, truth


def test_the_crosswalk_settles_what_it_can() -> None:
    rows = [Row("rye", "bread"), Row("fax", "fax"), Row("axe", "axes"), Row("x", "sweets", "toffee")]
    done = list(Migration(WALK).fit(lambda: rows).relabel(rows))
    assert [(one.status, one.label) for one in done] == [
        ("mapped", "bread"),
        ("retired", None),
        ("open", None),
        ("known", "toffee"),
    ]
    assert done[2].candidates == ("tools",)
    assert done[2].confidence == 0.3


def test_without_checked_rows_nothing_is_decided_but_candidates_are_ranked() -> None:
    rows, truth = make_rows(200, known=0)
    migration = Migration(WALK).fit(lambda: rows)
    done = list(migration.relabel(rows))
    assert {one.status for one in done} == {"open"}
    assert migration.threshold is None
    best = np.mean([one.candidates[0] == label for one, label in zip(done, truth, strict=True)])
    assert best > 0.65, "the titles of the new nodes tell which words are whose"
    assert describe_splits(migration)[0].verdict == "check some rows"


@pytest.mark.parametrize("noise", [0.0, 0.04, 0.2])
def test_decided_rows_are_right_as_often_as_wanted(noise: float) -> None:
    rows, truth = make_rows(3_000, noise=noise, known=0.3)
    migration = Migration(WALK, sure=0.93).fit(lambda: rows)
    done = list(migration.relabel(rows))
    decided = [one.label == label for one, label in zip(done, truth, strict=True) if one.status == "decided"]
    if noise == 0.2:
        assert len(decided) < 100, "no probability is sure enough"
        assert describe_splits(migration)[0].verdict == "needs people"
    else:
        assert len(decided) > 1_500
        assert np.mean(decided) >= 0.93
        assert describe_splits(migration)[0].verdict == "models help"


def test_rows_are_relabelled_alike_in_batches_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = make_rows(120)
    migration = Migration(WALK).fit(lambda: rows)
    whole = list(migration.relabel(rows))
    monkeypatch.setattr("cladist.evaluation.migration.BATCH_ROWS", 7)
    assert list(migration.relabel(iter(rows))) == whole
    again = Migration(WALK).fit(lambda: iter(rows))
    assert list(again.relabel(rows)) == whole


def test_memory_is_bounded_and_drawing_is_fair() -> None:
    random = np.random.default_rng(0)
    counts = np.zeros(100)
    for _ in range(500):
        drawn = Drawn()
        for number in range(100):
            drawn.add(number, Row("x" * 10_000, "a"), 10, random)
        assert len(drawn.rows) == 10
        assert len(drawn.rows[0][1].text) == 5_000
        counts[[number for number, _ in drawn.rows]] += 1
    assert counts.min() > 20
    assert counts.max() < 90


def test_errors() -> None:
    with pytest.raises(DatasetError, match="Row 2: the crosswalk has no old label 'soup'"):
        Migration(WALK).fit(lambda: [Row("", "bread"), Row("", "soup")])
    done = list(Migration(WALK, unknown="open").fit(lambda: [Row("", "soup")]).relabel([Row("", "soup")]))
    assert done[0].status == "unknown"
    with pytest.raises(DatasetError, match=r"its new label 'bread' is none of those .* for 'sweets': 'choc"):
        Migration(WALK).fit(lambda: [Row("", "sweets", "bread")])
    with pytest.raises(ParameterError, match=r"sure must be at least 0\.5"):
        Migration(WALK, sure=1.0)
    with pytest.raises(ParameterError, match="unknown must be"):
        Migration(WALK, unknown="drop")


def test_the_worklist_begins_where_checks_settle_most_rows() -> None:
    walk = Crosswalk({"a": ["a1", "a2"], "b": ["b1", "b2"]})
    rows = [Row(f"a {k}", "a") for k in range(50)] + [Row(f"b {k}", "b") for k in range(500)]
    tasks = worklist(Migration(walk).fit(lambda: rows), 40)
    assert [task.old for task in tasks] == ["b"] * 30 + ["a"] * 10
    assert tasks[0].why == "a check here settles up to 17 rows"
    assert rows[tasks[0].row - 1].text == tasks[0].text
    assert set(tasks[0].candidates) == {"b1", "b2"}


def test_the_report_counts_every_row() -> None:
    rows, _ = make_rows(300)
    rows += [Row("rye", "bread")] * 7 + [Row("", "fax")] * 2
    migration, tally = Migration(WALK).fit(lambda: rows), Tally()
    for row, done in zip(rows, migration.relabel(rows), strict=True):
        tally.add(row.old, done)
    report = tally.to_dict(migration)
    assert report["rows"] == sum(report["statuses"].values()) == 309
    assert report["statuses"]["mapped"] == 7
    assert report["retired_or_unknown"] == {"fax": 2}
    assert report["splits"][0]["old"] == ["sweets"]


def test_groups_share_no_candidate() -> None:
    groups = group_labels([("a", ["1", "2"]), ("b", ["3", "4"]), ("c", ["2", "5"])])
    assert groups == [(["a", "c"], ["1", "2", "5"]), (["b"], ["3", "4"])]


def test_plain_rows_give_the_plain_model() -> None:
    X = text_matrix(["red", "blue", "green", "red green"])
    model = fit_candidates(X, [(0,), (1,), (2,), (0,)], ["r", "b", "g"])
    plain = RecursiveLogistic(C=10.0, sharing=1.0).fit(X[:, model.columns], ["r", "b", "g", "r"])
    order = [list(plain.classes_).index(name) for name in "rbg"]
    assert np.allclose(model.scores(X), plain.decision_function(X[:, model.columns])[:, order], atol=1e-6)


def test_a_threshold_is_one_at_which_decisions_are_right_often_enough() -> None:
    random = np.random.default_rng(0)
    bad = 0
    for _ in range(200):
        p = random.random(400)
        right = random.random(400) < 0.5 + 0.5 * p
        found = find_threshold(p, right, np.ones(400), 0.9)
        if found is not None:
            at_least = found.at_least
            bad += 0.75 + 0.25 * at_least < 0.9  # the mean of 0.5 + p/2 above the threshold
    assert bad <= 200 * 0.15, "at most 10 % of the time, and some for chance"
    assert find_threshold(np.ones(10), np.ones(10, bool), np.ones(10), 0.95) is None, "ten rows do not show it"
    assert lower_bound(1.0, 45) == pytest.approx(0.1 ** (1 / 45))


def test_temperature() -> None:
    scores = [np.array([3.0, 0.0])] * 10
    assert fit_temperature(scores, [0] * 6 + [1] * 4) > 3
    assert fit_temperature(scores, [0] * 10) < 1
    assert fit_temperature([], []) == 1.0
