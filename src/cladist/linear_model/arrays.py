"""Linear weights as named arrays of a model file, checked when they come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.difference_arrays import pack_differences, unpack_differences
from cladist.linear_model.forms import DenseWeights, DualWeights, SparseWeights, Weights
from cladist.linear_model.leaf_blocks import layout_for
from cladist.linear_model.node_differences import TreeWeights
from cladist.linear_model.path_sums import PathWeights, free_roots
from cladist.linear_model.problem_tree import ROOTS, Tree
from cladist.linear_model.rows import Rows, aligned
from cladist.storage import is_unread
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_matrix


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
    if isinstance(weights, PathWeights):
        return {**arrays, **prefixed("paths", pack_paths(weights))}
    if isinstance(weights, TreeWeights):
        return {**arrays, **prefixed("differences", pack_differences(weights))}
    raise ModelFormatError(f"Weights of the form {type(weights).__name__} cannot be saved.")


def unpack_weights(arrays: Arrays, n_features: int, tree: Tree | None = None, root: str = "zero") -> Weights:
    """Restore what `pack_weights` gave; sums along paths must be those of `tree`, which the learner knows."""
    intercepts = arrays["intercepts"]
    _require(intercepts.ndim == 1 and _plain(intercepts), "its intercepts are not plain numbers")
    if group("sparse", arrays):
        return unpack_index(group("sparse", arrays), intercepts, n_features)
    if group("differences", arrays):
        if tree is None:
            raise ModelFormatError("Its weights do not fit: differences in a tree are no weights of such a learner.")
        found = unpack_differences(group("differences", arrays), n_features, tree)
        _require(found.n_classes == len(intercepts), "its intercepts are not as many as its leaves")
        return found
    if group("paths", arrays):
        if tree is None:
            raise ModelFormatError("Its weights do not fit: sums along paths are no weights of such a learner.")
        return unpack_paths(group("paths", arrays), len(intercepts), n_features, tree, root)
    if group("shares", arrays):
        vectors = _unpack_csr(group("vectors", arrays), n_features)
        shares = _unpack_csr(group("shares", arrays), vectors.shape[0], (np.float32, np.float64))
        _require(shares.shape[0] == len(intercepts), "its shares are not as many as its intercepts")
        return DualWeights(shares, vectors, intercepts)
    blocks, features = arrays["blocks"], unpack_ids(arrays["feature_of"])
    shape = (-(-len(intercepts) // WIDTH), len(features), WIDTH)
    _require(blocks.shape == shape and _plain(blocks), f"blocks of shape {shape} are wanted, of plain numbers")
    _require(_within(features, n_features) and len(np.unique(features)) == len(features), "features are out of range")
    copies = []
    for block in blocks:
        copy = aligned(len(features))
        copy[:] = block
        copies.append(copy)
    return DenseWeights(copies, intercepts, features, n_features)


def _unpack_csr(arrays: Arrays, n_columns: int, kinds: tuple[Any, ...] = (np.float32,)) -> sparse.csr_array:
    """Restore a sparse matrix of plain numbers of these kinds."""
    for name in ("shape", "indptr", "indices"):
        unpack_ids(arrays[name])
    _require(len(arrays["shape"]) == 2 and _plain(arrays["data"], kinds), "its matrices are not of plain numbers")
    matrix = unpack_matrix(arrays, n_columns)
    _require(sparse.issparse(matrix), "a matrix is not sparse")
    return matrix


def pack_index(weights: SparseWeights) -> Arrays:
    """Return the arrays of an inverted index, without intercepts."""
    features, indptr, classes, values = weights.index
    return {"features": features, "indptr": indptr, "classes": classes, "values": values}


def unpack_index(arrays: Arrays, intercepts: npt.NDArray[Any], n_features: int) -> SparseWeights:
    """Restore what `pack_index` gave; nothing in it may point outside.

    Weights in a file that nobody has read are not looked at: kernels look at each class before they use it.
    """
    features, indptr = (unpack_ids(arrays[name]) for name in ("features", "indptr"))
    classes, values = arrays["classes"], arrays["values"]
    unread = is_unread(values)
    if unread:
        _require(classes.ndim == values.ndim == 1, "its lists of weights do not fit together")
        _require(classes.dtype == np.int32 and values.dtype == np.float32, "weights are not plain numbers")
    else:
        classes = unpack_ids(classes)
        _require(values.ndim == 1 and _plain(values), "weights or intercepts are not plain numbers")
    _require(intercepts.ndim == 1 and _plain(intercepts), "weights or intercepts are not plain numbers")
    fits = len(indptr) == len(features) + 1 and len(classes) == len(values)
    fits = fits and _within(indptr, len(values) + 1)  # before differences, which could wrap
    fits = fits and indptr[0] == 0 and indptr[-1] == len(values) and not np.any(np.diff(indptr) < 0)
    _require(fits, "its lists of weights do not fit together")
    _require(unread or _within(classes, len(intercepts)), "a weight belongs to a class that is not there")
    _require(_within(features, n_features) and not np.any(np.diff(features) <= 0), "its features are not in order")
    classes = classes.astype(np.int32, copy=False)
    return SparseWeights(features.astype(np.int32), indptr, classes, values, intercepts, n_features)


def pack_paths(weights: PathWeights) -> Arrays:
    """Return the arrays of weights that are sums along paths: a tree, rows, and their shares in the leaves."""
    sums, tree = weights.sums, weights.tree
    if sums.own is None:
        raise ModelFormatError(
            "Every row supports a logistic classifier; to save so many of them, fit with weights='sparse' and a prune "
            "of 0.01 or so."
        )
    return {
        "parent": tree.parent,
        "leaves": tree.leaves,
        "sharing": np.array([tree.sharing]),
        "root": np.array([ROOTS.index(weights.root), int(sums.rows.has_constant)]),
        "centres": weights.centres,
        **prefixed("vectors", pack_matrix(sums.rows.matrix(np.arange(len(sums.rows))))),
        **prefixed("state", pack_matrix(weights.shares(sums.state))),
        **prefixed("own", pack_matrix(weights.shares(sums.own))),
    }


def unpack_paths(arrays: Arrays, n_classes: int, n_features: int, tree: Tree, root: str) -> PathWeights:
    """Restore what `pack_paths` gave; a tree that is not the learner's could ask for any amount of memory."""
    parent, leaves, kind = (unpack_ids(arrays[name]) for name in ("parent", "leaves", "root"))
    sharing, centres = arrays["sharing"], arrays["centres"]
    same = np.array_equal(parent, tree.parent) and np.array_equal(leaves, tree.leaves)
    _require(same and len(np.unique(leaves)) == len(leaves) == n_classes, "its tree is not that of its taxonomy")
    _require(sharing.dtype.kind == "f" and np.array_equal(sharing, [tree.sharing]), "its sharing is another")
    _require(0 < tree.sharing < np.inf, "where nothing is shared, weights are no sums")
    _require(len(kind) == 2 and root in ROOTS and kind[0] == ROOTS.index(root), "its root is another")
    _require(_within(kind[1:], 2), "it has an intercept or none")
    vectors = _unpack_csr(group("vectors", arrays), n_features)
    state, own = (_unpack_csr(group(name, arrays), vectors.shape[0]) for name in ("state", "own"))
    _require(state.shape[0] == own.shape[0] == n_classes, "its shares are not as many as its intercepts")
    rows = Rows.of(vectors, constant=bool(kind[1]))
    n_free = len(free_roots(layout_for(tree, root), tree, root))
    _require(centres.shape == (n_free, rows.n_used) and _plain(centres), "centres of its roots do not fit")
    return PathWeights.from_shares(tree, root, rows, state, own, centres)


def unpack_ids(ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return a list of whole numbers as int64; of whatever else is in a file, nothing."""
    _require(ids.ndim == 1 and ids.dtype.kind in "iu", "a list of whole numbers is something else")
    return ids.astype(np.int64)  # what is too large becomes negative, and is refused as that


def _plain(numbers: npt.NDArray[Any], kinds: tuple[Any, ...] = (np.float32,)) -> bool:
    return numbers.dtype in kinds and bool(np.all(np.isfinite(numbers)))


def _within(ids: npt.NDArray[Any], limit: int) -> bool:
    return not np.any((ids < 0) | (ids >= limit))


def _require(fits: bool, otherwise: str) -> None:
    if not fits:
        raise ModelFormatError(f"Its weights do not fit: {otherwise}.")
