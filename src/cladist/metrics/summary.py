"""`report`: every metric of one prediction, as tables, JSON or Markdown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from cladist.metrics.counts import Counts, LevelScore
from cladist.metrics.retrieval import count
from cladist.taxonomy import Taxonomy

# Key in `Report.metrics`: title in the tables.
_NUMBERS = {
    "accuracy": "accuracy (exact match)",
    "tree_induced_error": "tree-induced error (edges)",
    "multiclass_error": "multiclass error",
    "zero_one_loss": "zero-one loss",
    "symmetric_difference_loss": "symmetric difference (nodes)",
    "hamming_loss": "Hamming loss",
    "h_loss": "H-loss, uniform",
    "h_loss_sibling": "H-loss, sibling",
    "h_loss_subtree": "H-loss, subtree",
    "macro_f1_present": "macro F1, leaves with true rows",
}
# Pattern of three keys: title in the tables.
_SCORES = {
    "micro_{}": "leaves, micro",
    "macro_{}": "leaves, macro",
    "micro_{}_all": "all nodes, micro",
    "macro_{}_all": "all nodes, macro",
    "hierarchical_{}": "hierarchical, sums over rows",
    "hierarchical_{}_samples": "hierarchical, mean of rows",
}
_KINDS = ("precision", "recall", "f1")

_Table = tuple[list[str], list[list[str]]]


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
        return _collect_means(self.counts) | _collect_scores(self.counts)

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
        return "\n\n".join(_format_markdown(*table) for table in self._tables())

    def __str__(self) -> str:
        taxonomy = self.counts.taxonomy
        title = f"{self.counts.n_rows:,} rows, {taxonomy.n_nodes:,} nodes ({taxonomy.kind})"
        return "\n\n".join([title, *(_format_text(*table) for table in self._tables())])

    def __repr__(self) -> str:
        return f"Report({self.counts.n_rows} rows, accuracy {self.metrics['accuracy']:.4f})"

    def _tables(self) -> list[_Table]:
        numbers = [[title, _format(self.metrics[key])] for key, title in _NUMBERS.items() if key in self.metrics]
        scores = [
            [title, *(_format(self.metrics[pattern.format(kind)]) for kind in _KINDS)]
            for pattern, title in _SCORES.items()
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
    y_true, y_pred : labels in any form
        The true and the predicted labels.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    sample_weight : array of shape (n_rows,), optional
        The weight of each row; None: all equal.

    Examples
    --------
    >>> from cladist import Taxonomy
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
    multiclass error                 0.3333
    zero-one loss                    0.3333
    symmetric difference (nodes)     0.6667
    Hamming loss                     0.1667
    H-loss, uniform                  0.6667
    H-loss, sibling                  0.3333
    H-loss, subtree                  0.1667
    macro F1, leaves with true rows  0.5556
    <BLANKLINE>
    nodes                         precision  recall      F1
    leaves, micro                    0.6667  0.6667  0.6667
    leaves, macro                    0.5000  0.6667  0.5556
    all nodes, micro                 0.8000  0.8000  0.8000
    all nodes, macro                 0.6250  0.7500  0.6667
    hierarchical, sums over rows     0.8000  0.8000  0.8000
    hierarchical, mean of rows       0.8333  0.8333  0.8333
    <BLANKLINE>
    level  nodes  precision  recall      F1
    0          2     1.0000  1.0000  1.0000
    1          2     0.5000  0.5000  0.5000
    """
    return Report(count(y_true, y_pred, taxonomy, sample_weight=sample_weight))


def _format(value: float) -> str:
    return f"{value:.2e}" if 0 < value < 0.001 else f"{value:.4f}"


def _collect_means(counts: Counts) -> dict[str, float]:
    wrong = counts.mean("zero_one")
    differences = counts.mean("symmetric_difference")
    single = {"tree_induced_error": counts.mean("tree_distance"), "multiclass_error": wrong} if counts.is_single else {}
    return {
        "accuracy": 1.0 - wrong,
        **single,
        "zero_one_loss": wrong,
        "symmetric_difference_loss": differences,
        "hamming_loss": differences / counts.taxonomy.n_nodes,
        "h_loss": counts.mean("h_uniform"),
        "h_loss_sibling": counts.mean("h_sibling"),
        "h_loss_subtree": counts.mean("h_subtree"),
        "macro_f1_present": counts.macro_f1(absent="skip"),
    }


def _collect_scores(counts: Counts) -> dict[str, float]:
    triples = (
        counts.precision_recall_f1(average="micro", nodes="leaves"),
        counts.precision_recall_f1(average="macro", nodes="leaves"),
        counts.precision_recall_f1(average="micro", nodes="all"),
        counts.precision_recall_f1(average="macro", nodes="all"),
        counts.hierarchical_precision_recall_f1(average="micro"),
        counts.hierarchical_precision_recall_f1(average="samples"),
    )
    return {
        pattern.format(kind): value
        for pattern, triple in zip(_SCORES, triples, strict=True)
        for kind, value in triple._asdict().items()
    }


def _format_text(header: list[str], rows: list[list[str]]) -> str:
    """Align the first column left, the others right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(row: list[str]) -> str:
        first, *others = zip(row, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)])

    return "\n".join(map(line, [header, *rows]))


def _format_markdown(header: list[str], rows: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])
