"""Migration of online learners, which then go on learning with `partial_fit`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError
from cladist.kernels import tree as tree_kernels
from cladist.learners import row_arrays
from cladist.learners.migration.node_map import NodeMap
from cladist.learners.migration.ridge import migrate_ridge
from cladist.learners.online.hieron import Hieron, WeightPrototypes
from cladist.learners.online.perceptron import HierarchicalPerceptron, WeightPerceptrons
from cladist.learners.online.rls import HierarchicalRLS

Ids = npt.NDArray[np.int64]


def migrate_online(model: Any, fitted: Any, nodes: NodeMap) -> Any:
    """Give a clone of an online learner the vectors of the old nodes; a kernel's support rows get their new labels."""
    for name in ("rows_seen_", "n_iter_", "history_", "converged_"):
        setattr(fitted, name, getattr(model, name))
    fitted.set_classes(_classes(model, nodes))
    if isinstance(model, HierarchicalRLS):
        return migrate_ridge(model, fitted, nodes)
    if isinstance(model, Hieron):
        old: Any = model.prototypes_
        if isinstance(old, WeightPrototypes):
            fitted.prototypes_ = WeightPrototypes(nodes.new, _move_prototypes(old.W, nodes))
            fitted.prototypes_.n_rounds = old.n_rounds
        else:
            fitted.prototypes_ = _copied(old)
            fitted.prototypes_.move_nodes(nodes.new, _sole_targets(model, nodes, old.updates[2:4]))
        return fitted
    return _migrate_perceptron(model, fitted, nodes)


def _migrate_perceptron(model: HierarchicalPerceptron, fitted: Any, nodes: NodeMap) -> Any:
    """Move the perceptrons of all nodes; merged ones are summed, and counts of rows with them."""
    old: Any = model.perceptrons_
    fitted.perceptrons_ = moved = _copied(old)
    if not isinstance(old, WeightPerceptrons):
        moved.move_nodes(nodes.new, _sole_targets(model, nodes, old.updates[1:2]))
        return fitted
    moved.seen = _sum_columns(old.seen[None], nodes)[0]
    moved._set_tree(nodes.new)
    moved.W, moved.acc = _sum_columns(old.W, nodes), _sum_columns(old.acc, nodes)
    return fitted


def _copied(state: Any) -> Any:
    copy = object.__new__(type(state))
    copy.__dict__.update(vars(state))
    return copy


def _classes(model: Any, nodes: NodeMap) -> Ids:
    """Return the labels that can be predicted in the new tree."""
    allowed, tree = model.allowed_labels, nodes.new
    if model.decodes_sets or (isinstance(allowed, str) and allowed == "all"):
        return np.arange(tree.n_nodes)
    if isinstance(allowed, str) and allowed == "leaves":
        return np.asarray(tree.leaves, np.int64)
    known = set(model.class_nodes_.tolist())
    return np.array(sorted(v for v, sources in nodes.sources.items() if known.intersection(sources)), np.int64)


def _sum_columns(columns: Any, nodes: NodeMap) -> Any:
    """Return the columns of new nodes: the sum of those they come from, 0 for new ones."""
    moved = row_arrays.allocate_weights("migrate", columns.shape[0], nodes.new.n_nodes, columns.dtype)
    for v, sources in nodes.sources.items():
        for u in sources:
            moved[:, v] += columns[:, u]
    return moved


def _move_prototypes(W: Any, nodes: NodeMap) -> Any:
    """Return the vectors (features × nodes) under which a node's prototype, the sum along its path, is its old one.

    That of merged nodes is the mean of theirs; a new node begins as its parent. Where a node and all above it are
    unchanged, its own vector is the old one bit for bit.
    """
    old_tree, new_tree = nodes.old, nodes.new
    before, after = W.copy(), row_arrays.allocate_weights("migrate", W.shape[0], new_tree.n_nodes, W.dtype)
    tree_kernels.add_along_paths(before, old_tree.parent)
    total = np.zeros_like(after)
    kept: dict[int, int] = {-1: -1}  # new nodes whose path is that of an old node
    for v in range(new_tree.n_nodes):
        above, sources = int(new_tree.parent[v]), nodes.sources.get(v, ())
        base = total[:, above] if above >= 0 else np.zeros(W.shape[0], W.dtype)
        if len(sources) == 1 and above in kept and kept[above] == int(old_tree.parent[sources[0]]):
            after[:, v] = W[:, sources[0]]
            kept[v] = sources[0]
        elif sources:
            after[:, v] = before[:, list(sources)].mean(axis=1) - base
        total[:, v] = base + after[:, v]
    return after


def _sole_targets(model: Any, nodes: NodeMap, used: Any) -> Ids:
    """Return the new id of every old node; refuse where support rows have a label that is split or retired."""
    new_id = np.zeros(nodes.old.n_nodes, np.int64)
    for u, targets in nodes.targets.items():
        new_id[u] = targets[0]
    for u in np.unique(np.concatenate([np.zeros(0, np.int64), *used])).tolist():
        targets = nodes.targets.get(u, ())
        if len(targets) != 1:
            fate = "is split" if targets else "has no counterpart"
            raise ParameterError(
                f"migrate: this {type(model).__name__} has a kernel and keeps rows of {nodes.old.names[u]!r}, which "
                f"{fate} in the crosswalk; train it again on relabelled rows, or use kernel='linear'."
            )
    return new_id
