"""Which nodes of a taxonomy a drawing shows, and where: levels from left to right, a line for each end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cladist.taxonomy import Taxonomy
from cladist.taxonomy.structure import Ids

MOST_LINES = 100  # a few screens
MOST_LEVELS = 12
BREADTH = 0.6  # of the lines of a family that is cut, the share for siblings; the others show what is below them
LEAST_LINES = 3  # for a node to be worth opening: two children and "… more"
SPACE_BETWEEN_TREES, SPACE_BETWEEN_FAMILIES = 0.6, 0.2  # of a line


@dataclass
class Entry:
    """A node that is drawn, or with `node` None what stands for the siblings left out above it.

    `hidden` counts the nodes that it stands for: those below it, or those left out with all that is below them.
    """

    node: int | None
    parent: int  # a position in the list of entries; −1 at roots
    level: int
    hidden: int = 0
    siblings: int = 0  # left out
    children: int = 0  # that stand below it, drawn or not; in a DAG others may stand below another parent
    line: float = 0.0


def laid_out(taxonomy: Taxonomy, *, most_lines: int = MOST_LINES, most_levels: int = MOST_LEVELS) -> list[Entry]:
    """Return what to draw, parents before children, from top to bottom.

    In a DAG a node stands below its deepest parent. Where there is no room for all, every branch gets its share of the
    lines: small ones are shown whole, large ones down to where their share ends.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> [(taxonomy.names[entry.node], entry.level, entry.line) for entry in laid_out(taxonomy)]
    [('sport', 0, 0.5), ('tennis', 1, 0.0), ('chess', 1, 1.0), ('art', 0, 2.6)]
    """
    parent = taxonomy.deepest_parent
    lines, sizes = _below(taxonomy, parent, most_levels)
    order = np.argsort(parent, kind="stable")  # roots first, then the children of each node
    start = np.searchsorted(parent[order], np.arange(-1, taxonomy.n_nodes + 1))
    entries: list[Entry] = []
    # A stack of (node, lines it may take, position of its parent); None stands for siblings left out.
    stack: list[tuple[int | None, int, int, Ids]] = []

    def open_family(node: int, room: int, at: int) -> None:
        children = order[start[node + 1] : start[node + 2]]
        shares = shared([int(lines[c]) for c in children[: room + 1]], len(children), room)
        rest = children[len(shares) :]
        if len(rest):
            stack.append((None, 1, at, rest))
        stack.extend((int(c), share, at, rest) for c, share in reversed(list(zip(children, shares, strict=False))))

    open_family(-1, most_lines, -1)
    while stack:
        found, room, at, rest = stack.pop()
        level = entries[at].level + 1 if at >= 0 else 0
        if found is None:
            entries.append(Entry(None, at, level, int(sizes[rest].sum()), len(rest)))
            continue
        entry = Entry(found, at, level, children=int(start[found + 2] - start[found + 1]))
        entries.append(entry)
        if entry.children and level + 1 < most_levels and room >= min(lines[found], LEAST_LINES):
            open_family(found, room, len(entries) - 1)
        else:
            entry.hidden = int(sizes[found]) - 1
    _give_lines(entries)
    return entries


def _below(taxonomy: Taxonomy, parent: Ids, most_levels: int) -> tuple[Ids, Ids]:
    """Return the lines that each node would take with all that is below it, and the number of nodes."""
    lines, sizes = np.zeros(taxonomy.n_nodes, np.int64), np.ones(taxonomy.n_nodes, np.int64)
    for level in reversed(range(len(taxonomy.levels))):
        ids = taxonomy.levels[level]
        lines[ids] = np.maximum(lines[ids], 1)
        if level > 0:
            np.add.at(sizes, parent[ids], sizes[ids])
            if level < most_levels:
                np.add.at(lines, parent[ids], lines[ids])
    return lines, sizes


def shared(wanted: Sequence[int], n_siblings: int, room: int) -> list[int]:
    """Return how many lines each sibling gets; the last ones, which get none, are left out and take one together.

    Parameters
    ----------
    wanted : sequence of int
        The lines that each sibling would take; more than `room` of them are not looked at.
    n_siblings : int
        How many there are.
    room : int
        The lines there are.

    Examples
    --------
    >>> shared([2, 1, 40], 3, 50), shared([2, 1, 40], 3, 10), shared([1] * 9, 20, 8)
    ([2, 1, 40], [2, 1, 7], [1, 1, 1, 1, 1, 1, 1])
    """
    if n_siblings <= room and sum(wanted) <= room:
        return list(wanted)
    shown = n_siblings
    if n_siblings > room * BREADTH:
        are_plain = sum(wanted[: room - 1]) == len(wanted[: room - 1])
        most = room - 1 if are_plain else min(room - 1, max(2, int(room * BREADTH)))
        shown = min(n_siblings, max(1, most))
    if shown == n_siblings - 1 and n_siblings <= room:
        shown = n_siblings  # "… 1 more" would take as much room as the one
    shares = [1] * shown
    left = room - shown - (shown < n_siblings)
    larger = [i for i in sorted(range(shown), key=lambda i: wanted[i]) if wanted[i] > 1]
    for k, i in enumerate(larger):
        left -= _give(shares, wanted, i, left // (len(larger) - k))
    for i in range(shown):
        left -= _give(shares, wanted, i, left)
    return shares


def _give(shares: list[int], wanted: Sequence[int], i: int, lines: int) -> int:
    """Give one of several siblings up to so many lines more, if it can do something with them; return how many."""
    given = min(wanted[i] - shares[i], lines)
    if given <= 0 or shares[i] + given < min(wanted[i], LEAST_LINES):
        return 0
    shares[i] += given
    return given


def _give_lines(entries: list[Entry]) -> None:
    """Put ends on lines of their own, and every other entry between its first and last child."""
    line = -1.0
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    is_parent = {entry.parent for entry in entries}
    for k, entry in enumerate(entries):
        if entry.parent < 0 and k and (k in is_parent or entries[k - 1].parent >= 0):
            line += SPACE_BETWEEN_TREES
        elif k and entry.level < entries[k - 1].level:
            line += SPACE_BETWEEN_FAMILIES
        if k not in is_parent:
            line += 1
            entry.line = line
    for k in range(len(entries) - 1, -1, -1):
        entry = entries[k]
        if k in is_parent:
            entry.line = (first[k] + last[k]) / 2
        last.setdefault(entry.parent, entry.line)
        first[entry.parent] = entry.line
