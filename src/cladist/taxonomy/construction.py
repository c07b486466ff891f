"""From what users have (parents, edges, paths) to names and parent ids, in any order.

Each builder returns a `Draft`; `Taxonomy` arranges it topologically. All run in O(nodes + edges).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import TaxonomyError
from cladist.taxonomy import cycles

LONGEST_NAMES = 2**25  # characters of the names that are whole paths, together

MOST_SHOWN = 12  # nodes of a cycle in a message
ADVICE = ", or leave out each edge that closes one with on_cycle='drop'"

Where = Callable[[int], str]
Ids = npt.NDArray[np.int64]


@dataclass
class Draft:
    """Nodes in order of first appearance: their names, and the parents of each as rows of a CSR matrix.

    Built from paths, a node also keeps the last part of its path, and what joins the parts.
    """

    names: list[str]
    indptr: Ids
    parents: Ids
    parts: list[str] | None = None
    sep: str | None = None
    dropped_edges: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of_forest(cls, names: list[str], parent: Ids, parts: list[str] | None = None, sep: str | None = None) -> Draft:
        """Draft a tree or forest from each node's parent, −1 at roots."""
        has = parent >= 0
        return cls(names, np.concatenate([[0], np.cumsum(has)]), parent[has], parts, sep)

    @classmethod
    def of_edges(cls, names: list[str], parent: Ids, child: Ids) -> Draft:
        """Draft from edges, each of them once, in any order."""
        by_child = np.argsort(child, kind="stable")
        counts = np.bincount(child, minlength=len(names))
        return cls(names, np.concatenate([[0], np.cumsum(counts)]), parent[by_child])


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
    """Collects parent → child links in the order they come; memory is three numbers a link and a name a node."""

    def __init__(self) -> None:
        self.id_of: dict[str, int] = {}
        self.parents, self.children, self.positions = array("q"), array("q"), array("q")

    def node(self, name: str) -> int:
        """Return the position of a node, making it if it is new."""
        return self.id_of.setdefault(name, len(self.id_of))

    def link(self, parent: str, child: str, position: int) -> None:
        """Hang a child below a parent; the same link twice is harmless."""
        id_of = self.id_of
        self.parents.append(id_of.setdefault(parent, len(id_of)))
        self.children.append(id_of.setdefault(child, len(id_of)))
        self.positions.append(position)

    def draft(self, on_cycle: str, where: Where, *, droppable: bool = True) -> Draft:
        """Return the nodes and links; a cycle is an error, or loses the edge that closes it.

        `droppable` says whether the caller could have asked for the latter, for the message.
        """
        names = list(self.id_of)
        self.id_of.clear()  # a table as large as all else
        parent, child, position = (np.frombuffer(a, np.int64) for a in (self.parents, self.children, self.positions))
        first = _first_of_each(parent, child, len(names))
        parent, child, position = parent[first], child[first], position[first]
        closing = cycles.closing_edges(parent, child, len(names))
        kept = np.delete(np.arange(len(parent)), closing)
        if len(closing) and on_cycle == "error":
            cycle = [names[v][:100] for v in cycles.cycle_closed_by(closing[0], parent, child, kept)]
            shown = " → ".join(cycle if len(cycle) <= MOST_SHOWN else [*cycle[: MOST_SHOWN - 2], "…", cycle[-1]])
            others = f" ({len(closing)} edges close cycles)" if len(closing) > 1 else ""
            raise TaxonomyError(
                f"Taxonomy has a cycle: {shown} (closed by {where(int(position[closing[0]]))}). Remove one of its edges"
                f"{others}{ADVICE if droppable else ''}."
            )
        draft = Draft.of_edges(names, parent[kept], child[kept])
        draft.dropped_edges = [(names[parent[k]], names[child[k]]) for k in closing]
        return draft


def _first_of_each(parent: Ids, child: Ids, n_nodes: int) -> Ids:
    """Return where each different edge stands first, in their order."""
    if len(child) == 0 or np.bincount(child).max() == 1:
        return np.arange(len(child))
    return np.sort(np.unique(child * n_nodes + parent, return_index=True)[1])


def check_on_cycle(on_cycle: str) -> None:
    """Raise a `TaxonomyError` unless this is something to do about cycles."""
    if on_cycle not in ("error", "drop"):
        raise TaxonomyError(f"on_cycle must be 'error' or 'drop'; got {on_cycle!r}.")


def from_parents(parents: Any, *, where: Where = item) -> Draft:
    """Draft a taxonomy from {child: parent, or a list of parents, or None}."""
    if type(parents).__name__ != "Series" and not isinstance(parents, Mapping):
        raise TaxonomyError(f"from_parents wants a mapping of child to parent; got {type(parents).__name__}.")
    links = Links()
    for position, (child, parent) in enumerate(parents.items()):
        # Saying where costs time, so it is only asked for what is not plainly a name.
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
    where: Where = item,
) -> Draft:
    """Draft a taxonomy from (parent, child) pairs, added to `links` that may hold nodes already."""
    check_on_cycle(on_cycle)
    if isinstance(edges, (str, bytes)) or not isinstance(edges, Iterable):
        raise TaxonomyError(f"from_edges wants pairs (parent, child); got {type(edges).__name__}.")
    links = Links() if links is None else links
    for position, (parent, child) in enumerate(pairs(edges, where)):
        links.link(parent, child, position)
    return links.draft(on_cycle, where)


def pairs(edges: Any, where: Where = item) -> Iterator[tuple[str, str]]:
    """Yield each edge as two names."""
    if hasattr(edges, "to_numpy"):  # a data frame of two columns
        edges = edges.to_numpy()
    if isinstance(edges, np.ndarray):
        edges = edges.tolist()  # Python's own values are several times faster to go through
    for position, edge in enumerate(edges):
        if not is_sequence(edge) or len(edge) != 2:
            raise TaxonomyError(f"An edge is a pair (parent, child); {where(position)} is {edge!r}.")
        one, other = edge
        if type(one) is type(other) is str and one and other:  # the common case needs no more
            yield one, other
        elif type(one) is type(other) is int:
            yield str(one), str(other)
        else:
            yield as_name(one, where(position)), as_name(other, where(position))


def from_paths(paths: Iterable[Any], *, sep: str = "/", where: Where = item) -> Draft:
    """Draft a taxonomy from root-to-node paths; a node is its path."""
    if not sep:
        raise TaxonomyError("from_paths: sep must not be empty; to give paths as tuples, sep is not used.")
    if isinstance(paths, (str, bytes, Mapping)) or not isinstance(paths, Iterable):
        raise TaxonomyError(f"from_paths wants several paths, texts or tuples; got {type(paths).__name__}.")
    if hasattr(paths, "columns") and hasattr(paths, "to_numpy"):  # a data frame with a level in each column
        paths = paths.to_numpy()
    nodes = _PathNodes()
    for position, path in enumerate(paths):
        nodes.add(split_path(path, sep, lambda position=position: where(position)))  # type: ignore[misc]
    parts, parent = nodes.parts(), np.frombuffer(nodes.parent, np.int64)
    return Draft.of_forest(names_of_paths(parts, parent, sep), parent, parts, sep)


class _PathNodes:
    """The nodes of some paths; each is known by its parent and the id of its last part, packed into one number."""

    def __init__(self) -> None:
        self.id_of_part: dict[str, int] = {}
        self.node_of: dict[int, int] = {}
        self.part, self.parent = array("q"), array("q")

    def add(self, path: list[str]) -> None:
        """Make the nodes of a path that are new."""
        v = -1
        for text in path:
            part = self.id_of_part.setdefault(text, len(self.id_of_part))
            key = (v + 1 << 32) | part  # no list has 2**32 different texts
            found = self.node_of.get(key)
            if found is None:
                found = self.node_of[key] = len(self.parent)
                self.part.append(part)
                self.parent.append(v)
            v = found

    def parts(self) -> list[str]:
        """Return the last part of every node; the tables are gone then."""
        texts = list(self.id_of_part)
        self.id_of_part.clear()
        self.node_of.clear()
        return [texts[k] for k in self.part]


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


def names_of_paths(parts: Sequence[str], parent: Sequence[int] | Ids, sep: str) -> list[str]:
    """Name each node by its last part where that is unique, by its whole path otherwise.

    Parts that contain `sep` may give two nodes one spelling, which is an error: a label would be ambiguous.
    """
    once: set[str] = set()
    several: set[str] = set()
    for part in parts:
        (several if part in once else once).add(part)
    ambiguous = not all(splits_back(part, sep) for part in once)
    if several or ambiguous:
        _check_length(parts, parent, sep, once if ambiguous else several)
    names = [_joined(v, parts, parent, sep) if part in several else part for v, part in enumerate(parts)]
    if ambiguous:
        node_of: dict[str, int] = {}
        for v, name in enumerate(names):
            for spelling in (name, _joined(v, parts, parent, sep)):
                if node_of.setdefault(spelling, v) != v:
                    raise TaxonomyError(
                        f"Two different paths are both written {spelling!r}; choose another sep than {sep!r}."
                    )
    return names


def _check_length(parts: Sequence[str], parent: Sequence[int] | Ids, sep: str, spelt: set[str]) -> None:
    """Refuse paths whose names would take the square of their own length, as those of a/a/a/… do."""
    length, total = array("q"), 0
    for part, p in zip(parts, parent, strict=True):
        length.append(len(part) + (length[p] + len(sep) if p >= 0 else 0))
        total += length[-1] if part in spelt else 0
    if total > LONGEST_NAMES:
        raise TaxonomyError(
            f"Nodes that share their last part are named by their paths, which here would be {total:,} characters, "
            f"over the limit of {LONGEST_NAMES:,}; give nodes names of their own, or write edges."
        )


def splits_back(part: str, sep: str) -> bool:
    """Tell whether splitting a joined path at `sep` would give this part back.

    Examples
    --------
    >>> splits_back("a", "/"), splits_back("a/b", "/"), splits_back("a:", "::")
    (True, False, False)
    """
    return (part + sep).find(sep) == len(part)


def _joined(v: int, parts: Sequence[str], parent: Sequence[int] | Ids, sep: str) -> str:
    whole = []
    while v >= 0:
        whole.append(parts[v])
        v = int(parent[v])
    return sep.join(reversed(whole))
