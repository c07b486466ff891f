"""Inspect a taxonomy before it is used: its shape level by level, and what may not be as intended."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cladist import progress
from cladist.kernels import dag
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
    """Return the shape of a taxonomy, and what may not be as intended.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> findings = inspect(Taxonomy.from_paths(["sport/Tennis/doubles", "art", "games/tennis"]))
    >>> findings.kind, findings.nodes, findings.levels[1].leaves
    ('forest', 6, 1)
    >>> findings.chains.example, findings.chains.contracted_nodes
    (('sport', 'Tennis', 'doubles'), 3)
    >>> findings.alike_names
    (Group(text='tennis', nodes=('Tennis', 'tennis')),)
    """
    with progress.task("Inspecting", total=4) as running:
        levels = tuple(_describe_level(taxonomy, k, ids) for k, ids in enumerate(taxonomy.levels))
        running.advance()
        chains = find_chains(taxonomy)
        running.advance()
        groups = _find_shared_titles(taxonomy), _find_alike_names(taxonomy), _find_shared_parts(taxonomy)
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
    """Return a name without the differences that people overlook: case, accents, superfluous blanks.

    Examples
    --------
    >>> normalise("Café  Noir "), normalise("cafe noir")
    ('cafe noir', 'cafe noir')
    """
    folded = name.casefold()
    if not folded.isascii():
        letters = unicodedata.normalize("NFKD", folded)
        folded = "".join(c for c in letters if not _FIRST_ACCENT <= c <= _LAST_ACCENT)
    return " ".join(folded.split())


def _find_alike_names(taxonomy: Taxonomy) -> tuple[Group, ...]:
    """Return groups of nodes whose names differ only in case, accents or blanks; on paths, their last parts."""
    parts = taxonomy.parts or taxonomy.names
    groups = _group(taxonomy, parts)
    spelling = dict(zip(taxonomy.names, parts, strict=True))
    return tuple(group for group in groups if len({spelling[name] for name in group.nodes}) > 1)


def _find_shared_titles(taxonomy: Taxonomy) -> tuple[Group, ...]:
    titles = taxonomy.titles
    return _group(taxonomy, (titles.get(name, "") for name in taxonomy.names)) if titles else ()


def _find_shared_parts(taxonomy: Taxonomy) -> tuple[Group, ...]:
    """Return the last parts of paths that occur below several parents."""
    nodes: dict[str, list[str]] = defaultdict(list)
    for name, part in zip(taxonomy.names, taxonomy.parts or (), strict=False):
        if name != part:  # a unique part is the name itself
            nodes[part].append(name)
    return tuple(Group(part, tuple(names)) for part, names in nodes.items() if len(names) > 1)


def _group(taxonomy: Taxonomy, texts: Iterable[str]) -> tuple[Group, ...]:
    """Return groups of nodes whose texts are the same when normalised; nodes without a text are in no group."""
    nodes: dict[str, list[str]] = defaultdict(list)
    for name, text in zip(taxonomy.names, texts, strict=True):
        nodes[normalise(text)].append(name)
    return tuple(Group(text, tuple(names)) for text, names in nodes.items() if text and len(names) > 1)


def find_redundant_edges(taxonomy: Taxonomy) -> tuple[Edge, ...]:
    """Return the edges that other edges imply: the parent is also above another parent of the child.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> find_redundant_edges(Taxonomy.from_edges([("a", "b"), ("b", "c"), ("a", "c")]))
    (('a', 'c'),)
    """
    above = taxonomy.parents
    implied = np.flatnonzero(dag.implied_edges(above.indptr, above.indices, taxonomy.depth))
    children = np.searchsorted(above.indptr, implied, side="right") - 1
    pairs = zip(above.indices[implied].tolist(), children.tolist(), strict=True)
    return tuple((taxonomy.names[p], taxonomy.names[c]) for p, c in pairs)


def find_way_down(taxonomy: Taxonomy, top: str, bottom: str, *, direct: bool = True) -> tuple[str, ...]:
    """Return the names on a shortest path from a node down to another; `direct` allows the edge between the two.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> dag = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("a", "c")])
    >>> find_way_down(dag, "a", "c"), find_way_down(dag, "a", "c", direct=False)
    (('a', 'c'), ('a', 'b', 'c'))
    """
    goal, start = taxonomy.index(top), taxonomy.index(bottom)

    def parents_of(v: int) -> list[int]:
        parents = taxonomy.parent_ids(v).tolist()
        return [p for p in parents if p >= goal and (direct or (p, v) != (goal, start))]

    return tuple(taxonomy.names[v] for v in reversed(find_path(start, goal, parents_of)))


def restore_cycle(taxonomy: Taxonomy, dropped: Edge) -> tuple[str, ...]:
    """Return a cycle that a dropped edge would close.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> cut = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "a")], on_cycle="drop")
    >>> restore_cycle(cut, cut.dropped_edges[0])
    ('a', 'b', 'c', 'a')
    """
    parent, child = dropped
    return (*find_way_down(taxonomy, child, parent), child)
