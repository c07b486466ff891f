"""The predictions of a model for rows as a caller gives them: labels, the paths to them, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cladist.errors import ParameterError
from cladist.learners.base import CHUNK_BYTES
from cladist.learners.out_of_fold import last_step, transformed
from cladist.learners.thresholded import Thresholded


class Prediction(NamedTuple):
    """One label for one row, the path to it from the root, and the model's score."""

    label: Any
    path: list[str]
    score: float


Predictor = Callable[[Any], Iterator[list[Prediction]]]  # rows as a learner takes them → the predictions of each
# Rows as they are read → what is written for each, and the positions of texts without a known word.
BatchPredictor = Callable[[Any], tuple[list[Any], Sequence[int]]]


def batch_predictor(model: Any, *, top_k: int | None = None, beam: int | None = None) -> BatchPredictor:
    """Return the function that predicts a batch; see `predict`."""
    learner = last_step(model)
    in_sets = top_k is None and predicts_sets(learner)
    if beam is not None and in_sets:
        raise ParameterError("A beam finds the best labels, and this model predicts sets of them; add --top-k K.")
    predictor = predict_sets(learner) if in_sets else predict_best(learner, top_k or 1, beam)

    def predict_batch(batch: Any) -> tuple[list[Any], Sequence[int]]:
        rows = transformed(model, batch)
        return list(predictor(rows)), find_blank(model, rows)

    return predict_batch


def predicts_sets(learner: Any) -> bool:
    """Return whether a learner's predictions are sets of labels."""
    return isinstance(learner, Thresholded) or bool(learner.decodes_sets)


def predict_best(learner: Any, top_k: int, beam: int | None) -> Predictor:
    """Return a function that yields the labels with the highest scores of each row."""
    taxonomy = learner.taxonomy_
    node_of = dict(zip(learner.classes_.tolist(), learner.class_nodes_.tolist(), strict=True))
    path_of = cache(lambda label: taxonomy.shortest_path_parts(node_of[label]))

    def predictor(rows: Any) -> Iterator[list[Prediction]]:
        best, scores = learner.predict_top_k(rows, top_k, beam=beam)
        for labels, values in zip(best.tolist(), scores.tolist(), strict=True):
            yield [Prediction(label, path_of(label), score) for label, score in zip(labels, values, strict=True)]

    return predictor


def predict_sets(learner: Any) -> Predictor:
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
    if not names:
        yield from repeat((), rows.shape[0])
        return
    size = max(1, CHUNK_BYTES // (8 * len(names)))
    for start in range(0, rows.shape[0], size):
        yield from learner.decision_function(rows[start : start + size], nodes=names)


def find_blank(model: Any, X: Any) -> Sequence[int]:
    """Return the rows, as the learner gets them, of texts without a word that a model knows; none of numbers."""
    if hasattr(model, "n_features_in_"):
        return ()
    sums = abs(sparse.csr_array(X)).sum(axis=1)
    positions: list[int] = np.flatnonzero(np.asarray(sums).ravel() == 0).tolist()
    return positions
