"""Kernel functions K(x, z) as learners use them: matrices of values between rows, and K(x, x)."""

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
    """What a kernel learner needs."""

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
        if self.name == "linear":
            with np.errstate(over="ignore", invalid="ignore"):
                return _finite(A @ B.T)
        with np.errstate(over="ignore", invalid="ignore"):
            # pairwise_kernels drops the parameters its kernel does not have.
            return _finite(
                pairwise_kernels(
                    A, B, metric=self.name, filter_params=True, gamma=self.gamma, degree=self.degree, coef0=self.coef0
                )
            )

    def diagonal(self, A: Any) -> Matrix:
        """Return K(a, a) for every row a of A."""
        if self.name == "rbf":
            return np.ones(A.shape[0])
        squares = squared_lengths(A)
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(squares if self.name == "linear" else (self.gamma * squares + self.coef0) ** self.degree)


@dataclass(frozen=True)
class CallableKernel:
    """A user's function of two matrices of rows."""

    function: Callable[[Any, Any], Any]

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for every row a of A and b of B."""
        values = _finite(self.function(A, B))
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
    """K(x, z) / √(K(x, x) K(z, z)): rows have length 1 in the kernel's space, but those of length 0 that keep it."""

    inner: KernelFunction

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for every row a of A and b of B."""
        return self.inner.between(A, B) / np.outer(self._lengths(A), self._lengths(B))

    def diagonal(self, A: Any) -> Matrix:
        """Return K(a, a) for every row a of A: 1, or 0."""
        return np.where(self.inner.diagonal(A) > 0, 1.0, 0.0)

    def _lengths(self, A: Any) -> Matrix:
        squares = self.inner.diagonal(A)
        return np.sqrt(np.where(squares > 0, squares, 1.0))


@dataclass(frozen=True)
class TrainingGram:
    """A precomputed kernel while learning: a row is a 1 × 1 matrix that holds its number."""

    gram: Matrix

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for every row number in A and B."""
        return self.gram[np.ix_(A[:, 0], B[:, 0])]

    def diagonal(self, A: Any) -> Matrix:
        """Return K(a, a) for every row number in A."""
        return self.gram[A[:, 0], A[:, 0]]


@dataclass(frozen=True)
class GivenGram:
    """A precomputed kernel while predicting: rows come as their kernel values against all training rows."""

    def between(self, A: Any, B: Any) -> Matrix:
        """Return K(a, b) for training row numbers in A and rows of kernel values in B."""
        return np.asarray(B[:, A[:, 0]].T, dtype=np.float64)

    def diagonal(self, A: Any) -> Matrix:
        """Refuse: K(x, x) is not among kernel values against training rows."""
        raise ParameterError("A precomputed kernel has no K(x, x) for new rows.")


def _finite(values: Any) -> Matrix:
    """Return kernel values as a plain matrix, or say that rows are too long for the kernel."""
    values = np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum is finite where all values are, unless it overflows: then they are looked at one by one.
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            raise DatasetError(
                "The kernel has values between these rows that are not finite numbers; scale the features, with "
                "StandardScaler for instance, or choose a smaller gamma or degree."
            )
    return values


def check_kernel(who: str, kernel: Any, gamma: Any, degree: Any, coef0: Any) -> None:
    """Raise unless the kernel and its parameters are ones we know."""
    if not callable(kernel):
        one_of(who, "kernel", kernel, NAMES)
    for name, value in (("degree", degree), ("coef0", coef0)):
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ParameterError(f"{who}: {name} must be a finite number; got {value!r}.")
    words = isinstance(gamma, str) and gamma in ("scale", "auto")
    if not words and not (is_positive(gamma) and math.isfinite(gamma)):
        raise ParameterError(f"{who}: gamma must be 'scale', 'auto' or a positive number; got {gamma!r}.")


def gamma_for(gamma: Any, X: Any) -> float:
    """Return gamma as a number, "scale" and "auto" as scikit-learn's SVC defines them."""
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "scale":
        mean = X.mean()
        square = X.multiply(X).mean() if sparse.issparse(X) else np.square(X).mean()
        variance = float(square - mean * mean)
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    return float(gamma)
