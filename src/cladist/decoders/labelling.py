"""Labels from node scores.

One root-to-node path per example: the best prototype, or the greedy walk. Sets of nodes: top-down, the best consistent
labelling, its competitors, and probabilities.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from cladist.decoders.scores import first_example, node_scores, refuse_nan
from cladist.errors import LabelError, ParameterError
from cladist.kernels import labelling, runner_up, tree
from cladist.labels import LabelMatrix, encode
from cladist.losses import HLoss, Loss, SymmetricDifference, node_costs
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


def best_labelling(scores: npt.ArrayLike, taxonomy: Taxonomy, *, node_major: bool = False) -> LabelMatrix:
    """Return the consistent labelling z of highest Σ_v z_v a_v of every example.

    With signs y = 2z − 1 it also maximises Σ_v y_v a_v. A node whose inclusion gains nothing stays off, so the
    empty labelling is possible. Cost O(examples · nodes).

    Parameters
    ----------
    scores : array (examples × nodes), or (nodes × examples) if `node_major`
        Node scores a_v, columns in taxonomy order. −inf forbids a node; NaN is a `LabelError`.
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
    values = node_scores(scores, taxonomy, node_major=node_major)
    return _label(values, taxonomy, np.zeros(taxonomy.n_nodes, values.dtype), best=True)


def top_down(
    scores: npt.ArrayLike, taxonomy: Taxonomy, *, threshold: Any = 0.0, node_major: bool = False
) -> LabelMatrix:
    """Return the nodes whose score exceeds `threshold` and whose parent is on, in a DAG all their parents.

    Parameters
    ----------
    scores, node_major
        As in `best_labelling`.
    taxonomy : Taxonomy
        A tree, forest or DAG.
    threshold : float or array of one value per node
        The value that a score must exceed.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> top_down([[-1.0, 2.0, 3.0, -1.0], [1.0, -1.0, 0.5, 0.4]], taxonomy).frontier_names()
    [['art'], ['tennis', 'chess']]
    """
    values = node_scores(scores, taxonomy, node_major=node_major)
    thresholds = np.asarray(threshold, dtype=np.float64)
    if thresholds.shape not in ((), (taxonomy.n_nodes,)):
        raise LabelError(
            f"threshold is one number, or one per node, here {taxonomy.n_nodes}; got shape {thresholds.shape}."
        )
    return _label(values, taxonomy, np.ascontiguousarray(np.broadcast_to(thresholds, taxonomy.n_nodes)), best=False)


def _label(values: npt.NDArray[Any], taxonomy: Taxonomy, thresholds: npt.NDArray[Any], *, best: bool) -> LabelMatrix:
    if taxonomy.kind == "dag":
        indptr, indices, not_a_number = _below_all_parents(values, taxonomy, thresholds)
    else:
        indptr, indices, not_a_number = labelling.label_rows(*_in_order(values), taxonomy.parent, thresholds, best)
    refuse_nan(not_a_number)
    return LabelMatrix(indptr, indices, taxonomy)


def _in_order(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], bool]:
    """Return scores as they lie in memory, one row per example or per node, and whether it is per node."""
    transposed = values.flags.f_contiguous and not values.flags.c_contiguous
    return values.T if transposed else np.ascontiguousarray(values), transposed


def _below_all_parents(values: npt.NDArray[Any], taxonomy: Taxonomy, thresholds: npt.NDArray[Any]) -> Any:
    """Return the rows of top-down labels in a DAG, and the first row with NaN or −1; O(examples · edges)."""
    on: npt.NDArray[Any] = values > thresholds
    for v in np.flatnonzero(taxonomy.n_parents).tolist():  # parents come first, so their marks are final
        on[:, v] &= on[:, taxonomy.parent_ids(v)].all(axis=1)
    indptr = np.concatenate([[0], np.cumsum(on.sum(axis=1))])
    return indptr, np.nonzero(on)[1].astype(np.int32), first_example(np.isnan(values).any(axis=1))


def node_probabilities(scores: npt.ArrayLike, taxonomy: Taxonomy) -> npt.NDArray[np.float64]:
    """Return P(v is on) of every example and node, where P(z) ∝ exp Σ_v z_v a_v over consistent labellings z.

    By sum-product over the tree: with r_v = a_v + Σ_children log(1 + e^{r_c}), a node is on with probability σ(r_v)
    given that its parent is. Cost O(examples · nodes). For scores of signs ±1, give 2 a_v.

    Parameters
    ----------
    scores, taxonomy
        As in `best_labelling`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "art"])
    >>> node_probabilities([[0.0, 0.0, 0.0]], taxonomy).round(3).tolist()
    [[0.667, 0.5, 0.333]]
    """
    taxonomy.require_tree("node_probabilities")
    odds = np.array(node_scores(scores, taxonomy), dtype=np.float64, order="F")
    refuse_nan(first_example(np.asarray(np.isnan(odds).any(axis=1))))
    parent = taxonomy.parent.tolist()
    for v in range(taxonomy.n_nodes - 1, -1, -1):
        if parent[v] >= 0:
            odds[:, parent[v]] += np.logaddexp(0.0, odds[:, v])
    probabilities = expit(odds)
    for v, p in enumerate(parent):
        if p >= 0:
            probabilities[:, v] *= probabilities[:, p]
    return np.ascontiguousarray(probabilities)


class SecondBest(NamedTuple):
    """The second-best labelling of every example, and how far its total score Σ_v z_v a_v lies below the best one's."""

    labels: LabelMatrix
    leads: npt.NDArray[Any]


def second_best_labelling(scores: npt.ArrayLike, taxonomy: Taxonomy, *, node_major: bool = False) -> SecondBest:
    """Return, of every example, the consistent labelling of second highest Σ_v z_v a_v, and the best one's lead.

    It switches one node of `best_labelling`, and what depends on it. Of several that are equally good, it is the one
    whose node comes first. An example that has no second labelling without a forbidden node is a `LabelError`. Leads
    are at least 0, and twice as large with signs y = 2z − 1. Cost O(examples · nodes).

    Parameters
    ----------
    scores, taxonomy, node_major
        As in `best_labelling`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> second = second_best_labelling([[-1.0, -2.0, 3.0, -1.5], [1.0, 0.5, 0.25, -2.0]], taxonomy)
    >>> second.labels.frontier_names()
    [['tennis', 'chess'], ['sport', 'art']]
    >>> second.leads
    array([1.5 , 0.25])
    """
    taxonomy.require_tree("second_best_labelling")
    return _second(scores, taxonomy, node_major, np.zeros(0, np.int64), np.zeros(0, np.int32))


def runner_up_labelling(scores: npt.ArrayLike, y: Any, taxonomy: Taxonomy, *, node_major: bool = False) -> LabelMatrix:
    """Return the consistent labelling z ≠ y of highest Σ_v z_v a_v, the strongest competitor of y.

    That is `best_labelling` where it is not y, and `second_best_labelling` where it is.

    Parameters
    ----------
    scores, taxonomy, node_major
        As in `best_labelling`.
    y : labels in any form
        The labelling of every example that is not to be returned.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> scores = [[1.0, -2.0, 3.0, -1.5], [1.0, -2.0, 3.0, -1.5]]
    >>> runner_up_labelling(scores, ["tennis", "chess"], taxonomy).frontier_names()
    [['tennis', 'chess'], ['tennis']]
    """
    taxonomy.require_tree("runner_up_labelling")
    labels = encode(y, taxonomy).labels
    return _second(scores, taxonomy, node_major, labels.indptr, labels.indices).labels


def _second(scores: npt.ArrayLike, taxonomy: Taxonomy, node_major: bool, indptr_y: Any, indices_y: Any) -> SecondBest:
    """Return the best labelling other than y, or if there is no y, other than the best."""
    values = node_scores(scores, taxonomy, node_major=node_major)
    if len(indptr_y) not in (0, len(values) + 1):
        raise LabelError(f"There are scores of {len(values)} examples and labels of {len(indptr_y) - 1}.")
    like = np.zeros(0, np.int32 if values.dtype == np.float32 else np.int64)
    indptr, indices, leads, not_a_number = runner_up.second_rows(
        *_in_order(values), taxonomy.parent, like, indptr_y, indices_y
    )
    refuse_nan(not_a_number)
    alone = np.flatnonzero(~np.isfinite(leads))
    if len(alone):
        raise LabelError(
            f"Example {alone[0]} has no second labelling: its scores leave one, or infinitely better ones; forbid "
            "fewer nodes."
        )
    return SecondBest(LabelMatrix(indptr, indices, taxonomy), leads)


def node_margins(scores: npt.ArrayLike, taxonomy: Taxonomy) -> npt.NDArray[Any]:
    """Return D_v, the best total score Σ_v z_v a_v with node v on minus the best with v off, of every example.

    D_v > 0 where `best_labelling` has v. The smallest ``|D_v|`` is the lead of the best labelling over the second best.
    Cost O(examples · nodes).

    Parameters
    ----------
    scores, taxonomy
        As in `best_labelling`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> node_margins([[-1.0, -2.0, 3.0, -1.5]], taxonomy)
    array([[ 2. , -2. ,  2. , -1.5]])
    """
    taxonomy.require_tree("node_margins")
    gains = np.array(node_scores(scores, taxonomy).T, order="C")
    labelling.add_gains(gains, taxonomy.parent)
    margins = np.empty_like(gains)
    runner_up.margins_from_gains(gains, taxonomy.parent, margins)
    return margins.T


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
        The loss; others are not sums over nodes, and are refused. An `HLoss` may have any weights, simplified or not,
        which is the same for consistent labellings.

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
    scores, taxonomy, node_major
        As in `best_labelling`.
    y, loss
        The true labels, and Δ, as in `loss_shift`.

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
