"""The second-best consistent labelling, the best one that is not the truth, and the margins of nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.decoders.scores import node_scores, refuse_nan
from cladist.errors import LabelError
from cladist.kernels import labelling, runner_up
from cladist.labels import LabelMatrix, encode
from cladist.taxonomy import Taxonomy

_NO_LABELS = np.zeros(0, np.int64), np.zeros(0, np.int32)


class SecondBest(NamedTuple):
    """The second-best labelling of every example, and how far its total score Σ_v z_v a_v lies below the best one's."""

    labels: LabelMatrix
    leads: npt.NDArray[Any]


def second_best_labelling(scores: npt.ArrayLike, taxonomy: Taxonomy, *, node_major: bool = False) -> SecondBest:
    """Return, of every example, the consistent labelling of second highest Σ_v z_v a_v, and the best one's lead.

    It switches one node of `best_labelling`, and what depends on it. Of several that are equally good, it is the one
    whose node comes first. Cost O(examples · nodes).

    Parameters
    ----------
    scores : array (examples × nodes), or (nodes × examples) if `node_major`
        Node scores a_v, columns in taxonomy order. −inf forbids a node; NaN is a `LabelError`, and so is an example
        that has no second labelling without a forbidden node.
    taxonomy : Taxonomy
        A tree or forest.
    node_major : bool
        Whether `scores` has one row per node.

    Returns
    -------
    SecondBest
        `labels` and `leads`, the latter at least 0. With signs y = 2z − 1 leads are twice as large.

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
    return _second(scores, taxonomy, node_major, *_NO_LABELS)


def runner_up_labelling(scores: npt.ArrayLike, y: Any, taxonomy: Taxonomy, *, node_major: bool = False) -> LabelMatrix:
    """Return the consistent labelling z ≠ y of highest Σ_v z_v a_v, the strongest competitor of y.

    That is `best_labelling` where it is not y, and `second_best_labelling` where it is.

    Parameters
    ----------
    scores : array (examples × nodes), or (nodes × examples) if `node_major`
        Node scores a_v, columns in taxonomy order.
    y : labels in any form
        The labelling of every example that is not to be returned.
    taxonomy : Taxonomy
        A tree or forest.
    node_major : bool
        Whether `scores` has one row per node.

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


def node_margins(scores: npt.ArrayLike, taxonomy: Taxonomy) -> npt.NDArray[Any]:
    """Return D_v, the best total score Σ_v z_v a_v with node v on minus the best with v off, of every example.

    D_v > 0 where `best_labelling` has v. The smallest ``|D_v|`` is the lead of the best labelling over the second best.
    Cost O(examples · nodes).

    Parameters
    ----------
    scores : array (examples × nodes)
        Node scores a_v, columns in taxonomy order.
    taxonomy : Taxonomy
        A tree or forest.

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


def _second(
    scores: npt.ArrayLike,
    taxonomy: Taxonomy,
    node_major: bool,
    indptr_y: npt.NDArray[np.int64],
    indices_y: npt.NDArray[np.int32],
) -> SecondBest:
    values = node_scores(scores, taxonomy, node_major=node_major)
    if len(indptr_y) not in (0, len(values) + 1):
        raise LabelError(f"There are scores of {len(values)} examples and labels of {len(indptr_y) - 1}.")
    transposed = values.flags.f_contiguous and not values.flags.c_contiguous
    rows = values.T if transposed else np.ascontiguousarray(values)
    like = np.zeros(0, np.int32 if values.dtype == np.float32 else np.int64)
    indptr, indices, leads, not_a_number = runner_up.second_rows(
        rows, transposed, taxonomy.parent, like, indptr_y, indices_y
    )
    refuse_nan(not_a_number)
    alone = np.flatnonzero(~np.isfinite(leads))
    if len(alone):
        raise LabelError(
            f"Example {alone[0]} has no second labelling: its scores leave one, or infinitely better ones; forbid "
            "fewer nodes."
        )
    return SecondBest(LabelMatrix(indptr, indices, taxonomy), leads)
