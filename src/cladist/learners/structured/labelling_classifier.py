"""The base of learners over labellings: forms of the model, kernel columns, prediction, saving.

A labelling z scores Σ_v z_v a_v with node scores a; the prediction is the best consistent labelling, or, for single
labels, the path of highest score.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from cladist import progress
from cladist.decoders import best_labelling, node_margins, path_scores
from cladist.errors import ModelFormatError, ParameterError
from cladist.kernels import batch_perceptron
from cladist.labels import LabelMatrix
from cladist.learners.base import CHUNK_BYTES, HierarchicalClassifier
from cladist.learners.explanation import (
    Explanation,
    Factors,
    explain_by_support,
    explain_rows,
    nodes_to_explain,
    row_of,
)
from cladist.learners.kernel_functions import Kernel, gamma_for
from cladist.learners.row_arrays import allocate_weights, check_lengths, squared_lengths, unpack_weights
from cladist.solvers.structured.columns import blocks
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_matrix
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
GROUP = 64  # columns in memory at once while scores are summed up


class WeightModel:
    """Node scores a = W x + b, W held as (features × nodes)."""

    def __init__(self, W: Floats, intercepts: Floats | None = None) -> None:
        self.W = W
        self.intercepts = np.zeros(W.shape[1]) if intercepts is None else intercepts

    @classmethod
    def from_rows(cls, X: Any, rows: Ids, coefs: sparse.csr_array, constant: float = 0.0) -> WeightModel:
        """Return W = Σ_k coefs[:, k] x_rows[k]ᵀ, every row having one more feature of the value √constant."""
        W = allocate_weights("The perceptron", X.shape[1], coefs.shape[0])
        W += (X[rows].T @ coefs.T) if not sparse.issparse(X) else (coefs @ X[rows]).toarray().T
        return cls(W, constant * np.asarray(coefs.sum(axis=1), dtype=np.float64).ravel())

    def scores(self, X: Any) -> Floats:
        """Return a_v for every row and node."""
        return np.asarray(X @ self.W, dtype=np.float64) + self.intercepts

    def pack(self) -> Arrays:
        """Return the arrays of the model file."""
        arrays = prefixed("weights", pack_matrix(self.W))
        return {**arrays, "intercepts": self.intercepts} if self.intercepts.any() else arrays

    @classmethod
    def unpack(cls, n_nodes: int, n_features: int, arrays: Arrays) -> WeightModel:
        """Restore the arrays of `pack`."""
        W = np.asarray(unpack_weights("weights", arrays, n_features, n_nodes), dtype=np.float64)
        return cls(W, arrays.get("intercepts"))


class SupportModel:
    """Node scores a = Σ_k coefs[:, k] K(x_k, x) over support rows x_k."""

    def __init__(self, kernel: Kernel, support: Ids, vectors: Any, coefs: sparse.csr_array) -> None:
        self.kernel, self.support, self.vectors, self.coefs = kernel, support, vectors, coefs

    def scores(self, X: Any) -> Floats:
        """Return a_v for every row and node."""
        if not len(self.support):
            return np.zeros((X.shape[0], self.coefs.shape[0]))
        return np.ascontiguousarray((self.coefs @ self.kernel.between(self.vectors, X)).T)

    def pack(self) -> Arrays:
        """Return the arrays of the model file."""
        vectors, coefs = prefixed("vectors", pack_matrix(self.vectors)), prefixed("coefs", pack_matrix(self.coefs))
        return {"support": self.support, **vectors, **coefs}

    @classmethod
    def unpack(cls, n_nodes: int, n_columns: int, kernel: Kernel, arrays: Arrays) -> SupportModel:
        """Restore the arrays of `pack`, if rows and coefficients fit."""
        support = arrays["support"].astype(np.int64)
        vectors = unpack_matrix(group("vectors", arrays), n_columns)
        coefs = sparse.csr_array(unpack_matrix(group("coefs", arrays), len(support)))
        if support.ndim != 1 or vectors.shape[0] != len(support) or coefs.shape[0] != n_nodes:
            raise ModelFormatError("Its support rows do not fit its coefficients and its taxonomy.")
        return cls(kernel, support, vectors, coefs)


class KernelColumns:
    """Kernel columns K(x_i, ·) of training rows, of which these windows are used.

    A named kernel is a function of x·z, ‖x‖² and ‖z‖²: the entries of every block of rows are sorted by feature, so
    that a column costs only the entries in features of row i. Memory: as much as X again. Others are called by rows.
    """

    def __init__(self, X: Any, kernel: Kernel, windows: list[tuple[int, int]]) -> None:
        self.X, self.kernel = X, kernel
        self.diagonal = np.asarray(kernel.diagonal(X), dtype=np.float64)
        self.by_feature: dict[tuple[int, int], Any] = {}
        if isinstance(kernel.kernel, str) and kernel.kernel != "precomputed":
            self.norms = squared_lengths(X)
            parts = [part for window in windows for part in blocks(*window)]
            self.by_feature = {part: self._transpose(*part) for part in parts}

    def _transpose(self, first: int, last: int) -> Any:
        part = self.X[first:last]
        if not sparse.issparse(part):
            return np.ascontiguousarray(part.T)
        by_feature = part.tocsc()
        return by_feature.indptr, by_feature.indices, by_feature.data

    def add_constant(self, constant: float) -> None:
        """Add a constant to all values: an intercept, see `Kernel`."""
        self.kernel = replace(self.kernel, constant=constant)
        self.diagonal = self.diagonal + constant

    def fill(self, i: int, first: int, last: int, out: Floats) -> None:
        """Write K(x_i, x_r) for rows r of first … last into `out`."""
        if not self.by_feature:
            out[:] = self.kernel.between(self.X[i : i + 1], self.X[first:last])[0]
            return
        out[:] = 0.0
        block = self.by_feature[first, last]
        if sparse.issparse(self.X):
            entries = slice(self.X.indptr[i], self.X.indptr[i + 1])
            batch_perceptron.add_sparse_products(*block, self.X.indices[entries], self.X.data[entries], out)
        else:
            batch_perceptron.add_dense_products(block, np.ascontiguousarray(self.X[i]), out)
        if self.kernel.kernel == "poly":
            np.multiply(out, self.kernel.gamma, out=out)
            np.add(out, self.kernel.coef0, out=out)
            np.power(out, self.kernel.degree, out=out)
        elif self.kernel.kernel == "rbf":
            distances = self.norms[i] + self.norms[first:last] - 2.0 * out
            np.exp(-self.kernel.gamma * np.maximum(distances, 0.0), out=out)
        if self.kernel.constant:
            out += self.kernel.constant

    def expand(self, rows: Ids, coefs: Any, first: int, last: int) -> Floats:
        """Return Σ_k coefs[:, k] K(x_rows[k], ·) for rows first … last, some columns at a time."""
        if self.by_feature and self.kernel.kernel == "linear":
            scores = (coefs @ self.X[rows]) @ self.X[first:last].T
            scores = np.asarray(scores.toarray() if sparse.issparse(scores) else scores, dtype=np.float64)
            return scores + self.kernel.constant * np.asarray(coefs.sum(axis=1)).reshape(-1, 1)
        total = np.zeros((coefs.shape[0], last - first))
        by_row = coefs.tocsc()
        for start in range(0, len(rows), GROUP):
            some = rows[start : start + GROUP]
            values = np.empty((len(some), last - first))
            for value, i in zip(values, some.tolist(), strict=True):
                for a, b in blocks(first, last):
                    self.fill(i, a, b, value[a - first : b - first])
            total += by_row[:, start : start + len(some)] @ values
        return total


class LabellingClassifier(HierarchicalClassifier):
    """A learner whose `model_`, a `WeightModel` or a `SupportModel`, gives the scores of nodes."""

    answers_sets: ClassVar[bool] = True
    _sums_paths: ClassVar[bool] = True  # whether the score of a label is that of its path, or that of its node
    _saved: ClassVar[tuple[str, ...]] = ()  # fitted attributes in the file, beside history_, n_iter_ and converged_

    decode: str
    gamma: Any
    verbose: Any
    model_: Any
    gamma_: float
    history_: list[dict[str, float]]
    objective_: float
    dual_objective_: float
    gap_: float
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

    def training_kernel(self, X: Any) -> Kernel:
        """Return K between training rows, which a precomputed kernel takes by their numbers; sets `gamma_`."""
        self.gamma_ = gamma_for(self.gamma, X)
        return Kernel.of(self, gram=np.asarray(X, np.float64) if self.is_precomputed else None)

    def support_model(self, X: Any, rows: Ids, coefs: sparse.csr_array) -> SupportModel:
        """Return the model Σ_k coefs[:, k] K(x_rows[k], ·)."""
        vectors = rows[:, None] if self.is_precomputed else X[rows]
        return SupportModel(self._prediction_kernel(), rows, vectors, coefs)

    def _prediction_kernel(self) -> Kernel:
        return Kernel.of(self, constant=getattr(self, "constant_", 0.0))

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
        n_values = max(self._n_scores, len(self.model_.support) if self._keeps_rows else 0)
        rows = max(at_least, CHUNK_BYTES // (8 * n_values))
        for start in range(0, X.shape[0], rows):
            yield X[start : start + rows]

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        """Return the score of each label's path; for sets, D_v of each node, see `cladist.decoders.node_margins`."""
        scores = self.node_scores(X)
        if self._sums_paths:
            scores = (node_margins if self.decodes_sets else path_scores)(scores, self.taxonomy_)
        return scores[:, self.class_nodes_]

    def predict_sets(self, X: Any) -> LabelMatrix:
        """Return the best consistent labelling of every (validated) row."""
        parts = [best_labelling(self.node_scores(chunk), self.taxonomy_) for chunk in self._chunks(X)]
        return LabelMatrix.from_parts(parts, self.taxonomy_)

    # ---------------------------------------------------------------- explanation

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return what every feature, or with a kernel every training row, adds to a label's score, node by node.

        For single labels, the nodes are those of the path. For sets, they are those by which the best set with the
        label differs from the best without it: nodes of the first add their scores, those of the second subtract
        theirs. The sum is the score of `decision_function`.

        Parameters
        ----------
        X, nodes : rows, sequence of labels or None
            The rows, and the label to explain of each; None: the one of highest score.
        """
        rows = self._fitted_rows(X)
        ids = self.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], self.taxonomy_)
        names, model = getattr(self, "feature_names_in_", None), self.explained_model()
        factors = [part for chunk, own in self._chunks_with(rows, ids) for part in self.score_factors(chunk, own)]
        if isinstance(model, SupportModel):
            return explain_by_support(rows, ids, model, model.coefs, self.taxonomy_, factors)
        return explain_rows(rows, ids, model.W, self.taxonomy_, names, model.intercepts, factors)

    def explained_model(self) -> WeightModel | SupportModel:
        """Return the model of node scores of which the scores of labels are sums."""
        model: WeightModel | SupportModel = self.model_
        return model

    def score_factors(self, X: Any, nodes: Ids) -> list[Factors]:
        """Return, for each (validated) row and its node, the nodes whose scores make the node's, and their factors."""
        if not self.decodes_sets:
            return [dict.fromkeys(self.taxonomy_.path_ids(v), 1.0) for v in nodes.tolist()]
        changes = changed_nodes(self.node_scores(X), nodes, self.taxonomy_)
        return [dict(zip(*(part.tolist() for part in row_of(changes, i)), strict=True)) for i in range(len(nodes))]

    def _chunks_with(self, X: Any, nodes: Ids) -> Iterator[tuple[Any, Ids]]:
        start = 0
        for chunk in self._chunks(X):
            yield chunk, nodes[start : start + chunk.shape[0]]
            start += chunk.shape[0]

    # ---------------------------------------------------------------- fitted attributes

    @property
    def model_size_(self) -> int:
        """The size of the model in bytes: its weights, or its support rows and their coefficients."""
        if isinstance(self.model_, WeightModel):
            return int(self.model_.W.nbytes)
        return sum(int(array.nbytes) for array in self.model_.pack().values())

    @property
    def node_coef_(self) -> Floats:
        """The weights, one row per node in `taxonomy_.names` order; a view, not a copy."""
        return self._weight_model("node_coef_").W.T

    @property
    def coef_(self) -> Floats:
        """One row per class: for single labels the sum of weights along its path, for sets the node's own weights."""
        W = self._weight_model("coef_").W
        own = self.decodes_sets or not self._sums_paths
        return np.asarray((W if own else path_scores(W, self.taxonomy_))[:, self.class_nodes_].T)

    @property
    def intercept_(self) -> Floats:
        """One value per class, which belongs to `coef_`."""
        intercepts = self._weight_model("intercept_").intercepts
        if self._sums_paths and not self.decodes_sets:
            intercepts = path_scores(intercepts[None], self.taxonomy_)[0]
        return np.asarray(intercepts[self.class_nodes_])

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
        self.set_objectives()

    def set_objectives(self) -> None:
        """Set `objective_`, `dual_objective_` and `gap_` of a large-margin learner to those of its last measurement."""
        last = self.history_[-1]
        if "dual" in last:
            self.objective_, self.dual_objective_, self.gap_ = last["objective"], last["dual"], last["gap"]


def changed_nodes(scores: Floats, nodes: Ids, taxonomy: Taxonomy) -> sparse.csr_array:
    """Return the best labelling with ``nodes[i]`` minus the best without it, for every row i of node scores."""
    rows, beyond = np.arange(len(nodes)), 1.0 + 2.0 * np.abs(scores).sum(axis=1)
    labellings = []
    for sign in (1.0, -1.0):
        forced = scores.copy()
        forced[rows, nodes] = sign * beyond
        labellings.append(best_labelling(forced, taxonomy).to_indicator().astype(np.float64))
    return sparse.csr_array(labellings[0] - labellings[1])
