"""`ServedModel`: one version of a model as a server holds it, and its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cladist.errors import DatasetError, LabelError, ParameterError
from cladist.learners.online.base import OnlineClassifier
from cladist.learners.out_of_fold import last_step, transformed
from cladist.learners.predictions import find_blank, predict_best, predict_sets, predicts_sets
from cladist.learners.probability_classifier import ProbabilityClassifier
from cladist.learners.row_decisions import DecisionOptions, new_decider
from cladist.learners.text_explanation import explain, explainable
from cladist.persistence.models import load_noted
from cladist.server.evaluation import Evaluation
from cladist.server.nodes import Nodes
from cladist.storage.array_groups import group

MOST_PROBABILITIES = 1 << 22  # numbers in memory at once while the probabilities of paths are computed
NO_DECISIONS = DecisionOptions()


class Question(NamedTuple):
    """What is asked about rows, beside the rows: requests with the same question are answered together."""

    top_k: int | None = None
    paths: bool = True
    proba: bool = False
    decisions: DecisionOptions = NO_DECISIONS

    @property
    def decides(self) -> bool:
        """Whether a rule decides, and not the highest score."""
        return any(value is not None and value is not False for value in self.decisions[1:])


class ServedModel:
    """One version of a model: what `load_noted` returned, and what is shown of it.

    Parameters
    ----------
    model : learner or Pipeline
    notes : dict
        The plain values beside the model.
    calibration : dict of arrays
        The probabilities of rows held out in training, if the model was trained with ``--calibrate``.
    version : str
        What tells this version from others.
    """

    def __init__(
        self,
        model: Any,
        notes: dict[str, Any] | None = None,
        calibration: dict[str, Any] | None = None,
        version: str = "",
    ) -> None:
        self.model, self.notes, self.calibration = model, notes or {}, calibration or {}
        self.version = version
        self.learner = last_step(model)
        self.encoded_columns: dict[tuple[str, bool], bytes] = {}  # see `encoded_column`
        self.nodes = Nodes(self.learner.taxonomy_)
        self.evaluation: Evaluation | None = None

    @classmethod
    def load(cls, folder: Path, version: str = "", *, mmap: bool = False) -> ServedModel:
        """Return the model in a folder."""
        model, notes, arrays = load_noted(folder, mmap=mmap, verify=mmap)
        return cls(model, notes, group("calibration", arrays), version)

    @cached_property
    def n_features(self) -> int | None:
        """The number of features of a model trained on numbers, None for one trained on texts."""
        n_features = getattr(self.model, "n_features_in_", None)
        return None if n_features is None else int(n_features)

    @cached_property
    def feature_names(self) -> list[str]:
        """The names of numeric features, [] if they have none."""
        names: Any = self.notes.get("features") or getattr(self.model, "feature_names_in_", ())
        return [str(name) for name in names]

    @cached_property
    def _column_of(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.feature_names)}

    @property
    def decodes_sets(self) -> bool:
        """Whether predictions are sets of labels."""
        return predicts_sets(self.learner)

    @property
    def has_probabilities(self) -> bool:
        """Whether the model has calibrated probabilities."""
        return isinstance(self.learner, ProbabilityClassifier)

    # -------------------------------------------------------------------------------------------------- rows

    def texts_of(self, rows: Sequence[dict[str, Any]]) -> list[str]:
        """Return the texts of rows given by column, joined as in training."""
        columns = [str(name) for name in self.notes.get("text") or ()]
        if not columns:
            raise ParameterError("This model has no note of its text columns; send `texts` instead of `rows`.")
        for row in rows:
            if unknown := sorted(set(columns) - row.keys()):
                raise DatasetError(f"A row has no {unknown[0]!r}; the model was trained on {', '.join(columns)}.")
        return [" ".join("" if row[name] is None else str(row[name]) for name in columns) for row in rows]

    def matrix_of(self, rows: Sequence[dict[str, Any]]) -> sparse.csr_matrix:
        """Return rows given by feature as a CSR matrix; features that a row does not name are 0."""
        assert self.n_features is not None
        indptr, indices, values = [0], list[int](), list[float]()
        for row in rows:
            pairs = sorted((self._column(name), value) for name, value in row.items())
            indices += [column for column, _ in pairs]
            values += [number_of(value) for _, value in pairs]
            indptr.append(len(indices))
        return sparse.csr_matrix((values, indices, indptr), shape=(len(rows), self.n_features))

    def _column(self, name: str) -> int:
        if self.feature_names:
            if name not in self._column_of:
                raise DatasetError(f"The model has no feature {name!r}; GET /model lists those that it has.")
            return self._column_of[name]
        if not (name.isascii() and name.isdigit() and len(name) < 12 and int(name) < (self.n_features or 0)):
            raise DatasetError(
                f"The model's features are numbers from 0 to {(self.n_features or 0) - 1}; got {name!r}."
            )
        return int(name)

    # -------------------------------------------------------------------------------------------------- answers

    def predict(self, inputs: Any, question: Question) -> list[dict[str, Any]]:
        """Return the predictions of rows, given as an array of texts or a matrix, as JSON values."""
        return self.answer_all([(inputs, question)], inputs)[0]

    def answer_all(self, parts: Sequence[tuple[Any, Question]], inputs: Any) -> list[list[dict[str, Any]]]:
        """Return the predictions of several requests; `inputs` are the rows of all of them, in their order."""
        rows = transformed(self.model, inputs)
        blank = set(find_blank(self.model, rows))
        answers: list[list[dict[str, Any]]] = [[] for _ in parts]
        ends = np.cumsum([0, *(_length(part) for part, _ in parts)])
        by_question: dict[Question, list[int]] = {}
        for k, (_, question) in enumerate(parts):
            by_question.setdefault(question, []).append(k)
        for question, members in by_question.items():
            places = np.concatenate([np.arange(ends[k], ends[k + 1]) for k in members])
            chosen = rows if len(members) == len(parts) else rows[places]
            answered = self._answers(chosen, question)
            for k in members:
                for place in range(ends[k], ends[k + 1]):
                    answers[k].append(next(answered) | {"known": place not in blank})
        return answers

    def _answers(self, rows: Any, question: Question) -> Iterator[dict[str, Any]]:
        if question.decides:
            yield from self._decided(rows, question)
            return
        if question.proba and not self.has_probabilities:
            raise ParameterError("This model has no calibrated probabilities; train it with cladist train --calibrate.")
        in_sets = question.top_k is None and self.decodes_sets
        top_k = min(question.top_k or 1, len(self.learner.classes_))
        predictor = predict_sets(self.learner) if in_sets else predict_best(self.learner, top_k, None)
        probabilities = self._probabilities(rows) if question.proba else None
        for predictions in predictor(rows):
            mass = None if probabilities is None else next(probabilities)
            found = [self._candidate(p.label, p.score, question.paths, mass) for p in predictions]
            yield self._row(found, in_sets)

    def _decided(self, rows: Any, question: Question) -> Iterator[dict[str, Any]]:
        decide = new_decider(self.learner, question.decisions, self.calibration)
        in_sets = question.decisions.conformal is not None or self.decodes_sets
        probabilities = self._probabilities(rows) if question.proba else None
        for decided in decide(rows):
            mass = None if probabilities is None else next(probabilities)
            found = [self._candidate(label, None, question.paths, mass) for label in decided.labels]
            extra = {
                "confidence": rounded(decided.confidence),
                "decided_at": decided.decided_at,
                "reason": decided.reason,
            }
            yield self._row(found, in_sets) | extra

    def _row(self, candidates: list[dict[str, Any]], in_sets: bool) -> dict[str, Any]:
        labels = [candidate["label"] for candidate in candidates]
        first = {"labels": labels} if in_sets else {"label": labels[0] if labels else None}
        return first | {"candidates": candidates}

    def _candidate(self, label: Any, score: float | None, paths: bool, mass: Any) -> dict[str, Any]:
        node = self.node_of(label)
        found: dict[str, Any] = {"label": label, "node": node, "title": self.nodes.title(node)}
        if score is not None:
            found["score"] = rounded(score)
        if mass is not None:
            found["probability"] = rounded(mass[node])
        if paths:
            path = self.nodes.path(node)
            if mass is not None:
                path = [step | {"probability": rounded(mass[step["node"]])} for step in path]
            found["path"] = path
        return found

    def _probabilities(self, rows: Any) -> Iterator[Any]:
        """Yield the probabilities of all nodes for each row."""
        size = max(1, MOST_PROBABILITIES // self.learner.taxonomy_.n_nodes)
        for start in range(0, rows.shape[0], size):
            yield from self.learner.predict_proba(rows[start : start + size], nodes="all")

    @cached_property
    def _node_of_label(self) -> dict[Any, int]:
        labels, nodes = self.learner.classes_.tolist(), self.learner.class_nodes_.tolist()
        return dict(zip(labels, nodes, strict=True))

    def node_of(self, label: Any) -> int:
        """Return the node of a label, which is a class or the name of an inner node."""
        node = self._node_of_label.get(label)
        return int(self.learner.taxonomy_.index(label)) if node is None else node

    def forget_classes(self) -> None:
        """Read the classes anew when they are next asked for: training may have added some."""
        self.__dict__.pop("_node_of_label", None)

    def explain(self, inputs: Any, labels: Sequence[str] | None) -> list[dict[str, Any]]:
        """Return the explanations of rows as JSON values."""
        if self.n_features is None:
            return [why.to_dict() for why in explain(self.model, inputs, nodes=labels)]
        names = {f"x{k}": name for k, name in enumerate(self.feature_names)}
        whys = explainable(self.learner).explain(transformed(self.model, inputs), nodes=labels)
        return [why.renamed(names).to_dict() for why in whys]

    def describe(self) -> dict[str, Any]:
        """Return what is told about the model."""
        learner, taxonomy = self.learner, self.learner.taxonomy_
        return {
            "version": self.version,
            "class": type(learner).__name__,
            "takes": "texts" if self.n_features is None else "numbers",
            "text_columns": [str(name) for name in self.notes.get("text") or ()],
            "n_features": self.n_features,
            "features": self.feature_names[:1000],
            "n_nodes": taxonomy.n_nodes,
            "n_leaves": len(taxonomy.leaves),
            "n_classes": len(learner.classes_),
            "kind": taxonomy.kind,
            "depth": len(taxonomy.levels),
            "sets": self.decodes_sets,
            "probabilities": self.has_probabilities,
            "decisions": self.has_probabilities,
            "conformal": bool(self.calibration) and self.has_probabilities,
            "online": isinstance(learner, OnlineClassifier) and hasattr(learner, "partial_fit"),
        }


def rounded(value: float) -> float | None:
    """Return six digits of a number, None for one that JSON has not."""
    return float(f"{value:.6g}") if isfinite(value) else None


def number_of(value: Any) -> float:
    """Return a feature's value, a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
        raise DatasetError(f"A feature's value must be a finite number; got {str(value)[:40]!r}.")
    return float(value)


def _length(inputs: Any) -> int:
    return int(inputs.shape[0])


def stacked(inputs: Sequence[Any]) -> Any:
    """Return the rows of several requests together."""
    if len(inputs) == 1:
        return inputs[0]
    return sparse.vstack(inputs, format="csr") if sparse.issparse(inputs[0]) else np.concatenate(inputs)


def check_labels(model: ServedModel, labels: Sequence[str]) -> None:
    """Raise a `LabelError` unless all labels are nodes of the model's taxonomy."""
    for label in labels:
        if label not in model.learner.taxonomy_:
            raise LabelError(f"The taxonomy has no node {label[:80]!r}{model.learner.taxonomy_.suggestion(label)}")
