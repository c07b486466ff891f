"""`HierarchicalClassifier`: input validation and the prediction API that all learners share."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from cladist import checkpoints
from cladist.errors import DatasetError, LabelError, ModelFormatError, ParameterError, TooLargeError, is_count, one_of
from cladist.features.rows_on_disk import slice_rows
from cladist.features.rows_on_disk import take_rows as take_mapped_rows
from cladist.labels import LabelForm, LabelMatrix, encode
from cladist.labels.encoder import frame_library
from cladist.learners.label_warnings import warn_of_joined_paths
from cladist.learners.row_arrays import check_mixed
from cladist.metrics import zero_one_loss
from cladist.mixed_rows import MixedRows, array_of_library
from cladist.storage import is_mapped
from cladist.storage.array_groups import Arrays
from cladist.taxonomy import Taxonomy, as_taxonomy

MOST_SCORE_BYTES = 4 * 2**30  # a larger array of scores is more often a mistake than intended
CHUNK_BYTES = 64 * 2**20  # rows are scored in chunks of about this size, so that memory stays bounded


class HierarchicalClassifier(ClassifierMixin, BaseEstimator):
    """Base class of all learners, cladist's own and those of other packages.

    A learner is a scikit-learn estimator: `__init__` stores its arguments, of which `taxonomy` is the first. It writes

    - `fit`, which calls `validate_fit`, says with `set_classes` which nodes can be predicted, and returns itself;
    - `class_scores`, the score of every class for every row, the highest of which is predicted;
    - `pack_state` and `unpack_state`, if models are to be saved;
    - `predict_nodes`, only if the prediction is not the class of highest score;
    - `predict_sets`, with ``answers_sets = True``, only if it can predict sets of labels;
    - `check_parameters`, only if there are parameters to check: `fit` calls it first, and `cladist.load` last;
    - ``takes_dags = True``, only if nodes may have several parents;
    - ``takes_mixed_rows = True``, only if its rows may also be `MixedRows`, or arrays of float16.

    In return it has `predict`, `predict_paths`, `predict_top_k`, `decision_function`, `score` and `save`, takes y in
    every form and answers in the same one. An entry point of the group ``cladist.methods`` in its package's metadata,
    or `cladist.registry.register`, makes it known to `cladist.load` and to the command line.

    Attributes
    ----------
    taxonomy_ : Taxonomy
        The taxonomy in use, after `validate_fit`.
    label_form_ : LabelForm
        The form of y, in which predictions are returned.
    class_nodes_ : array of int
        The node ids that can be predicted, after `set_classes`; columns of `class_scores` follow it.
    classes_ : array
        The same labels as the caller writes them.

    Examples
    --------
    A path is scored by how near a row is to the centroids of its nodes; a node's rows include those of all below it.

    >>> import tempfile, numpy as np, cladist
    >>> from cladist.decoders import path_scores
    >>> class CentroidPaths(cladist.HierarchicalClassifier):
    ...     def __init__(self, taxonomy=None):
    ...         self.taxonomy = taxonomy
    ...     def fit(self, X, y):
    ...         X, labels = self.validate_fit(X, y)
    ...         self.set_classes(np.unique(labels.nodes("CentroidPaths")))  # one node id per row; sets are refused
    ...         on = labels.to_indicator().toarray()  # rows × nodes, ancestors included
    ...         self.centroids_ = (X.T @ on / np.maximum(1, on.sum(axis=0))).T
    ...         return self
    ...     def class_scores(self, X):
    ...         nearness = 2 * X @ self.centroids_.T - np.square(self.centroids_).sum(axis=1)
    ...         return path_scores(nearness, self.taxonomy_)[:, self.class_nodes_]
    ...     def pack_state(self):
    ...         return {}, {"centroids": self.centroids_}
    ...     def unpack_state(self, state, arrays):
    ...         self.centroids_ = arrays["centroids"]

    >>> model = CentroidPaths({"sport": None, "tennis": "sport", "chess": "sport", "art": None})
    >>> model.fit([[2.0, 1.0], [2.0, 0.0], [0.0, 2.0]], ["tennis", "chess", "art"]).predict_paths([[3.0, 1.0]])
    [['sport', 'tennis']]
    >>> cladist.registry.register("centroid-paths", CentroidPaths)
    >>> model.save(folder := tempfile.mkdtemp())
    >>> cladist.load(folder).predict([[0.0, 1.0]]).tolist()
    ['art']
    """

    takes_dags: ClassVar[bool] = False
    answers_sets: ClassVar[bool] = False
    takes_mixed_rows: ClassVar[bool] = False  # MixedRows and arrays of float16 as they are
    moved_parameters: ClassVar[tuple[str, ...]] = ()  # which `__init__` refuses in words of its own

    taxonomy: Any
    decode: str = "auto"
    taxonomy_: Taxonomy
    label_form_: LabelForm
    class_nodes_: npt.NDArray[np.int64]
    classes_: npt.NDArray[Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse unknown parameters with those that were probably meant."""
        known = cls._get_param_names()
        for name in kwargs.keys() - set(known) - set(cls.moved_parameters):
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5) or [k for k in known if k == name.upper()]
            meant = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(known)}."
            if name == "local_classifier" and "estimator" in known:
                meant = ": HiClass's parameter is `estimator` here; cladist.hiclass has HiClass's own names."
            raise TypeError(f"{cls.__name__} has no parameter {name!r}{meant}")
        return super().__new__(cls)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say which methods have probabilities, or train row by row, where one is asked for that does not."""
            if name == "predict_proba":
                raise AttributeError(
                    f"This {type(self).__name__} has no predict_proba; CalibratedClassifier(model) gives probabilities "
                    "to any method, and FlatLogistic, RecursiveLogistic and BayesianLogistic have their own."
                )
            if name == "partial_fit":
                raise AttributeError(
                    f"This {type(self).__name__} has no partial_fit: it trains on all rows at once; Hieron, "
                    "HierarchicalRLS and HierarchicalPerceptron train on rows as they come."
                )
            return object.__getattribute__(self, name)  # raises, with the reason if there is one

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---------------------------------------------------------------- hooks, which a learner writes

    def check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense; by default none is refused."""

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        """Return the score of every class for every (validated) row; columns follow `class_nodes_`."""
        raise TypeError(f"{type(self).__name__} has no class_scores(X), which HierarchicalClassifier needs.")

    def predict_nodes(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the predicted node id of every (validated) row; by default the class of highest score."""
        best = [scores.argmax(axis=1) for scores in self._scored(X)]
        return self.class_nodes_[np.concatenate([np.zeros(0, np.int64), *best])]

    def predict_sets(self, X: Any) -> LabelMatrix:
        """Return the predicted labels of every (validated) row; needed with `answers_sets`."""
        raise TypeError(f"{type(self).__name__} has no predict_sets(X), which answers_sets = True needs.")

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the fitted state beside taxonomy and classes: plain values, and arrays by name."""
        raise ModelFormatError(f"{type(self).__name__} has no pack_state(), so its models cannot be saved.")

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Restore the state that `pack_state` returned, and refuse arrays that do not fit with a `ModelFormatError`."""
        raise ModelFormatError(f"{type(self).__name__} has no unpack_state(), so its models cannot be loaded.")

    # ---------------------------------------------------------------- input validation

    def validate_fit(self, X: Any, y: Any) -> tuple[Any, LabelMatrix]:
        """Return the rows and labels given to `fit`, validated; sets `taxonomy_` and `label_form_`.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            The rows as `fit` was given them; `n_features_in_` and `feature_names_in_` are set.
        y : labels in any form
            Names, sets, path columns, an indicator matrix or a `LabelMatrix`.

        Returns
        -------
        X : float32 or float64, an array or CSR; with `takes_mixed_rows` also float16 or `MixedRows`
        labels : LabelMatrix
            The nodes of every row, ancestors included; ``labels.nodes(who)`` has the one label of every row, and
            refuses rows with several.
        """
        if y is None:
            raise LabelError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = self._checked_rows(X, reset=True)
        self._check_lengths(X)
        encoded = encode(y, self._given_taxonomy(), lists=self.reading_of_lists)
        check_consistent_length(X, encoded.labels)
        if not self.takes_dags:  # labels may bring one along
            encoded.taxonomy.require_tree(type(self).__name__)
        self.taxonomy_ = encoded.taxonomy
        self.label_form_ = encoded.form
        if checkpoints.is_active():
            labels, tree = encoded.labels, encoded.taxonomy
            checkpoints.identify(X, labels.indptr, labels.indices, list(tree.names), tree.parents)
        if self.taxonomy is None and encoded.form.kind == "single":
            warn_of_joined_paths(type(self).__name__, encoded.taxonomy)
        return X, encoded.labels

    def validate_weighted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, LabelMatrix, Any]:
        """Return the rows, labels and sample weights given to `fit`, validated, for a learner that has `decode`."""
        X, labels = self.validate_fit(X, y)
        self.check_label_form(self.decode)
        if not self.decodes_sets:
            labels.nodes(type(self).__name__)  # refuses rows with several labels
        return self._weighted(X, labels, sample_weight)

    def set_classes(self, nodes: npt.NDArray[np.int64]) -> None:
        """Set `class_nodes_` and `classes_`, the nodes that can be predicted.

        Parameters
        ----------
        nodes : array of int
            Node ids, ascending, such as ``np.unique(labels.nodes(who))`` or the taxonomy's leaves.
        """
        self.class_nodes_ = nodes
        self.classes_ = self.label_form_.values(self.taxonomy_, nodes)

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Return X as float32 or float64, dense or CSR, or raise scikit-learn's own error.

        Learners that take mixed rows also get these and float16 as they are; others get CSR and float32.
        """
        if isinstance(X, MixedRows):
            rows = check_mixed(self, X, reset=reset)
            return rows if self.takes_mixed_rows else rows.tocsr()
        frame_library(X)  # refuses a frame without rows
        X = array_of_library(X)
        accepted = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        types = [np.float64, np.float32]
        if isinstance(X, np.ndarray) and X.dtype == np.float16:
            types = [np.float16] if self.takes_mixed_rows else [np.float32]
        try:
            X = validate_data(self, X, reset=reset, accept_sparse=accepted, dtype=types)
        except ValueError as problem:
            if "could not convert string to float" not in str(problem):
                raise
            raise DatasetError(
                f"{type(self).__name__} needs rows of numbers, and these have texts ({problem}); put text_features() "
                "of cladist.features, or for columns of categories OneHotEncoder(), before it in a Pipeline."
            ) from None
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays unchanged
            X.sum_duplicates()
        return X

    def _check_lengths(self, X: Any) -> None:
        """Refuse training rows that are too long, or too short, to compute with; by default none."""

    def _weighted(self, X: Any, labels: LabelMatrix, sample_weight: Any) -> tuple[Any, LabelMatrix, Any]:
        """Return rows, labels and weights without the rows of weight 0, whose labels must not become classes."""
        if sample_weight is None:
            return X, labels, None
        weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
        if not weights.any():
            raise ParameterError(f"{type(self).__name__}: all sample weights are 0, so there is nothing to learn from.")
        positive = np.flatnonzero(weights)
        if len(positive) == len(weights):
            return X, labels, weights
        return take_rows(X, positive), labels[positive], weights[positive]

    def _given_taxonomy(self) -> Taxonomy | None:
        """Return the parameter `taxonomy` as a `Taxonomy`, or None; refuse a DAG that this method cannot learn on."""
        if self.taxonomy is None:
            return None
        given = as_taxonomy(self.taxonomy)
        if not self.takes_dags:
            given.require_tree(type(self).__name__)
        return given

    @property
    def _knows_taxonomy(self) -> bool:
        """Whether a taxonomy was given, rather than built from the labels."""
        return self.taxonomy is not None

    def _check_decode(self, decode: str) -> None:
        """Refuse a value of `decode` that this learner does not have."""
        who = type(self).__name__
        one_of(who, "decode", decode, ("auto", "single", "multi"))
        if decode == "multi" and not self.answers_sets:
            raise ParameterError(f"{who} predicts one path per row and has no decode='multi'; use 'auto' or 'single'.")

    def check_label_form(self, decode: str) -> None:
        """Refuse to predict sets where y has one label per row, and predictions are to have its form."""
        if decode == "multi" and not self.label_form_.is_multi:
            raise ParameterError(
                f"{type(self).__name__}: decode='multi' answers sets of labels, and y holds one label per row; write "
                "each row as a set, {'label'}."
            )

    @property
    def reading_of_lists(self) -> str:
        """How `encode` reads rows of y that are lists: paths where this learner predicts one label per row."""
        if self.answers_sets and self.decode in ("auto", "multi"):
            return "auto" if self.decode == "auto" else "sets"
        return "paths"

    @property
    def decodes_sets(self) -> bool:
        """Whether predictions are sets of labels, not one path."""
        return self.answers_sets and (self.decode == "multi" or (self.decode == "auto" and self.label_form_.is_multi))

    # ---------------------------------------------------------------- prediction API

    def _fitted_rows(self, X: Any) -> Any:
        """Return rows to predict, validated; refuse them if the model is not fitted."""
        check_is_fitted(self)
        return self._checked_rows(X, reset=False)

    def predict(self, X: Any) -> Any:
        """Return the predicted label or labels of every row, in the form that y had in `fit`.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            The rows to label.
        """
        rows = self._fitted_rows(X)
        if self.decodes_sets:
            return self.label_form_.render(self.predict_sets(rows), index=_row_index(X))
        return self.label_form_.render_nodes(self.predict_nodes(rows), self.taxonomy_, index=_row_index(X))

    def predict_paths(self, X: Any) -> list[Any]:
        """Return the path from the root to the predicted node of every row, as a list of names.

        Where y had sets, each row is a list of such paths. In a DAG they are shortest paths, see
        `Taxonomy.shortest_path`.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            The rows to label.
        """
        rows = self._fitted_rows(X)
        if self.decodes_sets:
            return self.predict_sets(rows).frontier_paths()
        nodes = self.predict_nodes(rows)
        path_of = {v: self.taxonomy_.shortest_path_parts(v) for v in np.unique(nodes).tolist()}
        paths = [list(path_of[v]) for v in nodes.tolist()]
        return [[path] for path in paths] if self.label_form_.is_multi else paths

    def decision_function(self, X: Any, nodes: Any = None) -> npt.NDArray[Any]:
        """Return the score of every class; `argmax` over the columns agrees with `predict`.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            The rows to score.
        nodes : sequence of labels, optional
            The classes to score; all of `classes_` by default.

        Returns
        -------
        array (rows × classes)
            Columns follow `classes_`, or `nodes`. For two classes and no `nodes`: (rows,), positive for the
            second class.
        """
        X = self._fitted_rows(X)
        columns = np.arange(len(self.classes_)) if nodes is None else self._columns_of(nodes)
        n_rows = _num_samples(X)
        needed = n_rows * len(columns) * 8
        if needed > MOST_SCORE_BYTES:
            raise TooLargeError(
                f"{n_rows} rows × {len(columns)} classes are {needed / 2**30:.1f} GiB of scores, over the limit of "
                f"{MOST_SCORE_BYTES / 2**30:.0f} GiB; use predict_top_k(X, k), name fewer `nodes`, or give fewer rows."
            )
        scores = np.concatenate([scores[:, columns] for scores in self._scored(X)])
        if nodes is None and scores.shape[1] == 2 and not self.decodes_sets:
            return scores[:, 1] - scores[:, 0]
        return scores

    def predict_top_k(self, X: Any, k: int, *, beam: int | None = None) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the k best labels of every row and their scores, best first, as two (rows × k) arrays.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            The rows to label.
        k : int
            How many labels; all, if there are fewer classes.
        beam : int, optional
            The number of nodes per level of the tree whose children are scored: faster, and not always exact. For
            `RecursiveSVM` and `RecursiveLogistic` with ``weights="differences"``, whose `beam_agreement` tells how
            often the labels are the exact ones. Rows for which it reaches fewer than k labels are answered exactly.
        """
        X = self._fitted_rows(X)
        self._check_beam(beam)
        if not is_count(k):
            raise ParameterError(f"predict_top_k: k must be a whole number from 1 up; got {k!r}.")
        best, scores = self._best_classes(X, min(int(k), len(self.classes_)), beam)
        return self.classes_[best], scores

    def _best_classes(self, X: Any, k: int, beam: int | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Return the k best classes of every (validated) row and their scores; learners with a beam override it."""
        best, best_scores = [], []
        for scores in self._scored(X):
            best.append(_top_k(scores, k))
            best_scores.append(np.take_along_axis(scores, best[-1], axis=1))
        return np.concatenate(best), np.concatenate(best_scores)

    def _check_beam(self, beam: int | None) -> None:
        """Refuse a beam that is not a positive number, or that this model has no inner-node weights for."""
        if beam is None:
            return
        who = type(self).__name__
        if not is_count(beam):
            raise ParameterError(f"{who}: beam must be a whole number from 1 up, or None; got {beam!r}.")
        if not self._has_beam:
            raise ParameterError(
                f"{who}: beam search needs inner-node weights, and this model keeps none; leave beam out, or fit "
                "RecursiveSVM or RecursiveLogistic with weights='differences' (with sharing=0 if labels are to "
                "share nothing)."
            )

    @property
    def _has_beam(self) -> bool:
        """Whether inner nodes have scores, which beam search needs."""
        return False

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the accuracy; for sets of labels, the share of rows that match exactly.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            The rows to label.
        y : labels in any form
            Their true labels.
        sample_weight : array-like, optional
            The weight of every row; all equal by default.
        """
        rows = self._fitted_rows(X)
        sets = self.decodes_sets
        predicted = (
            self.predict_sets(rows) if sets else LabelMatrix.from_nodes(self.predict_nodes(rows), self.taxonomy_)
        )
        if not self._knows_taxonomy and self.label_form_.kind not in ("indicator", "matrix"):
            # Without a taxonomy, a label never seen in training is a wrong prediction, not an unknown name.
            true = encode(y, None, lists=self.label_form_.reading_of_lists).labels
            check_consistent_length(X, true)
            weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
            return float(np.average(_path_sets(true) == _path_sets(predicted), weights=weights))
        return 1.0 - float(zero_one_loss(y, predicted, self.taxonomy_, sample_weight=sample_weight))

    def save(self, folder: Any) -> None:
        """Write the model to a folder that `cladist.load` reads; see `cladist.save`.

        Parameters
        ----------
        folder : path
            Where to write; an older model there is replaced.
        """
        from cladist.persistence.models import save

        save(self, folder)

    # ---------------------------------------------------------------- helpers

    def _columns_of(self, nodes: Any) -> npt.NDArray[np.int64]:
        """Return the positions in `classes_` of some labels."""
        position = {int(v): k for k, v in enumerate(self.class_nodes_)}
        names = [nodes] if isinstance(nodes, str) else nodes
        try:
            iter(names)
        except TypeError:
            raise LabelError(f"{type(self).__name__}: nodes must be a sequence of labels; got {nodes!r}.") from None
        ids = [self.taxonomy_.index(name) for name in names]
        for v in ids:
            if v not in position:
                raise LabelError(f"{self.taxonomy_.names[v]!r} is not among classes_, so it has no score of its own.")
        return np.array([position[v] for v in ids], dtype=np.int64)

    def _scored(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the class scores of all rows, one chunk of rows at a time."""
        for chunk in self._chunks(X):
            yield self.class_scores(chunk)

    def _chunks(self, X: Any, *, at_least: int = 1) -> Iterator[Any]:
        """Yield chunks of rows whose scores of all nodes take about `CHUNK_BYTES`, and of `at_least` this many rows."""
        rows = max(at_least, CHUNK_BYTES // (8 * self.taxonomy_.n_nodes))
        if 0 < X.shape[0] <= rows:
            yield X
            return
        is_on_disk = sparse.issparse(X) and X.format == "csr" and is_mapped(X.data)
        for start in range(0, X.shape[0], rows):
            stop = min(start + rows, X.shape[0])
            yield slice_rows(X, start, stop) if is_on_disk else X[start:stop]


def take_rows(X: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return some rows of an array, a matrix or a data frame; those of a mapped matrix stay on disk if large."""
    if sparse.issparse(X) and X.format == "csr" and is_mapped(X.data):
        return take_mapped_rows(X, rows)
    return X[rows] if isinstance(X, (np.ndarray, MixedRows)) or sparse.issparse(X) else _safe_indexing(X, rows)


def random_generator(who: str, random_state: Any) -> np.random.RandomState:
    """Return the generator that a parameter `random_state` stands for."""
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
