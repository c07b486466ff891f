"""Explanations of learners that consist of choices: how far a node is ahead of its siblings, or what it scores.

A family has `children`, `has_choice`, `scores` and `vectors`; see `cladist.learners.local.families`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.learners.explanation import INTERCEPT, Explanation, Part, by_feature, entries, nodes_to_explain, row_of
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
NOBODY = -1  # in the place of a child: nothing is added, or nothing is subtracted
CERTAIN = 1.0  # the margin of a label to which all rows belong: ∞ cannot be compared


def explained_paths(model: Any, rows: Any, nodes: Any) -> tuple[list[str], list[list[int]]]:
    """Return the labels to explain, those predicted if `nodes` is None, and the paths in `walked_` that end at them."""
    ids = model.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], model.taxonomy_)
    labels = [model.taxonomy_.names[v] for v in ids]
    return labels, [model.walked_.path_ids(int(end)) for end in model.end_nodes_[model._columns_of(labels)]]


def explain_by_leads(
    model: Any, X: Any, families: Any, taxonomy: Taxonomy, labels: list[str], paths: list[list[int]]
) -> list[Explanation]:
    """Explain labels, whose paths go through families, by the leads of their nodes; see `leads`."""
    parts = in_chunks(model, X, paths, partial(leads, families, taxonomy.parent))
    return [
        Explanation.of(label, {taxonomy.names[v]: part for v, part in of_nodes.items()}, "negative")
        for label, of_nodes in zip(labels, parts, strict=True)
    ]


def explain_by_margins(
    model: Any, X: Any, families: Any, labels: list[str], paths: list[list[int]], *, ends: bool = False
) -> list[Explanation]:
    """Explain labels by the scores of the nodes on their paths, the lowest of which counts; see `margins`."""
    taxonomy = model.taxonomy_
    parts = in_chunks(model, X, paths, partial(margins, families, taxonomy.parent, ends=ends))
    return [
        # A label whose path has no classifier is certain.
        Explanation.of(
            label, {taxonomy.names[v]: p for v, p in of_nodes.items()} or {label: {INTERCEPT: CERTAIN}}, "lowest"
        )
        for label, of_nodes in zip(labels, parts, strict=True)
    ]


def parents_on(paths: list[list[int]], parent: Ids) -> list[int]:
    """Return the nodes above those of some paths, −1 above roots."""
    return np.unique(parent[np.array([v for path in paths for v in path], np.int64)]).tolist()


def _parts_at(family: Any, X: Any, rows: Ids, child: Ids, other: Ids, feature_names: Any) -> Iterator[Part]:
    """Yield for each of `rows` the contributions of features to the score of its `child`, less those to its `other`.

    Children are given by their places in the family; either may be `NOBODY`.
    """
    places = np.unique(np.concatenate([child, other]))
    places = places[places != NOBODY]
    vectors, intercepts = family.vectors(places)
    for i, k, o in zip(rows.tolist(), child.tolist(), other.tolist(), strict=True):
        features, values = row_of(X, i)
        total, constant = np.zeros(len(features)), 0.0
        for sign, place in ((1.0, k), (-1.0, o)):
            if place != NOBODY:
                at = int(np.searchsorted(places, place))
                total += sign * entries(vectors, at, features)
                constant += sign * float(intercepts[at])
        yield by_feature(features, values * total, feature_names, constant)


def _steps_by_parent(paths: list[list[int]], parent: Ids) -> dict[int, tuple[Ids, Ids]]:
    """Return for each parent the rows whose paths step below it, and the node that each steps to."""
    rows = np.repeat(np.arange(len(paths)), [len(path) for path in paths])
    nodes = np.array([v for path in paths for v in path], np.int64)
    above = parent[nodes]
    order = np.argsort(above, kind="stable")
    parents, starts = np.unique(above[order], return_index=True)
    groups = np.split(order, starts[1:])
    return {int(p): (rows[group], nodes[group]) for p, group in zip(parents, groups, strict=True)}


def in_chunks(
    model: Any, X: Any, paths: list[Any], explain_part: Callable[..., list[dict[int, Part]]]
) -> Iterator[Any]:
    """Yield what `leads` or `margins` return for the rows of X and their paths, computed in chunks of rows."""
    start = 0
    for chunk in model._chunks(X):
        stop = start + chunk.shape[0]
        yield from explain_part(chunk, paths[start:stop], getattr(model, "feature_names_in_", None))
        start = stop


def leads(families: Any, parent: Ids, X: Any, paths: list[list[int]], feature_names: Any) -> list[dict[int, Part]]:
    """Return, for each row and node of its path, the contributions to the node's lead over the best of its siblings.

    None where there is no choice.
    """
    parts_by_node: list[dict[int, Part]] = [{} for _ in paths]
    for above, (rows, nodes) in _steps_by_parent(paths, parent).items():  # from the roots down
        family = families[above]
        parts: Any = ({} for _ in rows)
        if family.has_choice:
            child = _positions(family, nodes)
            scores = family.scores(X, rows)
            np.put_along_axis(scores, child[:, None], -np.inf, axis=1)
            parts = _parts_at(family, X, rows, child, scores.argmax(axis=1), feature_names)
        _put(parts_by_node, rows, nodes, parts)
    return parts_by_node


def margins(
    families: Any, parent: Ids, X: Any, paths: list[list[int]], feature_names: Any, *, ends: bool
) -> list[dict[int, Part]]:
    """Return, for each row and node of its path that has a classifier, the contributions to its score.

    With `ends`, also minus the contributions to the highest score below the last node of the path, under that child.
    """
    parts_by_node: list[dict[int, Part]] = [{} for _ in paths]
    for above, (rows, nodes) in _steps_by_parent(paths, parent).items():  # from the roots down
        family = families.get(above)
        if family is not None:
            scored = np.isin(nodes, family.children)  # others are always on
            rows, nodes = rows[scored], nodes[scored]
            child, nobody = _positions(family, nodes), np.full(len(rows), NOBODY)
            _put(parts_by_node, rows, nodes, _parts_at(family, X, rows, child, nobody, feature_names))
    last = np.array([path[-1] for path in paths], np.int64)
    for v in np.unique(last).tolist() if ends else []:
        if v in families:
            family, rows = families[v], np.flatnonzero(last == v)
            best, nobody = family.scores(X, rows).argmax(axis=1), np.full(len(rows), NOBODY)
            _put(parts_by_node, rows, family.children[best], _parts_at(family, X, rows, nobody, best, feature_names))
    return parts_by_node


def _put(parts_by_node: list[dict[int, Part]], rows: Ids, nodes: Ids, parts: Iterator[Part]) -> None:
    for i, v, part in zip(rows.tolist(), nodes.tolist(), parts, strict=True):
        parts_by_node[i][v] = part


def _positions(family: Any, nodes: Ids) -> Ids:
    """Return the positions of children in their family."""
    order = np.argsort(family.children, kind="stable")
    return order[np.searchsorted(family.children, nodes, sorter=order)]
