"""Areas under precision–recall curves: how well scores rank nodes, whatever the threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import LabelError, ParameterError, one_of
from cladist.labels import encode
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
AVERAGES = ("micro", "macro", "weighted")


def average_precision(
    y_true: Any,
    scores: npt.ArrayLike,
    taxonomy: Taxonomy,
    *,
    average: str = "micro",
    classes: Any = None,
    interpolate: bool = False,
) -> float:
    """Return the area under the precision–recall curve of scores, AU(PRC).

    The measures of Vens et al. 2008. All nodes count but the root of a tree that has one root, which every row has.

    Parameters
    ----------
    y_true : labels in any form
    scores : array (rows × columns)
        The higher, the more likely the row belongs to the node.
    taxonomy : Taxonomy
    average : {"micro", "macro", "weighted"}
        One curve of all pairs of row and node together, AU(PRC) with the bar over PRC; the mean area of the nodes that
        have rows, with the bar over AUPRC; or that mean weighted by the nodes' rows.
    classes : sequence of labels, optional
        The nodes of the columns, such as a model's `classes_`. A node without a column gets the highest score of the
        nodes below it, as predicted sets have the ancestors of their nodes; without any, it is ranked last. None: the
        columns are all nodes, in `taxonomy.names` order.
    interpolate : bool
        False: Σ (R_k − R_{k−1}) P_k over the thresholds, as scikit-learn's `average_precision_score`. True: between two
        thresholds true and false positives grow together (Davis & Goadrich 2006), as in the papers on predictive
        clustering trees. They differ where scores are tied.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> scores = [[0.9, 0.7, 0.1], [0.2, 0.3, 0.8], [0.6, 0.1, 0.2]]
    >>> y = ["tennis", "art", "chess"]
    >>> round(average_precision(y, scores, taxonomy, classes=["tennis", "chess", "art"]), 3)
    0.817
    """
    one_of("average_precision", "average", average, AVERAGES)
    true = encode(y_true, taxonomy).labels
    values = np.asarray(scores)
    if values.ndim != 2 or len(values) != len(true):
        raise LabelError(f"scores of {len(true)} rows must be rows × nodes; got an array of shape {values.shape}.")
    values = _node_scores(values, taxonomy, classes)
    counted = np.ones(taxonomy.n_nodes, bool)
    if len(taxonomy.roots) == 1 and taxonomy.n_nodes > 1:
        counted[taxonomy.roots] = False
    positive = true.to_indicator().toarray()[:, counted].astype(bool)
    values = values[:, counted]
    if not positive.any():
        raise LabelError("There is nothing to rank: no row has a label.")
    if average == "micro":
        return _area(positive.ravel(), values.ravel(), interpolate)
    n_rows = positive.sum(axis=0)
    areas = [_area(positive[:, v], values[:, v], interpolate) for v in np.flatnonzero(n_rows)]
    return float(np.average(areas, weights=n_rows[n_rows > 0] if average == "weighted" else None))


def _node_scores(values: npt.NDArray[Any], taxonomy: Taxonomy, classes: Any) -> npt.NDArray[Any]:
    """Return a score for every node: its own, or the highest of those below it."""
    n_wanted = taxonomy.n_nodes if classes is None else len(classes)
    if values.shape[1] != n_wanted:
        raise ParameterError(f"average_precision: {n_wanted} nodes need as many columns; got {values.shape[1]}.")
    if np.isnan(values).any():
        raise ParameterError("average_precision: scores must be numbers; some are NaN.")
    if classes is None:
        return values
    own = np.array([taxonomy.index(name) for name in classes], dtype=np.int64)
    scores = np.full((len(values), taxonomy.n_nodes), -np.inf, values.dtype if values.dtype.kind == "f" else np.float64)
    scores[:, own] = values
    has_column = np.isin(np.arange(taxonomy.n_nodes), own)
    parents = taxonomy.parents
    for v in range(taxonomy.n_nodes - 1, -1, -1):  # ids are topological: those below come first this way
        for u in parents.indices[parents.indptr[v] : parents.indptr[v + 1]]:
            if not has_column[u]:
                np.maximum(scores[:, u], scores[:, v], out=scores[:, u])
    return scores


def _area(positive: npt.NDArray[np.bool_], scores: npt.NDArray[Any], interpolate: bool) -> float:
    """Return the area under one curve; a threshold lies between every two different scores."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(scores) - 1)
    tp = np.cumsum(positive[order])[last].astype(np.float64)
    fp = 1.0 + last - tp
    before_tp, before_fp = np.append(0.0, tp[:-1]), np.append(0.0, fp[:-1])
    gained = tp > before_tp
    tp, fp, before_tp, before_fp = tp[gained], fp[gained], before_tp[gained], before_fp[gained]
    if not interpolate:
        return float(((tp - before_tp) * tp / (tp + fp)).sum() / tp[-1])
    # fp = before_fp + s (t − before_tp), so the precision at t is t / (a t + b), whose integral is known.
    s = (fp - before_fp) / (tp - before_tp)
    a, b = 1.0 + s, before_fp - s * before_tp
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(b != 0, b * np.log((tp + fp) / (before_tp + before_fp)), 0.0)
    return float(((tp - before_tp) / a - logs / a**2).sum() / tp[-1])
