"""Compare labelled rows with a taxonomy: nodes that have rows, nodes without, and labels that it does not have."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cladist import progress
from cladist.kernels import tree
from cladist.taxonomy.inspection import normalise

if TYPE_CHECKING:
    from cladist.taxonomy.structure import Ids
    from cladist.taxonomy.taxonomy import Taxonomy

ROWS_AT_ONCE = 1 << 16  # whose ancestors are held at once
MOST_NEAR = 3
LABELS_WITH_NEAR = 10  # near names are for people, and cost time
NAMES_COMPARED = 20_000


@dataclass(frozen=True)
class LevelRows:
    """How many rows have a label at a level, given or implied, and how many end there."""

    level: int
    rows: int
    ending: int


@dataclass(frozen=True)
class Filled:
    """A node and the number of rows that end there."""

    node: str
    rows: int


@dataclass(frozen=True)
class Coverage:
    """The result of `count_coverage`.

    A row ends at those of its nodes that none of its other labels implies. A subtree is empty if no row has a label in
    it; only the topmost are listed.
    """

    rows: int
    rows_without_label: int
    implied_labels: int
    levels: tuple[LevelRows, ...]
    empty_leaves: tuple[str, ...]
    empty_inner_nodes: int
    empty_subtrees: tuple[str, ...]
    inner_labels: tuple[Filled, ...]
    rows_below: Ids = field(repr=False)
    """How many rows have a label at or below each node."""


@dataclass(frozen=True)
class UnknownLabel:
    """A label that is not in a taxonomy, how often it occurs, and names similar to it."""

    label: str
    count: int
    near: tuple[str, ...] = ()


def count_coverage(taxonomy: Taxonomy, indptr: Ids, nodes: Ids) -> Coverage:
    """Return the nodes that rows of labels have, and those that no row has.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy of the labels.
    indptr, nodes : arrays of int
        The labels of row i are the node ids ``nodes[indptr[i] : indptr[i + 1]]``; −1 is an unknown label.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/film"])
    >>> nodes = np.array([taxonomy.index(name) for name in ("tennis", "sport", "tennis")])
    >>> coverage = count_coverage(taxonomy, np.arange(4), nodes)
    >>> coverage.empty_leaves, coverage.empty_subtrees, coverage.inner_labels
    (('chess', 'film'), ('art',), (Filled(node='sport', rows=1),))
    """
    n_rows, n_levels = len(indptr) - 1, len(taxonomy.levels)
    below, ending = np.zeros(taxonomy.n_nodes, np.int64), np.zeros(taxonomy.n_nodes, np.int64)
    at_level, last_at = np.zeros(n_levels, np.int64), np.zeros(n_levels, np.int64)
    without = known = 0
    with progress.task("Counting rows", total=n_rows) as running:
        for start in range(0, n_rows, ROWS_AT_ONCE):
            part = _drop_unknown(indptr[start : start + ROWS_AT_ONCE + 1], nodes)
            above = taxonomy.parents.indptr, taxonomy.parents.indices
            closed = tree.close_rows(*part, *above)
            last = tree.frontier_rows(*closed, *above)
            for rows, by_node, by_level in ((closed, below, at_level), (last, ending, last_at)):
                by_node += np.bincount(rows[1], minlength=taxonomy.n_nodes)
                by_level += _count_by_level(taxonomy, *rows)
            without += int((np.diff(part[0]) == 0).sum())
            known += len(part[1])
            running.advance(len(part[0]) - 1)
    levels = tuple(LevelRows(k, int(at_level[k]), int(last_at[k])) for k in range(n_levels))
    inner = np.flatnonzero((ending > 0) & ~taxonomy.is_leaf)
    ends_inside = tuple(Filled(taxonomy.names[v], int(ending[v])) for v in inner)
    return Coverage(
        n_rows, without, known - int(ending.sum()), levels, *_find_empty(taxonomy, below), ends_inside, below
    )


def _drop_unknown(indptr: Ids, nodes: Ids) -> tuple[Ids, Ids]:
    """Return some rows without their unknown labels, as CSR from 0."""
    own = nodes[indptr[0] : indptr[-1]]
    is_known = own >= 0
    ends = np.concatenate([[0], np.cumsum(is_known)])
    return ends[indptr - indptr[0]].astype(np.int64), own[is_known].astype(np.int32)


def _count_by_level(taxonomy: Taxonomy, indptr: Ids, nodes: Ids) -> Ids:
    """Return how many rows have a node at each level."""
    n_levels = len(taxonomy.levels)
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    pairs = np.unique(row * n_levels + taxonomy.depth[nodes])
    return np.bincount(pairs % n_levels, minlength=n_levels)


def _find_empty(taxonomy: Taxonomy, below: Ids) -> tuple[tuple[str, ...], int, tuple[str, ...]]:
    """Return the leaves without rows, the number of inner nodes without rows, and the topmost of these."""
    empty = below == 0
    inner = empty & ~taxonomy.is_leaf
    beneath = taxonomy.parents @ empty.astype(np.int64) > 0  # all nodes below an empty one are empty
    tops = np.flatnonzero(inner & ~beneath)
    leaves = np.flatnonzero(empty & taxonomy.is_leaf)
    return tuple(taxonomy.names[v] for v in leaves), int(inner.sum()), tuple(taxonomy.names[v] for v in tops)


def find_unknown_labels(
    taxonomy: Taxonomy, labels: Sequence[str], counts: Sequence[int], *, sep: str = "/"
) -> tuple[UnknownLabel, ...]:
    """Return labels that are not in the taxonomy, the most frequent first; the first ones with similar names.

    A label that contains `sep` is compared as a whole, then by the last part of its path.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> find_unknown_labels(Taxonomy.from_paths(["sport/tennis", "sport/chess"]), ["Tennis ", "art/ches"], [1, 2])
    (UnknownLabel(label='art/ches', count=2, near=('chess',)), UnknownLabel(label='Tennis ', count=1, near=('tennis',)))
    """
    ordered = sorted(zip(labels, counts, strict=True), key=lambda pair: -pair[1])
    if not ordered:
        return ()
    alike: dict[str, list[str]] = defaultdict(list)
    for name, part in zip(taxonomy.names, taxonomy.parts or taxonomy.names, strict=True):
        alike[normalise(part)].append(name)

    def near(label: str, *, guess: bool) -> list[str]:
        for text in dict.fromkeys((label, label.rpartition(sep)[2])):
            similar = alike.get(normalise(text), [])
            if not similar and guess:
                similar = difflib.get_close_matches(text, taxonomy.names[:NAMES_COMPARED], n=MOST_NEAR)
            if similar:
                return similar[:MOST_NEAR]
        return []

    return tuple(
        UnknownLabel(label, count, tuple(near(label, guess=k < LABELS_WITH_NEAR)))
        for k, (label, count) in enumerate(ordered)
    )
