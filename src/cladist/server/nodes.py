"""The nodes of a taxonomy for people who browse it: titles, children, search, and columns for drawing all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]


class Nodes:
    """What is shown of a taxonomy; a node is named by its position in ``taxonomy.names``."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self._titles = taxonomy.titles

    def title(self, v: int) -> str:
        """Return what a node is called for people: its title, the last part of its path, or its name."""
        name = self.taxonomy.names[v]
        title = self._titles.get(name)
        if title:
            return title
        return name if self.taxonomy.parts is None else self.taxonomy.parts[v]

    @cached_property
    def titles(self) -> list[str]:
        """The titles of all nodes."""
        return [self.title(v) for v in range(self.taxonomy.n_nodes)]

    @cached_property
    def parent(self) -> Ids:
        """The parent of each node, −1 at roots; in a DAG that on the shortest path."""
        return np.asarray(self.taxonomy.shortest_parent, np.int64)

    @cached_property
    def n_leaves(self) -> Ids:
        """The number of leaves at or below each node, along the parents above."""
        counts = self.taxonomy.is_leaf.astype(np.int64)
        for v in range(len(counts) - 1, -1, -1):
            if self.parent[v] >= 0:
                counts[self.parent[v]] += counts[v]
        return counts

    @cached_property
    def _titled(self) -> dict[str, list[int]]:
        """The nodes of each title."""
        nodes: dict[str, list[int]] = {}
        for v, title in enumerate(self.titles):
            nodes.setdefault(title, []).append(v)
        return nodes

    def find_titles(self, path: Sequence[str]) -> int | None:
        """Return the node at the end of a path of titles, or the only one that has the last title."""
        found = self._titled.get(path[-1], [])
        whole = [v for v in found if [self.title(int(u)) for u in self.taxonomy.shortest_path_ids(v)] == list(path)]
        return next(iter(whole), found[0] if len(found) == 1 else None)

    @cached_property
    def _folded(self) -> list[str]:
        """Name and title of each node without case, as they are searched."""
        pairs = zip(self.taxonomy.names, self.titles, strict=True)
        return [name.casefold() if name == title else f"{name} {title}".casefold() for name, title in pairs]

    def entry(self, v: int) -> dict[str, Any]:
        """Return a node as JSON values."""
        taxonomy = self.taxonomy
        return {
            "node": int(v),
            "name": taxonomy.names[v],
            "title": self.title(v),
            "n_children": int(taxonomy.n_children[v]),
            "n_leaves": int(self.n_leaves[v]),
        }

    def path(self, v: int) -> list[dict[str, Any]]:
        """Return the nodes from a root down to a node, each with its number, name and title."""
        names = self.taxonomy.names
        return [
            {"node": int(u), "name": names[u], "title": self.title(int(u))} for u in self.taxonomy.shortest_path_ids(v)
        ]

    def search(self, query: str, limit: int) -> list[int]:
        """Return the nodes whose name or title has all words of a query: equal names first, then shorter ones."""
        words = query.casefold().split()
        if not words:
            return []
        found = [v for v, text in enumerate(self._folded) if all(word in text for word in words)]
        whole = " ".join(words)
        names = self.taxonomy.names

        def rank(v: int) -> tuple[bool, bool, int, int]:
            name = names[v].casefold()
            return name != whole, not name.startswith(whole), len(self._folded[v]), v

        return sorted(found, key=rank)[:limit]
