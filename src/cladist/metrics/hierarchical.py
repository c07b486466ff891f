"""Hierarchical precision, recall and F1: labels compared with their ancestors, or up to their common ancestors."""

from __future__ import annotations

from collections import deque
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cladist.errors import one_of
from cladist.labels import LabelMatrix
from cladist.losses import check_weights, read_labels
from cladist.metrics.counts import PrecisionRecallF1, count
from cladist.taxonomy import Taxonomy

Convention = Literal["kiritchenko", "hiclass"]


def hierarchical_precision_recall_f1(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy,
    *,
    average: Literal["micro", "samples"] = "micro",
    convention: Convention = "kiritchenko",
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
    convention : {"kiritchenko", "hiclass"}
        "hiclass": as HiClass computes it. The root of a tree counts too, and with ``average="samples"``, which HiClass
        calls "macro", F1 is the mean of the rows' F1.
    zero_division : float
        The value of 0/0, for "samples" in each row.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> hierarchical_precision_recall_f1(["chess", "art"], ["tennis", "art"], taxonomy)
    PrecisionRecallF1(precision=0.666..., recall=0.666..., f1=0.666...)
    >>> hierarchical_precision_recall_f1(["chess", "art"], ["tennis", "art"], taxonomy, average="samples")
    PrecisionRecallF1(precision=0.75, recall=0.75, f1=0.75)
    """
    one_of("hierarchical_precision_recall_f1", "convention", convention, ("kiritchenko", "hiclass"))
    counts = count(y_true, y_pred, taxonomy, sample_weight=sample_weight)
    if convention == "kiritchenko":
        return counts.hierarchical_precision_recall_f1(average=average, zero_division=zero_division)
    if average == "micro":
        return counts.precision_recall_f1(nodes="all", zero_division=zero_division)
    one_of("hierarchical_precision_recall_f1", "average", average, ("micro", "samples"))
    true, pred = (side.to_indicator() for side in read_labels(y_true, y_pred, taxonomy))
    both, n_true, n_pred = (np.asarray(part.sum(axis=1), float) for part in (true.multiply(pred), true, pred))
    rows = [_ratio(both, n_pred, zero_division), _ratio(both, n_true, zero_division)]
    rows.append(_ratio(2 * both, n_true + n_pred, zero_division))
    weight = check_weights(sample_weight, len(both))
    return PrecisionRecallF1(*(float(np.average(values, weights=weight)) for values in rows))


def hierarchical_f1(
    y_true: Any,
    y_pred: Any,
    taxonomy: Taxonomy,
    *,
    average: Literal["micro", "samples"] = "micro",
    convention: Convention = "kiritchenko",
    sample_weight: Any = None,
    zero_division: float = 0.0,
) -> float:
    """Return only the F1 of `hierarchical_precision_recall_f1`, for intervals and scorers.

    Parameters
    ----------
    y_true, y_pred, taxonomy, average, convention, sample_weight, zero_division
        As in `hierarchical_precision_recall_f1`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> hierarchical_f1(["chess", "art"], ["tennis", "art"], taxonomy)
    0.666...
    """
    options: dict[str, Any] = {"sample_weight": sample_weight, "zero_division": zero_division}
    return hierarchical_precision_recall_f1(
        y_true, y_pred, taxonomy, average=average, convention=convention, **options
    ).f1


def _ratio(part: npt.NDArray[Any], whole: npt.NDArray[Any], of_none: float) -> npt.NDArray[np.float64]:
    return np.divide(part, whole, out=np.full(len(whole), float(of_none)), where=whole > 0)


def lca_precision_recall_f1(
    y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None
) -> PrecisionRecallF1:
    """Return the precision, recall and F1 of Kosmopoulos et al. 2015, which count nodes up to common ancestors only.

    Every true label is paired with the nearest predicted one, and every predicted label with the nearest true one. The
    nodes on the way from a true label to the lowest common ancestor of its pair, with both ends, are the true nodes,
    and likewise for predicted ones; precision and recall compare these two sets in each row, and are averaged over
    rows, as is F1. So ancestors that both sides have do not make a wrong label look better the deeper it is.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight
        As in `precision_recall_f1`. Trees of a forest meet in a virtual root, which counts as a node.

    Notes
    -----
    A common ancestor that is redundant because others connect the same labels is kept; the paper leaves out redundant
    ones where a row has several labels. Of equally near labels, the pair with the deepest common ancestor is taken. A
    row without true and predicted labels is correct; one that has labels on one side only has 0.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> lca_precision_recall_f1(["chess", "art"], ["tennis", "art"], taxonomy)
    PrecisionRecallF1(precision=0.75, recall=0.75, f1=0.75)
    """
    true, pred = read_labels(y_true, y_pred, taxonomy)
    weight = check_weights(sample_weight, len(true))
    above = _Ascents(taxonomy)

    @cache
    def of_row(true_nodes: tuple[int, ...], pred_nodes: tuple[int, ...]) -> tuple[float, float, float]:
        if not true_nodes or not pred_nodes:
            return (1.0, 1.0, 1.0) if true_nodes == pred_nodes else (0.0, 0.0, 0.0)
        expected, found = above.join(true_nodes, pred_nodes)
        both = len(expected & found)
        return both / len(found), both / len(expected), 2 * both / (len(found) + len(expected))

    rows = [of_row(*pair) for pair in zip(_labels_of_rows(true), _labels_of_rows(pred), strict=True)]
    return PrecisionRecallF1(*(float(value) for value in np.average(rows, axis=0, weights=weight)))


def lca_f1(y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None) -> float:
    """Return only the F1 of `lca_precision_recall_f1`, for intervals and scorers.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight
        As in `lca_precision_recall_f1`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> lca_f1(["chess", "art"], ["sport", "art"], taxonomy)
    0.833...
    """
    return lca_precision_recall_f1(y_true, y_pred, taxonomy, sample_weight=sample_weight).f1


def _labels_of_rows(labels: LabelMatrix) -> list[tuple[int, ...]]:
    indptr, nodes = labels.frontier
    return [tuple(nodes[a:b].tolist()) for a, b in pairwise(indptr)]


class _Ascents:
    """The ways from nodes up to their ancestors; −1 is the virtual root above all roots."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self.depth = [*taxonomy.depth.tolist(), -1]  # at −1, the last, that of the virtual root
        self.from_node = cache(self._from_node)

    def _from_node(self, v: int) -> dict[int, tuple[int, int]]:
        """Return for each ancestor its distance from v and the node before it on a shortest way, breadth first."""
        reached, waiting = {v: (0, v)}, deque([v])
        while waiting:
            u = waiting.popleft()
            for p in [] if u < 0 else self.taxonomy.parent_ids(u).tolist() or [-1]:
                if p not in reached:
                    reached[p] = reached[u][0] + 1, u
                    waiting.append(p)
        return reached

    def join(self, true: tuple[int, ...], pred: tuple[int, ...]) -> tuple[set[int], set[int]]:
        """Return the nodes between each label and the common ancestor with the nearest of the other side."""
        pairs = {min((self._meet(t, p), t, p) for p in pred) for t in true}
        pairs |= {min((self._meet(t, p), t, p) for t in true) for p in pred}
        expected = {v for (*_, meet), t, _ in pairs for v in self._way(t, meet)}
        return expected, {v for (*_, meet), _, p in pairs for v in self._way(p, meet)}

    def _meet(self, t: int, p: int) -> tuple[int, int, int]:
        """Return the distance of two nodes, and the deepest common ancestor with the shortest ways, behind −depth."""
        first, second = self.from_node(t), self.from_node(p)
        return min((first[v][0] + second[v][0], -self.depth[v], v) for v in first.keys() & second.keys())

    def _way(self, v: int, ancestor: int) -> list[int]:
        way = [ancestor]
        while way[-1] != v:
            way.append(self.from_node(v)[way[-1]][1])
        return way
