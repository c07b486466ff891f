"""``cladist train``: from a table of texts, or numbers, to a model in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cladist.cli.options import DATA, DATA_HELP, Debug, Format, Json, Label, LabelSep, PathSep, Quiet, Text, ZeroBased
from cladist.errors import ParameterError

if TYPE_CHECKING:
    from cladist.cli.train_model import Trained

EXAMPLE = (
    "Example: [bold]cladist train train.csv --taxonomy tree.csv --text title --label category --out model[/bold]"
    "\n\nA config file holds the same names: [bold]method = 'hieron'[/bold], [bold]text = \\['title', 'body'][/bold], "
    "and the parameters of the method under [bold]\\[param][/bold]; what the command line says wins."
)


def command(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=DATA_HELP)],
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="MODEL", help="The folder to write.")] = None,
    taxonomy: Annotated[
        Path | None,
        typer.Option(
            "--taxonomy", metavar="FILE", help="The tree of the labels; not needed if they are paths, or DATA is ARFF."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="One of those that [bold]cladist methods[/bold] lists.",
            show_default="top-down",
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="A parameter of the method; may be given several times."),
    ] = None,
    hashing: Annotated[
        bool | None,
        typer.Option(
            "--hashing/--no-hashing",
            help="Hash words instead of keeping a vocabulary.",
            rich_help_panel=DATA,
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="A TOML file with these options.")
    ] = None,
    text: Text = None,
    label: Label = None,
    label_sep: LabelSep = None,
    path_sep: PathSep = None,
    format: Format = None,  # noqa: A002
    zero_based: ZeroBased = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train a model on a table of texts or on a file of numbers."""
    from cladist.cli.model_input import DataSource
    from cladist.cli.parameters import parse_parameters
    from cladist.cli.terminal import Terminal
    from cladist.cli.train_config import merged
    from cladist.cli.train_model import train

    given = {
        "out": out, "taxonomy": taxonomy, "method": method, "param": parse_parameters(param or []),
        "hashing": hashing, "text": text, "label": label, "label_sep": label_sep, "path_sep": path_sep,
        "format": format and format.value, "zero_based": zero_based,
    }  # fmt: skip
    options = merged(given, config)
    if options["out"] is None:
        raise ParameterError("Name the folder to write the model to with --out MODEL.")
    columns = ("format", "label", "label_sep", "path_sep")
    source = DataSource(
        str(data), text=tuple(options["text"] or ()), zero_based=options["zero_based"], labelled=True,
        **{name: options[name] for name in columns},
    )  # fmt: skip
    terminal = Terminal(json, quiet)
    with terminal.bars():
        done = train(
            source,
            Path(options["out"]),
            taxonomy=options["taxonomy"],
            method=options["method"] or "top-down",
            parameters=options["param"],
            hashing=bool(options["hashing"]),
            remark=terminal.remark,
        )
    terminal.answer(done.as_answer())
    if not quiet:
        terminal.plain(_summary(done))


def _summary(done: Trained) -> str:
    chosen = "" if done.C is None else f"C={done.C:g} was chosen by cross-validation.\n"
    return (
        f"Trained {done.method} on {done.rows:,} rows with {done.features:,} features in {done.seconds:.1f} s: "
        f"{done.nodes:,} nodes, {done.classes:,} classes that can be predicted.\n{chosen}The model is in {done.model}"
    )
