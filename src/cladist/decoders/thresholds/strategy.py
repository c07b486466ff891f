"""The base of thresholding strategies: input validation, predictions as CSR, saving as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from cladist.decoders.scores import first_example, float_scores, refuse_nan
from cladist.errors import LabelError, ModelFormatError, is_count
from cladist.labels.matrix import as_bits

Scores = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

CHUNK_SCORES = 2**24  # scores per chunk, so that working memory stays below 200 MB


class Strategy(BaseEstimator):
    """Base of the strategies: a subclass fits in `_fit` and chooses labels in `_choose`; both get validated arrays."""

    name: ClassVar[str] = ""
    by_row: ClassVar[bool] = True  # whether a row's labels depend on that row alone
    _fitted: ClassVar[tuple[str, ...]] = ()

    n_labels_: int

    # ---------------------------------------------------------------- hooks

    def _check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense."""

    def _fit(self, scores: Scores, labels: sparse.csr_array) -> None:
        """Set the fitted attributes from validated scores and labels of the same shape."""

    def _choose(self, scores: Scores) -> Mask:
        """Return which labels each row of validated scores gets."""
        raise TypeError(f"{type(self).__name__} has no _choose(scores), which Strategy needs.")

    def _state_fits(self) -> bool:
        """Tell whether restored attributes fit each other and `n_labels_`."""
        return True

    # ---------------------------------------------------------------- fit and predict

    def fit(self, scores: npt.ArrayLike, Z: Any) -> Self:
        """Choose thresholds from scores whose labels are known.

        Parameters
        ----------
        scores : array (examples × labels)
            Scores of examples that the scoring model was not trained on; scores of training rows are too optimistic.
            NaN is a `LabelError`.
        Z : 0/1 matrix (examples × labels), dense or sparse
            Which labels each example has; rows and columns without any are legal.
        """
        self._check_parameters()
        values = label_scores(scores)
        if not len(values):
            raise LabelError(f"{type(self).__name__} needs at least one example; the scores have 0 rows.")
        self._fit(values, indicator_of(Z, values.shape))
        self.n_labels_ = values.shape[1]
        return self

    def predict(self, scores: npt.ArrayLike) -> sparse.csr_array:
        """Return which labels each example gets, as CSR (examples × labels) of int8; columns ascend within a row.

        Parameters
        ----------
        scores : array (examples × labels)
            Columns as in `fit`. NaN is a `LabelError`.
        """
        values = self._known_columns(scores)
        counts: list[npt.NDArray[Any]] = [np.zeros(1, np.int64)]
        columns: list[npt.NDArray[Any]] = [np.zeros(0, np.int32)]
        for chunk in self._chunks(values):
            mask = self._choose(chunk)
            counts.append(np.count_nonzero(mask, axis=1))
            columns.append(np.nonzero(mask)[1].astype(np.int32))
        indptr, indices = np.cumsum(np.concatenate(counts)), np.concatenate(columns)
        return sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=values.shape)

    def _known_columns(self, scores: npt.ArrayLike) -> Scores:
        who = type(self).__name__
        if not hasattr(self, "n_labels_"):
            raise NotFittedError(f"This {who} is not fitted yet; call fit(scores, Z) first.")
        values = label_scores(scores)
        if values.shape[1] != self.n_labels_:
            raise LabelError(f"{who} was fitted to {self.n_labels_} labels; these scores have {values.shape[1]}.")
        return values

    def _chunks(self, values: Scores) -> Iterator[Scores]:
        """Yield chunks of rows, or all rows at once where they depend on each other."""
        rows = max(1, CHUNK_SCORES // values.shape[1]) if self.by_row else max(1, len(values))
        for first in range(0, len(values), rows):
            yield values[first : first + rows]

    # ---------------------------------------------------------------- saving

    def to_dict(self) -> dict[str, Any]:
        """Return a fitted strategy as plain values and arrays, from which `from_dict` makes an equal one."""
        if not hasattr(self, "n_labels_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet, so there is nothing to write.")
        fitted = {name: getattr(self, name) for name in ("n_labels_", *self._fitted)}
        return {"name": self.name, "parameters": self.get_params(deep=False), "fitted": fitted}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Restore the values of `to_dict`; anything else is a `ModelFormatError`."""
        parameters, fitted = content.get("parameters"), content.get("fitted")
        if (
            content.get("name") != cls.name
            or not (isinstance(parameters, Mapping) and set(parameters) <= set(cls._get_param_names()))
            or not (isinstance(fitted, Mapping) and set(fitted) == {"n_labels_", *cls._fitted})
        ):
            raise ModelFormatError(f"These are not the values that {cls.__name__} writes, or those of another version.")
        restored = cls(**parameters)
        restored._check_parameters()
        for name, value in fitted.items():
            setattr(restored, name, value)
        if not is_count(restored.n_labels_) or not restored._state_fits():
            raise ModelFormatError(f"The fitted values of this {cls.__name__} do not fit its number of labels.")
        return restored


def is_vector(value: Any, length: int) -> bool:
    """Tell whether a restored attribute is an array of this length without NaN."""
    is_numeric = isinstance(value, np.ndarray) and value.dtype.kind in "iuf"
    return is_numeric and value.shape == (length,) and not np.isnan(value).any()


def label_scores(scores: npt.ArrayLike) -> Scores:
    """Return scores as a C-ordered float array (examples × labels), or raise a `LabelError`."""
    values = float_scores(scores)
    if values.ndim != 2 or not values.shape[1]:
        raise LabelError(f"Scores are an array (examples × labels), at least one label; got shape {values.shape}.")
    with np.errstate(invalid="ignore"):
        refuse_nan(first_example(np.isnan(values.max(axis=1))))  # NaN wins every maximum
    return np.ascontiguousarray(values)


def indicator_of(Z: Any, shape: tuple[int, ...]) -> sparse.csr_array:
    """Return Z as CSR without stored zeros, or raise a `LabelError`."""
    given = Z if sparse.issparse(Z) else np.asarray(Z)
    if given.dtype.kind not in "biuf":
        raise LabelError(f"Z is a matrix of 0 and 1; got {type(Z).__name__} of {given.dtype}.")
    if given.shape != shape:
        raise LabelError(f"Z needs the shape of the scores, {shape} (examples × labels); got shape {given.shape}.")
    return as_bits(given, "Z", range(shape[1]))
