"""``cladist migrate``: the rows of a table, or a saved model, for a new version of their taxonomy."""

from __future__ import annotations

import codecs
import csv
import io
import json as json_format
from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cladist.cli import output
from cladist.errors import DatasetError, ParameterError, quoted
from cladist.files import data_suffix, open_for_writing

if TYPE_CHECKING:
    from cladist.cli.input import DataSource
    from cladist.evaluation.migration import Migration, Relabelled, Row
    from cladist.evaluation.migration_report import Tally, Task
    from cladist.taxonomy import Crosswalk, Taxonomy

EXAMPLE = (
    "Examples: [bold]cladist taxonomy old.csv --diff new.csv --out crosswalk.csv[/bold]"
    "\n\n[bold]cladist migrate data.csv --text title --label code --crosswalk crosswalk.csv --to new.csv "
    "--out migrated.csv --worklist check.csv[/bold]"
    "\n\n[bold]cladist migrate data.csv --text title --label code --crosswalk crosswalk.csv --to new.csv "
    "--checked check.csv --out migrated.csv[/bold]"
    "\n\n[bold]cladist migrate model --crosswalk crosswalk.csv --to new.csv --out new-model[/bold]"
)
Unknown = StrEnum("Unknown", "error open")
SUFFIXES = {".csv": ",", ".tsv": "\t", ".jsonl": ""}
SURE = 0.95
COLUMNS = ("new_label", "status", "confidence", "candidates")
WORK_COLUMNS = ("new_label", "row", "old_label", "candidates", "text", "why")
SEP = ";"

WALK = "Crosswalk"
WORKLIST_SIZE = 200
OF_MODELS = "Or the folder of a model."
OUT_HELP = "The table to write: .csv, .tsv or .jsonl; for a model, the folder of the new one."
WALK_HELP = "The crosswalk: columns old and new, a correspondence table, SKOS mappings or an OBO file."
FROM_HELP = "The old taxonomy; without --crosswalk, the one that is proposed between the two is used."
TO_HELP = "The new taxonomy; its titles, descriptions and synonyms help to tell new labels apart."
COLUMN_HELP = "The column of the {} codes in --crosswalk, if its header does not tell."
KNOWN_HELP = "The column with the new label, in rows that have one already."
CHECKED_HELP = "A worklist in which people have filled in the column new_label."
SURE_HELP = "How often decisions of models have to be right; other rows are left open."
UNKNOWN_HELP = "Whether a label that the crosswalk does not have is an error, or left open."
SIZE_HELP = f"The rows of the worklist; {WORKLIST_SIZE} by default."
WORK_HELP = "Write the rows that people should label first to this CSV file."


def command(
    terminal: output.Terminal,
    data: Annotated[str, output.argument("DATA", f"{output.DATA_HELP} {OF_MODELS}")],
    out: Annotated[Path | None, output.option("--out -o PATH", OUT_HELP)] = None,
    crosswalk: Annotated[Path | None, output.option("--crosswalk FILE", WALK_HELP, WALK)] = None,
    old: Annotated[Path | None, output.option("--from OLD", FROM_HELP, WALK)] = None,
    new: Annotated[Path | None, output.option("--to --taxonomy NEW", TO_HELP, WALK)] = None,
    old_column: Annotated[str | None, output.option("--old-column NAME", COLUMN_HELP.format("old"), WALK)] = None,
    new_column: Annotated[str | None, output.option("--new-column NAME", COLUMN_HELP.format("new"), WALK)] = None,
    known: Annotated[str | None, output.option("--known COLUMN", KNOWN_HELP, output.DATA)] = None,
    checked: Annotated[Path | None, output.option("--checked FILE", CHECKED_HELP)] = None,
    sure: Annotated[float, output.option("--sure P", SURE_HELP, min=0.5, max=0.999)] = SURE,
    unknown: Annotated[Unknown, output.option("--unknown", UNKNOWN_HELP)] = Unknown.error,
    worklist: Annotated[Path | None, output.option("--worklist FILE", WORK_HELP)] = None,
    worklist_size: Annotated[int | None, output.option("--worklist-size N", SIZE_HELP, min=1)] = None,
    report: Annotated[Path | None, output.option("--report FILE", "Write the report to this JSON file.")] = None,
    seed: Annotated[int, output.option("--seed N", "Another number draws other rows.", min=0)] = 0,
    text: output.Texts = None,
    label: output.Label = None,
    path_sep: output.PathSep = None,
    format: output.Format = None,  # noqa: A002
    query: output.Query = None,
) -> None:
    """Relabel the rows of a table, or carry a model over, for a new taxonomy.

    Rows whose label has one counterpart get it. Where a label was split,
    models of the texts choose, fitted to all rows and to the words of the new
    nodes; a row is decided where rows that people have checked show that such
    decisions are right often enough, and left open elsewhere, with its
    candidates, best first. --worklist names the rows to check first; fill in
    their new labels, and give the file back with --checked.

    A model keeps what it has learnt about labels that stay, without rows: its
    folder in place of DATA, and another one as --out.
    """
    inputs = (data, crosswalk, old, new, checked)
    output.check_inputs(*inputs)
    if Path(data).is_dir():
        from cladist.cli.migrate_model import run

        unused: dict[str, Any] = {
            "--from": old,
            "--known": known,
            "--checked": checked,
            "--worklist": worklist,
            "--worklist-size": worklist_size,
            "--text": text,
        }
        unused |= {"--label": label, "--path-sep": path_sep, "--format": format, "--query": query, "--seed": seed}
        unused |= {"--sure": sure != SURE, "--unknown": unknown is Unknown.open}
        _check_columns(crosswalk, (old_column, new_column))
        run(terminal, Path(data), out, (crosswalk, new, (old_column, new_column)), report, unused)
        return
    _check_options(data, out, crosswalk, old, new, label, (old_column, new_column))
    if worklist is None and worklist_size is not None:
        raise ParameterError("--worklist-size is the size of a worklist; name its file with --worklist FILE.")
    assert out is not None
    targets = [path for path in (out, worklist, report) if path is not None]
    for k, path in enumerate(targets):
        output.check_target(path, *inputs, *targets[:k])
    from cladist.cli.input import DataSource
    from cladist.evaluation.migration import Migration

    source = DataSource(
        data, format and format.value, tuple(text or ()), label, None, path_sep, labelled=True, query=query
    )
    source.check_extension()
    if source.kind != "table":
        raise ParameterError(f"{source.name} is read as {source.kind}; rows of tables are migrated.")
    with terminal.bars():
        walk = read_walk(crosswalk, old, new, (old_column, new_column), path_sep or "/")
        filled = {} if checked is None else read_checked(checked)
        rows = partial(read_rows, source, walk, known, filled)
        migration = Migration(walk, sure=sure, unknown=unknown.value, random_state=seed)
        migration.fit(lambda: (row for _, row in rows()))
        tally = write_rows(out, migration, rows(), source)
    values = tally.to_dict(migration) | {"out": str(out)}
    if worklist is not None:
        from cladist.evaluation.migration_report import worklist as find_tasks

        tasks = find_tasks(migration, worklist_size or WORKLIST_SIZE)
        output.write_text(worklist, format_worklist(tasks))
        values |= {"worklist": str(worklist), "worklist_rows": len(tasks)}
    if report is not None:
        output.write_text(report, json_format.dumps(values, indent=2, ensure_ascii=False) + "\n")
    terminal.answer(values)
    terminal.show(*describe(values))


def _check_options(
    data: str,
    out: Path | None,
    crosswalk: Path | None,
    old: Path | None,
    new: Path | None,
    label: str | None,
    columns: tuple[str | None, str | None],
) -> None:
    """Raise a `ParameterError` for options that do not go together."""
    if data == "-":
        raise ParameterError("DATA is read twice, so it must be a file, not standard input.")
    if out is None or data_suffix(out) not in SUFFIXES:
        raise ParameterError(f"Name the table to write with --out FILE, ending in {', '.join(SUFFIXES)}.")
    if label is None:
        raise ParameterError("Name the column of the old labels with --label COLUMN.")
    if crosswalk is None and (old is None or new is None):
        raise ParameterError(
            "Name the crosswalk with --crosswalk FILE, or both taxonomies with --from OLD and --to NEW."
        )
    _check_columns(crosswalk, columns)


def _check_columns(crosswalk: Path | None, columns: tuple[str | None, str | None]) -> None:
    if any(columns) and (crosswalk is None or not all(columns)):
        raise ParameterError("--old-column and --new-column go together, and name columns of --crosswalk FILE.")


def read_walk(
    crosswalk: Path | None, old: Path | None, new: Path | None, columns: tuple[str | None, str | None], sep: str
) -> Crosswalk:
    """Return the crosswalk of a file, or the one proposed between two taxonomies."""
    from cladist.cli.input import read_taxonomy
    from cladist.taxonomy import Crosswalk

    advice = "leave {} out of the file"
    before, after = (None if path is None else read_taxonomy(path, sep=sep, advice=advice) for path in (old, new))
    if crosswalk is None:
        assert before is not None
        assert after is not None
        return before.diff(after)
    walk = Crosswalk.read(crosswalk, old=before, new=after, columns=both(columns))
    return walk if before is None or after is None else walk.completed()


def both(columns: tuple[str | None, str | None]) -> tuple[str, str] | None:
    """Return the columns of a crosswalk, or None if its header is to tell."""
    return None if columns[0] is None or columns[1] is None else (columns[0], columns[1])


# ------------------------------------------------------------------ rows


def read_rows(
    source: DataSource, walk: Crosswalk, known: str | None, filled: dict[int, str]
) -> Iterator[tuple[dict[str, Any], Row]]:
    """Yield every record of the table, and its row."""
    from cladist.datasets.formats.tables.reader import join_text
    from cladist.datasets.formats.tables.records import check_column, label_text, read_records
    from cladist.evaluation.migration import Row

    tree = walk.old if source.path_sep else None
    if source.path_sep and walk.old is None:
        raise ParameterError("Labels that are paths need the old taxonomy; name it with --from OLD.")
    records = read_records(source.stream, format=source.format, columns=(), query=source.query)
    for number, (line, record) in enumerate(records, start=1):
        for column in (source.label or "", *source.text, *([known] if known else [])):
            if column not in record:
                check_column(source.stream, line, column, record)
        label = label_text(record[source.label or ""])
        if not label:
            raise DatasetError.at(source.name, line, source.label, "the row has no label.", kind="no-label")
        name = label.strip() if tree is None else _name_of(tree, label, source, line)
        given = filled.get(number) or (label_text(record[known]) if known else None) or None
        text = join_text(source.stream, line, record, source.text) if source.text else ""
        yield record, Row(text, name, given)


def _name_of(tree: Taxonomy, label: str, source: DataSource, line: int) -> str:
    from cladist.cli.input import find_node

    node = find_node(tree, label, source.path_sep)
    if node < 0:
        raise DatasetError.at(
            source.name, line, source.label, f"{quoted(label)} is not in the old taxonomy.", kind="unknown-label"
        )
    return tree.names[node]


def read_checked(path: Path) -> dict[int, str]:
    """Return the new labels that people have filled into a worklist, by row number."""
    from cladist.datasets.formats.tables.records import cell_text, read_records

    filled = {}
    for line, record in read_records(path, columns=("row", "new_label")):
        number, label = (cell_text(record[name]) or "" for name in ("row", "new_label"))
        if not label.strip():
            continue
        if not number.isascii() or not number.isdigit() or not 0 < int(number) < 2**53:
            raise DatasetError.at(str(path), line, "row", f"wanted the number of a row, got {quoted(number)}.")
        filled[int(number)] = label.strip()
    return filled


def write_rows(
    out: Path, migration: Migration, rows: Iterator[tuple[dict[str, Any], Row]], source: DataSource
) -> Tally:
    """Write every record with what became of its label; return the counts."""
    from collections import deque

    from cladist.evaluation.migration_report import Tally

    tally, waiting = Tally(), deque[tuple[dict[str, Any], Any]]()

    def labelled() -> Iterator[Row]:
        for record, row in rows:
            waiting.append((record, row))
            yield row

    new = migration.crosswalk.new
    with open_for_writing(out) as raw:
        file: Any = codecs.getwriter("utf-8")(raw)
        writer: Any = None
        for settled in migration.relabel(labelled()):
            record, row = waiting.popleft()
            tally.add(row.old, settled)
            answer = _answer(settled, None if source.path_sep is None else new, source.path_sep or "")
            names = COLUMNS if not set(COLUMNS) & set(record) else tuple(f"migrated_{name}" for name in COLUMNS)
            complete = record | dict(zip(names, answer, strict=True))
            if data_suffix(out) == ".jsonl":
                file.write(json_format.dumps(complete, ensure_ascii=False, default=str) + "\n")
                continue
            if writer is None:
                writer = csv.writer(file, delimiter=SUFFIXES[data_suffix(out)], lineterminator="\n")
                writer.writerow(complete)
            writer.writerow(["" if value is None else value for value in complete.values()])
    return tally


def _answer(settled: Relabelled, new: Taxonomy | None, sep: str) -> tuple[str | None, str, float, str]:
    """Return the cells of a row that are added to it."""

    def spelt(name: str) -> str:
        return name if new is None or name not in new else sep.join(new.shortest_path_parts(new.index(name)))

    label = None if settled.label is None else spelt(settled.label)
    candidates = SEP.join(map(spelt, settled.candidates)) if settled.label is None else ""
    return label, settled.status, round(settled.confidence, 4), candidates


def format_worklist(tasks: list[Task]) -> str:
    """Return the worklist as CSV; people fill in its first column."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(WORK_COLUMNS)
    for task in tasks:
        writer.writerow(["", task.row, task.old, SEP.join(task.candidates), task.text, task.why])
    return text.getvalue()


# ------------------------------------------------------------------ the report

MOST_SHOWN = 12
MEANING = {
    "mapped": "the crosswalk names one new label",
    "known": "the new label was known",
    "decided": "a model chose, as sure as wanted",
    "open": "several new labels are possible",
    "retired": "the old label has no counterpart",
    "unknown": "the old label is not in the crosswalk",
}


def describe(values: dict[str, Any]) -> Iterator[Any]:
    """Yield the report for people."""
    rows = [
        [status, f"{count:,}", f"{count / max(1, values['rows']):.1%}", MEANING[status]]
        for status, count in sorted(values["statuses"].items(), key=lambda pair: -pair[1])
    ]
    yield output.table(["rows", "count", "share", "meaning"], rows)
    splits = values["splits"]
    if splits:
        shown = [
            [
                output.join_names(split["old"]),
                output.join_names(split["new"]),
                f"{split['rows']:,}",
                f"{split['checked']:,}",
                "" if split["right"] is None else f"{split['right']:.0%}",
                "" if split["settled"] is None else f"{split['settled']:.0%}",
                split["verdict"],
            ]
            for split in splits[:MOST_SHOWN]
        ]
        yield output.table(["split", "into", "rows", "checked", "right", "settled", "verdict"], shown)
    if len(splits) > MOST_SHOWN:
        yield f"… and {len(splits) - MOST_SHOWN:,} more splits; --report lists them all"
    yield _conclusion(values)


def _conclusion(values: dict[str, Any]) -> str:
    threshold, sure = values["threshold"], values["sure"]
    settled = f"{values['settled']:,} of {values['rows']:,} rows have a new label, in {values['out']}."
    if not values["splits"]:
        return settled
    if threshold is None:
        return f"{settled} No checked rows show that models are right {sure:.0%} of the time, so they decided none."
    right, bound = threshold["right_on_checked_rows"], threshold["lower_bound"]
    return (
        f"{settled} Models decided where their probability is {threshold['probability']:.2f} or more; of such checked "
        f"rows {right:.1%} were right, at least {bound:.1%} with 90% certainty."
    )
