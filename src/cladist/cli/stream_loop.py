"""A stream's work: predict a row, learn it where it has a label, write the prediction, save now and then.

What is learnt and what is noted as learnt are saved by one and the same switch of the model's folder. Whatever is lost
when the process dies, is lost from both, and from the written answers, which are cut back to what the save knows: so
the next run, on the same input, learns each row exactly once. A step that fails between learning rows and noting them
leaves a model that is ahead of its notes, and such a model is not saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cladist.cli.blank_rows import BlankRows
from cladist.cli.model_input import features_of, learner_of
from cladist.cli.stream_answers import Answers
from cladist.cli.stream_input import Consumed, Signals, chained, id_digest, line_batches
from cladist.cli.stream_rows import Reader, answer_of, growth, matrix_of, node_of
from cladist.errors import CladistError, DatasetError, ModelFormatError, ParameterError
from cladist.learners.online.base import OnlineClassifier
from cladist.learners.out_of_fold import transformed
from cladist.persistence.models import load_noted, save
from cladist.storage import lock_folder


@dataclass
class Streamed:
    """What a run did, for the summary."""

    rows: int = 0
    learnt: int = 0
    skipped: int = 0
    right: int = 0
    saves: int = 0
    stopped: bool = False


@dataclass
class Row:
    """One row: its line, what it is judged by, its id, and its labels if it has any."""

    line: bytes
    number: int
    value: Any
    id: Any
    labels: list[list[str]] | None
    grows: bool = False  # whether a label of it is not in the taxonomy yet

    @property
    def is_labelled(self) -> bool:
        """Whether it is to be learnt."""
        return self.labels is not None


class Stream:
    """A model, the stream that feeds it, and what it has consumed of it; no other process can write to the model."""

    def __init__(
        self,
        folder: Path,
        *,
        out: Path | None = None,
        text: tuple[str, ...] = (),
        label: str | None = None,
        id_column: str = "id",
        save_every: int = 10_000,
        grow: bool = False,
        new_input: bool = False,
        name: str = "standard input",
    ) -> None:
        if save_every < 1:
            raise ParameterError(f"--save-every must be at least 1; got {save_every!r}.")
        self.folder, self.save_every, self.grow = folder, save_every, grow
        self.done, self.unsaved, self.is_sound = Streamed(), 0, True
        with ExitStack() as opened:
            if folder.is_dir():  # what is no folder is no model, which reading it says
                opened.enter_context(lock_folder(folder))
            self._load(new_input)
            self.blank = BlankRows(self.model)
            self.reader = self._reader(text, label, id_column, name)
            self.answers = Answers(out, self.consumed.out, self.consumed.out_bytes)
            opened.callback(self.answers.close)
            self._opened = opened.pop_all()

    def _load(self, new_input: bool) -> None:
        from cladist.cli.model_metadata import check_notes

        folder = self.folder
        self.model, self.notes, arrays = load_noted(folder)
        check_notes(self.notes, folder)
        self.learner = learner_of(self.model)
        if not isinstance(self.learner, OnlineClassifier):
            kind = type(self.learner).__name__
            raise ModelFormatError(
                f"{folder} holds a {kind}, which does not learn row by row; train a model with --method hieron, h-rls "
                "or h-perc."
            )
        self.consumed = Consumed.of_notes(self.notes.get("stream"), arrays, folder)
        if new_input and self.consumed.rows:  # with none, it is the start of this very input that was cut short
            self.consumed.rows, self.consumed.digest = 0, b""
            self.consumed.out, self.consumed.out_bytes = None, 0
        self.saved_rows = self.consumed.rows
        self.carry_ids = self.consumed.by_id if self.consumed.rows else None  # None: the first row will tell

    def _reader(self, text: tuple[str, ...], label: str | None, id_column: str, name: str) -> Reader:
        columns = text or tuple(self.notes.get("text") or ())
        features = features_of(self.model)
        if features is None and not columns:
            raise ParameterError(f"{self.folder} does not say which text it learnt from; name it with --text KEY.")
        wanted = label or self.notes.get("label") or "label"
        separators = self.notes.get("label_sep"), self.notes.get("path_sep")
        return Reader(name, columns, wanted, *separators, id_column, features)

    # ---------------------------------------------------------------- running

    def run(self, fd: int) -> Streamed:
        """Consume the input to its end, or until a signal says stop; what was learnt and noted is saved in any case."""
        with Signals() as signals:
            try:
                for lines in self._unknown(line_batches(fd, signals)):
                    self._consume(lines, signals)
                    if signals.save:
                        signals.save = False
                        self._save()
                self.done.stopped = signals.stop
            finally:
                if self.is_sound:
                    if self.unsaved:
                        self._save()
                    self.answers.flush()
        self.blank.warn("line")
        return self.done

    def _unknown(self, batches: Any) -> Any:
        """Yield numbered lines, without the first ones if the model has consumed them and they carry no ids."""
        number, to_skip, digest = 0, self.consumed.rows, b""
        by_id = self.consumed.by_id
        for lines in batches:
            numbered = [(number + k, line) for k, line in enumerate(lines, 1) if line.strip()]
            number += len(lines)
            if to_skip and not by_id:
                for _, line in numbered[:to_skip]:
                    digest = chained(digest, line)
                passed = min(to_skip, len(numbered))
                to_skip, numbered = to_skip - passed, numbered[passed:]
                self.done.skipped += passed
                if not to_skip and digest != self.consumed.digest:
                    raise DatasetError(self._another_input())
            yield numbered
        if to_skip and not by_id and number:
            raise DatasetError(self._another_input())

    def _another_input(self) -> str:
        return (
            f"{self.reader.name} does not begin with the {self.consumed.rows:,} rows that the model has consumed; "
            "for another input add --new-input."
        )

    def _consume(self, numbered: list[tuple[int, bytes]], signals: Signals) -> None:
        """Consume some lines, stopping for a save wherever one is due."""
        at = 0
        while at < len(numbered) and not signals.stop:
            room = self.save_every - self.unsaved
            self._answer_all(*self._rows(numbered[at : at + room]))
            at += room
            if self.unsaved >= self.save_every:
                self._save()
        self.answers.flush()

    def _rows(self, numbered: list[tuple[int, bytes]]) -> tuple[list[Row], CladistError | None]:
        """Return the rows in some lines that the model has not consumed, up to one that is refused, and why it is."""
        rows: list[Row] = []
        ids: set[bytes] = set()
        for number, line in numbered:
            try:
                row = self._row(number, line)
            except CladistError as problem:
                return rows, problem
            known = None if row is None or row.id is None else id_digest(row.id)
            if row is None or known in ids:
                self.done.skipped += 1
                continue
            if known is not None:
                ids.add(known)
            rows.append(row)
        return rows, None

    def _row(self, number: int, line: bytes) -> Row | None:
        record = self.reader.record(line, number)
        row_id = self.reader.row_id(record, number)
        if self.carry_ids is None:
            self.carry_ids = row_id is not None
        if self.carry_ids == (row_id is None):
            these, others = ("no", "have one") if row_id is None else ("an", "have none")
            raise DatasetError(
                f"{self.reader.name}, line {number}: the row has {these} {self.reader.id!r}; those before it {others}."
            )
        if row_id is not None and self.consumed.knows(row_id):
            return None
        labels = self.reader.labels(record, number)
        unknown = [parts for parts in labels or [] if node_of(self.learner.taxonomy_, parts) is None]
        if unknown and not self.grow:
            said = (self.reader.path_sep or "/").join(unknown[0])
            near = self.learner.taxonomy_.suggestion(unknown[0][-1]).rstrip(".")
            raise DatasetError(
                f"{self.reader.name}, line {number}: the label {said!r} is not in the taxonomy{near}; --grow adds new "
                "labels as they come."
            )
        if labels is not None and not self.learner.label_form_.is_multi and len(labels) != 1:
            raise DatasetError(f"{self.reader.name}, line {number}: one label is wanted, and there are {len(labels)}.")
        return Row(line, number, self.reader.value(record, number), row_id, labels, bool(unknown))

    def _answer_all(self, rows: list[Row], problem: CladistError | None) -> None:
        """Answer rows in their order, alike ones together; a problem is raised once those before it are consumed."""
        start = 0
        while start < len(rows):
            end = start + 1
            while end < len(rows) and not rows[end].grows and rows[end].is_labelled == rows[start].is_labelled:
                end += 1
            self._answer(rows[start:end])
            start = end
        if problem is not None:
            raise problem

    # ---------------------------------------------------------------- one row after the other

    def _answer(self, rows: list[Row]) -> None:
        """Predict rows that all have labels, or all have none; learn the former; write what was predicted."""
        X = transformed(self.model, matrix_of([row.value for row in rows], self.reader.features))
        self.blank.note(X, [row.number for row in rows])
        new_nodes = self._new_nodes(rows[0])
        if self.answers.is_new:
            self._save()  # the file of answers is noted before there are any in it
        with self._wholly():
            for name, parent in new_nodes:
                self.learner.add_node(name, parent)
            found, right = self._predictions(X, rows)
            answers = [self._line(row, label) for row, label in zip(rows, found, strict=True)]
            self.answers.write(answers)
            for row in rows:
                self.consumed.add(row.line, row.id)
            self.unsaved += len(rows)
        self.done.rows += len(rows)
        self.done.right += right
        self.done.learnt += len(rows) if rows[0].is_labelled else 0

    @contextmanager
    def _wholly(self) -> Iterator[None]:
        """Do all of the block, or save no more: learnt and noted would not be the same rows."""
        self.is_sound = False
        try:
            yield
        except BaseException as problem:
            problem.add_note(
                f"The model in {self.folder} is that of its last save, which has consumed {self.saved_rows:,} rows; "
                "started again on the same input, the stream goes on from there."
            )
            raise
        self.is_sound = True

    def _predictions(self, X: Any, rows: list[Row]) -> tuple[list[Any], int]:
        """Return what is predicted for rows, and how often rightly; those with labels are learnt."""
        if not rows[0].is_labelled:
            return _listed(self.learner.predict(X), self.learner), 0
        names = [self._names(row) for row in rows]
        sets = self.learner.label_form_.is_multi
        found = self.learner.predict_then_learn(X, names if sets else [labels[0] for labels in names])
        listed = _listed(found, self.learner)
        said = [sorted(map(str, label)) if sets else [str(label)] for label in listed]
        return listed, sum(answer == sorted(labels) for answer, labels in zip(said, names, strict=True))

    def _line(self, row: Row, label: Any) -> bytes:
        answer = ({} if row.id is None else {"id": row.id}) | answer_of(label, self.learner.taxonomy_)
        return self.answers.encoded(answer | ({"learnt": True} if row.is_labelled else {}))

    def _new_nodes(self, row: Row) -> list[tuple[str, str | None]]:
        """Return the nodes that a row's labels lack, each with its parent; nothing is added yet."""
        if not row.grows:
            return []
        try:
            return growth(self.learner.taxonomy_, row.labels or [])
        except CladistError as problem:
            raise DatasetError(f"{self.reader.name}, line {row.number}: {problem}") from problem

    def _names(self, row: Row) -> list[str]:
        """Return a row's labels as predictions spell them."""
        taxonomy = self.learner.taxonomy_
        nodes = [node_of(taxonomy, parts) for parts in row.labels or []]
        return [self.learner.label_form_.spell(node, taxonomy) for node in nodes if node is not None]

    # ---------------------------------------------------------------- saving

    def _save(self) -> None:
        """Save the model and what it has consumed, once the answers up to here are on the disk."""
        with self._wholly():
            self.consumed.out, self.consumed.out_bytes = self.answers.settle()
            noted, arrays = self.consumed.noted()
            save(self.model, self.folder, notes={**self.notes, "stream": noted}, note_arrays=arrays)
        self.answers.is_new = False
        self.unsaved, self.saved_rows = 0, self.consumed.rows
        self.done.saves += 1

    def close(self) -> None:
        """Close the answers, if they are a file, and let others write to the model."""
        self._opened.close()


def _listed(found: Any, learner: Any) -> list[Any]:
    """Return predictions as labels, or as lists of them, one a row."""
    if learner.label_form_.is_multi:
        from cladist.labels import encode

        return learner.label_form_.spell_sets(encode(found, learner.taxonomy_).labels)
    return list(np.asarray(found, dtype=object))
