"""Contributions of features to the scores of nodes, for learners that consist of families."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.learners.explanation import Part, by_feature, entries, row_of
from cladist.learners.local.families import Family

Ids = npt.NDArray[np.int64]
NOBODY = -1  # in the place of a child: nothing is added, or nothing is subtracted


def weights_of_nodes(families: Any, n_nodes: int, n_features: int) -> tuple[sparse.csr_array, npt.NDArray[np.float32]]:
    """Return the weights (nodes × features, CSR) and intercepts of all nodes; those without a classifier have none."""
    parts = [sparse.csr_array((0, n_features), dtype=np.float32)]
    nodes, intercepts = [np.zeros(0, np.int64)], np.zeros(n_nodes, np.float32)
    for family in families:
        if family.has_choice:
            vectors, constants = family.vectors(np.arange(len(family.children)))
            parts.append(vectors)
            nodes.append(family.children)
            intercepts[family.children] = constants
    stacked, of_row = sparse.vstack(parts, format="csr"), np.concatenate(nodes)
    ones = np.ones(len(of_row), np.float32)
    place = sparse.csr_array((ones, (of_row, np.arange(len(of_row)))), shape=(n_nodes, len(of_row)))
    return sparse.csr_array(place @ stacked), intercepts


def parts_at(family: Family, X: Any, rows: Ids, child: Ids, other: Ids, feature_names: Any) -> Iterator[Part]:
    """Yield for each of `rows` the contributions of features to the score of its `child`, less those to its `other`.

    Children are given by their places in the family; either may be `NOBODY`.
    """
    wanted = np.unique(np.concatenate([child, other]))
    wanted = wanted[wanted != NOBODY]
    vectors, intercepts = family.vectors(wanted)
    for i, k, o in zip(rows.tolist(), child.tolist(), other.tolist(), strict=True):
        features, values = row_of(X, i)
        total, constant = np.zeros(len(features)), 0.0
        for sign, place in ((1.0, k), (-1.0, o)):
            if place != NOBODY:
                at = int(np.searchsorted(wanted, place))
                total += sign * entries(vectors, at, features)
                constant += sign * float(intercepts[at])
        yield by_feature(features, values * total, feature_names, constant)


def steps_by_parent(paths: list[list[int]], parent: Ids) -> dict[int, tuple[Ids, Ids]]:
    """Return for each parent the rows whose paths step below it, and the node that each steps to."""
    rows = np.repeat(np.arange(len(paths)), [len(path) for path in paths])
    nodes = np.array([v for path in paths for v in path], np.int64)
    above = parent[nodes]
    order = np.argsort(above, kind="stable")
    parents, starts = np.unique(above[order], return_index=True)
    groups = np.split(order, starts[1:])
    return {int(p): (rows[group], nodes[group]) for p, group in zip(parents, groups, strict=True)}


def leads(families: Any, X: Any, paths: list[list[int]], parent: Ids, feature_names: Any) -> list[dict[int, Part]]:
    """Return, for each row and node of its path, the contributions to the node's lead over the best of its siblings.

    None where there is no choice.
    """
    parts_by_node: list[dict[int, Part]] = [{} for _ in paths]
    for above, (rows, nodes) in steps_by_parent(paths, parent).items():  # from the roots down
        family = families[above]
        parts: Any = ({} for _ in rows)
        if family.has_choice:
            child = _positions(family, nodes)
            scores = family.scores(X, rows)
            np.put_along_axis(scores, child[:, None], -np.inf, axis=1)
            parts = parts_at(family, X, rows, child, scores.argmax(axis=1), feature_names)
        _put(parts_by_node, rows, nodes, parts)
    return parts_by_node


def margins(
    families: Any, X: Any, paths: list[list[int]], parent: Ids, feature_names: Any, *, ends: bool
) -> list[dict[int, Part]]:
    """Return, for each row and node of its path that has a classifier, the contributions to its score.

    With `ends`, also minus the contributions to the highest score below the last node of the path, under that child.
    """
    parts_by_node: list[dict[int, Part]] = [{} for _ in paths]
    for above, (rows, nodes) in steps_by_parent(paths, parent).items():  # from the roots down
        family = families.get(above)
        if family is not None:
            scored = np.isin(nodes, family.children)  # others are always on
            rows, nodes = rows[scored], nodes[scored]
            nobody = np.full(len(rows), NOBODY)
            _put(
                parts_by_node, rows, nodes, parts_at(family, X, rows, _positions(family, nodes), nobody, feature_names)
            )
    last = np.array([path[-1] for path in paths], np.int64)
    for v in np.unique(last).tolist() if ends else []:
        if v in families:
            family, rows = families[v], np.flatnonzero(last == v)
            best, nobody = family.scores(X, rows).argmax(axis=1), np.full(len(rows), NOBODY)
            _put(parts_by_node, rows, family.children[best], parts_at(family, X, rows, nobody, best, feature_names))
    return parts_by_node


def _put(parts_by_node: list[dict[int, Part]], rows: Ids, nodes: Ids, parts: Iterator[Part]) -> None:
    for i, v, part in zip(rows.tolist(), nodes.tolist(), parts, strict=True):
        parts_by_node[i][v] = part


def _positions(family: Family, nodes: Ids) -> Ids:
    """Return the positions of children in their family."""
    order = np.argsort(family.children, kind="stable")
    return order[np.searchsorted(family.children, nodes, sorter=order)]
