"""What the arrays of a file must be, declared, and checked before anything is made of them.

A declaration names types, a shape in terms of sizes such as ``n_nodes``, and a range. A size that is not known takes
the value of the first array that has it, and all others must agree.
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
class Declared:
    """What an array must be.

    Attributes
    ----------
    types : tuple of str
        The names of the types it may have.
    shape : tuple of str and int
        Its dimensions: numbers, names of sizes, or such as ``n_nodes + 1``.
    low : float, optional
        The least value there may be.
    below : str or float, optional
        What all values must be less than: a number, or the name of a size.
    finite : bool
        Whether infinite values are refused.
    missing : bool
        Whether NaN may stand for what is not known; otherwise it is refused.
    """

    types: tuple[str, ...]
    shape: tuple[str | int, ...]
    low: float | None = None
    below: str | float | None = None
    finite: bool = True
    missing: bool = False


def check_arrays(
    arrays: Mapping[str, NDArray[Any]], table: Mapping[str, Declared], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Raise a `ModelFormatError` unless all arrays are as declared; return all sizes, those found included.

    The content of arrays that were left in their file, and not verified, is not looked at.

    Examples
    --------
    >>> table = {"parent": Declared(WHOLE, ("n_nodes",), low=-1, below="n_nodes")}
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
        declared = table[name]
        if array.dtype.name not in declared.types:
            raise ModelFormatError(f"Its array {name!r} must be of {' or '.join(declared.types)}, not {array.dtype}.")
        _check_shape(name, array, declared, known)
    for name, array in arrays.items():  # once all sizes are known
        if not is_unread(array):
            _check_content(name, array, table[name], known)
    return known


def _check_shape(name: str, array: NDArray[Any], declared: Declared, known: dict[str, int]) -> None:
    fits = array.ndim == len(declared.shape)
    for wanted, length in zip(declared.shape, array.shape, strict=False):
        if isinstance(wanted, int):
            fits = fits and length == wanted
            continue
        size, _, more = wanted.partition(" + ")
        found = length - int(more or 0)
        fits = fits and found >= 0 and known.setdefault(size, found) == found
    if not fits:
        shape = ", ".join(str(part) for part in declared.shape)
        sizes = ", ".join(f"{size} = {n:,}" for size, n in known.items() if size in shape)
        where = f", where {sizes}" if sizes else ""
        raise ModelFormatError(f"Its array {name!r} must have the shape ({shape}){where}; it has {array.shape}.")


def _check_content(name: str, array: NDArray[Any], declared: Declared, known: Mapping[str, int]) -> None:
    if declared.missing and array.dtype.kind == "f":
        array = array[~np.isnan(array)]
    if not array.size:
        return
    least, most = array.min(), array.max()
    # If there is a NaN, it is the least and the most.
    if np.isnan(least) or (declared.finite and not (np.isfinite(least) and np.isfinite(most))):
        raise ModelFormatError(f"Its array {name!r} must hold finite numbers; some are infinite, or none at all.")
    below = known[declared.below] if isinstance(declared.below, str) else declared.below
    too_small = declared.low is not None and least.item() < declared.low
    if too_small or (below is not None and most.item() >= below):
        bounds = [f"from {declared.low} up"] * (declared.low is not None) + [f"below {below}"] * (below is not None)
        raise ModelFormatError(f"Its array {name!r} must hold numbers {' and '.join(bounds)}; it does not.")
