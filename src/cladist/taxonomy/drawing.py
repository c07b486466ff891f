"""Draw a taxonomy as text, cut where it is long."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cladist.taxonomy.taxonomy import Taxonomy

MOST_LINES = 60  # about a screen
MOST_CHILDREN = 8
ELSEWHERE = "↗"


def draw(taxonomy: Taxonomy, *, most_lines: int = MOST_LINES, most_children: int = MOST_CHILDREN) -> str:
    """Return the tree with one node per line; long lists of children and long drawings are cut, with a note."""
    lines: list[str] = []
    # A stack of (node id, or None if nothing is drawn below it; label; indent; branch; indent of its children).
    stack = _entries(taxonomy, taxonomy.roots.tolist(), "", most_children, parent=-1)[::-1]
    while stack:
        node, label, indent, branch, below = stack.pop()
        if len(lines) == most_lines:
            lines.append(f"… and more ({taxonomy.n_nodes} nodes in all)")
            break
        lines.append(f"{indent}{branch}{label}")
        if node is not None:
            children = taxonomy.child_ids(node).tolist()
            stack.extend(_entries(taxonomy, children, indent + below, most_children, parent=node)[::-1])
    if taxonomy.kind == "dag":
        lines.append(f"{ELSEWHERE} has several parents; what is below it stands at the deepest")
    return "\n".join(lines)


_Entry = tuple[int | None, str, str, str, str]


def _entries(taxonomy: Taxonomy, nodes: list[int], indent: str, most: int, *, parent: int) -> list[_Entry]:
    """Return one entry for each node that is shown below a parent, and one for those left out."""
    shown = nodes if len(nodes) <= most + 1 else nodes[:most]
    labels: list[tuple[int | None, str]] = []
    for v in shown:
        here = taxonomy.deepest_parent[v] == parent
        labels.append((v, _label(taxonomy, v)) if here else (None, f"{_label(taxonomy, v)} {ELSEWHERE}"))
    if len(shown) < len(nodes):
        labels.append((None, f"… {len(nodes) - len(shown)} more"))
    if parent < 0:
        return [(v, label, "", "", "") for v, label in labels]
    last = len(labels) - 1
    return [
        (v, label, indent, "└── " if k == last else "├── ", "    " if k == last else "│   ")
        for k, (v, label) in enumerate(labels)
    ]


def _label(taxonomy: Taxonomy, v: int) -> str:
    name = taxonomy.names[v]
    title = taxonomy.title_of(name)
    return f"{name}  {title}" if title else name
