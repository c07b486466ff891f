"""``cladist predict``: labels, paths and scores for new rows, some thousands at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from cladist.cli.options import DATA, DATA_HELP, Debug, InputFormat, Json, ModelArgument, Quiet, Text, ZeroBased

if TYPE_CHECKING:
    from cladist.cli.model_input import DataSource

EXAMPLE = (
    "Examples: [bold]cladist predict model new.csv --out answers.csv[/bold]"
    "\n\n[bold]echo 'acute bronchitis' | cladist predict model - --top-k 3[/bold]"
)


class Prediction(NamedTuple):
    """One label for one row: what it is, the way to it from the root, and the model's score for it."""

    label: Any
    path: list[str]
    score: float


Answer = Callable[[Any], Iterator[list[Prediction]]]  # rows as a learner takes them → the predictions of each


def predict(
    model: Any, batches: Iterable[Any], *, top_k: int | None = None, beam: int | None = None
) -> Iterator[list[Prediction]]:
    """Yield the predictions of every row, best first.

    Parameters
    ----------
    model : learner or Pipeline
        As `cladist.load` gives it.
    batches : iterable of arrays
        Rows in pieces; a piece's answers are given before the next is asked for.
    top_k : int, optional
        How many labels a row gets, by score. By default it gets what the model predicts: one, or the deepest of a set.
    beam : int, optional
        Of how many nodes a level the children are looked at; see `predict_top_k` of learners.
    """
    from cladist.cli.blank_rows import BlankRows
    from cladist.cli.model_input import learner_of
    from cladist.errors import ParameterError
    from cladist.learners.out_of_fold import transformed

    learner = learner_of(model)
    if beam is not None and top_k is None and answers_sets(model):
        raise ParameterError("A beam finds the best labels, and this model predicts sets of them; add --top-k K.")
    answer = _sets(learner) if top_k is None and answers_sets(model) else _best(learner, top_k or 1, beam)
    blank, n_rows = BlankRows(model), 0
    for batch in batches:
        rows = transformed(model, batch)
        blank.note(rows, range(n_rows + 1, n_rows + 1 + rows.shape[0]))
        n_rows += rows.shape[0]
        yield from answer(rows)
    blank.warn("row")


def answers_sets(model: Any) -> bool:
    """Return whether a model's predictions are sets of labels."""
    from cladist.cli.model_input import learner_of
    from cladist.learners.thresholded import Thresholded

    learner = learner_of(model)
    return isinstance(learner, Thresholded) or bool(learner.decodes_sets)


def _best(learner: Any, top_k: int, beam: int | None) -> Answer:
    """Return what gives the labels of highest score of every row."""
    taxonomy = learner.taxonomy_
    node_of = dict(zip(learner.classes_.tolist(), learner.class_nodes_.tolist(), strict=True))
    path_of = cache(lambda label: taxonomy.shortest_path_parts(node_of[label]))

    def answer(rows: Any) -> Iterator[list[Prediction]]:
        best, scores = learner.predict_top_k(rows, top_k, beam=beam)
        for found, values in zip(best.tolist(), scores.tolist(), strict=True):
            yield [Prediction(x, path_of(x), score) for x, score in zip(found, values, strict=True)]

    return answer


def _sets(learner: Any) -> Answer:
    """Return what gives the deepest labels of every row's set, those of highest score first."""
    taxonomy = learner.taxonomy_
    label_of = dict(zip(learner.class_nodes_.tolist(), learner.classes_.tolist(), strict=True))

    def answer(rows: Any) -> Iterator[list[Prediction]]:
        paths = learner.predict_paths(rows)
        node_of = {way: taxonomy.find_path(way) for way in dict.fromkeys(tuple(path) for row in paths for path in row)}
        column_of = {way: k for k, way in enumerate(node_of)}
        names = [taxonomy.names[v] for v in node_of.values()]
        for row, scores in zip(paths, _scores_of(learner, rows, names), strict=True):
            ways = [tuple(path) for path in row]
            found = [Prediction(label_of[node_of[way]], list(way), float(scores[column_of[way]])) for way in ways]
            yield sorted(found, key=lambda prediction: -prediction.score)

    return answer


def _scores_of(learner: Any, rows: Any, names: list[str]) -> Iterator[Any]:
    """Yield every row's scores of some nodes; however many they are, only a piece of them is in memory."""
    from cladist.learners.base import CHUNK_BYTES

    if not names:
        yield from repeat((), rows.shape[0])
        return
    size = max(1, CHUNK_BYTES // (8 * len(names)))
    for start in range(0, rows.shape[0], size):
        yield from learner.decision_function(rows[start : start + size], nodes=names)


class _Unmoved:
    """A task that shows nothing of its own, because the file that is read along the way shows how far it is."""

    def advance(self, steps: int = 1) -> None:
        pass


def predict_to(
    model: Any,
    source: DataSource,
    out: Path | None,
    *,
    top_k: int | None = None,
    beam: int | None = None,
    label_sep: str | None = None,
    as_json: bool = False,
    remark: Callable[[str], None] = lambda _: None,
    folder: Path | None = None,
) -> int:
    """Write the predictions for all rows to a file, or to standard output, and return how many rows there were.

    `label_sep` is what separated several labels in training. `remark` is told what of the data the model does not know.
    `folder` is that of the model.
    """
    from cladist import progress
    from cladist.cli.model_input import learner_of, read_batches
    from cladist.cli.output_files import check_target, replacing
    from cladist.cli.prediction_files import FORMATS, TABLES, Layout, check_joint, format_of, joint_of, write_rows
    from cladist.cli.terminal import standard_output

    kind = "json" if as_json and out is None else format_of(out)
    check_target(out, inputs=[source.path, folder])
    joint = joint_of(label_sep) if top_k is None and answers_sets(model) else None
    if joint is not None and kind in TABLES:
        check_joint(joint, learner_of(model))
    batches = read_batches(source, model=model, remark=remark)
    rows = predict(model, batches, top_k=top_k, beam=beam)
    counted = source.path == "-"
    where = nullcontext(standard_output()) if out is None else replacing(out)
    with progress.task("Predicting") as running, where as file:
        return write_rows(FORMATS[kind](file, Layout(top_k, joint)), rows, running if counted else _Unmoved())


def command(
    model: ModelArgument,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help=f"{DATA_HELP} Or - for standard input: a text in every line, or, with --text or --format, what "
            "they say.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where to write: .csv, .tsv or .jsonl.", show_default="standard output"
        ),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", metavar="K", min=1, help="The K best labels of every row, best first.")
    ] = None,
    beam: Annotated[
        int | None,
        typer.Option(
            "--beam",
            metavar="B",
            min=1,
            help="Look only below the B most promising nodes of each level, for models of very many labels.",
        ),
    ] = None,
    mmap: Annotated[
        bool, typer.Option("--mmap", help="Leave large weights in their file and read what rows need, unverified.")
    ] = False,
    verify: Annotated[bool, typer.Option("--verify", help="With --mmap, verify those weights first, too.")] = False,
    text: Text = None,
    format: Annotated[  # noqa: A002
        InputFormat | None,
        typer.Option("--format", help="The data's format, if its ending does not tell.", rich_help_panel=DATA),
    ] = None,
    zero_based: ZeroBased = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict labels for new rows.

    Every row of DATA gets its label, the path to it from the root (in a DAG
    the shortest), and the model's score. A model that learnt sets of labels
    gives every row its set: the deepest labels, best score first, none if it
    is empty; with --top-k, the K best instead. Scores compare the labels of
    one row and are no probabilities. Those of top-down say how far a label
    falls behind the one predicted, which itself always has 0; --top-k 2 shows
    how near the second came. Text columns are those of training unless --text
    says otherwise.
    """
    from cladist.cli.model_input import DataSource
    from cladist.cli.model_metadata import check_fits, completed, open_model
    from cladist.cli.terminal import Terminal

    fitted, notes = open_model(model, mmap=mmap, verify=verify)
    given = DataSource(data, format and format.value, tuple(text or ()), zero_based=zero_based)
    given.check_ending()
    source = completed(given, notes)
    check_fits(fitted, notes, source, model)
    source.check_columns()
    terminal = Terminal(json, quiet)
    started = time.perf_counter()
    # On standard output the answers themselves show how far it is.
    with terminal.bars() if out is not None else nullcontext():
        n_rows = predict_to(
            fitted,
            source,
            out,
            top_k=top_k,
            beam=beam,
            label_sep=notes.get("label_sep"),
            as_json=json,
            remark=terminal.remark,
            folder=model,
        )
    if out is not None:
        seconds = time.perf_counter() - started
        terminal.answer({"rows": n_rows, "seconds": seconds, "out": str(out)})
        terminal.remark(f"Predicted {n_rows:,} rows in {seconds:.1f} s; they are in {out}")
