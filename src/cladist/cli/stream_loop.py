"""The loop of a stream: predict a row, train on it if it has a label, write the prediction, save now and then.

The model and the record of consumed rows are saved by one atomic switch of the model's folder. What is lost when the
process dies is lost from both, and written predictions are cut back to those that the save knows: the next run on the
same input trains on each row exactly once. A step that fails between training on rows and recording them leaves a model
that is ahead of its record, and such a model is not saved.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cladist.cli.input import check_notes, features_of, learner_of
from cladist.cli.predict import BlankRows
from cladist.cli.stream_files import (
    Answers,
    Consumed,
    Reader,
    Signals,
    chain_digest,
    find_node,
    line_batches,
    missing_nodes,
    record_signals,
    to_answer,
    to_matrix,
)
from cladist.errors import CladistError, DatasetError, ModelFormatError, ParameterError
from cladist.labels import encode
from cladist.learners.online.base import OnlineClassifier
from cladist.learners.out_of_fold import transformed
from cladist.learners.predictions import find_blank
from cladist.persistence.models import load_noted, save
from cladist.storage import lock_folder


@dataclass
class Counts:
    """The numbers of a run, for its summary."""

    rows: int = 0
    trained: int = 0
    skipped: int = 0
    right: int = 0
    saves: int = 0
    stopped: bool = False


@dataclass
class Row:
    """One row: its line and number, the text or numbers to predict from, its id, and its labels if it has any."""

    line: bytes
    number: int
    value: Any
    id: Any
    labels: list[list[str]] | None
    grows: bool = False  # whether one of its labels is not in the taxonomy yet


class Stream:
    """A model, its input, and the record of consumed rows; no other process can write to the model meanwhile."""

    def __init__(
        self,
        folder: Path,
        data: str,
        *,
        out: Path | None = None,
        text: Sequence[str] = (),
        label: str | None = None,
        id_column: str = "id",
        save_every: int = 10_000,
        grow: bool = False,
        new_input: bool = False,
    ) -> None:
        """Open the model, the input ("-": standard input) and the file of predictions; `close` closes them."""
        self.folder, self.save_every, self.grow = folder, save_every, grow
        self.counts, self.unsaved, self.is_sound = Counts(), 0, True
        with ExitStack() as resources:
            self.fd = 0 if data == "-" else os.open(data, os.O_RDONLY)
            if self.fd:
                resources.callback(os.close, self.fd)
            if folder.is_dir():  # otherwise loading it reports that it is not a model
                resources.enter_context(lock_folder(folder))
            self._load(new_input)
            self.blank = BlankRows()
            name = "standard input" if data == "-" else data
            self.reader = self._reader(tuple(text), label, id_column, name)
            self.answers = Answers(out, self.consumed.out, self.consumed.out_bytes)
            resources.callback(self.answers.close)
            self.close = resources.pop_all().close

    def _load(self, new_input: bool) -> None:
        self.model, self.notes, arrays = load_noted(self.folder)
        check_notes(self.notes, self.folder)
        self.learner = learner_of(self.model)
        if not isinstance(self.learner, OnlineClassifier):
            raise ModelFormatError(
                f"{self.folder} holds a {type(self.learner).__name__}, which cannot be trained row by row; train a "
                "model with --method hieron, h-rls or h-perc."
            )
        self.consumed = Consumed.from_notes(self.notes.get("stream"), arrays, self.folder)
        if new_input and self.consumed.rows:  # without rows, an earlier run of this very input was interrupted
            self.consumed = Consumed(old_ids=self.consumed.old_ids)  # another input, but the same ids
        self.saved_rows = self.consumed.rows
        self.has_ids = self.consumed.has_ids if self.consumed.rows else None  # None: the first row decides

    def _reader(self, text: tuple[str, ...], label: str | None, id_column: str, name: str) -> Reader:
        columns = text or tuple(self.notes.get("text") or ())
        n_features = features_of(self.model)
        if n_features is None and not columns:
            raise ParameterError(f"{self.folder} has no note of its text columns; name them with --text KEY.")
        separators = self.notes.get("label_sep"), self.notes.get("path_sep")
        return Reader(name, columns, label or self.notes.get("label") or "label", *separators, id_column, n_features)

    def run(self) -> Counts:
        """Consume the input to its end, or until a signal to stop; recorded rows are saved in any case."""
        with record_signals() as signals:
            try:
                for lines in self._skip_consumed(line_batches(self.fd, signals)):
                    self._consume(lines, signals)
                    if signals.save:
                        signals.save = False
                        self._save()
                self.counts.stopped = signals.stop
            finally:
                if self.is_sound:
                    if self.unsaved:
                        self._save()
                    self.answers.file.flush()
        self.blank.warn("line")
        return self.counts

    def _skip_consumed(self, batches: Iterable[list[bytes]]) -> Iterator[list[tuple[int, bytes]]]:
        """Yield numbered lines, without the first ones if the model has consumed them and they carry no ids."""
        number, digest = 0, b""
        to_skip = 0 if self.consumed.has_ids else self.consumed.rows
        for lines in batches:
            numbered = [(number + k, line) for k, line in enumerate(lines, 1) if line.strip()]
            number += len(lines)
            if to_skip:
                for _, line in numbered[:to_skip]:
                    digest = chain_digest(digest, line)
                n_skipped = min(to_skip, len(numbered))
                to_skip, numbered = to_skip - n_skipped, numbered[n_skipped:]
                self.counts.skipped += n_skipped
                if not to_skip and digest != self.consumed.digest:
                    raise self._another_input()
            yield numbered
        if to_skip and number:
            raise self._another_input()

    def _another_input(self) -> DatasetError:
        return DatasetError(
            f"{self.reader.name} does not begin with the {self.consumed.rows:,} rows that the model has consumed; "
            "for another input add --new-input."
        )

    def _consume(self, numbered: list[tuple[int, bytes]], signals: Signals) -> None:
        """Consume lines, with a save whenever one is due."""
        start = 0
        while start < len(numbered) and not signals.stop:
            n_lines = self.save_every - self.unsaved
            self._process(numbered[start : start + n_lines])
            start += n_lines
            if self.unsaved >= self.save_every:
                self._save()
        self.answers.file.flush()

    def _process(self, numbered: list[tuple[int, bytes]]) -> None:
        """Process the rows in lines, consecutive ones of a kind together; those before one that is refused as well."""
        rows: list[Row] = []
        ids: set[str] = set()
        for number, line in numbered:
            try:
                row = self._parse_row(number, line)
            except CladistError:
                self._process_alike(rows)
                raise
            if row is None or (row.id is not None and repr(row.id) in ids):
                self.counts.skipped += 1
                continue
            ids.add(repr(row.id))
            if rows and (row.grows or (row.labels is None) != (rows[0].labels is None)):
                self._process_alike(rows)
                rows = []
            rows.append(row)
        self._process_alike(rows)

    def _parse_row(self, number: int, line: bytes) -> Row | None:
        """Return the row in a line, or None if the model has consumed it."""
        record = self.reader.record(line, number)
        row_id = self.reader.row_id(record, number)
        if self.has_ids is None:
            self.has_ids = row_id is not None
        if self.has_ids == (row_id is None):
            this, others = ("no", "have one") if row_id is None else ("an", "have none")
            raise self.reader.error(number, f"the row has {this} {self.reader.id!r}; those before it {others}.")
        if row_id is not None and self.consumed.knows(row_id):
            return None
        labels = self.reader.labels(record, number)
        unknown = [parts for parts in labels or [] if find_node(self.learner.taxonomy_, parts) is None]
        if unknown and not self.grow:
            name = (self.reader.path_sep or "/").join(unknown[0])
            near = self.learner.taxonomy_.suggestion(unknown[0][-1]).rstrip(".")
            problem = f"the label {name!r} is not in the taxonomy{near}; --grow adds new labels."
            raise self.reader.error(number, problem)
        if labels is not None and not self.learner.label_form_.is_multi and len(labels) != 1:
            raise self.reader.error(number, f"one label is wanted, and there are {len(labels)}.")
        return Row(line, number, self.reader.value(record, number), row_id, labels, bool(unknown))

    def _process_alike(self, rows: list[Row]) -> None:
        """Predict rows that all have labels or all have none, train on the former, and write the predictions."""
        if not rows:
            return
        X = transformed(self.model, to_matrix([row.value for row in rows], self.reader.n_features))
        self.blank.add(find_blank(self.model, X), [row.number for row in rows])
        try:
            new_nodes = missing_nodes(self.learner.taxonomy_, rows[0].labels or [])  # of other rows, none are missing
        except CladistError as error:
            raise self.reader.error(rows[0].number, str(error)) from error
        if self.answers.is_new:
            self._save()  # the file of predictions is recorded before anything is written to it
        with self._all_or_unsound():
            for name, parent in new_nodes:
                self.learner.add_node(name, parent)
            labels, n_right = self._predict(X, rows)
            lines = [self._answer(row, label) for row, label in zip(rows, labels, strict=True)]
            self.answers.file.write(b"".join(lines))
            for row in rows:
                self.consumed.add(row.line, row.id)
            self.unsaved += len(rows)
        self.counts.rows += len(rows)
        self.counts.right += n_right
        self.counts.trained += 0 if rows[0].labels is None else len(rows)

    @contextmanager
    def _all_or_unsound(self) -> Iterator[None]:
        """Complete the block, or save nothing more: the model and the record of rows would differ."""
        self.is_sound = False
        try:
            yield
        except BaseException as error:
            error.add_note(
                f"The model in {self.folder} is that of its last save, which has consumed {self.saved_rows:,} rows; "
                "started again on the same input, the stream continues from there."
            )
            raise
        self.is_sound = True

    def _predict(self, X: Any, rows: list[Row]) -> tuple[list[Any], int]:
        """Return the predictions and the number of correct ones; rows with labels are trained on."""
        form, taxonomy = self.learner.label_form_, self.learner.taxonomy_
        if rows[0].labels is None:
            return self._to_list(self.learner.predict(X)), 0
        nodes = [[find_node(taxonomy, parts) for parts in row.labels or []] for row in rows]
        labels = [[form.spell(node, taxonomy) for node in row if node is not None] for row in nodes]
        y = labels if form.is_multi else [names[0] for names in labels]
        predictions = self._to_list(self.learner.predict_then_learn(X, y))
        names = [sorted(map(str, label)) if form.is_multi else [str(label)] for label in predictions]
        return predictions, sum(a == sorted(b) for a, b in zip(names, labels, strict=True))

    def _to_list(self, predictions: Any) -> list[Any]:
        """Return one label, or one list of labels, per row."""
        form = self.learner.label_form_
        if form.is_multi:
            return list(form.spell_sets(encode(predictions, self.learner.taxonomy_).labels))
        return list(np.asarray(predictions, dtype=object))

    def _answer(self, row: Row, label: Any) -> bytes:
        answer = ({} if row.id is None else {"id": row.id}) | to_answer(label, self.learner.taxonomy_)
        return self.answers.encode(answer | ({} if row.labels is None else {"trained": True}))

    def _save(self) -> None:
        """Save the model and the record of consumed rows, after the predictions up to here are on the disk."""
        with self._all_or_unsound():
            self.consumed.out, self.consumed.out_bytes = self.answers.sync()
            record, arrays = self.consumed.to_notes()
            save(self.model, self.folder, notes={**self.notes, "stream": record}, note_arrays=arrays)
        self.answers.is_new = False
        self.unsaved, self.saved_rows = 0, self.consumed.rows
        self.counts.saves += 1
