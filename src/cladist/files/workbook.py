"""The first sheet of a workbook, .xlsx or .ods, as rows of cells; read by python-calamine, an extra."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from datetime import date, time, timedelta
from importlib import import_module
from typing import IO, Any

from cladist.errors import shorten
from cladist.files import ErrorClass, Source, display_name

FORMATS = {".xlsx": "xlsx", ".ods": "ods"}
LARGEST = 2**28  # bytes of a workbook, packed
MOST_UNPACKED = 2**31  # bytes of its parts, as they announce
MOST_GROWTH = 200  # of a part, unpacked to packed; sheets of real workbooks grow to about twenty times


def sheet_rows(source: Source, stream: IO[bytes], error: ErrorClass) -> Iterator[tuple[int, list[Any]]]:
    """Yield the number of each row of the first sheet that holds anything, and its cells; dates are ISO texts."""
    name = display_name(source)
    content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise error(f"{name}: a workbook of more than {LARGEST:,} bytes; save the sheet as CSV.")
    _check_archive(name, content, error)
    try:
        calamine = import_module("python_calamine")
    except ImportError as problem:
        raise error(
            f"{name}: workbooks need python-calamine, which is not installed; pip install 'cladist[spreadsheets]', or "
            "save the sheet as CSV."
        ) from problem
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        rows = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except BaseException as problem:  # a panic of the parser is no Exception
        if isinstance(problem, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise error(f"{name}: not a workbook, or a damaged one ({shorten(str(problem), 100)}).") from None
    for number, row in enumerate(rows, start=1):
        cells = [_plain(cell) for cell in row]
        if any(cell is not None for cell in cells):
            yield number, cells


def _check_archive(name: str, content: bytes, error: ErrorClass) -> None:
    """Refuse what is no archive, and parts that would unpack to much more than they are."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
    except Exception as problem:  # zipfile raises errors of many kinds on damaged archives
        raise error(f"{name}: not a workbook, or a damaged one ({shorten(str(problem), 100)}).") from problem
    for part in parts:
        if part.file_size > MOST_GROWTH * part.compress_size + 2**20:
            raise error(f"{name}: {part.filename!r} unpacks to {part.file_size:,} bytes; it is not to be trusted.")
    if sum(part.file_size for part in parts) > MOST_UNPACKED:
        raise error(f"{name}: unpacks to more than {MOST_UNPACKED:,} bytes; save the sheet as CSV.")


def _plain(cell: Any) -> Any:
    """Return a text, a number, or None for an empty cell."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    return None if cell == "" else cell


def sheet_text(source: Source, stream: IO[bytes], error: ErrorClass) -> str:
    """Return the first sheet as the text of a CSV file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for _, cells in sheet_rows(source, stream, error):
        values = [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in cells]
        writer.writerow(["" if value is None else value for value in values])
    return out.getvalue()
