"""``cladist suggest``: which unlabelled rows to label next, as tasks of annotation tools, and back."""

from __future__ import annotations

import csv
import io
import json as json_format
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from cladist.cli import output
from cladist.cli.predict import escape_formula
from cladist.errors import ParameterError

EXAMPLE = (
    "Examples: [bold]cladist suggest model new.csv --number 200 --to label-studio --out tasks.json[/bold]"
    "\n\n[bold]cladist suggest model export.json --collect --out labelled.csv[/bold]"
)
TO_HELP = "The form of the tasks: a table, JSON of Label Studio, or JSON lines of doccano."
CONFIG_HELP = "Also write the labelling configuration of Label Studio, with the taxonomy as choices."
COLLECT_HELP = "DATA is an export of Label Studio or doccano: write its labelled texts as a table to train on."
NUMBER_HELP = "How many rows to suggest."
DATA_HELP = f"{output.DATA_HELP} With --collect, an export of Label Studio or doccano."
To = StrEnum("To", ["csv", "label-studio", "doccano"])


def command(
    terminal: output.Terminal,
    model: output.ModelFolder,
    data: Annotated[str, output.argument("DATA", DATA_HELP)],
    number: Annotated[int, output.option("--number -n N", NUMBER_HELP, min=1)] = 100,
    out: Annotated[Path | None, output.option("--out -o FILE", "The file to write.", show_default="the screen")] = None,
    to: Annotated[To, output.option("--to", TO_HELP)] = To.csv,
    config: Annotated[Path | None, output.option("--label-config FILE", CONFIG_HELP)] = None,
    collect: Annotated[bool, output.option("--collect", COLLECT_HELP)] = False,
    label_sep: Annotated[
        str, output.option("--label-sep TEXT", "With --collect: the separator of several labels of a text.")
    ] = ";",
    text: output.Texts = None,
    format: output.Format = None,  # noqa: A002
    zero_based: output.ZeroBased = None,
    query: output.Query = None,
) -> None:
    """Suggest which unlabelled rows to label next.

    Rows are chosen that the model is unsure about, most where its best labels
    are far apart in the taxonomy, and that are unlike each other. Tasks carry
    the most probable label as a prediction.
    """
    output.check_inputs(data, model=model)
    output.check_target(out, data, model)
    output.check_target(config, data, model, out)
    from cladist.cli.input import DataSource, learner_of, open_model, resolve
    from cladist.evaluation import annotation

    fitted, notes = open_model(model)
    taxonomy = learner_of(fitted).taxonomy_
    if collect:
        found = annotation.read_annotations(data, taxonomy)
        content = _table(["row", "text", "label"], _labelled(found, label_sep))
        _deliver(terminal, out, content, len(found), "labelled texts")
        return
    given = DataSource(data, format and format.value, tuple(text or ()), zero_based=zero_based, query=query)
    source = resolve(given, fitted, notes, model)
    if source.is_numeric and to != To.csv:
        raise ParameterError(f"--to {to} is for texts, and {source.name} holds numbers; take --to csv.")
    with terminal.bars():
        rows, suggestion = suggestions(fitted, source, number, terminal.note)
    texts = [""] * rows.shape[0] if source.is_numeric else rows
    if to == To.csv:
        content = _table(["row", "text", "uncertainty", "label", "probability"], _lines(suggestion, texts))
    elif to == To.doccano:
        content = "".join(f"{line}\n" for line in annotation.doccano_lines(suggestion, texts))
    else:
        tasks = annotation.label_studio_tasks(suggestion, texts, model.resolve().name)
        content = json_format.dumps(tasks, indent=1, ensure_ascii=False) + "\n"
    if config is not None:
        output.write_text(config, annotation.label_studio_config(taxonomy) + "\n")
        terminal.note(f"The labelling configuration is in {config}")
    _deliver(terminal, out, content, len(suggestion.rows), "rows to label")


def suggestions(model: Any, source: Any, number: int, notify: Any) -> tuple[Any, Any]:
    """Return all rows, and those suggested."""
    from scipy import sparse

    from cladist.cli.predict import read_batches
    from cladist.evaluation import suggest

    batches = list(read_batches(source, model=model, notify=notify))
    if source.is_numeric:
        rows: Any = sparse.vstack(batches, format="csr") if sparse.issparse(batches[0]) else batches[0]
    else:
        rows = [text for batch in batches for text in batch]
    return rows, suggest(model, rows, number)


def _lines(suggestion: Any, texts: Any) -> Any:
    for k, row in enumerate(suggestion.rows.tolist()):
        numbers = f"{suggestion.uncertainty[k]:.4f}", f"{suggestion.probabilities[k, 0]:.4f}"
        label = escape_formula(suggestion.labels[k][0])
        yield [row + 1, escape_formula(" ".join(str(texts[row]).split())), numbers[0], label, numbers[1]]


def _labelled(found: Any, separator: str) -> Any:
    for entry in found:
        yield ["" if entry.row < 0 else entry.row + 1, escape_formula(entry.text), separator.join(entry.labels)]


def _table(header: list[str], rows: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _deliver(terminal: output.Terminal, out: Path | None, content: str, n: int, what: str) -> None:
    """Write the result to a file, or show it."""
    if out is None:
        terminal.answer({"content": content})
        terminal.plain(content.rstrip("\n"))
        return
    output.write_text(out, content)
    terminal.answer({"rows": n, "out": str(out)})
    terminal.plain(f"{n:,} {what} are in {out}")
