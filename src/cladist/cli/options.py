"""Arguments and options shared by several commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

OUTPUT, DATA = "Output", "Data"  # panels of the help
DATA_HELP = "A table (.csv, .tsv, .jsonl, .parquet, .arrow), or numbers in svmlight (.svm), ARFF (.arff) or LSHTC."

DataFormat = StrEnum("DataFormat", "csv tsv jsonl parquet arrow svmlight arff lshtc")
InputFormat = StrEnum("InputFormat", "csv tsv jsonl parquet arrow svmlight arff lshtc lines")


def argument(metavar: str, text: str) -> Any:
    """Return a positional argument for a command's signature."""
    return typer.Argument(metavar=metavar, help=text)


def option(usage: str, text: str, panel: str | None = None, **settings: Any) -> Any:
    """Return an option for a command's signature; `usage` holds its flags and its value, as in "--out -o FILE"."""
    flags = [word for word in usage.split() if word.startswith("-")]
    values = [word for word in usage.split() if not word.startswith("-")]
    return typer.Option(*flags, metavar=values[0] if values else None, help=text, rich_help_panel=panel, **settings)


Json = Annotated[bool, option("--json", "Print the result as JSON, and nothing else.", OUTPUT)]
Quiet = Annotated[bool, option("--quiet -q", "Print no progress bars and no notes.", OUTPUT)]
Debug = Annotated[bool, option("--debug", "Show the traceback of a failure.", OUTPUT)]

Text = Annotated[
    list[str] | None,
    option("--text COLUMN", "The column with the text; repeat it to join the texts of several columns.", DATA),
]
Label = Annotated[str | None, option("--label COLUMN", "The column with the label.", DATA)]
LabelSep = Annotated[str | None, option("--label-sep TEXT", "The separator of several labels in one field.", DATA)]
PathSep = Annotated[str | None, option("--path-sep TEXT", "The separator of path parts, if labels are paths.", DATA)]
FORMAT_HELP = "The format of the data, if not inferable from the file extension."
Format = Annotated[DataFormat | None, option("--format", FORMAT_HELP, DATA)]
ZeroBased = Annotated[
    bool | None,
    option(
        "--zero-based/--one-based",
        "Whether the feature indices of an svmlight or ARFF file start at 0 or at 1.",
        DATA,
        show_default=False,
    ),
]
ModelArgument = Annotated[Path, argument("MODEL", "The model folder written by [bold]cladist train[/bold].")]
