"""The old and new nodes that are the same, by name, by title, and by the nodes below them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cladist.taxonomy.inspection import normalise
from cladist.taxonomy.revisions.likeness import Likeness

if TYPE_CHECKING:
    from cladist.taxonomy.taxonomy import Taxonomy

# Confidences: how often pairs of this kind were right on planted revisions; benchmarks/crosswalk.py measures them.
SAME_NAME, SAME_TITLE, OTHER_TITLE, UNLIKE_TITLE = 1.0, 0.97, 0.9, 0.6
REUSED = 0.15  # a title less like that of the old node does not show that the code means the same
PERSIST = 0.5  # of the names: if more persist, they are codes that stay, and one that is gone means something
NESTED = 0.5  # two inner nodes are the same if they share at least this part of the leaves of both

Reason = tuple[float, str]


@dataclass
class Side:
    """One taxonomy, with what is looked up for each of its nodes."""

    taxonomy: Taxonomy
    titles: list[str]
    titled: list[bool]
    parent: list[int]
    is_leaf: list[bool]

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> Side:
        """Return the side of a taxonomy; a node without a title has its name, or the last part of its path."""
        shown = taxonomy.titles
        parts = taxonomy.parts or taxonomy.names
        titles = [normalise(shown.get(name, part)) for name, part in zip(taxonomy.names, parts, strict=True)]
        titled = [name in shown for name in taxonomy.names]
        return cls(taxonomy, titles, titled, taxonomy.deepest_parent.tolist(), taxonomy.is_leaf.tolist())

    def above(self, v: int) -> Iterator[int]:
        """Yield the node and those above it by deepest parents, up to a root."""
        while v >= 0:
            yield v
            v = self.parent[v]

    def leaves_below(self, v: int) -> list[int]:
        """Return the leaves at or below a node."""
        if self.is_leaf[v]:
            return [v]
        return [int(u) for u in self.taxonomy.ids_below(v) if self.is_leaf[u]]


@dataclass
class Matching:
    """Pairs of an old and a new node that are the same node, each in at most one pair."""

    old: Side
    new: Side
    likeness: Likeness
    new_of: dict[int, int] = field(default_factory=dict)
    old_of: dict[int, int] = field(default_factory=dict)
    reasons: dict[int, Reason] = field(default_factory=dict)
    codes_persist: bool = False

    def pair(self, old: int, new: int, confidence: float, evidence: str) -> None:
        """Store a pair."""
        self.new_of[old], self.old_of[new], self.reasons[old] = new, old, (confidence, evidence)

    def unmatched_old(self) -> list[int]:
        """Return the old nodes without a pair, parents before children."""
        return [v for v in range(self.old.taxonomy.n_nodes) if v not in self.new_of]

    def unmatched_new(self) -> list[int]:
        """Return the new nodes without a pair, parents before children."""
        return [v for v in range(self.new.taxonomy.n_nodes) if v not in self.old_of]

    def is_renumbered(self, old: int) -> bool:
        """Tell whether a node has lost its code while codes persist in general: it may also have been split."""
        return self.codes_persist and self.old.taxonomy.names[old] not in self.new.taxonomy


def match_nodes(old: Taxonomy, new: Taxonomy, likeness: Likeness) -> Matching:
    """Return the nodes that are the same: by name, then by title, then by the leaves below them."""
    matching = Matching(Side.of(old), Side.of(new), likeness)
    _match_names(matching)
    matching.codes_persist = len(matching.new_of) > PERSIST * old.n_nodes
    _match_titles(matching)
    return matching


def _match_names(matching: Matching) -> None:
    """Pair nodes of the same name, unless the name is a code that now means something else."""
    old, new = matching.old, matching.new
    with_title: dict[str, list[int]] = defaultdict(list)
    for u, title in enumerate(new.titles):
        with_title[title].append(u)
    for v, name in enumerate(old.taxonomy.names):
        if name not in new.taxonomy:
            continue
        u = new.taxonomy.index(name)
        titled = old.titled[v] and new.titled[u]
        if not titled or old.titles[v] == new.titles[u]:
            matching.pair(v, u, SAME_NAME, "same name and title" if titled else "same name")
            continue
        alike = matching.likeness.cosine(v, u)
        if alike < REUSED and _is_elsewhere(matching, with_title[old.titles[v]], u):
            continue
        if alike < REUSED:
            matching.pair(v, u, UNLIKE_TITLE, "same name, unlike title")
        else:
            matching.pair(v, u, OTHER_TITLE + (SAME_NAME - OTHER_TITLE) * alike, f"same name, title {alike:.0%} alike")


def _is_elsewhere(matching: Matching, titled: list[int], u: int) -> bool:
    """Tell whether a title is that of a new node which is not below the node `u`."""
    return any(u not in matching.new.above(other) for other in titled)


def _match_titles(matching: Matching) -> None:
    """Pair nodes of the same title: first those under one parent, from the top down, then those anywhere."""
    old, new = matching.old, matching.new
    for level in range(len(old.taxonomy.levels)):
        at_level = {v for v in old.taxonomy.levels[level].tolist() if v not in matching.new_of}
        if at_level:
            _pair_by(
                matching,
                at_level,
                lambda v: (matching.new_of.get(old.parent[v], -2 if old.parent[v] >= 0 else -1), old.titles[v]),
                lambda u: (new.parent[u], new.titles[u]),
                (0.5 * (SAME_NAME + SAME_TITLE), "same title below the same node"),
            )
    everywhere = matching.unmatched_old()
    _pair_by(
        matching,
        everywhere,
        lambda v: (old.is_leaf[v], old.titles[v]),
        lambda u: (new.is_leaf[u], new.titles[u]),
        (SAME_TITLE, "same title"),
    )
    _pair_by(
        matching,
        matching.unmatched_old(),
        lambda v: old.titles[v],
        lambda u: new.titles[u],
        (SAME_TITLE, "same title"),
    )


def _pair_by(
    matching: Matching,
    nodes: Iterable[int],
    old_key: Callable[[int], Hashable],
    new_key: Callable[[int], Hashable],
    reason: Reason,
) -> None:
    """Pair unmatched nodes that are the only ones with their key on both sides."""
    olds = _only(nodes, old_key)
    news = _only(matching.unmatched_new(), new_key)
    for key, v in olds.items():
        if key in news:
            matching.pair(v, news[key], *reason)


def _only(nodes: Iterable[int], key: Callable[[int], Any]) -> dict[Any, int]:
    keys = {v: key(v) for v in nodes}
    counts = Counter(keys.values())
    return {k: v for v, k in keys.items() if counts[k] == 1}


def match_inner_nodes(matching: Matching, targets: dict[int, list[int]]) -> dict[int, list[int]]:
    """Return the new inner nodes of each unmatched old inner node, found by the leaves below both.

    A new node is one of them if the leaves that come from the old node's make at least `NESTED` of the leaves of both.
    One that holds at least this part of the old node's leaves, and has an old node of its own, is a merge.
    """
    old, new = matching.old, matching.new
    sources: dict[int, set[int]] = defaultdict(set)
    for v, found in targets.items():
        for u in found:
            for above in new.above(u):
                sources[above].add(v)
    result: dict[int, list[int]] = {}
    for v in range(old.taxonomy.n_nodes - 1, -1, -1):
        if old.is_leaf[v] or (v in matching.new_of and not matching.is_renumbered(v)):
            continue
        leaves = {leaf for leaf in old.leaves_below(v) if targets.get(leaf)}
        share: dict[int, float] = {}
        inside: dict[int, float] = {}
        for u in {above for leaf in leaves for found in targets[leaf] for above in new.above(found)}:
            both = len(leaves & sources[u])
            share[u], inside[u] = both / len(leaves | sources[u]), both / len(leaves)
        free = [u for u in share if u not in matching.old_of and share[u] >= NESTED and not new.is_leaf[u]]
        if v in matching.new_of:  # by its title
            result[v] = sorted({matching.new_of[v], *(_topmost(new, free, share) if free else ())})
            continue
        if free:
            result[v] = _topmost(new, free, share)
            if len(result[v]) == 1 and result[v][0] not in matching.old_of:
                (u,) = result[v]
                matching.pair(v, u, 0.5 + 0.5 * share[u], f"{share[u]:.0%} of the leaves below are the same")
            continue
        held = [u for u in inside if inside[u] > NESTED and not new.is_leaf[u]]
        result[v] = [max(held, key=lambda u: (new.taxonomy.depth[u], -u))] if held else []
    return result


def _topmost(side: Side, nodes: list[int], share: dict[int, float]) -> list[int]:
    """Return the best nodes, without those below others that share as much."""
    best = max(share[u] for u in nodes)
    kept = [u for u in nodes if share[u] >= 0.9 * best]
    among = set(kept)
    return sorted(u for u in kept if not any(above in among for above in side.above(side.parent[u])))
