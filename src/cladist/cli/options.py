"""Arguments and options that several commands share; each means the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

OUTPUT = "Output"
DATA = "Data"

Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON, and nothing else.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars, no remarks.", rich_help_panel=OUTPUT)]
Debug = Annotated[bool, typer.Option("--debug", help="If it fails, show the traceback.", rich_help_panel=OUTPUT)]


class DataFormat(StrEnum):
    """The files that can be read."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    arrow = "arrow"
    svmlight = "svmlight"
    arff = "arff"
    lshtc = "lshtc"


class InputFormat(StrEnum):
    """The files that can be predicted for."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    arrow = "arrow"
    svmlight = "svmlight"
    arff = "arff"
    lshtc = "lshtc"
    lines = "lines"


DATA_HELP = "A table (.csv, .tsv, .jsonl, .parquet, .arrow), or numbers in svmlight (.svm), ARFF (.arff) or LSHTC."

Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="The column with the text; repeat it for each column, and their texts are joined.",
        rich_help_panel=DATA,
    ),
]
Label = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="The column with the label.", rich_help_panel=DATA),
]
LabelSep = Annotated[
    str | None,
    typer.Option(
        "--label-sep", metavar="TEXT", help="What separates several labels in one field.", rich_help_panel=DATA
    ),
]
PathSep = Annotated[
    str | None,
    typer.Option(
        "--path-sep", metavar="TEXT", help="Labels are paths, whose parts this separates.", rich_help_panel=DATA
    ),
]
Format = Annotated[
    DataFormat | None,
    typer.Option("--format", help="The data's format, if its ending does not tell.", rich_help_panel=DATA),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Whether the features of an svmlight or ARFF file are counted from 0 or from 1.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder that [bold]cladist train[/bold] wrote.")
]
