"""Kernel functions K(x, z) for learners: matrices of values between rows, and K(x, x).

`make_kernel` turns a learner's parameters into one of the classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from cladist.errors import DatasetError, ParameterError, is_positive, one_of
from cladist.learners.row_lengths import squared_lengths

Matrix = npt.NDArray[np.float64]
NAMES = ("linear", "poly", "rbf", "precomputed")


class KernelFunction(Protocol):
    """The two functions that a kernel learner calls."""

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for every row a of A and b of B."""

    def diagonal(self, A: Any) -> Matrix:
        """Return K(a, a) for every row a of A."""


@dataclass(frozen=True)
class NamedKernel:
    """scikit-learn's "linear", "poly" and "rbf"."""

    name: str
    gamma: float
    degree: int
    coef0: float

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for every row a of A and b of B."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.name == "linear":
                return _to_finite(A @ B.T)
            # pairwise_kernels drops the parameters that its kernel does not have.
            options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
            return _to_finite(pairwise_kernels(A, B, metric=self.name, filter_params=True, **options))

    def diagonal(self, A: Any) -> Matrix:
        """Return K(a, a) for every row a of A."""
        if self.name == "rbf":
            return np.ones(A.shape[0])
        squares = squared_lengths(A)
        with np.errstate(over="ignore", invalid="ignore"):
            return _to_finite(squares if self.name == "linear" else (self.gamma * squares + self.coef0) ** self.degree)


@dataclass(frozen=True)
class CallableKernel:
    """A user's function of two matrices of rows."""

    function: Callable[[Any, Any], Any]

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for every row a of A and b of B."""
        values = _to_finite(self.function(A, B))
        if values.shape != (A.shape[0], B.shape[0]):
            raise ParameterError(
                f"The kernel was given {A.shape[0]} and {B.shape[0]} rows and must return that shape; "
                f"got {values.shape}."
            )
        return values

    def diagonal(self, A: Any) -> Matrix:
        """Return K(a, a) for every row a of A."""
        return np.array([self.between(A[i : i + 1], A[i : i + 1])[0, 0] for i in range(A.shape[0])])


@dataclass(frozen=True)
class UnitKernel:
    """K(x, z) / √(K(x, x) K(z, z)): rows have length 1 in the kernel's space; rows of length 0 stay 0."""

    inner: KernelFunction

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for every row a of A and b of B."""
        return self.inner.between(A, B) / np.outer(self._lengths(A), self._lengths(B))

    def diagonal(self, A: Any) -> Matrix:
        """Return K(a, a), which is 1 or 0, for every row a of A."""
        return np.where(self.inner.diagonal(A) > 0, 1.0, 0.0)

    def _lengths(self, A: Any) -> Matrix:
        squares = self.inner.diagonal(A)
        return np.sqrt(np.where(squares > 0, squares, 1.0))


@dataclass(frozen=True)
class TrainingGram:
    """A precomputed kernel during training: a row is a 1 × 1 matrix that holds its number."""

    gram: Matrix

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for every row number in A and B."""
        return self.gram[np.ix_(A[:, 0], B[:, 0])]

    def diagonal(self, A: Any) -> Matrix:
        """Return K(a, a) for every row number in A."""
        return self.gram[A[:, 0], A[:, 0]]


@dataclass(frozen=True)
class GivenGram:
    """A precomputed kernel during prediction: a row holds its kernel values with all training rows."""

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for training row numbers in A and rows of kernel values in B."""
        return np.asarray(B[:, A[:, 0]].T, dtype=np.float64)

    def diagonal(self, A: Any) -> Matrix:
        """Raise: the kernel values with training rows do not include K(x, x)."""
        raise ParameterError("A precomputed kernel has no K(x, x) for new rows.")


def make_kernel(
    kernel: Any, gamma: float, degree: int, coef0: float, *, gram: Any = None, normalize: bool = False
) -> KernelFunction:
    """Return the kernel function that a learner's parameters describe.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
        The name of the kernel, or a function of two matrices of rows.
    gamma, degree, coef0 : float, int, float
        Parameters of the named kernels; `gamma_for` turns a learner's gamma into a number.
    gram : array, optional
        The training rows' kernel values, if the kernel is precomputed; without them the kernel is for prediction.
    normalize : bool
        Whether rows have unit length in the kernel's space; linear kernels are left as they are, since their rows can
        be scaled.

    Examples
    --------
    >>> make_kernel("poly", 1.0, 2, 1.0).between(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]))
    array([[16.]])
    """
    function: KernelFunction
    if callable(kernel):
        function = CallableKernel(kernel)
    elif kernel == "precomputed":
        return GivenGram() if gram is None else TrainingGram(np.asarray(gram, dtype=np.float64))
    else:
        function = NamedKernel(kernel, gamma, degree, coef0)
    return UnitKernel(function) if normalize and kernel != "linear" else function


def check_kernel(who: str, kernel: Any, gamma: Any, degree: Any, coef0: Any) -> None:
    """Raise unless the kernel and its parameters are valid."""
    if not callable(kernel):
        one_of(who, "kernel", kernel, NAMES)
    for name, value in (("degree", degree), ("coef0", coef0)):
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ParameterError(f"{who}: {name} must be a finite number; got {value!r}.")
    is_word = isinstance(gamma, str) and gamma in ("scale", "auto")
    if not is_word and not (is_positive(gamma) and math.isfinite(gamma)):
        raise ParameterError(f"{who}: gamma must be 'scale', 'auto' or a positive number; got {gamma!r}.")


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
