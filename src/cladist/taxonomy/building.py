"""From what users have (parents, edges, paths) to names and parent ids, in any order.

Each builder returns a `Draft`; `Taxonomy` arranges it topologically. All run in O(nodes + edges).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import TaxonomyError
from cladist.kernels import tree

Where = Callable[[int], str]


@dataclass
class Draft:
    """Nodes in order of first appearance: their names and the position of each one's parent (−1: a root).

    Built from paths, a node also keeps the last part of its path, and what joins the parts.
    """

    names: list[str]
    parent: npt.NDArray[np.int64]
    parts: list[str] | None = None
    sep: str | None = None
    dropped_edges: list[tuple[str, str]] = field(default_factory=list)


def item(position: int) -> str:
    """Say where an entry of a Python sequence stands."""
    return f"entry {position}"


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for "nothing here": None, NaN, pandas' NA or the empty string."""
    if value is None or (isinstance(value, str) and value == ""):
        return True
    if isinstance(value, str):
        return False
    number = isinstance(value, (float, np.floating))
    return (number and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def as_text(value: Any) -> str:
    """Return a name as text. 11.0 is 11: a table with a hole in a column of integers turns them into floats.

    Examples
    --------
    >>> as_text("a"), as_text(11), as_text(11.0), as_text(0.5)
    ('a', '11', '11', '0.5')
    """
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def as_name(value: Any, where: str) -> str:
    """Return a node's name as text, or say where there is none."""
    if is_missing(value):
        raise TaxonomyError(f"A node needs a name; {where} has an empty one.")
    if isinstance(value, (bytes, list, tuple, set, frozenset, dict, np.ndarray)):
        raise TaxonomyError(f"A node's name is a text or a number; {where} has {value!r}.")
    return as_text(value)


def is_sequence(value: Any) -> bool:
    """Tell whether a value has an order of its own; a set has none, and a text is one name."""
    if type(value) in (tuple, list):  # nearly always, and faster to tell
        return True
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))


class Links:
    """Collects child → parent links and refuses a second parent."""

    def __init__(self) -> None:
        self.id_of: dict[str, int] = {}
        self.parent_of: dict[int, int] = {}
        self.linked_at: dict[int, int] = {}

    def node(self, name: str) -> int:
        """Return the position of a node, making it if it is new."""
        return self.id_of.setdefault(name, len(self.id_of))

    def link(self, parent: str, child: str, position: int, where: Where) -> None:
        """Hang a child below a parent; the same link twice is harmless."""
        id_of = self.id_of
        p = id_of.setdefault(parent, len(id_of))
        c = id_of.setdefault(child, len(id_of))
        known = self.parent_of.setdefault(c, p)
        if known != p:
            raise TaxonomyError(
                f"A tree gives each node one parent, but {child!r} has two: {list(id_of)[known]!r} "
                f"({where(self.linked_at[c])}) and {parent!r} ({where(position)}). Remove one of the edges."
            )
        self.linked_at.setdefault(c, position)


def from_parents(parents: Any, *, where: Where = item) -> Draft:
    """Draft a taxonomy from {child: parent or None}."""
    if type(parents).__name__ == "Series":
        if not parents.index.is_unique:
            twice = parents.index[parents.index.duplicated()][0]
            raise TaxonomyError(f"A tree gives each node one parent, but the Series has {twice} more than once.")
        parents = parents.to_dict()
    if not isinstance(parents, Mapping):
        raise TaxonomyError(f"from_parents wants a mapping of child to parent; got {type(parents).__name__}.")
    links = Links()
    for position, (child, parent) in enumerate(parents.items()):
        # Saying where costs time, so it is only asked for what is not plainly a name.
        name = child if type(child) is str and child else as_name(child, where(position))
        if is_missing(parent):
            links.node(name)
        else:
            above = parent if type(parent) is str else as_name(parent, where(position))
            links.link(above, name, position, where)
    return _without_cycles(links, "error", where)


def from_edges(
    edges: Iterable[Sequence[Any]],
    *,
    on_cycle: str = "error",
    links: Links | None = None,
    where: Where = item,
) -> Draft:
    """Draft a taxonomy from (parent, child) pairs, added to `links` that may hold nodes already."""
    if on_cycle not in ("error", "drop"):
        raise TaxonomyError(f"on_cycle must be 'error' or 'drop'; got {on_cycle!r}.")
    if isinstance(edges, (str, bytes)) or not isinstance(edges, Iterable):
        raise TaxonomyError(f"from_edges wants pairs (parent, child); got {type(edges).__name__}.")
    links = Links() if links is None else links
    if hasattr(edges, "to_numpy"):  # a data frame of two columns
        edges = edges.to_numpy()
    if isinstance(edges, np.ndarray):
        edges = edges.tolist()  # Python's own values are several times faster to go through
    for position, edge in enumerate(edges):
        if not is_sequence(edge) or len(edge) != 2:
            raise TaxonomyError(f"An edge is a pair (parent, child); {where(position)} is {edge!r}.")
        parent, child = edge
        if not (type(parent) is type(child) is str and parent and child):  # the common case needs no more
            if not type(parent) is type(child) is int:
                parent, child = as_name(parent, where(position)), as_name(child, where(position))
            parent, child = str(parent), str(child)
        links.link(parent, child, position, where)
    return _without_cycles(links, on_cycle, where)


def _without_cycles(links: Links, on_cycle: str, where: Where) -> Draft:
    """Turn the links into a draft; a cycle is an error, or loses its last edge."""
    names = list(links.id_of)
    parent = np.full(len(names), -1, np.int64)
    parent[list(links.parent_of)] = list(links.parent_of.values())
    draft = Draft(names, parent)
    if len(tree.breadth_first(parent)) == len(names):
        return draft
    for cycle in _cycles(parent.tolist()):
        last = max(cycle, key=links.linked_at.__getitem__)
        if on_cycle == "error":
            shown = " → ".join(names[u] for u in [*cycle, cycle[0]])
            closing = where(links.linked_at[last])
            raise TaxonomyError(f"Taxonomy has a cycle: {shown} (closed by {closing}). Remove one of its edges.")
        draft.dropped_edges.append((names[parent[last]], names[last]))
        parent[last] = -1
    return draft


def _cycles(parent: list[int]) -> Iterator[list[int]]:
    """Walk up from every node; a walk that meets itself has found a cycle."""
    walk_of = [-1] * len(parent)  # the walk that visited a node first
    for start in range(len(parent)):
        v = start
        while v >= 0 and walk_of[v] < 0:
            walk_of[v] = start
            v = parent[v]
        if v >= 0 and walk_of[v] == start:
            yield _cycle_through(v, parent)


def _cycle_through(v: int, parent: list[int]) -> list[int]:
    """Return the cycle that v lies on, each node before its child."""
    cycle = [v]
    u = parent[v]
    while u != v:
        cycle.append(u)
        u = parent[u]
    return cycle[::-1]


def from_paths(paths: Iterable[Any], *, sep: str = "/", where: Where = item) -> Draft:
    """Draft a taxonomy from root-to-node paths; a node is its path."""
    if not sep:
        raise TaxonomyError("from_paths: sep must not be empty; to give paths as tuples, sep is not used.")
    if isinstance(paths, (str, bytes, Mapping)) or not isinstance(paths, Iterable):
        raise TaxonomyError(f"from_paths wants several paths, texts or tuples; got {type(paths).__name__}.")
    child_of: dict[tuple[int, str], int] = {}
    parts: list[str] = []
    parent: list[int] = []
    for position, path in enumerate(paths):
        v = -1
        for part in split_path(path, sep, lambda position=position: where(position)):  # type: ignore[misc]
            key = (v, part)
            found = child_of.get(key)
            if found is None:
                found = child_of[key] = len(parts)
                parts.append(part)
                parent.append(v)
            v = found
    return Draft(names_of_paths(parts, parent, sep), np.array(parent, np.int64), parts, sep)


def split_path(path: Any, sep: str, where: Callable[[], str]) -> list[str]:
    """Split one path into its parts; a sequence may be padded at its end with None, NaN or ""."""
    if isinstance(path, str):
        texts = path.split(sep)
        if not all(texts):
            raise TaxonomyError(f"A path has no empty part; {where()} is {path!r}.")
        return texts
    if not is_sequence(path):
        raise TaxonomyError(f"A path is a text or a sequence of its parts; {where()} is {path!r}.")
    parts = list(path)
    while parts and is_missing(parts[-1]):
        parts.pop()
    if not parts or any(is_missing(part) for part in parts):
        raise TaxonomyError(f"A path has no empty part; {where()} is {list(path)!r}.")
    return [part if type(part) is str else as_name(part, where()) for part in parts]


def names_of_paths(parts: Sequence[str], parent: Sequence[int], sep: str) -> list[str]:
    """Name each node by its last part where that is unique, by its whole path otherwise.

    Parts that contain `sep` may give two nodes one spelling, which is an error: a label would be ambiguous.
    """
    count = Counter(parts)
    names = [part if count[part] == 1 else _joined(v, parts, parent, sep) for v, part in enumerate(parts)]
    if not all(splits_back(part, sep) for part in count):
        node_of: dict[str, int] = {}
        for v, name in enumerate(names):
            for spelling in (name, _joined(v, parts, parent, sep)):
                if node_of.setdefault(spelling, v) != v:
                    raise TaxonomyError(
                        f"Two different paths are both written {spelling!r}; choose another sep than {sep!r}."
                    )
    return names


def splits_back(part: str, sep: str) -> bool:
    """Tell whether splitting a joined path at `sep` would give this part back.

    Examples
    --------
    >>> splits_back("a", "/"), splits_back("a/b", "/"), splits_back("a:", "::")
    (True, False, False)
    """
    return (part + sep).find(sep) == len(part)


def _joined(v: int, parts: Sequence[str], parent: Sequence[int], sep: str) -> str:
    whole = []
    while v >= 0:
        whole.append(parts[v])
        v = parent[v]
    return sep.join(reversed(whole))
