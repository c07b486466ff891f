"""A learner over labellings with kernels: its parameters, its rows, and the rows it keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cladist.errors import ParameterError
from cladist.learners import kernel_functions as kernels
from cladist.learners.structured.models import SupportModel
from cladist.learners.structured.prediction import LabellingClassifier
from cladist.storage.array_groups import Arrays


class TakesKernels(LabellingClassifier):
    """A learner with `kernel`, `degree`, `coef0` and `gamma`."""

    kernel: Any
    degree: int
    coef0: float
    gamma: Any
    gamma_: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.sparse = not self._is_precomputed
        return tags

    def _check_kernel(self) -> None:
        kernels.check_kernel(type(self).__name__, self.kernel, self.gamma, self.degree, self.coef0)

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        X = super()._checked_rows(X, reset=reset)
        if reset and self._is_precomputed and X.shape[0] != X.shape[1]:
            raise ParameterError(
                f"{type(self).__name__}: a precomputed kernel is a square matrix in fit; got shape {X.shape}."
            )
        return X

    def _kernel_function(self, X: Any) -> kernels.KernelFunction:
        self.gamma_ = kernels.gamma_for(self.gamma, X)
        if self._is_precomputed:
            return kernels.TrainingGram(np.asarray(X, dtype=np.float64))
        return self._named_or_given()

    def _named_or_given(self) -> kernels.KernelFunction:
        if callable(self.kernel):
            return kernels.CallableKernel(self.kernel)
        return kernels.NamedKernel(self.kernel, self.gamma_, self.degree, self.coef0)

    def _support_model(self, X: Any, rows: npt.NDArray[np.int64], coefs: sparse.csr_array) -> SupportModel:
        if self._is_precomputed:
            return SupportModel(kernels.GivenGram(), rows, rows[:, None], coefs)
        return SupportModel(self._named_or_given(), rows, X[rows], coefs)

    def _unpacked_support(self, n_scores: int, arrays: Arrays) -> SupportModel:
        function = kernels.GivenGram() if self._is_precomputed else self._named_or_given()
        n_columns = 1 if self._is_precomputed else self.n_features_in_
        return SupportModel.unpack(n_scores, n_columns, function, arrays)

    # ---------------------------------------------------------------- what was learnt

    @property
    def support_(self) -> npt.NDArray[np.int64]:
        """The numbers of the rows that the model is made of, ascending."""
        check_is_fitted(self)
        support: npt.NDArray[np.int64] = self.model_.support
        return support

    @property
    def n_support_(self) -> int:
        """How many rows the model is made of."""
        return len(self.support_)

    @property
    def dual_coef_(self) -> Any:
        """The coefficients of these rows, as CSR (scores × rows)."""
        check_is_fitted(self)
        return self.model_.coefs

    @property
    def support_vectors_(self) -> Any:
        """These rows; for a precomputed kernel their numbers."""
        check_is_fitted(self)
        return self.model_.vectors
