"""What each node of a `NodewiseSVM` learns from: the rows that reach its parent, and those that go on to it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cladist.labels import LabelMatrix
from cladist.learners.local.families import Task
from cladist.solvers.problem import members_by_class

Ids = npt.NDArray[np.int64]


def nodewise_tasks(labels: LabelMatrix) -> list[Task]:
    """Return the problems of every family with rows; children to which all rows or none belong have none."""
    taxonomy = labels.taxonomy
    counts, reaching = _counts(labels)
    by_node = labels.to_indicator().tocsc()
    parent = taxonomy.parent
    asked = np.flatnonzero((counts > 0) & (counts < reaching))
    if not len(asked):
        return []
    tasks = []
    order = asked[np.argsort(parent[asked], kind="stable")]
    starts = np.flatnonzero(np.diff(parent[order], prepend=-2))
    for first, last in zip(starts, [*starts[1:], len(order)], strict=True):
        children = order[first:last]
        above = int(parent[children[0]])
        rows = (
            np.arange(len(labels)) if above < 0 else by_node.indices[by_node.indptr[above] : by_node.indptr[above + 1]]
        )
        rows = rows.astype(np.int64)
        members = [by_node.indices[by_node.indptr[c] : by_node.indptr[c + 1]] for c in children]
        classes = np.repeat(np.arange(len(children)), [len(part) for part in members])
        indptr, places = members_by_class(classes, len(children))
        positions = np.searchsorted(rows, np.concatenate(members)[places])
        tasks.append(Task(above, rows, children, (indptr, positions)))
    return tasks


def _counts(labels: LabelMatrix) -> tuple[Ids, Ids]:
    """Return how many rows belong to each node, and how many reach it."""
    counts = np.bincount(labels.indices, minlength=labels.taxonomy.n_nodes)
    parent = labels.taxonomy.parent
    return counts, np.where(parent < 0, len(labels), counts[parent])


def always_on(labels: LabelMatrix) -> Ids:
    """Return the nodes to which all rows belong that reach them."""
    counts, reaching = _counts(labels)
    return np.flatnonzero((counts > 0) & (counts == reaching))
