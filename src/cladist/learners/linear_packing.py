"""Linear weights as named arrays of a model file, checked when they come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ModelFormatError
from cladist.kernels.lanes import WIDTH
from cladist.learners.packing import Arrays, group, pack_matrix, prefixed, unpack_matrix
from cladist.solvers.rows import aligned
from cladist.solvers.weights import DenseWeights, DualWeights, SparseWeights, Weights


def pack_weights(weights: Weights) -> Arrays:
    """Return the arrays of weights in any form."""
    arrays: Arrays = {"intercepts": weights.intercepts}
    if isinstance(weights, SparseWeights):
        return {**arrays, **prefixed("sparse", pack_index(weights))}
    if isinstance(weights, DualWeights):
        shares, vectors = pack_matrix(weights.shares), pack_matrix(weights.vectors)
        return {**arrays, **prefixed("shares", shares), **prefixed("vectors", vectors)}
    if isinstance(weights, DenseWeights):
        blocks = list(weights.blocks())
        stacked = np.stack(blocks) if blocks else np.zeros((0, len(weights.feature_of), WIDTH), np.float32)
        return {**arrays, "blocks": stacked, "feature_of": weights.feature_of}
    raise ModelFormatError(f"Weights of the form {type(weights).__name__} cannot be saved.")


def unpack_weights(arrays: Arrays, n_features: int) -> Weights:
    """Restore what `pack_weights` gave."""
    intercepts = arrays["intercepts"]
    _require(intercepts.ndim == 1 and bool(np.all(np.isfinite(intercepts))), "its intercepts are not plain numbers")
    if group("sparse", arrays):
        return unpack_index(group("sparse", arrays), intercepts, n_features)
    if group("shares", arrays):
        vectors = unpack_matrix(group("vectors", arrays), n_features)
        shares = unpack_matrix(group("shares", arrays), vectors.shape[0])
        _require(shares.shape[0] == len(intercepts), "its shares are not as many as its intercepts")
        return DualWeights(shares, vectors, intercepts)
    blocks, features = arrays["blocks"], arrays["feature_of"]
    _require(features.ndim == 1, "its features are no list")
    shape = (-(-len(intercepts) // WIDTH), len(features), WIDTH)
    _require(blocks.shape == shape and blocks.dtype == np.float32, f"blocks of shape {shape} are wanted")
    _require(_within(features, n_features) and len(np.unique(features)) == len(features), "features are out of range")
    copies = []
    for block in blocks:
        copy = aligned(len(features))
        copy[:] = block
        copies.append(copy)
    return DenseWeights(copies, intercepts, features.astype(np.int64), n_features)


def pack_index(weights: SparseWeights) -> Arrays:
    """Return the arrays of an inverted index, without intercepts."""
    features, indptr, classes, values = weights.index
    return {"features": features, "indptr": indptr, "classes": classes, "values": values}


def unpack_index(arrays: Arrays, intercepts: npt.NDArray[Any], n_features: int) -> SparseWeights:
    """Restore what `pack_index` gave; nothing in it may point outside."""
    _require(all(part.ndim == 1 for part in (*arrays.values(), intercepts)), "its lists are no lists")
    features, indptr = arrays["features"].astype(np.int32), arrays["indptr"].astype(np.int64)
    classes, values = arrays["classes"].astype(np.int32), arrays["values"].astype(np.float32)
    fits = len(indptr) == len(features) + 1 and len(classes) == len(values)
    fits = fits and _within(indptr, len(values) + 1)  # before differences, which could wrap
    fits = fits and indptr[0] == 0 and indptr[-1] == len(values) and not np.any(np.diff(indptr) < 0)
    _require(fits, "its lists of weights do not fit together")
    _require(_within(classes, len(intercepts)), "a weight belongs to a class that is not there")
    _require(_within(features, n_features) and not np.any(np.diff(features) <= 0), "its features are not in order")
    return SparseWeights(features, indptr, classes, values, intercepts, n_features)


def _within(ids: npt.NDArray[Any], limit: int) -> bool:
    return not np.any((ids < 0) | (ids >= limit))


def _require(fits: bool, otherwise: str) -> None:
    if not fits:
        raise ModelFormatError(f"Its weights do not fit: {otherwise}.")
