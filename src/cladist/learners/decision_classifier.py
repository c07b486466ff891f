"""`DecisionClassifier`: a model with calibrated probabilities, and a rule that decides by them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from cladist.decisions import RULES, Answers, Confidence, Rule
from cladist.errors import ModelFormatError, ParameterError
from cladist.labels import LabelForm, LabelMatrix, encode
from cladist.learners.base import random_generator
from cladist.learners.calibrated import CalibratedClassifier
from cladist.learners.out_of_fold import pieces, transformed
from cladist.learners.probability_classifier import ProbabilityClassifier
from cladist.losses import NAMED_LOSSES
from cladist.notebook import frame, html_rows
from cladist.storage.array_groups import Arrays, group, prefixed
from cladist.taxonomy import Taxonomy

LISTED = 100  # classes per row that rules see, the most probable ones; more if a rule needs them
LONGER = 4  # times as many classes
MOST_PROBABILITIES = 30_000_000  # of rows held out × classes listed, beyond which lists do not grow: some 500 MB
LEAST_HELD_OUT = 20  # rows, with fewer of which a rule learns nothing

LEAF, INNER, SET, NONE = "leaf", "inner node", "set", "abstained"


class Decisions(NamedTuple):
    """What was decided for every row, and why.

    Attributes
    ----------
    labels : array of names, or of sets of names
        None, or an empty set, where there is no answer.
    confidence : float array
        The probability of the answer; NaN where a rule for sets does not know it.
    decided_at : array of {"leaf", "inner node", "set", "abstained"}
    reason : array of str
        Why there is no answer; "" where there is one.
    """

    labels: npt.NDArray[Any]
    confidence: npt.NDArray[np.float64]
    decided_at: npt.NDArray[Any]
    reason: npt.NDArray[Any]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per answer."""
        return frame({name: list(values) for name, values in self._asdict().items()})

    def _repr_html_(self) -> str:
        rows = list(zip(*(values.tolist() for values in self), strict=True))
        return html_rows(f"{len(rows):,} decisions", list(self._fields), rows)


@dataclass(eq=False, repr=False)
class DecisionClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Answers by a rule over calibrated probabilities: a node at any level, a set of nodes, or no answer.

    `fit` calibrates the estimator (see `CalibratedClassifier`). If the rule or `abstain` learns from labelled rows, a
    random part of the rows is held out for that. Neither the estimator nor its calibration sees them, so that the
    guarantees of `RiskControl` and `Conformal` hold for new rows from the same distribution.

    Parameters
    ----------
    estimator : classifier, or Pipeline that ends in one
        What `CalibratedClassifier` takes, or a `CalibratedClassifier` or `BlendedClassifier` itself.
    rule : Rule or None
        See `cladist.decisions`. None: ``Confidence(0.9)``.
    abstain : float or None
        The share of rows of known classes that may be marked as out of scope: those whose most probable class is less
        probable than that of all but this share of the rows held out. None: none are.
    cv : int or "prefit"
        Folds of the calibration. "prefit": the estimator is fitted already, and all rows given to `fit` are for the
        rule; half of them are for calibration if the estimator is not calibrated.
    held_out : float
        The share of the rows that is held out, if any are.
    random_state : int, RandomState or None
        Seed of the rows held out, and of the folds.
    n_jobs : int or None
        Threads that fit folds in parallel.

    Attributes
    ----------
    model_ : CalibratedClassifier or BlendedClassifier
        The fitted model.
    rule_ : Rule
        The fitted rule.
    least_probability_ : float
        Rows whose most probable class is less probable are out of scope; 0 without `abstain`.
    classes_, class_nodes_, taxonomy_, label_form_
        The model's.

    Notes
    -----
    A sparse row without any feature, such as a text without a known word, gets no answer.

    Examples
    --------
    >>> from cladist import DecisionClassifier, FlatLogistic, Taxonomy
    >>> from cladist.decisions import Confidence
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0, 1], [2, 1, 0], [0, 2, 2], [1, 2, 0]] * 10
    >>> y = ["tennis", "chess", "art", "art", "tennis", "tennis", "art", "art"] * 5
    >>> model = DecisionClassifier(FlatLogistic(taxonomy), rule=Confidence(0.9), random_state=0).fit(X, y)
    >>> model.predict([[2, 1, 0], [0, 2, 2]]).tolist()
    ['sport', 'art']
    """

    packs_estimators: ClassVar[bool] = True  # in a file, the fitted model is part of the state

    estimator: Any
    _: KW_ONLY
    rule: Any = None
    abstain: float | None = None
    cv: Any = 5
    held_out: float = 0.2
    random_state: Any = None
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    # ---------------------------------------------------------------- training

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        rule = self._new_rule()
        if not isinstance(rule, Rule):
            wanted = "a rule of cladist.decisions, as Confidence(0.9)"
            raise ParameterError(f"DecisionClassifier: rule must be {wanted}; got {self.rule!r}.")
        rule.check_parameters()
        for name in ("abstain", "held_out"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and 0 < value < 1):
                raise ParameterError(f"DecisionClassifier: {name} must be between 0 and 1; got {value!r}.")

    def _new_rule(self) -> Any:
        return Confidence() if self.rule is None else clone(self.rule, safe=False)

    def fit(self, X: Any, y: Any) -> Self:
        """Train and calibrate the model, and fit the rule to rows held out.

        Parameters
        ----------
        X : rows, as the estimator takes them
        y : labels in any form
        """
        self.check_parameters()
        rule, n_rows = self._new_rule(), _n_rows(X)
        held_out = self._rows_held_out(n_rows, needed=rule.needs_labels or self.abstain is not None)
        others = np.setdiff1d(np.arange(n_rows), held_out)
        self.model_ = self._new_model()
        if not (self.cv == "prefit" and isinstance(self.estimator, ProbabilityClassifier)):
            self.model_.fit(_safe_indexing(X, others), _take(y, others))
        labels = encode(_take(y, held_out), self.taxonomy_).labels if len(held_out) else None
        self._n_listed = LISTED
        own = _safe_indexing(X, held_out)
        self._fit_rule(rule, self._probabilities(own), labels)
        most = MOST_PROBABILITIES // max(1, len(held_out) * LONGER)
        while self.rule_.needs_longer_lists(self._n_listed) and self._n_listed <= most:
            self._n_listed *= LONGER
            self._fit_rule(rule, self._probabilities(own), labels)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.model_, name):
                setattr(self, name, getattr(self.model_, name))
        return self

    @classmethod
    def around(
        cls, model: Any, *, rule: Rule | None = None, abstain: float | None = None, P: Any = None, y: Any = None
    ) -> Self:
        """Return a classifier around a fitted, calibrated model, with a rule fitted to probabilities already computed.

        Parameters
        ----------
        model : CalibratedClassifier or BlendedClassifier
        rule, abstain
            As in the class.
        P, y : TopK or array, and labels
            Probabilities by the model of rows that it was not trained on, and their labels; needed if the rule or
            `abstain` learns from them.
        """
        self = cls(model, rule=rule, abstain=abstain, cv="prefit")
        self.check_parameters()
        self.model_, self._n_listed = model, LISTED
        self._fit_rule(self._new_rule(), self._probabilities([]) if P is None else P, y)
        return self

    def _fit_rule(self, rule: Rule, P: Any, y: Any) -> None:
        """Fit the rule, and find the probability below which a row is out of scope."""
        self.rule_ = rule.fit(P, y, self.taxonomy_, classes=self._columns(), sets=self.decodes_sets)
        self.least_probability_ = 0.0
        if self.abstain is not None:
            if not len(_highest(P)):
                raise ParameterError("DecisionClassifier: abstain needs probabilities of rows held out.")
            self.least_probability_ = float(np.quantile(_highest(P), self.abstain, method="lower"))

    def _rows_held_out(self, n_rows: int, *, needed: bool) -> npt.NDArray[np.int64]:
        """Return the rows for the rule, and for `abstain`."""
        if not needed:
            return np.arange(0)
        if self.cv == "prefit" and isinstance(self.estimator, ProbabilityClassifier):
            return np.arange(n_rows)
        share = 0.5 if self.cv == "prefit" else self.held_out
        n_held_out = round(share * n_rows)
        if n_held_out < LEAST_HELD_OUT:
            raise ParameterError(
                f"DecisionClassifier: {n_held_out} of {n_rows} rows would be held out for the rule, and at least "
                f"{LEAST_HELD_OUT} are needed; give more rows, or raise held_out."
            )
        order = random_generator("DecisionClassifier", self.random_state).permutation(n_rows)
        return np.sort(order[:n_held_out])

    def _new_model(self) -> Any:
        """Return the model to fit: the estimator, calibrated if it is not."""
        if isinstance(self.estimator, ProbabilityClassifier):
            return self.estimator if self.cv == "prefit" else clone(self.estimator)
        return CalibratedClassifier(self.estimator, cv=self.cv, random_state=self.random_state, n_jobs=self.n_jobs)

    # ---------------------------------------------------------------- prediction

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes of the model; answers may be other nodes."""
        return self.model_.classes_

    @property
    def class_nodes_(self) -> npt.NDArray[np.int64]:
        """The nodes of the classes."""
        return self.model_.class_nodes_

    @property
    def taxonomy_(self) -> Taxonomy:
        """The taxonomy of the model."""
        return self.model_.taxonomy_

    @property
    def label_form_(self) -> LabelForm:
        """The form of y."""
        return self.model_.label_form_

    @property
    def decodes_sets(self) -> bool:
        """Whether y has sets of labels."""
        return bool(self.model_.decodes_sets)

    def _columns(self) -> list[str]:
        nodes = range(self.taxonomy_.n_nodes) if self.decodes_sets else self.class_nodes_.tolist()
        return [self.taxonomy_.names[v] for v in nodes]

    def _probabilities(self, X: Any) -> Any:
        """Return what rules read: lists of classes, or for sets of labels the probability of every node."""
        if not _n_rows(X):
            return np.zeros((0, self.taxonomy_.n_nodes if self.decodes_sets else len(self.class_nodes_)))
        if self.decodes_sets:
            return self.model_.predict_proba(X, nodes="all")
        return self.model_.predict_proba(X, top_k=self._n_listed)

    def predict_proba(self, X: Any, nodes: str = "classes", top_k: int | None = None) -> Any:
        """Return the model's calibrated probabilities; see `CalibratedClassifier.predict_proba`."""
        check_is_fitted(self)
        return self.model_.predict_proba(X, nodes=nodes, top_k=top_k)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the name of a node for every row, or a set of names; None, or an empty set, where there is no answer.

        Parameters
        ----------
        X : rows, as the estimator takes them
        """
        return self.predict_decisions(X).labels

    def predict_decisions(self, X: Any) -> Decisions:
        """Return the answers with their probabilities, where they are in the taxonomy, and why there is none.

        Parameters
        ----------
        X : rows, as the estimator takes them
        """
        check_is_fitted(self)
        parts = [self._decide(part) for part in pieces(X, max(1, len(self.class_nodes_)))]
        return Decisions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _decide(self, X: Any) -> Decisions:
        P = self._probabilities(X)
        answers = self.rule_.answer(P)
        reasons = np.full(len(answers.confidence), "", dtype=object)
        reasons[answers.abstained] = "no node is probable enough"
        reasons[_highest(P) < self.least_probability_] = "out of scope"
        reasons[self._blank(X)] = "no known feature"
        return self._describe(answers, reasons)

    def _describe(self, answers: Answers, reasons: npt.NDArray[Any]) -> Decisions:
        nodes, missing, names = answers.nodes, reasons != "", np.array([*self.taxonomy_.names, None], dtype=object)
        if isinstance(nodes, LabelMatrix):
            sets = [set() if gone else set(row) for row, gone in zip(nodes.frontier_names(), missing, strict=True)]
            labels = np.fromiter(sets, dtype=object, count=len(sets))
            places = np.where(missing, NONE, SET)
        else:
            labels = names[np.where(missing, -1, nodes)]
            places = np.where(missing, NONE, np.where(self.taxonomy_.is_leaf[nodes], LEAF, INNER))
        return Decisions(labels, np.where(missing, 0.0, answers.confidence), places.astype(object), reasons)

    def _blank(self, X: Any) -> npt.NDArray[np.bool_]:
        """Tell which rows have no feature that the model knows; only of sparse rows."""
        inner = self.model_.estimators_[0] if hasattr(self.model_, "estimators_") else self.model_.estimator_
        rows = transformed(inner, X)
        if not sparse.issparse(rows):
            return np.zeros(_n_rows(X), bool)
        return np.asarray(abs(rows).sum(axis=1)).ravel() == 0

    def predict_paths(self, X: Any) -> list[Any]:
        """Return the path to each answer, [] where there is none; a list of paths for rules that answer sets."""
        find, path = self.taxonomy_.index, self.taxonomy_.shortest_path_parts
        return [
            [list(path(find(name))) for name in sorted(label, key=find)]
            if isinstance(label, set)
            else ([] if label is None else list(path(find(label))))
            for label in self.predict(X)
        ]

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the share of rows whose answer is the label, a node above it, or a set that has either.

        Parameters
        ----------
        X : rows, as the estimator takes them
        y : labels in any form
        sample_weight : array-like, optional
        """
        true = encode(y, self.taxonomy_).labels.to_indicator()
        right = []
        for i, label in enumerate(self.predict(X)):
            nodes = [self.taxonomy_.index(name) for name in (label if isinstance(label, set) else {label} - {None})]
            right.append(bool(nodes) and bool(true[[i], :][:, nodes].sum()))
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def save(self, folder: Any) -> None:
        """Write the model to a folder that `cladist.load` reads; see `cladist.save`."""
        from cladist.persistence.models import save

        save(self, folder)

    # ---------------------------------------------------------------- saving and loading

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return plain values and arrays that `unpack_state` reads."""
        from cladist.persistence.models import pack_learner

        model, arrays = pack_learner(self.model_)
        content = self.rule_.to_dict()
        if "loss" in content["parameters"]:
            content["parameters"] = {**content["parameters"], "loss": _loss_name(content["parameters"]["loss"])}
        fitted = content.pop("fitted")
        packed = {name: value for name, value in fitted.items() if isinstance(value, np.ndarray)}
        plain = {name: value for name, value in fitted.items() if name not in packed}
        state = {"estimator": model, "rule": {**content, "fitted": plain}, "least_probability": self.least_probability_}
        state["listed"] = self._n_listed
        return state, {**prefixed("estimator", arrays), **prefixed("rule", packed)}

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Restore what `pack_state` returned."""
        from cladist.persistence.models import unpack_learner

        self.model_ = unpack_learner(state["estimator"], group("estimator", arrays))
        if not isinstance(self.model_, ProbabilityClassifier):
            raise ModelFormatError("Its model has no calibrated probabilities.")
        content = state["rule"]
        if content.get("name") not in RULES:
            raise ModelFormatError(f"It decides by {content.get('name')!r}, which this version does not know.")
        fitted = {**content["fitted"], **group("rule", arrays)}
        self.rule_ = RULES[content["name"]].from_dict({**content, "fitted": fitted}, self.taxonomy_)
        self.rule = clone(self.rule_)
        self.least_probability_ = float(state["least_probability"])
        self._n_listed = max(1, int(state.get("listed", LISTED)))
        self.estimator = self.model_ if self.cv == "prefit" else clone(self.model_)


def _take(y: Any, rows: npt.NDArray[np.int64]) -> Any:
    return y[rows] if isinstance(y, LabelMatrix) else _safe_indexing(y, rows)


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _highest(P: Any) -> npt.NDArray[np.float64]:
    """Return the probability of the most probable class of every row."""
    values = P if isinstance(P, np.ndarray) else P.probabilities
    return np.asarray(values.max(axis=1, initial=0.0))


def _loss_name(loss: Any) -> str:
    """Return the name of a loss, which a file can hold."""
    if isinstance(loss, str):
        return loss
    for name, known in NAMED_LOSSES.items():
        if known == loss:
            return name
    raise ModelFormatError(f"A rule with {loss!r} cannot be saved; only losses with a name can: {list(NAMED_LOSSES)}.")
