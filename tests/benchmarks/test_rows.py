"""Rows that are kept: a run goes on where another ended, and loses nothing that was measured."""

import json

import pytest

from benchmarks.papers.rows import MEASURED, NO_DATA, run_rows, stored
from cladist.errors import DatasetError

ORDER = [("A", "one"), ("A", "two"), ("B", "one")]


def plan(*keys, **settings):
    return [{"data": d, "method": m, "published": None, "settings": {"Cs": (1, 10), **settings}} for d, m in keys]


class Measuring:
    def __init__(self, stop_at=None):
        self.calls, self.stop_at = [], stop_at

    def __call__(self, row):
        key = (row["data"], row["method"])
        if key == self.stop_at:
            raise KeyboardInterrupt
        self.calls.append(key)
        return {"status": MEASURED, "value": len(self.calls)}


def run(rows, measure, **options):
    return run_rows("toy", rows, measure, order=ORDER, paper="Toy 2024", **options)[0]


def in_file(results):
    return [(row["data"], row["method"]) for row in json.loads((results / "toy.json").read_text())["rows"]]


def test_a_second_run_measures_nothing(results):
    first, second = Measuring(), Measuring()
    rows = run(plan(*ORDER), first)
    before = (results / "toy.json").read_bytes()
    assert run(plan(*ORDER), second) == rows
    assert (first.calls, second.calls) == (ORDER, [])
    assert (results / "toy.json").read_bytes() == before


def test_each_row_says_when_by_what_and_on_what_it_was_measured(results):
    (row,) = run(plan(ORDER[0]), Measuring())
    assert {"command", "date", "machine", "versions", "sources", "settings"} <= set(row)
    assert stored("toy")["paper"] == "Toy 2024"


def test_two_runs_at_once_keep_each_others_rows(results):
    def meanwhile(row):
        run(plan(ORDER[0]), Measuring())
        return Measuring()(row)

    run(plan(ORDER[2]), meanwhile)
    assert in_file(results) == [ORDER[0], ORDER[2]]


def test_again_measures_anew(results):
    run(plan(*ORDER), Measuring())
    second = Measuring()
    run(plan(*ORDER[:2]), second, again=True)
    assert second.calls == ORDER[:2]
    assert in_file(results) == ORDER


def test_other_settings_measure_anew(results):
    run(plan(*ORDER, C=1), Measuring())
    second = Measuring()
    run(plan(ORDER[0], C=1) + plan(ORDER[1], C=2), second)
    assert second.calls == [ORDER[1]]


def test_a_setting_that_is_not_known_here_may_be_anything(results):
    run(plan(ORDER[0], features="TF-IDF"), Measuring())
    second = Measuring()
    run(plan(ORDER[0], features=None), second)
    assert second.calls == []


def test_the_file_is_sorted_whatever_was_measured_first(results):
    run(plan(("Z", "gone"), ORDER[2]), Measuring())
    run(plan(ORDER[1], ORDER[0]), Measuring())
    assert in_file(results) == [*ORDER, ("Z", "gone")]


def test_an_interruption_keeps_what_was_measured(results):
    with pytest.raises(KeyboardInterrupt):
        run(plan(*ORDER), Measuring(stop_at=ORDER[1]))
    assert in_file(results) == ORDER[:1]
    rest = Measuring()
    run(plan(*ORDER), rest)
    assert rest.calls == ORDER[1:]


def test_missing_data_do_not_replace_what_was_measured(results):
    run(plan(ORDER[0]), Measuring())
    missing = [row | {"status": NO_DATA} for row in plan(*ORDER[:2], C=5)]
    found = run(missing, Measuring())
    assert [row["status"] for row in found] == [NO_DATA, NO_DATA]
    assert [row["status"] for row in stored("toy")["rows"]] == [MEASURED, NO_DATA]
    third = Measuring()
    run(plan(*ORDER[:2]), third)
    assert third.calls == [ORDER[1]]


def test_a_corrected_published_figure_reaches_a_kept_row(results):
    run(plan(ORDER[0]), Measuring())
    (row,) = run([plan(ORDER[0])[0] | {"published": {"micro": 1.5}}], Measuring())
    assert row["value"] == 1
    assert stored("toy")["rows"][0]["published"] == {"micro": 1.5}


@pytest.mark.parametrize("text", ["", "[]", '{"rows": [{}]}', '{"rows": 3}', "{"])
def test_a_file_that_holds_no_results_is_refused(results, text):
    results.mkdir()
    (results / "toy.json").write_text(text)
    with pytest.raises(DatasetError, match=r"benchmarks/results/toy\.json: not a file of results"):
        run(plan(*ORDER), Measuring())
    assert (results / "toy.json").read_text() == text
