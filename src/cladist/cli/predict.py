"""``cladist predict``: labels, paths and scores for new rows, predicted in batches."""

from __future__ import annotations

import csv
import json as json_format
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cladist.cli.options import (
    DATA,
    DATA_HELP,
    FORMAT_HELP,
    Debug,
    InputFormat,
    Json,
    ModelArgument,
    Quiet,
    Text,
    ZeroBased,
    argument,
    option,
)  # fmt: skip
from cladist.errors import DatasetError, ParameterError

if TYPE_CHECKING:
    from cladist.cli.input import DataSource
    from cladist.files import Source

EXAMPLE = (
    "Examples: [bold]cladist predict model new.csv --out predictions.csv[/bold]"
    "\n\n[bold]echo 'acute bronchitis' | cladist predict model - --top-k 3[/bold]"
)
STDIN_HELP = "Or - for standard input: one text per line, or a table with --text or --format."
MAX_NAMED = 5  # rows without known words that the warning names


def command(
    model: ModelArgument,
    data: Annotated[str, argument("DATA", f"{DATA_HELP} {STDIN_HELP}")],
    out: Annotated[
        Path | None,
        option("--out -o FILE", "The output file: .csv, .tsv or .jsonl.", show_default="standard output"),
    ] = None,
    top_k: Annotated[int | None, option("--top-k K", "Give the K best labels of each row, best first.", min=1)] = None,
    beam: Annotated[
        int | None,
        option("--beam B", "Expand only the B best nodes of each level, for models with very many labels.", min=1),
    ] = None,
    mmap: Annotated[
        bool, option("--mmap", "Map large weights from their file instead of loading and verifying them.")
    ] = False,
    verify: Annotated[bool, option("--verify", "With --mmap, also verify these weights first.")] = False,
    text: Text = None,
    format: Annotated[InputFormat | None, option("--format", FORMAT_HELP, DATA)] = None,  # noqa: A002
    zero_based: ZeroBased = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict labels for new rows.

    Each row of DATA gets its label, the path to it from the root (in a DAG
    the shortest), and the model's score. A model trained on sets of labels
    gives each row its set: the deepest labels, best score first, none if it
    is empty; with --top-k, the K best labels instead. Scores rank the labels
    of one row and are not probabilities. The scores of top-down are distances
    to the predicted label, whose own score is 0; --top-k 2 shows the distance
    of the second label. Text columns default to those of training.
    """
    from cladist.cli.input import DataSource, open_model, resolve
    from cladist.cli.output import Terminal

    fitted, notes = open_model(model, mmap=mmap, verify=verify)
    given = DataSource(data, format and format.value, tuple(text or ()), zero_based=zero_based)
    source = resolve(given, fitted, notes, model)
    terminal = Terminal(json, quiet)
    start = time.perf_counter()
    # Predictions on standard output show the progress themselves.
    with terminal.bars() if out is not None else nullcontext():
        n_rows = predict_to(
            fitted, source, out, top_k=top_k, beam=beam, label_sep=notes.get("label_sep"), as_json=json,
            notify=terminal.note, folder=model,
        )  # fmt: skip
    if out is not None:
        seconds = time.perf_counter() - start
        terminal.answer({"rows": n_rows, "seconds": seconds, "out": str(out)})
        terminal.note(f"Predicted {n_rows:,} rows in {seconds:.1f} s; the predictions are in {out}")


# ------------------------------------------------------------------ the work


class Prediction(NamedTuple):
    """One label for one row, the path to it from the root, and the model's score."""

    label: Any
    path: list[str]
    score: float


Predictor = Callable[[Any], Iterator[list[Prediction]]]  # rows as a learner takes them → the predictions of each


def predict_to(
    model: Any,
    source: DataSource,
    out: Path | None,
    *,
    top_k: int | None = None,
    beam: int | None = None,
    label_sep: str | None = None,
    as_json: bool = False,
    notify: Callable[[str], None] = lambda _: None,
    folder: Path | None = None,
) -> int:
    """Write the predictions for all rows to a file, or to standard output, and return the number of rows.

    `label_sep` is the separator of labels in training, `folder` that of the model. `notify` is called with notes about
    features that the model does not have.
    """
    from cladist import progress
    from cladist.cli.input import learner_of
    from cladist.cli.output import check_target, replacing, standard_output
    from cladist.cli.prediction_files import TABLES, Layout, check_separator, format_of, set_separator, write_rows

    kind = "json" if as_json and out is None else format_of(out)
    check_target(out, inputs=[source.path, folder])
    separator = set_separator(label_sep) if top_k is None and predicts_sets(model) else None
    if separator is not None and kind in TABLES:
        check_separator(separator, learner_of(model))
    rows = predict(model, read_batches(source, model=model, notify=notify), top_k=top_k, beam=beam)
    target = nullcontext(standard_output()) if out is None else replacing(out)
    with progress.task("Predicting") as task, target as file:
        # A file reports its own progress while it is read, so rows are counted for standard input only.
        advance = task.advance if source.path == "-" else lambda _: None
        return write_rows(file, kind, Layout(top_k, separator), rows, advance)


def predict(
    model: Any, batches: Iterable[Any], *, top_k: int | None = None, beam: int | None = None
) -> Iterator[list[Prediction]]:
    """Yield the predictions of each row, best first; those of a batch are yielded before the next one is read.

    `top_k` is the number of labels per row, by default those that the model predicts: one, or the deepest of a set.
    `beam` is the number of nodes per level whose children are scored, as in `predict_top_k` of learners.
    """
    from cladist.cli.input import learner_of
    from cladist.learners.thresholded import transformed

    learner = learner_of(model)
    if beam is not None and top_k is None and predicts_sets(model):
        raise ParameterError("A beam finds the best labels, and this model predicts sets of them; add --top-k K.")
    predictor = (
        _predict_sets(learner) if top_k is None and predicts_sets(model) else _predict_best(learner, top_k or 1, beam)
    )
    blank, n_rows = BlankRows(model), 0
    for batch in batches:
        rows = transformed(model, batch)
        blank.add(rows, range(n_rows + 1, n_rows + 1 + rows.shape[0]))
        n_rows += rows.shape[0]
        yield from predictor(rows)
    blank.warn("row")


def predicts_sets(model: Any) -> bool:
    """Return whether a model's predictions are sets of labels."""
    from cladist.cli.input import learner_of
    from cladist.learners.thresholded import Thresholded

    learner = learner_of(model)
    return isinstance(learner, Thresholded) or bool(learner.decodes_sets)


def _predict_best(learner: Any, top_k: int, beam: int | None) -> Predictor:
    """Return a function that yields the labels with the highest scores of each row."""
    taxonomy = learner.taxonomy_
    node_of = dict(zip(learner.classes_.tolist(), learner.class_nodes_.tolist(), strict=True))
    path_of = cache(lambda label: taxonomy.shortest_path_parts(node_of[label]))

    def predictor(rows: Any) -> Iterator[list[Prediction]]:
        best, scores = learner.predict_top_k(rows, top_k, beam=beam)
        for labels, values in zip(best.tolist(), scores.tolist(), strict=True):
            yield [Prediction(label, path_of(label), score) for label, score in zip(labels, values, strict=True)]

    return predictor


def _predict_sets(learner: Any) -> Predictor:
    """Return a function that yields the deepest labels of each row's set, highest score first."""
    taxonomy = learner.taxonomy_
    label_of = dict(zip(learner.class_nodes_.tolist(), learner.classes_.tolist(), strict=True))

    def predictor(rows: Any) -> Iterator[list[Prediction]]:
        sets = [[tuple(path) for path in row] for row in learner.predict_paths(rows)]
        node_of = {path: taxonomy.find_path(path) for path in dict.fromkeys(path for paths in sets for path in paths)}
        column_of = {path: k for k, path in enumerate(node_of)}
        names = [taxonomy.names[v] for v in node_of.values()]
        for paths, scores in zip(sets, _node_scores(learner, rows, names), strict=True):
            labels = [Prediction(label_of[node_of[path]], list(path), float(scores[column_of[path]])) for path in paths]
            yield sorted(labels, key=lambda prediction: -prediction.score)

    return predictor


def _node_scores(learner: Any, rows: Any, names: list[str]) -> Iterator[Any]:
    """Yield each row's scores of some nodes; they are computed in chunks of limited size."""
    from cladist.learners.base import CHUNK_BYTES

    if not names:
        yield from repeat((), rows.shape[0])
        return
    size = max(1, CHUNK_BYTES // (8 * len(names)))
    for start in range(0, rows.shape[0], size):
        yield from learner.decision_function(rows[start : start + size], nodes=names)


class BlankRows:
    """Counts the texts without a word that a model knows; of a model trained on numbers it counts none."""

    def __init__(self, model: Any) -> None:
        from cladist.cli.input import features_of

        self.is_active = features_of(model) is None
        self.count = self.n_rows = 0
        self.first: list[int] = []

    def add(self, X: Any, numbers: Sequence[int]) -> None:
        """Count rows as the learner gets them; `numbers` are their places in the input."""
        import numpy as np
        from scipy import sparse

        if not self.is_active:
            return
        self.n_rows += len(numbers)
        sums = abs(sparse.csr_array(X)).sum(axis=1)
        blank = np.flatnonzero(np.asarray(sums).ravel() == 0)
        self.count += len(blank)
        self.first += [numbers[k] for k in blank[: MAX_NAMED - len(self.first)].tolist()]

    def warn(self, unit: str) -> None:
        """Warn about these rows, if any; `unit` is "row" or "line", as their numbers count."""
        import warnings

        from cladist.errors import DatasetWarning

        if not self.count:
            return
        which = ", ".join(map(str, self.first)) + (", …" if self.count > len(self.first) else "")
        warnings.warn(
            f"The model knows no word in {self.count:,} of {self.n_rows:,} rows ({unit}{'s' * (self.count > 1)} "
            f"{which}); all these rows get the same prediction.",
            DatasetWarning,
            stacklevel=2,
        )


# ------------------------------------------------------------------ rows without labels


def read_batches(
    source: DataSource, *, model: Any = None, notify: Callable[[str], None] = lambda _: None
) -> Iterator[Any]:
    """Return an iterator over batches of rows to predict; they are read as needed, never all in memory."""
    from cladist.cli.input import slices
    from cladist.datasets.formats.tables.reader import join_text
    from cladist.datasets.formats.tables.records import read_records

    if source.is_numeric:
        from cladist.cli.numeric_input import read_rows

        return (part for X in read_rows(source, model=model, notify=notify) for part in slices(X))
    if source.kind == "lines":
        return _batches(lines(source.stream, source.trained_columns))
    stream = source.stream
    rows = read_records(stream, format=source.format, columns=source.text)
    return _batches(join_text(stream, *record, source.text) for record in rows)


def _batches(texts: Iterator[str]) -> Iterator[Any]:
    import numpy as np

    from cladist.cli.input import BATCH_ROWS

    while batch := list(islice(texts, BATCH_ROWS)):
        array = np.empty(len(batch), dtype=object)
        array[:] = batch
        yield array


def lines(stream: Source, columns: Collection[str] = ()) -> Iterator[str]:
    r"""Yield every line as one text, including empty lines, so that predictions correspond to lines.

    A first line that names all `columns`, which a model was trained on, is refused: it is the header of a table.

    Examples
    --------
    >>> import io
    >>> list(lines(io.BytesIO(b"dome tent\n\nskillet\n"), ["title"]))
    ['dome tent', '', 'skillet']
    >>> list(lines(io.BytesIO(b"title,body\ndome tent,green\n"), ["title"]))
    Traceback (most recent call last):
    cladist.errors.DatasetError: The input begins like a table with the column 'title' ...
    """
    from cladist.files import iterate_text_lines, open_for_reading

    with open_for_reading(stream) as raw:
        for number, line in iterate_text_lines(stream, raw):
            text = line.rstrip("\r\n")
            if number == 1 and columns:
                _check_no_table(text, columns)
            yield text


def _check_no_table(first_line: str, columns: Collection[str]) -> None:
    for kind, header in _headers(first_line.removeprefix("\ufeff")):
        if header.issuperset(columns):
            names = f"column{'s'[: len(columns) - 1]} {', '.join(map(repr, columns))}"
            raise DatasetError(
                f"The input begins like a table with the {names} that the model was trained on; add --format {kind} "
                "if it is one, --format lines if every line is a text."
            )


def _headers(line: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each table format with the columns that a line names if it is the first one of such a table."""
    for kind, delimiter in (("csv", ","), ("tsv", "\t")):
        try:
            fields = next(csv.reader([line], delimiter=delimiter), [])
        except csv.Error:  # a text longer than any header
            continue
        yield kind, {name.strip() for name in fields}
    try:
        record = json_format.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(record, dict):
        yield "jsonl", set(record)
