"""Specifications of arrays, checked before the arrays are used.

A specification has types, a shape in terms of sizes such as ``n_nodes``, and a range. The first array with an unknown
size defines it, and all others must agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cladist.errors import ModelFormatError
from cladist.storage.tensor_file import is_unread

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL = ("float32", "float64")


@dataclass(frozen=True)
class ArraySpec:
    """The types, shape and range of an array.

    Attributes
    ----------
    types : tuple of str
        Names of the types that are allowed.
    shape : tuple of str and int
        Dimensions: numbers, names of sizes, or sums such as ``n_nodes + 1``.
    low : float, optional
        The smallest value that is allowed.
    below : str or float, optional
        A number, or the name of a size, that all values must be less than.
    finite : bool
        Whether infinite values are refused.
    missing : bool
        Whether NaN is allowed, for unknown values.
    """

    types: tuple[str, ...]
    shape: tuple[str | int, ...]
    low: float | None = None
    below: str | float | None = None
    finite: bool = True
    missing: bool = False


def check_arrays(
    arrays: Mapping[str, NDArray[Any]], table: Mapping[str, ArraySpec], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Raise a `ModelFormatError` unless all arrays are as specified; return all sizes.

    The content of arrays that were left in their file unverified is not checked.

    Examples
    --------
    >>> table = {"parent": ArraySpec(WHOLE, ("n_nodes",), low=-1, below="n_nodes")}
    >>> check_arrays({"parent": np.array([-1, 0])}, table, {})
    {'n_nodes': 2}
    >>> check_arrays({"parent": np.array([-1, 2])}, table, {})
    Traceback (most recent call last):
    cladist.errors.ModelFormatError: Its array 'parent' must hold numbers from -1 up and below 2; it does not.
    """
    known = dict(sizes)
    for name, array in arrays.items():
        if name not in table:
            raise ModelFormatError(f"Its array {name!r} is none that a model of its kind has.")
        spec = table[name]
        if array.dtype.name not in spec.types:
            raise ModelFormatError(f"Its array {name!r} must be of {' or '.join(spec.types)}, not {array.dtype}.")
        _check_shape(name, array, spec, known)
    for name, array in arrays.items():  # once all sizes are known
        if not is_unread(array):
            _check_content(name, array, table[name], known)
    return known


def _check_shape(name: str, array: NDArray[Any], spec: ArraySpec, known: dict[str, int]) -> None:
    fits = array.ndim == len(spec.shape)
    for wanted, length in zip(spec.shape, array.shape, strict=False):
        if isinstance(wanted, int):
            fits = fits and length == wanted
            continue
        size, _, more = wanted.partition(" + ")
        n = length - int(more or 0)
        fits = fits and n >= 0 and known.setdefault(size, n) == n
    if not fits:
        shape = ", ".join(str(part) for part in spec.shape)
        sizes = ", ".join(f"{size} = {n:,}" for size, n in known.items() if size in shape)
        where = f", where {sizes}" if sizes else ""
        raise ModelFormatError(f"Its array {name!r} must have the shape ({shape}){where}; it has {array.shape}.")


def _check_content(name: str, array: NDArray[Any], spec: ArraySpec, known: Mapping[str, int]) -> None:
    if spec.missing and array.dtype.kind == "f":
        array = array[~np.isnan(array)]
    if not array.size:
        return
    least, most = array.min(), array.max()
    # If any value is NaN, so are the minimum and the maximum.
    if np.isnan(least) or (spec.finite and not (np.isfinite(least) and np.isfinite(most))):
        raise ModelFormatError(f"Its array {name!r} must hold finite numbers; some are infinite, or none at all.")
    below = known[spec.below] if isinstance(spec.below, str) else spec.below
    too_small = spec.low is not None and least.item() < spec.low
    if too_small or (below is not None and most.item() >= below):
        bounds = [f"from {spec.low} up"] * (spec.low is not None) + [f"below {below}"] * (below is not None)
        raise ModelFormatError(f"Its array {name!r} must hold numbers {' and '.join(bounds)}; it does not.")
