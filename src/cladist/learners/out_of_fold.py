"""Scores of training rows by clones of a model that were not trained on them, for models of cladist and scikit-learn's.

A model is a learner of cladist, another classifier over nodes of a taxonomy, or a Pipeline that ends in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

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
ScoredRows = Callable[[], Iterator[tuple[Ids, Floats]]]  # each call yields all rows, some at a time
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


def fit_folds(
    estimators: Sequence[Any],
    X: Any,
    labels: LabelMatrix,
    class_nodes: Ids,
    *,
    folds: Folds,
    single: bool = False,
    n_jobs: int | None = None,
) -> ScoredRows:
    """Return a function that yields some rows at a time and their scores by clones trained on the other folds.

    Scores have the shape (estimators × rows × classes). A class that no row outside a fold has gets −inf in that fold:
    its clones were not trained on it. The result does not depend on `n_jobs`. Cost: a fit of each estimator per fold,
    whose clones are kept, so that rows can be scored again.
    """
    (X,) = indexable(X)

    def fit_fold(fold: tuple[Ids, Ids]) -> list[Any]:
        models = [clone(estimator) for estimator in estimators]
        for model in models:
            fit_to(model, _safe_split(model, X, None, fold[0])[0], labels[fold[0]], single=single)
        return models

    with without_label_warnings():
        fitted = list(checkpoints.scope("folds").each(executor_for(n_jobs), fit_fold, folds))

    def score() -> Iterator[tuple[Ids, Floats]]:
        for models, fold in zip(fitted, folds, strict=True):
            yield from scores_of_fold(models, X, labels, class_nodes, fold)

    return score


def scores_of_fold(
    models: Sequence[Any], X: Any, labels: LabelMatrix, class_nodes: Ids, fold: tuple[Ids, Ids]
) -> Iterator[tuple[Ids, Floats]]:
    """Yield the scores of a fold's rows by models trained on the others; see `fit_folds`."""
    others, held_out = fold
    is_known, first = np.isin(class_nodes, labels[others].indices), 0
    for part in pieces(_safe_split(models[0], X, None, held_out, others)[0], len(class_nodes) * len(models)):
        scores = scores_of_models(models, part, labels.taxonomy, class_nodes)
        scores[:, :, ~is_known] = -np.inf
        yield held_out[first : first + scores.shape[1]], scores
        first += scores.shape[1]


def refuse_many_scores(n_models: int, n_rows: int, n_classes: int) -> None:
    """Raise a `TooLargeError` if so many scores are above the limit of memory."""
    n_bytes = 8 * n_models * n_rows * n_classes
    if n_bytes > MOST_SCORE_BYTES:
        of_models = "" if n_models == 1 else f" by {n_models} models"
        raise TooLargeError(
            f"Out-of-fold scores of {n_rows} rows × {n_classes} classes{of_models} are {n_bytes / 2**30:.1f} GiB, "
            f"over the limit of {MOST_SCORE_BYTES / 2**30:.0f} GiB; fit a strategy of cladist.decoders.thresholds to "
            "the scores of fewer rows."
        )


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
    refuse_many_scores(1, n_rows, n_classes)
    all_scores = np.full((n_rows, n_classes), -np.inf)
    for rows, scores in fit_folds([estimator], X, labels, class_nodes, folds=folds, n_jobs=n_jobs)():
        all_scores[rows] = scores[0]
    return all_scores


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
    # Pipeline.transform makes a class at each call, which stays until garbage is collected: a server calls it often.
    for _, step in model.steps[:-1] if isinstance(model, Pipeline) else ():
        if hasattr(step, "transform"):  # "passthrough" and None have not, nor samplers of imbalanced-learn
            X = step.transform(X)
    return X
