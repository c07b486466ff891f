"""Builders of taxonomies from parents and edges: names and parent ids, in order of first appearance.

Each builder returns a `Draft`, which `Taxonomy` arranges topologically. All run in O(nodes + edges).
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import TaxonomyError
from cladist.kernels import dag

MOST_SHOWN = 12  # nodes of a cycle in a message

Where = Callable[[int], str]  # tells where the k-th entry of the input stands, for messages
Ids = npt.NDArray[np.int64]


@dataclass
class Draft:
    """The nodes of a taxonomy in any order: their names, and the parents of each as rows of a CSR matrix.

    A taxonomy of paths also has the last part of each node's path, and the separator that joins the parts.
    """

    names: list[str]
    indptr: Ids
    parents: Ids
    parts: list[str] | None = None
    sep: str | None = None
    dropped_edges: list[tuple[str, str]] = field(default_factory=list)
    titles: Mapping[Any, str] = field(default_factory=dict)
    stop_leaves: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_forest(cls, names: list[str], parent: Ids, parts: list[str] | None = None, sep: str | None = None) -> Draft:
        """Draft a tree or forest from each node's parent, −1 at roots."""
        has_parent = parent >= 0
        return cls(names, np.concatenate([[0], np.cumsum(has_parent)]), parent[has_parent], parts, sep)

    @classmethod
    def of_edges(cls, names: list[str], parent: Ids, child: Ids) -> Draft:
        """Draft from distinct edges in any order."""
        by_child = np.argsort(child, kind="stable")
        counts = np.bincount(child, minlength=len(names))
        return cls(names, np.concatenate([[0], np.cumsum(counts)]), parent[by_child])


# ---------------------------------------------------------------- names


def name_entry(position: int) -> str:
    """Return how messages call an entry of a Python sequence."""
    return f"entry {position}"


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for "nothing here": None, NaN, pandas' NA or the empty string."""
    if value is None or isinstance(value, str):
        return not value
    is_float = isinstance(value, (float, np.floating))
    return (is_float and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def as_text(value: Any) -> str:
    """Return a name as text. 11.0 becomes 11: a missing value in a column of integers turns them into floats.

    Examples
    --------
    >>> as_text("a"), as_text(11), as_text(11.0), as_text(0.5)
    ('a', '11', '11', '0.5')
    """
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def as_name(value: Any, where: str) -> str:
    """Return a node's name as text; a missing name or a container is an error that says `where` it stands."""
    if is_missing(value):
        raise TaxonomyError(f"A node needs a name; {where} has an empty one.")
    if isinstance(value, (bytes, list, tuple, set, frozenset, dict, np.ndarray)):
        raise TaxonomyError(f"A node's name is a text or a number; {where} has {value!r}.")
    return as_text(value)


def is_sequence(value: Any) -> bool:
    """Tell whether a value is an ordered collection; a set has no order, and a text is one name."""
    if type(value) in (tuple, list):  # nearly always, and fast to check
        return True
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))


def iterate_rows(edges: Any) -> Iterable[Any]:
    """Return edges as Python values, which are several times faster to iterate than rows of arrays and frames."""
    values = edges.to_numpy() if hasattr(edges, "to_numpy") else edges
    return values.tolist() if isinstance(values, np.ndarray) else values


def import_networkx(who: str) -> Any:
    """Return the package networkx, or raise a `TaxonomyError` that says who needs it."""
    try:
        import networkx
    except ImportError:
        raise TaxonomyError(
            f"{who} needs the package networkx; install it with: pip install 'cladist[graphs]'"
        ) from None
    return networkx


# ---------------------------------------------------------------- edges


class Links:
    """Collects parent → child links in input order; memory is three numbers per link and one name per node."""

    def __init__(self) -> None:
        self.id_of: dict[str, int] = {}
        self.parents, self.children, self.positions = array("q"), array("q"), array("q")

    def node(self, name: str) -> int:
        """Return the id of a node, added if it is new."""
        return self.id_of.setdefault(name, len(self.id_of))

    def link(self, parent: str, child: str, position: int) -> None:
        """Add a link that stands at a position of the input; a link given twice counts once."""
        id_of = self.id_of
        self.parents.append(id_of.setdefault(parent, len(id_of)))
        self.children.append(id_of.setdefault(child, len(id_of)))
        self.positions.append(position)

    def draft(self, on_cycle: str, where: Where, *, droppable: bool = True) -> Draft:
        """Return the nodes and links; an edge that closes a cycle is an error, or is dropped.

        `droppable` tells whether the caller can ask to drop such edges, for the message.
        """
        names = list(self.id_of)
        self.id_of.clear()  # as large as all the rest
        parent, child, position = (np.frombuffer(a, np.int64) for a in (self.parents, self.children, self.positions))
        first = _find_first(parent, child, len(names))
        parent, child, position = parent[first], child[first], position[first]
        closing = find_closing_edges(parent, child, len(names))
        others = np.delete(np.arange(len(parent)), closing)
        if len(closing) and on_cycle == "error":
            cycle = [names[v][:100] for v in find_cycle(closing[0], parent, child, others)]
            shown = " → ".join(cycle if len(cycle) <= MOST_SHOWN else [*cycle[: MOST_SHOWN - 2], "…", cycle[-1]])
            count = f" ({len(closing)} edges close cycles)" if len(closing) > 1 else ""
            advice = ", or leave out each edge that closes one with on_cycle='drop'" if droppable else ""
            raise TaxonomyError(
                f"Taxonomy has a cycle: {shown} (closed by {where(int(position[closing[0]]))}). Remove one of its edges"
                f"{count}{advice}."
            )
        draft = Draft.of_edges(names, parent[others], child[others])
        draft.dropped_edges = [(names[parent[k]], names[child[k]]) for k in closing]
        return draft


def _find_first(parent: Ids, child: Ids, n_nodes: int) -> Ids:
    """Return the positions at which each distinct edge stands first, ascending."""
    if len(child) == 0 or np.bincount(child).max() == 1:
        return np.arange(len(child))
    return np.sort(np.unique(child * n_nodes + parent, return_index=True)[1])


def find_closing_edges(parent: Ids, child: Ids, n_nodes: int) -> Ids:
    """Return the positions of the back edges of a depth-first walk from the roots; without them there is no cycle.

    The walk takes the edges in their order. Each back edge closes a cycle with the other edges.

    Examples
    --------
    >>> find_closing_edges(np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]), 3).tolist()
    [1, 3]
    """
    by_parent = np.argsort(parent, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(parent, minlength=n_nodes))])
    return np.sort(by_parent[dag.back_edges(indptr, child[by_parent])])


def find_cycle(edge: int, parent: Ids, child: Ids, others: Ids) -> list[int]:
    """Return a shortest cycle that an edge closes with `others`, from its parent back to its parent.

    Examples
    --------
    >>> find_cycle(2, np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([0, 1]))
    [2, 0, 1, 2]
    """
    start, goal = int(child[edge]), int(parent[edge])
    children: dict[int, list[int]] = {}
    for p, c in zip(parent[others].tolist(), child[others].tolist(), strict=True):
        children.setdefault(p, []).append(c)
    return [goal, *find_path(start, goal, lambda v: children.get(v, ()))]


def find_path(start: int, goal: int, next_of: Callable[[int], Iterable[int]]) -> list[int]:
    """Return a shortest path between two nodes, which must exist; `next_of` gives the nodes one step on."""
    came_from = {start: -1}
    queue = deque([start])
    while goal not in came_from:
        v = queue.popleft()
        for u in next_of(v):
            if u not in came_from:
                came_from[u] = v
                queue.append(u)
    path = [goal]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def check_on_cycle(on_cycle: str) -> None:
    """Raise a `TaxonomyError` unless `on_cycle` is one of the two options."""
    if on_cycle not in ("error", "drop"):
        raise TaxonomyError(f"on_cycle must be 'error' or 'drop'; got {on_cycle!r}.")


def from_parents(parents: Any, *, where: Where = name_entry) -> Draft:
    """Draft a taxonomy from {child: parent, or a list of parents, or None}."""
    if type(parents).__name__ != "Series" and not isinstance(parents, Mapping):
        raise TaxonomyError(f"from_parents wants a mapping of child to parent; got {type(parents).__name__}.")
    links = Links()
    for position, (child, parent) in enumerate(parents.items()):
        # `where` costs time, so it is called only for values that are not plain texts.
        name = child if type(child) is str and child else as_name(child, where(position))
        if type(parent) is str and parent:
            links.link(parent, name, position)
        elif isinstance(parent, (list, tuple, set, frozenset)):
            links.node(name)
            for one in sorted(parent, key=str) if isinstance(parent, (set, frozenset)) else parent:
                links.link(as_name(one, where(position)), name, position)
        elif is_missing(parent):
            links.node(name)
        else:
            links.link(as_name(parent, where(position)), name, position)
    return links.draft("error", where, droppable=False)


def from_edges(
    edges: Iterable[Sequence[Any]],
    *,
    on_cycle: str = "error",
    links: Links | None = None,
    where: Where = name_entry,
) -> Draft:
    """Draft a taxonomy from (parent, child) pairs, added to `links` that may hold nodes already."""
    check_on_cycle(on_cycle)
    if isinstance(edges, (str, bytes)) or not isinstance(edges, Iterable):
        raise TaxonomyError(f"from_edges wants pairs (parent, child); got {type(edges).__name__}.")
    links = Links() if links is None else links
    for position, edge in enumerate(iterate_rows(edges)):
        if not is_sequence(edge) or len(edge) != 2:
            raise TaxonomyError(f"An edge is a pair (parent, child); {where(position)} is {edge!r}.")
        parent, child = edge
        if not (type(parent) is type(child) is str and parent and child):
            both_ints = type(parent) is type(child) is int  # `where` costs time
            parent, child = map(str, edge) if both_ints else (as_name(end, where(position)) for end in edge)
        links.link(parent, child, position)
    return links.draft(on_cycle, where)
