"""What all thresholding strategies share: the checks, the answer as CSR, being written as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from cladist.errors import LabelError, ModelFormatError, is_count

Scores = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

PIECE = 2**24  # scores looked at in one go, so that what is kept beside them stays below 200 MB


class Strategy(BaseEstimator):
    """Base of the strategies. A subclass learns in `_learn` and chooses in `_choose`; both see checked arrays.

    What `fit` learns stands in attributes that end in an underscore; nothing but another `fit` changes them.
    """

    name: ClassVar[str] = ""
    by_row: ClassVar[bool] = True  # whether a row's labels depend on that row alone
    _fitted: ClassVar[tuple[str, ...]] = ()

    n_labels_: int

    # ---------------------------------------------------------------- what subclasses say

    def _check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense."""

    def _learn(self, scores: Scores, labels: sparse.csr_array) -> None:
        """Learn from checked scores and labels of the same shape."""

    def _choose(self, scores: Scores) -> Mask:
        """Return which labels each row of checked scores gets."""
        raise TypeError(f"{type(self).__name__} does not say how it chooses.")

    def _state_fits(self) -> bool:
        """Tell whether restored attributes fit each other and `n_labels_`."""
        return True

    # ---------------------------------------------------------------- doors

    def fit(self, scores: npt.ArrayLike, Z: Any) -> Self:
        """Learn where to cut.

        Parameters
        ----------
        scores : array (examples × labels)
            Of examples that the scoring model has not learnt from, or they look better than they are. NaN is a
            `LabelError`.
        Z : 0/1 matrix (examples × labels), dense or sparse
            Which labels each example has; rows and columns without any are legal.

        Returns
        -------
        Strategy
            Itself.
        """
        self._check_parameters()
        values = checked_scores(scores)
        if not len(values):
            raise LabelError(f"{type(self).__name__} learns from at least one example; the scores have 0 rows.")
        self._learn(values, checked_labels(Z, values.shape))
        self.n_labels_ = values.shape[1]
        return self

    def predict(self, scores: npt.ArrayLike) -> sparse.csr_array:
        """Return which labels each example gets.

        Parameters
        ----------
        scores : array (examples × labels)
            Columns as in `fit`. NaN is a `LabelError`.

        Returns
        -------
        csr_array (examples × labels) of int8
            1 for each label chosen; columns ascend within a row.
        """
        values = self._known_columns(scores)
        return _as_rows((self._choose(piece) for piece in self._pieces(values)), values.shape[1])

    def _known_columns(self, scores: npt.ArrayLike) -> Scores:
        who = type(self).__name__
        if not hasattr(self, "n_labels_"):
            raise NotFittedError(f"This {who} has learnt nothing yet; call fit(scores, Z) first.")
        values = checked_scores(scores)
        if values.shape[1] != self.n_labels_:
            raise LabelError(f"{who} was fitted to {self.n_labels_} labels; these scores have {values.shape[1]}.")
        return values

    def _pieces(self, values: Scores) -> Iterator[Scores]:
        """Yield some rows after others, or all at once where they depend on each other."""
        rows = max(1, PIECE // values.shape[1]) if self.by_row else max(1, len(values))
        for first in range(0, len(values), rows):
            yield values[first : first + rows]

    # ---------------------------------------------------------------- being saved

    def to_dict(self) -> dict[str, Any]:
        """Return a fitted strategy as plain values and arrays, from which `from_dict` makes an equal one.

        Examples
        --------
        >>> from cladist.decoders.thresholds import RCut
        >>> RCut().fit([[0.2, 0.7]], [[0, 1]]).to_dict()
        {'name': 'rcut', 'parameters': {'t': None}, 'fitted': {'n_labels_': 2, 't_': 1}}
        """
        if not hasattr(self, "n_labels_"):
            raise NotFittedError(f"This {type(self).__name__} has learnt nothing yet, so there is nothing to write.")
        fitted = {name: getattr(self, name) for name in ("n_labels_", *self._fitted)}
        return {"name": self.name, "parameters": self.get_params(deep=False), "fitted": fitted}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Restore what `to_dict` gave; anything else is a `ModelFormatError`."""
        parameters, fitted = content.get("parameters"), content.get("fitted")
        if (
            content.get("name") != cls.name
            or not (isinstance(parameters, Mapping) and set(parameters) <= set(cls._get_param_names()))
            or not (isinstance(fitted, Mapping) and set(fitted) == {"n_labels_", *cls._fitted})
        ):
            raise ModelFormatError(f"This is not what {cls.__name__} writes of itself, or another version's.")
        restored = cls(**parameters)
        restored._check_parameters()
        for name, value in fitted.items():
            setattr(restored, name, value)
        if not is_count(restored.n_labels_) or not restored._state_fits():
            raise ModelFormatError(f"What this {cls.__name__} has learnt does not fit its number of labels.")
        return restored


def is_vector(value: Any, length: int) -> bool:
    """Tell whether a restored attribute is a list of so many numbers, none of them NaN."""
    is_numeric = isinstance(value, np.ndarray) and value.dtype.kind in "iuf"
    return is_numeric and value.shape == (length,) and not np.isnan(value).any()


def checked_scores(scores: npt.ArrayLike) -> Scores:
    """Return scores as a C-ordered float array (examples × labels), or say what is wrong with them."""
    values = np.asarray(scores)
    if values.dtype not in (np.float32, np.float64):
        if values.dtype.kind not in "biuf":
            raise LabelError(f"Scores are a dense array of numbers; got {type(scores).__name__} of {values.dtype}.")
        values = values.astype(np.float64)
    if values.ndim != 2 or not values.shape[1]:
        raise LabelError(f"Scores are an array (examples × labels), at least one label; got shape {values.shape}.")
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(np.isnan(values.max(axis=1)))  # NaN wins every maximum
    if len(wrong):
        raise LabelError(f"Example {wrong[0]} has a score that is not a number (NaN); scores must be numbers.")
    return np.ascontiguousarray(values)


def checked_labels(Z: Any, shape: tuple[int, ...]) -> sparse.csr_array:
    """Return Z as CSR without stored zeros, or say what is wrong with it."""
    given = Z if sparse.issparse(Z) else np.asarray(Z)
    if given.dtype.kind not in "biuf":
        raise LabelError(f"Z is a matrix of 0 and 1; got {type(Z).__name__} of {given.dtype}.")
    if given.shape != shape:
        raise LabelError(f"Z needs the shape of the scores, {shape} (examples × labels); got shape {given.shape}.")
    labels = sparse.csr_array(given, copy=True)
    labels.sum_duplicates()
    labels.eliminate_zeros()
    wrong = np.flatnonzero(labels.data != 1)
    if len(wrong):
        row = int(np.searchsorted(labels.indptr, wrong[0], side="right")) - 1
        raise LabelError(f"Z holds only 0 and 1; row {row} has {labels.data[wrong[0]]}.")
    return labels


def _as_rows(masks: Iterable[Mask], n_labels: int) -> sparse.csr_array:
    """Return masks, stacked, as a CSR matrix of int8."""
    counts: list[npt.NDArray[Any]] = [np.zeros(1, np.int64)]
    columns: list[npt.NDArray[Any]] = [np.zeros(0, np.int32)]
    for mask in masks:
        counts.append(np.count_nonzero(mask, axis=1))
        columns.append(np.nonzero(mask)[1].astype(np.int32))
    indptr, indices = np.cumsum(np.concatenate(counts)), np.concatenate(columns)
    shape = (len(indptr) - 1, n_labels)
    return sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=shape)
