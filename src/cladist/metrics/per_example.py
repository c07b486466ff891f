"""Metrics that are means of one number per row: losses and errors.

``reduction="none"`` returns the numbers themselves, for significance tests.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from cladist.errors import ParameterError, one_of
from cladist.losses import (
    HLoss,
    PerExample,
    SymmetricDifference,
    TreeDistance,
    Weights,
    ZeroOne,
    read_labels,
    weighted_mean,
)
from cladist.taxonomy import Taxonomy

Reduction = Literal["mean", "none"]


def tree_induced_error(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Return the mean number of edges between the true and the predicted node.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight, reduction
        As in `h_loss`, with exactly one label per row; the trees of a forest meet in a virtual root.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> tree_induced_error(["chess", "art"], ["tennis", "art"], taxonomy)
    1.0
    """
    return _reduce(TreeDistance().per_example(y_true, y_pred, taxonomy), sample_weight, reduction)


def multiclass_error(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Return the fraction of rows whose node is wrong; every row has exactly one label.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight, reduction
        As in `tree_induced_error`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> multiclass_error(["chess", "art"], ["tennis", "art"], taxonomy, reduction="none")
    array([1., 0.])
    """
    true, pred = read_labels(y_true, y_pred, taxonomy)
    wrong = true.nodes("Multiclass error (y_true)") != pred.nodes("Multiclass error (y_pred)")
    return _reduce(wrong.astype(np.float64), sample_weight, reduction)


def accuracy(y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None) -> float:
    """Return the fraction of rows that are exactly correct; a set is, if all its nodes are.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight
        As in `h_loss`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> accuracy([["chess"], ["art", "sport"]], [["chess"], ["art"]], taxonomy)
    0.5
    """
    return weighted_mean(1.0 - ZeroOne().per_example(y_true, y_pred, taxonomy), sample_weight)


def zero_one_loss(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Return the fraction of rows that are not exactly correct: ℓ_{0/1} = ⟦z ≠ ẑ⟧.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight, reduction
        As in `h_loss`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> zero_one_loss([["chess"], ["art", "sport"]], [["chess"], ["art"]], taxonomy)
    0.5
    """
    return _reduce(ZeroOne().per_example(y_true, y_pred, taxonomy), sample_weight, reduction)


def symmetric_difference_loss(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Return the mean number of wrong nodes: ℓ_Δ = Σ_j ⟦z_j ≠ ẑ_j⟧.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight, reduction
        As in `h_loss`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> symmetric_difference_loss([["chess"], ["art", "chess"]], [["chess"], ["art"]], taxonomy)
    1.0
    """
    return _reduce(SymmetricDifference().per_example(y_true, y_pred, taxonomy), sample_weight, reduction)


def hamming_loss(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None, reduction: Reduction = "mean"
) -> Any:
    """Return the mean fraction of wrong nodes: ℓ_Δ divided by the number of nodes.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight, reduction
        As in `h_loss`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> hamming_loss([["chess"], ["art", "chess"]], [["chess"], ["art"]], taxonomy)
    0.25
    """
    wrong = SymmetricDifference().per_example(y_true, y_pred, taxonomy)
    return _reduce(wrong / taxonomy.n_nodes, sample_weight, reduction)


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
    """Return the mean H-loss, in which only the first mistake on each path from a root counts.

    Parameters
    ----------
    y_true, y_pred : labels in any form
        The true and the predicted labels; a 0/1 matrix need not be closed under ancestors.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    weights, simplified, virtual_root
        The costs of nodes and the form of the loss; see `cladist.losses.HLoss`. `simplified` makes a difference only on
        matrices that are not closed under ancestors.
    sample_weight : array of shape (n_rows,), optional
        The weight of each row; None: all equal.
    reduction : {"mean", "none"}
        "none" returns an array with one number per row.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> h_loss(["chess", "art"], ["tennis", "art"], taxonomy)
    1.0
    >>> h_loss(["chess", "art"], ["tennis", "art"], taxonomy, weights="sibling")
    0.5
    """
    loss = HLoss(weights, simplified=simplified, virtual_root=virtual_root)
    return _reduce(loss.per_example(y_true, y_pred, taxonomy), sample_weight, reduction)


def cumulative_error(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, error: Literal["tree", "multiclass"] = "tree"
) -> PerExample:
    """Return the mean error of the first t rounds, for t = 1 … n: the learning curve of an online method.

    Parameters
    ----------
    y_true, y_pred, taxonomy
        As in `tree_induced_error`, in the order of the rounds; each prediction was made before the round's update.
    error : {"tree", "multiclass"}
        The number of edges between nodes, or the fraction of wrong nodes.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> cumulative_error(["chess", "art", "art", "art"], ["tennis", "sport", "art", "art"], taxonomy)
    array([2.        , 2.        , 1.33333333, 1.        ])
    """
    one_of("cumulative_error", "error", error, ("tree", "multiclass"))
    metric = tree_induced_error if error == "tree" else multiclass_error
    values = metric(y_true, y_pred, taxonomy, reduction="none")
    return np.cumsum(values) / np.arange(1, len(values) + 1)


def _reduce(values: PerExample, sample_weight: Any, reduction: str) -> Any:
    one_of("metrics", "reduction", reduction, ("mean", "none"))
    if reduction == "mean":
        return weighted_mean(values, sample_weight)
    if sample_weight is not None:
        raise ParameterError("sample_weight belongs to a mean; leave it out with reduction='none'.")
    return values
