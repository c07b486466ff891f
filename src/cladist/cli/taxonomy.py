"""``cladist taxonomy``: the shape of a taxonomy, what in it looks odd, drawings of it, other formats."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladist.cli.options import DATA, DATA_HELP, DataFormat, Debug, Json, Label, LabelSep, Quiet
from cladist.cli.taxonomy_conversion import check_convertible, convert, reshaped, titles_left_out
from cladist.errors import ParameterError

if TYPE_CHECKING:
    from cladist.cli.model_input import DataSource

EXAMPLE = (
    "Examples: [bold]cladist taxonomy tree.csv --svg tree.svg[/bold]"
    "\n\n[bold]cladist taxonomy tree.csv --data train.csv --label category[/bold]"
    "\n\n[bold]cladist taxonomy tree.csv --convert tree.json.gz[/bold]"
    "\n\n[bold]zcat tree.txt.gz | cladist taxonomy - --format edges[/bold]"
)


class TaxonomyInput(StrEnum):
    """The files a taxonomy can be in: those, the header of an ARFF file, and LSHTC's, where a node is its number."""

    edges = "edges"
    paths = "paths"
    csv = "csv"
    tsv = "tsv"
    json = "json"
    indented = "indented"
    rcv1 = "rcv1"
    mesh = "mesh"
    arff = "arff"
    lshtc = "lshtc"


def command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Edges, paths, CSV, TSV, JSON, indented text, RCV1's, MeSH's, or ARFF; - for standard input.",
        ),
    ],
    convert_to: Annotated[
        Path | None,
        typer.Option(
            "--convert",
            metavar="OUT",
            help="Write it to this file; its ending names the format, as in .csv or .csv.gz.",
        ),
    ] = None,
    flatten: Annotated[
        bool, typer.Option("--flatten", help="Convert the star of its nodes: without what is below what.")
    ] = False,
    spanning_forest: Annotated[
        bool, typer.Option("--spanning-forest", help="Convert it with one parent a node, the deepest it has.")
    ] = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write a drawing of it to this file.")
    ] = None,
    drop_cycles: Annotated[
        bool, typer.Option("--drop-cycles", help="Leave out edges that close cycles, and list them.")
    ] = False,
    format: Annotated[  # noqa: A002
        TaxonomyInput | None, typer.Option("--format", help="FILE's format, if it is not recognised.")
    ] = None,
    path_sep: Annotated[
        str | None,
        typer.Option(
            "--path-sep",
            metavar="TEXT",
            help="What separates the parts of a path, in FILE and in labels that are paths.",
            show_default="/ in FILE",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="FILE", help=f"Compare it with labelled data. {DATA_HELP}", rich_help_panel=DATA
        ),
    ] = None,
    label: Label = None,
    label_sep: LabelSep = None,
    data_format: Annotated[
        DataFormat | None,
        typer.Option("--data-format", help="The data's format, if its ending does not tell.", rich_help_panel=DATA),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show the shape of a taxonomy and what in it looks odd, draw it, convert it."""
    from cladist.cli import taxonomy_output as showing
    from cladist.cli.model_input import DataSource
    from cladist.cli.output_files import check_target, write_text
    from cladist.cli.terminal import Terminal

    if path_sep == "":
        raise ParameterError("--path-sep must not be empty; leave it out if nothing is separated.")
    if file == data == "-":
        raise ParameterError("FILE and --data are both standard input; name a file for one of them.")
    columns = (label, label_sep, path_sep)
    source = None if data is None else DataSource(data, data_format and data_format.value, (), *columns, labelled=True)
    _check_data(source, {"--label": label, "--label-sep": label_sep, "--data-format": data_format})
    check_convertible(convert_to, flatten=flatten, spanning_forest=spanning_forest)
    check_target(convert_to, inputs=[file, data])
    check_target(svg, inputs=[file, data], outputs=[convert_to])
    terminal = Terminal(json, quiet)
    with terminal.bars():
        taxonomy, found, covered, unknown = _inspected(file, source, format and format.value, path_sep, drop_cycles)
    drawing = _drawn(taxonomy, file, covered) if svg is not None else ""
    values = showing.as_values(found)
    if source is not None and covered is not None:
        values["data"] = showing.data_values(covered, unknown)
    if convert_to is not None:
        shape = reshaped(taxonomy, flatten=flatten, spanning_forest=spanning_forest)
        n_lost = convert(shape, convert_to, sep=path_sep or "/")
        values["converted_to"] = str(convert_to)
        terminal.remark(f"Written to {convert_to}", *([titles_left_out(n_lost, convert_to)] if n_lost else []))
    if svg is not None:
        write_text(svg, drawing)
        values["svg"] = str(svg)
        terminal.remark(f"The drawing is in {svg}")
    terminal.answer(values)
    terminal.show(*_shown(taxonomy, found, covered, unknown, source))


def _check_data(source: DataSource | None, given: dict[str, Any]) -> None:
    """Raise a `ParameterError` if options about data lack it, or do not suit it."""
    if source is not None:
        source.check_ending()
        source.check_columns(text=False)
        return
    for option, value in given.items():
        if value is not None:
            raise ParameterError(f"{option} is about labelled data; name its file with --data FILE.")


def _inspected(
    file: str,
    source: DataSource | None,
    kind: str | None,
    path_sep: str | None,
    drop_cycles: bool,
) -> tuple[Any, Any, Any, Any]:
    """Return the taxonomy, what is found in it, and what data make of it."""
    from cladist import progress
    from cladist.cli.taxonomy_input import read_taxonomy
    from cladist.taxonomy.inspection import inspect

    # Reading a file tells how far it is, and building the taxonomy goes on after its last byte.
    with progress.task(f"Reading {_called(file)}"):
        taxonomy = read_taxonomy(
            sys.stdin.buffer if file == "-" else file,
            format=kind,
            sep=path_sep or "/",
            drop_cycles=drop_cycles,
            advice="leave {} out with --drop-cycles",
        )
    if source is None:
        return taxonomy, inspect(taxonomy), None, ()
    from cladist.cli.taxonomy_data import compare

    covered, unknown = compare(taxonomy, source)
    return taxonomy, inspect(taxonomy), covered, unknown


def _called(file: str) -> str:
    """Return what progress and drawings call the file."""
    return "standard input" if file == "-" else Path(file).name


def _drawn(taxonomy: Any, file: str, covered: Any) -> str:
    from cladist.report.taxonomy_drawing import taxonomy_drawing

    return taxonomy_drawing(taxonomy, title=_called(file), rows=None if covered is None else covered.rows_below)


def _shown(taxonomy: Any, found: Any, covered: Any, unknown: Any, source: DataSource | None) -> list[Any]:
    from rich.text import Text

    from cladist.cli import taxonomy_output as showing
    from cladist.cli.terminal import table

    odd = list(showing.remarks(found)) or ["Nothing in it looks odd."]
    parts: list[Any] = [showing.summary(found), table(showing.level_table(found, covered)), *odd]
    if source is not None and covered is not None:
        parts += ["", *showing.data_remarks(covered, unknown, source.name)]
    return [*parts, "", Text(str(taxonomy))]
