"""The layout of a taxonomy drawing: which nodes are shown, and on which lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cladist.taxonomy import Taxonomy
from cladist.taxonomy.structure import Ids

MAX_LINES = 100  # a few screens
MAX_LEVELS = 12
SIBLING_SHARE = 0.6  # of the lines of a family that is cut; the other lines show nodes below the siblings
MIN_LINES = 3  # to show the children of a node: two of them and "… more"
TREE_SPACE, FAMILY_SPACE = 0.6, 0.2  # between trees and between families, in lines


@dataclass
class Entry:
    """A node of the drawing; `node` is None for the entry that stands for omitted siblings.

    `hidden` is the number of nodes that are not drawn: those below the node, or the omitted siblings and their
    descendants.
    """

    node: int | None
    parent: int  # a position in the list of entries; −1 at roots
    level: int
    hidden: int = 0
    siblings: int = 0  # omitted
    children: int = 0  # placed below it, drawn or not; in a DAG others may be placed below another parent
    line: float = 0.0


def lay_out(taxonomy: Taxonomy, *, max_lines: int = MAX_LINES, max_levels: int = MAX_LEVELS) -> list[Entry]:
    """Return the entries to draw, parents before children, from top to bottom.

    In a DAG a node is placed below its deepest parent. If there is no room for all nodes, every branch gets its share
    of the lines: small branches are shown completely, large ones down to the level where their lines end.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> [(taxonomy.names[entry.node], entry.level, entry.line) for entry in lay_out(taxonomy)]
    [('sport', 0, 0.5), ('tennis', 1, 0.0), ('chess', 1, 1.0), ('art', 0, 2.6)]
    """
    parent = taxonomy.deepest_parent
    lines, sizes = _subtree_sizes(taxonomy, parent, max_levels)
    order = np.argsort(parent, kind="stable")  # roots first, then the children of each node
    start = np.searchsorted(parent[order], np.arange(-1, taxonomy.n_nodes + 1))
    entries: list[Entry] = []
    # (node, lines it may take, position of its parent, omitted siblings); the node None stands for the latter.
    stack: list[tuple[int | None, int, int, Ids]] = []

    def push_children(node: int, n_lines: int, position: int) -> None:
        children = order[start[node + 1] : start[node + 2]]
        shares = share_lines([int(lines[c]) for c in children[: n_lines + 1]], len(children), n_lines)
        rest = children[len(shares) :]
        if len(rest):
            stack.append((None, 1, position, rest))
        pairs = list(zip(children, shares, strict=False))
        stack.extend((int(child), share, position, rest) for child, share in reversed(pairs))

    push_children(-1, max_lines, -1)
    while stack:
        node, n_lines, position, rest = stack.pop()
        level = entries[position].level + 1 if position >= 0 else 0
        if node is None:
            entries.append(Entry(None, position, level, int(sizes[rest].sum()), len(rest)))
            continue
        entry = Entry(node, position, level, children=int(start[node + 2] - start[node + 1]))
        entries.append(entry)
        if entry.children and level + 1 < max_levels and n_lines >= min(lines[node], MIN_LINES):
            push_children(node, n_lines, len(entries) - 1)
        else:
            entry.hidden = int(sizes[node]) - 1
    _set_lines(entries)
    return entries


def _subtree_sizes(taxonomy: Taxonomy, parent: Ids, max_levels: int) -> tuple[Ids, Ids]:
    """Return the number of lines and of nodes of each node's complete subtree."""
    lines, sizes = np.zeros(taxonomy.n_nodes, np.int64), np.ones(taxonomy.n_nodes, np.int64)
    for level in reversed(range(len(taxonomy.levels))):
        ids = taxonomy.levels[level]
        lines[ids] = np.maximum(lines[ids], 1)
        if level > 0:
            np.add.at(sizes, parent[ids], sizes[ids])
            if level < max_levels:
                np.add.at(lines, parent[ids], lines[ids])
    return lines, sizes


def share_lines(needs: Sequence[int], n_siblings: int, n_lines: int) -> list[int]:
    """Return the number of lines of each sibling; omitted siblings, at the end, get none and share one line.

    Parameters
    ----------
    needs : sequence of int
        The lines of each sibling's complete subtree; only the first `n_lines` + 1 matter.
    n_siblings : int
        The number of siblings.
    n_lines : int
        The number of lines for all of them.

    Examples
    --------
    >>> share_lines([2, 1, 40], 3, 50), share_lines([2, 1, 40], 3, 10), share_lines([1] * 9, 20, 8)
    ([2, 1, 40], [2, 1, 7], [1, 1, 1, 1, 1, 1, 1])
    """
    if n_siblings <= n_lines and sum(needs) <= n_lines:
        return list(needs)
    n_shown = n_siblings
    if n_siblings > n_lines * SIBLING_SHARE:
        are_leaves = all(need == 1 for need in needs[: n_lines - 1])
        most = n_lines - 1 if are_leaves else min(n_lines - 1, max(2, int(n_lines * SIBLING_SHARE)))
        n_shown = min(n_siblings, max(1, most))
    if n_shown == n_siblings - 1 and n_siblings <= n_lines:
        n_shown = n_siblings  # "… 1 more" would take as much space as the one
    shares = [1] * n_shown
    left = n_lines - n_shown - (n_shown < n_siblings)
    larger = [i for i in sorted(range(n_shown), key=lambda i: needs[i]) if needs[i] > 1]
    for k, i in enumerate(larger):
        left -= _add_lines(shares, needs, i, left // (len(larger) - k))
    for i in range(n_shown):
        left -= _add_lines(shares, needs, i, left)
    return shares


def _add_lines(shares: list[int], needs: Sequence[int], i: int, n_lines: int) -> int:
    """Give a sibling up to this many more lines, if they suffice to show children, and return how many."""
    n_added = min(needs[i] - shares[i], n_lines)
    if n_added <= 0 or shares[i] + n_added < min(needs[i], MIN_LINES):
        return 0
    shares[i] += n_added
    return n_added


def _set_lines(entries: list[Entry]) -> None:
    """Put entries without children on their own lines, and the others halfway between their first and last child."""
    line = -1.0
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    parents = {entry.parent for entry in entries}
    for k, entry in enumerate(entries):
        if entry.parent < 0 and k and (k in parents or entries[k - 1].parent >= 0):
            line += TREE_SPACE
        elif k and entry.level < entries[k - 1].level:
            line += FAMILY_SPACE
        if k not in parents:
            line += 1
            entry.line = line
    for k in range(len(entries) - 1, -1, -1):
        entry = entries[k]
        if k in parents:
            entry.line = (first[k] + last[k]) / 2
        last.setdefault(entry.parent, entry.line)
        first[entry.parent] = entry.line
