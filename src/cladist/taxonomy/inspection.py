"""Inspect a taxonomy before it is used: its shape, what may not be as intended, which nodes have rows, a drawing."""

from __future__ import annotations

import difflib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cladist import progress
from cladist.kernels import dag, tree
from cladist.taxonomy.construction import find_path

if TYPE_CHECKING:
    from cladist.taxonomy.structure import Ids
    from cladist.taxonomy.taxonomy import Taxonomy

_FIRST_ACCENT, _LAST_ACCENT = "\u0300", "\u036f"

Edge = tuple[str, str]


@dataclass(frozen=True)
class Level:
    """One level; the numbers of children are those of its inner nodes, None if it has none."""

    level: int
    nodes: int
    leaves: int
    inner: int
    fewest_children: int | None
    median_children: float | None
    most_children: int | None
    several_parents: int


@dataclass(frozen=True)
class Chains:
    """Chains of inner nodes with a single child; `example` is a longest one, down to the node at its end."""

    nodes: int
    chains: int
    longest: int
    example: tuple[str, ...]
    contracted_nodes: int
    """How many nodes `Taxonomy.contracted` would leave."""


@dataclass(frozen=True)
class Group:
    """Nodes that people may confuse, and the text that they share."""

    text: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Findings:
    """The result of `inspect`; nodes are given by name, an edge as (parent, child)."""

    kind: str
    nodes: int
    leaves: int
    roots: int
    edges: int
    depth: int
    levels: tuple[Level, ...]
    chains: Chains
    shared_titles: tuple[Group, ...]
    alike_names: tuple[Group, ...]
    shared_parts: tuple[Group, ...]
    redundant_edges: tuple[Edge, ...]
    way_round: tuple[str, ...]
    """The names on another path from the parent to the child of the first redundant edge."""
    dropped_edges: tuple[Edge, ...]


def inspect(taxonomy: Taxonomy) -> Findings:
    """Return the shape of a taxonomy, and what may not be as intended."""
    with progress.task("Inspecting", total=4, unit="checks") as running:
        levels = tuple(_describe_level(taxonomy, k, ids) for k, ids in enumerate(taxonomy.levels))
        running.advance()
        chains = find_chains(taxonomy)
        running.advance()
        titles = [taxonomy.title_of(name) for name in taxonomy.names]
        parts = taxonomy.parts or taxonomy.names
        spelling = dict(zip(taxonomy.names, parts, strict=True))
        alike = [
            group for group in _group(taxonomy, map(normalise, parts)) if len({*map(spelling.get, group.nodes)}) > 1
        ]
        # A unique last part of a path is the name itself.
        repeated = (part if part != name else "" for name, part in spelling.items())
        groups = _group(taxonomy, map(normalise, titles)), tuple(alike), _group(taxonomy, repeated)
        running.advance()
        redundant = find_redundant_edges(taxonomy)
        way_round = find_way_down(taxonomy, *redundant[0], direct=False) if redundant else ()
        running.advance()
    counts = taxonomy.n_nodes, len(taxonomy.leaves), len(taxonomy.roots), taxonomy.n_edges, len(levels) - 1
    return Findings(taxonomy.kind, *counts, levels, chains, *groups, redundant, way_round, taxonomy.dropped_edges)


def _describe_level(taxonomy: Taxonomy, level: int, ids: Ids) -> Level:
    fan_out = taxonomy.n_children[ids]
    inner = fan_out[fan_out > 0]
    several = int((taxonomy.n_parents[ids] > 1).sum())
    counts = level, len(ids), len(ids) - len(inner), len(inner)
    if len(inner) == 0:
        return Level(*counts, None, None, None, several)
    return Level(*counts, int(inner.min()), float(np.median(inner)), int(inner.max()), several)


def find_chains(taxonomy: Taxonomy) -> Chains:
    """Return the inner nodes with a single child, and the chains that they form."""
    single = np.flatnonzero(taxonomy.n_children == 1)
    if len(single) == 0:
        return Chains(0, 0, 0, (), taxonomy.n_nodes)
    child = {v: int(taxonomy.child_ids(v)[0]) for v in single.tolist()}
    length: dict[int, int] = {}
    for v in reversed(child):  # children before parents
        length[v] = 1 + length.get(child[v], 0)
    starts = child.keys() - child.values()
    first = max(sorted(starts), key=length.__getitem__)
    example = [first]
    while example[-1] in child:
        example.append(child[example[-1]])
    # In a tree all of them are removed; in a DAG two edges may become one, and more nodes are removed.
    left = taxonomy.contracted().n_nodes if taxonomy.kind == "dag" else taxonomy.n_nodes - len(single)
    names = tuple(taxonomy.names[v] for v in example)
    return Chains(len(single), len(starts), length[first], names, left)


def normalise(name: str) -> str:
    """Return a name without the differences that people overlook: case, accents, superfluous blanks."""
    folded = name.casefold()
    if not folded.isascii():
        letters = unicodedata.normalize("NFKD", folded)
        folded = "".join(c for c in letters if not _FIRST_ACCENT <= c <= _LAST_ACCENT)
    return " ".join(folded.split())


def _group(taxonomy: Taxonomy, texts: Iterable[str]) -> tuple[Group, ...]:
    """Return groups of nodes whose texts are the same; nodes without a text are in no group."""
    nodes: dict[str, list[str]] = defaultdict(list)
    for name, text in zip(taxonomy.names, texts, strict=True):
        nodes[text].append(name)
    return tuple(Group(text, tuple(names)) for text, names in nodes.items() if text and len(names) > 1)


def find_redundant_edges(taxonomy: Taxonomy) -> tuple[Edge, ...]:
    """Return the edges that other edges imply: the parent is also above another parent of the child."""
    above = taxonomy.parents
    implied = np.flatnonzero(dag.implied_edges(above.indptr, above.indices, taxonomy.depth))
    children = np.searchsorted(above.indptr, implied, side="right") - 1
    pairs = zip(above.indices[implied].tolist(), children.tolist(), strict=True)
    return tuple((taxonomy.names[p], taxonomy.names[c]) for p, c in pairs)


def find_way_down(taxonomy: Taxonomy, top: str, bottom: str, *, direct: bool = True) -> tuple[str, ...]:
    """Return the names on a shortest path from a node down to another; `direct` allows the edge between the two."""
    goal, start = taxonomy.index(top), taxonomy.index(bottom)

    def parents_of(v: int) -> list[int]:
        parents = taxonomy.parent_ids(v).tolist()
        return [p for p in parents if p >= goal and (direct or (p, v) != (goal, start))]

    return tuple(taxonomy.names[v] for v in reversed(find_path(start, goal, parents_of)))


def restore_cycle(taxonomy: Taxonomy, dropped: Edge) -> tuple[str, ...]:
    """Return a cycle that a dropped edge would close."""
    parent, child = dropped
    return (*find_way_down(taxonomy, child, parent), child)


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
    """Return the nodes that rows of labels have, given as CSR with −1 for unknown labels, and those that none has."""
    n_rows, n_levels = len(indptr) - 1, len(taxonomy.levels)
    below, ending = np.zeros(taxonomy.n_nodes, np.int64), np.zeros(taxonomy.n_nodes, np.int64)
    at_level, last_at = np.zeros(n_levels, np.int64), np.zeros(n_levels, np.int64)
    without = n_known = 0
    with progress.task("Counting rows", total=n_rows, unit="rows") as running:
        for start in range(0, n_rows, ROWS_AT_ONCE):
            part = _drop_unknown(indptr[start : start + ROWS_AT_ONCE + 1], nodes)
            above = taxonomy.parents.indptr, taxonomy.parents.indices
            closed = tree.close_rows(*part, *above)
            last = tree.frontier_rows(*closed, *above)
            for rows, by_node, by_level in ((closed, below, at_level), (last, ending, last_at)):
                by_node += np.bincount(rows[1], minlength=taxonomy.n_nodes)
                by_level += _count_by_level(taxonomy, *rows)
            without += int((np.diff(part[0]) == 0).sum())
            n_known += len(part[1])
            running.advance(len(part[0]) - 1)
    levels = tuple(LevelRows(k, int(at_level[k]), int(last_at[k])) for k in range(n_levels))
    inner = np.flatnonzero((ending > 0) & ~taxonomy.is_leaf)
    ends_inside = tuple(Filled(taxonomy.names[v], int(ending[v])) for v in inner)
    return Coverage(
        n_rows, without, n_known - int(ending.sum()), levels, *_find_empty(taxonomy, below), ends_inside, below
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


MOST_LINES = 60  # about a screen
MOST_CHILDREN = 8
ELSEWHERE = "↗"


def draw(taxonomy: Taxonomy, *, most_lines: int = MOST_LINES, most_children: int = MOST_CHILDREN) -> str:
    """Return the tree with one node per line; long lists of children and long drawings are cut, with a note."""
    lines: list[str] = []
    # A stack of (node id, or None if nothing is drawn below it; label; indent; branch; indent of its children).
    stack = _entries(taxonomy, taxonomy.roots.tolist(), "", most_children, parent=-1)[::-1]
    while stack:
        node, label, indent, branch, below = stack.pop()
        if len(lines) == most_lines:
            lines.append(f"… and more ({taxonomy.n_nodes} nodes in all)")
            break
        lines.append(f"{indent}{branch}{label}")
        if node is not None:
            children = taxonomy.child_ids(node).tolist()
            stack.extend(_entries(taxonomy, children, indent + below, most_children, parent=node)[::-1])
    if taxonomy.kind == "dag":
        lines.append(f"{ELSEWHERE} marks a node with several parents; its children are drawn below the deepest one")
    return "\n".join(lines)


_Entry = tuple[int | None, str, str, str, str]


def _entries(taxonomy: Taxonomy, nodes: list[int], indent: str, most: int, *, parent: int) -> list[_Entry]:
    """Return one entry for each node that is shown below a parent, and one for those left out."""
    shown = nodes if len(nodes) <= most + 1 else nodes[:most]
    labels: list[tuple[int | None, str]] = []
    for v in shown:
        here = taxonomy.deepest_parent[v] == parent
        labels.append((v, _label(taxonomy, v)) if here else (None, f"{_label(taxonomy, v)} {ELSEWHERE}"))
    if len(shown) < len(nodes):
        labels.append((None, f"… {len(nodes) - len(shown)} more"))
    if parent < 0:
        return [(v, label, "", "", "") for v, label in labels]
    last = len(labels) - 1
    return [
        (v, label, indent, "└── " if k == last else "├── ", "    " if k == last else "│   ")
        for k, (v, label) in enumerate(labels)
    ]


def _label(taxonomy: Taxonomy, v: int) -> str:
    name = taxonomy.names[v]
    title = taxonomy.title_of(name)
    return f"{name}  {title}" if title else name
