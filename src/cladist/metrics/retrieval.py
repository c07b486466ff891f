"""Precision, recall and F1 over selected nodes, over levels, and hierarchical.

True positives, false positives and false negatives of a node are counted on labels closed under ancestors.
F1 = 2TP / (2TP + FP + FN), which is 2PR / (P + R); 0/0 is `zero_division`.
"""

from __future__ import annotations

from typing import Any, Literal

from cladist.losses.pairs import read_labels
from cladist.metrics.counts import Counts, LevelScore, Nodes, PrecisionRecallF1
from cladist.taxonomy import Taxonomy


def count(y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None) -> Counts:
    """Return the `Counts` of labels in any form.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight
        As in `precision_recall_f1`.

    Examples
    --------
    >>> from cladist import Taxonomy
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
    >>> from cladist import Taxonomy
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
    >>> from cladist import Taxonomy
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
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> y_true, y_pred = ["chess", "art"], ["chess", "art"]
    >>> macro_f1(y_true, y_pred, taxonomy), macro_f1(y_true, y_pred, taxonomy, absent="skip")
    (0.666..., 1.0)
    """
    counts = count(y_true, y_pred, taxonomy, sample_weight=sample_weight)
    return counts.macro_f1(nodes=nodes, absent=absent)


def hierarchical_precision_recall_f1(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy,
    *,
    average: Literal["micro", "samples"] = "micro",
    sample_weight: Any = None,
    zero_division: float = 0.0,
) -> PrecisionRecallF1:
    """Return hierarchical precision, recall and F1 (Kiritchenko et al.), which compare labels with their ancestors.

    The only root of a tree is left out; the roots of a forest are not.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight
        As in `precision_recall_f1`.
    average : {"micro", "samples"}
        "micro" sums the sizes of intersections and sets over rows first, which equals
        ``precision_recall_f1(nodes="nonroot")``. "samples" averages precision and recall over rows, and F1 is the
        harmonic mean of the two averages.
    zero_division : float
        The value of 0/0, for "samples" in each row.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> hierarchical_precision_recall_f1(["chess", "art"], ["tennis", "art"], taxonomy)
    PrecisionRecallF1(precision=0.666..., recall=0.666..., f1=0.666...)
    >>> hierarchical_precision_recall_f1(["chess", "art"], ["tennis", "art"], taxonomy, average="samples")
    PrecisionRecallF1(precision=0.75, recall=0.75, f1=0.75)
    """
    counts = count(y_true, y_pred, taxonomy, sample_weight=sample_weight)
    return counts.hierarchical_precision_recall_f1(average=average, zero_division=zero_division)


def hierarchical_f1(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy,
    *,
    average: Literal["micro", "samples"] = "micro",
    sample_weight: Any = None,
    zero_division: float = 0.0,
) -> float:
    """Return only the F1 of `hierarchical_precision_recall_f1`, for intervals and scorers.

    Parameters
    ----------
    y_true, y_pred, taxonomy, average, sample_weight, zero_division
        As in `hierarchical_precision_recall_f1`.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> hierarchical_f1(["chess", "art"], ["tennis", "art"], taxonomy)
    0.666...
    """
    counts = count(y_true, y_pred, taxonomy, sample_weight=sample_weight)
    return counts.hierarchical_precision_recall_f1(average=average, zero_division=zero_division).f1


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
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> for row in per_level_precision_recall(["chess", "art"], ["tennis", "art"], taxonomy):
    ...     print(row)
    LevelScore(level=0, precision=1.0, recall=1.0, f1=1.0)
    LevelScore(level=1, precision=0.0, recall=0.0, f1=0.0)
    """
    counts = count(y_true, y_pred, taxonomy, sample_weight=sample_weight)
    return counts.per_level_precision_recall(zero_division=zero_division)
