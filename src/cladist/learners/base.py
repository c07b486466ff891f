"""What every learner shares: the door in (X, y, taxonomy) and the doors out (labels, paths, scores).

A learner validates once, in `validate_fit` and `_checked_rows`; what lies behind sees clean arrays. It provides `fit`,
two hooks, `predict_nodes(X)` (one node id a row) and `class_scores(X)` (the score of every class a row), and
`pack_state` and `unpack_state` for its file. One that can answer with sets of labels says so in `answers_sets` and
has a third, `predict_sets(X)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from cladist.errors import LabelError, ParameterError, TooLargeError, is_count, one_of
from cladist.labels import LabelForm, LabelMatrix, encode
from cladist.learners.label_warnings import warn_of_paths
from cladist.metrics import zero_one_loss
from cladist.taxonomy import Taxonomy, as_taxonomy

MOST_SCORE_BYTES = 4 * 2**30  # beyond this a dense array of scores is a mistake more often than a wish
CHUNK_BYTES = 64 * 2**20  # rows are scored in pieces of about this size, so that memory stays bounded


class HierarchicalClassifier(ClassifierMixin, BaseEstimator):
    """Base of all learners; see the module for what a subclass provides."""

    takes_dags: ClassVar[bool] = False  # as the registry says of the method
    answers_sets: ClassVar[bool] = False  # where y holds sets, or is asked to

    taxonomy: Any
    taxonomy_: Taxonomy
    label_form_: LabelForm
    class_nodes_: npt.NDArray[np.int64]
    classes_: npt.NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---------------------------------------------------------------- the door in

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Return X as float32 or float64, dense or CSR, or raise what scikit-learn would."""
        accepted = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        X = validate_data(self, X, reset=reset, accept_sparse=accepted, dtype=[np.float64, np.float32])
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's stays as it is
            X.sum_duplicates()
        return X

    def validate_fit(self, X: Any, y: Any) -> tuple[Any, LabelMatrix]:
        """Validate what `fit` was given and remember the taxonomy and the form of y."""
        if y is None:
            raise LabelError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = self._checked_rows(X, reset=True)
        self._check_lengths(X)
        encoded = encode(y, self._given_taxonomy())
        check_consistent_length(X, encoded.labels)
        if not self.takes_dags:  # labels may bring one along
            encoded.taxonomy.require_tree(type(self).__name__)
        self.taxonomy_ = encoded.taxonomy
        self.label_form_ = encoded.form
        warn_of_paths(self, y)
        return X, encoded.labels

    def _check_lengths(self, X: Any) -> None:
        """Refuse rows to learn from that are too long, or too short, to compute with."""

    def _weighted(self, X: Any, labels: LabelMatrix, sample_weight: Any) -> tuple[Any, LabelMatrix, Any]:
        """Leave out rows of weight 0, which are as good as absent: they must not make their labels classes."""
        if sample_weight is None:
            return X, labels, None
        weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
        if not weights.any():
            raise ParameterError(f"{type(self).__name__}: all sample weights are 0, so there is nothing to learn from.")
        kept = np.flatnonzero(weights)
        return X[kept], labels[kept], weights[kept]

    def _given_taxonomy(self) -> Taxonomy | None:
        """Return the taxonomy that the parameter stands for, if this method can learn on it."""
        if self.taxonomy is None:
            return None
        given = as_taxonomy(self.taxonomy)
        if not self.takes_dags:
            given.require_tree(type(self).__name__)
        return given

    def _check_decode(self, decode: str) -> None:
        """Refuse what this learner cannot decode."""
        who = type(self).__name__
        one_of(who, "decode", decode, ("auto", "single", "multi"))
        if decode == "multi" and not self.answers_sets:
            raise ParameterError(f"{who} predicts one path a row and has no decode='multi'; use 'auto' or 'single'.")

    def check_label_form(self, decode: str) -> None:
        """Refuse to answer sets in a form of y that holds one label a row."""
        if decode == "multi" and not self.label_form_.is_multi:
            raise ParameterError(
                f"{type(self).__name__}: decode='multi' answers sets of labels, and y holds one label a row; write "
                "each row as a set, {'label'}."
            )

    @property
    def decodes_sets(self) -> bool:
        """Whether predictions are sets of labels, not one path."""
        decode = getattr(self, "decode", "auto")
        return self.answers_sets and (decode == "multi" or (decode == "auto" and self.label_form_.is_multi))

    def set_classes(self, nodes: npt.NDArray[np.int64]) -> None:
        """Remember which nodes can be predicted, as ids and as the caller writes them."""
        self.class_nodes_ = nodes
        self.classes_ = self.label_form_.values(self.taxonomy_, nodes)

    # ---------------------------------------------------------------- hooks

    def predict_nodes(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the predicted node id of every (validated) row."""
        raise TypeError(f"{type(self).__name__} does not say how it predicts.")

    def predict_sets(self, X: Any) -> LabelMatrix:
        """Return the predicted labels of every (validated) row."""
        raise TypeError(f"{type(self).__name__} does not say how it predicts sets.")

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        """Return the path score of every class for every (validated) row."""
        raise TypeError(f"{type(self).__name__} does not say how it scores.")

    # ---------------------------------------------------------------- the doors out

    def _fitted_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._checked_rows(X, reset=False)

    def predict(self, X: Any) -> Any:
        """Return a label for every row, in the form y had in `fit`.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)

        Returns
        -------
        labels
            As `fit` was given them: names, sets, path columns, an indicator or a `LabelMatrix`.
        """
        rows = self._fitted_rows(X)
        if self.decodes_sets:
            return self.label_form_.render(self.predict_sets(rows), index=_row_index(X))
        return self.label_form_.render_nodes(self.predict_nodes(rows), self.taxonomy_, index=_row_index(X))

    def predict_paths(self, X: Any) -> list[Any]:
        """Return the path from the root to the predicted node of every row, as a list of its parts.

        Where `fit` was given sets, each row is a list of such paths. In a DAG they are shortest paths, see
        `Taxonomy.shortest_path`.
        """
        rows = self._fitted_rows(X)
        if self.decodes_sets:
            return self.predict_sets(rows).frontier_paths()
        nodes = self.predict_nodes(rows)
        path_of = {v: self.taxonomy_.shortest_path_parts(v) for v in np.unique(nodes).tolist()}
        paths = [list(path_of[v]) for v in nodes.tolist()]
        return [[path] for path in paths] if self.label_form_.is_multi else paths

    def decision_function(self, X: Any, nodes: Any = None) -> npt.NDArray[Any]:
        """Return the path score of every class; `argmax` over the columns agrees with `predict`.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The classes wanted; all of `classes_` by default.

        Returns
        -------
        array (rows × classes)
            Columns follow `classes_`, or `nodes`. For two classes and no `nodes`: (rows,), positive for the
            second class.
        """
        X = self._fitted_rows(X)
        columns = np.arange(len(self.classes_)) if nodes is None else self._columns_of(nodes)
        needed = X.shape[0] * len(columns) * 8
        if needed > MOST_SCORE_BYTES:
            raise TooLargeError(
                f"{X.shape[0]} rows × {len(columns)} classes are {needed / 2**30:.1f} GiB of scores, over the limit of "
                f"{MOST_SCORE_BYTES / 2**30:.0f} GiB; use predict_top_k(X, k), name fewer `nodes`, or give fewer rows."
            )
        scores = np.concatenate([scores[:, columns] for scores in self._scored(X)])
        if nodes is None and scores.shape[1] == 2 and not self.decodes_sets:
            return scores[:, 1] - scores[:, 0]
        return scores

    def predict_top_k(self, X: Any, k: int, *, beam: int | None = None) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the k best labels of every row and their scores, best first, as two (rows × k) arrays.

        Memory is bounded: rows are scored in pieces.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        k : int
        beam : int, optional
            Look only below so many nodes a level of the tree, those of highest score: faster, and not always what is
            best. Of `RecursiveSVM` and `RecursiveLogistic` with ``weights="differences"``, whose `beam_agreement` says
            how often it is. Where it reaches fewer than k labels a row is answered exactly.
        """
        X = self._fitted_rows(X)
        self._check_beam(beam)
        if not isinstance(k, (int, np.integer)) or not 1 <= k <= len(self.classes_):
            raise ParameterError(
                f"predict_top_k: k must be between 1 and the number of classes, {len(self.classes_)}; got {k!r}."
            )
        best, scores = self._best_classes(X, int(k), beam)
        return self.classes_[best], scores

    def _best_classes(self, X: Any, k: int, beam: int | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Return the k best classes of every (validated) row, and their scores; without a beam, unless overridden."""
        best, scores = [], []
        for found in self._scored(X):
            order = _top_k(found, k)
            best.append(order)
            scores.append(np.take_along_axis(found, order, axis=1))
        return np.concatenate(best), np.concatenate(scores)

    def _check_beam(self, beam: int | None) -> None:
        """Refuse a beam that is no number, or where there is nothing to lead it."""
        if beam is None:
            return
        who = type(self).__name__
        if not is_count(beam):
            raise ParameterError(f"{who}: beam must be a whole number from 1 up, or None; got {beam!r}.")
        if not self._has_beam:
            raise ParameterError(
                f"{who}: a beam is led by vectors of nodes above labels, and this model keeps none; leave beam out, or "
                "fit RecursiveSVM or RecursiveLogistic with weights='differences' (with sharing=0 if labels are to "
                "share nothing)."
            )

    @property
    def _has_beam(self) -> bool:
        """Whether nodes above labels have scores that lead a beam."""
        return False

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the accuracy; for sets of labels, the share of rows that match exactly."""
        rows = self._fitted_rows(X)
        if self.decodes_sets:
            predicted = self.predict_sets(rows)
        else:
            predicted = LabelMatrix.from_nodes(self.predict_nodes(rows), self.taxonomy_)
        if self.taxonomy is None and self.label_form_.kind in ("single", "sets", "paths"):
            # Without a taxonomy a label never seen in training is no error of the caller's, only wrong.
            true = encode(y, None).labels
            check_consistent_length(X, true)
            weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
            return float(np.average(_path_sets(true) == _path_sets(predicted), weights=weights))
        return 1.0 - float(zero_one_loss(y, predicted, self.taxonomy_, sample_weight=sample_weight))

    def save(self, folder: Any) -> None:
        """Write the model to a folder that `cladist.load` reads; see `cladist.save`."""
        from cladist.persistence.models import save

        save(self, folder)

    # ---------------------------------------------------------------- helpers

    def _columns_of(self, nodes: Any) -> npt.NDArray[np.int64]:
        position = {int(v): k for k, v in enumerate(self.class_nodes_)}
        names = [nodes] if isinstance(nodes, str) else nodes
        try:
            iter(names)
        except TypeError:
            raise LabelError(f"{type(self).__name__}: nodes must be a sequence of labels; got {nodes!r}.") from None
        wanted = [self.taxonomy_.index(name) for name in names]
        for v in wanted:
            if v not in position:
                raise LabelError(f"{self.taxonomy_.names[v]!r} is not among classes_, so it has no score of its own.")
        return np.array([position[v] for v in wanted], dtype=np.int64)

    def _scored(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the class scores of all rows, some rows at a time."""
        for chunk in self._chunks(X):
            yield self.class_scores(chunk)

    def _chunks(self, X: Any, *, at_least: int = 1) -> Iterator[Any]:
        """Yield rows in pieces: as many as scores of all nodes are about `CHUNK_BYTES`, and `at_least` so many."""
        rows = max(at_least, CHUNK_BYTES // (8 * self.taxonomy_.n_nodes))
        if 0 < X.shape[0] <= rows:
            yield X
            return
        for start in range(0, X.shape[0], rows):
            yield X[start : start + rows]


def random_generator(who: str, random_state: Any) -> np.random.RandomState:
    """Return the generator a `random_state` asks for."""
    try:
        return check_random_state(random_state)
    except ValueError:
        raise ParameterError(
            f"{who}: random_state must be a whole number, a RandomState or None; got {random_state!r}."
        ) from None


def _top_k(scores: npt.NDArray[Any], k: int) -> npt.NDArray[np.int64]:
    """Return the columns of the k highest scores of each row, best first, ties to the first column."""
    if k < scores.shape[1]:
        threshold = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
        # Everything below the k-th value is out; a stable sort then settles ties by column.
        scores = np.where(scores >= threshold, scores, -np.inf)
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def _path_sets(labels: LabelMatrix) -> npt.NDArray[Any]:
    """Return each row's labels as a set of paths, which compare across taxonomies."""
    indptr, indices = labels.frontier
    path_of = {v: tuple(labels.taxonomy.path_parts(v)) for v in np.unique(indices).tolist()}
    sets = np.empty(len(labels), dtype=object)
    for i, (first, last) in enumerate(pairwise(indptr)):
        sets[i] = frozenset(path_of[v] for v in indices[first:last].tolist())
    return sets


def _row_index(X: Any) -> Any:
    """Return a data frame's row index, or None."""
    return X.index if hasattr(X, "columns") and hasattr(X, "index") else None
