"""Calibration of scores of sets of labels: the probability of every node given its parents, multiplied down."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.calibration.curves import Curves, fit_curves
from cladist.labels import LabelMatrix
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class Conditional(NamedTuple):
    """P(v) = f_v(z_v) · min over the parents of v of P, where z_v is the score of v, or the highest below it.

    Attributes
    ----------
    taxonomy : Taxonomy
    class_nodes : array
        The nodes of the columns.
    curves : Curves
        f, one of each node.
    """

    taxonomy: Taxonomy
    class_nodes: Ids
    curves: Curves

    def node_probabilities(self, scores: Floats) -> Floats:
        """Return the probability of every node (rows × nodes)."""
        P = self.curves.evaluate(raise_scores(scores, self.taxonomy, self.class_nodes))
        parents = self.taxonomy.parents
        for v in range(self.taxonomy.n_nodes):  # ids are topological: parents are done first
            above = parents.indices[parents.indptr[v] : parents.indptr[v + 1]]
            if len(above):
                P[:, v] *= P[:, above].min(axis=1)
        return P


def fit_conditional(scores: Floats, labels: LabelMatrix, class_nodes: Ids, *, method: str, level: str) -> Conditional:
    """Fit every node's curve on the rows that have all its parents.

    "temperature" fits what "vector" does: an intercept of each node beside the slope, since a node is more frequent
    among the rows that have its parents than among all rows, which its scores are made for.
    """
    method = "vector" if method == "temperature" else method
    taxonomy = labels.taxonomy
    node_scores = raise_scores(scores, taxonomy, class_nodes)
    has = labels.to_indicator()
    # A node is decided in a row that has as many of its parents as there are.
    n_above = (has.astype(np.int32) @ taxonomy.parents.T.astype(np.int32)).toarray()
    rows, entity = np.nonzero((n_above == taxonomy.n_parents) & np.isfinite(node_scores))
    hits = np.asarray(has.toarray()[rows, entity], dtype=bool)
    group_of = np.zeros(taxonomy.n_nodes, np.int64) if level == "leaves" else taxonomy.depth.astype(np.int64)
    curves = fit_curves(
        node_scores[rows, entity], hits, entity.astype(np.int64), group_of, method=method, own=level == "nodes"
    )
    return Conditional(taxonomy, class_nodes, curves)


def raise_scores(scores: Floats, taxonomy: Taxonomy, class_nodes: Ids) -> Floats:
    """Return a score of every node: that of its class, or the highest of those below it, or −inf."""
    raised = np.full((len(scores), taxonomy.n_nodes), -np.inf)
    raised[:, class_nodes] = scores
    is_class = np.zeros(taxonomy.n_nodes, bool)
    is_class[class_nodes] = True
    parents = taxonomy.parents
    for v in range(taxonomy.n_nodes - 1, -1, -1):
        for u in parents.indices[parents.indptr[v] : parents.indptr[v + 1]]:
            if not is_class[u]:
                np.maximum(raised[:, u], raised[:, v], out=raised[:, u])
    return raised
