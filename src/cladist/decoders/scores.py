"""Checks of scores, which all decoders and strategies share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import LabelError
from cladist.taxonomy import Taxonomy


def float_scores(scores: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return scores as an array of float32 or float64, or raise a `LabelError`."""
    values = np.asarray(scores)
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind not in "biuf":
        raise LabelError(f"Scores are a dense array of numbers; got {type(scores).__name__} of {values.dtype}.")
    return values.astype(np.float64)


def node_scores(scores: npt.ArrayLike, taxonomy: Taxonomy, *, node_major: bool = False) -> npt.NDArray[Any]:
    """Return scores as a float array (examples × nodes), or raise a `LabelError`."""
    values = float_scores(scores)
    if values.ndim != 2 or values.shape[0 if node_major else 1] != taxonomy.n_nodes:
        side = "row" if node_major else "column"
        raise LabelError(f"Scores have one {side} per node, here {taxonomy.n_nodes}; got shape {values.shape}.")
    return values.T if node_major else values


def refuse_nan(example: int) -> None:
    """Raise a `LabelError` for the example with this number, unless it is negative."""
    if example >= 0:
        raise LabelError(f"Example {example} has a score that is not a number (NaN); scores must be numbers.")


def first_example(mask: npt.NDArray[np.bool_]) -> int:
    """Return the number of the first example that a mask has, or −1."""
    return int(mask.argmax()) if mask.any() else -1
