"""Certificates of float32 weights: the primal of sixteen one-vs-rest problems, computed in float64, and a gap.

Weights are returned as float32. The certificate is that of the weights returned, so all of this follows rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels import one_vs_rest as kernels
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.linear_model.training_rows import aligned_zeros
from cladist.surrogates import Surrogate

STEPS_TO_DRIFT = 1e4  # float32 sums after which W differs from w(α) by 100 roundings of the largest term
ROUNDINGS = np.arange(1, 33) / 4  # numbers of float32 roundings by which weights are lengthened in trial
EPSILON = float(np.finfo(np.float32).eps)

Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]
History = list[dict[str, float]]


@dataclass(frozen=True)
class Certificate:
    """Primals of the sixteen problems at the weights returned, and their distances from a lower bound."""

    primal: Floats64
    gap: Floats64

    @property
    def relative_gaps(self) -> Floats64:
        """The gaps as shares of the primals; NaN stays NaN."""
        return np.divide(self.gap, self.primal, out=np.zeros(WIDTH), where=~(self.primal <= 0))

    def update_history(self, history: History) -> History:
        """Return a block's entries of the history with these objectives and gaps."""
        pairs = zip(history, self.primal.tolist(), self.relative_gaps.tolist(), strict=False)
        return [{**entry, "objective": primal, "gap": gap} for entry, primal, gap in pairs]

    def holds(self, tol: float) -> bool:
        """Tell whether all relative gaps are small enough."""
        return bool(kernels.largest_gap(self.primal, self.gap) <= tol)


def weight_drift(lanes: LaneProblem, W: Floats32, alpha: Floats32 | Floats64, allowed: Floats64) -> Floats64:
    """Return ½‖W − w(α)‖² of the sixteen problems, which the kernel's gap leaves out; 0 where it is negligible.

    W is the sum of many steps in float32. Where the terms α x are large, or many, and cancel, it differs from w(α).
    """
    sizes = np.abs(alpha) if float(np.min(alpha, initial=0.0)) < 0 else alpha  # a copy only where one is needed
    largest = float(np.max(sizes, initial=0.0)) * float(np.sqrt(np.max(lanes.norms, initial=0.0)))
    together = float(np.max(np.sum(sizes, axis=0, dtype=np.float64), initial=0.0))  # the sum at a constant feature
    expected = max(STEPS_TO_DRIFT * (EPSILON * largest) ** 2, len(alpha) * (EPSILON * together) ** 2)
    if expected <= 0.01 * float(np.min(allowed)):
        return np.zeros(WIDTH)
    wide = np.zeros(W.shape)
    kernels.weights_of(lanes.rows, lanes.mask, alpha, wide)
    drift: Floats64 = 0.5 * np.sum((W - wide) ** 2, axis=0)
    return drift


def set_weights(lanes: LaneProblem, alpha: Floats32, W: Floats32) -> None:
    """Set W to w(α), summed in float64 and rounded once: over millions of rows, α y x cancel in a constant feature."""
    wide = np.zeros(W.shape)
    kernels.weights_of(lanes.rows, lanes.mask, alpha, wide)
    W[:] = wide


def round_weights(
    lanes: LaneProblem, surrogate: Surrogate, wide: Floats64, dual: Floats64, tol: float, W: Floats32
) -> tuple[Floats64, Certificate]:
    """Put float64 weights into W as float32; return the factors they were lengthened by, and their certificate.

    Rounding puts rows that lie on the margin a little below it, at c each under the hinge. Weights a few roundings
    longer leave them above.
    """
    lengths = np.ones(WIDTH)
    W[:] = wide
    certificate = certify(lanes, surrogate, W, dual)
    for roundings in () if surrogate.smooth else ROUNDINGS:
        if certificate.holds(tol):
            break
        length = 1 + roundings * EPSILON
        longer = aligned_zeros(len(W))
        longer[:] = wide * length
        trial = certify(lanes, surrogate, longer, dual)
        better = trial.primal < certificate.primal
        lengths[better], W[:, better] = length, longer[:, better]
        primal = np.where(better, trial.primal, certificate.primal)
        certificate = Certificate(primal, np.where(better, trial.gap, certificate.gap))
    return lengths, certificate


def certify(lanes: LaneProblem, surrogate: Surrogate, W: Floats32, dual: Floats64) -> Certificate:
    """Return the certificate of float32 weights, given a lower bound of each problem."""
    primal = np.zeros(WIDTH)
    kernels.primals(lanes, surrogate, W, primal)
    return Certificate(primal, np.maximum(primal - dual, 0.0))  # below 0 by rounding only


def widen(lanes: LaneProblem) -> Any:
    """Return a problem whose norms and costs are float64."""
    return lanes._replace(norms=lanes.norms.astype(np.float64), costs=lanes.costs.astype(np.float64))
