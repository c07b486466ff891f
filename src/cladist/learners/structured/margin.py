"""What large-margin learners over whole labellings share: C, the sweeps, and the certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladist.errors import ParameterError, TooLargeError, is_count, is_positive, one_of
from cladist.execution import executor_for
from cladist.learners.base import random_generator
from cladist.learners.select_c import warn_of_gap
from cladist.learners.structured.prediction import LabellingClassifier
from cladist.losses import node_costs
from cladist.solvers.structured import SAMPLINGS, Ascent, LabellingLoss, RowDual, Sweeps, ascend
from cladist.storage.array_groups import Arrays

MOST_WEIGHT_BYTES = 8 * 2**30  # of weights while learning; beyond, a kernel or fewer features are meant
SET_LOSSES = ("hamming", "hierarchical")


class MarginClassifier(LabellingClassifier):
    """Base of `MaxMarginMarkov` and `StructuralSVM`."""

    C: Any
    node_weights: Any
    tol: Any
    max_iter: Any
    inner_iter: Any
    sampling: str
    random_state: Any
    n_jobs: Any
    executor: Any

    def _check_margin(self) -> None:
        """Refuse parameters that both learners have and that make no sense."""
        who = type(self).__name__
        for name in ("C", "tol"):
            if not is_positive(getattr(self, name)) or not np.isfinite(getattr(self, name)):
                raise ParameterError(f"{who}: {name} must be positive; got {getattr(self, name)!r}.")
        for name in ("max_iter", "inner_iter"):
            if not is_count(getattr(self, name)):
                raise ParameterError(f"{who}: {name} must be a whole number from 1 up; got {getattr(self, name)!r}.")
        one_of(who, "sampling", self.sampling, SAMPLINGS)
        self._check_decode(self.decode)

    def _labelling_loss(self, loss: str, *, consistent: bool, edges: bool, factor: Any = None) -> LabellingLoss:
        """Return the loss over labellings that the parameters name."""
        n_nodes = self.taxonomy_.n_nodes
        cost = node_costs(self.node_weights, self.taxonomy_)
        factors = np.ones(n_nodes) if factor is None else factor
        return LabellingLoss(cost, loss == "hierarchical", consistent, edges, factors)

    def _ascend(self, dual: RowDual) -> None:
        """Close the gap of a dual, remember how far it came, and warn if that is not far enough."""
        random = random_generator(type(self).__name__, self.random_state)
        sweeps = Sweeps(float(self.tol), int(self.max_iter), int(self.inner_iter), self.sampling)
        self._note(ascend(dual, sweeps, random, executor_for(self.n_jobs, self.executor)))

    def _note(self, found: Ascent) -> None:
        self.history_, self.converged_, self.n_iter_ = found.history, found.converged, max(1, found.n_passes)
        last = found.history[-1]
        self.objective_, self.dual_objective_, self.gap_ = last["objective"], last["dual"], last["gap"]
        if not found.converged:
            warn_of_gap(self, self.gap_, stacklevel=6)

    def _refuse_weights_beyond(self, n_features: int, n_scores: int, instead: str) -> None:
        """Refuse weights that could not be held, before the work begins."""
        needed = 8 * n_features * n_scores
        if needed > MOST_WEIGHT_BYTES:
            raise TooLargeError(
                f"{type(self).__name__}: weights of {n_features} features × {n_scores} scores need "
                f"{needed / 2**30:.1f} GiB, over the limit of {MOST_WEIGHT_BYTES / 2**30:.0f} GiB; {instead}."
            )

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state = {"history": self.history_, "converged": self.converged_, "n_iter": self.n_iter_}
        return state, self.model_.pack()

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.history_, self.converged_, self.n_iter_ = state["history"], state["converged"], state["n_iter"]
        last = self.history_[-1]
        self.objective_, self.dual_objective_, self.gap_ = last["objective"], last["dual"], last["gap"]
