"""Scores of training rows by clones of a model that were not trained on them, for models of cladist and scikit-learn's.

A model is a learner of cladist, another classifier over nodes of a taxonomy, or a Pipeline that ends in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from cladist import checkpoints
from cladist.errors import ParameterError, TooLargeError, is_count
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.base import CHUNK_BYTES, MOST_SCORE_BYTES, random_generator
from cladist.learners.label_warnings import without_label_warnings
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Folds = list[tuple[Ids, Ids]]  # of each fold, all other rows and its own
ReducedT = TypeVar("ReducedT")
LEAST_PROBABILITY = np.finfo(np.float64).tiny


def check_folds(who: str, cv: Any) -> None:
    """Refuse a number of folds that is not a whole number from 2 up."""
    if not is_count(cv) or cv < 2:
        raise ParameterError(f"{who}: cv must be a whole number from 2 up; got {cv!r}.")


def random_folds(who: str, n_rows: int, cv: int, random_state: Any) -> Folds:
    """Return random folds of the rows, not stratified."""
    from sklearn.model_selection import KFold  # slow to import

    if n_rows < cv:
        raise ParameterError(f"{who}: cv={cv} folds need as many rows; there are {n_rows}.")
    random = random_generator(who, random_state)
    return list(KFold(cv, shuffle=True, random_state=random).split(np.empty(n_rows)))


def reduce_out_of_fold(
    estimators: Sequence[Any],
    X: Any,
    labels: LabelMatrix,
    class_nodes: Ids,
    reduce: Callable[[Floats, Ids], ReducedT],
    *,
    folds: Folds,
    single: bool = False,
    n_jobs: int | None = None,
) -> list[tuple[Ids, ReducedT]]:
    """Return ``reduce(scores, rows)`` for pieces of rows, with these rows, scored by clones trained on other folds.

    Scores have the shape (estimators × rows × classes). A class that no row outside a fold has gets −inf in that fold:
    its clones were not trained on it. The result does not depend on `n_jobs`. Cost: a fit of each estimator per fold.
    """
    (X,) = indexable(X)
    models = [[clone(estimator) for estimator in estimators] for _ in folds]

    def score_fold(k: int) -> list[tuple[Ids, ReducedT]]:
        rows, held_out = folds[k]
        is_known = np.isin(class_nodes, labels[rows].indices)
        for model in models[k]:
            fit_to(model, _safe_split(model, X, None, rows)[0], labels[rows], single=single)
        reduced, first = [], 0
        for part in pieces(_safe_split(models[k][0], X, None, held_out, rows)[0], len(class_nodes) * len(estimators)):
            scores = scores_of_models(models[k], part, labels.taxonomy, class_nodes)
            scores[:, :, ~is_known] = -np.inf
            own = held_out[first : first + scores.shape[1]]
            reduced.append((own, reduce(scores, own)))
            first += scores.shape[1]
        return reduced

    with without_label_warnings():
        scored = checkpoints.scope("folds").each(executor_for(n_jobs), score_fold, range(len(folds)))
        return [part for fold in scored for part in fold]


def out_of_fold_scores(
    estimator: Any,
    X: Any,
    labels: LabelMatrix,
    class_nodes: Ids,
    *,
    folds: Folds,
    n_jobs: int | None = None,
) -> Floats:
    """Return the out-of-fold scores of all rows and classes; above the limit of memory a `TooLargeError`."""
    n_rows, n_classes = len(labels), len(class_nodes)
    if 8 * n_rows * n_classes > MOST_SCORE_BYTES:
        raise TooLargeError(
            f"Out-of-fold scores of {n_rows} rows × {n_classes} classes are {8 * n_rows * n_classes / 2**30:.1f} GiB, "
            f"over the limit of {MOST_SCORE_BYTES / 2**30:.0f} GiB; fit a strategy of cladist.decoders.thresholds to "
            "the scores of fewer rows."
        )
    all_scores = np.full((n_rows, n_classes), -np.inf)
    parts = reduce_out_of_fold([estimator], X, labels, class_nodes, _all_scores, folds=folds, n_jobs=n_jobs)
    for rows, scores in parts:
        all_scores[rows] = scores
    return all_scores


def _all_scores(scores: Floats, rows: Ids) -> Floats:
    return scores[0]


# -------------------------------------------------------------------- one model


def is_ours(model: Any) -> bool:
    """Tell whether a model is, or ends in, a learner of cladist or one that a package adds."""
    learner = last_step(model)
    return hasattr(learner, "taxonomy") and hasattr(type(learner), "decision_function")


def fit_to(model: Any, X: Any, labels: LabelMatrix, *, single: bool) -> None:
    """Train a model on labels of a taxonomy, which all its clones then share."""
    if not single:
        # As a LabelMatrix, y brings the whole taxonomy along: labels outside the fold keep their places.
        model.fit(X, labels)
        return
    names = np.array(labels.taxonomy.names, dtype=object)[labels.nodes(type(last_step(model)).__name__)]
    if is_ours(model):
        last_step(model).set_params(taxonomy=labels.taxonomy)
    model.fit(X, names)


def node_scores(model: Any, X: Any, taxonomy: Taxonomy) -> tuple[npt.NDArray[Any], Ids]:
    """Return one score per class, even of two classes, and the classes' nodes, ascending."""
    learner = last_step(model)
    if is_ours(model):
        nodes = learner.class_nodes_
        if learner.taxonomy_ is not taxonomy and learner.taxonomy_ != taxonomy:
            nodes = _find_nodes([learner.taxonomy_.names[v] for v in nodes], taxonomy)
        scores = class_scores(model, X)
    else:
        nodes, scores = _find_nodes(learner.classes_, taxonomy), _foreign_scores(model, X)
    order = np.argsort(nodes)
    return (scores, nodes) if np.all(order[1:] > order[:-1]) else (scores[:, order], nodes[order])


def scores_of_models(models: Sequence[Any], X: Any, taxonomy: Taxonomy, class_nodes: Ids) -> Floats:
    """Return the scores of classes by each model (models × rows × classes); −inf of a class that a model has not."""
    column_of = np.full(taxonomy.n_nodes, -1, np.int64)
    column_of[class_nodes] = np.arange(len(class_nodes))
    result = np.full((len(models), _num_samples(X), len(class_nodes)), -np.inf)
    for k, model in enumerate(models):
        scores, nodes = node_scores(model, X, taxonomy)
        known = column_of[nodes] >= 0  # a clone may have others, where all labels below a node are in its fold
        result[k][:, column_of[nodes[known]]] = scores[:, known]
    return result


def find_class_nodes(model: Any, taxonomy: Taxonomy) -> Ids:
    """Return the nodes of a fitted model's classes, ascending."""
    learner = last_step(model)
    if is_ours(model) and learner.taxonomy_ == taxonomy:
        return np.asarray(learner.class_nodes_)
    return np.sort(_find_nodes(learner.classes_, taxonomy))


def _find_nodes(classes: Any, taxonomy: Taxonomy) -> Ids:
    return np.array([taxonomy.index(name) for name in classes], dtype=np.int64)


def _foreign_scores(model: Any, X: Any) -> Floats:
    """Return the scores of another library's classifier: decisions if it has them, or log-probabilities."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        return np.stack([-scores / 2, scores / 2], axis=1) if scores.ndim == 1 else scores
    if hasattr(model, "predict_proba"):
        return np.log(np.maximum(model.predict_proba(X), LEAST_PROBABILITY))
    raise ParameterError(f"{type(last_step(model)).__name__} has neither decision_function nor predict_proba to score.")


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
