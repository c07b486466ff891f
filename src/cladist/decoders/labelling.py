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
    empty labelling is possible. Cost O(examples · nodes).

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
    return _labelled(scores, taxonomy, node_major, np.zeros(0), best=True)


def top_down(
    scores: npt.ArrayLike, taxonomy: Taxonomy, *, threshold: Any = 0.0, node_major: bool = False
) -> LabelMatrix:
    """Switch a node on where its score exceeds `threshold` and its parent is on.

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
    thresholds = np.broadcast_to(np.asarray(threshold, dtype=np.float64), (taxonomy.n_nodes,))
    return _labelled(scores, taxonomy, node_major, np.ascontiguousarray(thresholds), best=False)


def _labelled(
    scores: npt.ArrayLike, taxonomy: Taxonomy, node_major: bool, thresholds: npt.NDArray[Any], *, best: bool
) -> LabelMatrix:
    values = checked_scores(np.asarray(scores).T if node_major else scores, taxonomy)
    if values.flags.f_contiguous and not values.flags.c_contiguous:
        indptr, indices = labelling.label_rows(values.T, True, taxonomy.parent, thresholds, best)
    else:
        values = np.ascontiguousarray(values)
        indptr, indices = labelling.label_rows(values, False, taxonomy.parent, thresholds, best)
    return LabelMatrix(indptr, indices, taxonomy)


def checked_scores(scores: npt.ArrayLike, taxonomy: Taxonomy) -> npt.NDArray[Any]:
    """Return scores as a float array (examples × nodes), or say what is wrong with their shape."""
    values = np.asarray(scores)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if values.ndim != 2 or values.shape[1] != taxonomy.n_nodes:
        raise LabelError(f"Scores have one column a node, here {taxonomy.n_nodes}; got shape {values.shape}.")
    return values
