"""The page of results: what the cells say, nothing else; and the cells have what the files before them had."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from benchmarks import bench, cells, comparison, harness, heat_map, page
from benchmarks.cells import MEASURED, REFUSED, STOPPED
from benchmarks.data_sets import DATA
from benchmarks.papers.published import read
from benchmarks.tables import HEADER
from cladist import registry
from cladist.errors import DatasetError

BEFORE = "9a5c9ab"  # the last commit with a file for each study
ROOT = Path(__file__).parents[2]


def put(data, method, micro=None, *, status=MEASURED, **more):
    cell = {"data": data, "method": method, "protocol": 1, "settings": {"learner": "Toy"}, "status": status, **more}
    if micro is not None:
        cell |= {"measured": {"micro": micro, "macro": micro, "tree": 1.0}, "interval": {}, "kind": "near", "C": 1.0}
    cells.write(comparison.NAME, cell)


def test_the_page_and_its_picture_are_what_the_cells_say():
    text = page.PAGE.read_text(encoding="utf-8")
    assert text == page.filled(text), "run: cladist bench all --budget 0"
    assert page.PICTURE.read_text(encoding="utf-8") == heat_map.draw(heat_map.rank())


def test_what_is_written_twice_is_the_same_and_data_do_not_matter(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "PAGE", tmp_path / "results.md")
    monkeypatch.setattr(page, "PICTURE", tmp_path / "methods.svg")
    page.PAGE.write_text(f"# Title\n\n{page.BEGIN}\nformer text\n{page.END}\n\nafter\n", encoding="utf-8")
    page.write()
    first = page.PAGE.read_bytes(), page.PICTURE.read_bytes()
    monkeypatch.setenv("CLADIST_DATA", str(tmp_path))  # no data set is there
    page.write()
    assert (page.PAGE.read_bytes(), page.PICTURE.read_bytes()) == first
    text = first[0].decode()
    assert text.startswith(f"# Title\n\n{page.BEGIN}\n\n## Which method where")
    assert text.endswith(f"{page.END}\n\nafter\n")
    assert "former text" not in text


def test_every_published_row_of_the_five_papers_is_on_the_page():
    text = page.content()
    for paper, tables in {
        "hieron": ("table 1", "table 2"), "hrls": ("RCV1", "OHSUMED"), "hm3": ("table 1", "table 2", "table 3"),
        "sp": ("table 2", "table 4"), "hr": ("table 2", "table 3"),
    }.items():  # fmt: skip
        for name in tables:
            for key, column, cell in read(paper).tables[name].cells():
                if cell.value is not None:
                    assert _is_shown(cell.value, text), f"{paper}, {name}, {key}, {column}: {cell.value}"
    assert text.count(f"| {' | '.join(HEADER)} |") >= 12
    assert "0.42 min = 2.80 × SVM" in text
    assert "4406 s" in text


def _is_shown(value, text):
    return any(re.search(rf"(?<![\d.]){value:.{digits}f}(?!\d)", text) for digits in (1, 2, 3))


def test_every_method_has_a_row_for_every_data_set_that_can_be_had(results):
    rows = {line[0] for line in page.comparison_part().rows}
    for method in registry.METHODS:
        assert {f"{d.title}, {method.name}" for d in DATA.values() if not d.is_licensed} <= rows
    assert {"CLEF, ot", "CLEF, hblr"} <= rows


def test_without_cells_the_page_says_so(results):
    assert "Nothing is measured yet." in page.content()
    assert heat_map.sentences(heat_map.rank()) == []
    assert "·" in heat_map.draw(heat_map.rank())


def test_the_answer_comes_from_the_figures(results, monkeypatch):
    monkeypatch.setattr(heat_map, "ENOUGH", 2)
    for data in ("clef", "news20", "clinc150"):
        put(data, "svm", 80.0, seconds={"fit": 10.0})
        put(data, "top-down", 79.5, seconds={"fit": 0.1})
    put("naics2017", "svm", 60.0, seconds={"fit": 10.0})
    put("naics2017", "top-down", 64.0, seconds={"fit": 0.1})
    put("onet-titles", "svm", 50.0, seconds={"fit": 10.0})  # too few methods to say anything
    put("enron", "hieron", status=REFUSED, reason="Rows have sets of labels.")
    put("enron", "ksp", status=STOPPED, limit_s=300, seconds=300)
    first, second, third = heat_map.sentences(heat_map.rank())
    assert "`svm` on CLEF, news20, clinc150; `top-down` on naics2017" in first
    assert (
        "`top-down` is the safest choice: 0.4 points behind the best on average over 4 data sets, at worst 0.5"
        in second
    )
    assert "`top-down` takes 0.1 s, and it is within 1 point of the best on 4 of its 4 data sets" in third
    drawn = heat_map.draw(heat_map.rank())
    for text in (">−0.5<", ">80.0<", ">n/a<", ">&gt; limit<", ">−4.0<"):
        assert text in drawn, text
    shown = {line[0]: line[1] for line in page.comparison_part().rows}
    assert shown["enron, hieron"] == "does not apply: Rows have sets of labels."
    assert shown["enron, ksp"] == "more than 300 CPU s"
    assert shown["enron, svm"] == "not measured yet"


@pytest.mark.parametrize("text", ["", page.BEGIN, f"{page.END}\n{page.BEGIN}", f"{page.BEGIN}{page.END}" * 2])
def test_a_page_without_its_markers_is_refused(text):
    with pytest.raises(DatasetError, match="results go between one line"):
        page.filled(text)


# ---------------------------------------------------------------- what there was before


def before(name):
    """Return the rows of a file of results as it was, or skip where the history is not at hand."""
    shown = subprocess.run(
        ["git", "show", f"{BEFORE}:benchmarks/results/{name}.json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if shown.returncode:
        pytest.skip("not a checkout with its history")
    return [row for row in json.loads(shown.stdout)["rows"] if row.get("status", MEASURED) == MEASURED]


FIGURES = (
    "measured",
    "interval",
    "scores",
    "values",
    "levels",
    "tried",
    "accuracy",
    "difference",
    "fit s",
    "KSP's fit s",
)


@pytest.mark.parametrize(
    ("name", "study", "n_rows"),
    [("hr", "comparison", 36), ("hr-by-macro",) * 2 + (5,), ("hr-uninformative",) * 2 + (60,), ("sp", "sp", 38),
     ("hm3", "hm3", 7), ("hrls", "hrls", 18), ("sp-times", "sp-times", 10)],
)  # fmt: skip
def test_cells_have_what_files_had(name, study, n_rows):
    rows = before(name)
    assert len(rows) == n_rows
    stored = list(cells.measured(study).values())
    for row in rows:
        wanted = {part: row[part] for part in FIGURES if part in row and name != "sp-times"} or {"fit s": row["fit s"]}
        assert any(_has(cell, row, wanted) for cell in stored), f"{row['data']}, {row['method']}"


def _has(cell, row, wanted):
    """Tell whether a cell has the figures of a row, or was measured again later."""
    kept = all(
        {**value, **{k: v for k, v in cell.get(part, {}).items() if k == "tree"}} == cell.get(part)
        if isinstance(value, dict) else cell.get(part) == value
        for part, value in wanted.items()
    )  # fmt: skip
    provenance = ("command", "date", "machine", "versions", "sources")
    return kept and all(cell[part] == row[part] for part in provenance if part in row)


def test_verdicts_and_points_of_before_are_there():
    verdicts = list(cells.measured("hr-verdicts").values())
    for row in before("hr-verdicts"):
        assert any(
            all(
                cell["differences"][name][part] == found[part]
                for name, found in row["differences"].items()
                for part in ("difference", "low", "high", "verdict")
            )
            for cell in verdicts
        )
    points = [point for cell in cells.measured("sp-equal-f1").values() for point in cell["points"]]
    for row in before("sp-equal-f1"):
        assert {part: row[part] for part in ("rounds", "F1", "fit s", "times the SVM's")} in points


def test_the_command_counts_cells():
    part = bench.counted(bench.studies_of(bench.ALL))
    assert {row[0] for row in part.rows} >= {path.name for path in (harness.RESULTS / "cells").iterdir()}
