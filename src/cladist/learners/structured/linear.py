"""A structured perceptron with weights: its kernel is linear, and what it keeps is W."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cladist.decoders import path_scores
from cladist.errors import ParameterError
from cladist.learners.explanation import Explanation, explain_rows, nodes_to_explain
from cladist.learners.kernel_functions import KernelFunction, NamedKernel
from cladist.learners.structured.base import StructuredPerceptron
from cladist.learners.structured.models import WeightModel
from cladist.storage.array_groups import Arrays


class LinearPerceptron(StructuredPerceptron):
    """Base of HP and SP."""

    def _kernel_function(self, X: Any) -> KernelFunction:
        return NamedKernel("linear", 1.0, 1, 0.0)

    def _kept(self, X: Any, rows: npt.NDArray[np.int64], coefs: sparse.csr_array) -> WeightModel:
        self.n_support_ = len(rows)
        return WeightModel.summed(X, rows, coefs)

    @property
    def node_coef_(self) -> npt.NDArray[np.float64]:
        """The weights W, one row a node in `taxonomy_.names` order; a view, not a copy."""
        check_is_fitted(self)
        weights: npt.NDArray[np.float64] = self.model_.W
        return weights.T

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """One row a class: of single labels the sum of weights along its path, of sets the node's own weights."""
        check_is_fitted(self)
        weights = self.model_.W if self.decodes_sets else path_scores(self.model_.W, self.taxonomy_)
        return np.asarray(weights[:, self.class_nodes_].T)

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return what every feature adds to a label's score along its path; the parts sum to the score.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain of every row; the predicted one by default.
        """
        rows = self._fitted_rows(X)
        if self.decodes_sets:
            raise ParameterError(
                f"{type(self).__name__}: the margins of nodes in a set are no sums over features; explain single "
                "labels, or multiply rows by node_coef_."
            )
        ids = self.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], self.taxonomy_)
        return explain_rows(rows, ids, self.model_.W, self.taxonomy_, getattr(self, "feature_names_in_", None))

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state, arrays = super().pack_state()
        return {**state, "n_support": self.n_support_}, arrays

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        super().unpack_state(state, arrays)
        self.n_support_ = state["n_support"]
        self.model_ = WeightModel.unpack(self.taxonomy_.n_nodes, self.n_features_in_, arrays)
