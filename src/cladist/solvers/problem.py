"""One-vs-rest problems: the nodes that have one, their rows and costs, the accuracy asked for, and the solution."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ParameterError, TaxonomyError
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.labels import LabelMatrix
from cladist.linear_model.training_rows import Floats32, Ids, TrainingRows, aligned_zeros
from cladist.surrogates import SURROGATES, Surrogate
from cladist.taxonomy import Taxonomy

Members = tuple[Ids, Ids]  # where each class begins, and its rows
History = list[dict[str, float]]
TARGETS, REPAIRS = ("leaves", "nodes"), ("top_down", "bottom_up", "best")
MOST_DENSE_BYTES = 2 * 2**30  # weights="auto" keeps dense weights up to this size
MOST_BYTES_BESIDE_DUAL = 2**30  # or up to this one where the dual form saves memory
SMALLEST_WEIGHT = 1e-18  # of a row; smaller ones, with a small C, would be 0 in float32
UNUSED_COST = 1e-20  # in lanes without a class


@dataclass(frozen=True)
class OneVsRest:
    """One binary problem per class: rows, the members of each class, and the costs of their losses.

    Attributes
    ----------
    rows : TrainingRows
    members : (indptr, rows)
        The rows of each class.
    loss : str
        The name of a surrogate in `cladist.surrogates.SURROGATES`.
    costs : array (2 × classes)
        The factors of the losses of members and of other rows.
    row_weights : array (rows,), optional
        Positive factors of these.
    """

    rows: TrainingRows
    members: Members
    loss: str
    costs: npt.NDArray[Any]
    row_weights: npt.NDArray[Any] | None = None

    @property
    def surrogate(self) -> Surrogate:
        """The loss with its formulas."""
        return SURROGATES[self.loss]

    @property
    def n_classes(self) -> int:
        """The number of problems."""
        return len(self.members[0]) - 1

    def fits_dense(self, *, or_dual: bool) -> bool:
        """Tell whether ``weights="auto"`` keeps dense weights; `or_dual` if they are dual otherwise.

        Dual weights are small where few rows support a class, as under the hinges.
        """
        most = MOST_BYTES_BESIDE_DUAL if or_dual and self.surrogate.sparse_dual else MOST_DENSE_BYTES
        return -(-self.n_classes // WIDTH) * WIDTH * self.rows.n_used * 4 <= most

    @cached_property
    def weights32(self) -> Floats32:
        """The rows' weights in float32, for kernels; 1 where none are given."""
        if self.row_weights is None:
            return np.ones(len(self.rows), np.float32)
        return np.maximum(self.row_weights, SMALLEST_WEIGHT).astype(np.float32)

    def at_C(self, C: float) -> OneVsRest:  # noqa: N802 - C is the papers' letter
        """Return the problems, which were made with C = 1, for another C."""
        return replace(self, costs=self.costs * C)

    def reorder(self, order: Ids) -> OneVsRest:
        """Return the same problems with the rows in another order."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        members = self.members[0], place[self.members[1]]
        weights = None if self.row_weights is None else self.row_weights[order]
        return replace(self, rows=self.rows.reorder(order), members=members, row_weights=weights)

    def members_of(self, k: int) -> Ids:
        """Return the rows of a class."""
        indptr, rows = self.members
        return rows[indptr[k] : indptr[k + 1]]

    def lanes(self, classes: Ids, norms: Floats32 | None = None) -> LaneProblem:
        """Return the problems of up to sixteen classes as kernels take them; `norms` replace those of the rows."""
        mask = np.zeros(len(self.rows), np.uint32)
        for lane, c in enumerate(classes.tolist()):
            mask[self.members_of(c)] |= np.uint32(1 << lane)
        costs = np.full((2, WIDTH), UNUSED_COST, np.float32)
        costs[:, : len(classes)] = self.costs[:, classes]
        norms = self.rows.norms if norms is None else norms
        return LaneProblem(self.rows.arrays, norms, mask, self.weights32, costs, len(classes))


@dataclass(frozen=True)
class Settings:
    """How to solve.

    Attributes
    ----------
    tol : float
        Relative duality gap.
    max_iter : int
        The most sweeps over all rows, or Newton steps.
    seed : int
        Of the order of visits.
    solver : {"auto", "coordinate", "newton"}
        Coordinate descent, Newton steps, or the one that costs less, see `cladist.solvers.cost`.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    seed: int = 0
    solver: str = "auto"


@dataclass(frozen=True)
class Solution:
    """Weights and how they were found.

    Attributes
    ----------
    weights : Weights
    intercepts : array (problems,)
    history : list of dict
        One entry per problem or per iteration: `objective`, `gap`, `passes`.
    converged : bool
        Whether every problem reached its tolerance.
    state : object
        Where the solver ended, for a warm start; None unless it was asked for.
    """

    weights: Any
    intercepts: npt.NDArray[Any]
    history: History = field(default_factory=list)
    converged: bool = True
    state: Any = None


def duality_gap(primal: float, dual: float) -> dict[str, float]:
    """Return an entry of the history: objective, dual, which rounding alone puts above it, and the relative gap."""
    gap = max(0.0, primal - dual) / primal if primal > 0 else 0.0
    return {"objective": primal, "dual": min(dual, primal), "gap": gap}


def members_by_class(classes: Ids, n_classes: int) -> Members:
    """Return the rows of each class, given one class per row.

    Examples
    --------
    >>> indptr, rows = members_by_class(np.array([1, 0, 1]), 2)
    >>> indptr.tolist(), rows.tolist()
    ([0, 1, 3], [1, 0, 2])
    """
    counts = np.bincount(classes, minlength=n_classes)
    return np.concatenate([[0], np.cumsum(counts)]), np.argsort(classes, kind="stable")


# ---------------------------------------------------------------- where descent begins


def initial_alpha(lanes: LaneProblem, surrogate: Surrogate) -> Floats32:
    """Return the α (rows × 16) that descent begins from."""
    alpha, n = aligned_zeros(len(lanes.mask)), lanes.n_lanes
    if surrogate.positive_share or surrogate.negative_share:
        positive = (lanes.mask[:, None] >> np.arange(n, dtype=np.uint32)) & 1
        shares = surrogate.positive_share * lanes.costs[0, :n], surrogate.negative_share * lanes.costs[1, :n]
        alpha[:, :n] = np.where(positive, *shares) * lanes.weight[:, None]
    return alpha


def fill_lanes(classes: Ids) -> Ids:
    """Return sixteen numbers, the last one repeated."""
    return np.append(classes, np.repeat(classes[-1:], WIDTH - len(classes)))


def random_generator(*seed: int) -> npt.NDArray[np.uint64]:
    """Return the state of a kernel's own random numbers; never 0, which would stay 0."""
    return np.random.default_rng(seed).integers(1, 2**63, 1, dtype=np.uint64)


# ------------------------------------------------------------------ from labels to problems


@dataclass(frozen=True)
class Targets:
    """The nodes that have a classifier, and the rows that belong to each.

    Attributes
    ----------
    nodes : array of node ids
        One per problem. Of two classes in single labels only the second has a problem, whose sign decides.
    members : (indptr, rows)
        The rows of each of `nodes`.
    labels : array of node ids
        The labels that can be predicted.
    """

    nodes: Ids
    members: Members
    labels: Ids

    @classmethod
    def of(cls, labels: LabelMatrix, *, all_nodes: bool, sets: bool) -> Targets:
        """Return targets for the deepest labels of every row, or for all its nodes."""
        seen = np.unique(labels.frontier[1]).astype(np.int64)
        indptr, indices = (labels.indptr, labels.indices) if all_nodes else labels.frontier
        nodes = np.unique(indices).astype(np.int64)
        members = _by_node(indptr, np.searchsorted(nodes, indices), len(nodes))
        if sets:
            return cls(nodes, members, nodes)
        if not all_nodes and len(nodes) == 2:
            starts, rows = members
            return cls(nodes[1:], (starts[1:] - starts[1], rows[starts[1] :]), nodes)
        if not all_nodes and len(nodes) == 1:
            return cls(nodes[:0], (np.zeros(1, np.int64), np.zeros(0, np.int64)), nodes)
        return cls(nodes, members, seen)

    def with_nodes(self, others: Ids) -> Targets:
        """Return these targets and other nodes, to which no row belongs; each is a label of its own."""
        nodes = np.union1d(self.nodes, others)
        counts = np.zeros(len(nodes), np.int64)
        counts[np.searchsorted(nodes, self.nodes)] = np.diff(self.members[0])
        return Targets(nodes, (np.concatenate([[0], np.cumsum(counts)]), self.members[1]), nodes)

    @property
    def one_decides(self) -> bool:
        """Whether a single problem separates two labels."""
        return len(self.nodes) == 1 and len(self.labels) == 2

    def costs(self, factors: Any) -> npt.NDArray[np.float64]:
        """Return the costs (2 × problems) of positive and negative rows at C = 1, given `class_weights`."""
        costs = np.ones((2, len(self.nodes)))
        if factors is not None and self.one_decides:
            costs *= factors[::-1, None]
        elif factors is not None:
            costs[0] *= factors
        return costs

    def problem(
        self,
        who: str,
        X: Any,
        labels: LabelMatrix,
        sample_weight: Any,
        *,
        loss: str,
        fit_intercept: bool,
        class_weight: Any,
    ) -> OneVsRest:
        """Return the binary problems of these targets, with C = 1."""
        factors = class_weights(who, class_weight, self, labels.taxonomy, labels)
        rows = TrainingRows.from_matrix(X, constant=fit_intercept)
        return OneVsRest(rows, self.members, loss, self.costs(factors), sample_weight)


def _by_node(indptr: Any, columns: Any, n_nodes: int) -> Members:
    ones = np.ones(len(columns), np.int8)
    by_column = sparse.csr_array((ones, columns, indptr), shape=(len(indptr) - 1, n_nodes)).tocsc()
    return by_column.indptr.astype(np.int64), by_column.indices.astype(np.int64)


def class_weights(who: str, given: Any, targets: Targets, taxonomy: Taxonomy, labels: LabelMatrix) -> Any:
    """Return a factor of C for every problem (for both labels where one problem decides), or None.

    As in LIBLINEAR it multiplies the cost of the rows of a class in the class's own problem. "balanced" is
    rows / (classes · rows of the class), as in scikit-learn.
    """
    if given is None:
        return None
    nodes = targets.labels if targets.one_decides else targets.nodes
    if isinstance(given, str):
        if given != "balanced":
            raise ParameterError(f"{who}: class_weight must be None, 'balanced' or a mapping; got {given!r}.")
        counts = np.diff(targets.members[0])
        if targets.one_decides:
            counts = np.append(len(labels) - counts, counts)
        return len(labels) / (len(nodes) * np.maximum(counts, 1))  # that of a class without rows weighs nothing
    try:
        weight_of = {taxonomy.index(label): float(weight) for label, weight in dict(given).items()}
    except (TypeError, ValueError) as problem:
        if isinstance(problem, TaxonomyError):  # the label is no node
            raise
        raise ParameterError(
            f"{who}: class_weight must map labels to positive numbers, or be None or 'balanced'; got {given!r}."
        ) from None
    if not all(0 < weight < np.inf for weight in weight_of.values()):
        raise ParameterError(f"{who}: the weights in class_weight must be positive; got {given!r}.")
    return np.array([weight_of.get(int(v), 1.0) for v in nodes])


def with_stops(taxonomy: Taxonomy, labels: Ids) -> tuple[Taxonomy, Ids]:
    """Return the taxonomy with a leaf below each label that has children, and the node of each label in it."""
    if not taxonomy.stop_leaves and np.all(np.isin(labels, taxonomy.leaves)):
        return taxonomy, labels  # the usual case, in a fraction of the time
    names = taxonomy.names
    extended = taxonomy.with_stop_leaves(names[v] for v in labels)
    stop_of = {inner: stop for stop, inner in extended.stop_leaves.items()}
    return extended, np.array([extended.index(stop_of.get(names[v], names[v])) for v in labels], np.int64)
