"""The losses Δ(y, ŷ) of one example.

z and ẑ are the 0/1 vectors over nodes of y and ŷ, anc(j) the strict ancestors of node j, ⟦·⟧ is 1 if the condition
holds and 0 otherwise. The virtual root of a forest is not part of the vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels import label_comparison
from cladist.losses.costs import Weights, node_costs
from cladist.losses.pairs import read_labels, read_vectors, weighted_mean
from cladist.taxonomy import Taxonomy

PerExample = npt.NDArray[np.float64]


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
    >>> from cladist import Taxonomy
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
    >>> from cladist import Taxonomy
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
    >>> from cladist import Taxonomy
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
    >>> from cladist import Taxonomy
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


# Every loss, each H-loss in both forms; the tests of laws run over these.
LOSSES: tuple[Loss, ...] = (
    ZeroOne(),
    SymmetricDifference(),
    *(HLoss(w, simplified=s) for w in ("uniform", "sibling", "subtree") for s in (False, True)),
    TreeDistance(),
)
