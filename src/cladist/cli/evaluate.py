"""``cladist evaluate``: all metrics of a model on labelled rows."""

from __future__ import annotations

from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cladist import progress
from cladist.cli import output

if TYPE_CHECKING:
    from cladist.cli.input import DataSource, Notify
    from cladist.metrics import Report

EXAMPLE = "Example: [bold]cladist evaluate model test.csv --html report.html[/bold]"


def command(
    terminal: output.Terminal,
    model: output.ModelFolder,
    data: output.DataFile,
    html: Annotated[Path | None, output.option("--html FILE", "Also write the report as a web page.")] = None,
    text: output.Texts = None,
    label: output.Label = None,
    label_sep: output.LabelSep = None,
    path_sep: output.PathSep = None,
    format: output.Format = None,  # noqa: A002
    zero_based: output.ZeroBased = None,
) -> None:
    """Evaluate a model on labelled rows by all metrics.

    Columns and separators default to those of training.
    """
    output.check_inputs(data, model=model)
    from cladist.cli.input import DataSource, open_model, resolve
    from cladist.report import html_report

    fitted, notes = open_model(model)
    columns = (tuple(text or ()), label, label_sep, path_sep)
    option_source = DataSource(str(data), format and format.value, *columns, zero_based, labelled=True)
    source = resolve(option_source, fitted, notes, model)
    output.check_target(html, data, model)
    with terminal.bars():
        report = evaluate(fitted, source, notify=terminal.note)
    if html is not None:
        output.write_text(html, html_report(report, title=f"{model.resolve().name} on {Path(source.name).name}"))
        terminal.note(f"The report is in {html}")
    terminal.answer(report.to_dict())
    taxonomy = report.counts.taxonomy
    heading = f"{report.counts.n_rows:,} rows, {taxonomy.n_nodes:,} nodes ({taxonomy.kind})"
    terminal.show(heading, *(output.table(*content) for content in report.tables()))


def evaluate(model: Any, source: DataSource, *, notify: Notify = lambda _: None) -> Report:
    """Return the report of a model's predictions for labelled rows, which are predicted in batches.

    `notify` is called with notes about features that the model does not have.
    """
    from cladist.cli.input import learner_of, read_labelled, slices
    from cladist.metrics import Report, count

    taxonomy = learner_of(model).taxonomy_
    data = read_labelled(source, taxonomy=taxonomy, model=model, notify=notify)
    with progress.task("Predicting", len(data.y)) as task:
        counts = []
        for X, y in zip(slices(data.X), slices(data.y), strict=True):
            counts.append(count(y, model.predict(X), taxonomy))
            task.advance(len(y))
    return Report(reduce(add, counts))
