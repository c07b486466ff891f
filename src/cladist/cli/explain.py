"""``cladist explain``: what the words of a text, or the features of a row, add to the score of its label."""

from __future__ import annotations

import csv
import io
import json as json_format
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cladist.cli import output
from cladist.cli.predict import TABLES, RowFormat, escape_formula
from cladist.errors import DatasetError

if TYPE_CHECKING:
    from cladist.cli.input import DataSource

EXAMPLE = (
    "Examples: [bold]cladist explain model new.csv --out why.html[/bold]"
    "\n\n[bold]echo 'acute bronchitis' | cladist explain model -[/bold]"
)
OUT_HELP = "The output file: .html with the words marked in the text, .jsonl, .csv, .tsv or .txt."
ROWS_HELP = "How many rows to explain, from the first; 0: all."
LABEL_HELP = "Explain this label for every row, instead of the predicted one."
DATA_HELP = f"{output.DATA_HELP} Or - for standard input: one text per line."
SUFFIXES = (".html", ".jsonl", ".csv", ".tsv", ".txt")
MOST_SHOWN = 100  # rows, unless asked for more


def command(
    terminal: output.Terminal,
    model: output.ModelFolder,
    data: Annotated[str, output.argument("DATA", DATA_HELP)],
    out: Annotated[
        Path | None, output.option("--out -o FILE", OUT_HELP, show_default="text on standard output")
    ] = None,
    rows: Annotated[int, output.option("--rows N", ROWS_HELP, min=0)] = MOST_SHOWN,
    node: Annotated[str | None, output.option("--node LABEL", LABEL_HELP)] = None,
    text: output.Texts = None,
    format: RowFormat = None,  # noqa: A002
    zero_based: output.ZeroBased = None,
    query: output.Query = None,
) -> None:
    """Explain predictions by words.

    For each row: what each word adds to the score at each node of the path to
    the label, and to the lead over the label of the next highest score. The
    contributions sum to the scores. Rows of numbers are explained by features,
    and models with kernels by the training rows that the score is a sum of.
    """
    output.check_inputs(data, model=model)
    out = output.named_file(out)
    if out is not None and out.suffix.lower() not in SUFFIXES:
        raise DatasetError(f"{out}: the file extension of --out must be one of {', '.join(SUFFIXES)}.")
    output.check_target(out, data, model)
    from cladist.cli.input import DataSource, open_model, resolve

    fitted, notes = open_model(model)
    given = DataSource(data, format and format.value, tuple(text or ()), zero_based=zero_based, query=query)
    source = resolve(given, fitted, notes, model)
    with terminal.bars():
        whys = list(islice(explanations(fitted, source, node=node, notify=terminal.note), rows or None))
    if out is not None:
        output.write_text(out, written(whys, out.suffix.lower(), f"{model.resolve().name} on {Path(source.name).name}"))
        terminal.note(f"{len(whys):,} rows are explained in {out}")
        terminal.answer({"rows": len(whys), "out": str(out)})
        return
    terminal.answer([why.to_dict() for why in whys])
    for why in whys:
        terminal.plain(f"{why}\n")


def explanations(
    model: Any, source: DataSource, *, node: str | None = None, notify: Any = lambda _: None
) -> Iterator[Any]:
    """Yield the explanation of each row: of texts by words, of numbers by features."""
    from cladist.cli.input import learner_of
    from cladist.cli.predict import read_batches
    from cladist.learners.out_of_fold import transformed
    from cladist.learners.text_explanation import explain, explainable

    learner = learner_of(model)
    if node is not None:
        learner.taxonomy_.index(node)  # an unknown one is refused, with a near name
    for batch in read_batches(source, model=model, notify=notify):
        for start in range(0, batch.shape[0], MOST_SHOWN):
            part = batch[start : start + MOST_SHOWN]
            nodes = None if node is None else [node] * part.shape[0]
            if not source.is_numeric:
                yield from explain(model, part, nodes=nodes)
                continue
            names = {f"x{j}": name for j, name in enumerate(source.features)}
            whys = explainable(learner).explain(transformed(model, part), nodes=nodes)
            yield from (why.renamed(names) for why in whys)


def written(whys: list[Any], suffix: str, title: str) -> str:
    """Return explanations as the text of a file of this suffix."""
    if suffix == ".html":
        from cladist.report.page import plain_page

        return plain_page(title, "".join(why.to_html() for why in whys))
    if suffix == ".jsonl":
        return "".join(json_format.dumps(why.to_dict(), ensure_ascii=False) + "\n" for why in whys)
    if suffix == ".txt":
        return "".join(f"{why}\n\n" for why in whys)
    table = io.StringIO()
    writer = csv.writer(table, delimiter=TABLES[suffix[1:]], lineterminator="\n")
    writer.writerow(["row", "label", "node", "word", "contribution"])
    for number, why in enumerate(whys, 1):
        cells = (
            [number, *map(escape_formula, (why.label, node, word)), f"{value:.6g}"] for node, word, value in why.rows()
        )
        writer.writerows(cells)
    return table.getvalue()
