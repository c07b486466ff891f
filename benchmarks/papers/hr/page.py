"""The page of results, made of the files that the benchmarks wrote: ``python benchmarks/papers/hr/page.py``.

Between the two markers of docs/guides/results.md stands what this writes; a test compares the two.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.papers.hr import showing, times, uninformative_showing, verdicts_showing
from benchmarks.papers.rows import MEASURED, Row, stored
from cladist.errors import DatasetError
from cladist.files import open_for_writing
from cladist.report import Table, markdown_table

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "results.md"
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
LEFT_OUT = ("settings",)  # of Table 3: wide; the C chosen is what matters of them
NOTHING_YET = "Nothing is measured yet."


def content() -> str:
    """Return all sections, from the files of results as they are."""
    rows = stored("hr").get("rows", [])
    return "\n\n".join(
        [
            "## Gopal & Yang 2013, Table 3",
            *_table_3(rows),
            "## CLEF, with C chosen for macro-F1",
            *_table_3(stored("hr-by-macro").get("rows", []), "macro"),
            "## What the hierarchy costs: Table 4",
            *_table_4(rows),
            "## Does the tree help?",
            *_verdicts(stored("hr-verdicts").get("rows", [])),
            "## A tree that says nothing",
            *_uninformative(stored("hr-uninformative").get("rows", [])),
        ]
    )


def filled(text: str) -> str:
    """Return the page with the sections between its markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise DatasetError(f"{PAGE.name}: results go between one line {BEGIN} and one line {END} below it.")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{content()}\n\n{END}{rest.partition(END)[2]}"


def _table_3(rows: list[Row], by: str = "micro") -> list[str]:
    measured = [row for row in rows if row["status"] == MEASURED]
    if not measured:
        return [NOTHING_YET]
    header, lines = showing.table(measured)
    shown = [k for k, name in enumerate(header) if name not in LEFT_OUT]
    chosen = [[*(line[k] for k in shown), f"{row['C']:g}"] for line, row in zip(lines, measured, strict=True)]
    table = markdown_table(Table([*(header[k] for k in shown), "C"], chosen))
    return [table, *showing.lasting_remarks(measured, by)]


def _table_4(rows: list[Row]) -> list[str]:
    header, lines = times.ratio_table(rows)
    return [markdown_table(Table(header, lines)), f"{times.REMARK}."] if lines else [NOTHING_YET]


def _verdicts(rows: list[Row]) -> list[str]:
    judged = [row for row in rows if row["status"] == MEASURED]
    if not judged:
        return [NOTHING_YET]
    return [markdown_table(Table(*verdicts_showing.table(judged))), *verdicts_showing.remarks(judged)]


def _uninformative(rows: list[Row]) -> list[str]:
    measured = [row for row in rows if row["status"] == MEASURED]
    if not measured:
        return [NOTHING_YET]
    return [markdown_table(Table(*uninformative_showing.table(measured))), *uninformative_showing.remarks(measured)]


def main() -> None:
    text = filled(PAGE.read_text(encoding="utf-8"))
    with open_for_writing(PAGE) as file:
        file.write(text.encode())
    print("written: docs/guides/results.md")


if __name__ == "__main__":
    main()
