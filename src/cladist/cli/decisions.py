"""Options of ``cladist predict`` that decide by probabilities: the rows they write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cladist.learners.row_decisions import DecidedRow

HELD_OUT = 0.2  # of the rows of ``cladist train --calibrate``
MOST_HELD_OUT = 20_000  # rows whose probabilities are saved with a model
LISTED = 100  # classes of each


def hold_out(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return arrays of the probabilities and labels of rows that a model was not trained on."""
    from cladist.labels import encode
    from cladist.learners.out_of_fold import last_step, transformed

    learner, rows = last_step(model), transformed(model, X)
    labels = encode(y, learner.taxonomy_).labels
    arrays = {"indptr": labels.indptr, "indices": labels.indices}
    if learner.decodes_sets:
        return arrays | {"probabilities": learner.predict_proba(rows, nodes="all")}
    top = learner.predict_proba(rows, top_k=LISTED)
    return arrays | {"columns": top.columns, "probabilities": top.probabilities}


@dataclass(frozen=True)
class DecisionLayout:
    """The form of a decided row: labels and paths that `separator` joins in a cell, and the columns of decisions."""

    separator: str
    path_separator: str
    is_set: bool

    def header(self) -> list[str]:
        """Return the column names of a table."""
        names = ["labels", "paths"] if self.is_set else ["label", "path"]
        return [*names, "confidence", "decided_at", "reason"]

    def cells(self, row: DecidedRow) -> list[str]:
        """Return a row of a table."""
        from cladist.cli.predict import escape_formula

        paths = [self.path_separator.join(path) for path in row.paths]
        texts = [self.separator.join(map(escape_formula, part)) for part in (row.labels, paths)]
        return [*texts, f"{row.confidence:.6g}", row.decided_at, row.reason]

    def to_dict(self, row: DecidedRow) -> dict[str, Any]:
        """Return a row as a JSON object."""
        confidence = None if row.confidence != row.confidence else float(f"{row.confidence:.6g}")
        others = {"confidence": confidence, "decided_at": row.decided_at, "reason": row.reason}
        if self.is_set:
            return {"labels": row.labels, "paths": row.paths, **others}
        return {"label": next(iter(row.labels), None), "path": next(iter(row.paths), None), **others}
