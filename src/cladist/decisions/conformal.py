"""`Conformal`: sets that contain the true label with a given probability, for any model and distribution."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from cladist.decisions.rule import Answers, ClassTree, Floats, Ids, Rule
from cladist.errors import ParameterError, is_count, one_of
from cladist.kernels import decision
from cladist.labels import LabelMatrix, TopK

MOST_COVERED = 100  # classes of a row, the most probable ones, among which nodes that cover them are searched for
KINDS = ("leaves", "node", "nodes")


class Conformal(Rule):
    """Sets with coverage 1 − `alpha`: the true label is in the set, or below a node of it, that often.

    Split conformal prediction: `fit` computes on each of n calibration rows how large a set must be to contain the
    label, and takes the ⌈(n + 1)(1 − alpha)⌉-th smallest value as the threshold of new rows. The coverage holds if
    calibration rows and new rows come from one distribution, on average over both, whatever the model is.

    - "leaves": all classes whose probability is at least a threshold.
    - "node": one node, with the fewest classes below it of all nodes whose probability exceeds a threshold.
    - "nodes": at most `r` disjoint nodes with the fewest classes below them whose probabilities sum to more than a
      threshold, among the 100 most probable classes and the nodes above them.

    For sets of labels, all nodes whose probability is at least a threshold; the whole set of true labels is among them
    with probability 1 − `alpha`.

    Parameters
    ----------
    alpha : float
        Between 0 and 1.
    kind : {"leaves", "node", "nodes"}
        What a set is made of. "nodes" needs a tree or forest.
    r : int
        The most nodes of a set of kind "nodes".
    by : {"all", "class"}
        For "leaves": one threshold for all classes, or a threshold for each class, so that the coverage holds for the
        rows of each class. A class with fewer than 1 / `alpha` calibration rows shares the threshold of the nearest
        node above it that has as many below it.

    Attributes
    ----------
    threshold_ : float or array (classes,)
        What the set of a row must exceed, see `kind`; for "leaves", the least probability of a class in the set.

    Notes
    -----
    The smallest sets of nodes of growing probability need not contain each other. Their threshold is the lowest one
    from which on enough calibration rows are covered; the coverage may then miss 1 − `alpha` by the order of 1 / n.

    If there are fewer than 1 / `alpha` − 1 calibration rows, sets contain everything. Where the smallest sets are
    right more often than 1 − `alpha`, the least sure rows get an empty set, so that the coverage is not exceeded.

    References
    ----------
    Vovk, Gammerman & Shafer, Algorithmic Learning in a Random World, 2005; Mortier, Hüllermeier, Dembczyński &
    Waegeman, Set-valued Prediction in Hierarchical Classification with Constrained Representation Complexity, UAI 2022.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> P = [[0.1, 0.5, 0.4], [0.7, 0.2, 0.1]] * 10  # art, tennis, chess
    >>> y = ["tennis", "art"] * 7 + ["chess", "art"] * 3
    >>> rule = Conformal(alpha=0.1, kind="node").fit(P, y, taxonomy)
    >>> [sorted(names) for names in rule.decide([[0.1, 0.45, 0.45], [0.9, 0.05, 0.05]])]
    [['sport'], ['art']]
    """

    name: ClassVar[str] = "conformal"
    needs_labels: ClassVar[bool] = True
    takes_sets: ClassVar[bool] = True
    _fitted: ClassVar[tuple[str, ...]] = ("threshold_",)

    threshold_: Any

    def __init__(self, alpha: float = 0.1, *, kind: str = "leaves", r: int = 3, by: str = "all") -> None:
        self.alpha = alpha
        self.kind = kind
        self.r = r
        self.by = by

    def check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense."""
        if not (isinstance(self.alpha, (int, float)) and 0 < self.alpha < 1):
            raise ParameterError(f"Conformal: alpha must be between 0 and 1; got {self.alpha!r}.")
        one_of("Conformal", "kind", self.kind, KINDS)
        one_of("Conformal", "by", self.by, ("all", "class"))
        if not is_count(self.r):
            raise ParameterError(f"Conformal: r must be a whole number from 1 up; got {self.r!r}.")
        if self.by == "class" and self.kind != "leaves":
            raise ParameterError("Conformal: by='class' is for kind='leaves'.")

    def needs_longer_lists(self, n_listed: int) -> bool:
        """Tell whether classes beyond those listed are needed: sets would otherwise hold all classes."""
        whole = self.sets_ or self.kind != "leaves" or n_listed >= len(self.class_nodes_)
        return not whole and bool(np.min(self.threshold_) <= 0)

    # ---------------------------------------------------------------- thresholds

    def _fit(self, top: TopK, labels: LabelMatrix | None, tree: ClassTree) -> None:
        assert labels is not None
        if self.sets_:
            present = labels.to_indicator().toarray() > 0
            lowest = np.where(present, top.probabilities, 1.0).min(axis=1)
            self.threshold_ = -upper_quantile(-lowest, self.alpha)
            return
        true = labels.nodes("Conformal")
        if self.kind != "leaves":
            self.threshold_ = self._least_level(top, true, tree)
            return
        own = np.where(tree.nodes[top.columns] == true[:, None], top.probabilities, 0.0).sum(axis=1)
        if self.by == "all":
            self.threshold_ = -upper_quantile(-own, self.alpha)
        else:
            self.threshold_ = self._thresholds_of_classes(own, labels, tree)

    def _thresholds_of_classes(self, own: Floats, labels: LabelMatrix, tree: ClassTree) -> Floats:
        """Return a threshold for each class, from its own calibration rows or those below a node above it."""
        by_node, enough = labels.to_indicator().tocsc(), np.ceil(1 / self.alpha)
        of_node: dict[int, float] = {-1: -upper_quantile(-own, self.alpha)}
        thresholds = np.empty(len(tree.nodes))
        for c, (first, last) in enumerate(pairwise(tree.closure[0].tolist())):
            nearest = tree.closure[1][first:last][::-1].tolist()  # deepest first
            counts = np.diff(by_node.indptr)
            v = next((u for u in nearest if counts[u] >= enough), -1)
            if v not in of_node:
                rows = by_node.indices[by_node.indptr[v] : by_node.indptr[v + 1]]
                of_node[v] = -upper_quantile(-own[rows], self.alpha)
            thresholds[c] = of_node[v]
        return thresholds

    def _least_level(self, top: TopK, true: Ids, tree: ClassTree) -> float:
        """Return the lowest threshold from which on enough rows are covered, whatever higher one is taken.

        A row is covered between the probabilities of the smallest cover before and of one that has the label. Below 0,
        the threshold tells how sure the first cover must be, or the set is empty.
        """
        indptr, masses, nodes = self._covers(top, tree)
        rows = np.repeat(np.arange(len(true)), np.diff(indptr))
        covered = np.zeros(len(rows), bool)
        for k in range(nodes.shape[1]):
            covered |= tree.contains(nodes[:, k], true[rows]) & (nodes[:, k] >= 0)
        first = indptr[:-1][np.diff(indptr) > 0]
        before = np.append(0.0, masses[:-1])
        before[first] = -masses[first]
        # Going down, a row is lost where an interval begins, and won where one ends; beyond its last cover it has all.
        last = np.zeros(len(true))
        last[np.diff(indptr) > 0] = masses[indptr[1:][np.diff(indptr) > 0] - 1]
        places = np.concatenate([before[covered], masses[covered], last])
        changes = np.repeat([-1, 1, -1], [covered.sum(), covered.sum(), len(true)])
        needed = int(np.ceil((len(true) + 1) * (1 - self.alpha) - 1e-9))
        if needed > len(true):
            return float("inf")
        levels, group = np.unique(-places, return_inverse=True)
        too_few = len(true) + np.cumsum(np.bincount(group, changes)) < needed
        return float(-levels[np.argmax(too_few)]) if too_few.any() else -float("inf")

    def _covers(self, top: TopK, tree: ClassTree, level: float = -1.0) -> tuple[Ids, Floats, Ids]:
        """Return the smallest covers of every row by growing size, or the first of more than a level of 0 or more.

        See `kernels.decision.smallest_covers`.
        """
        most = 1 if self.kind == "node" else int(self.r)
        if most > 1:
            tree.taxonomy.require_tree("Conformal with kind='nodes'")
        if top.columns.shape[1] > MOST_COVERED:
            best = TopK.of(top.probabilities, MOST_COVERED)
            top = TopK(np.take_along_axis(top.columns, best.columns, axis=1), best.probabilities)
        rank, last_rank = preorder(tree)
        found: tuple[Ids, Floats, Ids] = decision.smallest_covers(
            *top, *tree.closure, tree.n_classes_below, rank, last_rank, most, level
        )
        return found

    # ---------------------------------------------------------------- sets

    def _answer(self, top: TopK, tree: ClassTree) -> Answers:
        if self.kind == "leaves":
            return self._classes_above(top, tree)
        indptr, masses, nodes = self._covers(top, tree, max(float(self.threshold_), 0.0))
        found, sure = np.diff(indptr) > 0, np.ones(len(top))
        sure[found] = masses
        enough, roots = sure >= -self.threshold_, tree.taxonomy.roots
        counts = np.full(len(top), len(roots))  # no cover is enough: all classes
        counts[found] = (nodes >= 0).sum(axis=1)
        counts[~enough] = 0
        of_cover = np.repeat(found, counts)
        ids = np.empty(len(of_cover), np.int64)
        covers = nodes[enough[found]]
        ids[of_cover], ids[~of_cover] = covers[covers >= 0], np.tile(roots, int(np.sum(enough & ~found)))
        indptr = np.append(0, np.cumsum(counts))
        return Answers(LabelMatrix.from_ids(indptr, ids, tree.taxonomy), np.where(enough, sure, 0.0))

    def _classes_above(self, top: TopK, tree: ClassTree) -> Answers:
        thresholds = np.broadcast_to(np.asarray(self.threshold_, np.float64), len(tree.nodes))
        always = np.flatnonzero(thresholds <= 0)
        chosen = top.probabilities >= thresholds[top.columns]
        chosen &= thresholds[top.columns] > 0
        sets = [tree.nodes[np.concatenate([always, top.columns[i, row]])] for i, row in enumerate(chosen)]
        chosen |= np.isin(top.columns, always)
        return Answers(_as_labels(sets, tree), np.where(chosen, top.probabilities, 0.0).sum(axis=1))

    def _answer_sets(self, marginals: Floats) -> LabelMatrix:
        rows, nodes = np.nonzero(marginals >= self.threshold_)
        return LabelMatrix.from_ids(np.searchsorted(rows, np.arange(len(marginals) + 1)), nodes, self.taxonomy_)


def _as_labels(sets: list[Ids], tree: ClassTree) -> LabelMatrix:
    indptr = np.cumsum([0, *map(len, sets)])
    return LabelMatrix.from_ids(indptr, np.concatenate([np.zeros(0, np.int64), *sets]), tree.taxonomy)


def upper_quantile(scores: Floats, alpha: float) -> float:
    """Return the ⌈(n + 1)(1 − alpha)⌉-th smallest of n scores; infinite if n is too small."""
    place = int(np.ceil((len(scores) + 1) * (1 - alpha) - 1e-9))
    return float(np.sort(scores)[place - 1]) if place <= len(scores) else float("inf")


def preorder(tree: ClassTree) -> tuple[Ids, Ids]:
    """Return the place of each node in preorder and the last place in its subtree; in a DAG, each node by itself."""
    n_nodes = tree.taxonomy.n_nodes
    if not tree.is_tree:  # only single nodes are searched for, and they need no order
        return np.arange(n_nodes), np.arange(n_nodes)
    parent, sizes = tree.taxonomy.parent, tree.taxonomy.subtree_sizes
    rank, next_free, next_root = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64), 0
    for v in range(n_nodes):  # parents come first
        p = int(parent[v])
        place = next_root if p < 0 else int(next_free[p])
        rank[v], next_free[v] = place, place + 1
        if p < 0:
            next_root += int(sizes[v])
        else:
            next_free[p] += sizes[v]
    return rank, rank + sizes - 1
