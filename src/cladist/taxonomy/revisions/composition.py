"""Crosswalks from crosswalks: one after another, and with the nodes that a table of changes leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy.revisions.entries import Entry, Kind, without_contradictions

if TYPE_CHECKING:
    from cladist.taxonomy.revisions.crosswalk import Crosswalk
    from cladist.taxonomy.taxonomy import Taxonomy


def compose(first: Crosswalk, second: Crosswalk) -> list[Entry]:
    """Return the entries over two revisions; each pair is kept once, by its best way."""
    best: dict[tuple[str | None, str | None], Entry] = {}

    def keep(entry: Entry) -> None:
        pair = entry.old, entry.new
        if pair not in best or best[pair].confidence < entry.confidence:
            best[pair] = entry

    for entry in first:
        if entry.new is None:
            keep(entry)
            continue
        if entry.new not in second:
            raise TaxonomyError(
                f"compose: the second crosswalk has no old node {quoted(entry.new)}, which the first one leads to; if "
                "it lists changes only, use second.completed()."
            )
        for onward in second.entries_of(entry.new):
            if not (entry.old is None and onward.new is None):  # it came and went
                keep(_join(entry, onward))
    for onward in second:
        if onward.old is None:
            keep(onward)
    return without_contradictions(list(best.values()))


def _join(first: Entry, second: Entry) -> Entry:
    kinds = {first.kind, second.kind}
    kind: Kind = "move" if "move" in kinds else "rename" if "rename" in kinds else "one-to-one"
    evidence = "; ".join(dict.fromkeys(text for text in (first.evidence, second.evidence) if text))
    return Entry(first.old, second.new, kind, first.confidence * second.confidence, evidence)


def missing_entries(crosswalk: Crosswalk) -> Iterator[Entry]:
    """Yield an entry for every node of the two taxonomies that the crosswalk does not name."""
    old, new = crosswalk.old, crosswalk.new
    if old is None or new is None:
        raise TaxonomyError("Crosswalk.completed needs both taxonomies; give them as Crosswalk(…, old=…, new=…).")
    named_old, named_new = set(crosswalk.old_names), set(crosswalk.new_names)
    persist = {name for name in old.names if name in new and name not in named_old}
    for name in old.names:
        if name in persist:
            moved = old.parents_of(name) != new.parents_of(name)
            yield Entry(name, name, "move" if moved else "one-to-one", 1.0, "same name")
    covered_old, covered_new = above(old, named_old | persist), above(new, named_new | persist)
    yield from (
        Entry(name, None, "retire", 1.0, "not in the new taxonomy") for name in old.names if name not in covered_old
    )
    yield from (
        Entry(None, name, "new", 1.0, "not in the old taxonomy") for name in new.names if name not in covered_new
    )


def above(taxonomy: Taxonomy, names: set[str]) -> set[str]:
    """Return the names, and those of all nodes above them."""
    covered = set(names)
    for v in range(taxonomy.n_nodes - 1, -1, -1):  # children before parents
        if taxonomy.names[v] in covered:
            covered.update(taxonomy.names[p] for p in taxonomy.parent_ids(v))
    return covered
