"""The first sheet of an .xlsx workbook as rows of text, by the standard library: a zip of two XML files."""

from __future__ import annotations

import io
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from os import PathLike
from xml.etree import ElementTree

from cladist.errors import CladistError, DatasetError
from cladist.files import decode, open_for_reading, refuse

SHEET, TEXTS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
LARGEST_WORKBOOK = 4 * 2**20  # packed
LARGEST_MEMBER = 4 * 2**20  # unpacked; a table of codes has under a megabyte, and its tree takes many times that
MOST_COLUMNS = 16_384  # of the format itself
_PREFIX = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
# Errors of zipfile on bytes that are no archive. KeyError: no such member; RuntimeError: encryption or compression
# that is not known; the others: impossible lengths and places.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
    EOFError, OSError, RuntimeError, KeyError, ValueError, OverflowError,
)  # fmt: skip
_PLACE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


def sheet_rows(path: str | PathLike[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each row that holds anything, and its cells as text; "" where a cell is empty."""
    with open_for_reading(path) as stream:
        content = stream.read(LARGEST_WORKBOOK + 1)
    if len(content) > LARGEST_WORKBOOK:
        refuse(path, None, None, f"more than {LARGEST_WORKBOOK:,} bytes, which is no table of codes.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            texts = ["".join(t.text or "" for t in si.iter(f"{_PREFIX}t")) for si in _xml(path, archive, TEXTS)]
            sheet = _xml(path, archive, SHEET)
    except CladistError:
        raise
    except _DAMAGE as problem:
        raise DatasetError(f"{path}: not an .xlsx workbook, or a damaged one ({problem}).") from problem
    for number, row in enumerate(sheet.iter(f"{_PREFIX}row"), start=1):
        cells = _cells(path, number, row, texts)
        if any(cells):
            yield number, cells


def _xml(path: str | PathLike[str], archive: zipfile.ZipFile, member: str) -> ElementTree.Element:
    with archive.open(member) as stream:
        content = stream.read(LARGEST_MEMBER + 1)
    if len(content) > LARGEST_MEMBER:
        refuse(path, None, None, f"{member} unpacks to more than {LARGEST_MEMBER:,} bytes.")
    # As text, so that no encoding the file declares can hide a document type, which could define endless entities.
    text = decode(f"{path}, {member}", content)
    if "<!DOCTYPE" in text:
        refuse(path, None, None, f"{member} declares a document type, which workbooks do not.")
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as problem:
        raise DatasetError(f"{path}: {member} is not valid XML ({problem}).") from problem


def _cells(path: str | PathLike[str], number: int, row: ElementTree.Element, texts: list[str]) -> list[str]:
    cells: list[str] = []
    for cell in row.iter(f"{_PREFIX}c"):
        value = cell.findtext(f"{_PREFIX}v") or ""
        if cell.get("t") == "s" and value:
            if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) < len(texts)):
                raise DatasetError(f"{path}, row {number}: {value!r} is not the number of a text in {TEXTS}.")
            value = texts[int(value)]
        column = _column(path, number, cell.get("r", ""))
        cells.extend([""] * (column + 1 - len(cells)))
        cells[column] = value.strip()
    return cells


def _column(path: str | PathLike[str], number: int, place: str) -> int:
    """Return the position of the column in a place such as B17."""
    match = _PLACE.fullmatch(place)
    column = 0
    for letter in match[1] if match else "":
        column = 26 * column + ord(letter) - ord("A") + 1
    if not 1 <= column <= MOST_COLUMNS:
        raise DatasetError(f"{path}, row {number}: a cell stands at {place!r}; wanted is a place such as B17.")
    return column - 1
