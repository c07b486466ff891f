"""How SP and KSP reweigh the rows they draw: η, and c, on which it depends."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladist.errors import ParameterError, is_count, is_positive
from cladist.labels import LabelMatrix
from cladist.learners.structured.base import StructuredPerceptron
from cladist.learners.structured.select_c import choose_c
from cladist.storage.array_groups import Arrays


class DrawsRows(StructuredPerceptron):
    """A structured perceptron with `eta`, `c`, `n_chunks` and `cache_size`; c may be "cv"."""

    eta: Any
    c: Any
    n_chunks: int
    cache_size: float

    def _learning_rate(self, X: Any, labels: LabelMatrix, n_rounds: int, radius: float) -> float | None:
        for name in ("c_", "cv_results_"):
            self.__dict__.pop(name, None)
        if not isinstance(self.eta, str):
            return float(self.eta)
        largest = 1.0 / (2.0 * radius) if radius > 0 else 1.0  # |v| ≤ 2R: then 1 − ηv + η²v² ≥ 3/4
        if isinstance(self.c, str):
            self.c_, self.cv_results_ = choose_c(self, X, labels)
        c = self.c_ if isinstance(self.c, str) else float(self.c)
        return float(min(largest, c * np.sqrt(np.log(max(2, len(labels))) / n_rounds)))

    def check_parameters(self) -> None:
        super().check_parameters()
        who = type(self).__name__
        if not is_positive(self.eta) and not (isinstance(self.eta, str) and self.eta == "auto"):
            raise ParameterError(f"{who}: eta must be positive or 'auto'; got {self.eta!r}.")
        if not is_positive(self.c) and not (isinstance(self.c, str) and self.c == "cv"):
            raise ParameterError(f"{who}: c must be positive, or 'cv' to choose it; got {self.c!r}.")
        if not is_count(self.n_chunks):
            raise ParameterError(f"{who}: n_chunks must be a whole number from 1 up; got {self.n_chunks!r}.")
        if not is_positive(self.cache_size):
            raise ParameterError(f"{who}: cache_size must be positive, in MB; got {self.cache_size!r}.")

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state, arrays = super().pack_state()
        return {**state, "c": getattr(self, "c_", None), "cv_results": getattr(self, "cv_results_", None)}, arrays

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        super().unpack_state(state, arrays)
        if state["c"] is not None:
            self.c_, self.cv_results_ = float(state["c"]), state["cv_results"]
