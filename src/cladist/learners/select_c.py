"""The choice of C, and of `sharing`, by cross-validation on the training rows: ``C="cv"``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from cladist import progress
from cladist.errors import ParameterError
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.label_warnings import without_label_warnings
from cladist.metrics import micro_f1

GRID = tuple(10.0**k for k in range(-3, 4))  # as in Gopal & Yang 2013
SHARINGS = (1.0, 0.1, 0.0)  # what sharing="cv" chooses from: the paper's, a little, nothing
FOLDS = 5
MOST_STATE_BYTES = 2**30  # α of all folds; beyond, each C is solved from scratch
PATIENCE = 2  # values of C in a row without a gain that end the search: large values cost most
Folds = list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
Choice = tuple[float, list[dict[str, float]]]  # C, and for each value tried `C`, `score`, `standard_error`


def choose_C(model: Any, X: Any, labels: LabelMatrix, weights: Any) -> float:  # noqa: N802 - the papers' letter
    """Return the C to train with; with ``C="cv"`` search for it and set `C_` and `cv_results_`."""
    for name in ("C_", "cv_results_"):  # of an earlier fit
        vars(model).pop(name, None)
    if not isinstance(model.C, str):
        return float(model.C)
    model.C_, model.cv_results_ = search_C(model, X, labels, weights)
    return float(model.C_)


def choose_C_and_sharing(model: Any, X: Any, labels: LabelMatrix, weights: Any) -> float:  # noqa: N802
    """Return the C to train with; with ``sharing="cv"`` search for both and set `sharing_`, `C_`, `cv_results_`."""
    if not isinstance(model.sharing, str):
        return choose_C(model, X, labels, weights)
    grid = GRID if isinstance(model.C, str) else (float(model.C),)
    folds = folds_of(model, X.shape[0])  # the same for all, even if random_state is a generator
    searches = []
    for sharing in SHARINGS:
        C, results = search_C(model, X, labels, weights, grid, folds=folds, sharing=sharing)
        best = max(entry["score"] for entry in results)
        searches.append((best, sharing, C, [{**entry, "sharing": sharing} for entry in results]))
    _, model.sharing_, model.C_, _ = max(searches, key=lambda search: search[0])  # the first of equals
    model.cv_results_ = [entry for *_, results in searches for entry in results]
    return float(model.C_)


def pack_choice(model: Any) -> dict[str, Any]:
    """Return the result of a search as plain values of a model file."""
    return {"C": getattr(model, "C_", None), "cv_results": getattr(model, "cv_results_", None)}


def unpack_choice(model: Any, state: dict[str, Any]) -> None:
    """Set `C_` and `cv_results_` as `pack_choice` returned them."""
    if state.get("C") is not None:
        model.C_, model.cv_results_ = float(state["C"]), state["cv_results"]


def folds_of(model: Any, n_rows: int) -> Folds:
    """Return the training rows and the held-out rows of each fold."""
    from sklearn.model_selection import KFold  # slow to import

    n_folds = min(FOLDS, n_rows)
    if n_folds < 2:
        raise ParameterError(f"{type(model).__name__}: choosing by 'cv' needs two rows at least; there is {n_rows}.")
    given = np.random.RandomState(0) if model.random_state is None else model.random_state
    random = random_generator(type(model).__name__, given)
    return list(KFold(n_folds, shuffle=True, random_state=random).split(np.arange(n_rows)))


def search_C(  # noqa: N802
    model: Any,
    X: Any,
    labels: LabelMatrix,
    weights: Any,
    Cs: Sequence[float] = GRID,
    *,
    folds: Folds | None = None,
    **others: Any,
) -> Choice:
    """Return the C of highest mean micro F1 over folds of the rows, the smallest of equals.

    Single labels: accuracy, which is the same. All folds go up the grid together, each from its last solution, until
    two values of C in a row are no better than the best before, once that has risen by a standard error. `others` are
    values of other parameters of the model.
    """
    folds = folds_of(model, X.shape[0]) if folds is None else folds
    paths = [_fold_path(model, X, labels, weights, rows, Cs, others) for rows, _ in folds]
    results: list[dict[str, float]] = []
    with progress.task("choosing C", len(Cs)) as running, without_label_warnings():
        for C in Cs:
            scores = [
                _score(next(path), X[held_out], labels[held_out])
                for path, (_, held_out) in zip(paths, folds, strict=True)
            ]
            error = float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
            score = round(float(np.mean(scores)), 12)  # equal means stay equal in whatever order they are summed
            results.append({"C": C, "score": score, "standard_error": error})
            running.advance()
            if is_past(results):
                break
    return max(results, key=lambda entry: entry["score"])["C"], results


def _fold_path(
    model: Any, X: Any, labels: LabelMatrix, weights: Any, rows: Any, Cs: Sequence[float], others: dict[str, Any]
) -> Iterator[Any]:
    """Yield the model fitted to some rows, for each C of the grid."""
    # As a LabelMatrix, y brings the whole taxonomy along: labels outside the fold keep their places.
    inner = clone(model).set_params(decode="multi" if model.decodes_sets else "single", verbose=0, **others)
    parts = X[rows], labels[rows]
    part_weights = None if weights is None else weights[rows]
    n_labels = len(np.unique(labels.frontier[1]))
    if hasattr(inner, "C_path") and FOLDS * X.shape[0] * n_labels * 4 <= MOST_STATE_BYTES:
        return inner.C_path(*parts, Cs, part_weights)
    return (clone(inner).set_params(C=C).fit(*parts, sample_weight=part_weights) for C in Cs)


def _score(model: Any, X: Any, labels: LabelMatrix) -> float:
    predicted = model.predict(X)
    if model.decodes_sets:
        return float(micro_f1(labels, predicted, labels.taxonomy, nodes="all"))
    return float(np.mean(predicted.nodes("C='cv'") == labels.nodes("C='cv'")))


def is_past(results: list[dict[str, float]]) -> bool:
    """Tell whether the last two values of C gained nothing, after some value has gained something."""
    best = max(results, key=lambda entry: entry["score"])
    rose = best["score"] > results[0]["score"] + results[0]["standard_error"]
    return rose and len(results) - results.index(best) > PATIENCE
