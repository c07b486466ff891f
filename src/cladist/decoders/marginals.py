"""Probabilities of nodes under a distribution over all consistent labellings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from cladist.decoders.scores import first_example, node_scores, refuse_nan
from cladist.taxonomy import Taxonomy


def node_probabilities(scores: npt.ArrayLike, taxonomy: Taxonomy) -> npt.NDArray[np.float64]:
    """Return P(v is on) of every example and node, where P(z) ∝ exp Σ_v z_v a_v over consistent labellings z.

    By sum-product over the tree: with r_v = a_v + Σ_children log(1 + e^{r_c}), a node is on with probability σ(r_v)
    given that its parent is. Cost O(examples · nodes). For scores of signs ±1, give 2 a_v.

    Parameters
    ----------
    scores : array (examples × nodes)
        Node scores a_v, columns in taxonomy order; −inf forbids a node, NaN is a `LabelError`.
    taxonomy : Taxonomy
        A tree or forest.

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
