"""Precision, recall and F1 over chosen nodes, over levels, and hierarchical.

True positives, false positives and false negatives of a node are counted on labels closed under ancestors.
F1 = 2TP / (2TP + FP + FN), which is 2PR / (P + R); 0/0 is `zero_division`.
"""

from __future__ import annotations

from typing import Any, Literal

from cladist.losses.pairs import read_labels
from cladist.metrics.counts import Counts, LevelScore, PrecisionRecallF1
from cladist.metrics.selection import Nodes
from cladist.taxonomy import Taxonomy


def count(y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None) -> Counts:
    """Count labels in any form; see `Counts`.

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
    """Return precision, recall and F1 over chosen nodes.

    Parameters
    ----------
    y_true, y_pred : labels in any form
    taxonomy : Taxonomy
    average : {"micro", "macro"}
        Add the counts of all nodes up first, or average the nodes' scores.
    nodes : {"leaves", "all", "nonroot"} or list of names
        "nonroot" leaves out the only root of a tree; in a forest it is "all", since the roots are ordinary
        nodes there.
    sample_weight : array of shape (n_rows,), optional
    zero_division : float
        What 0/0 is.

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
    """Return F1 of the counts added up over nodes; for one leaf a row, over leaves, it is the accuracy.

    `nodes` and `zero_division` are those of `precision_recall_f1`.

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
    y_true, y_pred : labels in any form
    taxonomy : Taxonomy
    nodes : {"leaves", "all", "nonroot"} or list of names
        See `precision_recall_f1`.
    absent : {"zero", "skip"}
        A node that no true row has counts 0, as Gopal & Yang (2013) count it, or is left out.
    sample_weight : array of shape (n_rows,), optional

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
    """Return hierarchical precision, recall and F1 (Kiritchenko et al.): labels compared with all ancestors.

    The only root of a tree is left out; the roots of a forest are not.

    Parameters
    ----------
    y_true, y_pred : labels in any form
    taxonomy : Taxonomy
    average : {"micro", "samples"}
        "micro": sizes of intersections and sets are summed over rows first, which makes it
        ``precision_recall_f1(nodes="nonroot")``. "samples": precision and recall of each row are averaged,
        and F1 is the harmonic mean of the two averages.
    sample_weight : array of shape (n_rows,), optional
    zero_division : float
        What 0/0 is, in each row for "samples".

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
    """Return the F1 of `hierarchical_precision_recall_f1` alone, for intervals and scorers.

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
    """Return precision, recall and F1 of each level's nodes, counted together; level 0 holds the roots.

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
