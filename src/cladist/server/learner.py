"""`Learning`: a model that learns the corrections of a log in their order, so that the log alone says what it knows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from cladist.errors import DatasetError, LabelError, ParameterError
from cladist.learners.online.base import OnlineClassifier
from cladist.learners.out_of_fold import transformed
from cladist.server.feedback_log import FeedbackLog, Position, Record
from cladist.server.served import ServedModel

LOGGER = logging.getLogger("cladist.server")
BATCH = 1000  # records learnt together
NOTE = "feedback"  # the note of a model about the logs it has learnt from


def is_online(model: ServedModel) -> bool:
    """Return whether a model can learn from single rows."""
    return isinstance(model.learner, OnlineClassifier) and hasattr(model.learner, "partial_fit")


def content_of(
    model: ServedModel,
    given_id: str,
    labels: Sequence[str],
    *,
    text: str | None = None,
    row: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a correction as the log holds it; one that no model of this kind could learn is refused.

    A correction is about a text, or about a row of values.
    """
    taxonomy, form = model.learner.taxonomy_, model.learner.label_form_
    if (text is None) == (row is None):
        raise ParameterError("Send either `text` or `row`.")
    inputs_of(model, [{"text": text} if row is None else {"row": row}])
    if not form.is_multi and len(labels) != 1:
        raise LabelError(f"The model has one label per row; send one label instead of {len(labels)}.")
    nodes = [taxonomy.find(label) for label in labels]
    for label, v in zip(labels, nodes, strict=True):
        if v is None:
            raise LabelError(f"The taxonomy has no node {label[:80]!r}{taxonomy.suggestion(label)}")
    names = sorted({taxonomy.names[v] for v in nodes if v is not None})
    about = {"text": text} if row is None else {"row": row}
    return {"id": given_id, "labels": names, **about}


def inputs_of(model: ServedModel, contents: Sequence[dict[str, Any]]) -> Any:
    """Return the rows that corrections are about, as the model takes them."""
    if model.n_features is not None:
        if any(content.get("row") is None for content in contents):
            raise DatasetError("The model was trained on numbers; send `row`, an object of value by feature.")
        return model.matrix_of([content["row"] for content in contents])
    texts = []
    for content in contents:
        text = content.get("text")
        texts.append(model.texts_of([content["row"]])[0] if text is None else text)
    return np.array(texts, dtype=object)


class Learning:
    """A model and its place in a log of corrections.

    Parameters
    ----------
    model : ServedModel
        It is trained in place, if it can be.
    log : FeedbackLog
    """

    def __init__(self, model: ServedModel, log: FeedbackLog) -> None:
        self.model, self.log, self.is_online = model, log, is_online(model)
        self.note = model.notes.get(NOTE)
        self.position: Position | None = None
        self.n_learnt, self.n_refused = 0, 0
        self.refused: set[int] = set()

    @property
    def sequence(self) -> int:
        """The number of the last record that was learnt, or could not be."""
        return 0 if self.position is None else self.position.sequence

    def catch_up(self) -> int:
        """Learn the records that the log holds by now, in their order, and return how many there were."""
        if not self.is_online:
            return 0
        if self.position is None:
            if not self.log.size:
                return 0
            self.position = self.log.position(self.note)
        if self.log.size <= self.position.offset:
            return 0
        count = 0
        for records in _batches(self.log.read(self.position)):
            self._learn(records)
            count += len(records)
        return count

    def notes(self) -> dict[str, Any]:
        """Return the notes of the model as it is now."""
        if self.position is None:
            return self.model.notes
        return {**self.model.notes, NOTE: self.log.note(self.note, self.position)}

    def _learn(self, records: Sequence[Record]) -> None:
        """Learn records together, and if one of them cannot be learnt, each by itself."""
        try:
            self._train(records)
            self.n_learnt += len(records)
        except ValueError:  # raised by validation, before anything is learnt
            if len(records) == 1:
                self._refuse(records)
                return
            for record in records:
                self._learn([record])
        except Exception:
            LOGGER.exception("The model failed to learn corrections from number %d on", records[0].sequence)
            self._refuse(records)

    def _refuse(self, records: Sequence[Record]) -> None:
        self.n_refused += len(records)
        self.refused |= {record.sequence for record in records}

    def _train(self, records: Sequence[Record]) -> None:
        learner = self.model.learner
        contents = [record.content for record in records]
        X = transformed(self.model.model, inputs_of(self.model, contents))
        taxonomy, form = learner.taxonomy_, learner.label_form_
        sets = [{form.spell(taxonomy.index(name), taxonomy) for name in content["labels"]} for content in contents]
        learner.partial_fit(X, sets if form.is_multi else [next(iter(labels)) for labels in sets])
        self.model.forget_classes()


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    while batch := list(islice(records, BATCH)):
        yield batch
