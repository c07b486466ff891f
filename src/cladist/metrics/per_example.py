"""Metrics that are means of one number an example: losses and errors.

``reduction="none"`` gives the numbers themselves, for tests of significance.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError, one_of
from cladist.losses import HLoss, SymmetricDifference, TreeDistance, ZeroOne
from cladist.losses.costs import Weights
from cladist.losses.pairs import read_labels, weighted_mean
from cladist.taxonomy import Taxonomy

Reduction = Literal["mean", "none"]
PerExample = npt.NDArray[np.float64]


def tree_induced_error(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Return the mean number of edges between the true and the predicted node.

    Parameters
    ----------
    y_true, y_pred : labels in any form, exactly one a row
    taxonomy : Taxonomy
        Two trees of a forest meet in a virtual root above their roots.
    sample_weight : array of shape (n_rows,), optional
    reduction : {"mean", "none"}
        "none": an array of one number a row.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> tree_induced_error(["chess", "art"], ["tennis", "art"], taxonomy)
    1.0
    """
    return _reduced(TreeDistance().per_example(y_true, y_pred, taxonomy), sample_weight, reduction)


def multiclass_error(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Return the part of rows whose node is wrong; exactly one label a row.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> multiclass_error(["chess", "art"], ["tennis", "art"], taxonomy, reduction="none")
    array([1., 0.])
    """
    true, pred = _nodes(y_true, y_pred, taxonomy, "Multiclass error")
    return _reduced((true != pred).astype(np.float64), sample_weight, reduction)


def accuracy(y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None) -> float:
    """Return the part of rows that are exactly right; for sets, all nodes have to be.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> accuracy([["chess"], ["art", "sport"]], [["chess"], ["art"]], taxonomy)
    0.5
    """
    right = 1.0 - ZeroOne().per_example(y_true, y_pred, taxonomy)
    return weighted_mean(right, sample_weight)


def zero_one_loss(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Return the part of rows that are not exactly right: ℓ_{0/1} = ⟦z ≠ ẑ⟧.

    A 0/1 matrix is compared as it is, whether consistent or not.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> zero_one_loss([["chess"], ["art", "sport"]], [["chess"], ["art"]], taxonomy)
    0.5
    """
    return _reduced(ZeroOne().per_example(y_true, y_pred, taxonomy), sample_weight, reduction)


def symmetric_difference_loss(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Return the mean number of nodes that are wrong: ℓ_Δ = Σ_j ⟦z_j ≠ ẑ_j⟧.

    A 0/1 matrix is compared as it is, whether consistent or not.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> symmetric_difference_loss([["chess"], ["art", "chess"]], [["chess"], ["art"]], taxonomy)
    1.0
    """
    return _reduced(SymmetricDifference().per_example(y_true, y_pred, taxonomy), sample_weight, reduction)


def hamming_loss(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Return the mean part of nodes that are wrong: ℓ_Δ divided by the number of nodes.

    A 0/1 matrix is compared as it is, whether consistent or not.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> hamming_loss([["chess"], ["art", "chess"]], [["chess"], ["art"]], taxonomy)
    0.25
    """
    wrong = SymmetricDifference().per_example(y_true, y_pred, taxonomy)
    return _reduced(wrong / taxonomy.n_nodes, sample_weight, reduction)


def h_loss(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy,
    *,
    weights: Weights = "uniform",
    simplified: bool = False,
    virtual_root: bool = False,
    sample_weight: Any = None,
    reduction: Reduction = "mean",
) -> Any:
    """Return the mean H-loss: only the first mistake on each path from a root is charged.

    A 0/1 matrix is compared as it is; only on inconsistent ones does `simplified` make a difference.

    Parameters
    ----------
    y_true, y_pred : labels in any form
    taxonomy : Taxonomy
    weights, simplified, virtual_root
        See `cladist.losses.HLoss` and `cladist.losses.node_costs`.
    sample_weight : array of shape (n_rows,), optional
    reduction : {"mean", "none"}
        "none": an array of one number a row.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> h_loss(["chess", "art"], ["tennis", "art"], taxonomy)
    1.0
    >>> h_loss(["chess", "art"], ["tennis", "art"], taxonomy, weights="sibling")
    0.5
    """
    loss = HLoss(weights, simplified=simplified, virtual_root=virtual_root)
    return _reduced(loss.per_example(y_true, y_pred, taxonomy), sample_weight, reduction)


def cumulative_error(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, error: Literal["tree", "multiclass"] = "tree"
) -> PerExample:
    """Return the mean error of the first t rounds, for t = 1 … n: the learning curve of an online method.

    Each prediction is the one made before the round's label was learnt from.

    Parameters
    ----------
    y_true, y_pred : labels in any form, exactly one a row, in the order of the rounds
    taxonomy : Taxonomy
    error : {"tree", "multiclass"}
        Count edges between nodes, or wrong nodes (a fraction, not a percentage).

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> cumulative_error(["chess", "art", "art", "art"], ["tennis", "sport", "art", "art"], taxonomy)
    array([2.        , 2.        , 1.33333333, 1.        ])
    """
    one_of("cumulative_error", "error", error, ("tree", "multiclass"))
    of = tree_induced_error if error == "tree" else multiclass_error
    values = of(y_true, y_pred, taxonomy, reduction="none")
    return np.cumsum(values) / np.arange(1, len(values) + 1)


def _nodes(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, who: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    true, pred = read_labels(y_true, y_pred, taxonomy)
    return true.nodes(f"{who} (y_true)"), pred.nodes(f"{who} (y_pred)")


def _reduced(values: PerExample, sample_weight: Any, reduction: str) -> Any:
    one_of("metrics", "reduction", reduction, ("mean", "none"))
    if reduction == "mean":
        return weighted_mean(values, sample_weight)
    if sample_weight is not None:
        raise ParameterError("sample_weight belongs to a mean; leave it out with reduction='none'.")
    return values
