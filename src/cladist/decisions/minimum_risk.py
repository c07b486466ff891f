"""`MinimumRisk`: the node, or the set of nodes, of least expected loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cladist.decisions.rule import Answers, ClassTree, Floats, Rule
from cladist.decoders import best_labelling
from cladist.errors import LabelError, ParameterError, TooLargeError, one_of
from cladist.kernels import decision
from cladist.labels import LabelMatrix, TopK
from cladist.losses import HierarchicalF, HLoss, Loss, SymmetricDifference, TreeDistance, ZeroOne, as_loss, node_costs

MOST_PAIRS = 50_000_000  # of a class and a node whose loss is computed
PAIRS_AT_ONCE = 1_000_000
LEAST = 1e-12  # a conditional probability is at least this far from 0 and 1
INCOHERENT = 1e-6  # how far a node may exceed a parent


class MinimumRisk(Rule):
    """The answer of least expected loss Σ_classes p(class) Δ(class, answer).

    Exact for every loss of `cladist.losses` and for a matrix of costs: on trees and forests by one pass over the nodes
    with probability, on DAGs and for a matrix by comparing all pairs, if there are at most 50 million. Ties go to the
    node that comes first in the taxonomy.

    For sets of labels, the set of nodes, closed under ancestors, of least expected loss given the probability of every
    node: exact for `SymmetricDifference` and `HLoss` (on trees), which are sums over nodes. For `ZeroOne`, exact if
    siblings are independent given their parent. For `HierarchicalF`, the set of greatest Σ_answer p / (β² Σ p + size),
    a ratio of expectations. `TreeDistance` compares single nodes and is refused.

    Parameters
    ----------
    loss : Loss, {"tree-distance", "zero-one", "h-loss", "symmetric-difference", "hierarchical-f1"} or array
        The loss Δ. An array is a matrix of costs (classes × nodes), or (classes × classes), in the order of the columns
        of P and of ``taxonomy.names``.
    over : {"nodes", "leaves"}
        The answers allowed: all nodes, or the classes that are leaves.

    References
    ----------
    Plaud, Labeau, Saillenfest & Bonald, To Each Metric Its Decoding: Post-Hoc Optimal Decision Rules of Probabilistic
    Hierarchical Classifiers, ICML 2025; Bi & Kwok, Hierarchical Multilabel Classification with Minimum Bayes Risk, ICDM
    2012.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> P = [[0.1, 0.45, 0.45], [0.4, 0.3, 0.3]]  # art, tennis, chess
    >>> MinimumRisk("tree-distance").fit(P, None, taxonomy).decide(P).tolist()
    ['sport', 'sport']
    >>> MinimumRisk("zero-one").fit(P, None, taxonomy).decide(P).tolist()
    ['tennis', 'art']
    """

    name: ClassVar[str] = "minimum-risk"
    takes_sets: ClassVar[bool] = True

    def __init__(self, loss: Any = "tree-distance", *, over: str = "nodes") -> None:
        self.loss = loss
        self.over = over

    def check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense."""
        one_of("MinimumRisk", "over", self.over, ("nodes", "leaves"))
        if self._costs() is None:
            as_loss("MinimumRisk", self.loss)

    def _costs(self) -> Floats | None:
        """Return the matrix of costs, if the loss is one."""
        if isinstance(self.loss, (str, Loss)):
            return None
        try:
            costs = np.asarray(self.loss, dtype=np.float64)
        except (TypeError, ValueError):
            costs = np.zeros(0)
        if costs.ndim != 2 or not np.isfinite(costs).all():
            raise ParameterError(
                f"MinimumRisk: loss must be a Loss, a name or a matrix of finite costs; got {type(self.loss).__name__}."
            )
        return costs

    # ---------------------------------------------------------------- one node per row

    def _answer(self, top: TopK, tree: ClassTree) -> Answers:
        nodes, _ = self.least_risk(top, tree)
        return Answers(nodes, decision.mass_at(*top, *tree.closure, nodes))

    def least_risk(self, top: TopK, tree: ClassTree) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return the node of least risk of every row, −1 if it has no probabilities, and that risk."""
        costs = self._costs()
        if costs is not None:
            return self._compare_all(top, *self._with_candidates(costs, tree))
        loss, allowed = as_loss("MinimumRisk", self.loss), self._allowed(tree)
        if isinstance(loss, ZeroOne):
            return _most_probable(top, tree, allowed)
        if not tree.is_tree:
            return self._compare_all(top, loss_matrix(loss, tree), np.flatnonzero(allowed), all_nodes=True)
        parent, depth = tree.taxonomy.parent, tree.taxonomy.depth
        if isinstance(loss, HierarchicalF):
            return decision.highest_overlap(*top, *tree.closure, parent, depth, allowed, float(loss.beta))
        if isinstance(loss, HLoss):
            cost = node_costs(loss.weights, tree.taxonomy, virtual_root=loss.virtual_root)
            return decision.least_risk(*top, *tree.closure, parent, cost, allowed, True)
        if isinstance(loss, (SymmetricDifference, TreeDistance)):  # the same on trees
            return decision.least_risk(*top, *tree.closure, parent, np.ones(len(parent)), allowed, False)
        return self._compare_all(top, loss_matrix(loss, tree), np.flatnonzero(allowed), all_nodes=True)

    def _allowed(self, tree: ClassTree) -> npt.NDArray[np.bool_]:
        allowed = np.ones(tree.taxonomy.n_nodes, bool)
        if self.over == "leaves":
            allowed[:] = False
            allowed[tree.nodes] = tree.taxonomy.is_leaf[tree.nodes]
        return allowed

    def _with_candidates(self, costs: Floats, tree: ClassTree) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return the columns of a user's matrix that are allowed, by ascending node, and their nodes."""
        n_classes, n_nodes = len(tree.nodes), tree.taxonomy.n_nodes
        if costs.shape not in ((n_classes, n_nodes), (n_classes, n_classes)):
            raise ParameterError(
                f"MinimumRisk: a matrix of costs is classes × nodes, here {n_classes} × {n_nodes}, or classes × "
                f"classes; got {costs.shape[0]} × {costs.shape[1]}."
            )
        nodes = np.arange(n_nodes) if costs.shape[1] == n_nodes else tree.nodes
        order = np.argsort(nodes, kind="stable")
        order = order[self._allowed(tree)[nodes[order]]]
        return costs[:, order], nodes[order]

    def _compare_all(
        self, top: TopK, costs: Floats, candidates: npt.NDArray[np.int64], *, all_nodes: bool = False
    ) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return the candidate of least expected cost; `costs` has one column per candidate, or per node."""
        if not len(candidates):
            return np.full(len(top), -1), np.full(len(top), np.inf)
        costs = costs[:, candidates] if all_nodes else costs
        rows = np.arange(len(top))[:, None]
        P = np.zeros((len(top), costs.shape[0]))
        P[rows, top.columns] = top.probabilities
        risks = P @ costs
        best = risks.argmin(axis=1)
        empty = ~P.any(axis=1)
        return np.where(empty, -1, candidates[best]), np.where(empty, np.inf, risks[rows[:, 0], best])

    # ---------------------------------------------------------------- sets of nodes

    def _answer_sets(self, marginals: Floats) -> LabelMatrix:
        if self._costs() is not None:
            raise ParameterError("MinimumRisk: a matrix of costs is for one label per row; use a loss for sets.")
        loss, taxonomy = as_loss("MinimumRisk", self.loss), self.taxonomy_
        edges = taxonomy.parents.tocoo()
        above = np.ones(marginals.shape)
        np.minimum.at(above.T, edges.row, marginals.T[edges.col])
        if np.any(marginals > above + INCOHERENT):
            raise LabelError("MinimumRisk: a node is more probable than a node above it; P is not coherent.")
        if isinstance(loss, SymmetricDifference):
            return _closed(marginals > 0.5, taxonomy)
        if isinstance(loss, HierarchicalF):
            return _closed(_best_ratio(marginals, float(loss.beta)), taxonomy)
        if isinstance(loss, HLoss):
            cost = node_costs(loss.weights, taxonomy, virtual_root=loss.virtual_root)
            taxonomy.require_tree("MinimumRisk with HLoss for sets of labels")
            scores = cost * (2 * marginals - above) - (cost * marginals) @ taxonomy.parents
        elif isinstance(loss, ZeroOne):
            taxonomy.require_tree("MinimumRisk with ZeroOne for sets of labels")
            given = np.clip(np.divide(marginals, above, out=np.zeros_like(above), where=above > 0), LEAST, 1 - LEAST)
            scores = np.log(given) - np.log1p(-given) + np.log1p(-given) @ taxonomy.parents
        else:
            raise ParameterError(
                f"MinimumRisk: {type(loss).__name__} is not defined for sets of labels; use SymmetricDifference, "
                "HLoss, HierarchicalF or ZeroOne."
            )
        return best_labelling(scores, taxonomy)


def _closed(chosen: npt.NDArray[np.bool_], taxonomy: Any) -> LabelMatrix:
    rows, nodes = np.nonzero(chosen)
    return LabelMatrix.from_ids(np.searchsorted(rows, np.arange(len(chosen) + 1)), nodes, taxonomy)


def _best_ratio(marginals: Floats, beta: float) -> npt.NDArray[np.bool_]:
    """Return the sets of greatest Σ_set p / (β² Σ p + size): the most probable nodes, as many as is best."""
    order = np.argsort(-marginals, axis=1, kind="stable")  # of equal nodes, those above others first
    sums = np.cumsum(np.take_along_axis(marginals, order, axis=1), axis=1)
    ratios = sums / (beta**2 * sums[:, -1:] + np.arange(1, marginals.shape[1] + 1))
    n_chosen = np.where(sums[:, -1] > 0, ratios.argmax(axis=1) + 1, 0)
    chosen = np.zeros(marginals.shape, bool)
    np.put_along_axis(chosen, order, np.arange(marginals.shape[1]) < n_chosen[:, None], axis=1)
    return chosen


def _most_probable(top: TopK, tree: ClassTree, allowed: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the most probable class of every row that is allowed, the first of several, and its risk.

    If no class that is allowed has a probability, all of them are as bad.
    """
    nodes = tree.nodes[top.columns]
    values = np.where(allowed[nodes], top.probabilities, 0.0)
    highest = values.max(axis=1, initial=0.0, keepdims=True)
    n_nodes = tree.taxonomy.n_nodes
    best = np.where((values == highest) & (values > 0), nodes, n_nodes).min(axis=1, initial=n_nodes)
    totals = top.probabilities.sum(axis=1)
    first = tree.nodes[allowed[tree.nodes]].min(initial=n_nodes)
    best = np.where((best == n_nodes) & (totals > 0), first, best)
    return np.where(best == n_nodes, -1, best), totals - highest[:, 0]


def loss_matrix(loss: Loss, tree: ClassTree) -> Floats:
    """Return the loss of every node as the answer for every class (classes × nodes)."""
    n_classes, n_nodes = len(tree.nodes), tree.taxonomy.n_nodes
    if n_classes * n_nodes > MOST_PAIRS:
        raise TooLargeError(
            f"MinimumRisk with {type(loss).__name__} on a {tree.taxonomy.kind} compares all pairs of {n_classes:,} "
            f"classes and {n_nodes:,} nodes, more than {MOST_PAIRS:,}; use a tree, or Confidence."
        )
    return np.concatenate(list(_loss_rows(loss, tree)))


def _loss_rows(loss: Loss, tree: ClassTree) -> Iterator[Floats]:
    n_nodes = tree.taxonomy.n_nodes
    step = max(1, PAIRS_AT_ONCE // n_nodes)
    for first in range(0, len(tree.nodes), step):
        classes = tree.nodes[first : first + step]
        true = LabelMatrix.from_nodes(np.repeat(classes, n_nodes), tree.taxonomy)
        answers = LabelMatrix.from_nodes(np.tile(np.arange(n_nodes), len(classes)), tree.taxonomy)
        yield loss.per_example(true, answers, tree.taxonomy).reshape(len(classes), n_nodes)
