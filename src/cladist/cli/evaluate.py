"""``cladist evaluate``: all metrics of a model on labelled rows."""

from __future__ import annotations

from enum import StrEnum
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cladist import progress
from cladist.cli import output

if TYPE_CHECKING:
    from cladist.cli.input import DataSource, Notify
    from cladist.labels import LabelMatrix
    from cladist.metrics import Report

EXAMPLE = (
    "Examples: [bold]cladist evaluate model test.csv --html report.html[/bold]"
    "\n\n[bold]cladist evaluate model test.csv --unknown wrong[/bold]"
)
Unknown = StrEnum("Unknown", "wrong skip error")
STORE_HELP = "Keep rows and predictions beside the model, where cladist serve finds them for the numbers of nodes."
UNKNOWN_HELP = "Labels that are not in the model's taxonomy: count them as wrong, skip them, or refuse the data."


def command(
    terminal: output.Terminal,
    model: output.ModelFolder,
    data: output.DataFile,
    html: Annotated[Path | None, output.option("--html FILE", "Also write the report as a web page.")] = None,
    store: Annotated[bool, output.option("--store", STORE_HELP)] = False,
    unknown: Annotated[Unknown, output.option("--unknown", UNKNOWN_HELP)] = Unknown.error,
    text: output.Texts = None,
    label: output.Label = None,
    label_sep: output.LabelSep = None,
    path_sep: output.PathSep = None,
    format: output.Format = None,  # noqa: A002
    zero_based: output.ZeroBased = None,
    query: output.Query = None,
) -> None:
    """Evaluate a model on labelled rows by all metrics.

    Columns and separators default to those of training.
    """
    output.check_inputs(data, model=model)
    from cladist.cli.input import DataSource, open_model, resolve

    fitted, notes = open_model(model)
    columns = (tuple(text or ()), label, label_sep, path_sep)
    option_source = DataSource(str(data), format and format.value, *columns, zero_based, labelled=True, query=query)
    source = resolve(option_source, fitted, notes, model)
    output.check_target(html, data, model)
    with terminal.bars():
        rows = read_rows(fitted, source, unknown=unknown.value, notify=terminal.note)
        report, predicted = evaluate_rows(fitted, rows)
        if html is not None:
            title = f"{model.resolve().name} on {Path(source.name).name}"
            output.write_text(html, page(fitted, rows, report, predicted, title=title))
    if html is not None:
        terminal.note(f"The report is in {html}")
    if store:
        from cladist.server.stored_evaluation import store_rows

        terminal.note(f"The predictions are kept in {store_rows(fitted, rows, model)}")
    terminal.answer(report.to_dict())
    taxonomy = report.counts.taxonomy
    heading = f"{report.counts.n_rows:,} rows, {taxonomy.n_nodes:,} nodes ({taxonomy.kind})"
    terminal.show(heading, *(output.table(*content) for content in report.tables()))


def evaluate(model: Any, source: DataSource, *, notify: Notify = lambda _: None) -> Report:
    """Return the report of a model's predictions for labelled rows.

    `notify` is called with notes about features that the model does not have.
    """
    return evaluate_rows(model, read_rows(model, source, notify=notify))[0]


def read_rows(model: Any, source: DataSource, *, unknown: str = "error", notify: Notify) -> Any:
    """Return the labelled rows as a Dataset; `unknown` says what to do with labels that the model's taxonomy lacks."""
    from cladist.cli.input import learner_of, read_labelled

    if unknown != "error":
        from cladist.cli.unknown_labels import read_with_unknown

        return read_with_unknown(source, model, unknown, notify)
    return read_labelled(source, taxonomy=learner_of(model).taxonomy_, model=model, notify=notify)


def evaluate_rows(model: Any, data: Any) -> tuple[Report, LabelMatrix]:
    """Return the report of a model's predictions, which are made in batches, and the predictions."""
    from cladist.cli.input import learner_of, slices
    from cladist.labels import LabelMatrix, encode
    from cladist.metrics import Report, count

    base = learner_of(model).taxonomy_
    taxonomy = data.y.taxonomy if isinstance(data.y, LabelMatrix) else base
    with progress.task("Predicting", len(data.y), unit="rows") as task:
        counts, parts = [], []
        for X, y in zip(slices(data.X), slices(data.y), strict=True):
            predictions = encode(model.predict(X), base).labels
            if taxonomy is not base:  # one that has more labels
                from cladist.cli.unknown_labels import lift

                predictions = lift(predictions, taxonomy)
            counts.append(count(y, predictions, taxonomy))
            parts.append(predictions)
            task.advance(len(y))
    return Report(reduce(add, counts)), LabelMatrix.from_parts(parts, taxonomy)


def page(model: Any, data: Any, report: Report, predicted: LabelMatrix, *, title: str) -> str:
    """Return the web page of an evaluation: where the model fails, with some of the rows and their words."""
    from cladist.labels import encode
    from cladist.report import find_errors, html_report
    from cladist.report.error_sections import sample_rows

    true = encode(data.y, predicted.taxonomy).labels
    errors = find_errors(true, predicted, predicted.taxonomy)
    is_text = getattr(data.X, "ndim", 1) == 1
    texts = (lambda row: str(data.X[row])) if is_text else (lambda row: f"row {row + 1}")
    words = words_of(model, data, true, predicted, sample_rows(errors)) if is_text else {}
    automation = automation_of(model, data)
    return html_report(report, title=title, automation=automation, errors=errors, texts=texts, words=words)


def words_of(
    model: Any, data: Any, true: LabelMatrix, predicted: LabelMatrix, rows: list[int]
) -> dict[int, dict[str, float]]:
    """Return what words add to the lead of the predicted label over the true one, for rows that have one of each.

    Models whose scores are no sums over words have none.
    """
    from dataclasses import replace

    from cladist.cli.input import learner_of
    from cladist.errors import CladistError
    from cladist.learners.text_explanation import explain

    known = set(learner_of(model).taxonomy_.names)
    labels = [labels[rows].frontier_names() for labels in (true, predicted)]
    chosen = [
        (row, t[0], p[0])
        for row, t, p in zip(rows, *labels, strict=True)
        if len(t) == len(p) == 1 and t[0] in known and p[0] in known
    ]
    if not chosen:
        return {}
    texts = [str(data.X[row]) for row, _, _ in chosen]
    try:
        against, leads = (explain(model, texts, nodes=[entry[k] for entry in chosen]) for k in (1, 2))
    except CladistError:
        return {}
    pairs = zip(chosen, leads, against, strict=True)
    return {row: replace(lead, runner_up=other.explanation).lead for (row, _, _), lead, other in pairs}


def automation_of(model: Any, data: Any) -> str:
    """Return the section of a web page on automation, or "" without calibrated probabilities of single labels."""
    from cladist.cli.decisions import LISTED
    from cladist.cli.input import learner_of
    from cladist.decisions import automation_curve
    from cladist.learners.out_of_fold import transformed
    from cladist.learners.probability_classifier import ProbabilityClassifier
    from cladist.report import automation_section, sample_paths

    learner = learner_of(model)
    if not isinstance(learner, ProbabilityClassifier) or learner.decodes_sets:
        return ""
    P = learner.predict_proba(transformed(model, data.X), top_k=LISTED)
    classes = [learner.taxonomy_.names[v] for v in learner.class_nodes_]
    taxonomy = getattr(data.y, "taxonomy", learner.taxonomy_)  # with more labels, if some are unknown to the model
    curve = automation_curve(P, data.y, taxonomy, classes=classes)
    is_text = getattr(data.X, "ndim", 1) == 1
    texts = data.X if is_text else [f"row {k}" for k in range(1, len(data.y) + 1)]
    return automation_section(curve, sample_paths(texts, P, data.y, taxonomy, classes))
