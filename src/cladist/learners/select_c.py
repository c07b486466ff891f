"""The parameters of linear classifiers, and the choice of C by cross-validation on the rows given: `C="cv"`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from cladist import progress
from cladist.errors import DatasetError, ParameterError, is_count, is_positive, one_of
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.label_warnings import without_label_warnings
from cladist.metrics import micro_f1

GRID = tuple(10.0**k for k in range(-3, 4))  # as in Gopal & Yang 2013
FOLDS = 5
LARGEST_C, LARGEST_VALUE = 1e12, 1e12  # float32 ends at 3e38, and their squares are added up
MOST_STATE_BYTES = 2**30  # α of all folds; beyond, each C is learnt from scratch
Folds = list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
Choice = tuple[float, list[dict[str, float]]]  # C, and what each gave: `C`, `score`, `standard_error`
NO_BETTER_IN_A_ROW = 2  # so many values of C that gain nothing end the search: large ones cost most


class ChoosesC:
    """A learner of linear classifiers, with `C`, `fit_intercept`, `tol`, `max_iter` and `prune`; C may be "cv"."""

    C: Any
    C_: float
    cv_results_: list[dict[str, float]]

    def _check_linear(self) -> None:
        """Refuse parameters of linear classifiers that make no sense."""
        who, given = type(self).__name__, self.__dict__
        if not isinstance(given["fit_intercept"], (bool, np.bool_)):
            one_of(who, "fit_intercept", given["fit_intercept"], (False, True))
        chosen = isinstance(self.C, str) and self.C == "cv"
        if not chosen and not (is_positive(self.C) and self.C <= LARGEST_C):
            raise ParameterError(f"{who}: C must be positive, or 'cv' to choose it; got {self.C!r}.")
        if not is_positive(given["tol"]):
            raise ParameterError(f"{who}: tol must be positive; got {given['tol']!r}.")
        if not is_count(given["max_iter"]):
            raise ParameterError(f"{who}: max_iter must be a whole number from 1 up; got {given['max_iter']!r}.")
        prune = given.get("prune", 0)
        if prune != 0 and not is_positive(prune):
            raise ParameterError(f"{who}: prune must be 0 or positive; got {prune!r}.")

    def _chosen(self, X: Any, labels: LabelMatrix, weights: Any) -> float:
        """Return the C to learn with, and remember how it was chosen if it was."""
        for name in ("C_", "cv_results_"):
            self.__dict__.pop(name, None)
        if not isinstance(self.C, str):
            return float(self.C)
        self.C_, self.cv_results_ = choose(self, X, labels, weights)
        return self.C_

    def _fitted_rows(self, X: Any) -> Any:
        """Refuse rows whose scores would be no numbers, as those to learn from are refused."""
        rows = super()._fitted_rows(X)  # type: ignore[misc]
        values = rows.data if sparse.issparse(rows) else rows
        if values.size and not np.max(np.abs(values)) < LARGEST_VALUE:
            raise DatasetError(
                f"{type(self).__name__}: a value of {np.max(np.abs(values)):.0e} is too large to compute with; scale "
                "the features as those learnt from."
            )
        return rows

    def _pack_choice(self) -> dict[str, Any]:
        return {"C": getattr(self, "C_", None), "cv_results": getattr(self, "cv_results_", None)}

    def _unpack_choice(self, state: dict[str, Any]) -> None:
        if state.get("C") is not None:
            self.C_, self.cv_results_ = float(state["C"]), state["cv_results"]


def warn_of_gap(model: Any, worst: float, *, stacklevel: int = 4) -> None:
    """Say that a classifier did not reach its tolerance, and what may help."""
    said = (
        f"{type(model).__name__} stopped after {model.n_iter_} sweeps with a gap of {worst:.1e}, over tol={model.tol:g}"
    )
    advice = "raise max_iter, or lower C" if model.n_iter_ >= model.max_iter else "scale the features, or raise tol"
    warnings.warn(f"{said}; {advice}.", ConvergenceWarning, stacklevel=stacklevel)


def folds_of(model: Any, n_rows: int) -> Folds:
    """Return the rows to learn from and those held out, of each fold."""
    n_folds = min(FOLDS, n_rows)
    if n_folds < 2:
        raise ParameterError(f"{type(model).__name__}: choosing by 'cv' needs two rows at least; there is {n_rows}.")
    given = np.random.RandomState(0) if model.random_state is None else model.random_state
    random = random_generator(type(model).__name__, given)
    return list(KFold(n_folds, shuffle=True, random_state=random).split(np.arange(n_rows)))


def choose(
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

    Single labels: accuracy, which is the same. All folds go up the grid together, each from where it stood, until two
    values of C in a row are no better than the best before, once that has risen by a standard error. `others` are
    values for other parameters of the model.
    """
    folds = folds_of(model, X.shape[0]) if folds is None else folds
    paths = [_path(model, X, labels, weights, rows, Cs, others) for rows, _ in folds]
    results: list[dict[str, float]] = []
    with progress.task("choosing C", len(Cs)) as running, without_label_warnings():
        for C in Cs:
            scores = [
                _score(next(path), X[held_out], labels[held_out])
                for path, (_, held_out) in zip(paths, folds, strict=True)
            ]
            error = float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
            score = round(float(np.mean(scores)), 12)  # equal means stay equal, in whatever order they were added up
            results.append({"C": C, "score": score, "standard_error": error})
            running.advance()
            if is_past(results):
                break
    return max(results, key=lambda entry: entry["score"])["C"], results


def _path(
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
    return rose and len(results) - results.index(best) > NO_BETTER_IN_A_ROW
