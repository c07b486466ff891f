"""What flat classifiers learn to tell: which nodes have a problem, and which rows belong to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ParameterError, TaxonomyError
from cladist.labels import LabelMatrix
from cladist.solvers import OneVsRest, TrainingRows
from cladist.solvers.problem import Members
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Targets:
    """The nodes that have a classifier, and the rows that belong to each.

    Attributes
    ----------
    nodes : array of node ids
        One a problem. Of two classes in single labels only the second has one, whose sign decides.
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
        """Take the deepest labels of every row, or all its nodes."""
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
        """Return these and problems of other nodes, to which no row belongs, as labels of their own."""
        nodes = np.union1d(self.nodes, others)
        counts = np.zeros(len(nodes), np.int64)
        counts[np.searchsorted(nodes, self.nodes)] = np.diff(self.members[0])
        return Targets(nodes, (np.concatenate([[0], np.cumsum(counts)]), self.members[1]), nodes)

    @property
    def one_decides(self) -> bool:
        """Whether a single problem tells two labels apart."""
        return len(self.nodes) == 1 and len(self.labels) == 2

    def problem(self, rows: TrainingRows, loss: str, C: float, class_weights: Any, row_weights: Any) -> OneVsRest:
        """Return the problems of all nodes; `class_weights` are factors of C, one a label."""
        costs = np.full((2, len(self.nodes)), C)
        if class_weights is not None and self.one_decides:
            costs *= class_weights[::-1, None]
        elif class_weights is not None:
            costs[0] *= class_weights
        return OneVsRest(rows, self.members, loss, costs, row_weights)


def _by_node(indptr: Any, columns: Any, n_nodes: int) -> Members:
    ones = np.ones(len(columns), np.int8)
    by_column = sparse.csr_array((ones, columns, indptr), shape=(len(indptr) - 1, n_nodes)).tocsc()
    return by_column.indptr.astype(np.int64), by_column.indices.astype(np.int64)


def class_weights(who: str, given: Any, targets: Targets, taxonomy: Taxonomy, labels: LabelMatrix) -> Any:
    """Return a factor of C for every problem (for both labels where one problem decides), or None.

    As in LIBLINEAR it multiplies the cost of the rows of a class in that class's own problem. "balanced" is
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
