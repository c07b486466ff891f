"""Exact ranking of classes through an inverted index.

Features with weights in a large part of all nodes have their weights in full beside the lists: adding a whole row is
one pass through memory, while a list jumps through it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.errors import ModelFormatError
from cladist.kernels import top_k

Ids = npt.NDArray[np.int64]
Floats32 = npt.NDArray[np.float32]
CsrArrays = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
FULL_ABOVE = 0.125  # fraction of nodes with a weight, above which a whole row costs less than a list
MOST_FULL_BYTES = 2**28
SCORES_AT_ONCE = 2**22  # 16 MB: scores of all nodes for some rows


class InvertedIndex(NamedTuple):
    """Weights by feature: lists as in `cladist.kernels.linear_scores`, and the weights of some features in full."""

    features: npt.NDArray[np.int32]
    starts: Ids
    nodes: npt.NDArray[np.int32]
    values: Floats32
    whole: Ids
    dense: Floats32

    @classmethod
    def from_lists(cls, lists: tuple[Any, ...], n_nodes: int) -> InvertedIndex:
        """Return lists with the weights in full of those features that are worth it. O(weights)."""
        features, starts, nodes, values = lists
        lengths = np.diff(starts)
        longest = np.argsort(-lengths, kind="stable")[: max(0, MOST_FULL_BYTES // (4 * max(1, n_nodes)))]
        longest = np.sort(longest[lengths[longest] > FULL_ABOVE * n_nodes])
        whole = np.full(len(features), -1, np.int64)
        whole[longest] = np.arange(len(longest))
        dense = np.zeros((len(longest), n_nodes), np.float32)
        for row, feature in enumerate(longest.tolist()):
            entries = slice(starts[feature], starts[feature + 1])
            require_sound(are_within(nodes[entries], n_nodes))
            dense[row, nodes[entries]] = values[entries]
        return cls(features, starts, nodes, values, whole, dense)


NodeArrays = tuple[Any, Any, Any]  # bias, parent and class of every node


def rank_by_index(rows: CsrArrays, n_rows: int, k: int, index: InvertedIndex, tree: NodeArrays) -> tuple[Ids, Floats32]:
    """Return the k best classes of each row and their scores, best first, ties to the first."""
    best, scores = np.empty((n_rows, k), np.int64), np.empty((n_rows, k), np.float32)
    size = max(1, min(n_rows, SCORES_AT_ONCE // max(1, len(tree[0]))))
    room = np.empty((size, len(tree[0])), np.float32)
    for first in range(0, n_rows, size):
        part = slice(first, min(n_rows, first + size))
        nonzeros = int(rows[0][part.stop] - rows[0][first])
        work = room, np.empty((nonzeros, 2), np.int64), np.empty(part.stop - first, np.int64)
        require_sound(top_k.top_by_index(rows, first, index[:5], tree, index.dense, work, scores[part], best[part]))
    return best, scores


def are_within(ids: npt.NDArray[Any], limit: int) -> bool:
    """Tell whether all ids are at least 0 and below a limit."""
    return not ids.size or bool(ids.min() >= 0 and ids.max() < limit)


def require_sound(sound: bool) -> None:
    """Raise a `ModelFormatError` unless every weight belongs to a class, node and feature of the model."""
    if not sound:
        raise ModelFormatError(
            "A weight of this model belongs to a class, node or feature that it does not have; its file was altered or "
            "damaged."
        )
