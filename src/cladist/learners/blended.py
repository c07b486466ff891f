"""`BlendedClassifier`: the scores of several learners, added with weights that are fitted out of fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import reduce as fold_left
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples

from cladist.calibration.blend import combine, fit_set_weights, fit_weights
from cladist.calibration.calibrators import Calibrator, columns_of, fit_calibrator
from cladist.calibration.conditional import fit_conditional
from cladist.calibration.listed_scores import ListedScores
from cladist.calibration.nested_logit import ChoiceTree
from cladist.errors import LabelError, ModelFormatError, ParameterError
from cladist.labels import LabelMatrix
from cladist.learners.explanation import INTERCEPT, Explanation, Part, nodes_to_explain
from cladist.learners.out_of_fold import (
    ScoredRows,
    find_class_nodes,
    fit_folds,
    last_step,
    random_folds,
    refuse_many_scores,
    scores_of_models,
)
from cladist.learners.probability_classifier import ProbabilityClassifier
from cladist.storage.array_groups import Arrays, group, prefixed

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


@dataclass(eq=False, repr=False)
class BlendedClassifier(ProbabilityClassifier):
    """Several classifiers whose scores are added with weights, then calibrated.

    The score of a class is Σ_m w_m s_m with w_m ≥ 0. Clones of all classifiers are trained on the same folds; with the
    weights, the highest score of the rows of the other folds is right most often. The search for them starts from the
    weights of least log loss by a nested logit model with a scale per level, from equal ones and from each classifier
    alone. For sets of labels, the weights are those of a logistic regression of whether a row has a class on its
    scores. The sum is calibrated as in `CalibratedClassifier`, and `predict` answers as it does.

    Parameters
    ----------
    estimators : list of classifiers
        Learners of cladist, Pipelines that end in one, or classifiers of scikit-learn over nodes. They take the same
        rows and have the same taxonomy.
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' taxonomy, if no estimator has one.
    method, level : str
        Of the calibration, as in `CalibratedClassifier`.
    cv : int
        Number of random folds, at least 2; not stratified.
    random_state : int, RandomState or None
        Seed of the folds.
    n_jobs : int or None
        Threads that fit folds in parallel; the result does not depend on it.

    Attributes
    ----------
    estimators_ : list of classifiers
        Fitted to all rows.
    weights_ : array
        The weight of each one's scores, in their own units.
    shares_ : array
        The weights relative to the spread of each one's scores, with sum 1.
    calibrator_ : Calibrator
        Fitted to the blended out-of-fold scores.
    classes_, class_nodes_, taxonomy_, label_form_
        As of any learner.

    Notes
    -----
    Fitting costs cv + 1 fits of every classifier, and memory for 128 scores per row and classifier; sets of labels take
    that for all of rows × classes. A classifier that
    lacks a class of another one counts as its lowest score of the row.

    Examples
    --------
    >>> from cladist import BlendedClassifier, FlatLogistic, Taxonomy, TopDown
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0, 1], [2, 1, 0], [0, 2, 2], [1, 2, 0]] * 10
    >>> y = ["tennis", "chess", "art", "art"] * 10
    >>> model = BlendedClassifier([TopDown(taxonomy), FlatLogistic(taxonomy)], random_state=0).fit(X, y)
    >>> model.predict([[2, 1, 0], [1, 2, 1]]).tolist()
    ['chess', 'art']
    """

    estimators: Any
    _: KW_ONLY
    taxonomy: Any = None
    method: str = "temperature"
    level: str = "levels"
    cv: Any = 5
    random_state: Any = None
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimators[0]).input_tags
        return tags

    @property
    def models(self) -> list[Any]:
        """The classifiers given."""
        return list(self.estimators)

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        if isinstance(self.estimators, str) or not isinstance(self.estimators, Sequence) or not len(self.estimators):
            raise ParameterError(
                f"BlendedClassifier: estimators must be a list of classifiers; got {self.estimators!r}."
            )
        if self.cv == "prefit":
            raise ParameterError(
                "BlendedClassifier: cv must be a number of folds; models fitted before are not blended."
            )
        super().check_parameters()

    def fit(self, X: Any, y: Any) -> Self:
        """Train all classifiers on all rows, and weights and calibration on out-of-fold scores.

        Parameters
        ----------
        X : rows, as the estimators take them
        y : labels in any form
            Sets of labels, if all estimators predict sets.
        """
        labels = self.encode_labels(X, y)
        self.estimators_ = [clone(model).fit(X, y) for model in self.models]
        kinds = {bool(getattr(last_step(model), "decodes_sets", False)) for model in self.estimators_}
        if len(kinds) > 1:
            raise LabelError("BlendedClassifier: some of the classifiers predict sets of labels and others one label.")
        found = [find_class_nodes(model, self.taxonomy_) for model in self.estimators_]
        self.set_classes(fold_left(np.union1d, found))
        folds = random_folds("BlendedClassifier", len(labels), self.cv, self.random_state)
        single = not kinds.pop()
        scored = fit_folds(self.models, X, labels, self.class_nodes_, folds=folds, single=single, n_jobs=self.n_jobs)
        if single:
            self._fit_single(scored, labels.nodes("BlendedClassifier"))
        else:
            self._fit_sets(scored, labels)
        self.copy_features(self.estimators_[0])
        return self

    def _fit_single(self, scored: ScoredRows, targets: Ids) -> None:
        """Fit weights and calibration of single labels."""
        columns = columns_of(self.class_nodes_, self.taxonomy_)
        parts = [(rows, *list_jointly(scores, columns[targets[rows]])) for rows, scores in scored()]
        rows = ListedScores.joined(listed for _, listed, _ in parts)
        values = np.concatenate([taken for *_, taken in parts], axis=1)
        own = targets[np.concatenate([some for some, *_ in parts])]
        choices = ChoiceTree(self.taxonomy_, self.class_nodes_, flat=self.level == "leaves")
        self.weights_, self.shares_ = fit_weights(choices, rows.columns, values, rows.log_counts, own)
        self.calibrator_ = fit_calibrator(
            rows._replace(scores=combine(self.weights_, values)),
            own,
            lambda: ((combine(self.weights_, scores), targets[rows]) for rows, scores in scored()),
            self.taxonomy_,
            self.class_nodes_,
            method=self.method,
            level=self.level,
        )

    def _fit_sets(self, scored: ScoredRows, labels: LabelMatrix) -> None:
        """Fit weights and calibration of sets of labels."""
        shape = len(self.estimators_), len(labels), len(self.class_nodes_)
        refuse_many_scores(*shape)
        scores = np.empty(shape)
        for rows, some in scored():
            scores[:, rows] = some
        self.weights_, self.shares_ = fit_set_weights(scores, labels, self.class_nodes_)
        blended, options = combine(self.weights_, scores), {"method": self.method, "level": self.level}
        model = fit_conditional(blended, labels, self.class_nodes_, **options)
        self.calibrator_ = Calibrator(self.taxonomy_, self.class_nodes_, model)

    def raw_scores(self, X: Any) -> Floats:
        """Return the blended scores of the classes."""
        return combine(self.weights_, scores_of_models(self.estimators_, X, self.taxonomy_, self.class_nodes_))

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return the contribution of every feature to a label's blended score; contributions sum to the score.

        The score is the one before calibration, and a node's part has what all classifiers add there. For classifiers
        that have `explain` themselves, all on the same features.

        Parameters
        ----------
        X, nodes : rows, sequence of labels or None
            The rows, and the label to explain of each; None: the predicted one.
        """
        ids = self.predict_nodes(X) if nodes is None else nodes_to_explain(nodes, _num_samples(X), self.taxonomy_)
        labels = [self.taxonomy_.names[v] for v in ids]
        scores = self.raw_scores(X)[np.arange(len(ids)), columns_of(self.class_nodes_, self.taxonomy_)[ids]]
        blended: list[dict[str, Part]] = [{} for _ in labels]
        for model, weight in zip(self.estimators_, self.weights_, strict=True):
            if last_step(model) is not model or not hasattr(model, "explain"):
                raise ParameterError(
                    f"BlendedClassifier: explain needs classifiers that have it, on the same features; "
                    f"{type(model).__name__} is not one."
                )
            for parts, why in zip(blended, model.explain(X, nodes=labels), strict=True):
                _add(parts, why.terms(), weight)
        whys = [Explanation.of(label, _largest_first(parts)) for label, parts in zip(labels, blended, strict=True)]
        if not np.allclose([why.score for why in whys], scores, rtol=1e-4, atol=1e-4):
            raise ParameterError("BlendedClassifier: the scores of its classifiers are no sums over features.")
        return whys

    # ---------------------------------------------------------------- saving and loading

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        from cladist.persistence.models import pack_model

        packed = [pack_model(model) for model in self.estimators_]
        calibration, arrays = self.calibrator_.pack()
        arrays = {**prefixed("calibrator", arrays), "weights": self.weights_, "shares": self.shares_}
        for k, (_, of_model) in enumerate(packed):
            arrays.update(prefixed(f"{k}/estimator", of_model))
        return {"models": [content for content, _ in packed], "calibration": calibration}, arrays

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        from cladist.persistence.models import unpack_model

        self.estimators_ = [
            unpack_model(content, group(f"{k}/estimator", arrays)) for k, content in enumerate(state["models"])
        ]
        found = [find_class_nodes(model, self.taxonomy_) for model in self.estimators_]
        self.weights_, self.shares_ = arrays["weights"], arrays["shares"]
        if len(self.weights_) != len(found) or not np.array_equal(fold_left(np.union1d, found), self.class_nodes_):
            raise ModelFormatError("Its weights or classes are not those of its estimators.")
        self.estimators = [clone(model) for model in self.estimators_]
        self.copy_features(self.estimators_[0])
        self.unpack_calibrator(state, arrays)


def _add(parts: dict[str, Part], terms: dict[str, Part], weight: float) -> None:
    for node, features in terms.items():
        own = parts.setdefault(node, {})
        for name, value in features.items():
            own[name] = own.get(name, 0.0) + float(weight) * value


def _largest_first(parts: dict[str, Part]) -> dict[str, Part]:
    return {
        node: dict(sorted(features.items(), key=lambda item: (item[0] == INTERCEPT, -abs(item[1]))))
        for node, features in parts.items()
    }


def list_jointly(scores: Floats, true_columns: Ids) -> tuple[ListedScores, Floats]:
    """Return the classes to list by the mean of the models' scores, each in its own unit, and the scores of each.

    Parameters
    ----------
    scores : array (models × rows × classes)
    true_columns : array (rows,)
        The column of each row's class, −1 if it has none.
    """
    finite = np.where(np.isfinite(scores), scores, np.nan)
    with np.errstate(invalid="ignore"):
        deviation = np.nanstd(finite, axis=2)
    units = np.maximum(np.nanmean(deviation, axis=1), np.finfo(np.float64).tiny)
    listed = ListedScores.of(combine(1 / units, scores), true_columns)
    taken = np.take_along_axis(scores, np.broadcast_to(listed.columns, (len(scores), *listed.columns.shape)), axis=2)
    return listed, taken
