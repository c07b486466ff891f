"""The description of a taxonomy, for people and as JSON, and its comparison with the labels of a data file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from rich.text import Text

from cladist.cli.input import LSHTC_ROWS, DataSource, find_node
from cladist.cli.output import MAX_SHOWN, join_names, join_path, table
from cladist.datasets import read_arff_hmc
from cladist.datasets.formats.lshtc import NO_LABEL
from cladist.datasets.formats.sparse_text import MOST_FEATURES, LabelNames, RowFormat, read_chunks
from cladist.datasets.formats.tables.reader import LabelColumn
from cladist.datasets.formats.tables.records import open_table
from cladist.errors import DatasetError, ParameterError, quoted
from cladist.report import Table
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.construction import guess_separator
from cladist.taxonomy.inspection import Coverage, Findings, UnknownLabel, count_coverage, find_unknown_labels

if TYPE_CHECKING:
    from cladist.cli.taxonomy import Description

Ids = npt.NDArray[np.int64]
LabelRows = tuple[list[str], Ids, Ids]  # distinct labels, their ids row by row, the number of labels of each row

MAX_LEVELS = 40
SVMLIGHT_ROWS = RowFormat(0, MOST_FEATURES, np.dtype(np.float32))


def render(description: Description, data_name: str) -> list[Any]:
    """Return everything that the command prints."""
    taxonomy, findings, coverage, unknown = description
    parts: list[Any] = [summary(findings), table(*level_table(findings, coverage))]
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
            f"{_count(chains.chains, 'chain|chains')}; the longest is {join_path(chains.example)}. "
            f"Contracted, {_count(chains.contracted_nodes, 'node|nodes')} would be left."
        )
    for groups, forms in (
        (findings.shared_titles, "title is shared by several nodes|titles are shared by several nodes"),
        (findings.alike_names, "name is spelt in several ways|names are spelt in several ways"),
        (findings.shared_parts, "last part occurs below several parents|last parts occur below several parents each"),
    ):
        if groups:
            items = [f"{group.text}: {join_names([repr(name) for name in group.nodes])}" for group in groups]
            yield f"{_count(len(groups), forms)}:\n{_list(items)}"
    if findings.redundant_edges:
        n, (parent, child) = len(findings.redundant_edges), findings.redundant_edges[0]
        implied = _count(n, "edge is implied by others|edges are implied by others")
        yield f"{implied}, such as {parent} → {child} by {join_path(findings.way_round)}."
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
        hints = [f"; did you mean {' or '.join(map(repr, label.near))}?" if label.near else "" for label in unknown]
        items = [f"{label.label!r} ({label.count:,}){hint}" for label, hint in zip(unknown, hints, strict=True)]
        yield f"{_count(len(unknown), forms)}:\n{_list(items)}"
    if coverage.rows_without_label:
        yield f"{_count(coverage.rows_without_label, 'row has|rows have')} no label in the taxonomy."
    if coverage.empty_leaves:
        leaves = coverage.empty_leaves
        yield f"{_count(len(leaves), 'leaf has|leaves have')} no rows: {join_names(leaves)}."
    if coverage.empty_subtrees:
        nodes = _count(coverage.empty_inner_nodes, "inner node has|inner nodes have")
        yield f"{nodes} no rows at or below; the topmost: {join_names(coverage.empty_subtrees)}."
    if coverage.inner_labels:
        most = sorted(coverage.inner_labels, key=lambda node: -node.rows)
        ends = _count(sum(node.rows for node in most), "label ends|labels end")
        names = join_names([f"{node.node} ({node.rows:,})" for node in most])
        yield f"{ends} at {_count(len(most), 'inner node|inner nodes')}: {names}."
    if coverage.implied_labels:
        yield f"{_count(coverage.implied_labels, 'label is|labels are')} implied by another label of the row."


def _count(n: int, forms: str) -> str:
    """Return a number with the first of two forms if it is 1, with the second otherwise."""
    one, many = forms.split("|")
    return f"{n:,} {one if n == 1 else many}"


def _list(items: Sequence[str]) -> str:
    """Return one line for each of the first texts."""
    more = [f"  … and {len(items) - MAX_SHOWN:,} more"] if len(items) > MAX_SHOWN else []
    return "\n".join([*(f"  {text}" for text in items[:MAX_SHOWN]), *more])


def column_tree(source: DataSource) -> tuple[Taxonomy, Coverage]:
    """Return the taxonomy that the labels of a table's column make as paths, and how its rows cover the nodes."""
    with source.progress():
        column, ids, n_labels = _read_table(source)
    sep = source.path_sep
    guess = None if sep else guess_separator(column)
    if sep is None:
        hint = ", such as '/'" if guess is None else f"; {guess[1]:,} of {len(column):,} labels contain {guess[0]!r}"
        raise ParameterError(f"The tree of a column is that of its paths: give their separator, --path-sep TEXT{hint}.")
    if not column:
        raise DatasetError(f"{source.name}: the column {source.label!r} has no labels.")
    paths = [[part.strip() for part in label.split(sep)] for label in column]
    broken = next((label for label, path in zip(column, paths, strict=True) if not all(path)), None)
    if broken is not None:
        raise DatasetError(f"{source.name}: the path {quoted(broken)} has an empty part.")
    taxonomy = Taxonomy.from_paths(paths, sep=sep)
    return taxonomy, compare(taxonomy, source, (column, ids, n_labels))[0]


def compare(
    taxonomy: Taxonomy, source: DataSource, rows: LabelRows | None = None
) -> tuple[Coverage, tuple[UnknownLabel, ...]]:
    """Return how the rows of a data file cover the nodes, and which of its labels are not in the taxonomy."""
    if rows is None:
        with source.progress():
            rows = _read_table(source) if source.kind == "table" else _read_numbers(source, taxonomy)
    labels, ids, n_labels = rows
    if not len(n_labels):
        raise DatasetError(f"{source.name}: the file has no rows.")
    nodes = np.array([find_node(taxonomy, label, source.path_sep) for label in labels], np.int64)
    rows_of = np.bincount(ids, minlength=len(labels))
    unknown = np.flatnonzero(nodes < 0).tolist()
    names, n_rows = [labels[k] for k in unknown], [int(rows_of[k]) for k in unknown]
    coverage = count_coverage(taxonomy, np.concatenate([[0], np.cumsum(n_labels)]), nodes[ids])
    return coverage, find_unknown_labels(taxonomy, names, n_rows, sep=source.path_sep or "/")


def _read_table(source: DataSource) -> LabelRows:
    stream, column = source.stream, source.label or ""
    with open_table(stream, text=(), label=column, format=source.format, query=source.query) as rows:
        labels = LabelColumn(stream, rows.unit, column, source.label_sep)
        for number, (value,) in rows:
            labels.add(number, value)
    labels.finish()
    ids = np.array(labels.rows, np.int64)
    return list(labels.ids), ids, np.array(labels.counts, np.int64) if labels.is_multi else np.ones_like(ids)


def _read_numbers(source: DataSource, taxonomy: Taxonomy) -> LabelRows:
    """Read the labels of ARFF, svmlight or LSHTC rows; in the latter, 0 stands for no label."""
    if source.kind == "arff":
        rows: Any = read_arff_hmc(source.stream, multilabel=True, on_cycle="drop").y
    else:
        is_lshtc = source.kind == "lshtc"
        names = LabelNames(None, nothing=NO_LABEL if is_lshtc and NO_LABEL not in taxonomy else None)
        for chunk in read_chunks(source.stream, LSHTC_ROWS if is_lshtc else SVMLIGHT_ROWS):
            names.add(chunk)
        rows = names.as_y(True) if names.counts else []
    id_of: dict[str, int] = {}
    ids = [id_of.setdefault(label, len(id_of)) for row in rows for label in row]
    return list(id_of), np.array(ids, np.int64), np.array([len(row) for row in rows], np.int64)
