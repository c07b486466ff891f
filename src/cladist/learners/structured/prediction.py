"""What learners over labellings share: the way in, and the ways out.

Labellings score Σ_v z_v a_v; the answer is the best one, or the path of highest score.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.decoders import best_labelling, node_margins, path_scores
from cladist.labels import LabelMatrix
from cladist.learners.base import CHUNK_BYTES, HierarchicalClassifier
from cladist.learners.row_lengths import check_lengths

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class LabellingClassifier(HierarchicalClassifier):
    """Base of learners over labellings; `model_` is a `WeightModel` or a `SupportModel`."""

    answers_sets: ClassVar[bool] = True

    decode: str
    verbose: Any
    model_: Any

    @abstractmethod
    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""

    @abstractmethod
    def _learn(self, X: Any, labels: LabelMatrix) -> None:
        """Learn `model_` from rows and labels that were checked."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, starting anew.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form
        """
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.check_label_form(self.decode)
        who = type(self).__name__
        nodes = np.arange(self.taxonomy_.n_nodes) if self.decodes_sets else np.unique(labels.nodes(who))
        self.set_classes(nodes)
        # Side by side, learners would undo each other's limits; and sums must not depend on the number of threads.
        with progress.shown(self.verbose), threadpool_limits(1, user_api="blas"):
            self._learn(X, labels)
        return self

    def _check_lengths(self, X: Any) -> None:
        if not self._is_precomputed:
            check_lengths(type(self).__name__, X)

    # ---------------------------------------------------------------- answering

    @property
    def _n_scores(self) -> int:
        """How many scores the model has for a row."""
        return self.taxonomy_.n_nodes

    def _node_scores(self, X: Any) -> Floats:
        """Return a_v of every (validated) row and node."""
        scores: Floats = self.model_.scores(X)
        return scores

    def _chunks(self, X: Any, *, at_least: int = 1) -> Iterator[Any]:
        """Yield rows in pieces, so many that what their scores need is about `CHUNK_BYTES`."""
        rows = max(at_least, CHUNK_BYTES // (8 * self.model_.n_held(self._n_scores)))
        for start in range(0, X.shape[0], rows):
            yield X[start : start + rows]

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        decoded = node_margins if self.decodes_sets else path_scores
        return decoded(self._node_scores(X), self.taxonomy_)[:, self.class_nodes_]

    def predict_nodes(self, X: Any) -> Ids:
        parts = [self.class_scores(chunk).argmax(axis=1) for chunk in self._chunks(X)]
        return self.class_nodes_[np.concatenate([np.zeros(0, np.int64), *parts])]

    def predict_sets(self, X: Any) -> LabelMatrix:
        parts = [best_labelling(self._node_scores(chunk), self.taxonomy_).to_indicator() for chunk in self._chunks(X)]
        chosen = sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, self.taxonomy_.n_nodes))
        return LabelMatrix(chosen.indptr.astype(np.int64), chosen.indices.astype(np.int32), self.taxonomy_)

    @property
    def model_size_(self) -> int:
        """How many bytes the model takes: its weights, or its support rows and their coefficients."""
        return int(self.model_.n_bytes)

    @property
    def _is_precomputed(self) -> bool:
        kernel = getattr(self, "kernel", "linear")
        return isinstance(kernel, str) and kernel == "precomputed"
