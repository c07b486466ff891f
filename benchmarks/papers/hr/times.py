"""Table 4: minutes published beside seconds measured, and what the hierarchy costs: HR over flat, both ways."""

from __future__ import annotations

from benchmarks.harness import NOTHING, Part
from benchmarks.papers.hr.methods import FLAT, METHODS
from benchmarks.papers.hr.showing import UNCERTAIN, name_of
from benchmarks.papers.published import Cell, read
from benchmarks.papers.rows import MEASURED, Row

TITLE = "Training time (Table 4)"
HEADER = ["data set, method", "published minutes", "seconds", "published HR / flat", "HR / flat", "gap", "data"]
REMARK = (
    "Minutes are the paper's, on a machine of 32 cores or a cluster of 64 × 8; seconds ours, of the fit alone, on one "
    "core. So only ratios can be compared: HR-SVM over SVM and HR-LR over LR, each with the C chosen for it. Gap: the "
    "relative duality gap at which a fit ends, for flat methods that of each class, for HR that of the whole"
)


def times(rows: list[Row], stored: list[Row]) -> Part:
    """Return the table of those of these rows that are measured; `stored` has the flat rows that ratios need."""
    measured = {(row["data"], row["method"]): row for row in stored if row["status"] == MEASURED}
    shown = [row for row in rows if row["status"] == MEASURED]
    remarks = [f"{REMARK}."]
    for row in shown:
        if doubt := minutes(row).uncertain:
            remarks.append(f"(!) {name_of(row)}: {doubt}")
    return Part(TITLE, list(HEADER), [_line(row, _flat(row, measured)) for row in shown], remarks)


def ratio_table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of the ratios alone, one line for each row that knows the tree and has a flat one."""
    measured = {(row["data"], row["method"]): row for row in rows if row["status"] == MEASURED}
    lines = []
    for row in measured.values():
        flat = _flat(row, measured)
        if flat is not None:
            published, found = ratios(row, flat)
            long, short = minutes(row).value, minutes(flat).value
            lines.append(
                [
                    f"{row['data']}, {row['method']} / {flat['method']}",
                    NOTHING if published is None else f"{long:g} / {short:g} = {published:.2f}",
                    NOTHING if found is None else f"{_seconds(row)} / {_seconds(flat)} = {found:.2f}",
                    f"{_gap(row)} / {_gap(flat)}",
                    row["kind"],
                ]
            )
    return ["data set, methods", "published minutes", "seconds", "gap", "data"], lines


def minutes(row: Row) -> Cell:
    """Return the published time of a row; a gap where there is none."""
    cells = read("hr").tables["table 4"].rows.get((row["data"],), {})
    return cells.get(row["method"], Cell(None))


def ratios(row: Row, flat: Row | None) -> tuple[float | None, float | None]:
    """Return how many times the flat time a row took, published and measured on one and the same machine."""
    if flat is None:
        return None, None
    long, short = minutes(row).value, minutes(flat).value
    published = long / short if long is not None and short else None
    alike = row["machine"] == flat["machine"] and flat["seconds"]["fit"] > 0
    return published, row["seconds"]["fit"] / flat["seconds"]["fit"] if alike else None


def _flat(row: Row, measured: dict[tuple[str, str], Row]) -> Row | None:
    """Return the flat row beside a row that knows the tree."""
    flat_of = {METHODS[method].title: METHODS[flat].title for method, flat in FLAT.items()}
    return measured.get((row["data"], flat_of.get(row["method"], "")))


def _line(row: Row, flat: Row | None) -> list[str]:
    printed = minutes(row)
    doubt = UNCERTAIN if printed.uncertain else ""
    published, found = ratios(row, flat)
    return [
        name_of(row),
        NOTHING if printed.value is None else f"{printed.value:g}{doubt}",
        _seconds(row),
        NOTHING if published is None else f"{published:.2f}",
        NOTHING if found is None else f"{found:.2f}",
        _gap(row),
        row["kind"],
    ]


def _seconds(row: Row) -> str:
    return f"{row['seconds']['fit']:.1f}"


def _gap(row: Row) -> str:
    return NOTHING if row.get("tol") is None else f"{row['tol']:g}"
