"""``cladist taxonomy``: the shape of a taxonomy file, a drawing of it, and its conversion to another format."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cladist.cli.options import Debug, Json, Quiet
from cladist.errors import TaxonomyError

EXAMPLE = "Example: [bold]cladist taxonomy tree.csv --convert tree.json[/bold]"


class TaxonomyFormat(StrEnum):
    """The formats a taxonomy file can have."""

    edges = "edges"
    paths = "paths"
    csv = "csv"
    tsv = "tsv"
    json = "json"
    indented = "indented"
    rcv1 = "rcv1"


def shape(tree: Any) -> dict[str, Any]:
    """Return what a taxonomy looks like, in numbers.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> found = shape(Taxonomy.from_paths(["sport/tennis/doubles", "art"]))
    >>> found["kind"], found["nodes_by_level"], found["single_child_nodes"]
    ('forest', [2, 1, 1], 2)
    """
    return {
        "kind": tree.kind,
        "nodes": tree.n_nodes,
        "leaves": len(tree.leaves),
        "roots": len(tree.roots),
        "depth": int(tree.depth.max()),
        "nodes_by_level": [len(ids) for ids in tree.levels],
        "single_child_nodes": int((tree.n_children == 1).sum()),
    }


def convert(tree: Any, out: Path, *, sep: str = "/") -> None:
    """Write a taxonomy in the format that the ending names."""
    from cladist.cli.writing import check_target

    ending = out.suffix.lower().removeprefix(".")
    if ending not in list(TaxonomyFormat):
        endings = ", ".join(f".{kind}" for kind in TaxonomyFormat)
        raise TaxonomyError(f"{out}: the ending says what to convert to, and must be one of {endings}.")
    check_target(out)
    tree.write(out, format=ending, sep=sep)


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Edges, one path a line, CSV, TSV or JSON.")],
    convert_to: Annotated[
        Path | None,
        typer.Option(
            "--convert", metavar="OUT", help="Write it to this file; its ending names the format, as in .csv."
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        TaxonomyFormat | None, typer.Option("--format", help="FILE's format, if it is not recognised.")
    ] = None,
    path_sep: Annotated[
        str, typer.Option("--path-sep", metavar="TEXT", help="What separates the parts of a path.")
    ] = "/",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show the shape of a taxonomy, draw it, convert it."""
    from cladist.cli.terminal import Terminal
    from cladist.taxonomy import Taxonomy

    terminal = Terminal(json, quiet)
    tree = Taxonomy.read(file, format=format and format.value, sep=path_sep)
    if convert_to is not None:
        convert(tree, convert_to, sep=path_sep)
        terminal.remark(f"Written to {convert_to}")
    found = shape(tree)
    terminal.answer(found | ({"converted_to": str(convert_to)} if convert_to else {}))
    terminal.show(*_described(tree, found))


def _described(tree: Any, found: dict[str, Any]) -> list[Any]:
    from rich.text import Text

    from cladist.cli.terminal import table
    from cladist.plots import Table

    roots = f" with {found['roots']:,} roots" if found["kind"] == "forest" else ""
    lines = [
        f"A {found['kind']}{roots}: {found['nodes']:,} nodes, {found['leaves']:,} leaves, depth {found['depth']}.",
        f"Inner nodes with a single child: {found['single_child_nodes']:,}.",
    ]
    levels = [[str(k), f"{n:,}"] for k, n in enumerate(found["nodes_by_level"])]
    return ["\n".join(lines), table(Table(["level", "nodes"], levels)), Text(str(tree))]
