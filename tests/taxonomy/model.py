"""A taxonomy as a plain dictionary, slow and obvious, to compare the real one with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping


class Model:
    """Nodes are any values, `parent` their links, in order of first appearance."""

    def __init__(self) -> None:
        self.parent: dict[object, object] = {}

    @classmethod
    def from_parents(cls, parents: Mapping[object, object]) -> Model:
        """A parent appears just before its child."""
        model = cls()
        for child, above in parents.items():
            if above is not None:
                model.parent.setdefault(above, None)
            model.parent[child] = above
        return model

    @classmethod
    def from_paths(cls, paths: Iterable[tuple[str, ...]]) -> Model:
        """A node is its path."""
        model = cls()
        for path in paths:
            for end in range(1, len(path) + 1):
                model.parent.setdefault(path[:end], path[: end - 1] or None)
        return model

    def children(self, node: object) -> list[object]:
        """Children in order of first appearance; those of None are the roots."""
        return [child for child, above in self.parent.items() if above == node]

    def breadth_first(self) -> list[object]:
        """Level by level, siblings side by side."""
        order, queue = [], deque(self.children(None))
        while queue:
            node = queue.popleft()
            order.append(node)
            queue.extend(self.children(node))
        return order

    def path(self, node: object) -> list[object]:
        """From the root down to the node."""
        path = []
        while node is not None:
            path.append(node)
            node = self.parent[node]
        return path[::-1]

    def descendants(self, node: object) -> list[object]:
        """Everything strictly below, in the order of ids."""
        return [other for other in self.breadth_first() if node in self.path(other)[:-1]]

    def siblings(self, node: object) -> list[object]:
        """The other children of the same parent."""
        return [other for other in self.children(self.parent[node]) if other != node]

    def distance(self, u: object, v: object) -> int:
        """|path(u) Δ path(v)|, both paths beginning in one virtual root."""
        return len(set(self.path(u)) ^ set(self.path(v)))

    def common_ancestor(self, u: object, v: object) -> object:
        """The last node that both paths share, or None."""
        shared = [a for a, b in zip(self.path(u), self.path(v), strict=False) if a == b]
        return shared[-1] if shared else None
