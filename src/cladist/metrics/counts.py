"""Precision, recall and F1 over selected nodes, over levels, and hierarchical, all computed from `Counts`.

True positives, false positives and false negatives of a node are counted on labels closed under ancestors. The counts
of two parts add up to those of the whole. F1 = 2TP / (2TP + FP + FN), which is 2PR / (P + R); 0/0 is `zero_division`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.errors import LabelError, ParameterError, one_of
from cladist.kernels import label_comparison
from cladist.labels import LabelMatrix
from cladist.losses import NAMED_WEIGHTS, check_weights, node_costs, read_labels
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Nodes = str | Sequence[str]  # "leaves", "all", "nonroot", or names


class PrecisionRecallF1(NamedTuple):
    """Precision, recall, and F1."""

    precision: float
    recall: float
    f1: float


class LevelScore(NamedTuple):
    """Precision, recall and F1 of the counts added up over the nodes of one level; roots are level 0."""

    level: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, eq=False)
class Counts:
    """Sums over pairs of true and predicted rows; ``a + b`` counts the rows of both.

    Memory is three numbers per node, for any number of rows.

    Attributes
    ----------
    taxonomy : Taxonomy
        The taxonomy of the labels.
    n_rows, weight : int, float
        The number of rows and their summed weights.
    tp, fp, fn : arrays of shape (n_nodes,)
        The weight of the rows that have each node in both, only in the prediction, only in the truth.
    zero_one, symmetric_difference, h_uniform, h_sibling, h_subtree : float
        Summed losses.
    n_multi, tree_distance : int, float
        The number of rows whose truth or prediction is not exactly one path; the summed distance of the others.
    sample_precision, sample_recall, no_precision, no_recall : float
        Sums over rows of ``|true ∩ predicted| / |predicted|`` and ``/ |true|``, without a tree's root and without 0/0,
        and the weight of the rows where these are 0/0.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> true = LabelMatrix.from_sets([["chess"], ["art"]], taxonomy)
    >>> pred = LabelMatrix.from_sets([["tennis"], ["art"]], taxonomy)
    >>> counts = Counts.from_labels(true, pred)
    >>> counts
    Counts(2 rows, 4 nodes)
    >>> parts = Counts.from_labels(true[:1], pred[:1]) + Counts.from_labels(true[1:], pred[1:])
    >>> parts.mean("tree_distance"), counts.mean("tree_distance")
    (1.0, 1.0)
    """

    taxonomy: Taxonomy
    n_rows: int
    weight: float
    tp: Floats
    fp: Floats
    fn: Floats
    zero_one: float
    symmetric_difference: float
    h_uniform: float
    h_sibling: float
    h_subtree: float
    n_multi: int
    tree_distance: float
    sample_precision: float
    no_precision: float
    sample_recall: float
    no_recall: float

    @classmethod
    def from_labels(cls, true: LabelMatrix, pred: LabelMatrix, *, sample_weight: Any = None) -> Counts:
        """Return the counts of two label matrices, in O(entries) time and O(rows + nodes) memory."""
        taxonomy = true.taxonomy
        true, pred = read_labels(true, pred, taxonomy)
        weight = check_weights(sample_weight, len(true))
        above = taxonomy.parents
        costs = np.column_stack([node_costs(kind, taxonomy) for kind in NAMED_WEIGHTS])
        tp, fp, fn, losses, samples = label_comparison.tally(
            true.indptr, true.indices, pred.indptr, pred.indices,
            above.indptr, above.indices, weight, costs, _first_nonroot(taxonomy),
        )  # fmt: skip
        single, distance = _measure_single_rows(true, pred)
        return cls(
            taxonomy=taxonomy, n_rows=len(true), weight=float(weight.sum()), tp=tp, fp=fp, fn=fn,
            n_multi=len(true) - len(single), tree_distance=float((weight[single] * distance).sum()),
            **dict(zip(_LOSS_SUMS, losses.tolist(), strict=True)),
            **dict(zip(_SAMPLE_SUMS, samples.tolist(), strict=True)),
        )  # fmt: skip

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        if self.taxonomy != other.taxonomy:
            raise LabelError("Counts of two different taxonomies cannot be added.")
        names = [field.name for field in fields(self) if field.name != "taxonomy"]
        return Counts(self.taxonomy, *(getattr(self, name) + getattr(other, name) for name in names))

    def __repr__(self) -> str:
        return f"Counts({self.n_rows} rows, {self.taxonomy.n_nodes} nodes)"

    @property
    def is_single(self) -> bool:
        """Whether every row, true and predicted, is exactly one path."""
        return self.n_multi == 0

    def mean(self, loss: str) -> float:
        """Return the mean of a summed loss, given by the name of its attribute."""
        one_of("Counts.mean", "loss", loss, (*_LOSS_SUMS, "tree_distance"))
        if loss == "tree_distance" and not self.is_single:
            raise LabelError(
                "Tree distance needs exactly one label per row; "
                f"{self.n_multi} of {self.n_rows} rows have none or several."
            )
        return float(getattr(self, loss) / self.weight)

    def node_scores(self, ids: Any = slice(None), *, zero_division: float = 0.0) -> tuple[Floats, Floats, Floats]:
        """Return precision, recall and F1 of each node among `ids`, by default all."""
        return _scores(self.tp[ids], self.fp[ids], self.fn[ids], zero_division)

    def precision_recall_f1(
        self, *, average: str = "micro", nodes: Nodes = "leaves", zero_division: float = 0.0
    ) -> PrecisionRecallF1:
        """Return precision, recall and F1 of the counts added up over nodes, or their means over nodes."""
        one_of("precision_recall_f1", "average", average, ("micro", "macro"))
        _check_zero_division(zero_division)
        ids = _select_nodes(nodes, self.taxonomy)
        if average == "micro":
            return self._sum_up(ids, zero_division)
        scores = self.node_scores(ids, zero_division=zero_division)
        return PrecisionRecallF1(*(_mean(values, zero_division) for values in scores))

    def macro_f1(self, *, nodes: Nodes = "leaves", absent: str = "zero") -> float:
        """Return the mean F1 of nodes; nodes without a true row count 0 ("zero") or are left out ("skip")."""
        one_of("macro_f1", "absent", absent, ("zero", "skip"))
        ids = _select_nodes(nodes, self.taxonomy)
        if absent == "skip":
            ids = ids[self.tp[ids] + self.fn[ids] > 0]
        return _mean(self.node_scores(ids)[2], 0.0)

    def hierarchical_precision_recall_f1(
        self, *, average: str = "micro", zero_division: float = 0.0
    ) -> PrecisionRecallF1:
        """Return hierarchical precision, recall and F1 of sums over rows, or of means over rows."""
        one_of("hierarchical_precision_recall_f1", "average", average, ("micro", "samples"))
        _check_zero_division(zero_division)
        if average == "micro":
            return self._sum_up(_select_nodes("nonroot", self.taxonomy), zero_division)
        precision = (self.sample_precision + zero_division * self.no_precision) / self.weight
        recall = (self.sample_recall + zero_division * self.no_recall) / self.weight
        both = precision + recall
        return PrecisionRecallF1(precision, recall, 2 * precision * recall / both if both else 0.0)

    def per_level_precision_recall(self, *, zero_division: float = 0.0) -> list[LevelScore]:
        """Return precision, recall and F1 of the counts added up over the nodes of each level."""
        _check_zero_division(zero_division)
        levels = self.taxonomy.levels
        return [LevelScore(k, *self._sum_up(ids, zero_division)) for k, ids in enumerate(levels)]

    def _sum_up(self, ids: Any, zero_division: float) -> PrecisionRecallF1:
        tp, fp, fn = (counts[ids].sum() for counts in (self.tp, self.fp, self.fn))
        return PrecisionRecallF1(*map(float, _scores(tp, fp, fn, zero_division)))


# In the kernel's order.
_LOSS_SUMS = ("zero_one", "symmetric_difference", "h_uniform", "h_sibling", "h_subtree")
_SAMPLE_SUMS = ("sample_precision", "no_precision", "sample_recall", "no_recall")


def _check_zero_division(value: Any) -> None:
    if not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ParameterError(f"zero_division must be a number from 0 to 1; got {value!r}.")


def _measure_single_rows(true: LabelMatrix, pred: LabelMatrix) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the rows that are one path on both sides, and the tree distance of each."""
    (t_indptr, t_deepest), (p_indptr, p_deepest) = true.frontier, pred.frontier
    single = np.flatnonzero((np.diff(t_indptr) == 1) & (np.diff(p_indptr) == 1))
    u, v = t_deepest[t_indptr[single]], p_deepest[p_indptr[single]]
    distance = true.taxonomy.distances(u.astype(np.int64), v.astype(np.int64))
    return single, distance.astype(np.float64)


def _scores(tp: Any, fp: Any, fn: Any, zero_division: float) -> tuple[Any, Any, Any]:
    """Return precision, recall and F1 of counts."""

    def ratio(part: Any, whole: Any) -> Any:
        out = np.full(np.shape(whole), zero_division, np.float64)
        return np.divide(part, whole, out=out, where=np.asarray(whole) > 0)

    return ratio(tp, tp + fp), ratio(tp, tp + fn), ratio(2 * tp, 2 * tp + fp + fn)


def _mean(values: Floats, of_none: float) -> float:
    return float(values.mean()) if len(values) else float(of_none)


def _first_nonroot(taxonomy: Taxonomy) -> int:
    """Return the smallest id that is not the only root of a tree, which every non-empty row has."""
    return 1 if len(taxonomy.roots) == 1 else 0


def _select_nodes(nodes: Nodes, taxonomy: Taxonomy) -> npt.NDArray[np.int64]:
    """Return the ids of "leaves", "all", "nonroot", or a list of names."""
    if isinstance(nodes, str):
        one_of("metrics", "nodes", nodes, ("leaves", "all", "nonroot"))
        if nodes == "leaves":
            return taxonomy.leaves
        return np.arange(_first_nonroot(taxonomy) if nodes == "nonroot" else 0, taxonomy.n_nodes)
    ids = [taxonomy.index(name) for name in nodes]
    if not ids:
        raise ParameterError("metrics: nodes must name at least one node; the list is empty.")
    if len(set(ids)) < len(ids):
        repeated = next(v for v in ids if ids.count(v) > 1)
        raise ParameterError(f"metrics: nodes must name each node once; {taxonomy.names[repeated]!r} is repeated.")
    return np.array(ids, np.int64)


def count(y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None) -> Counts:
    """Return the `Counts` of labels in any form.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight
        As in `precision_recall_f1`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> count(["chess", "art"], [["tennis"], []], taxonomy).fn
    array([0., 1., 0., 1.])
    """
    true, pred = read_labels(y_true, y_pred, taxonomy)
    return Counts.from_labels(true, pred, sample_weight=sample_weight)


def precision_recall_f1(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy,
    *,
    average: Literal["micro", "macro"] = "micro",
    nodes: Nodes = "leaves",
    sample_weight: Any = None,
    zero_division: float = 0.0,
) -> PrecisionRecallF1:
    """Return precision, recall and F1 over selected nodes.

    Parameters
    ----------
    y_true, y_pred : labels in any form
        The true and the predicted labels.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    average : {"micro", "macro"}
        Whether the counts of all nodes are added up first, or the scores of nodes are averaged.
    nodes : {"leaves", "all", "nonroot"} or list of names
        The nodes that count. "nonroot" leaves out the only root of a tree; in a forest it is "all".
    sample_weight : array of shape (n_rows,), optional
        The weight of each row; None: all equal.
    zero_division : float
        The value of 0/0.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> precision_recall_f1([["chess", "art"]], [["chess"]], taxonomy)
    PrecisionRecallF1(precision=1.0, recall=0.5, f1=0.666...)
    """
    counts = count(y_true, y_pred, taxonomy, sample_weight=sample_weight)
    return counts.precision_recall_f1(average=average, nodes=nodes, zero_division=zero_division)


def micro_f1(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy,
    *,
    nodes: Nodes = "leaves",
    sample_weight: Any = None,
    zero_division: float = 0.0,
) -> float:
    """Return the F1 of counts added up over nodes; over leaves, with one leaf per row, it is the accuracy.

    Parameters
    ----------
    y_true, y_pred, taxonomy, nodes, sample_weight, zero_division
        As in `precision_recall_f1`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> y_true, y_pred = ["chess", "art", "art"], ["tennis", "art", "chess"]
    >>> micro_f1(y_true, y_pred, taxonomy), micro_f1(y_true, y_pred, taxonomy, nodes="all")
    (0.333..., 0.444...)
    """
    counts = count(y_true, y_pred, taxonomy, sample_weight=sample_weight)
    return counts.precision_recall_f1(nodes=nodes, zero_division=zero_division).f1


def macro_f1(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy,
    *,
    nodes: Nodes = "leaves",
    absent: Literal["zero", "skip"] = "zero",
    sample_weight: Any = None,
) -> float:
    """Return the mean F1 of nodes.

    Parameters
    ----------
    y_true, y_pred, taxonomy, nodes, sample_weight
        As in `precision_recall_f1`.
    absent : {"zero", "skip"}
        Whether a node that no true row has counts 0, as in Gopal & Yang (2013), or is left out.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> macro_f1(["chess", "art"], ["chess", "art"], taxonomy, absent="skip")
    1.0
    """
    counts = count(y_true, y_pred, taxonomy, sample_weight=sample_weight)
    return counts.macro_f1(nodes=nodes, absent=absent)


def per_level_precision_recall(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, zero_division: float = 0.0
) -> list[LevelScore]:
    """Return precision, recall and F1 of the counts added up over the nodes of each level, roots first.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight, zero_division
        As in `precision_recall_f1`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> per_level_precision_recall(["chess", "art"], ["tennis", "art"], taxonomy)[0]
    LevelScore(level=0, precision=1.0, recall=1.0, f1=1.0)
    """
    counts = count(y_true, y_pred, taxonomy, sample_weight=sample_weight)
    return counts.per_level_precision_recall(zero_division=zero_division)
