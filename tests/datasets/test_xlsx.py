"""Workbooks: what is read from them and what is refused."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.datasets.loaders import official_codes
from cladist.errors import CladistError, DatasetError
from tests.datasets.folders import workbook

SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
ROWS = [("no", "code", "title"), ("", "", ""), ("1", "11", "A & B "), ("2", "31-33", "C")]


def packed(
    sheet: str | bytes, texts: str | bytes = f"<sst {SPACE}><si><r><t>a</t></r><r><t>b</t></r></si></sst>"
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(official_codes.SHEET, sheet)
        archive.writestr(official_codes.TEXTS, texts)
    return stream.getvalue()


def read(folder: Path, content: bytes) -> list[tuple[int, dict[str, str]]]:
    path = folder / "codes.xlsx"
    path.write_bytes(content)
    return list(official_codes.sheet_rows(path))


def test_rows_that_hold_anything(tmp_path: Path) -> None:
    assert read(tmp_path, workbook(ROWS)) == [
        (1, {"A": "no", "B": "code", "C": "title"}),
        (3, {"A": "1", "B": "11", "C": "A & B"}),
        (4, {"A": "2", "B": "31-33", "C": "C"}),
    ]


def test_texts_in_several_runs_and_cells_left_out(tmp_path: Path) -> None:
    sheet = f'<worksheet {SPACE}><sheetData><row><c r="C1" t="s"><v>0</v></c></row></sheetData></worksheet>'
    assert read(tmp_path, packed(sheet)) == [(1, {"C": "ab"})]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ('<c r="A1" t="s"><v>1</v></c>', "row 1: '1' is not the number of a text"),
        ('<c r="A1" t="s"><v>-1</v></c>', "row 1: '-1' is not the number of a text"),
        ('<c r="A1" t="s"><v>²</v></c>', "is not the number of a text"),
    ],
)
def test_a_cell_that_cannot_be(tmp_path: Path, cell: str, message: str) -> None:
    sheet = f"<worksheet {SPACE}><sheetData><row>{cell}</row></sheetData></worksheet>"
    with pytest.raises(DatasetError, match=message):
        read(tmp_path, packed(sheet))


def test_entities_are_never_expanded(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>'
    with pytest.raises(DatasetError, match=r"sheet1.xml declares a document type"):
        read(tmp_path, packed(bomb))
    with pytest.raises(DatasetError, match=r"is not UTF-8"):
        read(tmp_path, packed(bomb.encode("utf-16")))


def test_a_member_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(official_codes, "LARGEST_MEMBER", 1000)
    with pytest.raises(DatasetError, match=r"sheet1.xml unpacks to more than 1,000 bytes"):
        read(tmp_path, packed(b" " * 100_000))
    monkeypatch.setattr(official_codes, "LARGEST_WORKBOOK", 100)
    with pytest.raises(DatasetError, match="longer than 100 bytes"):
        read(tmp_path, workbook(ROWS))


@given(st.binary(max_size=200))
def test_any_bytes_give_rows_or_our_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    for attempt in (content, packed(content)):
        with suppress(CladistError):
            read(folder, attempt)


def test_an_archive_without_its_first_byte(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"not an \.xlsx workbook, or a damaged one"):
        read(tmp_path, workbook(ROWS)[1:])


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_damaged_workbook_gives_rows_or_our_error(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    content = bytearray(workbook(ROWS))
    for place, value in changes:
        content[place % len(content)] = value
    with suppress(CladistError):
        read(tmp_path_factory.getbasetemp(), bytes(content))
