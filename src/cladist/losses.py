"""The losses Δ(y, ŷ) of one example, the costs of the H-loss, and how true and predicted labels are read.

z and ẑ are the 0/1 vectors over nodes of y and ŷ, anc(j) the strict ancestors of node j, ⟦·⟧ is 1 if the condition
holds and 0 otherwise. The virtual root of a forest is not part of the vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import LabelError, ParameterError, is_positive, one_of
from cladist.kernels import label_comparison
from cladist.labels import LabelMatrix, encode
from cladist.labels.matrix import as_indicator
from cladist.taxonomy import Taxonomy

__all__ = [
    "LOSSES",
    "HLoss",
    "HierarchicalF",
    "Loss",
    "SymmetricDifference",
    "TreeDistance",
    "ZeroOne",
    "as_loss",
    "node_costs",
]

PerExample = npt.NDArray[np.float64]
Weights = str | Sequence[float] | npt.NDArray[Any]
NAMED_WEIGHTS = ("uniform", "sibling", "subtree")


class Loss(ABC):
    """A loss: one number for each pair of rows, and their mean.

    Labels may have any form of y. A 0/1 matrix need not be closed under ancestors, except for `TreeDistance`.
    """

    @abstractmethod
    def per_example(self, y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> PerExample:
        """Return the loss of each row, shape (n_rows,)."""

    def __call__(self, y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None) -> float:
        """Return the mean over rows, weighted by `sample_weight` if given."""
        return weighted_mean(self.per_example(y_true, y_pred, taxonomy), sample_weight)


@dataclass(frozen=True)
class ZeroOne(Loss):
    """ℓ_{0/1} = ⟦z ≠ ẑ⟧.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> ZeroOne()(["tennis", "art"], ["chess", "art"], taxonomy)
    0.5
    """

    def per_example(self, y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> PerExample:
        """Return 1 for each row that is not exactly correct, 0 for the others."""
        true, pred = read_vectors(y_true, y_pred, taxonomy)
        return (label_comparison.count_differences(*true, *pred) > 0).astype(np.float64)


@dataclass(frozen=True)
class SymmetricDifference(Loss):
    """ℓ_Δ = Σ_j ⟦z_j ≠ ẑ_j⟧, the number of nodes that differ.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> SymmetricDifference().per_example(["tennis", "art"], ["chess", "tennis"], taxonomy)
    array([2., 3.])
    """

    def per_example(self, y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> PerExample:
        """Return the number of nodes on which each pair of rows differs."""
        true, pred = read_vectors(y_true, y_pred, taxonomy)
        return label_comparison.count_differences(*true, *pred).astype(np.float64)


@dataclass(frozen=True)
class HLoss(Loss):
    """ℓ_H = Σ_j c_j ⟦z_j ≠ ẑ_j and z_h = ẑ_h for all h ∈ anc(j)⟧: only the first mistake on each path counts.

    The simplified form requires only the parent of j to agree, which is the same on labels closed under ancestors. The
    H-loss is symmetric, and 0 exactly on equality if all costs are positive, but violates the triangle inequality.

    Parameters
    ----------
    weights : {"uniform", "sibling", "subtree"} or array of shape (n_nodes,)
        The costs c_j; see `node_costs`. An array is stored as a tuple.
    simplified : bool
        Whether only the parents must agree.
    virtual_root : bool
        Whether "sibling" shares a cost of 1 among the roots of a forest; see `node_costs`.

    References
    ----------
    Cesa-Bianchi, Gentile & Zaniboni, Incremental Algorithms for Hierarchical Classification, JMLR 7, 2006;
    Rousu, Saunders, Szedmak & Shawe-Taylor, ICML 2005 (the simplified form and the weights).

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> HLoss().per_example(["tennis", "art"], ["chess", "tennis"], taxonomy)
    array([2., 2.])
    >>> HLoss("sibling").per_example(["tennis", "art"], ["chess", "tennis"], taxonomy)
    array([1., 2.])
    """

    weights: Weights = "uniform"
    simplified: bool = False
    virtual_root: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.weights, str):
            # Losses stay equal by content and hashable.
            object.__setattr__(self, "weights", tuple(np.atleast_1d(np.asarray(self.weights)).tolist()))

    def per_example(self, y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> PerExample:
        """Return the summed cost of each row's first mistakes."""
        true, pred = read_vectors(y_true, y_pred, taxonomy)
        cost = node_costs(self.weights, taxonomy, virtual_root=self.virtual_root)
        above = taxonomy.parents
        return label_comparison.first_mistake_costs(*true, *pred, above.indptr, above.indices, cost, self.simplified)


@dataclass(frozen=True)
class TreeDistance(Loss):
    """γ(y, ŷ), the number of edges between two nodes; the trees of a forest meet in the virtual root.

    Every row needs exactly one label.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> TreeDistance().per_example(["tennis", "art"], ["chess", "tennis"], taxonomy)
    array([2., 3.])
    >>> TreeDistance()([["tennis", "art"]], [["art"]], taxonomy)
    Traceback (most recent call last):
    cladist.errors.LabelError: Tree distance (y_true) needs exactly one label per row; row 0 has 2 labels: ...
    """

    def per_example(self, y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> PerExample:
        """Return the number of edges between each pair of nodes."""
        true, pred = read_labels(y_true, y_pred, taxonomy)
        nodes = true.nodes("Tree distance (y_true)"), pred.nodes("Tree distance (y_pred)")
        return taxonomy.distances(*nodes).astype(np.float64)


@dataclass(frozen=True)
class HierarchicalF(Loss):
    """1 − F_β of the nodes of a row, those above them included.

    ``F_β = (1 + β²) |A ∩ B| / (β² |A| + |B|)`` for the true nodes A and the predicted nodes B; 0 if both are
    empty. The mean over rows is 1 minus the hierarchical F-measure averaged over samples.

    Parameters
    ----------
    beta : float
        Weight of recall against precision; positive.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> HierarchicalF().per_example(["tennis", "art", "tennis"], ["chess", "tennis", "sport"], taxonomy).round(3)
    array([0.5  , 1.   , 0.333])
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        if not is_positive(self.beta):
            raise ParameterError(f"HierarchicalF: beta must be positive; got {self.beta!r}.")

    def per_example(self, y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> PerExample:
        """Return 1 − F_β of each row."""
        true, pred = read_vectors(y_true, y_pred, taxonomy)
        n_true, n_pred = np.diff(true.indptr), np.diff(pred.indptr)
        n_shared = (n_true + n_pred - label_comparison.count_differences(*true, *pred)) / 2
        total = self.beta**2 * n_true + n_pred
        return 1.0 - np.where(total > 0, (1 + self.beta**2) * n_shared / np.maximum(total, 1), 1.0)


# Every loss, each H-loss in both forms; the tests of laws run over these.
LOSSES: tuple[Loss, ...] = (
    ZeroOne(),
    SymmetricDifference(),
    *(HLoss(w, simplified=s) for w in NAMED_WEIGHTS for s in (False, True)),
    TreeDistance(),
    HierarchicalF(),
)
NAMED_LOSSES: dict[str, Loss] = {
    "tree-distance": TreeDistance(),
    "zero-one": ZeroOne(),
    "h-loss": HLoss(),
    "symmetric-difference": SymmetricDifference(),
    "hierarchical-f1": HierarchicalF(),
}


def as_loss(who: str, loss: Any) -> Loss:
    """Return a loss, given as one or by its name.

    Parameters
    ----------
    who : str
        The class or function that error messages name.
    loss : Loss or {"tree-distance", "zero-one", "h-loss", "symmetric-difference", "hierarchical-f1"}
        The loss.

    Examples
    --------
    >>> as_loss("MinimumRisk", "tree-distance")
    TreeDistance()
    """
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise ParameterError(f"{who}: loss must be a Loss or a name; got {type(loss).__name__}.")
    one_of(who, "loss", loss, tuple(NAMED_LOSSES))
    return NAMED_LOSSES[loss]


# -------------------------------------------------------------------- costs of nodes


def node_costs(weights: Weights, taxonomy: Taxonomy, *, virtual_root: bool = False) -> PerExample:
    """Return the cost c_j of a first mistake at each node, shape (n_nodes,).

    Parameters
    ----------
    weights : {"uniform", "sibling", "subtree"} or array of shape (n_nodes,)
        "uniform": c_j = 1. "sibling": c = 1 at roots, and a node's cost is shared equally among its children; with
        several parents, c_j is the mean of its shares. "subtree": c_j is the fraction of nodes at or below j. An array
        gives the costs themselves, finite and not negative.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    virtual_root : bool
        For "sibling" in a forest: share a cost of 1 among the roots, as if they hung below one node.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> node_costs("sibling", taxonomy)
    array([1. , 1. , 0.5, 0.5])
    >>> node_costs("sibling", taxonomy, virtual_root=True)
    array([0.5 , 0.5 , 0.25, 0.25])
    >>> node_costs("subtree", taxonomy)
    array([0.75, 0.25, 0.25, 0.25])
    """
    if not isinstance(weights, str):
        return _check_numbers("node_costs: weights", weights, taxonomy.n_nodes, "node")
    one_of("node_costs", "weights", weights, NAMED_WEIGHTS)
    if weights == "subtree":
        return taxonomy.subtree_sizes / taxonomy.n_nodes
    cost = np.ones(taxonomy.n_nodes)
    if weights == "sibling":
        if virtual_root:
            cost[taxonomy.roots] /= len(taxonomy.roots)
        for level in taxonomy.levels[1:]:  # the costs of parents are known
            share = cost / np.maximum(taxonomy.n_children, 1)
            cost[level] = (taxonomy.parents[level] @ share) / taxonomy.n_parents[level]
    return cost


def _check_numbers(who: str, values: Any, n: int, unit: str) -> PerExample:
    """Return one number per node or row, checked to be finite and not negative."""
    try:
        numbers = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{who} must hold numbers; got {type(values).__name__}.") from None
    if numbers.shape != (n,):
        raise ParameterError(f"{who} must be one number per {unit}, here {n}; got shape {numbers.shape}.")
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if len(wrong):
        raise ParameterError(f"{who} must be finite and at least 0; {unit} {wrong[0]} has {numbers[wrong[0]]}.")
    return numbers


# -------------------------------------------------------------------- weights of rows


def check_weights(sample_weight: Any, n_rows: int) -> npt.NDArray[np.float64]:
    """Return one weight per row, all ones for None; checked to be finite, not negative and not all zero."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = _check_numbers("sample_weight", sample_weight, n_rows, "row")
    if not weight.any():
        raise ParameterError("sample_weight must have a positive entry; all are 0.")
    return weight


def weighted_mean(values: PerExample, sample_weight: Any) -> float:
    """Return the weighted mean of one value per row."""
    weight = check_weights(sample_weight, len(values))
    # Not a BLAS product: its last digits depend on the number of threads.
    return float((weight * values).sum() / weight.sum())


# -------------------------------------------------------------------- true and predicted labels


class NodeRows(NamedTuple):
    """The ascending node ids of each row, as CSR; not necessarily closed under ancestors."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]


def read_vectors(y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> tuple[NodeRows, NodeRows]:
    """Return both sides as 0/1 vectors; a 0/1 matrix need not be closed under ancestors."""
    return _read_pair(_read_vectors, y_true, y_pred, taxonomy)


def read_labels(y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> tuple[LabelMatrix, LabelMatrix]:
    """Return both sides as label matrices; a 0/1 matrix that is not closed under ancestors is a `LabelError`."""
    return _read_pair(lambda y, taxonomy: encode(y, taxonomy).labels, y_true, y_pred, taxonomy)


def _read_pair(read: Callable[[Any, Taxonomy], Any], y_true: Any, y_pred: Any, taxonomy: Any) -> Any:
    if not isinstance(taxonomy, Taxonomy):
        raise ParameterError(
            f"taxonomy must be a Taxonomy; got {type(taxonomy).__name__}. "
            "Build one with Taxonomy.from_parents, from_edges or from_paths."
        )
    sides = []
    for name, y in (("y_true", y_true), ("y_pred", y_pred)):
        try:
            sides.append(read(y, taxonomy))
        except LabelError as error:
            raise LabelError(f"{name}: {error}") from None
    n_true, n_pred = (len(side.indptr) - 1 for side in sides)
    if n_true != n_pred:
        raise LabelError(f"y_true has {n_true} rows and y_pred has {n_pred}; give one prediction per true row.")
    if n_true == 0:
        raise LabelError("There is nothing to compare: y_true and y_pred have 0 rows.")
    return tuple(sides)


def _read_vectors(y: Any, taxonomy: Taxonomy) -> NodeRows:
    matrix = _find_indicator(y, taxonomy)
    rows = encode(y, taxonomy).labels if matrix is None else as_indicator(matrix, taxonomy)
    return NodeRows(rows.indptr.astype(np.int64, copy=False), rows.indices.astype(np.int32, copy=False))


def _find_indicator(y: Any, taxonomy: Taxonomy) -> Any:
    """Return y as a matrix if it is a 0/1 matrix by the rules of `encode`, else None."""
    if sparse.issparse(y):
        return y
    is_frame = hasattr(y, "columns") and hasattr(y, "to_numpy")
    values = y.to_numpy() if is_frame else y
    is_matrix = isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] != 1
    if not is_matrix or values.dtype.kind not in "biuf":
        return None
    if is_frame and not (values.shape[1] == taxonomy.n_nodes and np.all((values == 0) | (values == 1))):
        return None  # a frame of numbers may hold paths of numeric codes
    return values
