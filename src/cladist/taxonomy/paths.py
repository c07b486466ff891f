"""Build taxonomies from root-to-node paths; a node is its path, and is named by its last part where that is unique."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cladist.errors import TaxonomyError
from cladist.taxonomy.construction import Draft, Ids, Where, as_name, is_missing, is_sequence, name_entry

LONGEST_NAMES = 2**25  # characters of the names that are whole paths, together


def from_paths(paths: Iterable[Any], *, sep: str = "/", where: Where = name_entry) -> Draft:
    """Draft a taxonomy from root-to-node paths; a node is its path."""
    if not sep:
        raise TaxonomyError("from_paths: sep must not be empty; to give paths as tuples, sep is not used.")
    if isinstance(paths, (str, bytes, Mapping)) or not isinstance(paths, Iterable):
        raise TaxonomyError(f"from_paths wants several paths, texts or tuples; got {type(paths).__name__}.")
    if hasattr(paths, "columns") and hasattr(paths, "to_numpy"):  # a data frame with one level per column
        paths = paths.to_numpy()
    nodes = PathNodes()
    for position, path in enumerate(paths):
        v = -1
        for part in split_path(path, sep, lambda position=position: where(position)):  # type: ignore[misc]
            v = nodes.child(v, part)
    return nodes.draft(sep)


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

    def draft(self, sep: str) -> Draft:
        """Return the nodes with their names; the tables are emptied."""
        texts = list(self.id_of_part)
        self.id_of_part.clear()
        self.other_of.clear()
        parts, parent = [texts[k] for k in self.part], np.frombuffer(self.parent, np.int64)
        return Draft.of_forest(name_paths(parts, parent, sep), parent, parts, sep)


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
                    raise TaxonomyError(
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


def splits_back(part: str, sep: str) -> bool:
    """Tell whether splitting a joined path at `sep` gives this part back.

    Examples
    --------
    >>> splits_back("a", "/"), splits_back("a/b", "/"), splits_back("a:", "::")
    (True, False, False)
    """
    return (part + sep).find(sep) == len(part)


def _join_path(v: int, parts: Sequence[str], parent: Sequence[int] | Ids, sep: str) -> str:
    path = []
    while v >= 0:
        path.append(parts[v])
        v = int(parent[v])
    return sep.join(reversed(path))
