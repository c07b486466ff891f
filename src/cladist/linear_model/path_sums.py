"""Weights of leaves as sums along their paths: what many leaves share is kept once.

Stored nodes have a vector each; what lies below them is said by the rows' shares, α y. A leaf's weights would be 4
bytes a feature; its shares are 8 bytes for each row that supports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels import joint as kernels
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.forms import InBlocks
from cladist.linear_model.leaf_blocks import Layout, layout_for
from cladist.linear_model.problem_tree import Tree
from cladist.linear_model.rows import Rows, aligned

Floats32 = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
SUMMED_BYTES = 2**28  # of sums of stored nodes in float64
EVERY_LANE = np.uint32(2**WIDTH - 1)
IDENTITY = np.eye(WIDTH, dtype=np.float32)


class Alphas(NamedTuple):
    """The α of a block that are not 0: rows, and sixteen values each."""

    listed: npt.NDArray[np.int32]
    values: Floats32

    @classmethod
    def none(cls) -> Alphas:
        """Return no rows."""
        return cls(np.zeros(0, np.int32), np.zeros((0, WIDTH), np.float32))


@dataclass(frozen=True)
class Sums:
    """What the weights of leaves are sums of.

    Attributes
    ----------
    layout : Layout
    V : array (stored nodes × features in use)
        Their vectors.
    rows : Rows
        Those learnt from.
    state : list of Alphas
        α y of every block, which say what nodes within it are.
    own : list of Alphas, or None
        α y that leaves add to their parents' weights; None: those of the state.

    Notes
    -----
    What is stored could be made from `state` again: `set_vectors`.
    """

    layout: Layout
    V: Floats32
    rows: Rows
    state: list[Alphas]
    own: list[Alphas] | None

    def set_vectors(self, free: Ids, centres: Floats32) -> None:
        """Set the vectors of stored nodes to what α y say, those of free roots being `centres` and that."""
        set_vectors(self.V, self.layout, self.rows, lambda b: self.state[b], free, centres)

    def put(self, b: int, W: Floats32) -> None:
        """Set W to the weights of a block's leaves."""
        block, rows = self.layout.blocks[b], self.rows.arrays
        positive = np.full(len(self.rows), EVERY_LANE)
        kernels.put_paths(self.V, block.paths, block.groups, W)
        if self.own is None:
            kernels.add_rows(rows, positive, *self.state[b], block.local, W)
        else:
            kernels.add_rows(rows, positive, *self.state[b], block.local_above, W)
            kernels.add_rows(rows, positive, *self.own[b], IDENTITY, W)

    def blocks(self) -> Iterator[Floats32]:
        """Yield the weights of each block, one after the other in the same array."""
        W = aligned(self.rows.n_used)
        for b in range(len(self.layout.blocks)):
            self.put(b, W)
            yield W

    def constants(self, b: int) -> Floats32:
        """Return the weights that a block's leaves give to the last feature, every row's being 1."""
        block = self.layout.blocks[b]
        starts, nodes = block.paths
        above = np.zeros(WIDTH)
        for g, lanes in enumerate(block.groups.tolist()):
            total = self.V[nodes[starts[g] : starts[g + 1]], -1].sum(dtype=np.float64)
            above += total * np.array([lanes >> k & 1 for k in range(WIDTH)])
        local = block.local if self.own is None else block.local_above
        above += self.state[b].values.sum(axis=0, dtype=np.float64) @ local
        if self.own is not None:
            above += self.own[b].values.sum(axis=0, dtype=np.float64)
        return above[: len(block.classes)].astype(np.float32)


class PathWeights(InBlocks):
    """Leaves' weights in the form of `Sums`, made sixteen at a time when scores are wanted.

    `tree`, `root` and `centres`, the vectors that free roots were last pulled to, are what else is needed to make them.
    """

    def __init__(self, sums: Sums, tree: Tree, root: str, centres: Floats32) -> None:
        self.sums, self.tree, self.root, self.centres = sums, tree, root, centres
        self.n_classes = n_classes = len(tree.leaves)
        rows = sums.rows
        self.n_features = rows.n_features
        self.feature_of = rows.feature_of[:-1] if rows.has_constant else rows.feature_of
        self.intercepts = np.zeros(n_classes, np.float32)
        if rows.has_constant:
            for b, block in enumerate(sums.layout.blocks):
                self.intercepts[block.classes] = sums.constants(b)

    def classes_of(self, b: int) -> Ids:
        """Return the classes in the lanes of a block."""
        return self.sums.layout.blocks[b].classes

    def blocks(self) -> Iterator[Floats32]:
        """Yield the blocks one after the other, all in the same array."""
        return (W[: len(self.feature_of)] for W in self.sums.blocks())

    def _rows(self, classes: Ids) -> Floats32:
        matrix = np.zeros((len(classes), self.n_features), np.float32)
        W = aligned(self.sums.rows.n_used)
        for b, block in enumerate(self.sums.layout.blocks):
            rows, lanes = np.nonzero(classes[:, None] == block.classes[None, :])
            if len(rows):
                self.sums.put(b, W)
                matrix[np.ix_(rows, self.feature_of)] = W[: len(self.feature_of), lanes].T
        return matrix

    def shares(self, alphas: list[Alphas]) -> sparse.csr_array:
        """Return α y of all blocks as a matrix (classes × rows)."""
        rows, columns, values = [], [], []
        for b, (listed, found) in enumerate(alphas):
            at, lanes = np.nonzero(found)
            rows.append(self.classes_of(b)[lanes])
            columns.append(listed[at])
            values.append(found[at, lanes])
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_array(entries, shape=(self.n_classes, len(self.sums.rows)), dtype=np.float32)

    @classmethod
    def from_shares(
        cls, tree: Tree, root: str, rows: Rows, state: sparse.csr_array, own: sparse.csr_array, centres: Floats32
    ) -> PathWeights:
        """Make them again from α y (classes × rows): those that inner nodes are made of, and the leaves' own."""
        layout = layout_for(tree, root)
        V = np.zeros((len(layout.stored_nodes), rows.n_used), np.float32)
        in_blocks = [[_in_block(shares, block.classes) for block in layout.blocks] for shares in (state, own)]
        sums = Sums(layout, V, rows, *in_blocks)
        sums.set_vectors(free_roots(layout, tree, root), centres)
        return cls(sums, tree, root, centres)

    def makes_blocks(self, n_rows: int) -> bool:
        """Tell whether scoring so many rows makes all weights anew: always."""
        return True


def free_roots(layout: Layout, tree: Tree, root: str) -> Ids:
    """Return which stored nodes are roots that are pulled nowhere."""
    return np.flatnonzero(tree.parent[layout.stored_nodes] < 0) if root == "free" else np.zeros(0, np.int64)


def _in_block(shares: sparse.csr_array, classes: Ids) -> Alphas:
    part = sparse.csc_array(shares[classes])
    listed = np.flatnonzero(np.diff(part.indptr)).astype(np.int32)
    values = np.zeros((len(listed), WIDTH), np.float32)
    values[:, : len(classes)] = part[:, listed].toarray().T
    return Alphas(listed, values)


def set_vectors(
    V: Floats32, layout: Layout, rows: Rows, signed: Callable[[int], Alphas], free: Ids, centres: Floats32
) -> npt.NDArray[np.float64]:
    """Set the vectors of stored nodes to κ Σ α y x over the leaves below, those of free roots to that and `centres`.

    `signed` gives α y of a block. Sums are float64 on the way, since large α cancel, and as many nodes are summed at
    once as `SUMMED_BYTES` allow. Returns Σ α y x of the free roots.
    """
    pulls, place = np.zeros((len(free), rows.n_used)), {u: k for k, u in enumerate(free.tolist())}
    at_once = max(1, SUMMED_BYTES // (8 * max(1, rows.n_used)))
    for first in range(0, len(V), at_once):
        sums = np.zeros((min(at_once, len(V) - first), rows.n_used))
        for b, block in enumerate(layout.blocks):
            here = np.flatnonzero((block.stored >= first) & (block.stored < first + len(sums)))
            if not len(here):
                continue
            listed, values = signed(b)
            lanes = (block.above[here, None] >> np.arange(WIDTH, dtype=np.uint32)) & np.uint32(1)
            for u, steps in zip(block.stored[here].tolist(), lanes.astype(np.float64) @ values.T, strict=True):
                kernels.add_change(rows.arrays, listed, steps, sums[u - first])
        for u, total in enumerate(sums, first):
            V[u] = layout.sharing * total
            if u in place:
                pulls[place[u]] = total
                V[u] = layout.sharing * total + centres[place[u]]
    return pulls
