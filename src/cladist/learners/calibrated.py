"""`CalibratedClassifier`: any classifier over a taxonomy, with probabilities that are fitted out of fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from cladist.calibration.calibrators import Calibrator, columns_of, fit_calibrator
from cladist.calibration.conditional import fit_conditional
from cladist.calibration.listed_scores import ListedScores
from cladist.errors import ModelFormatError
from cladist.labels import LabelMatrix
from cladist.learners.out_of_fold import (
    ScoredRows,
    find_class_nodes,
    fit_folds,
    last_step,
    out_of_fold_scores,
    pieces,
    random_folds,
    scores_of_models,
)
from cladist.learners.probability_classifier import ProbabilityClassifier
from cladist.storage.array_groups import Arrays, group, prefixed

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


@dataclass(eq=False, repr=False)
class CalibratedClassifier(ProbabilityClassifier):
    """Probabilities that hold, and that are coherent over the taxonomy, from the scores of any classifier.

    `fit` trains `cv` clones of the estimator, each on all rows but its fold, and scores that fold. On these out-of-fold
    scores it fits the calibration (see `cladist.calibration.calibrate`); the estimator itself is trained on all rows.
    `predict` answers the most probable class; for sets of labels, all nodes with a probability of at least one half.

    Parameters
    ----------
    estimator : classifier, or Pipeline that ends in one
        Any learner of cladist, or a classifier of scikit-learn over nodes with `decision_function` or `predict_proba`.
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' taxonomy, for a classifier that has none of its own. None: a star of the classes seen.
    method : {"temperature", "platt", "isotonic", "vector"}
        The form of the calibration; the first has the fewest parameters.
    level : {"leaves", "levels", "nodes"}
        Whether parameters are shared by all classes, by the nodes of a level, or shrunk to those of their level.
    cv : int or "prefit"
        Number of random folds, at least 2; not stratified. "prefit": the estimator is fitted already, and the rows
        given to `fit`, on which it must not have been trained, are for calibration alone.
    random_state : int, RandomState or None
        Seed of the folds.
    n_jobs : int or None
        Threads that fit folds in parallel; the result does not depend on it.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all rows.
    calibrator_ : Calibrator
        Fitted to the out-of-fold scores.
    classes_, class_nodes_, taxonomy_, label_form_
        As of any learner.

    Notes
    -----
    Clones are trained on fewer rows than the estimator, whose labels are right more often than theirs: where rows per
    class are few, the calibration fits it less exactly. More folds make the difference smaller.

    A class that no row outside a fold has cannot be scored there. A row with such a class counts for the deepest node
    above it that its clone knows.

    Fitting costs cv + 1 fits of the estimator, whose clones are kept until its end. Single labels take memory for 128
    scores per row, and with more classes rows are scored twice; sets of labels take that for all of rows × classes.

    Examples
    --------
    >>> from cladist import CalibratedClassifier, Taxonomy, TopDown
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0, 1], [2, 1, 0], [0, 2, 2], [1, 2, 0]] * 10
    >>> y = ["tennis", "chess", "art", "art", "tennis", "tennis", "art", "art"] * 5
    >>> model = CalibratedClassifier(TopDown(taxonomy), random_state=0).fit(X, y)
    >>> model.classes_.tolist()
    ['art', 'tennis', 'chess']
    >>> model.predict_proba([[2, 1, 0]]).round(1).tolist()
    [[0.0, 0.5, 0.5]]
    >>> model.predict_proba([[2, 1, 0]], nodes="all").round(1).tolist()  # sport, art, tennis, chess
    [[1.0, 0.0, 0.5, 0.5]]
    """

    estimator: Any
    _: KW_ONLY
    taxonomy: Any = None
    method: str = "temperature"
    level: str = "levels"
    cv: Any = 5
    random_state: Any = None
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    @property
    def models(self) -> list[Any]:
        """The estimator given."""
        return [self.estimator]

    def fit(self, X: Any, y: Any) -> Self:
        """Train the estimator on all rows, and the calibration on out-of-fold scores.

        Parameters
        ----------
        X : rows, as the estimator takes them
        y : labels in any form
            Sets of labels, if the estimator predicts sets.
        """
        labels = self.encode_labels(X, y)
        self.estimator_ = self.estimator if self.cv == "prefit" else clone(self.estimator).fit(X, y)
        self.set_classes(find_class_nodes(self.estimator_, self.taxonomy_))
        if getattr(last_step(self.estimator_), "decodes_sets", False):
            scores = self._all_scores(X, labels)
            model = fit_conditional(scores, labels, self.class_nodes_, method=self.method, level=self.level)
            self.calibrator_ = Calibrator(self.taxonomy_, self.class_nodes_, model)
        else:
            self._fit_single(X, labels)
        self.copy_features(self.estimator_)
        return self

    def _all_scores(self, X: Any, labels: LabelMatrix) -> Floats:
        """Return the scores of all rows and classes."""
        if self.cv == "prefit":
            return self.raw_scores(X)
        folds = random_folds("CalibratedClassifier", len(labels), self.cv, self.random_state)
        return out_of_fold_scores(self.estimator, X, labels, self.class_nodes_, folds=folds, n_jobs=self.n_jobs)

    def _fit_single(self, X: Any, labels: LabelMatrix) -> None:
        """Fit the calibration of single labels."""
        scored: ScoredRows = partial(self._scored_rows, X)
        if self.cv != "prefit":
            folds = random_folds("CalibratedClassifier", len(labels), self.cv, self.random_state)
            scored = fit_folds(self.models, X, labels, self.class_nodes_, folds=folds, single=True, n_jobs=self.n_jobs)
        targets, columns = labels.nodes("CalibratedClassifier"), columns_of(self.class_nodes_, self.taxonomy_)
        parts = [(rows, ListedScores.of(scores[0], columns[targets[rows]])) for rows, scores in scored()]
        self.calibrator_ = fit_calibrator(
            ListedScores.joined(listed for _, listed in parts),
            targets[np.concatenate([rows for rows, _ in parts])],
            lambda: ((scores[0], targets[rows]) for rows, scores in scored()),
            self.taxonomy_,
            self.class_nodes_,
            method=self.method,
            level=self.level,
        )

    def _scored_rows(self, X: Any) -> Iterator[tuple[Ids, Floats]]:
        """Yield some rows at a time and their scores by the estimator (1 × rows × classes)."""
        first = 0
        for part in pieces(X, len(self.class_nodes_)):
            scores = self.raw_scores(part)[None]
            yield np.arange(first, first + scores.shape[1]), scores
            first += scores.shape[1]

    def raw_scores(self, X: Any) -> Floats:
        """Return the estimator's scores of the classes."""
        return np.asarray(scores_of_models([self.estimator_], X, self.taxonomy_, self.class_nodes_)[0])

    # ---------------------------------------------------------------- saving and loading

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        from cladist.persistence.models import pack_model

        inner, arrays = pack_model(self.estimator_)
        calibration, packed = self.calibrator_.pack()
        state = {"estimator": inner, "calibration": calibration}
        return state, {**prefixed("estimator", arrays), **prefixed("calibrator", packed)}

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        from cladist.persistence.models import unpack_model

        self.estimator_ = unpack_model(state["estimator"], group("estimator", arrays))
        if not np.array_equal(find_class_nodes(self.estimator_, self.taxonomy_), self.class_nodes_):
            raise ModelFormatError("Its classes are not those of its estimator.")
        self.estimator = self.estimator_ if self.cv == "prefit" else clone(self.estimator_)
        self.copy_features(self.estimator_)
        self.unpack_calibrator(state, arrays)


def calibrate_pipeline(
    steps: list[tuple[str, Any]], learner: Any, X: Any, y: Any, pipeline: Pipeline | None = None
) -> Pipeline:
    """Return a fitted Pipeline of steps and a calibrated learner; `pipeline` is an unfitted one that is more than that.

    Clones learn the steps anew, so that they know no feature that only rows of their own fold have: new rows have such
    features, too.
    """
    calibrated = CalibratedClassifier(
        Pipeline([*steps, ("model", learner)]) if pipeline is None else pipeline, random_state=0
    ).fit(X, y)
    fitted = calibrated.estimator_
    calibrated.estimator, calibrated.estimator_ = learner, fitted[-1]
    calibrated.copy_features(fitted[-1])
    return Pipeline([*fitted.steps[:-1], ("model", calibrated)])
