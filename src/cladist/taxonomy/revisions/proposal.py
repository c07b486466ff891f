"""Propose the crosswalk between two taxonomies from their names, titles, other words and trees.

1. Nodes of the same name, then of the same title, are the same (`matching`).
2. An old leaf that is an inner node now is split into the leaves below it that have no source of their own.
3. Every new leaf without a source takes the most similar of the old leaves that are gone from the same place.
4. An old leaf that still has no target goes to the most similar new leaf: in the same place, then anywhere.
5. Inner nodes without a pair are the same, or split, by the leaves below them.
6. The others are retired, or new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cladist.errors import TaxonomyError
from cladist.taxonomy.revisions.crosswalk import Crosswalk
from cladist.taxonomy.revisions.entries import Entry, Kind
from cladist.taxonomy.revisions.likeness import Index, Likeness, code_likeness, collect_words
from cladist.taxonomy.revisions.matching import Matching, Reason, match_inner_nodes, match_nodes

if TYPE_CHECKING:
    from cladist.taxonomy.taxonomy import Taxonomy

SPLIT = 0.98  # the code is that of an inner node now
WEIGHT_OF_CODES = 0.2
ALIKE_HERE = 0.3  # likeness from which a new leaf comes from an old one that is gone from the same place
ALIKE_BESIDE = 0.45  # … from which an old leaf goes to a new one that has a source, in the same place
ALIKE_ANYWHERE = 0.6  # … from which it goes to a new leaf anywhere
WIDEST_PLACE = 2_000  # leaves of one place that are compared with each other
ROWS_FROM = 0.5  # the part of the rows with a new node's words that must come from one old node
FEWEST_ROWS = 3

Targets = dict[int, dict[int, Reason]]


def propose(old: Taxonomy, new: Taxonomy, *, texts: Any = None, new_texts: Any = None) -> Crosswalk:
    """Return the proposed crosswalk; `texts` and `new_texts` are rows' texts by node, or a pair (texts, labels)."""
    rows = as_texts(texts, "texts"), as_texts(new_texts, "new_texts")
    words = [
        collect_words([taxonomy.words_of(name) for name in taxonomy.names], taxonomy.names, given)
        for taxonomy, given in zip((old, new), rows, strict=True)
    ]
    matching = match_nodes(old, new, Likeness(*words))
    targets = _leaf_targets(matching)
    if rows[0]:
        _link_by_rows(matching, targets, rows[0])
    inner = match_inner_nodes(matching, {v: list(found) for v, found in targets.items()})
    return Crosswalk(_entries(matching, targets, inner), old=old, new=new)


def as_texts(texts: Any, what: str) -> dict[str, list[str]]:
    """Return rows' texts by node, from such a mapping or from a pair (texts, labels)."""
    if texts is None:
        return {}
    if isinstance(texts, Mapping):
        return {str(name): [rows] if isinstance(rows, str) else list(map(str, rows)) for name, rows in texts.items()}
    if isinstance(texts, (tuple, list)) and len(texts) == 2 and len(texts[0]) == len(texts[1]):
        grouped: dict[str, list[str]] = defaultdict(list)
        for text, label in zip(*texts, strict=True):
            grouped[str(label)].append(str(text))
        return dict(grouped)
    raise TaxonomyError(
        f"{what} must be a mapping of node to the texts of its rows, or a pair (texts, labels) of equal length; got "
        f"{type(texts).__name__}."
    )


# ------------------------------------------------------------------ leaves


def _leaf_targets(matching: Matching) -> Targets:
    """Return the targets of every old leaf."""
    old, new = matching.old, matching.new
    targets: Targets = {v: {} for v in range(old.taxonomy.n_nodes) if old.is_leaf[v]}
    for v, found in targets.items():
        if v in matching.new_of:
            u, reason = matching.new_of[v], matching.reasons[v]
            below = [] if new.is_leaf[u] else [leaf for leaf in new.leaves_below(u) if leaf not in matching.old_of]
            sure = min(SPLIT, reason[0])
            found.update(dict.fromkeys(below, (sure, "now an inner node")) if below else {u: reason})
    taken = {u for found in targets.values() for u in found}
    free = [u for u in matching.unmatched_new() if new.is_leaf[u] and u not in taken]
    gone = [v for v, found in targets.items() if not found or matching.is_renumbered(v)]
    _link_in_place(matching, targets, gone, free)
    _link_merged(matching, targets, [v for v in gone if not targets[v]])
    return targets


def _place(matching: Matching, side: int, v: int) -> int:
    """Return the new id of the nearest node above, or at, a node that is in a pair; −1 if there is none."""
    if side:
        return next((u for u in matching.new.above(v) if u in matching.old_of), -1)
    return next((matching.new_of[a] for a in matching.old.above(v) if a in matching.new_of), -1)


def _score(matching: Matching, v: int, u: int) -> float:
    names = matching.old.taxonomy.names[v], matching.new.taxonomy.names[u]
    return (1 - WEIGHT_OF_CODES) * matching.likeness.cosine(v, u) + WEIGHT_OF_CODES * code_likeness(*names)


def _evidence(matching: Matching, v: int, u: int, where: str) -> str:
    words = ", ".join(matching.likeness.shared(v, u))
    return f"{where}, words {matching.likeness.cosine(v, u):.0%} alike" + (f" ({words})" if words else "")


def _link_in_place(matching: Matching, targets: Targets, gone: Sequence[int], free: Sequence[int]) -> None:
    """Link every new leaf to the most similar old leaf that is gone from the same place."""
    below: dict[int, list[int]] = defaultdict(list)  # leaves that are gone, by the nearest pair above them
    for v in gone:
        pairs = [above for above in matching.old.above(matching.old.parent[v]) if above in matching.new_of]
        lasting = [above for above in pairs if not matching.is_renumbered(above)]  # which new nodes are below, too
        for above in {*pairs[:1], *lasting[:1]}:
            below[matching.new_of[above]].append(v)
    for u in free:
        place = _place(matching, 1, u)
        if not below.get(place) or len(below[place]) > WIDEST_PLACE:
            continue
        score, v = max((_score(matching, v, u), -v) for v in below[place])
        if score >= ALIKE_HERE:
            targets[-v][u] = (0.6 + 0.4 * score, _evidence(matching, -v, u, "in place of it"))


def _link_merged(matching: Matching, targets: Targets, gone: Sequence[int]) -> None:
    """Link old leaves without a target to the most similar new leaf, in the same place or else anywhere."""
    if not gone:
        return
    new = matching.new
    above: dict[int, list[int]] = {}
    index = Index(matching.likeness, [u for u in range(new.taxonomy.n_nodes) if new.is_leaf[u]])
    for v in gone:
        place = _place(matching, 0, v)
        if place >= 0:
            if place not in above:
                above[place] = new.leaves_below(place)
            near = above[place]
            if near == [place]:
                targets[v][place] = (SPLIT, "the node above it is a leaf now")
                continue
            if len(near) <= WIDEST_PLACE:
                score, u = max((_score(matching, v, u), -u) for u in near)
                if score >= ALIKE_BESIDE:
                    targets[v][-u] = (0.3 + 0.6 * score, _evidence(matching, v, -u, "in the same place"))
                    continue
        best = index.best(v)
        if best is not None and best[1] >= ALIKE_ANYWHERE:
            targets[v][best[0]] = (0.2 + 0.7 * best[1], _evidence(matching, v, best[0], "elsewhere"))


def _link_by_rows(matching: Matching, targets: Targets, texts: Mapping[str, Sequence[str]]) -> None:
    """Link new leaves without a source to the old node beside them most of whose rows have their words."""
    from cladist.taxonomy.revisions.likeness import stems

    new = matching.new
    taken = {u for found in targets.values() for u in found}
    beside: dict[int, list[int]] = defaultdict(list)
    for v in targets:
        beside[_place(matching, 0, matching.old.parent[v]) if matching.old.parent[v] >= 0 else -1].append(v)
    for u in matching.unmatched_new():
        if not new.is_leaf[u] or u in taken:
            continue
        words = set(matching.likeness.vector(1, u))
        counts = {
            v: sum(bool(words & set(stems(row))) for row in texts.get(matching.old.taxonomy.names[v], ()))
            for v in beside.get(_place(matching, 1, u), ())
        }
        total = sum(counts.values())
        if not total:
            continue
        v = max(counts, key=lambda v: (counts[v], -v))
        share = counts[v] / total
        if counts[v] >= FEWEST_ROWS and share > ROWS_FROM:
            targets[v][u] = (0.5 * share + 0.3, f"{counts[v]:,} rows of it have words of the new node")


# ------------------------------------------------------------------ entries


def _entries(matching: Matching, targets: Targets, inner: Mapping[int, Sequence[int]]) -> Iterator[Entry]:
    """Yield the entries of all old nodes, in their order, then those of new nodes without a source."""
    old, new = matching.old, matching.new
    parents: dict[int, set[int]] = defaultdict(set)  # new nodes that stand for an old inner node
    for v, nodes in inner.items():
        parents[v].update(nodes)
    for v, u in matching.new_of.items():
        parents[v].add(u)
    reached: set[int] = set()
    for v, name in enumerate(old.taxonomy.names):
        found: Mapping[int, Reason]
        if old.is_leaf[v]:
            found = targets[v]
        else:
            found = dict.fromkeys(inner.get(v, ()), (0.8, "the leaves below"))
            if v in matching.new_of:
                found = {**found, matching.new_of[v]: matching.reasons[v]}
        if not found:
            yield Entry(name, None, "retire", 0.9, "no node like it")
        for u, (sure, evidence) in found.items():
            reached.update(new.above(u))
            kind = _kind(matching, parents, v, u)
            yield Entry(name, new.taxonomy.names[u], kind, round(sure, 4), evidence)
    for u, name in enumerate(new.taxonomy.names):
        if u not in reached:
            yield Entry(None, name, "new", 0.9, "no node like it")


def _kind(matching: Matching, parents: Mapping[int, set[int]], v: int, u: int) -> Kind:
    """Return the kind of a pair that stands alone."""
    old, new = matching.old, matching.new
    above, others = old.taxonomy.parent_ids(v).tolist(), set(new.taxonomy.parent_ids(u).tolist())
    images = [parents.get(parent, set()) & others for parent in above]
    stays = all(images) and set().union(*images) == others
    if not stays:
        return "move"
    name, titles = old.taxonomy.names[v], [t.title_of(n) for t, n in _named(matching, v, u)]
    same = name == new.taxonomy.names[u] and (titles[0] == titles[1] or not all(titles))
    return "one-to-one" if same else "rename"


def _named(matching: Matching, v: int, u: int) -> tuple[tuple[Taxonomy, str], tuple[Taxonomy, str]]:
    """Return taxonomy and name of an old and of a new node."""
    old, new = matching.old.taxonomy, matching.new.taxonomy
    return (old, old.names[v]), (new, new.names[u])
