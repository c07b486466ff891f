"""The one-vs-rest problems of linear classifiers: which nodes have one, and which rows are positive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ParameterError, TaxonomyError
from cladist.labels import LabelMatrix
from cladist.linear_model.training_rows import TrainingRows
from cladist.solvers.problem import Members, OneVsRest
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
TARGETS, REPAIRS = ("leaves", "nodes"), ("top_down", "bottom_up", "best")


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


def at_C(problem: OneVsRest, C: float) -> OneVsRest:  # noqa: N802 - C is the papers' letter
    """Return a problem that was made with C = 1 for another C."""
    return replace(problem, costs=problem.costs * C)
