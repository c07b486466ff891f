"""Sets of nodes from node scores: top-down, and the best consistent labelling."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.decoders.scores import first_example, node_scores, refuse_nan
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
    taxonomy : Taxonomy
        A tree or forest.
    node_major : bool
        Whether `scores` has one row per node.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> scores = [[-1.0, -2.0, 3.0, -1.0], [-1.0, 0.5, 0.5, 0.4]]
    >>> best_labelling(scores, taxonomy).frontier_names()
    [['tennis'], ['art']]
    """
    taxonomy.require_tree("best_labelling")
    return _label(scores, taxonomy, node_major, 0.0, best=True)


def top_down(
    scores: npt.ArrayLike, taxonomy: Taxonomy, *, threshold: Any = 0.0, node_major: bool = False
) -> LabelMatrix:
    """Return the nodes whose score exceeds `threshold` and whose parent is on, in a DAG all their parents.

    NaN is a `LabelError`.

    Parameters
    ----------
    scores : array (examples × nodes), or (nodes × examples) if `node_major`
        Node scores, columns in taxonomy order.
    taxonomy : Taxonomy
        A tree, forest or DAG.
    threshold : float or array of one value per node
        The value that a score must exceed.
    node_major : bool
        Whether `scores` has one row per node.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> top_down([[-1.0, 2.0, 3.0, -1.0], [1.0, -1.0, 0.5, 0.4]], taxonomy).frontier_names()
    [['art'], ['tennis', 'chess']]
    """
    return _label(scores, taxonomy, node_major, threshold, best=False)


def _label(scores: npt.ArrayLike, taxonomy: Taxonomy, node_major: bool, threshold: Any, *, best: bool) -> LabelMatrix:
    values = node_scores(scores, taxonomy, node_major=node_major)
    thresholds = _thresholds_of_nodes(threshold, taxonomy, values.dtype if best else np.float64)
    if taxonomy.kind == "dag":
        indptr, indices, not_a_number = _below_all_parents(values, taxonomy, thresholds)
    else:
        transposed = values.flags.f_contiguous and not values.flags.c_contiguous
        rows = values.T if transposed else np.ascontiguousarray(values)
        indptr, indices, not_a_number = labelling.label_rows(rows, transposed, taxonomy.parent, thresholds, best)
    refuse_nan(not_a_number)
    return LabelMatrix(indptr, indices, taxonomy)


def _below_all_parents(values: npt.NDArray[Any], taxonomy: Taxonomy, thresholds: npt.NDArray[Any]) -> Any:
    """Return the rows of top-down labels in a DAG, and the first row with NaN or −1; O(examples · edges)."""
    on: npt.NDArray[Any] = values > thresholds
    for v in np.flatnonzero(taxonomy.n_parents).tolist():  # parents come first, so their marks are final
        on[:, v] &= on[:, taxonomy.parent_ids(v)].all(axis=1)
    indptr = np.concatenate([[0], np.cumsum(on.sum(axis=1))])
    return indptr, np.nonzero(on)[1].astype(np.int32), first_example(np.isnan(values).any(axis=1))


def _thresholds_of_nodes(threshold: Any, taxonomy: Taxonomy, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    values = np.asarray(threshold, dtype=dtype)
    if values.shape not in ((), (taxonomy.n_nodes,)):
        raise LabelError(
            f"threshold is one number, or one per node, here {taxonomy.n_nodes}; got shape {values.shape}."
        )
    return np.ascontiguousarray(np.broadcast_to(values, (taxonomy.n_nodes,)))
