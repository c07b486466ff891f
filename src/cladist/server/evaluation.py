"""`Evaluation`: the predictions of a model for labelled rows, as numbers, confusions and sample errors of each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.decisions import automation_curve
from cladist.labels import LabelMatrix, TopK, encode
from cladist.learners.out_of_fold import last_step, transformed
from cladist.learners.probability_classifier import ProbabilityClassifier
from cladist.server.nodes import Nodes

Ids = npt.NDArray[np.int64]
N_CONFUSIONS, N_ERRORS = 20, 20
BATCH = 4096  # rows predicted at once
LISTED = 100  # classes of each


class LabelledRows(NamedTuple):
    """Rows with labels: texts or a matrix, the labels in any form, and what is shown of each row."""

    X: Any
    y: Any
    texts: Sequence[str]


def automation_of(served: Any) -> dict[str, Any]:
    """Return the rows and the curve of automation of a `ServedModel`: of its evaluation, or of rows held out."""
    learner, calibration, evaluation = served.learner, served.calibration, served.evaluation
    if isinstance(learner, ProbabilityClassifier) and not learner.decodes_sets:
        if evaluation is not None and evaluation.probabilities is not None:
            return _automation(learner, evaluation.probabilities, evaluation.truth, "evaluation")
        if calibration:
            P = TopK(calibration["columns"], calibration["probabilities"])
            labels = LabelMatrix(calibration["indptr"], calibration["indices"], learner.taxonomy_)
            return _automation(learner, P, labels, "held out in training")
    return {"source": None, "rows": 0, "curve": None}


def _automation(learner: Any, P: TopK, labels: LabelMatrix, source: str) -> dict[str, Any]:
    taxonomy = learner.taxonomy_
    curve = automation_curve(P, labels, taxonomy, classes=[taxonomy.names[v] for v in learner.class_nodes_])
    columns = {name: np.round(values, 4).tolist() for name, values in curve._asdict().items()}
    return {"source": source, "rows": len(labels), "curve": columns}


def evaluate(model: Any, rows: LabelledRows) -> Evaluation:
    """Return the predictions of a model for labelled rows, all of whose labels its taxonomy has."""
    taxonomy = last_step(model).taxonomy_
    truth = encode(rows.y, taxonomy).labels
    learner = last_step(model)
    is_probable = isinstance(learner, ProbabilityClassifier) and not learner.decodes_sets
    parts, listed = [], []
    for start in range(0, len(truth), BATCH):
        X = transformed(model, rows.X[start : start + BATCH])
        parts.append(encode(learner.predict(X), taxonomy).labels)
        if is_probable:
            listed.append(learner.predict_proba(X, top_k=LISTED))
    P = TopK(*map(np.concatenate, zip(*listed, strict=True))) if listed else None
    return Evaluation(truth, LabelMatrix.from_parts(parts, taxonomy), rows.texts, P)


@dataclass(frozen=True)
class Evaluation:
    """The predictions of a model for labelled rows.

    Attributes
    ----------
    truth, predicted : LabelMatrix
        The labels of each row and their predictions, in the taxonomy of the model.
    texts : sequence of str
        What is shown of each row.
    probabilities : TopK or None
        The most probable classes of each row, if the model has probabilities.
    """

    truth: LabelMatrix
    predicted: LabelMatrix
    texts: Sequence[str]
    probabilities: TopK | None = None

    @cached_property
    def columns(self) -> dict[str, list[float | None]]:
        """For each node: the rows at or below it, precision, recall, F1, and the mean error of its rows in edges."""
        true, predicted = self.truth.to_indicator(), self.predicted.to_indicator()
        tp = np.asarray(true.multiply(predicted).sum(axis=0)).ravel().astype(float)
        support, answered = (np.asarray(part.sum(axis=0)).ravel().astype(float) for part in (true, predicted))
        with np.errstate(invalid="ignore", divide="ignore"):
            cost = np.asarray(true.T @ self.errors).ravel() / support
            numbers = {
                "precision": tp / answered,
                "recall": tp / support,
                "f1": 2 * tp / (support + answered),
                "error_cost": cost,
            }
        listed: dict[str, list[float | None]] = {"support": [int(n) for n in support]}
        for name, values in numbers.items():
            listed[name] = [None if np.isnan(value) else round(float(value), 4) for value in values]
        return listed

    @cached_property
    def errors(self) -> npt.NDArray[np.float64]:
        """The error of each row: edges between truth and prediction; for sets, the labels that only one of them has."""
        if self.is_single:
            u, v = self._ends
            return self.truth.taxonomy.distances(u, v).astype(float)
        apart = abs(self.truth.to_indicator().astype(float) - self.predicted.to_indicator().astype(float))
        return np.asarray(apart.sum(axis=1)).ravel()

    @cached_property
    def is_single(self) -> bool:
        """Whether each row has one label in truth and in prediction."""
        return self._ends is not None

    @cached_property
    def _ends(self) -> Any:
        try:
            return self.truth.nodes("an evaluation"), self.predicted.nodes("an evaluation")
        except ValueError:
            return None

    def summary(self) -> dict[str, Any]:
        """Return the number of rows, the share of correct ones and the mean error."""
        return {
            "rows": len(self.errors),
            "accuracy": round(float((self.errors == 0).mean()), 4),
            "error_cost": round(float(self.errors.mean()), 4),
        }

    def metrics(self, v: int) -> dict[str, float | None]:
        """Return the numbers of one node."""
        return {name: values[v] for name, values in self.columns.items()}

    def describe(self, v: int, nodes: Nodes) -> dict[str, Any]:
        """Return what is told about a node: numbers, confusions and sample errors."""
        true = self.truth.to_indicator().tocsc()
        rows = true.indices[true.indptr[v] : true.indptr[v + 1]]
        wrong = rows[self.errors[rows] > 0]
        worst = wrong[np.argsort(-self.errors[wrong], kind="stable")][:N_ERRORS]
        return {
            "metrics": self.metrics(v),
            "confusions": self._confusions(v, rows, nodes) if self.is_single else [],
            "errors": [self._sample(int(row), nodes) for row in worst],
        }

    def _sample(self, row: int, nodes: Nodes) -> dict[str, Any]:
        names = self.truth.taxonomy
        true, predicted = (labels[[row]].frontier_names()[0] for labels in (self.truth, self.predicted))
        shown = {
            kind: [{"node": names.index(name), "name": name, "title": nodes.title(names.index(name))} for name in part]
            for kind, part in (("true", true), ("predicted", predicted))
        }
        return {"row": row, "text": self.texts[row], "error": float(self.errors[row]), **shown}

    def _confusions(self, v: int, rows: Ids, nodes: Nodes) -> list[dict[str, Any]]:
        """Return where rows of a node are predicted instead: siblings, far branches, and nodes above it."""
        taxonomy = self.truth.taxonomy
        mine, counts = set(taxonomy.shortest_path_ids(v)), Counter[tuple[str, int]]()
        for u in self._ends[1][rows].tolist():
            path = [int(node) for node in taxonomy.shortest_path_ids(u)]
            if v in path:
                continue
            first = next((node for node in path if node not in mine), None)
            if first is None:
                counts["above", u] += 1
            else:
                is_sibling = nodes.parent[first] == nodes.parent[v]
                counts["sibling" if is_sibling else "far", first] += 1
        return [
            {"kind": kind, "count": count, "node": u, "name": taxonomy.names[u], "title": nodes.title(u)}
            for (kind, u), count in counts.most_common(N_CONFUSIONS)
        ]
