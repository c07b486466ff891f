"""``cladist predict``: labels, paths and scores for new rows, predicted in batches and written row by row."""

from __future__ import annotations

import csv
import json as json_format
import re
import time
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TextIO

from cladist import progress
from cladist.cli import output
from cladist.errors import DatasetError, DatasetWarning, ParameterError, quoted
from cladist.files import Source, iterate_text_lines, open_for_reading
from cladist.files.delimited import split_header

if TYPE_CHECKING:
    from cladist.cli.input import DataSource, Notify
    from cladist.cli.mapped_predictions import Mapper
    from cladist.learners.predictions import BatchPredictor, Prediction

EXAMPLE = (
    "Examples: [bold]cladist predict model new.csv --out predictions.csv[/bold]"
    "\n\n[bold]echo 'acute bronchitis' | cladist predict model - --top-k 3[/bold]"
    "\n\n[bold]cladist predict model new.csv --crosswalk crosswalk.csv --taxonomy new-taxonomy.csv[/bold]"
)
STDIN_HELP = "Or - for standard input: one text per line, or a table with --text or --format."
BEAM_HELP = "Expand only the B best nodes of each level, for models with very many labels."
KEEP_HELP = "Write this column of the input in front of each prediction; repeat it, or give all for every column."
JOBS_HELP = "Predict in N processes, each with the model; -1: as many as there are cores."
EXECUTOR_HELP = "Predict on a Ray cluster, whose machines can all read the model's folder: ray."
MMAP_HELP = "Map large weights from their file instead of loading and verifying them."

VERSION = "Another version of the taxonomy"
WALK_HELP = "Give labels of the version that this crosswalk leads to, from the version of training."
VERSION_HELP = "That version: with it there are paths, and of a split label the nearest node above its parts."

DECISIONS = "Decisions, of models trained with --calibrate"
PROBA_HELP = "Give the calibrated probability of the label instead of its score."
CONFIDENCE_HELP = "Give the deepest node whose probability reaches P, so an inner node where no leaf is sure enough."
MINIMISE_HELP = "Give the node of least expected loss: tree-distance, zero-one, h-loss or hierarchical-f1."
CONFORMAL_HELP = "Give a set of labels that has the true one with probability 1 − ALPHA."
ABSTAIN_HELP = "Give no label to rows that are unlike the rows of training, and to texts without a known word."

InputFormat = StrEnum("InputFormat", "csv tsv jsonl parquet arrow xlsx ods svmlight arff lshtc lines")
RowFormat = Annotated[InputFormat | None, output.option("--format", output.FORMAT_HELP, output.DATA)]

MAX_NAMED = 5  # rows without known words that the warning names
PATH_SEPARATOR = " > "
SET_SEPARATOR = ";"  # if the separator of training is unknown or not usable
SCORE_LETTERS = "+-.0123456789aefin"
TABLES = {"csv": ",", "tsv": "\t"}
SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
# Spreadsheets evaluate such a cell as a formula. Cells that already begin with apostrophes get one more, so that
# removing one apostrophe restores the text. Numbers may have a sign.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def command(
    terminal: output.Terminal,
    model: output.ModelFolder,
    data: Annotated[str, output.argument("DATA", f"{output.DATA_HELP} {STDIN_HELP}")],
    out: Annotated[
        Path | None,
        output.option("--out -o FILE", "The output file: .csv, .tsv or .jsonl.", show_default="standard output"),
    ] = None,
    top_k: Annotated[
        int | None, output.option("--top-k K", "Give the K best labels of each row, best first.", min=1)
    ] = None,
    keep: Annotated[list[str] | None, output.option("--keep COLUMN", KEEP_HELP, output.DATA)] = None,
    beam: Annotated[int | None, output.option("--beam B", BEAM_HELP, min=1)] = None,
    proba: Annotated[bool, output.option("--proba", PROBA_HELP, DECISIONS)] = False,
    min_confidence: Annotated[
        float | None, output.option("--min-confidence P", CONFIDENCE_HELP, DECISIONS, min=0, max=1)
    ] = None,
    minimise: Annotated[str | None, output.option("--minimise LOSS", MINIMISE_HELP, DECISIONS)] = None,
    conformal: Annotated[
        float | None, output.option("--conformal ALPHA", CONFORMAL_HELP, DECISIONS, min=0, max=1)
    ] = None,
    abstain: Annotated[bool, output.option("--abstain", ABSTAIN_HELP, DECISIONS)] = False,
    crosswalk: Annotated[Path | None, output.option("--crosswalk FILE", WALK_HELP, VERSION)] = None,
    taxonomy: Annotated[Path | None, output.option("--taxonomy NEW", VERSION_HELP, VERSION)] = None,
    jobs: Annotated[int, output.option("--jobs -j N", JOBS_HELP)] = 1,
    executor: Annotated[str | None, output.option("--executor ray", EXECUTOR_HELP)] = None,
    mmap: Annotated[bool, output.option("--mmap", MMAP_HELP)] = False,
    verify: Annotated[bool, output.option("--verify", "With --mmap, also verify these weights first.")] = False,
    text: output.Texts = None,
    format: RowFormat = None,  # noqa: A002
    zero_based: output.ZeroBased = None,
    query: output.Query = None,
) -> None:
    """Predict labels for new rows.

    Each row of DATA gets its label, the path to it from the root (in a DAG
    the shortest), and the model's score. A model trained on sets of labels
    gives each row its set: the deepest labels, best score first, none if it
    is empty; with --top-k, the K best labels instead. Scores rank the labels
    of one row and are not probabilities. The scores of top-down are distances
    to the predicted label, whose own score is 0; --top-k 2 shows the distance
    of the second label. Text columns default to those of training.

    A model trained with --calibrate can decide by probabilities. Each row then
    has the columns confidence, decided_at (leaf, inner node, set or abstained)
    and reason.

    With --crosswalk, labels are those of another version of the taxonomy; a
    row whose label was split or retired says so in decided_at and reason.
    """
    output.check_inputs(data, crosswalk, taxonomy, model=model)
    out = output.named_file(out)
    from cladist.cli.input import DataSource, open_model, resolve
    from cladist.execution import count_workers

    workers = count_workers(jobs)
    output.check_executor(executor)
    if executor is not None and workers > 1:
        raise ParameterError("--executor predicts on the cluster's cores, --jobs on this machine's; leave one out.")
    if crosswalk is not None or taxonomy is not None:
        from cladist.cli.mapped_predictions import check_options

        check_options(crosswalk, taxonomy, top_k)
        output.check_target(out, crosswalk, taxonomy)
    decisions = None
    options = (proba, min_confidence, minimise, conformal, abstain)
    if any(value is not None and value is not False for value in options):
        from cladist.learners.row_decisions import DecisionOptions

        if top_k or beam:
            raise ParameterError("--top-k and --beam list labels, and these options decide on one; leave one out.")
        decisions = DecisionOptions(*options)
    fitted, notes = open_model(model, mmap=mmap, verify=verify)
    option_source = DataSource(data, format and format.value, tuple(text or ()), zero_based=zero_based, query=query)
    source = resolve(option_source, fitted, notes, model)
    mapper = None if crosswalk is None else new_mapper(fitted, crosswalk, taxonomy, notes, whole=conformal is not None)
    start = time.perf_counter()
    # Predictions on standard output show the progress themselves.
    with terminal.bars() if out is not None else nullcontext():
        n_rows = predict_to(
            fitted, source, out, top_k=top_k, beam=beam, decisions=decisions, label_sep=notes.get("label_sep"),
            as_json=terminal.json, notify=terminal.note, folder=model, keep=keep or (), workers=workers, mmap=mmap,
            mapper=mapper, executor=executor,
        )  # fmt: skip
    if out is not None:
        seconds = time.perf_counter() - start
        terminal.answer({"rows": n_rows, "seconds": seconds, "out": str(out)})
        terminal.note(f"Predicted {n_rows:,} rows in {seconds:.1f} s; the predictions are in {out}")


def new_mapper(
    model: Any, crosswalk: Path, taxonomy: Path | None, notes: dict[str, Any], *, whole: bool = False
) -> Mapper:
    """Return what maps the predictions of a model by a crosswalk; see `Mapper`."""
    from cladist.cli.input import learner_of
    from cladist.cli.mapped_predictions import Mapper, read_crosswalk

    learner = learner_of(model)
    return Mapper(learner, read_crosswalk(learner, crosswalk, taxonomy, notes.get("path_sep") or None), whole=whole)


def predict_to(
    model: Any,
    source: DataSource,
    out: Path | None,
    *,
    top_k: int | None = None,
    beam: int | None = None,
    decisions: Any = None,
    label_sep: str | None = None,
    as_json: bool = False,
    notify: Notify = lambda _: None,
    folder: Path | None = None,
    keep: Sequence[str] = (),
    workers: int = 1,
    mmap: bool = False,
    mapper: Mapper | None = None,
    executor: str | None = None,
) -> int:
    """Write the predictions for all rows to a file, or to standard output, and return the number of rows.

    `decisions` are the `DecisionOptions`, `label_sep` is the separator of labels in training, `folder` that of the
    model. `keep` are columns of the input, whose values are written in front of each prediction, or "all". `notify` is
    called with notes about features that the model does not have. Several `workers` are processes that load the model
    from its folder, with `mmap` as `cladist.load` has it; a few batches per worker are in memory. With an `executor`,
    "ray", its workers do so. A `mapper` gives labels of another version of the taxonomy.
    """
    from cladist.cli.input import learner_of
    from cladist.execution import elsewhere, executor_for, processes

    kind = "csv" if out is None else SUFFIXES.get(out.suffix.lower())
    if kind is None:
        raise DatasetError(f"{out}: the file extension of --out must be .csv, .tsv or .jsonl.")
    if as_json and out is None:
        kind = "json"
    output.check_target(out, source.path, folder)
    learner = learner_of(model)
    if top_k is not None:
        top_k = min(top_k, len(learner.classes_))
    recipe = Recipe(folder and folder.absolute(), mmap, top_k, beam, decisions, label_sep)
    predict_batch, layout = recipe.follow(model)
    in_sets = layout.is_set if decisions is not None else layout.separator is not None
    separator = set_separator(label_sep) if in_sets else None
    if separator is not None and kind in TABLES:
        check_separator(separator, names_of(learner) if mapper is None else mapper.names())
    if mapper is not None and decisions is None:
        from cladist.cli.mapped_predictions import MappedLayout

        layout = MappedLayout(layout)
    kept: Any = None
    if keep:
        from cladist.cli.kept_columns import KeptColumns, KeptLayout

        kept = KeptColumns(source, keep)
        layout = KeptLayout(kept, layout)
    target = nullcontext(output.standard_output()) if out is None else output.replacing(out)
    with progress.task("Predicting", unit="rows") as task, target as file:
        batches = read_batches(source, model=model, notify=notify) if kept is None else _batches(kept.read())
        if source.path == "-":  # a file reports its own progress while it is read
            batches = _count_rows(batches, task)
        load = partial(Recipe.load, recipe)
        running: AbstractContextManager[Any]
        if executor is not None:
            running = nullcontext(elsewhere(load, executor_for(None, executor)))
        else:
            running = processes(load if workers > 1 else lambda: predict_batch, workers)
        with running as run:
            rows = collect(run(batches))
            rows = rows if mapper is None else mapper(rows)
            return write_rows(file, kind, layout, rows if kept is None else kept.take(rows))


class Recipe(NamedTuple):
    """How batches are predicted, for this process or for others."""

    folder: Path | None
    mmap: bool
    top_k: int | None
    beam: int | None
    decisions: Any
    label_sep: str | None

    def load(self) -> BatchPredictor:
        """Return the function that predicts batches, in a process that has no model yet."""
        from cladist.cli.input import open_model

        assert self.folder is not None
        return self.follow(open_model(self.folder, mmap=self.mmap)[0])[0]

    def follow(self, model: Any) -> tuple[BatchPredictor, Any]:
        """Return the function that predicts batches with a model, and the form of the rows that it returns."""
        from cladist.cli.input import learner_of
        from cladist.learners.predictions import batch_predictor, predicts_sets

        learner = learner_of(model)
        if self.decisions is None:
            in_sets = self.top_k is None and predicts_sets(learner)
            layout = Layout(self.top_k, set_separator(self.label_sep) if in_sets else None)
            return batch_predictor(model, top_k=self.top_k, beam=self.beam), layout
        from cladist.learners.out_of_fold import transformed

        decide, decided = _new_decider(learner, self.decisions, self.folder, self.label_sep)
        return lambda batch: (list(decide(transformed(model, batch))), ()), decided


def _new_decider(learner: Any, decisions: Any, folder: Path | None, label_sep: str | None) -> tuple[Any, Any]:
    """Return the function that decides rows, and the form of the rows that it yields."""
    from cladist.cli.decisions import DecisionLayout
    from cladist.learners.row_decisions import new_decider
    from cladist.persistence.models import load_noted
    from cladist.storage.array_groups import group

    calibration = {} if folder is None else group("calibration", load_noted(folder)[2])
    is_set = decisions.conformal is not None or bool(learner.decodes_sets)
    layout = DecisionLayout(set_separator(label_sep), PATH_SEPARATOR, is_set)
    return new_decider(learner, decisions, calibration), layout


def _count_rows(batches: Iterable[Any], task: progress.Task) -> Iterator[Any]:
    """Yield batches, and advance a task by the rows of each when the next one is wanted."""
    for batch in batches:
        yield batch
        task.advance(batch.shape[0])


def predict(
    model: Any, batches: Iterable[Any], *, top_k: int | None = None, beam: int | None = None
) -> Iterator[list[Prediction]]:
    """Yield the predictions of each row, best first; those of a batch are yielded before the next one is read.

    `top_k` is the number of labels per row, by default those that the model predicts: one, or the deepest of a set.
    `beam` is the number of nodes per level whose children are scored, as in `predict_top_k` of learners.
    """
    from cladist.learners.predictions import batch_predictor

    return collect(map(batch_predictor(model, top_k=top_k, beam=beam), batches))


def collect(results: Iterable[tuple[list[Any], Sequence[int]]]) -> Iterator[Any]:
    """Yield the rows of all batches; warn at the end of those without a known word."""
    blank, n_rows = BlankRows(), 0
    for rows, positions in results:
        blank.add(positions, range(n_rows + 1, n_rows + 1 + len(rows)))
        n_rows += len(rows)
        yield from rows
    blank.warn("row")


class BlankRows:
    """Counts the texts without a word that a model knows."""

    def __init__(self) -> None:
        self.count = self.n_rows = 0
        self.first: list[int] = []

    def add(self, positions: Sequence[int], numbers: Sequence[int]) -> None:
        """Count the rows at these positions of a batch; `numbers` are the places of its rows in the input."""
        self.n_rows += len(numbers)
        self.count += len(positions)
        self.first += [numbers[k] for k in positions[: MAX_NAMED - len(self.first)]]

    def warn(self, unit: str) -> None:
        """Warn about these rows, if any; `unit` is "row" or "line", as their numbers count."""
        if not self.count:
            return
        which = ", ".join(map(str, self.first)) + (", …" if self.count > len(self.first) else "")
        warnings.warn(
            f"The model knows no word in {self.count:,} of {self.n_rows:,} rows ({unit}{'s' * (self.count > 1)} "
            f"{which}); all these rows get the same prediction.",
            DatasetWarning,
            stacklevel=2,
        )


def read_batches(source: DataSource, *, model: Any = None, notify: Notify = lambda _: None) -> Iterator[Any]:
    """Return an iterator over batches of rows to predict; they are read as needed, never all in memory."""
    from cladist.cli.input import read_numbers, slices
    from cladist.datasets.formats.tables.reader import join_text
    from cladist.datasets.formats.tables.records import read_records

    stream = source.stream
    if source.is_numeric:
        return (part for X in read_numbers(source, model=model, notify=notify) for part in slices(X))
    if source.kind == "lines":
        return _batches(_lines(stream, source.trained_columns))
    rows = read_records(stream, format=source.format, columns=source.text, query=source.query)
    return _batches(join_text(stream, *record, source.text) for record in rows)


def _batches(texts: Iterator[str]) -> Iterator[Any]:
    import numpy as np

    from cladist.cli.input import BATCH_ROWS

    while batch := list(islice(texts, BATCH_ROWS)):
        yield np.array(batch, dtype=object)


def _lines(stream: Source, columns: Collection[str]) -> Iterator[str]:
    """Yield every line as one text, including empty lines, so that predictions correspond to lines.

    A first line that names all `columns`, which a model was trained on, is refused: it is the header of a table.
    """
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
        yield kind, set(split_header(line, delimiter))
    try:
        record = json_format.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(record, dict):
        yield "jsonl", set(record)


def escape_formula(text: str) -> str:
    """Return a text as a cell of CSV or TSV, with an apostrophe in front if it looks like a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def set_separator(label_sep: str | None) -> str:
    """Return the separator of the labels of a set in one cell: that of training, unless paths or scores contain it."""
    if not label_sep or label_sep in PATH_SEPARATOR or set(label_sep) <= set(SCORE_LETTERS):
        return SET_SEPARATOR
    return label_sep


def names_of(learner: Any) -> list[str]:
    """Return the labels of a learner, and the names on the paths to them."""
    from cladist.labels import LabelMatrix

    taxonomy = learner.taxonomy_
    on_paths = set(LabelMatrix.from_nodes(learner.class_nodes_, taxonomy).indices.tolist())
    return [*map(str, learner.classes_.tolist()), *(taxonomy.names[v] for v in sorted(on_paths))]


def check_separator(separator: str, names: Iterable[str]) -> None:
    """Raise a `DatasetError` if a label, or a name on its path, contains the separator or runs into it."""
    for name in names:
        if (name + separator).index(separator) < len(name):
            raise DatasetError(
                f"CSV and TSV join the labels of a row by {separator!r}, which the model's label {quoted(name)} "
                "contains; write JSON lines with --out FILE.jsonl, or use --json."
            )


@dataclass(frozen=True)
class Layout:
    """The form of a row: one label, the `top_k` best labels, or a set, whose labels `separator` joins in a cell."""

    top_k: int | None = None
    separator: str | None = None

    def header(self) -> list[str]:
        """Return the column names of a table."""
        if self.separator is not None:
            return ["labels", "paths", "scores"]
        ranks = [""] if self.top_k is None else [f"_{k}" for k in range(1, self.top_k + 1)]
        return [f"{name}{rank}" for rank in ranks for name in ("label", "path", "score")]

    def cells(self, predictions: list[Prediction]) -> list[str]:
        """Return a row of a table."""
        labels = [
            (escape_formula(str(p.label)), escape_formula(PATH_SEPARATOR.join(p.path)), f"{p.score:.6g}")
            for p in predictions
        ]
        if self.separator is None:
            return [cell for cells in labels for cell in cells]
        return [self.separator.join(cells[k] for cells in labels) for k in range(3)]

    def to_dict(self, predictions: list[Prediction]) -> dict[str, Any]:
        """Return a row as a JSON object."""
        labels: list[dict[str, Any]] = [
            {"label": p.label, "path": p.path, "score": float(f"{p.score:.6g}")} for p in predictions
        ]
        if self.separator is not None:
            return {f"{name}s": [label[name] for label in labels] for name in ("label", "path", "score")}
        return labels[0] if self.top_k is None else {"top": labels}


def write_rows(file: TextIO, kind: str, layout: Any, rows: Iterable[Any]) -> int:
    """Write all rows in a format and return their number; the first one is predicted before anything is written."""
    n_rows, rows = 0, iter(rows)
    rows = chain(list(islice(rows, 1)), rows)
    if kind in TABLES:
        plain = csv.writer(file, delimiter=TABLES[kind], lineterminator="\n")
        quoting = csv.writer(file, delimiter=TABLES[kind], lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(layout.header())
        for predictions in rows:
            n_rows += 1
            cells = layout.cells(predictions)
            has_return = any("\r" in cell for cell in cells)  # which csv does not quote before Python 3.13
            (quoting if has_return else plain).writerow(cells)
        return n_rows
    is_list = kind == "json"
    for n_rows, predictions in enumerate(rows, 1):
        if is_list:
            file.write("[\n" if n_rows == 1 else ",\n")
        file.write(json_format.dumps(layout.to_dict(predictions), ensure_ascii=False) + ("" if is_list else "\n"))
    if is_list:
        file.write("\n]\n" if n_rows else "[]\n")
    return n_rows
