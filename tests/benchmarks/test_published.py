"""The papers' tables as data: nothing missing, doubtful cells marked as doubtful."""

import json
import re

import pytest

from benchmarks.papers.published import FOLDER, Cell, names, read

# Table → rows, columns, uncertain cells: counted in the papers' transcription.
SHAPES = {
    "hmc": {"table 2": (2, 1, 0)},
    "hieron": {"table 1": (6, 2, 0), "table 2": (9, 4, 0)},
    "hm3": {"table 1": (8, 5, 0), "table 2": (10, 6, 6), "table 3": (10, 8, 0)},
    "hrls": {"RCV1": (6, 3, 0), "OHSUMED": (6, 3, 0)},
    "sp": {"table 1": (6, 5, 0), "table 2": (6, 12, 0), "table 3": (6, 3, 0), "table 4": (18, 3, 0)},
    "hr": {"table 1": (9, 7, 2), "table 2": (5, 6, 0), "table 3": (9, 16, 2), "table 4": (9, 8, 5)},
}
GAPS = {("hr", "table 1"): 1, ("hr", "table 3"): 42, ("hr", "table 4"): 21}  # printed as dashes


def test_all_papers_are_there():
    assert sorted(SHAPES) == names()


@pytest.mark.parametrize("paper", SHAPES)
def test_shapes_gaps_and_doubts(paper):
    tables = read(paper).tables
    found = {
        name: (len(table.rows), len(table.columns), sum(bool(cell.uncertain) for *_, cell in table.cells()))
        for name, table in tables.items()
    }
    assert found == SHAPES[paper]
    for name, table in tables.items():
        assert sum(cell.value is None for *_, cell in table.cells()) == GAPS.get((paper, name), 0)
        assert all(len(cell.uncertain) > 30 for *_, cell in table.cells() if cell.uncertain), "a reason is a sentence"


@pytest.mark.parametrize("paper", SHAPES)
def test_every_row_spells_out_every_cell(paper):
    content = json.loads((FOLDER / paper / "published.json").read_text(encoding="utf-8"))
    for table in content["tables"].values():
        for row in table["rows"]:
            assert list(row) == table["keys"] + table["columns"]
            for column in table["columns"]:
                cell = row[column]
                assert cell is None or isinstance(cell, (int, float, dict))
                if isinstance(cell, dict):
                    assert set(cell) <= {"value", "std", "mark", "uncertain"}
                    assert "value" in cell


@pytest.mark.parametrize(
    ("paper", "table", "key", "column", "cell"),
    [
        ("hieron", "table 1", "Phonemes (flat)", "multiclass error", Cell(39.7)),
        ("hieron", "table 2", "Synthetic (tree)", "tree-induced error, batch", Cell(0.05)),
        ("hieron", "table 2", "DMOZ (greedy)", "multiclass error, last", Cell(81.8)),
        ("hm3", "table 1", "WIPO-alpha|ℓ_H̃-sibl.", "ℓ_0/1", Cell(64.8)),
        ("hm3", "table 2", "Reuters|H-RLS", "F1", Cell(76.3)),
        ("hm3", "table 3", "WIPO-alpha|H-SVM", "level 3 R", Cell(24.3)),
        ("hm3", "table 3", "Reuters|SVM", "level 1 P", Cell(96.8)),
        ("hrls", "RCV1", "SH-RLS", "zero-one loss", Cell(0.456, 0.010, "bold")),
        ("hrls", "OHSUMED", "SVM", "Δ-loss", Cell(1.872, 0.005)),
        ("sp", "table 1", "NEWS20", "features", Cell(62061)),
        ("sp", "table 2", "CCAT", "KSP-linear R", Cell(0.78)),
        ("sp", "table 3", "WIPO", "LM-2", Cell(13892)),
        ("sp", "table 4", "WIPO|Gaussian", "F1", Cell(0.70)),
        ("hr", "table 1", "IPC", "features", Cell(541869)),
        ("hr", "table 2", "SWIKI-2011", "LSHTC published micro-F1", Cell(37.39)),
        ("hr", "table 3", "CLEF", "SVM micro-F1", Cell(77.53)),
        ("hr", "table 3", "CLEF", "HR-SVM macro-F1", Cell(53.92, None, "††")),
        ("hr", "table 3", "IPC", "HR-LR micro-F1", Cell(55.37, None, "†")),
        ("hr", "table 3", "LWIKI", "TD micro-F1", Cell(None)),
        ("hr", "table 4", "LWIKI", "HR-LR", Cell(7282.09)),
    ],
)
def test_cells(paper, table, key, column, cell):
    assert read(paper).tables[table].cell(*key.split("|"), column=column) == cell


def test_the_doubtful_cells_are_those_that_are_marked():
    doubtful = {
        (paper, table.name, *key, column)
        for paper in names()
        for table in read(paper).tables.values()
        for key, column, cell in table.cells()
        if cell.uncertain
    }
    last = "H-M³-ℓ_H̃"
    assert doubtful == {
        *(("hm3", "table 2", "WIPO-alpha", last, column) for column in ("ℓ_0/1", "ℓ_Δ", "ℓ_H", "P", "R", "F1")),
        ("hr", "table 1", "RCV1", "testing"),
        ("hr", "table 1", "LWIKI", "depth"),
        ("hr", "table 3", "SWIKI-2011", "TD macro-F1"),
        ("hr", "table 3", "SWIKI-2011", "TD micro-F1"),
        *(("hr", "table 4", data, column) for data in ("CLEF", "LSHTC-small") for column in ("HSVM", "OT")),
        ("hr", "table 4", "SWIKI-2011", "TD"),
    }


def test_figures_that_the_papers_derive_from_others_agree():
    """F1 from P and R, and the ratios of times that the text states: a digit gone wrong would show."""
    rows = read("hm3").tables["table 2"].rows
    for row in rows.values():
        p, r, f1 = (row[column].value for column in ("P", "R", "F1"))
        assert f1 == pytest.approx(2 * p * r / (p + r), abs=0.11)
    for (data, *_), row in read("sp").tables["table 4"].rows.items():
        p, r, f1 = (row[column].value for column in ("P", "R", "F1"))
        assert f1 == pytest.approx(2 * p * r / (p + r), abs=0.012), data
    times = read("hr").tables["table 4"].rows.values()
    for fast, slow, ratio in (("SVM", "HR-SVM", 1.90), ("LR", "HR-LR", 2.95)):
        assert sum(row[slow].value / row[fast].value for row in times) / 9 == pytest.approx(ratio, abs=0.01)
    twice = read("hr").tables["table 2"], read("hr").tables["table 3"]
    for key, column, cell in twice[0].cells():
        if re.match("HR-", column):
            assert twice[1].cell(*key, column=column).value == cell.value


def test_a_row_that_lacks_a_cell_is_refused(tmp_path, monkeypatch):
    content = json.loads((FOLDER / "hr" / "published.json").read_text(encoding="utf-8"))
    del content["tables"]["table 3"]["rows"][4]["TD macro-F1"]
    (tmp_path / "hr").mkdir()
    (tmp_path / "hr" / "published.json").write_text(json.dumps(content))
    monkeypatch.setattr("benchmarks.papers.published.FOLDER", tmp_path)
    with pytest.raises(ValueError, match="table 3: wanted the cells"):
        read("hr")
