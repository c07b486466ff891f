"""How learners with a linear classifier a label answer: scores, labels, weights, explanations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cladist.decoders import best_labelling, top_down
from cladist.errors import LabelError
from cladist.labels import LabelMatrix
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.explanation import Explanation, explain_by_vectors, nodes_to_explain
from cladist.learners.select_c import ChoosesC
from cladist.linear_model.node_differences import DifferenceWeights
from cladist.linear_model.weights import Weights

Ids = npt.NDArray[np.int64]
PIECE_BYTES = 2**29  # of scores, for which weights that are made when they are wanted are made once
VECTORS_AT_ONCE = 16  # classes whose weights are held to explain their scores


class LinearAnswers(ChoosesC, HierarchicalClassifier):
    """The half of `FlatLinear` that answers."""

    targets: str
    repair: str
    target_nodes_: Ids
    weights_: Weights

    def predict_nodes(self, X: Any) -> Ids:
        if len(self.class_nodes_) == 1:
            return np.repeat(self.class_nodes_, X.shape[0])
        if self._one_a_label:
            return self.class_nodes_[self.weights_.best(X)]
        parts = [scores.argmax(axis=1) for scores in self._scored(X)]
        return self.class_nodes_[np.concatenate([np.zeros(0, np.int64), *parts])]

    def _best_classes(self, X: Any, k: int, beam: int | None) -> tuple[Ids, npt.NDArray[Any]]:
        if self._one_a_label and self.weights_.can_rank(X.shape[0]):
            return self.weights_.top_k(X, k, beam)
        return super()._best_classes(X, k, beam)

    @property
    def _has_beam(self) -> bool:
        return isinstance(self.weights_, DifferenceWeights)

    @property
    def _one_a_label(self) -> bool:
        """Whether there is exactly one problem a label, in the same order."""
        return np.array_equal(self.target_nodes_, self.class_nodes_) and (self.targets == "leaves" or self.decodes_sets)

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        if not len(self.target_nodes_):
            return np.zeros((X.shape[0], len(self.class_nodes_)), np.float32)
        scores = self.weights_.scores(X)
        return scores if self._one_a_label else scores @ self._combination().T

    def _scored(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        at_least = (
            PIECE_BYTES // (4 * max(1, len(self.class_nodes_))) if self.weights_.rebuilds_blocks(X.shape[0]) else 1
        )
        for piece in self._chunks(X, at_least=max(1, at_least)):
            yield from self._chunks(self.class_scores(piece))

    def _combination(self, classes: Ids | None = None) -> npt.NDArray[np.float32]:
        """Return what the problems' scores add to those of labels (labels × problems), some labels' or all.

        Halves of the one problem that tells two labels apart, or sums over paths.
        """
        if len(self.target_nodes_) == 1 and len(self.class_nodes_) == 2 and self.targets == "leaves":
            halves = np.array([[-0.5], [0.5]], np.float32)
            return halves if classes is None else halves[classes]
        labels = self.class_nodes_ if classes is None else self.class_nodes_[classes]
        paths = LabelMatrix.from_nodes(labels, self.taxonomy_).to_indicator()
        return paths[:, self.target_nodes_].toarray().astype(np.float32)

    def predict_sets(self, X: Any) -> LabelMatrix:
        parts = [self._cut(scores) for scores in self._scored(X)]
        chosen = sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, self.taxonomy_.n_nodes))
        return LabelMatrix.from_ids(chosen.indptr, chosen.indices, self.taxonomy_)

    def _cut(self, scores: npt.NDArray[Any]) -> sparse.csr_array:
        """Return the labels whose score is positive, made consistent."""
        if self.targets == "leaves" or self.repair == "bottom_up":
            rows, columns = np.nonzero(scores > 0)
            shape = (len(scores), self.taxonomy_.n_nodes)
            return sparse.csr_array((np.ones(len(rows), np.int8), (rows, self.target_nodes_[columns])), shape=shape)
        of_nodes = np.full((len(scores), self.taxonomy_.n_nodes), -np.inf)
        of_nodes[:, self.target_nodes_] = scores
        decode = top_down if self.repair == "top_down" else best_labelling
        return decode(of_nodes, self.taxonomy_).to_indicator()

    # ---------------------------------------------------------------- weights

    @property
    def coef_(self) -> Any:
        """The weights, one row a class; made when asked for. Dense, or CSR where they are kept sparse."""
        check_is_fitted(self)
        matrix = self.weights_.matrix()
        return matrix if self._one_a_label else _product(self._combination(), matrix)

    @property
    def intercept_(self) -> npt.NDArray[Any]:
        """The intercepts, one a class."""
        check_is_fitted(self)
        intercepts = self.weights_.intercepts
        return intercepts if self._one_a_label else self._combination() @ intercepts

    @property
    def node_coef_(self) -> sparse.csr_array:
        """The weights, one row a node in `taxonomy_.names` order, as CSR; nodes without a classifier have none."""
        check_is_fitted(self)
        matrix = sparse.csr_array(self.weights_.matrix())
        shape = (self.taxonomy_.n_nodes, self.n_features_in_)
        indptr = np.zeros(shape[0] + 1, np.int64)
        indptr[self.target_nodes_ + 1] = np.diff(matrix.indptr)
        return sparse.csr_array((matrix.data, matrix.indices, np.cumsum(indptr)), shape=shape)

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return what every feature adds to a label's score; the parts sum to the score.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain of every row; the one of highest score by default.
        """
        rows = self._fitted_rows(X)
        if nodes is None and not len(self.class_nodes_):
            raise LabelError(f"{type(self).__name__}: there is no label to explain; the rows learnt from had none.")
        ids = self.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], self.taxonomy_)
        names = [self.taxonomy_.names[v] for v in ids]
        columns, names_of_features = self._columns_of(names), getattr(self, "feature_names_in_", None)
        found: dict[int, Explanation] = {}
        distinct, place = np.unique(columns, return_inverse=True)
        for first in range(0, len(distinct), VECTORS_AT_ONCE):
            listed = np.flatnonzero((place >= first) & (place < first + VECTORS_AT_ONCE))
            coef, intercepts = self._vectors(distinct[first : first + VECTORS_AT_ONCE])
            labels = [names[i] for i in listed]
            explained = explain_by_vectors(
                rows[listed], labels, place[listed] - first, coef, intercepts, names_of_features
            )
            found.update(zip(listed.tolist(), explained, strict=True))
        return [found[i] for i in range(len(names))]

    def _vectors(self, classes: Ids) -> tuple[Any, npt.NDArray[Any]]:
        """Return the weights and intercepts of some classes; the cost is in these."""
        if self._one_a_label:
            return self.weights_.matrix(classes), self.weights_.intercepts[classes]
        combination = self._combination(classes)
        problems = np.flatnonzero(combination.any(axis=0))
        part = combination[:, problems]
        return _product(part, self.weights_.matrix(problems)), part @ self.weights_.intercepts[problems]


def _product(combination: npt.NDArray[Any], matrix: Any) -> Any:
    if not sparse.issparse(matrix):
        return combination @ matrix
    return sparse.csr_array(sparse.csr_array(combination) @ matrix).sorted_indices()
