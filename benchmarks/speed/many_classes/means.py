"""A model that nobody learnt: every node has the mean of the rows below it for weights. For timing answers alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import circumstances
from benchmarks.speed.many_classes.shapes import PRUNE, learner, shape_of
from benchmarks.speed.peers.shared import timed
from benchmarks.speed.recursive_studies.measuring import Row, say
from benchmarks.speed.recursive_studies.shapes import data_of
from cladist.datasets import Dataset
from cladist.linear_model.node_differences import DifferenceWeights, LevelOrder
from cladist.linear_model.path_sums import DifferenceBuilder


def make(name: str, n_leaves: int, folder: Path) -> None:
    """Make the model and save it, as `training.train` does."""
    data = data_of(shape_of(n_leaves))
    model = learner("RecursiveSVM", data.taxonomy, 1)
    row: Row = {"learner": name}
    row["make CPU s"], row["make wall s"], _ = timed(lambda: _give_means(model, data))
    row["save CPU s"], row["save wall s"], _ = timed(lambda: model.save(folder / name))
    say(row)
    content = {**circumstances(), "row": row}
    (folder / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _give_means(model: Any, data: Dataset) -> None:
    """Give a learner the means of its rows as weights."""
    X, labels, weights = model.validate_weighted(data.X_train, data.y_train, None)
    problem = model.prepare(X, labels, weights)
    model.sharing_, model.n_iter_, model.converged_ = 1.0, 0, False
    model.history_ = [{"objective": 0.0, "gap": 1.0, "passes": 0}]
    model.weights_ = _means(sparse.csr_array(X), problem.members, LevelOrder.from_tree(model._coupling.tree))


def _means(X: Any, members: Any, order: LevelOrder) -> DifferenceWeights:
    """Return each node's mean row, less that of its parent."""
    starts, rows = members
    whose, above = order.list_paths(order.leaf_positions[np.repeat(np.arange(len(starts) - 1), np.diff(starts))])
    counts = np.bincount(above, minlength=len(order.node_at))
    shape = (len(counts), X.shape[0])
    share = sparse.csr_array(((1 / counts[above]).astype(np.float32), (above, rows[whose])), shape=shape)
    means = sparse.csr_array(share @ X)
    builder = DifferenceBuilder(order, np.arange(X.shape[1]), X.shape[1], PRUNE)
    for place, parent in enumerate(order.parent.tolist()):
        apart = means[[place]] - means[[parent]] if parent >= 0 else means[[place]]
        kept = np.abs(apart.data) > PRUNE
        builder.add_sparse(place, apart.indices[kept], apart.data[kept])
    return builder.build()
