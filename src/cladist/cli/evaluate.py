"""``cladist evaluate``: every metric of a model on labelled rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladist.cli.options import (
    DATA_HELP,
    Debug,
    Format,
    Json,
    Label,
    LabelSep,
    ModelArgument,
    PathSep,
    Quiet,
    Text,
    ZeroBased,
)

if TYPE_CHECKING:
    from cladist.cli.model_input import DataSource
    from cladist.metrics import Report

EXAMPLE = "Example: [bold]cladist evaluate model test.csv --html report.html[/bold]"


def evaluate(model: Any, source: DataSource, *, remark: Callable[[str], None] = lambda _: None) -> Report:
    """Predict for labelled rows and return the report; rows are predicted in pieces, counts added up.

    `remark` is told what of the data the model does not know.
    """
    from cladist import progress
    from cladist.cli.model_input import learner_of, read_labelled, slices
    from cladist.metrics import Report, count

    taxonomy = learner_of(model).taxonomy_
    data = read_labelled(source, taxonomy=taxonomy, model=model, remark=remark)
    with progress.task("Predicting", len(data.y)) as running:
        parts = []
        for X, y in zip(slices(data.X), slices(data.y), strict=True):
            parts.append(count(y, model.predict(X), taxonomy))
            running.advance(len(y))
    return Report(reduce(add, parts))


def command(
    model: ModelArgument,
    data: Annotated[Path, typer.Argument(metavar="DATA", help=DATA_HELP)],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write the report as a web page.")
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
    """Judge a model on labelled rows, by every metric.

    Columns and separators are those of training unless options say otherwise.
    """
    from cladist.cli.model_input import DataSource
    from cladist.cli.model_metadata import check_fits, completed, open_model
    from cladist.cli.output_files import check_target, write_text
    from cladist.cli.terminal import Terminal, table
    from cladist.report import html_report, report_tables

    fitted, notes = open_model(model)
    columns = (tuple(text or ()), label, label_sep, path_sep)
    given = DataSource(str(data), format and format.value, *columns, zero_based=zero_based, labelled=True)
    given.check_ending()
    source = completed(given, notes)
    check_fits(fitted, notes, source, model)
    source.check_columns()
    check_target(html, inputs=[data, model])
    terminal = Terminal(json, quiet)
    with terminal.bars():
        report = evaluate(fitted, source, remark=terminal.remark)
    if html is not None:
        write_text(html, html_report(report, title=f"{model.resolve().name} on {Path(source.name).name}"))
        terminal.remark(f"The report is in {html}")
    terminal.answer(report.to_dict())
    taxonomy = report.counts.taxonomy
    heading = f"{report.counts.n_rows:,} rows, {taxonomy.n_nodes:,} nodes ({taxonomy.kind})"
    terminal.show(heading, *map(table, report_tables(report)))
