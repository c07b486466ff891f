"""What to know about a taxonomy before it is used: its shape level by level, and what in it looks odd."""

from __future__ import annotations

import unicodedata
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cladist import progress
from cladist.kernels import dag

if TYPE_CHECKING:
    from cladist.taxonomy.structure import Ids
    from cladist.taxonomy.taxonomy import Taxonomy

_FIRST_ACCENT, _LAST_ACCENT = "\u0300", "\u036f"

Edge = tuple[str, str]


@dataclass(frozen=True)
class Level:
    """One level; the numbers of children are those of its inner nodes, None where it has none."""

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
    """Runs of inner nodes with a single child; `example` is a longest one, down to the node at its end."""

    nodes: int
    chains: int
    longest: int
    example: tuple[str, ...]
    contracted_nodes: int
    """How many nodes `Taxonomy.contracted` would leave."""


@dataclass(frozen=True)
class Group:
    """Nodes that people may take for one another, and what they have in common."""

    text: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Findings:
    """What `inspect` finds; names are those of nodes, an edge is (parent, child)."""

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
    """The names on another way from the parent to the child of the first redundant edge."""
    dropped_edges: tuple[Edge, ...]


def inspect(taxonomy: Taxonomy) -> Findings:
    """Return the shape of a taxonomy, and what may not be as meant.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> found = inspect(Taxonomy.from_paths(["sport/Tennis/doubles", "art", "games/tennis"]))
    >>> found.kind, found.nodes, found.levels[1].leaves
    ('forest', 6, 1)
    >>> found.chains.example, found.chains.contracted_nodes
    (('sport', 'Tennis', 'doubles'), 3)
    >>> found.alike_names
    (Group(text='tennis', nodes=('Tennis', 'tennis')),)
    """
    with progress.task("Inspecting", total=4) as running:
        levels = tuple(_level(taxonomy, k, ids) for k, ids in enumerate(taxonomy.levels))
        running.advance()
        chains = single_child_chains(taxonomy)
        running.advance()
        groups = _shared_titles(taxonomy), alike_names(taxonomy), _shared_parts(taxonomy)
        running.advance()
        redundant = redundant_edges(taxonomy)
        around = way_down(taxonomy, *redundant[0], direct=False) if redundant else ()
        running.advance()
    counts = taxonomy.n_nodes, len(taxonomy.leaves), len(taxonomy.roots), taxonomy.n_edges, len(levels) - 1
    return Findings(taxonomy.kind, *counts, levels, chains, *groups, redundant, around, taxonomy.dropped_edges)


def _level(taxonomy: Taxonomy, level: int, ids: Ids) -> Level:
    fan_out = taxonomy.n_children[ids]
    inner = fan_out[fan_out > 0]
    several = int((taxonomy.n_parents[ids] > 1).sum())
    counts = level, len(ids), len(ids) - len(inner), len(inner)
    if len(inner) == 0:
        return Level(*counts, None, None, None, several)
    return Level(*counts, int(inner.min()), float(np.median(inner)), int(inner.max()), several)


def single_child_chains(taxonomy: Taxonomy) -> Chains:
    """Return how many inner nodes have a single child, and how they hang together."""
    single = np.flatnonzero(taxonomy.n_children == 1)
    if len(single) == 0:
        return Chains(0, 0, 0, (), taxonomy.n_nodes)
    indptr, indices = taxonomy._children
    child = dict(zip(single.tolist(), indices[indptr[single]].tolist(), strict=True))
    length: dict[int, int] = {}
    for v in reversed(child):  # children before parents
        length[v] = 1 + length.get(child[v], 0)
    starts = child.keys() - child.values()
    first = max(sorted(starts), key=length.__getitem__)
    example = [first]
    while example[-1] in child:
        example.append(child[example[-1]])
    # In a tree every one of them goes; in a DAG two edges may become one, and more nodes go with that.
    left = taxonomy.contracted().n_nodes if taxonomy.kind == "dag" else taxonomy.n_nodes - len(single)
    names = tuple(taxonomy.names[v] for v in example)
    return Chains(len(single), len(starts), length[first], names, left)


def normal_form(name: str) -> str:
    """Return a name without what people overlook: case, accents, blanks at the ends and doubled ones.

    Examples
    --------
    >>> normal_form("Café  Noir "), normal_form("cafe noir")
    ('cafe noir', 'cafe noir')
    """
    folded = name.casefold()
    if not folded.isascii():
        letters = unicodedata.normalize("NFKD", folded)
        folded = "".join(c for c in letters if not _FIRST_ACCENT <= c <= _LAST_ACCENT)
    return " ".join(folded.split())


def alike_names(taxonomy: Taxonomy) -> tuple[Group, ...]:
    """Return groups of nodes whose names differ only in case, accents or blanks; on paths, their last parts."""
    parts = taxonomy._parts or taxonomy.names
    groups = _grouped(taxonomy, parts)
    spelling = dict(zip(taxonomy.names, parts, strict=True))
    return tuple(group for group in groups if len({spelling[name] for name in group.nodes}) > 1)


def _shared_titles(taxonomy: Taxonomy) -> tuple[Group, ...]:
    titles = taxonomy._titles
    return _grouped(taxonomy, (titles.get(name, "") for name in taxonomy.names)) if titles else ()


def _shared_parts(taxonomy: Taxonomy) -> tuple[Group, ...]:
    """Return the last parts of paths that stand below several parents."""
    nodes: dict[str, list[str]] = defaultdict(list)
    for name, part in zip(taxonomy.names, taxonomy._parts or (), strict=False):
        if name != part:  # a unique part is the name
            nodes[part].append(name)
    return tuple(Group(part, tuple(names)) for part, names in nodes.items() if len(names) > 1)


def _grouped(taxonomy: Taxonomy, texts: Iterable[str]) -> tuple[Group, ...]:
    """Return the nodes whose texts have the same normal form; those without a text are in no group."""
    nodes: dict[str, list[str]] = defaultdict(list)
    for name, text in zip(taxonomy.names, texts, strict=True):
        nodes[normal_form(text)].append(name)
    return tuple(Group(text, tuple(names)) for text, names in nodes.items() if text and len(names) > 1)


def redundant_edges(taxonomy: Taxonomy) -> tuple[Edge, ...]:
    """Return the edges that other edges imply: the parent is also above another parent of the child.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> redundant_edges(Taxonomy.from_edges([("a", "b"), ("b", "c"), ("a", "c")]))
    (('a', 'c'),)
    """
    above = taxonomy.parents
    implied = np.flatnonzero(dag.implied_edges(above.indptr, above.indices, taxonomy.depth))
    children = np.searchsorted(above.indptr, implied, side="right") - 1
    pairs = zip(above.indices[implied].tolist(), children.tolist(), strict=True)
    return tuple((taxonomy.names[p], taxonomy.names[c]) for p, c in pairs)


def way_down(taxonomy: Taxonomy, top: str, bottom: str, *, direct: bool = True) -> tuple[str, ...]:
    """Return the names on a shortest way from a node down to one below it; `direct` may be the edge between them.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> dag = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("a", "c")])
    >>> way_down(dag, "a", "c"), way_down(dag, "a", "c", direct=False)
    (('a', 'c'), ('a', 'b', 'c'))
    """
    goal, start = taxonomy.index(top), taxonomy.index(bottom)
    below = {start: -1}
    queue = deque([start])
    while queue and goal not in below:
        v = queue.popleft()
        for p in taxonomy.parent_ids(v).tolist():
            if p >= goal and p not in below and (direct or (p, v) != (goal, start)):
                below[p] = v
                queue.append(p)
    way = [goal]
    while way[-1] != start:
        way.append(below[way[-1]])
    return tuple(taxonomy.names[v] for v in way)


def cycle_of(taxonomy: Taxonomy, dropped: Edge) -> tuple[str, ...]:
    """Return a cycle that an edge closed before it was dropped.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> cut = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "a")], on_cycle="drop")
    >>> cycle_of(cut, cut.dropped_edges[0])
    ('a', 'b', 'c', 'a')
    """
    parent, child = dropped
    return (*way_down(taxonomy, child, parent), child)
