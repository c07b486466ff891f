"""A crosswalk as text: the nodes that change, one entry per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cladist.errors import visible

if TYPE_CHECKING:
    from cladist.taxonomy.revisions.crosswalk import Crosswalk
    from cladist.taxonomy.revisions.entries import Entry
    from cladist.taxonomy.taxonomy import Taxonomy


def draw(crosswalk: Crosswalk, *, most_lines: int) -> str:
    """Return the entries that change something, and below them how many nodes do not change."""
    changes = [entry for entry in crosswalk if entry.kind != "one-to-one"]
    width = max((len(entry.kind) for entry in changes), default=0)
    lines: list[str] = []
    before: str | None = None
    for entry in changes[:most_lines]:
        again = entry.old is not None and entry.old == before
        label = describe_node(entry.old, crosswalk.old)
        start = " " * (width + 2 + len(label)) if again else f"{entry.kind:<{width}}  {label}"
        lines.append(f"{start} → {describe_node(entry.new, crosswalk.new)}{_doubt(entry)}")
        before = entry.old
    if len(changes) > most_lines:
        lines.append(f"… and {len(changes) - most_lines:,} more entries")
    n_same, n_old = len(crosswalk) - len(changes), len(crosswalk.old_names)
    lines.append(f"{n_same:,} node{'s' * (n_same != 1)} of {n_old:,} {'is' if n_same == 1 else 'are'} unchanged")
    return "\n".join(lines)


def describe_node(name: str | None, taxonomy: Taxonomy | None) -> str:
    """Return the name of a node for people, with its title."""
    if name is None:
        return "nothing"
    title = "" if taxonomy is None else taxonomy.title_of(name)
    return visible(f"{name} {title}" if title and title != name else name)


def _doubt(entry: Entry) -> str:
    return f"  ({entry.confidence:.0%} sure)" if entry.confidence < 1 else ""
