"""Kernel functions K(x, z) for learners: matrices of values between rows, and K(x, x)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import DatasetError, ParameterError, is_positive, one_of
from cladist.learners.row_arrays import squared_lengths

Matrix = npt.NDArray[np.float64]
NAMES = ("linear", "poly", "rbf", "precomputed")


@dataclass(frozen=True)
class Kernel:
    """A kernel by its name in scikit-learn, as a user's function of two matrices of rows, or precomputed.

    A training row of a precomputed kernel is a 1 × 1 matrix that holds its number; in prediction, a row holds its
    kernel values with all training rows. With `normalize`, K(x, z) / √(K(x, x) K(z, z)): rows have length 1 in the
    kernel's space, and rows of length 0 stay 0; linear kernels are left as they are, since their rows can be scaled.
    `constant` is then added to every value, as if all rows had one more feature of the value √constant: an intercept.
    """

    kernel: Any
    gamma: float = 1.0
    degree: int = 1
    coef0: float = 0.0
    gram: Matrix | None = None  # the training rows' values of a precomputed kernel; None in prediction
    normalize: bool = False
    constant: float = 0.0

    @classmethod
    def of(cls, model: Any, **options: Any) -> Kernel:
        """Return the kernel that the parameters of a learner, and its `gamma_`, describe."""
        return cls(model.kernel, model.gamma_, model.degree, model.coef0, **options)

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for every row a of A and b of B."""
        if self._is("precomputed"):
            values = B[:, A[:, 0]].T if self.gram is None else self.gram[np.ix_(A[:, 0], B[:, 0])]
            return np.asarray(values, np.float64) + self.constant
        values = self._values(A, B)
        if self._normalizes:
            values = values / np.outer(self._lengths(A), self._lengths(B))
        return values + self.constant if self.constant else values

    def diagonal(self, A: Any) -> Matrix:
        """Return K(a, a) for every row a of A; of a precomputed kernel for training rows only."""
        if self.gram is not None:
            return self.gram[A[:, 0], A[:, 0]] + self.constant
        squares = self._squares(A)
        return (np.where(squares > 0, 1.0, 0.0) if self._normalizes else squares) + self.constant

    def _is(self, name: str) -> bool:
        return isinstance(self.kernel, str) and self.kernel == name

    @property
    def _normalizes(self) -> bool:
        return self.normalize and not self._is("linear")

    def _values(self, A: Any, B: Any) -> Matrix:
        with np.errstate(over="ignore", invalid="ignore"):
            if self._is("linear"):
                return _to_finite(A @ B.T)
            if not callable(self.kernel):
                from sklearn.metrics.pairwise import pairwise_kernels  # slow to import

                # pairwise_kernels drops the parameters that its kernel does not have.
                options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
                return _to_finite(pairwise_kernels(A, B, metric=self.kernel, filter_params=True, **options))
        values = _to_finite(self.kernel(A, B))
        if values.shape != (A.shape[0], B.shape[0]):
            raise ParameterError(
                f"The kernel was given {A.shape[0]} and {B.shape[0]} rows and must return that shape; "
                f"got {values.shape}."
            )
        return values

    def _squares(self, A: Any) -> Matrix:
        if callable(self.kernel):
            return np.array([self._values(A[i : i + 1], A[i : i + 1])[0, 0] for i in range(A.shape[0])])
        if self._is("rbf"):
            return np.ones(A.shape[0])
        squares = squared_lengths(A)
        with np.errstate(over="ignore", invalid="ignore"):
            return _to_finite(squares if self._is("linear") else (self.gamma * squares + self.coef0) ** self.degree)

    def _lengths(self, A: Any) -> Matrix:
        squares = self._squares(A)
        return np.sqrt(np.where(squares > 0, squares, 1.0))


def check_values(model: Any, is_valid: Callable[[Any], bool], wanted: str, *names: str) -> None:
    """Raise unless these parameters of a learner are valid; `wanted` says what they must be."""
    for name in names:
        value = getattr(model, name)
        if not is_valid(value):
            raise ParameterError(f"{type(model).__name__}: {name} must be {wanted}; got {value!r}.")


def check_kernel(model: Any) -> None:
    """Raise unless the parameters kernel, gamma, degree and coef0 of a learner are valid."""
    if not callable(model.kernel):
        one_of(type(model).__name__, "kernel", model.kernel, NAMES)
    check_values(model, lambda v: isinstance(v, Real) and math.isfinite(v), "a finite number", "degree", "coef0")
    if not (isinstance(model.gamma, str) and model.gamma in ("scale", "auto")):
        check_values(model, is_positive_finite, "'scale', 'auto' or a positive number", "gamma")


def is_positive_finite(value: Any) -> bool:
    """Return whether a value is a finite number above 0."""
    return is_positive(value) and math.isfinite(value)


def gamma_for(gamma: Any, X: Any) -> float:
    """Return gamma as a number; "scale" and "auto" are defined as in scikit-learn's SVC."""
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "scale":
        mean = X.mean()
        square = X.multiply(X).mean() if sparse.issparse(X) else np.square(X).mean()
        variance = float(square - mean * mean)
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    return float(gamma)


def _to_finite(values: Any) -> Matrix:
    """Return kernel values as a dense matrix; raise if some are not finite."""
    values = np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves that all values are finite; an infinite one may have overflowed.
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            raise DatasetError(
                "The kernel has values between these rows that are not finite numbers; scale the features, with "
                "StandardScaler for instance, or choose a smaller gamma or degree."
            )
    return values
