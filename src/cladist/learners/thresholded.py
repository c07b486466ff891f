"""`Thresholded`: any learner, and thresholds for its scores that are trained out of fold."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from cladist.decoders.thresholds import STRATEGIES, Strategy
from cladist.errors import LabelError, ModelFormatError, ParameterError, one_of
from cladist.labels import LabelForm, LabelMatrix, encode
from cladist.learners.base import _row_index
from cladist.learners.out_of_fold import (
    check_folds,
    class_scores,
    last_step,
    out_of_fold_scores,
    pieces,
    random_folds,
    transformed,
)
from cladist.learners.threshold_choice import ScoredRows, choose_strategy, labels_of
from cladist.metrics import scorers, zero_one_loss
from cladist.storage.array_groups import Arrays, group, prefixed
from cladist.taxonomy import Taxonomy, as_taxonomy

Ids = npt.NDArray[np.int64]

# Scorers of sets of labels.
SCORINGS = ("micro_f1", "macro_f1", "hierarchical_f1", "accuracy", "h_loss", "symmetric_difference_loss")


@dataclass(eq=False, repr=False)
class Thresholded(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Sets of labels from the scores of any learner, by a trained threshold.

    `fit` trains `cv` clones of the estimator, each on all rows but its fold, and scores that fold. On these out-of-fold
    scores, which are distributed as those of new rows, it fits the strategy; the estimator itself is trained on all
    rows. `predict` thresholds the scores and adds the ancestors of the labels chosen.

    With "auto", strategies are compared by `scoring`: each is fitted to the out-of-fold scores outside one fold after
    the other, and predicts that fold. No threshold is fitted unless the best strategy is better than that by more than
    two standard errors of their difference; then the simplest that is not worse than the best by more than one is used:
    one threshold for all labels, or one per label.

    Parameters
    ----------
    estimator : learner, or Pipeline that ends in one
        Any learner of cladist with `decision_function`. It must accept y: several labels per row if y has several.
    strategy : {"auto", "zero", "global", "rcut", "pcut", "fixed-pcut", "scut", "instance"} or Strategy
        How to threshold, see `cladist.decoders.thresholds`; a name stands for the strategy with its defaults. "auto":
        chosen by `scoring` among `Zero`, `GlobalCut`, `FixedPCut`, and `SCut` with `fbr` 0.3, 0.2 and 0.1.
    scoring : {"micro_f1", "macro_f1", "hierarchical_f1", "accuracy", "h_loss", "symmetric_difference_loss"} or Scorer
        The measure of "auto", which other strategies ignore; see `cladist.metrics.scorers`. "micro_f1" and "macro_f1"
        are over leaves, "hierarchical_f1" is over all nodes; "accuracy" is the share of exact sets. A model with a
        `Scorer` cannot be saved, one with a name can.
    cv : int
        Number of random folds, at least 2; not stratified.
    random_state : int, RandomState or None
        Seed of the folds.
    n_jobs : int or None
        Threads that fit folds in parallel; the result does not depend on it.

    Attributes
    ----------
    estimator_ : learner
        Fitted to all rows.
    strategy_ : Strategy
        Fitted to the out-of-fold scores.
    cv_results_ : list of dict
        With "auto": of each strategy compared, the simplest first, its `strategy`, its `score` by `scoring` (larger is
        better, so that losses are negative), and the `standard_error` of its difference from the best.
    classes_, class_nodes_, taxonomy_, label_form_
        The estimator's.

    Notes
    -----
    The strategy sees one column per class of the estimator; a row has a class if its label is the class or lies below
    it. A class that no row outside a fold has gets −inf in that fold, since its clone was not trained on it. The rows
    that have it there count as missed for every threshold, and lower none.

    "pcut" compares the rows of a test set with each other: give it all of them at once. "auto" never chooses it, since
    its labels of a row that is predicted alone are not those of the row among others; its substitute is `FixedPCut`.

    A global cut of "auto" maximises `scoring`. It is the best of 0 and 17 thresholds that predict from a quarter to
    four times as many labels as there are.

    Fitting costs cv + 1 fits of the estimator, and memory for the scores of all rows, rows × classes × 8 bytes,
    at most 4 GiB. Prediction is done in pieces, except for "pcut".

    Examples
    --------
    >>> from cladist import Hieron, Taxonomy
    >>> from cladist.decoders.thresholds import RCut
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[3, 0, 2, 0], [3, 0, 0, 2], [0, 3, 0, 0]] * 4
    >>> y = [{"tennis"}, {"chess"}, {"art"}] * 4
    >>> scorer = Hieron(taxonomy, allowed_labels="leaves", max_iter=5, random_state=0)
    >>> model = Thresholded(scorer, strategy=RCut(2), random_state=0).fit(X, y)
    >>> [sorted(labels) for labels in model.predict(X[:2])]
    [['chess', 'tennis'], ['chess', 'tennis']]
    """

    estimator: Any
    _: KW_ONLY
    strategy: Any = "auto"
    scoring: Any = "micro_f1"
    cv: int = 5
    random_state: Any = None
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    # ---------------------------------------------------------------- training

    def fit(self, X: Any, y: Any) -> Self:
        """Train the estimator on all rows, and the strategy on out-of-fold scores.

        Parameters
        ----------
        X : rows, as the estimator takes them
        y : sets of labels, in any form that can hold several per row
        """
        strategy = self._new_strategy()
        self.check_parameters()
        labels = self._checked_labels(y)
        check_consistent_length(X, labels)
        folds = random_folds("Thresholded", len(labels), self.cv, self.random_state)
        self.estimator_ = clone(self.estimator).fit(X, y)
        scores = out_of_fold_scores(self.estimator, X, labels, self.class_nodes_, folds=folds, n_jobs=self.n_jobs)
        for name in ("cv_results_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        rows = ScoredRows(scores, labels, self.class_nodes_)
        if strategy is None:
            self.strategy_, self.cv_results_ = choose_strategy(rows, folds, self._scorer())
        else:
            self.strategy_ = strategy.fit(scores, rows.indicator())
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _new_strategy(self) -> Strategy | None:
        """Return an unfitted strategy; None: it is to be chosen."""
        if isinstance(self.strategy, Strategy):
            return clone(self.strategy)
        if not isinstance(self.strategy, str):
            raise ParameterError(f"Thresholded: strategy must be a name or a Strategy; got {self.strategy!r}.")
        one_of("Thresholded", "strategy", self.strategy, ("auto", *STRATEGIES))
        return None if self.strategy == "auto" else STRATEGIES[self.strategy]()

    def _scorer(self) -> scorers.Scorer:
        if isinstance(self.scoring, scorers.Scorer):
            return self.scoring
        if not isinstance(self.scoring, str):
            raise ParameterError(f"Thresholded: scoring must be a name or a Scorer; got {self.scoring!r}.")
        one_of("Thresholded", "scoring", self.scoring, SCORINGS)
        scorer: scorers.Scorer = getattr(scorers, self.scoring)
        return scorer

    def check_parameters(self) -> None:
        check_folds("Thresholded", self.cv)
        self._scorer()
        learner = last_step(self.estimator)
        if not (hasattr(learner, "taxonomy") and hasattr(learner, "decision_function")):
            raise ParameterError(
                "Thresholded: estimator must be one of cladist's learners, with taxonomy and decision_function, or a "
                f"Pipeline that ends in one; got {self.estimator!r}."
            )

    def _checked_labels(self, y: Any) -> LabelMatrix:
        """Return y as a matrix; refuse forms that hold one label per row."""
        learner = last_step(self.estimator)
        given = None if learner.taxonomy is None else as_taxonomy(learner.taxonomy)
        encoded = encode(y, given, lists=getattr(learner, "reading_of_lists", "auto"))
        if not encoded.form.is_multi:
            raise LabelError(
                "Thresholded predicts sets of labels, and this form of y holds one label per row; write each row as a "
                "set, {'label'}, or use the estimator alone."
            )
        return encoded.labels

    # ---------------------------------------------------------------- prediction

    @property
    def classes_(self) -> npt.NDArray[Any]:
        return last_step(self.estimator_).classes_

    @property
    def class_nodes_(self) -> Ids:
        return last_step(self.estimator_).class_nodes_

    @property
    def taxonomy_(self) -> Taxonomy:
        return last_step(self.estimator_).taxonomy_

    @property
    def label_form_(self) -> LabelForm:
        return last_step(self.estimator_).label_form_

    def predict(self, X: Any) -> Any:
        """Return a set of labels for every row, in the form y had in `fit`; it may be empty.

        Parameters
        ----------
        X : rows, as the estimator takes them; for "pcut" all of a test set
        """
        return self.label_form_.render(self._labels(X), index=_row_index(X))

    def predict_paths(self, X: Any) -> list[list[list[str]]]:
        """Return the paths from the root to the deepest labels of every row, in a DAG the shortest."""
        return self._labels(X).frontier_paths()

    def decision_function(self, X: Any, nodes: Any = None) -> npt.NDArray[Any]:
        """Return the estimator's scores of `classes_`, or of `nodes`, before thresholding."""
        check_is_fitted(self)
        return last_step(self.estimator_).decision_function(transformed(self.estimator_, X), nodes)

    def predict_top_k(self, X: Any, k: int, *, beam: int | None = None) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the k best labels of every row and their scores, best first, before thresholding."""
        check_is_fitted(self)
        return last_step(self.estimator_).predict_top_k(transformed(self.estimator_, X), k, beam=beam)

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the share of rows whose set of labels is exactly right."""
        predicted = self._labels(X)
        if last_step(self.estimator_).taxonomy is None and self.label_form_.kind in ("sets", "path sets"):
            # Without a taxonomy a label never seen in training is not an error, only wrong.
            true = encode(y, None, lists=self.label_form_.reading_of_lists).labels
            check_consistent_length(predicted, true)
            pairs = zip(true.frontier_names(), predicted.frontier_names(), strict=True)
            weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
            return float(np.average([set(a) == set(b) for a, b in pairs], weights=weights))
        return 1.0 - float(zero_one_loss(y, predicted, self.taxonomy_, sample_weight=sample_weight))

    def save(self, folder: Any) -> None:
        """Write the model to a folder that `cladist.load` reads; see `cladist.save`."""
        from cladist.persistence.models import save

        save(self, folder)

    def _labels(self, X: Any) -> LabelMatrix:
        check_is_fitted(self)
        parts = pieces(X, len(self.class_nodes_)) if self.strategy_.by_row else [X]
        chosen_parts = [self.strategy_.predict(class_scores(self.estimator_, rows)) for rows in parts]
        return labels_of(sparse.vstack(chosen_parts, format="csr"), self.class_nodes_, self.taxonomy_)

    # ---------------------------------------------------------------- saving and loading

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        from cladist.persistence.models import pack_learner

        inner, arrays = pack_learner(self.estimator_)
        content = self.strategy_.to_dict()
        fitted = content.pop("fitted")
        fitted_arrays = {name: value for name, value in fitted.items() if isinstance(value, np.ndarray)}
        plain = {name: value for name, value in fitted.items() if name not in fitted_arrays}
        state = {
            "estimator": inner,
            "strategy": {**content, "fitted": plain},
            "strategy_by_name": isinstance(self.strategy, str),
            "cv_results": getattr(self, "cv_results_", None),
        }
        return state, {**prefixed("estimator", arrays), **prefixed("strategy", fitted_arrays)}

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        from cladist.persistence.models import unpack_learner

        self.estimator_ = unpack_learner(state["estimator"], group("estimator", arrays))
        content = state["strategy"]
        kind = STRATEGIES.get(content["name"])
        if kind is None:
            raise ModelFormatError(
                f"It thresholds by {content['name']!r}, which this version of cladist does not know."
            )
        self.strategy_ = kind.from_dict({**content, "fitted": {**content["fitted"], **group("strategy", arrays)}})
        if self.strategy_.n_labels_ != len(self.class_nodes_):
            raise ModelFormatError("Its thresholds are not as many as its classes.")
        self.strategy = kind.name if state["strategy_by_name"] else clone(self.strategy_)
        if state.get("cv_results") is not None:  # files of the first versions have none
            self.strategy, self.cv_results_ = "auto", state["cv_results"]
        self.estimator = clone(self.estimator_)  # with its taxonomy, which parameters in files do without
