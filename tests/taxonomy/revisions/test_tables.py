"""Correspondence tables in the layouts in which offices publish them, and obsolete terms of OBO files."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from cladist import Crosswalk, Taxonomy
from cladist.errors import TaxonomyError
from cladist.taxonomy.revisions.layouts import split_codes

FILES = Path(__file__).parent / "files"


def pairs(walk: Crosswalk) -> list[tuple[str | None, str | None]]:
    return [(entry.old, entry.new) for entry in walk]


def test_naics_with_lines_above_its_header_and_a_header_over_two_lines() -> None:
    walk = Crosswalk.read(FILES / "naics.csv")
    assert walk.targets("212113") == ("212114", "212115")
    assert walk.kind("111110") == "one-to-one"
    assert walk.kind("212111") == "merge"
    assert walk.entries_of("212113")[1].evidence == "Underground Coal Mining - anthracite underground mining"


def test_isic_with_pairs_listed_by_detail() -> None:
    walk = Crosswalk.read(FILES / "isic.csv")
    assert pairs(walk) == [("0111", "0111"), ("0111", "0116"), ("0140", "0161"), ("9999", None)]
    assert walk.entries_of("0111")[0].evidence == "Growing of cereals; Growing of oil seeds"
    assert walk.kind("9999") == "retire"


def test_isco_from_left_to_right_or_by_the_columns_named() -> None:
    assert Crosswalk.read(FILES / "isco.csv").sources("2131") == ("2512", "2513")
    back = Crosswalk.read(FILES / "isco.csv", columns=("ISCO 88 code", "ISCO 08 code"))
    assert back.targets("2131") == ("2512", "2513")
    with pytest.raises(TaxonomyError, match="'ISCO 68' and 'ISCO 08 code' must be in the header"):
        Crosswalk.read(FILES / "isco.csv", columns=("ISCO 68", "ISCO 08 code"))


def test_leading_zeros_come_back_with_the_taxonomies() -> None:
    isco = Taxonomy.from_parents({"0": None, "01": "0", "011": "01", "0110": "011", "2": None, "2512": "2"})
    walk = Crosswalk.read(FILES / "isco.csv", old=isco)
    assert walk.old_names == ("2512", "2513", "0110")
    both = Taxonomy.from_parents({"0110": None, "00110": None})
    unclear = Crosswalk.read(FILES / "isco.csv", old=both)
    assert unclear.old_names[2] == "110", "what is not clear stays as it is"


def test_nace_with_headers_that_name_the_scheme_alone() -> None:
    walk = Crosswalk.read(FILES / "nace.tsv")
    assert pairs(walk) == [("62.01", "62.10"), ("63.12", "60.39"), ("63.12", "63.91")]


def test_conversion_table_of_icd_goes_from_previous_to_current() -> None:
    walk = Crosswalk.read(FILES / "icd.csv")
    assert pairs(walk) == [("T40.7X1A", "T40.711A"), ("I51.89", "I5A"), ("I21.A9", "I5A"), (None, "U07.1")]
    dotless = Crosswalk.read(FILES / "icd.csv", new=Taxonomy.from_parents({"I5A": None}))
    assert dotless == walk


SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def write_workbook(path: Path, rows: list[list[str]]) -> None:
    """Write a workbook of one sheet, numbers as numbers, as spreadsheet programs store codes of digits."""

    def cell(text: str) -> str:
        if text.isdecimal():
            return f"<c><v>{text}</v></c>"
        return f'<c t="inlineStr"><is><t>{escape(text)}</t></is></c>' if text else "<c/>"

    data = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    relation = f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" Type='
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{PACKAGE}/content-types"/>')
        archive.writestr(
            "_rels/.rels", f'{relation}"{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets>'
            "</workbook>",
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'{relation}"{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{SHEET}"><sheetData>{data}</sheetData></worksheet>'
        )


def test_workbook(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    rows = csv.reader(io.StringIO((FILES / "naics.csv").read_text()))
    write_workbook(tmp_path / "naics.xlsx", list(rows))
    assert Crosswalk.read(tmp_path / "naics.xlsx") == Crosswalk.read(FILES / "naics.csv")


def test_a_table_without_codes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(TaxonomyError, match=r"walk\.csv: line 1: the columns 'old' and 'new', or two columns of codes"):
        Crosswalk.read(path)


def test_cells() -> None:
    assert split_codes(" n/a ", lists=False) == [None]
    assert split_codes("A; B,A", lists=True) == ["A", "B"]
    assert split_codes("Fish, fresh", lists=False) == ["Fish, fresh"]


OBO = """format-version: 1.2

[Term]
id: X:1
name: root
alt_id: X:7

[Term]
id: X:2
is_obsolete: true
replaced_by: X:1 ! root

[Term]
id: X:3
is_obsolete: true
consider: X:1
consider: X:4

[Term]
id: X:5
is_obsolete: true
"""


def test_obsolete_terms_of_an_obo_file(tmp_path: Path) -> None:
    path = tmp_path / "x.obo"
    path.write_text(OBO)
    walk = Crosswalk.read(path)
    assert pairs(walk) == [("X:7", "X:1"), ("X:2", "X:1"), ("X:3", "X:1"), ("X:3", "X:4"), ("X:5", None)]
    assert walk.kind("X:3") == "split"
    assert walk.entries_of("X:3")[0].confidence == 0.5
    path.write_text("format-version: 1.2\n[Term]\nid: X:1\nis_obsolete: true\nreplaced_by:\n")
    with pytest.raises(TaxonomyError, match="line 2: a term has one id, and its replacements have ids"):
        Crosswalk.read(path)
