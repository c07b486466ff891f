"""`report`: every metric of one prediction, as tables, JSON or Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from cladist.errors import one_of
from cladist.metrics.counts import Counts, LevelScore, PrecisionRecallF1, count
from cladist.notebook import frame, html_rows
from cladist.taxonomy import Taxonomy

# For each key of `Report.metrics` its title in the tables, and how it is computed.
_NUMBERS: dict[str, tuple[str, Callable[[Counts], float]]] = {
    "accuracy": ("accuracy (exact match)", lambda counts: 1.0 - counts.mean("zero_one")),
    "tree_induced_error": ("tree-induced error (edges)", lambda counts: counts.mean("tree_distance")),
    "multiclass_error": ("multiclass error", lambda counts: counts.mean("zero_one")),
    "zero_one_loss": ("zero-one loss", lambda counts: counts.mean("zero_one")),
    "symmetric_difference_loss": ("symmetric difference (nodes)", lambda counts: counts.mean("symmetric_difference")),
    "hamming_loss": ("Hamming loss", lambda counts: counts.mean("symmetric_difference") / counts.taxonomy.n_nodes),
    "h_loss": ("H-loss, uniform", lambda counts: counts.mean("h_uniform")),
    "h_loss_sibling": ("H-loss, sibling", lambda counts: counts.mean("h_sibling")),
    "h_loss_subtree": ("H-loss, subtree", lambda counts: counts.mean("h_subtree")),
    "macro_f1_present": ("macro F1, leaves with true rows", lambda counts: counts.macro_f1(absent="skip")),
}
_SINGLE = ("tree_induced_error", "multiclass_error")  # only where every row has exactly one label
# The same for each pattern of three keys.
_SCORES: dict[str, tuple[str, Callable[[Counts], PrecisionRecallF1]]] = {
    "micro_{}": ("leaves, micro", lambda counts: counts.precision_recall_f1()),
    "macro_{}": ("leaves, macro", lambda counts: counts.precision_recall_f1(average="macro")),
    "micro_{}_all": ("all nodes, micro", lambda counts: counts.precision_recall_f1(nodes="all")),
    "macro_{}_all": ("all nodes, macro", lambda counts: counts.precision_recall_f1(average="macro", nodes="all")),
    "hierarchical_{}": ("hierarchical, sums over rows", lambda counts: counts.hierarchical_precision_recall_f1()),
    "hierarchical_{}_samples": (
        "hierarchical, mean of rows",
        lambda counts: counts.hierarchical_precision_recall_f1(average="samples"),
    ),
}


class NodeScore(NamedTuple):
    """The scores of one node; `support` is the weight of the rows that truly have it."""

    name: str
    support: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, eq=False)
class Report:
    """Every metric of one prediction; printing it shows the tables.

    Tree-induced and multiclass error are left out if a row has no label or several. 0/0 is 0.

    Attributes
    ----------
    counts : Counts
        The sums from which all numbers are computed.
    """

    counts: Counts

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every number by name, in the order of the tables."""
        numbers = {
            key: compute(self.counts)
            for key, (_, compute) in _NUMBERS.items()
            if self.counts.is_single or key not in _SINGLE
        }
        for pattern, (_, compute) in _SCORES.items():
            numbers.update((pattern.format(name), value) for name, value in compute(self.counts)._asdict().items())
        return numbers

    @cached_property
    def per_level(self) -> list[LevelScore]:
        """One entry per level, roots first."""
        return self.counts.per_level_precision_recall()

    @cached_property
    def per_node(self) -> list[NodeScore]:
        """One entry per node, in the order of the taxonomy."""
        support = self.counts.tp + self.counts.fn
        columns = (support, *self.counts.node_scores())
        rows = zip(self.counts.taxonomy.names, *(column.tolist() for column in columns), strict=True)
        return [NodeScore(*row) for row in rows]

    def to_dict(self, *, per_node: bool = False) -> dict[str, Any]:
        """Return everything as plain values; the entries of nodes, which may be many, only with `per_node`."""
        content = {
            "n_rows": self.counts.n_rows,
            "weight": self.counts.weight,
            "n_nodes": self.counts.taxonomy.n_nodes,
            "metrics": dict(self.metrics),
            "per_level": [row._asdict() for row in self.per_level],
        }
        if per_node:
            content["per_node"] = [row._asdict() for row in self.per_node]
        return content

    def to_json(self, *, per_node: bool = False, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(per_node=per_node), indent=indent, ensure_ascii=False)

    def to_markdown(self) -> str:
        """Return the tables in Markdown."""
        return "\n\n".join(_format_markdown(*table) for table in self.tables())

    def to_frame(self, per: str = "measure") -> Any:
        """Return a pandas DataFrame.

        Parameters
        ----------
        per : {"measure", "level", "node"}
            One row per measure, with its value; per level, or per node, with precision, recall and F1.
        """
        one_of("Report.to_frame", "per", per, ("measure", "level", "node"))
        if per == "measure":
            return frame({"measure": list(self.metrics), "value": list(self.metrics.values())})
        rows = [row._asdict() for row in (self.per_level if per == "level" else self.per_node)]
        return frame({name: [row[name] for row in rows] for name in rows[0]})

    def _repr_html_(self) -> str:
        return "".join(
            html_rows(repr(self) if k == 0 else "", header, rows) for k, (header, rows) in enumerate(self.tables())
        )

    def __str__(self) -> str:
        taxonomy = self.counts.taxonomy
        title = f"{self.counts.n_rows:,} rows, {taxonomy.n_nodes:,} nodes ({taxonomy.kind})"
        return "\n\n".join([title, *(text_table(*table) for table in self.tables())])

    def __repr__(self) -> str:
        return f"Report({self.counts.n_rows} rows, accuracy {self.metrics['accuracy']:.4f})"

    def tables(self) -> list[tuple[list[str], list[list[str]]]]:
        """Return header and rows of the tables: the measures, precision and recall over nodes, and over levels."""
        numbers = [[title, _format(self.metrics[key])] for key, (title, _) in _NUMBERS.items() if key in self.metrics]
        scores = [
            [title, *(_format(self.metrics[pattern.format(name)]) for name in PrecisionRecallF1._fields)]
            for pattern, (title, _) in _SCORES.items()
        ]
        sizes = [f"{len(ids):,}" for ids in self.counts.taxonomy.levels]
        levels = [
            [f"{row.level}", size, *map(_format, row[1:])] for row, size in zip(self.per_level, sizes, strict=True)
        ]
        return [
            (["measure", "value"], numbers),
            (["nodes", "precision", "recall", "F1"], scores),
            (["level", "nodes", "precision", "recall", "F1"], levels),
        ]


def report(y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, sample_weight: Any = None) -> Report:
    """Return every metric at once.

    Parameters
    ----------
    y_true, y_pred, taxonomy, sample_weight
        As in `precision_recall_f1`.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> result = report(["chess", "art", "tennis"], ["tennis", "art", "tennis"], taxonomy)
    >>> result.metrics["tree_induced_error"]
    0.666...
    >>> print(result)
    3 rows, 4 nodes (forest)
    <BLANKLINE>
    measure                           value
    accuracy (exact match)           0.6667
    tree-induced error (edges)       0.6667
    ...
    level  nodes  precision  recall      F1
    0          2     1.0000  1.0000  1.0000
    1          2     0.5000  0.5000  0.5000
    """
    return Report(count(y_true, y_pred, taxonomy, sample_weight=sample_weight))


def _format(value: float) -> str:
    return f"{value:.2e}" if 0 < value < 0.001 else f"{value:.4f}"


def text_table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table as text: the first column aligned left, the others right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(row: list[str]) -> str:
        first, *others = zip(row, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)])

    return "\n".join(map(line, [header, *rows]))


def _format_markdown(header: list[str], rows: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])
