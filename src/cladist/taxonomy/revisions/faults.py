"""What is wrong or doubtful in a crosswalk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cladist.errors import quoted
from cladist.taxonomy.revisions.composition import above

if TYPE_CHECKING:
    from cladist.taxonomy.revisions.crosswalk import Crosswalk
    from cladist.taxonomy.taxonomy import Taxonomy

MOST_SHOWN = 3
LOW_CONFIDENCE = 0.5


@dataclass(frozen=True)
class Fault:
    """A group of nodes with the same fault: a short identifier that never changes, the nodes, and a sentence."""

    kind: str
    nodes: tuple[str, ...]
    sentence: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


def find_faults(crosswalk: Crosswalk) -> tuple[Fault, ...]:
    """Return the faults of a crosswalk; those of names and coverage only where the taxonomies are known."""
    return tuple(_iterate_faults(crosswalk))


def _iterate_faults(crosswalk: Crosswalk) -> Iterator[Fault]:
    named_old, named_new = set(crosswalk.old_names), set(crosswalk.new_names)
    for side, taxonomy, names in (("old", crosswalk.old, named_old), ("new", crosswalk.new, named_new)):
        if taxonomy is None:
            continue
        unknown = sorted(name for name in names if name not in taxonomy)
        if unknown:
            be = "is" if len(unknown) == 1 else "are"
            yield _fault(
                f"unknown-{side}", unknown, f"{side} node", f"of the crosswalk {be} not in the {side} taxonomy"
            )
    if crosswalk.old is not None:
        covered = above(crosswalk.old, named_old)
        missing = [name for name in crosswalk.old.names if name not in covered]
        if missing:
            have = "has" if len(missing) == 1 else "have"
            yield _fault("missing-old", missing, "node", f"of the old taxonomy {have} no entry, so rows there are lost")
    if crosswalk.new is not None:
        missing = _unreachable(crosswalk, crosswalk.old, crosswalk.new)
        if missing:
            have = "has" if len(missing) == 1 else "have"
            problem = f"of the new taxonomy {have} no entry, so no row can reach it"
            yield _fault("missing-new", missing, "leaf", problem, "leaves")
    weak = sorted({entry.old for entry in crosswalk if entry.old is not None and entry.confidence < LOW_CONFIDENCE})
    if weak:
        have = "has" if len(weak) == 1 else "have"
        yield _fault("low-confidence", weak, "old node", f"{have} an entry below {LOW_CONFIDENCE:.0%} confidence")


def _unreachable(crosswalk: Crosswalk, old: Taxonomy | None, new: Taxonomy) -> list[str]:
    """Return the leaves of the new taxonomy without an entry; a leaf that became an inner node reaches those below."""
    reached = set(crosswalk.new_names)
    for entry in crosswalk:
        if entry.old is None or entry.new is None or entry.new not in new:
            continue
        if old is None or (entry.old in old and old.is_leaf[old.index(entry.old)]):
            reached.update(new.descendants(entry.new))
    return [new.names[v] for v in new.leaves if new.names[v] not in reached]


def _fault(kind: str, nodes: Sequence[str], noun: str, problem: str, plural: str | None = None) -> Fault:
    shown = ", ".join(quoted(name) for name in nodes[:MOST_SHOWN])
    more = f" and {len(nodes) - MOST_SHOWN:,} more" if len(nodes) > MOST_SHOWN else ""
    counted = f"{len(nodes):,} {noun if len(nodes) == 1 else plural or noun + 's'}"
    return Fault(kind, tuple(nodes), f"{counted} {problem}: {shown}{more}.")
