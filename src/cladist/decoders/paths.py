"""One root-to-node path from node scores: the best prototype, or the greedy walk."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.decoders.scores import first_example, node_scores, refuse_nan
from cladist.errors import LabelError
from cladist.kernels import labelling, tree
from cladist.taxonomy import Taxonomy


def path_scores(scores: npt.ArrayLike, taxonomy: Taxonomy) -> npt.NDArray[Any]:
    """Return S_v = Σ_{u ∈ path(v)} s_u for every example and node; cost O(examples · nodes).

    Parameters
    ----------
    scores : array (examples × nodes)
        Node scores s_v, columns in taxonomy order.
    taxonomy : Taxonomy
        A tree or forest.

    Examples
    --------
    >>> path_scores([[1.0, 2.0, 3.0]], Taxonomy.from_paths(["a/b/c"]))
    array([[1., 3., 6.]])
    """
    taxonomy.require_tree("path_scores")
    summed = np.array(node_scores(scores, taxonomy), order="C")
    tree.add_along_paths(summed, taxonomy.parent)
    return summed


def prototype_argmax(
    scores: npt.ArrayLike, taxonomy: Taxonomy, *, allowed: npt.ArrayLike | None = None
) -> npt.NDArray[np.int64]:
    """Return the node with the highest path score of every example; ties go to the lowest id.

    Parameters
    ----------
    scores, taxonomy
        As in `path_scores`.
    allowed : bool array of one value per node, optional
        The nodes that may be predicted, such as the leaves or the labels seen; all by default.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> prototype_argmax([[2.0, 1.0, -1.0, -3.0]], taxonomy).tolist()
    [0]
    >>> prototype_argmax([[2.0, 1.0, -1.0, -3.0]], taxonomy, allowed=taxonomy.is_leaf).tolist()
    [1]
    """
    summed = path_scores(scores, taxonomy)
    mask = np.ones(taxonomy.n_nodes, bool)
    if allowed is not None:
        mask = np.asarray(allowed)
        if mask.dtype != bool or mask.shape != (taxonomy.n_nodes,) or not mask.any():
            raise LabelError(
                f"allowed has one truth value per node, here {taxonomy.n_nodes}, at least one true; got {mask.dtype} "
                f"of shape {mask.shape} with {np.count_nonzero(mask)} true."
            )
        summed[:, ~mask] = -np.inf
    best = summed.argmax(axis=1)
    refuse_nan(first_example(np.isnan(summed[np.arange(len(best)), best])))  # NaN wins every argmax
    return np.where(mask[best], best, mask.argmax())  # not allowed: all that are have −inf too


def path_margins(scores: npt.ArrayLike, taxonomy: Taxonomy, *, ends: bool = True) -> npt.NDArray[Any]:
    """Return the margin by which each node is on in a walk down from the roots along positive scores.

    That is the lowest score on its path and, with `ends`, also minus the highest of its children's scores: positive
    where the walk ends at this node. Where one node must be predicted, it is the one of largest margin. Cost
    O(examples · nodes).

    Parameters
    ----------
    scores, taxonomy
        As in `path_scores`.
    ends : bool
        Whether the walk must end at the node.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> path_margins([[2.0, -3.0, 1.0, -1.0]], taxonomy)
    array([[-1., -3.,  1., -1.]])
    >>> path_margins([[2.0, -3.0, 1.0, -1.0]], taxonomy, ends=False)
    array([[ 2., -3.,  1., -1.]])
    """
    taxonomy.require_tree("path_margins")
    values = np.ascontiguousarray(node_scores(scores, taxonomy))
    margins = np.empty_like(values)
    tree.path_margins(values, taxonomy.parent, ends, margins)
    return margins


def greedy_path(scores: npt.ArrayLike, taxonomy: Taxonomy) -> npt.NDArray[np.int64]:
    """Return the leaf at the end of a walk from the roots to the child with the highest score; ties to the lowest id.

    Cost O(scores visited). A NaN on the way is a `LabelError`.

    Parameters
    ----------
    scores, taxonomy
        As in `path_scores`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> greedy_path([[2.0, 1.0, -3.0, -1.0]], taxonomy).tolist()
    [3]
    """
    taxonomy.require_tree("greedy_path")
    values = np.ascontiguousarray(node_scores(scores, taxonomy))
    leaves = labelling.greedy_leaves(values, taxonomy.child_start, len(taxonomy.roots))
    refuse_nan(first_example(leaves < 0))
    return leaves
