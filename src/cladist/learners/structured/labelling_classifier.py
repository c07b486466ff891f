"""The base of learners over labellings: prediction by the best labelling or the best path, kernels, saving.

A labelling z scores Σ_v z_v a_v with node scores a; the prediction is the best consistent labelling, or, for single
labels, the path of highest score.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.decoders import best_labelling, node_margins, path_scores
from cladist.errors import ParameterError
from cladist.labels import LabelMatrix
from cladist.learners.base import CHUNK_BYTES, HierarchicalClassifier
from cladist.learners.kernel_functions import KernelFunction, gamma_for, make_kernel
from cladist.learners.row_lengths import check_lengths
from cladist.learners.structured.models import SupportModel, WeightModel
from cladist.storage.array_groups import Arrays

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class LabellingClassifier(HierarchicalClassifier):
    """A learner whose `model_`, a `WeightModel` or a `SupportModel`, gives the scores of nodes."""

    answers_sets: ClassVar[bool] = True
    _saved: ClassVar[tuple[str, ...]] = ()  # fitted attributes in the file, beside history_, n_iter_ and converged_

    decode: str
    verbose: Any
    model_: Any
    gamma_: float
    history_: list[dict[str, float]]
    n_iter_: int
    converged_: bool

    # ---------------------------------------------------------------- training

    def set_label_classes(self, labels: LabelMatrix) -> None:
        """Set the classes: all nodes if sets are predicted, otherwise the labels seen, one per row."""
        self.check_label_form(self.decode)
        who = type(self).__name__
        self.set_classes(np.arange(self.taxonomy_.n_nodes) if self.decodes_sets else np.unique(labels.nodes(who)))

    @contextmanager
    def training(self) -> Iterator[None]:
        """Show progress if `verbose`, and use one BLAS thread, so that sums do not depend on the number of cores."""
        with progress.show_lines(self.verbose), threadpool_limits(1, user_api="blas"):
            yield

    def _check_lengths(self, X: Any) -> None:
        if not self.is_precomputed:
            check_lengths(type(self).__name__, X)

    # ---------------------------------------------------------------- kernels

    @property
    def is_precomputed(self) -> bool:
        """Whether rows are given by their kernel values."""
        kernel = getattr(self, "kernel", "linear")
        return isinstance(kernel, str) and kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.is_precomputed
        tags.input_tags.sparse = not self.is_precomputed
        return tags

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        X = super()._checked_rows(X, reset=reset)
        if reset and self.is_precomputed and X.shape[0] != X.shape[1]:
            raise ParameterError(
                f"{type(self).__name__}: a precomputed kernel is a square matrix in fit; got shape {X.shape}."
            )
        return X

    def training_kernel(self, X: Any) -> KernelFunction:
        """Return K between training rows, which a precomputed kernel takes by their numbers; sets `gamma_`."""
        parameters: Any = self
        self.gamma_ = gamma_for(parameters.gamma, X)
        gram = X if self.is_precomputed else None
        return make_kernel(parameters.kernel, self.gamma_, parameters.degree, parameters.coef0, gram=gram)

    def _prediction_kernel(self) -> KernelFunction:
        """Return K between support rows and new rows."""
        parameters: Any = self
        return make_kernel(parameters.kernel, self.gamma_, parameters.degree, parameters.coef0)

    def support_model(self, X: Any, rows: Ids, coefs: sparse.csr_array) -> SupportModel:
        """Return the model Σ_k coefs[:, k] K(x_rows[k], ·)."""
        return SupportModel(self._prediction_kernel(), rows, rows[:, None] if self.is_precomputed else X[rows], coefs)

    # ---------------------------------------------------------------- prediction

    @property
    def _n_scores(self) -> int:
        """The number of scores that the model has for one row."""
        return self.taxonomy_.n_nodes

    def node_scores(self, X: Any) -> Floats:
        """Return a_v of every (validated) row and node."""
        scores: Floats = self.model_.scores(X)
        return scores

    def _chunks(self, X: Any, *, at_least: int = 1) -> Iterator[Any]:
        """Yield chunks of rows whose scores, or kernel values, take about `CHUNK_BYTES`."""
        rows = max(at_least, CHUNK_BYTES // (8 * self.model_.n_held(self._n_scores)))
        for start in range(0, X.shape[0], rows):
            yield X[start : start + rows]

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        """Return the score of each label's path; for sets, D_v of each node, see `cladist.decoders.node_margins`."""
        decode = node_margins if self.decodes_sets else path_scores
        return decode(self.node_scores(X), self.taxonomy_)[:, self.class_nodes_]

    def predict_sets(self, X: Any) -> LabelMatrix:
        """Return the best consistent labelling of every (validated) row."""
        parts = [best_labelling(self.node_scores(chunk), self.taxonomy_).to_indicator() for chunk in self._chunks(X)]
        marks = sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, self.taxonomy_.n_nodes))
        return LabelMatrix(marks.indptr.astype(np.int64), marks.indices.astype(np.int32), self.taxonomy_)

    # ---------------------------------------------------------------- fitted attributes

    @property
    def model_size_(self) -> int:
        """The size of the model in bytes: its weights, or its support rows and their coefficients."""
        return int(self.model_.n_bytes)

    @property
    def node_coef_(self) -> Floats:
        """The weights, one row per node in `taxonomy_.names` order; a view, not a copy."""
        return self._weight_model("node_coef_").W.T

    @property
    def coef_(self) -> Floats:
        """One row per class: for single labels the sum of weights along its path, for sets the node's own weights."""
        W = self._weight_model("coef_").W
        return np.asarray((W if self.decodes_sets else path_scores(W, self.taxonomy_))[:, self.class_nodes_].T)

    @property
    def support_(self) -> Ids:
        """The numbers of the training rows that the model keeps, ascending."""
        return self._support_model("support_").support

    @property
    def dual_coef_(self) -> sparse.csr_array:
        """The coefficients of these rows, as CSR (scores × rows)."""
        return self._support_model("dual_coef_").coefs

    @property
    def support_vectors_(self) -> Any:
        """These rows; for a precomputed kernel their numbers."""
        return self._support_model("support_vectors_").vectors

    def _weight_model(self, name: str) -> WeightModel:
        check_is_fitted(self)
        if not isinstance(self.model_, WeightModel) or self._n_scores != self.taxonomy_.n_nodes:
            raise AttributeError(f"{type(self).__name__} has no {name}: this model keeps no weights of nodes.")
        return self.model_

    def _support_model(self, name: str) -> SupportModel:
        check_is_fitted(self)
        if not isinstance(self.model_, SupportModel):
            raise AttributeError(f"{type(self).__name__} has no {name}: this model keeps weights, not rows.")
        return self.model_

    # ---------------------------------------------------------------- saving

    @property
    def _keeps_rows(self) -> bool:
        """Whether the model is a `SupportModel`."""
        return False

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the fitted attributes, and the arrays of the model."""
        names = ("history_", "n_iter_", "converged_", *self._saved)
        return {name[:-1]: getattr(self, name, None) for name in names}, self.model_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Restore what `pack_state` returned."""
        self.history_, self.n_iter_, self.converged_ = state["history"], state["n_iter"], state["converged"]
        for name in self._saved:
            if state.get(name[:-1]) is not None:
                setattr(self, name, state[name[:-1]])
        if self._keeps_rows:
            n_columns = 1 if self.is_precomputed else self.n_features_in_
            self.model_ = SupportModel.unpack(self._n_scores, n_columns, self._prediction_kernel(), arrays)
        else:
            self.model_ = WeightModel.unpack(self._n_scores, self.n_features_in_, arrays)
