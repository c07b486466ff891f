"""Limits of the lengths of rows, within which sums and products of their values stay finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import DatasetError

# ‖x‖². float32 ends at 3e38 and float64 at 1e308; learners sum products of squared lengths.
LONGEST = {np.dtype(np.float32): 1e24, np.dtype(np.float64): 1e150}
# For a learner that divides by ‖x‖²: short rows are as bad as long ones.
LONGEST_DIVISOR = {np.dtype(np.float32): 1e60, np.dtype(np.float64): 1e300}


def squared_lengths(X: Any) -> npt.NDArray[np.float64]:
    """Return ‖x‖² for every row x of X, dense or CSR; infinity where it overflows float64.

    Examples
    --------
    >>> squared_lengths(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [25.0, 0.0]
    """
    with np.errstate(over="ignore"):
        if not sparse.issparse(X):
            return np.einsum("ij,ij->i", X, X, dtype=np.float64)
        squares = np.square(X.data, dtype=np.float64)
        return np.asarray(sparse.csr_array((squares, X.indices, X.indptr), shape=X.shape).sum(axis=1)).ravel()


def check_lengths(who: str, X: Any, *, divides: bool = False) -> None:
    """Raise a `DatasetError` if a row is too long to train on or, where a learner `divides` by ‖x‖², too short.

    Examples
    --------
    >>> check_lengths("HardPerceptron", np.array([[1.0, 0.0], [1e100, 0.0]]))
    Traceback (most recent call last):
    cladist.errors.DatasetError: HardPerceptron: row 1 has a squared length of 1e+200, and at most 1e+150 ...
    """
    squares, longest = squared_lengths(X), (LONGEST_DIVISOR if divides else LONGEST)[X.dtype]
    wrong = ~(squares <= longest)
    wanted = f"at most {longest:.0e}"
    if divides:
        wrong |= (squares < 1 / longest) & (squares > 0)
        wanted = f"0 or from {1 / longest:.0e} to {longest:.0e}"
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DatasetError(
            f"{who}: row {row} has a squared length of {squares[row]:.0e}, and {wanted} can be computed with; scale "
            "the features, with StandardScaler for instance, or the rows, with Normalizer."
        )
