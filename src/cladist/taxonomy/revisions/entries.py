"""`Entry`: one pair of nodes of a crosswalk, and the kind of change, which follows from all pairs together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal, get_args

from cladist.errors import TaxonomyError, quoted, shorten
from cladist.taxonomy.structure import as_text, is_missing

Kind = Literal["one-to-one", "split", "merge", "move", "rename", "retire", "new"]
KINDS: tuple[Kind, ...] = get_args(Kind)
OF_PAIRS: tuple[Kind, ...] = ("one-to-one", "move", "rename")  # kinds that the pairs alone do not tell apart


@dataclass(frozen=True, slots=True)
class Entry:
    """A node of the old taxonomy, a node of the new one that holds some or all of it, and why.

    Parameters
    ----------
    old : str or None
        The node of the old taxonomy; None for a node that is new.
    new : str or None
        The node of the new taxonomy; None for a node that is retired.
    kind : {"one-to-one", "split", "merge", "move", "rename", "retire", "new"}
        What happened; of split, merge, retire and new, a crosswalk sees to that they agree with its other entries.
    confidence : float
        How sure the entry is, from 0 to 1.
    evidence : str
        What the entry follows from.
    """

    old: str | None
    new: str | None
    kind: Kind = "one-to-one"
    confidence: float = 1.0
    evidence: str = ""


def as_entry(value: Any, position: int) -> Entry:
    """Return an entry, built from a pair or a longer sequence (old, new, kind, confidence, evidence)."""
    if isinstance(value, Entry):
        entry = value
    elif isinstance(value, (tuple, list)) and 2 <= len(value) <= 5:
        names = [None if is_missing(name) else as_text(name) for name in value[:2]]
        entry = Entry(names[0], names[1], *value[2:])
    else:
        raise TaxonomyError(
            f"An entry of a crosswalk is a pair (old, new), or more of (old, new, kind, confidence, evidence); entry "
            f"{position} is {shorten(value)}."
        )
    if entry.old is None and entry.new is None:
        raise TaxonomyError(f"Entry {position} of the crosswalk names no node; give an old one, a new one or both.")
    if entry.kind not in KINDS:
        raise TaxonomyError(
            f"The kind of entry {position} of the crosswalk must be one of {', '.join(KINDS)}; got {entry.kind!r}."
        )
    confidence: Any = entry.confidence
    is_number = isinstance(confidence, (int, float)) and isfinite(confidence) and 0 <= confidence <= 1
    if not is_number or isinstance(confidence, bool):
        raise TaxonomyError(
            f"The confidence of entry {position} of the crosswalk must be a number from 0 to 1; got {confidence!r}."
        )
    return entry


def as_entries(values: Iterable[object]) -> tuple[Entry, ...]:
    """Return entries whose kinds agree with each other; a pair given twice, and a retired successor, are errors."""
    if isinstance(values, Mapping):
        values = [(old, new) for old, targets in values.items() for new in _as_targets(targets)]
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TaxonomyError(f"A crosswalk is made of pairs (old, new); got {type(values).__name__}.")
    entries = [as_entry(value, k) for k, value in enumerate(values)]
    _check_pairs(entries)
    return with_kinds(entries)


def _as_targets(targets: Any) -> Sequence[Any]:
    if is_missing(targets):
        return [None]
    if isinstance(targets, (set, frozenset)):
        return sorted(targets, key=str)
    return targets if isinstance(targets, (list, tuple)) else [targets]


def _check_pairs(entries: Sequence[Entry]) -> None:
    pairs = Counter((entry.old, entry.new) for entry in entries)
    twice = next((pair for pair, count in pairs.items() if count > 1), None)
    if twice is not None:
        old, new = (quoted(name) if name is not None else "nothing" for name in twice)
        raise TaxonomyError(f"The crosswalk has the entry from {old} to {new} twice; leave one out.")
    alone = {entry.old for entry in entries if entry.new is None}
    both = next((entry.old for entry in entries if entry.new is not None and entry.old in alone), None)
    if both is not None:
        raise TaxonomyError(f"In the crosswalk {quoted(both)} is retired and has a successor; leave one entry out.")
    alone = {entry.new for entry in entries if entry.old is None}
    both = next((entry.new for entry in entries if entry.old is not None and entry.new in alone), None)
    if both is not None:
        raise TaxonomyError(f"In the crosswalk {quoted(both)} is new and has a source; leave one entry out.")


def with_kinds(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return entries with the kinds that follow from their number; a pair alone keeps its own kind.

    An old node with several targets is split, whatever else happens to them: its rows are ambiguous. A new node with
    several sources, none of which is split, is a merge.
    """
    n_targets = Counter(entry.old for entry in entries if entry.old is not None)
    n_sources = Counter(entry.new for entry in entries if entry.new is not None)

    def resolve(entry: Entry) -> Kind:
        if entry.old is None:
            return "new"
        if entry.new is None:
            return "retire"
        if n_targets[entry.old] > 1:
            return "split"
        if n_sources[entry.new] > 1:
            return "merge"
        kind = own_kind(entry)
        return "rename" if kind == "one-to-one" and entry.old != entry.new else kind

    return tuple(
        entry if entry.kind == found else replace(entry, kind=found)
        for entry, found in ((entry, resolve(entry)) for entry in entries)
    )


def own_kind(entry: Entry) -> Kind:
    """Return the kind that an entry would have in a pair of its own."""
    return entry.kind if entry.kind in OF_PAIRS else "one-to-one"


def without_contradictions(entries: Sequence[Entry]) -> list[Entry]:
    """Leave out that a node has no successor or no source where other entries name one."""
    with_new = {entry.old for entry in entries if entry.new is not None}
    with_old = {entry.new for entry in entries if entry.old is not None}
    return [
        entry
        for entry in entries
        if not (entry.new is None and entry.old in with_new) and not (entry.old is None and entry.new in with_old)
    ]
