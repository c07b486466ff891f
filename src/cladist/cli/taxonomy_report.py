"""The description of a taxonomy as sentences and a table for people, and as values for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from cladist.cli.output import table
from cladist.report import Table
from cladist.taxonomy.inspection import Coverage, Findings, UnknownLabel

if TYPE_CHECKING:
    from cladist.cli.taxonomy import Description

MAX_SHOWN = 10  # examples of one finding
MAX_LEVELS = 40


def render(description: Description, data_name: str) -> list[Any]:
    """Return everything that the command prints."""
    taxonomy, findings, coverage, unknown = description
    parts: list[Any] = [summary(findings), table(level_table(findings, coverage))]
    parts += list(notes(findings)) or ["Nothing in it looks wrong."]
    if coverage is not None:
        parts += ["", *data_notes(coverage, unknown, data_name)]
    return [*parts, "", Text(str(taxonomy))]


def to_dict(description: Description) -> dict[str, Any]:
    """Return a description as values for JSON."""
    _, findings, coverage, unknown = description
    values = asdict(findings)
    values["nodes_by_level"] = [level.nodes for level in findings.levels]
    values["single_child_nodes"] = findings.chains.nodes
    if coverage is not None:
        counts = {name: value for name, value in asdict(coverage).items() if name != "rows_below"}
        values["data"] = counts | {"unknown_labels": [asdict(label) for label in unknown]}
    return values


def summary(findings: Findings) -> str:
    """Return the kind and the size of a taxonomy as a sentence."""
    kind = "DAG" if findings.kind == "dag" else findings.kind
    sizes = ((findings.nodes, "node|nodes"), (findings.leaves, "leaf|leaves"), (findings.edges, "edge|edges"))
    roots = f" with {findings.roots:,} roots" if findings.roots > 1 else ""
    return f"A {kind}{roots}: {', '.join(_count(n, forms) for n, forms in sizes)}, depth {findings.depth}."


def level_table(findings: Findings, coverage: Coverage | None) -> Table:
    """Return one row per level: the number of nodes of each kind, of children, and of rows of data."""
    is_dag = findings.kind == "dag"
    header = ["level", "nodes", "leaves", "inner", "children: min / median / max"]
    header += ["several parents"] if is_dag else []
    header += ["rows", "rows that end here"] if coverage is not None else []
    rows = []
    for k, level in enumerate(findings.levels[:MAX_LEVELS]):
        children = (level.fewest_children, level.median_children, level.most_children)
        cells = [str(k), f"{level.nodes:,}", f"{level.leaves:,}", f"{level.inner:,}"]
        cells += [" / ".join(f"{n:,}".removesuffix(".0") for n in children) if level.inner else ""]
        cells += [f"{level.several_parents:,}"] if is_dag else []
        cells += [f"{coverage.levels[k].rows:,}", f"{coverage.levels[k].ending:,}"] if coverage is not None else []
        rows.append(cells)
    if len(findings.levels) > MAX_LEVELS:
        rows.append(["…", *[""] * (len(header) - 1)])
    return Table(header, rows)


def notes(findings: Findings) -> Iterator[str]:
    """Yield a sentence about everything that may be a mistake."""
    chains = findings.chains
    if chains.nodes:
        yield (
            f"{_count(chains.nodes, 'inner node has|inner nodes have')} a single child, in "
            f"{_count(chains.chains, 'chain|chains')}; the longest is {_arrows(chains.example)}. "
            f"Contracted, {_count(chains.contracted_nodes, 'node|nodes')} would be left."
        )
    for groups, forms in (
        (findings.shared_titles, "title is shared by several nodes|titles are shared by several nodes"),
        (findings.alike_names, "name is spelt in several ways|names are spelt in several ways"),
        (findings.shared_parts, "last part occurs below several parents|last parts occur below several parents each"),
    ):
        if groups:
            items = [f"{group.text}: {_join([repr(name) for name in group.nodes])}" for group in groups]
            yield f"{_count(len(groups), forms)}:\n{_list(items)}"
    if findings.redundant_edges:
        n, (parent, child) = len(findings.redundant_edges), findings.redundant_edges[0]
        implied = _count(n, "edge is implied by others|edges are implied by others")
        yield f"{implied}, such as {parent} → {child} by {_arrows(findings.way_round)}."
    if findings.dropped_edges:
        edges = [f"{parent} → {child}" for parent, child in findings.dropped_edges]
        forms = "edge closed a cycle and was dropped|edges closed cycles and were dropped"
        yield f"{_count(len(edges), forms)}:\n{_list(edges)}"


def data_notes(coverage: Coverage, unknown: Sequence[UnknownLabel], name: str) -> Iterator[str]:
    """Yield sentences about the labelled rows of a data file beside a taxonomy."""
    fine = [] if unknown else ["every label is in the taxonomy"]
    fine += [] if coverage.empty_leaves else ["every leaf has rows"]
    yield f"{name}: {_count(coverage.rows, 'row|rows')}{'; ' if fine else ''}{' and '.join(fine)}."
    if unknown:
        forms = "label is not in the taxonomy|labels are not in the taxonomy"
        yield f"{_count(len(unknown), forms)}:\n{_list(map(_unknown_label, unknown))}"
    if coverage.rows_without_label:
        yield f"{_count(coverage.rows_without_label, 'row has|rows have')} no label in the taxonomy."
    if coverage.empty_leaves:
        leaves = coverage.empty_leaves
        yield f"{_count(len(leaves), 'leaf has|leaves have')} no rows: {_join(leaves)}."
    if coverage.empty_subtrees:
        nodes = _count(coverage.empty_inner_nodes, "inner node has|inner nodes have")
        yield f"{nodes} no rows at or below; the topmost: {_join(coverage.empty_subtrees)}."
    if coverage.inner_labels:
        most = sorted(coverage.inner_labels, key=lambda node: -node.rows)
        ends = _count(sum(node.rows for node in most), "label ends|labels end")
        names = _join([f"{node.node} ({node.rows:,})" for node in most])
        yield f"{ends} at {_count(len(most), 'inner node|inner nodes')}: {names}."
    if coverage.implied_labels:
        yield f"{_count(coverage.implied_labels, 'label is|labels are')} implied by another label of the row."


def _count(n: int, forms: str) -> str:
    """Return a number with the first of two forms if it is 1, with the second otherwise."""
    one, many = forms.split("|")
    return f"{n:,} {one if n == 1 else many}"


def _arrows(names: Sequence[str]) -> str:
    shown = names if len(names) <= MAX_SHOWN else (*names[: MAX_SHOWN - 2], "…", names[-1])
    return " → ".join(shown)


def _join(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_SHOWN:,} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more


def _list(texts: Iterable[str]) -> str:
    """Return one line for each of the first texts."""
    items = list(texts)
    more = [f"  … and {len(items) - MAX_SHOWN:,} more"] if len(items) > MAX_SHOWN else []
    return "\n".join([*(f"  {text}" for text in items[:MAX_SHOWN]), *more])


def _unknown_label(label: UnknownLabel) -> str:
    near = f"; did you mean {' or '.join(map(repr, label.near))}?" if label.near else ""
    return f"{label.label!r} ({label.count:,}){near}"
