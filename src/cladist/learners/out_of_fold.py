"""Out-of-fold scores: training rows scored by models that were not trained on them, for a second stage to train on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from cladist.errors import TooLargeError
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.base import CHUNK_BYTES, MOST_SCORE_BYTES
from cladist.learners.label_warnings import without_label_warnings

Ids = npt.NDArray[np.int64]
Fold = tuple[Any, Ids, Ids]  # a model to fit, its rows, the rows held out


def out_of_fold_scores(
    estimator: Any,
    X: Any,
    labels: LabelMatrix,
    class_nodes: Ids,
    *,
    cv: int,
    random: np.random.RandomState,
    n_jobs: int | None = None,
) -> npt.NDArray[np.float64]:
    """Return the scores of every row by a clone of the estimator that was trained on the other folds.

    A class that no row outside a fold has gets −inf in that fold: its clone was not trained on it.
    The result does not depend on `n_jobs`. Cost: cv fits. Memory: the scores; above the limit a `TooLargeError`.

    Parameters
    ----------
    estimator : learner, or Pipeline that ends in one
    X : rows, as the estimator takes them
    labels : LabelMatrix
    class_nodes : array of node ids
        The columns of the result.
    cv : int
        Number of random folds.
    random : RandomState
        For the folds.
    n_jobs : int or None
        Threads that fit folds in parallel.

    Examples
    --------
    >>> from cladist import Hieron, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["a", "b"])
    >>> labels = LabelMatrix.from_sets([["a"], ["b"]] * 3 + [["a"]], taxonomy)
    >>> X = [[1.0, 0.0], [0.0, 1.0]] * 3 + [[1.0, 0.0]]
    >>> random = np.random.RandomState(0)
    >>> scores = out_of_fold_scores(Hieron(random_state=0), X, labels, np.arange(2), cv=3, random=random)
    >>> scores.argmax(axis=1).tolist()
    [0, 1, 0, 1, 0, 1, 0]
    """
    (X,) = indexable(X)
    all_scores = _allocate_scores(len(labels), len(class_nodes))
    splits = KFold(cv, shuffle=True, random_state=random).split(all_scores)
    folds: list[Fold] = [(clone(estimator), rows, held_out) for rows, held_out in splits]

    def score_fold(fold: Fold) -> tuple[npt.NDArray[Any], Ids]:
        model, rows, held_out = fold
        # As a LabelMatrix, y brings the whole taxonomy along: labels outside the fold keep their places.
        model.fit(_safe_split(model, X, None, rows)[0], labels[rows])
        return class_scores(model, _safe_split(model, X, None, held_out, rows)[0]), last_step(model).class_nodes_

    column_of = np.full(labels.taxonomy.n_nodes, -1, np.int64)
    column_of[class_nodes] = np.arange(len(class_nodes))
    fold_scores = executor_for(n_jobs).map(score_fold, folds)
    with without_label_warnings():
        for (_, rows, held_out), (scores, nodes) in zip(folds, fold_scores, strict=True):
            # A clone may have other classes, where all labels below a node are in the fold.
            known = (column_of[nodes] >= 0) & np.isin(nodes, labels[rows].indices)
            all_scores[np.ix_(held_out, column_of[nodes[known]])] = scores[:, known]
    return all_scores


def class_scores(model: Any, X: Any) -> npt.NDArray[Any]:
    """Return one score per class, even for two classes, for which `decision_function` alone has one column."""
    learner = last_step(model)
    names = [learner.taxonomy_.names[v] for v in learner.class_nodes_]
    return np.asarray(learner.decision_function(transformed(model, X), nodes=names))


def pieces(X: Any, n_classes: int) -> Iterator[Any]:
    """Yield the rows in pieces whose scores take little memory."""
    n_rows, size = _num_samples(X), max(1, CHUNK_BYTES // (8 * n_classes))
    if n_rows <= size:
        yield X
        return
    (X,) = indexable(X)
    for first in range(0, n_rows, size):
        yield _safe_indexing(X, slice(first, min(first + size, n_rows)))


def last_step(model: Any) -> Any:
    """Return the learner: the last step of a Pipeline, or the model itself."""
    return model[-1] if isinstance(model, Pipeline) else model


def transformed(model: Any, X: Any) -> Any:
    """Return rows as the last step of a Pipeline takes them."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X


def _allocate_scores(n_rows: int, n_classes: int) -> npt.NDArray[np.float64]:
    """Return an array of −inf, if it is within the limit of size."""
    needed = n_rows * n_classes * 8
    if needed > MOST_SCORE_BYTES:
        raise TooLargeError(
            f"Out-of-fold scores of {n_rows} rows × {n_classes} classes are {needed / 2**30:.1f} GiB, over the limit "
            f"of {MOST_SCORE_BYTES / 2**30:.0f} GiB; fit a strategy of cladist.decoders.thresholds to the scores of "
            "fewer rows."
        )
    return np.full((n_rows, n_classes), -np.inf)
