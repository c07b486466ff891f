"""``cladist apply``: accepted edits of labels and taxonomy, applied to a table."""

from __future__ import annotations

import csv
import io
import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cladist.cli import output
from cladist.cli.train import TAXONOMY_HELP
from cladist.errors import DatasetError, ParameterError

if TYPE_CHECKING:
    from cladist.cli.input import DataSource
    from cladist.evaluation.edits import Applied
    from cladist.taxonomy import Taxonomy

EXAMPLE = (
    "Example: [bold]cladist apply edits.csv shop.csv --taxonomy tree.csv --label category --out fixed.csv "
    "--out-taxonomy fixed-tree.csv[/bold]"
)
EDITS_HELP = "The file of [bold]cladist doctor --fix[/bold], with yes in the first column of the right edits."
SUFFIXES = {".csv": ",", ".tsv": "\t", ".jsonl": ""}


def command(
    terminal: output.Terminal,
    edits: Annotated[Path, output.argument("EDITS", EDITS_HELP)],
    data: output.DataFile,
    out: Annotated[Path | None, output.option("--out -o FILE", "The table to write: .csv, .tsv or .jsonl.")] = None,
    taxonomy: Annotated[Path | None, output.option("--taxonomy FILE", TAXONOMY_HELP)] = None,
    out_taxonomy: Annotated[
        Path | None, output.option("--out-taxonomy FILE", "The taxonomy to write, if edits change it.")
    ] = None,
    label: output.Label = None,
    label_sep: output.LabelSep = None,
    path_sep: output.PathSep = None,
    format: output.Format = None,  # noqa: A002
    query: output.Query = None,
) -> None:
    """Apply accepted edits to a table and its taxonomy, and write both anew.

    All other columns stay. Labels that are paths follow nodes that moved.
    """
    output.check_inputs(edits, data, taxonomy)
    if out is None or out.suffix.lower() not in SUFFIXES:
        raise ParameterError(f"Name the table to write with --out FILE, ending in {', '.join(SUFFIXES)}.")
    if label is None:
        raise ParameterError("Name the column of the labels with --label COLUMN.")
    output.check_target(out, edits, data, taxonomy)
    output.check_target(out_taxonomy, edits, data, taxonomy, out)
    from cladist.cli.input import DataSource
    from cladist.evaluation.edits import read_edits

    source = DataSource(data, format and format.value, (), label, label_sep, path_sep, labelled=True, query=query)
    if source.kind != "table":
        raise ParameterError(f"{source.name} is read as {source.kind}; edits are applied to tables.")
    accepted = read_edits(edits)
    with terminal.bars():
        records, tree, result = edited(source, accepted, taxonomy)
    if out_taxonomy is None and taxonomy is not None and result.taxonomy != tree:
        raise ParameterError("Edits change the taxonomy; name the file to write it to with --out-taxonomy FILE.")
    output.write_text(out, written(records, source, result, tree, out.suffix.lower()))
    if out_taxonomy is not None:
        from cladist.cli.taxonomy import convert

        convert(result.taxonomy, out_taxonomy, sep=path_sep or "/")
    answer = {"edits": result.n_edits, "rows": len(result.rows), "out": str(out)}
    terminal.answer(answer | ({} if out_taxonomy is None else {"taxonomy": str(out_taxonomy)}))
    terminal.plain(f"{result.n_edits:,} edits were applied; {len(result.rows):,} rows are in {out}")


def edited(source: DataSource, edits: Any, taxonomy: Path | None) -> tuple[list[dict[str, Any]], Taxonomy, Applied]:
    """Return the records of a table, its taxonomy, and labels and taxonomy after the edits."""
    from cladist.cli.input import read_tree, with_sets
    from cladist.datasets import read_table
    from cladist.datasets.formats.tables.records import read_records
    from cladist.evaluation.edits import apply_edits
    from cladist.labels import encode

    tree = None if taxonomy is None else read_tree(taxonomy, source)
    options: dict[str, Any] = {"format": source.format, "query": source.query}
    data = with_sets(
        read_table(
            source.stream,
            text=source.label or "",
            label=source.label or "",
            label_sep=source.label_sep,
            path_sep=source.path_sep,
            taxonomy=tree,
            **options,
        )
    )
    labels = encode(data.y, data.taxonomy).labels
    records = [dict(record) for _, record in read_records(source.stream, columns=(), **options)]
    if len(records) != len(labels):
        raise DatasetError(f"{source.name}: {len(records)} records were read, and {len(labels)} labels.")
    return records, labels.taxonomy, apply_edits(edits, labels.frontier_names(), labels.taxonomy)


def written(records: list[dict[str, Any]], source: DataSource, result: Applied, tree: Taxonomy, suffix: str) -> str:
    """Return the rows that are kept, with their labels after the edits, as the text of a table."""
    label, parts = source.label or "", dict(zip(tree.names, tree.parts or tree.names, strict=True))
    before = [] if source.path_sep is None else [records[i][label] for i in result.rows]

    def spelt(name: str) -> str:
        if source.path_sep is None:
            return name
        sep = next(
            (s for s in (f" {source.path_sep} ", source.path_sep) if any(s in str(v) for v in before)), source.path_sep
        )
        return sep.join(parts[node] for node in result.taxonomy.shortest_path(name))

    rows = []
    for i, names in zip(result.rows, result.labels, strict=True):
        texts = sorted(map(spelt, names))
        value: Any = texts if isinstance(records[i][label], list) else (source.label_sep or " ").join(texts)
        rows.append(records[i] | {label: value})
    text = io.StringIO()
    if suffix == ".jsonl":
        text.writelines(json_format.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
        return text.getvalue()
    writer = csv.DictWriter(text, list(records[0]), delimiter=SUFFIXES[suffix], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
