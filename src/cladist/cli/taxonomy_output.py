"""What was found in a taxonomy, as sentences and tables for people and as plain values for machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from cladist.report import Table
from cladist.taxonomy.coverage import Coverage, UnknownLabel
from cladist.taxonomy.inspection import Findings, Group

MOST_SHOWN = 10  # examples of one thing
MOST_LEVELS = 40


def as_values(found: Findings) -> dict[str, Any]:
    """Return findings as values for JSON.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> from cladist.taxonomy.inspection import inspect
    >>> values = as_values(inspect(Taxonomy.from_paths(["sport/tennis/doubles", "art"])))
    >>> values["kind"], values["nodes_by_level"], values["single_child_nodes"]
    ('forest', [2, 1, 1], 2)
    """
    values = asdict(found)
    return values | {
        "nodes_by_level": [level.nodes for level in found.levels],
        "single_child_nodes": found.chains.nodes,
    }


def data_values(covered: Coverage, unknown: Sequence[UnknownLabel]) -> dict[str, Any]:
    """Return what labelled rows make of a taxonomy as values for JSON."""
    values = {name: value for name, value in asdict(covered).items() if name != "rows_below"}
    return values | {"unknown_labels": [asdict(label) for label in unknown]}


def summary(found: Findings) -> str:
    """Return the shape of a taxonomy as a sentence."""
    kind = "DAG" if found.kind == "dag" else found.kind
    counts = [_counted(found.nodes, "node"), _counted(found.leaves, "leaf", "leaves"), _counted(found.edges, "edge")]
    roots = f" with {found.roots:,} roots" if found.roots > 1 else ""
    return f"A {kind}{roots}: {', '.join(counts)}, depth {found.depth}."


def level_table(found: Findings, covered: Coverage | None) -> Table:
    """Return a row a level: how many nodes of which kind, how far they fan out, and how many rows of data come by."""
    has_several = found.kind == "dag"
    header = ["level", "nodes", "leaves", "inner", "children: min / median / max"]
    header += ["several parents"] if has_several else []
    header += ["rows", "rows that end here"] if covered is not None else []
    rows = []
    for k, level in enumerate(found.levels[:MOST_LEVELS]):
        fan_out = (level.fewest_children, level.median_children, level.most_children)
        cells = [str(k), f"{level.nodes:,}", f"{level.leaves:,}", f"{level.inner:,}"]
        cells += [" / ".join(f"{n:,}".removesuffix(".0") for n in fan_out) if level.inner else ""]
        cells += [f"{level.several_parents:,}"] if has_several else []
        cells += [f"{covered.levels[k].rows:,}", f"{covered.levels[k].ending:,}"] if covered is not None else []
        rows.append(cells)
    if len(found.levels) > MOST_LEVELS:
        rows.append(["…", *[""] * (len(header) - 1)])
    return Table(header, rows)


def remarks(found: Findings) -> Iterator[str]:
    r"""Yield a sentence about everything that may not be as meant.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> from cladist.taxonomy.inspection import inspect
    >>> print(*remarks(inspect(Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "c"), ("b", "B ")]))), sep="\n")
    1 name is spelt in several ways:
      b: 'b', 'B '
    1 edge is implied by others, such as a → c by a → b → c.
    """
    chains = found.chains
    if chains.nodes:
        which = "has" if chains.nodes == 1 else "have"
        yield (
            f"{_counted(chains.nodes, 'inner node')} {which} a single child, in {_counted(chains.chains, 'chain')}; "
            f"the longest is {_arrows(chains.example)}. "
            f"Contracted, {_counted(chains.contracted_nodes, 'node')} would be left."
        )
    for groups, what in (
        (found.shared_titles, "title stands at several nodes|titles stand at several nodes each"),
        (found.alike_names, "name is spelt in several ways|names are spelt in several ways"),
        (found.shared_parts, "last part stands below several parents|last parts stand below several parents each"),
    ):
        if groups:
            n, (one, several) = len(groups), what.split("|")
            yield f"{n:,} {one if n == 1 else several}:\n{_listed(map(_group, groups), n)}"
    if found.redundant_edges:
        n, (parent, child) = len(found.redundant_edges), found.redundant_edges[0]
        implied = "edge is implied by others" if n == 1 else "edges are implied by others"
        yield f"{n:,} {implied}, such as {parent} → {child} by {_arrows(found.way_round)}."
    if found.dropped_edges:
        n = len(found.dropped_edges)
        edges = (f"{parent} → {child}" for parent, child in found.dropped_edges)
        dropped = "edge closed a cycle and was left out" if n == 1 else "edges closed cycles and were left out"
        yield f"{n:,} {dropped}:\n{_listed(edges, n)}"


def data_remarks(covered: Coverage, unknown: Sequence[UnknownLabel], name: str) -> Iterator[str]:
    """Yield sentences about labelled rows beside a taxonomy."""
    fine = [] if unknown else ["every label is in the taxonomy"]
    fine += [] if covered.empty_leaves else ["every leaf has rows"]
    yield f"{name}: {_counted(covered.rows, 'row')}{'; ' if fine else ''}{' and '.join(fine)}."
    if unknown:
        n = len(unknown)
        what = "label is not in the taxonomy" if n == 1 else "labels are not in the taxonomy"
        yield f"{n:,} {what}:\n{_listed(map(_unknown, unknown), n)}"
    if covered.rows_without_label:
        which = "has" if covered.rows_without_label == 1 else "have"
        yield f"{_counted(covered.rows_without_label, 'row')} {which} no label in the taxonomy."
    if covered.empty_leaves:
        n = len(covered.empty_leaves)
        which = "has" if n == 1 else "have"
        yield f"{_counted(n, 'leaf', 'leaves')} {which} no rows: {_joined(covered.empty_leaves)}."
    if covered.empty_subtrees:
        n = covered.empty_inner_nodes
        which = "has" if n == 1 else "have"
        tops = _joined(covered.empty_subtrees)
        yield f"{_counted(n, 'inner node')} {which} no rows at or below; the topmost: {tops}."
    if covered.inner_labels:
        n_rows = sum(node.rows for node in covered.inner_labels)
        most = sorted(covered.inner_labels, key=lambda node: -node.rows)
        nodes = _joined([f"{node.node} ({node.rows:,})" for node in most])
        where = _counted(len(most), "inner node")
        yield f"{_counted(n_rows, 'label')} {'ends' if n_rows == 1 else 'end'} at {where}: {nodes}."
    if covered.implied_labels:
        are = "is" if covered.implied_labels == 1 else "are"
        yield f"{_counted(covered.implied_labels, 'label')} {are} implied by another label of the row."


def _counted(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _arrows(names: Sequence[str]) -> str:
    shown = names if len(names) <= MOST_SHOWN else (*names[: MOST_SHOWN - 2], "…", names[-1])
    return " → ".join(shown)


def _joined(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_SHOWN:,} more" if len(names) > MOST_SHOWN else ""
    return ", ".join(names[:MOST_SHOWN]) + more


def _listed(texts: Iterator[str], n: int) -> str:
    """Return a line for each of the first texts."""
    shown = [f"  {text}" for text, _ in zip(texts, range(MOST_SHOWN), strict=False)]
    return "\n".join([*shown, *([f"  … and {n - MOST_SHOWN:,} more"] if n > MOST_SHOWN else [])])


def _group(group: Group) -> str:
    return f"{group.text}: {_joined([repr(name) for name in group.nodes])}"


def _unknown(label: UnknownLabel) -> str:
    near = f"; did you mean {' or '.join(map(repr, label.near))}?" if label.near else ""
    return f"{label.label!r} ({label.count:,}){near}"
