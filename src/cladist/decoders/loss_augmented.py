"""The labelling that violates its margin most: highest score plus loss, for losses that are sums over nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.decoders.labelling import best_labelling
from cladist.decoders.scores import node_scores
from cladist.errors import LabelError, ParameterError
from cladist.labels import LabelMatrix, encode
from cladist.losses import HLoss, Loss, SymmetricDifference, node_costs
from cladist.taxonomy import Taxonomy


class LossShift(NamedTuple):
    """A loss against y as node scores: Δ(y, z) = constant + Σ_v shift_v z_v for every consistent labelling z."""

    shift: npt.NDArray[np.float64]
    constant: npt.NDArray[np.float64]


def loss_shift(y: Any, taxonomy: Taxonomy, *, loss: Loss) -> LossShift:
    """Return a loss against labels y as numbers to add to node scores, a dense array (examples × nodes).

    The symmetric difference is Σ_v [y_v (1 − z_v) + (1 − y_v) z_v]. The H-loss charges a node only where all above it
    are right. Since z and y are consistent, with p the parent of v (of a root, a node that is always on)::

        Δ_H = Σ_v c_v [y_v (z_p − z_v) + (1 − y_v) y_p z_v]

    Parameters
    ----------
    y : labels in any form
        The true labels of every example.
    taxonomy : Taxonomy
        A tree or forest.
    loss : SymmetricDifference or HLoss
        The loss; others are not sums over nodes, and are refused.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> shift, constant = loss_shift(["tennis"], taxonomy, loss=SymmetricDifference())
    >>> shift.tolist(), constant.tolist()
    ([[-1.0, 1.0, -1.0, 1.0]], [2.0])
    """
    taxonomy.require_tree("loss_shift")
    on = encode(y, taxonomy).labels.to_indicator().toarray().astype(np.float64)
    if isinstance(loss, SymmetricDifference):
        return LossShift(1.0 - 2.0 * on, on.sum(axis=1))
    if not isinstance(loss, HLoss):
        raise ParameterError(
            f"loss must be SymmetricDifference or HLoss, which are sums over nodes; got {type(loss).__name__}."
        )
    cost = node_costs(loss.weights, taxonomy, virtual_root=loss.virtual_root)
    is_root = taxonomy.parent < 0
    above = np.where(is_root, 1.0, on[:, taxonomy.parent])
    shift = cost * ((1.0 - on) * above - on)
    below = np.flatnonzero(~is_root)
    np.add.at(shift.T, taxonomy.parent[below], (cost * on)[:, below].T)
    return LossShift(shift, (cost * on)[:, is_root].sum(axis=1))


def loss_augmented_labelling(
    scores: npt.ArrayLike, y: Any, taxonomy: Taxonomy, *, loss: Loss, node_major: bool = False
) -> LabelMatrix:
    """Return the consistent labelling z of highest Σ_v z_v a_v + Δ(y, z) of every example.

    Of several, the smallest one, which all others include. For scores of signs ±1, give 2 a_v.

    Parameters
    ----------
    scores : array (examples × nodes), or (nodes × examples) if `node_major`
        Node scores a_v, columns in taxonomy order.
    y : labels in any form
        The true labels of every example.
    taxonomy : Taxonomy
        A tree or forest.
    loss : SymmetricDifference or HLoss
        Δ; `HLoss` with any weights, simplified or not, which is the same for consistent labellings.
    node_major : bool
        Whether `scores` has one row per node.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> scores = [[1.0, -2.0, 0.5, -0.5]]
    >>> loss_augmented_labelling(scores, ["tennis"], taxonomy, loss=SymmetricDifference()).frontier_names()
    [['chess']]
    >>> loss_augmented_labelling(scores, ["tennis"], taxonomy, loss=HLoss("sibling")).frontier_names()
    [['sport']]
    """
    taxonomy.require_tree("loss_augmented_labelling")
    values = node_scores(scores, taxonomy, node_major=node_major)
    shift = loss_shift(y, taxonomy, loss=loss).shift
    if len(values) != len(shift):
        raise LabelError(f"There are scores of {len(values)} examples and labels of {len(shift)}.")
    return best_labelling(values + shift, taxonomy)
