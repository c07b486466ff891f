"""`find_errors`: which labels are taken for which, where in the tree, and at what cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import LabelError
from cladist.labels import LabelMatrix
from cladist.losses import read_labels
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NOTHING = -1  # in place of a node: a label without a prediction, or a prediction without a label
KINDS = ("siblings", "branches", "depth", "missed", "extra")


@dataclass(frozen=True, eq=False)
class Errors:
    """The pairs of true and predicted labels that differ, with their rows and their cost.

    The cost of a pair is its tree distance: the edges between the two labels. Where a row has several labels, a label
    that was not predicted is paired with the nearest wrong prediction of the row. A label without one, and a prediction
    without a label, is paired with nothing, at the cost of the edges from above the roots.

    Attributes
    ----------
    taxonomy : Taxonomy
        The taxonomy of the labels.
    n_rows : int
        The number of all rows, right ones too.
    distance_counts : array
        How many labels have each distance to their prediction, from 0 on.
    true, pred : int arrays (pairs,)
        The nodes of each pair; −1 for nothing.
    count, distance : int arrays (pairs,)
        The number of rows with the pair, and its tree distance.
    first : int array (pairs + 1,)
        Where the rows of each pair begin in `rows`.
    rows : int array
        The rows of all pairs, from 0.
    label_counts : int array (nodes,)
        How many rows truly have each node as a label: as one of their deepest nodes.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/film"])
    >>> errors = find_errors(["chess", "film", "chess"], ["tennis", "film", "film"], taxonomy)
    >>> errors.cost.tolist(), errors.kind.tolist()
    ([4, 2], ['branches', 'siblings'])
    """

    taxonomy: Taxonomy
    n_rows: int
    distance_counts: Ids
    true: Ids
    pred: Ids
    count: Ids
    distance: Ids
    first: Ids
    rows: Ids
    label_counts: Ids

    @property
    def cost(self) -> Ids:
        """The cost of each pair: its rows times its distance."""
        return self.count * self.distance

    @property
    def total(self) -> int:
        """The cost of all pairs."""
        return int(self.cost.sum())

    @property
    def n_errors(self) -> int:
        """The number of wrong labels."""
        return int(self.count.sum())

    @cached_property
    def meet(self) -> Ids:
        """The nearest common ancestor of each pair, where the prediction takes the wrong turn; −1 above the roots."""
        meet = np.full(len(self.true), NOTHING)
        both = (self.true >= 0) & (self.pred >= 0)
        meet[both] = self.taxonomy.common_ancestors(self.true[both], self.pred[both])
        return meet

    @cached_property
    def kind(self) -> npt.NDArray[np.str_]:
        """How the two labels of each pair lie to each other.

        "siblings" have the same parent, of "depth" one is above the other, of "missed" and "extra" one is nothing, and
        all others are in different "branches".
        """
        parent = self.taxonomy.deepest_parent
        true, pred = self.true, self.pred
        conditions = [pred < 0, true < 0, (self.meet == true) | (self.meet == pred), parent[true] == parent[pred]]
        return np.select(conditions, ["missed", "extra", "depth", "siblings"], "branches")

    @cached_property
    def branches(self) -> tuple[Ids, Ids]:
        """The two branches that each pair is in: the nodes just below their common ancestor; −1 for nothing."""
        parent = self.taxonomy.deepest_parent
        return tuple(_climb(nodes, self.meet, parent) for nodes in (self.true, self.pred))  # type: ignore[return-value]

    def rows_of(self, pair: int) -> Ids:
        """Return the rows of a pair, in order."""
        return self.rows[self.first[pair] : self.first[pair + 1]]

    def node_costs(self) -> Floats:
        """Return the cost of the errors of the rows that truly have each node."""
        return self._sum_above(self.true, self.cost)

    def turn_costs(self) -> Floats:
        """Return the cost of the wrong turns taken at each node: below it lie both labels, in different branches."""
        at = self.meet >= 0
        return np.bincount(self.meet[at], weights=self.cost[at], minlength=self.taxonomy.n_nodes).astype(np.float64)

    def _sum_above(self, nodes: Ids, values: Ids) -> Floats:
        known = nodes >= 0
        closed = LabelMatrix.from_nodes(nodes[known], self.taxonomy)
        weights = np.repeat(values[known], np.diff(closed.indptr))
        return np.bincount(closed.indices, weights=weights, minlength=self.taxonomy.n_nodes).astype(np.float64)

    def __repr__(self) -> str:
        return f"Errors({self.n_errors} of {self.n_rows} rows, cost {self.total})"


def find_errors(y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> Errors:
    """Return the pairs of true and predicted labels that differ, costliest first.

    Parameters
    ----------
    y_true, y_pred : labels in any form
        The true and the predicted labels.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    """
    true, pred = read_labels(y_true, y_pred, taxonomy)
    if len(true) != len(pred):
        raise LabelError(f"find_errors: y_true has {len(true)} rows and y_pred has {len(pred)}.")
    rows, t, p, n_right = _pair_labels(true, pred)
    distance = _distances(t, p, taxonomy)
    counts = np.bincount(distance, minlength=1)
    counts[0] += n_right
    keys, order, starts = _group((t + 1) * (taxonomy.n_nodes + 1) + p + 1)
    n_each = np.diff(starts)
    sample = order[starts[:-1]]
    best = np.lexsort((keys, -(n_each * distance[sample])))
    first = np.concatenate([[0], np.cumsum(n_each[best])])
    gathered = order[np.repeat(starts[:-1][best] - first[:-1], n_each[best]) + np.arange(first[-1])]
    pairs = sample[best]
    sides = t[pairs], p[pairs], n_each[best], distance[pairs]
    label_counts = np.bincount(true.frontier[1], minlength=taxonomy.n_nodes)
    return Errors(taxonomy, len(true), counts, *sides, first, rows[gathered], label_counts)


def _group(keys: Ids) -> tuple[Ids, Ids, Ids]:
    """Return the distinct keys, the positions sorted by key, and where each key's positions begin and end."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(keys)])
    return ordered[begins], order, np.concatenate([begins, [len(keys)]]).astype(np.int64)


def _pair_labels(true: LabelMatrix, pred: LabelMatrix) -> tuple[Ids, Ids, Ids, int]:
    """Return row, label and prediction of everything that differs, and the number of labels that are right."""
    n_nodes = true.taxonomy.n_nodes
    t, p = (_frontier_keys(labels, n_nodes) for labels in (true, pred))
    missed, extra = np.setdiff1d(t, p, assume_unique=True), np.setdiff1d(p, t, assume_unique=True)
    missed.sort()
    extra.sort()
    begins, ends = (np.searchsorted(extra // n_nodes, missed // n_nodes, side) for side in ("left", "right"))
    n_choices = ends - begins
    which = np.repeat(np.arange(len(missed)), n_choices)
    choice = np.arange(len(which)) - np.repeat(np.cumsum(n_choices) - n_choices, n_choices) + begins[which]
    chosen = np.full(len(missed), NOTHING)
    single = n_choices == 1
    chosen[single] = begins[single]
    several = ~single[which]
    which, choice = which[several], choice[several]
    near = true.taxonomy.distances(missed[which] % n_nodes, extra[choice] % n_nodes)
    order = np.lexsort((choice, near, which))
    nearest = order[np.unique(which[order], return_index=True)[1]]
    chosen[which[nearest]] = choice[nearest]
    alone = np.setdiff1d(np.arange(len(extra)), chosen)
    nothing = np.full(len(alone), NOTHING)
    partner = np.full(len(missed), NOTHING)
    partner[chosen >= 0] = extra[chosen[chosen >= 0]] % n_nodes
    rows = np.concatenate([missed, extra[alone]]) // n_nodes
    nodes = np.concatenate([missed % n_nodes, nothing]), np.concatenate([partner, extra[alone] % n_nodes])
    return rows, *nodes, len(t) - len(missed)


def _frontier_keys(labels: LabelMatrix, n_nodes: int) -> Ids:
    indptr, nodes = labels.frontier
    return np.repeat(np.arange(len(labels)), np.diff(indptr)) * n_nodes + nodes


def _distances(t: Ids, p: Ids, taxonomy: Taxonomy) -> Ids:
    """Return the edges between labels and predictions; of one alone, those from above the roots down to it."""
    depth = np.asarray(taxonomy.depth, np.int64)
    distance = np.where(t >= 0, depth[t], depth[p]) + (1 if len(taxonomy.roots) > 1 else 0)
    both = (t >= 0) & (p >= 0)
    distance[both] = taxonomy.distances(t[both], p[both])
    return np.maximum(distance, 1)


def _climb(nodes: Ids, above: Ids, parent: npt.NDArray[Any]) -> Ids:
    """Return the ancestors of nodes, or the nodes, whose parents are `above`."""
    at = nodes.copy()
    while True:
        up = np.flatnonzero((at >= 0) & (at != above) & (parent[at] >= 0) & (parent[at] != above))
        if not len(up):
            return at
        at[up] = parent[at[up]]
