"""Builders of taxonomies from parents, edges and paths: names and parent ids, in order of first appearance.

Each builder returns a `Draft`, which `Taxonomy` arranges topologically. All run in O(nodes + edges).
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from cladist.errors import TaxonomyError
from cladist.kernels import dag
from cladist.taxonomy.structure import SEPARATORS, Ids, as_text, is_missing, split_at, splits_back

DEFAULT_SEP = "/"
MOST_SHOWN = 12  # nodes of a cycle in a message
LONGEST_NAMES = 2**25  # characters of the names that are whole paths, together

OnCycle = Literal["error", "drop"]
Where = Callable[[int], str]  # tells where the k-th entry of the input stands, for messages


@dataclass
class Draft:
    """The nodes of a taxonomy in any order: their names, and the parents of each as rows of a CSR matrix.

    A taxonomy of paths also has the last part of each node's path, and the separator that joins the parts. `titles`,
    `descriptions` and `synonyms` are texts by name; those of other names are ignored.
    """

    names: list[str]
    indptr: Ids
    parents: Ids
    parts: list[str] | None = None
    sep: str | None = None
    dropped_edges: list[tuple[str, str]] = field(default_factory=list)
    titles: Mapping[Any, str] = field(default_factory=dict)
    stop_leaves: dict[str, str] = field(default_factory=dict)
    descriptions: Mapping[Any, str] = field(default_factory=dict)
    synonyms: Mapping[Any, Sequence[str]] = field(default_factory=dict)
    version: tuple[str | None, str | None] = (None, None)  # its name and its date

    @classmethod
    def of_forest(cls, names: list[str], parent: Ids, parts: list[str] | None = None, sep: str | None = None) -> Draft:
        """Draft a tree or forest from each node's parent, −1 at roots."""
        has_parent = parent >= 0
        return cls(names, np.concatenate([[0], np.cumsum(has_parent)]), parent[has_parent], parts, sep)

    def with_texts(self, titles: Any = None, descriptions: Any = None, synonyms: Any = None) -> Draft:
        """Return the draft with these texts; None leaves them as they are."""
        given = {"titles": titles, "descriptions": descriptions, "synonyms": synonyms}
        return replace(self, **{key: texts for key, texts in given.items() if texts is not None})

    @classmethod
    def of_edges(cls, names: list[str], parent: Ids, child: Ids) -> Draft:
        """Draft from distinct edges in any order."""
        by_child = np.argsort(child, kind="stable")
        counts = np.bincount(child, minlength=len(names))
        return cls(names, np.concatenate([[0], np.cumsum(counts)]), parent[by_child])


def name_entry(position: int) -> str:
    """Return how messages call an entry of a Python sequence."""
    return f"entry {position}"


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
        if len(child) and np.bincount(child).max() > 1:  # where each distinct edge stands first
            first = np.sort(np.unique(child * len(names) + parent, return_index=True)[1])
            parent, child, position = parent[first], child[first], position[first]
        # The back edges of a depth-first walk from the roots, which takes the edges in their order.
        by_parent = np.argsort(parent, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(parent, minlength=len(names)))])
        closing = np.sort(by_parent[dag.back_edges(indptr, child[by_parent])])
        others = np.delete(np.arange(len(parent)), closing)
        if len(closing) and on_cycle == "error":
            children: dict[int, list[int]] = {}
            for p, v in zip(parent[others].tolist(), child[others].tolist(), strict=True):
                children.setdefault(p, []).append(v)
            start, goal = int(child[closing[0]]), int(parent[closing[0]])
            cycle = [names[v][:100] for v in (goal, *find_path(start, goal, lambda v: children.get(v, ())))]
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


def from_parents(parents: Any, *, on_cycle: str | None = None) -> Draft:
    """Draft a taxonomy from {child: parent, or a list of parents, or None}; `on_cycle` None: callers have no choice."""
    if type(parents).__name__ != "Series" and not isinstance(parents, Mapping):
        raise TaxonomyError(f"from_parents needs a mapping of child to parent; got {type(parents).__name__}.")
    links = Links()
    for position, (child, parent) in enumerate(parents.items()):
        # Plain texts are names as they are; making a message for the others costs time.
        name = child if type(child) is str and child else as_name(child, name_entry(position))
        if type(parent) is str and parent:
            links.link(parent, name, position)
        elif isinstance(parent, (list, tuple, set, frozenset)):
            links.node(name)
            for one in sorted(parent, key=str) if isinstance(parent, (set, frozenset)) else parent:
                links.link(as_name(one, name_entry(position)), name, position)
        elif is_missing(parent):
            links.node(name)
        else:
            links.link(as_name(parent, name_entry(position)), name, position)
    return links.draft(on_cycle or "error", name_entry, droppable=on_cycle is not None)


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
            advice = "; for paths, use Taxonomy.from_paths" if where is name_entry else ""
            raise TaxonomyError(f"An edge is a pair (parent, child); {where(position)} is {edge!r}{advice}.")
        parent, child = edge
        if not (type(parent) is type(child) is str and parent and child):
            both_ints = type(parent) is type(child) is int  # `where` costs time
            parent, child = map(str, edge) if both_ints else (as_name(end, where(position)) for end in edge)
        links.link(parent, child, position)
    return links.draft(on_cycle, where)


def from_networkx(graph: Any, *, on_cycle: str = "error") -> Draft:
    """Draft a taxonomy from a directed graph of networkx."""
    if not hasattr(graph, "is_directed"):
        raise TaxonomyError(f"from_networkx needs a networkx DiGraph; got {type(graph).__name__}.")
    if not graph.is_directed():
        raise TaxonomyError("from_networkx needs a DiGraph with edges from parent to child; this one is undirected.")
    links = Links()
    for node in graph.nodes:
        links.node(as_name(node, f"node {node!r}"))
    return from_edges(graph.edges(), on_cycle=on_cycle, links=links, where=lambda k: f"edge {k}")


# A node is its path, and is named by the last part where that is unique.


class AmbiguousPathsError(TaxonomyError):
    """Two nodes would have one spelling."""


def from_paths(paths: Iterable[Any], *, sep: str = DEFAULT_SEP, where: Where = name_entry) -> Draft:
    """Draft a taxonomy from root-to-node paths; a node is its path."""
    if not sep:
        raise TaxonomyError("from_paths: sep must not be empty; to give paths as tuples, sep is not used.")
    if isinstance(paths, (str, bytes, Mapping)) or not isinstance(paths, Iterable):
        raise TaxonomyError(f"from_paths wants several paths, texts or tuples; got {type(paths).__name__}.")
    if hasattr(paths, "columns") and hasattr(paths, "to_numpy"):  # a data frame with one level per column
        paths = paths.to_numpy()
    nodes, are_parts = PathNodes(), True
    for position, path in enumerate(paths):
        v, are_parts = -1, are_parts and not isinstance(path, str)
        for part in split_path(path, sep, lambda position=position: where(position)):  # type: ignore[misc]
            v = nodes.child(v, part)
    others = [other for other in SEPARATORS if sep not in other] if are_parts and sep == DEFAULT_SEP else []
    return nodes.draft(sep, *others)


class PathNodes:
    """Nodes identified by their parent and the last part of their path.

    The first node with a part is found by the part alone, as most nodes are; only the others need a second table.
    """

    def __init__(self) -> None:
        self.id_of_part: dict[str, int] = {}
        self.first_with = array("q")  # for each part, the first node that ends in it
        self.other_of: dict[int, int] = {}  # the other nodes, by parent and part packed into one number
        self.part, self.parent = array("q"), array("q")

    def child(self, parent: int, name: str) -> int:
        """Return the node below another one, or a root (below −1), added if it is new."""
        new = len(self.parent)
        part = self.id_of_part.setdefault(name, len(self.id_of_part))
        if part == len(self.first_with):
            self.first_with.append(new)
        v = self.first_with[part]
        if v != new and self.parent[v] != parent:
            v = self.other_of.setdefault((parent + 1 << 32) | part, new)  # no input has 2**32 different parts
        if v == new:
            self.part.append(part)
            self.parent.append(parent)
        return v

    def draft(self, *seps: str) -> Draft:
        """Return the nodes, named by the first separator that tells them apart; the tables are emptied."""
        texts = list(self.id_of_part)
        self.id_of_part.clear()
        self.other_of.clear()
        parts, parent = [texts[k] for k in self.part], np.frombuffer(self.parent, np.int64)
        for sep in seps[:-1]:
            with suppress(AmbiguousPathsError):
                return Draft.of_forest(name_paths(parts, parent, sep), parent, parts, sep)
        return Draft.of_forest(name_paths(parts, parent, seps[-1]), parent, parts, seps[-1])


def split_path(path: Any, sep: str, where: Callable[[], str]) -> list[str]:
    """Return the parts of one path; a sequence may be padded at its end with None, NaN or ""."""
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


def name_paths(parts: Sequence[str], parent: Sequence[int] | Ids, sep: str) -> list[str]:
    """Return a name for each node: its last part where that is unique, its joined path otherwise.

    Parts that contain `sep` may give two nodes one spelling, which is an error: a label would be ambiguous.
    """
    distinct: set[str] = set()
    repeated: set[str] = set()
    for part in parts:
        (repeated if part in distinct else distinct).add(part)
    ambiguous = not all(splits_back(part, sep) for part in distinct)
    if repeated or ambiguous:
        _check_length(parts, parent, sep, distinct if ambiguous else repeated)
    names = [_join_path(v, parts, parent, sep) if part in repeated else part for v, part in enumerate(parts)]
    if ambiguous:
        node_of: dict[str, int] = {}
        for v, name in enumerate(names):
            for spelling in (name, _join_path(v, parts, parent, sep)):
                if node_of.setdefault(spelling, v) != v:
                    raise AmbiguousPathsError(
                        f"Two different paths are both written {spelling!r}; choose another sep than {sep!r}."
                    )
    return names


def _check_length(parts: Sequence[str], parent: Sequence[int] | Ids, sep: str, spelt: set[str]) -> None:
    """Refuse paths whose names would take the square of their own length, such as a/a/a."""
    length, total = array("q"), 0
    for part, p in zip(parts, parent, strict=True):
        length.append(len(part) + (length[p] + len(sep) if p >= 0 else 0))
        total += length[-1] if part in spelt else 0
    if total > LONGEST_NAMES:
        raise TaxonomyError(
            f"Nodes that share their last part are named by their paths, which here would be {total:,} characters, "
            f"over the limit of {LONGEST_NAMES:,}; give nodes names of their own, or write edges."
        )


def _join_path(v: int, parts: Sequence[str], parent: Sequence[int] | Ids, sep: str) -> str:
    path = []
    while v >= 0:
        path.append(parts[v])
        v = int(parent[v])
    return sep.join(reversed(path))


def guess_separator(texts: Sequence[str], *, besides: str | None = None) -> tuple[str, int] | None:
    """Return the separator that more than half of the texts contain, and how many do; or None."""
    for sep in SEPARATORS:
        count = 0 if sep == besides else sum(len(split_at(text, sep)) > 1 for text in texts)
        if count > 1 and 2 * count > len(texts):
            return sep, count
    return None
