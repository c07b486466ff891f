"""Migration of linear classifiers with one weight vector per label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels.lanes import WIDTH
from cladist.learners.linear_classifier import LinearClassifier
from cladist.learners.migration.node_map import NodeMap
from cladist.learners.migration.vectors import Vector, average, combine, stack, turn_towards
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.weights import DenseWeights, Weights, to_block
from cladist.solvers.relations import as_relations
from cladist.solvers.weight_start import WeightStart

Ids = npt.NDArray[np.int64]


def migrate_linear(model: LinearClassifier, fitted: Any, nodes: NodeMap, texts: dict[int, Any]) -> Any:
    """Give a clone of a linear classifier the weights of the old labels.

    Parameters
    ----------
    model, fitted : LinearClassifier
        The model, and the clone, in which `taxonomy_` and `label_form_` are set.
    nodes : NodeMap
    texts : dict of node id to CSR (1 × features)
        The texts of new labels as features.
    """
    vector_of = _old_vectors(model)
    problems, labels = (
        _new_nodes(nodes, set(vector_of), texts),
        _new_nodes(nodes, set(model.class_nodes_.tolist()), texts),
    )
    vectors = {
        v: combine([vector_of[u] for u in nodes.sources[v] if u in vector_of]) for v in problems if v in nodes.sources
    }
    inherited = dict(vectors)
    for v in problems:
        if v not in vectors:
            begin = _from_parent(v, nodes, inherited, model.n_features_in_)
            vectors[v] = turn_towards(begin, texts[v]) if v in texts else begin
    matrix, intercepts = stack([vectors[v] for v in problems], model.n_features_in_)
    fitted.target_nodes_ = np.array(problems, np.int64)
    fitted.set_classes(np.array(labels, np.int64))
    fitted.weights_ = _in_form(matrix, intercepts, model.weights_)
    if model._coupling is not None:
        relations, sharing = as_relations(model.relations), model.sharing_
        fitted._coupling = relations.couple(fitted.taxonomy_, fitted.target_nodes_, sharing, None)
    unchanged = np.array([nodes.is_whole(v) and v in inherited for v in problems], np.bool_)
    fitted._last_fit = WeightStart(fitted.taxonomy_, fitted.target_nodes_, fitted.weights_, unchanged)
    return fitted


def _old_vectors(model: LinearClassifier) -> dict[int, Vector]:
    """Return the weights of every node that has a classifier; of two labels, each has half of the one."""
    own = len(model.target_nodes_) == model.weights_.n_classes and not (
        len(model.target_nodes_) == 1 and len(model.class_nodes_) == 2
    )
    ids = model.target_nodes_ if own else model.class_nodes_
    matrix = sparse.csr_array(model.weights_.matrix() if own else model.coef_)
    intercepts = model.weights_.intercepts if own else model.intercept_
    return {v: (matrix[[k]], float(intercepts[k])) for k, v in enumerate(ids.tolist())}


def _new_nodes(nodes: NodeMap, known: set[int], texts: dict[int, Any]) -> list[int]:
    """Return the new nodes that come from known ones, and new leaves with a text or a known node near them."""
    found = {v for v, sources in nodes.sources.items() if known.intersection(sources)}
    tree = nodes.new
    near = {int(a) for v in found for a in tree.ids_above(v)}
    for v in tree.leaves.tolist():
        if v not in nodes.sources and (v in texts or near.intersection(tree.parent_ids(v))):
            found.add(v)
    return sorted(found)


def _from_parent(v: int, nodes: NodeMap, vectors: dict[int, Vector], n_features: int) -> Vector:
    """Return the mean weights of the labels below the nearest node above that has some; without one, none."""
    tree, above = nodes.new, list(nodes.new.parent_ids(v))
    while above:
        below = sorted({int(w) for a in above for w in tree.ids_below(a)} & vectors.keys())
        if below:
            return average([vectors[w] for w in below])
        above = [p for a in above for p in tree.parent_ids(a)]
    intercepts = [intercept for _, intercept in vectors.values()]
    return sparse.csr_array((1, n_features), dtype=np.float32), float(np.mean(intercepts)) if intercepts else 0.0


def _in_form(matrix: sparse.csr_array, intercepts: npt.NDArray[np.float32], like: Weights) -> Weights:
    """Return weights dense if the model's are, and otherwise sparse; dual ones and differences have no rows for new."""
    if not isinstance(like, DenseWeights):
        return SparseWeights.from_matrix(matrix, intercepts)
    features = np.union1d(like.feature_of, np.unique(matrix.indices)).astype(np.int64)
    starts = range(0, matrix.shape[0], WIDTH)
    blocks = [to_block(matrix[k : k + WIDTH][:, features].toarray()) for k in starts]
    return DenseWeights(blocks, intercepts, features, matrix.shape[1])
