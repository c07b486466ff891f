"""Sets of nodes from node scores: top-down, and the best consistent labelling."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import LabelError
from cladist.kernels import labelling
from cladist.labels import LabelMatrix
from cladist.taxonomy import Taxonomy


def best_labelling(scores: npt.ArrayLike, taxonomy: Taxonomy, *, node_major: bool = False) -> LabelMatrix:
    """Return the consistent labelling z of highest Σ_v z_v a_v of every example.

    With signs y = 2z − 1 it also maximises Σ_v y_v a_v. A node whose inclusion gains nothing stays off, so the
    empty labelling is possible. A score of −inf forbids a node; NaN is a `LabelError`. Cost O(examples · nodes).

    Parameters
    ----------
    scores : array (examples × nodes), or (nodes × examples) if `node_major`
        Node scores a_v, columns in taxonomy order.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> scores = [[-1.0, -2.0, 3.0, -1.0], [-1.0, 0.5, 0.5, 0.4]]
    >>> best_labelling(scores, taxonomy).frontier_names()
    [['tennis'], ['art']]
    """
    taxonomy.require_tree("best_labelling")
    return _labelled(scores, taxonomy, node_major, 0.0, best=True)


def top_down(
    scores: npt.ArrayLike, taxonomy: Taxonomy, *, threshold: Any = 0.0, node_major: bool = False
) -> LabelMatrix:
    """Switch a node on where its score exceeds `threshold` and its parent is on, in a DAG all its parents.

    NaN is a `LabelError`.

    Parameters
    ----------
    scores : array (examples × nodes), or (nodes × examples) if `node_major`
        Node scores, columns in taxonomy order.
    threshold : float or array of one value a node
        What a score must exceed.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> top_down([[-1.0, 2.0, 3.0, -1.0], [1.0, -1.0, 0.5, 0.4]], taxonomy).frontier_names()
    [['art'], ['tennis', 'chess']]
    """
    return _labelled(scores, taxonomy, node_major, threshold, best=False)


def _labelled(
    scores: npt.ArrayLike, taxonomy: Taxonomy, node_major: bool, threshold: Any, *, best: bool
) -> LabelMatrix:
    values = checked_scores(scores, taxonomy, node_major=node_major)
    thresholds = _checked_thresholds(threshold, taxonomy, values.dtype if best else np.float64)
    if taxonomy.kind == "dag":
        found = _below_all_parents(values, taxonomy, thresholds)
    elif values.flags.f_contiguous and not values.flags.c_contiguous:
        found = labelling.label_rows(values.T, True, taxonomy.parent, thresholds, best)
    else:
        found = labelling.label_rows(np.ascontiguousarray(values), False, taxonomy.parent, thresholds, best)
    indptr, indices, not_a_number = found
    if not_a_number >= 0:
        raise LabelError(f"Example {not_a_number} has a score that is not a number (NaN); scores must be numbers.")
    return LabelMatrix(indptr, indices, taxonomy)


def _below_all_parents(values: npt.NDArray[Any], taxonomy: Taxonomy, thresholds: npt.NDArray[Any]) -> Any:
    """Return the rows of top-down labels in a DAG, and the first row with NaN or −1; O(examples · edges)."""
    on: npt.NDArray[Any] = values > thresholds
    for v in np.flatnonzero(taxonomy.n_parents).tolist():  # parents come first, so what they are is final
        on[:, v] &= on[:, taxonomy.parent_ids(v)].all(axis=1)
    wrong = np.flatnonzero(np.isnan(values).any(axis=1))
    indptr = np.concatenate([[0], np.cumsum(on.sum(axis=1))])
    return indptr, np.nonzero(on)[1].astype(np.int32), int(wrong[0]) if len(wrong) else -1


def _checked_thresholds(threshold: Any, taxonomy: Taxonomy, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    values = np.asarray(threshold, dtype=dtype)
    if values.shape not in ((), (taxonomy.n_nodes,)):
        raise LabelError(f"threshold is one number, or one a node, here {taxonomy.n_nodes}; got shape {values.shape}.")
    return np.ascontiguousarray(np.broadcast_to(values, (taxonomy.n_nodes,)))


def checked_scores(scores: npt.ArrayLike, taxonomy: Taxonomy, *, node_major: bool = False) -> npt.NDArray[Any]:
    """Return scores as a float array (examples × nodes), or say what is wrong with them."""
    values = np.asarray(scores)
    if values.dtype not in (np.float32, np.float64):
        if values.dtype.kind not in "biuf":
            raise LabelError(f"Scores are a dense array of numbers; got {type(scores).__name__} of {values.dtype}.")
        values = values.astype(np.float64)
    if values.ndim != 2 or values.shape[0 if node_major else 1] != taxonomy.n_nodes:
        side = "row" if node_major else "column"
        raise LabelError(f"Scores have one {side} a node, here {taxonomy.n_nodes}; got shape {values.shape}.")
    return values.T if node_major else values
