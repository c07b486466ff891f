"""Differences of a tree's nodes as named arrays of a model file.

What a file says is doubted twice. Types, shapes and ranges are declared in `array_schema`; how the arrays fit each
other is checked here: how many chunks there are, and where each begins. Weights that are left in their file, and that
nobody has verified, are not looked at: to look at all of them would be to read all of them. Kernels that read them take
no number in them for a place without looking at it (`cladist.kernels.beam`), so that a damaged or malicious file can
make answers wrong, or end in a `ModelFormatError`, and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ModelFormatError
from cladist.kernels.beam import CHILDREN
from cladist.linear_model.level_order import Families
from cladist.linear_model.node_differences import Chunks, TreeWeights
from cladist.linear_model.problem_tree import Tree
from cladist.storage import is_unread
from cladist.storage.array_groups import Arrays

WEIGHTS = ("features", "ends", "lanes", "values")


def pack_differences(weights: TreeWeights) -> Arrays:
    """Return the arrays of a tree's weights."""
    return {**weights.chunks._asdict(), "bias": weights.bias}


def unpack_differences(arrays: Arrays, n_features: int, tree: Tree) -> TreeWeights:
    """Restore what `pack_differences` gave; how families lie in chunks is known from the tree, not from the file."""
    families = Families.of(tree)
    bias = arrays["bias"]
    _require(bias.shape == families.node_at.shape, "its intercepts are not those of its tree")
    starts = []
    for name, of in (("features_at", ("features", "ends")), ("weights_at", ("lanes", "values"))):
        at = arrays[name]
        fits = at.shape == (families.n_chunks + 1,) and at[0] == 0
        # A copy: what was checked here must not change later, as a mapped file might.
        at = np.array(at)
        fits = fits and bool(np.all(at[1:] >= at[:-1])) and all(at[-1] == len(arrays[part]) for part in of)
        _require(fits, "its chunks do not fit its weights")
        starts.append(at)
    chunks = Chunks(*starts, *(_native(arrays[name]) for name in WEIGHTS))
    if not is_unread(chunks.values):
        _check_weights(chunks, families)
    return TreeWeights(families, chunks, np.array(bias), n_features)


def _native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return (
        array.view(array.dtype.newbyteorder("="))
        if array.dtype.isnative
        else array.astype(array.dtype.newbyteorder("="))
    )


def _check_weights(chunks: Chunks, families: Families) -> None:
    """Look at all weights: features that rise within a chunk, lists that fill it, nodes that are there."""
    features, ends = chunks.features, chunks.ends
    first = np.zeros(len(features) + 1, bool)
    first[chunks.features_at] = True
    rising = first[1:-1] | ((features[1:] > features[:-1]) & (ends[1:] > ends[:-1]))
    _require(bool(np.all(rising)), "its features are not in order")
    filled = np.diff(chunks.features_at) > 0
    lengths = np.diff(chunks.weights_at)
    last = chunks.features_at[1:][filled] - 1
    _require(np.array_equal(ends[last], lengths[filled]) and not np.any(lengths[~filled]), "its lists do not fit")
    width = np.repeat(np.diff(families.chunk_at), lengths)
    _require(not np.any(chunks.lanes % CHILDREN >= width), "a weight belongs to a node that is not there")


def _require(fits: bool, otherwise: str) -> None:
    if not fits:
        raise ModelFormatError(f"Its weights do not fit: {otherwise}.")
