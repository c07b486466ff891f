"""What float32 weights of sixteen one-vs-rest problems are worth: their primal, measured in float64, and a gap.

Weights are returned as float32. What is certified is what is returned, so everything here is measured after rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels import one_vs_rest as kernels
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.training_rows import aligned_zeros

STEPS_TO_DRIFT = 1e4  # so many float32 sums make W differ from w(α) by 100 roundings of the largest term
ROUNDINGS = np.arange(1, 33) / 4  # by how many float32 roundings weights are lengthened in trial
EPSILON = float(np.finfo(np.float32).eps)

Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]
History = list[dict[str, float]]


@dataclass(frozen=True)
class Certificate:
    """Primal of the sixteen problems at the weights returned, and by how much it may be above the optimum."""

    primal: Floats64
    gap: Floats64

    @property
    def figures(self) -> tuple[Floats64, Floats64]:
        """Primals and gaps."""
        return self.primal, self.gap

    @property
    def relative_gaps(self) -> Floats64:
        """The gaps as shares of the primals; what is not a number stays so."""
        return np.divide(self.gap, self.primal, out=np.zeros(WIDTH), where=~(self.primal <= 0))

    def told(self, history: History) -> History:
        """Return a block's entries of the history with these figures."""
        figures = zip(history, self.primal.tolist(), self.relative_gaps.tolist(), strict=False)
        return [{**entry, "objective": primal, "gap": gap} for entry, primal, gap in figures]

    def holds(self, tol: float) -> bool:
        """Tell whether all relative gaps are small enough."""
        return bool(kernels.largest_gap(self.primal, self.gap) <= tol)


def drift(part: Any, W: Floats32, alpha: Floats32 | Floats64, allowed: Floats64) -> Floats64:
    """Return ½‖W − w(α)‖² of the sixteen problems, which the kernel's gap leaves out; 0 where it cannot matter.

    W is the sum of many steps in float32. Where the terms α x are large, or many, and cancel, that differs from w(α).
    """
    rows, norms, mask, *_ = part
    largest = float(np.max(alpha, initial=0.0)) * float(np.sqrt(np.max(norms, initial=0.0)))
    together = float(np.max(np.sum(alpha, axis=0, dtype=np.float64), initial=0.0))  # what a constant feature sums up
    expected = max(STEPS_TO_DRIFT * (EPSILON * largest) ** 2, len(alpha) * (EPSILON * together) ** 2)
    if expected <= 0.01 * float(np.min(allowed)):
        return np.zeros(WIDTH)
    wide = np.zeros(W.shape)
    kernels.weights_of(rows, mask, alpha, wide)
    found: Floats64 = 0.5 * np.sum((W - wide) ** 2, axis=0)
    return found


def set_weights(rows: Any, mask: Any, alpha: Floats32, W: Floats32) -> None:
    """Set W to w(α), summed in float64 and rounded once: of millions of rows α y x cancel in the constant feature."""
    wide = np.zeros(W.shape)
    kernels.weights_of(rows, mask, alpha, wide)
    W[:] = wide


def round_weights(
    part: Any, loss: int, wide: Floats64, dual: Floats64, tol: float, W: Floats32
) -> tuple[Floats64, Certificate]:
    """Put float64 weights into W as float32; return by what they were lengthened, and what they are worth then.

    Rounding puts rows that lie on the margin a little below it, at c each under the hinge. Weights a few roundings
    longer leave them above.
    """
    lengths = np.ones(WIDTH)
    W[:] = wide
    certificate = measure(part, loss, W, dual)
    if loss != kernels.HINGE:
        return lengths, certificate
    for roundings in ROUNDINGS:
        if certificate.holds(tol):
            break
        length = 1 + roundings * EPSILON
        longer = aligned_zeros(len(W))
        longer[:] = wide * length
        tried = measure(part, loss, longer, dual)
        better = tried.primal < certificate.primal
        lengths[better], W[:, better] = length, longer[:, better]
        primal, gap = (np.where(better, *pair) for pair in zip(tried.figures, certificate.figures, strict=True))
        certificate = Certificate(primal, gap)
    return lengths, certificate


def measure(part: Any, loss: int, W: Floats32, dual: Floats64) -> Certificate:
    """Measure weights as they stand."""
    primal = np.zeros(WIDTH)
    kernels.primals(part, loss, W, primal)
    return Certificate(primal, np.maximum(primal - dual, 0.0))  # below 0 by rounding only
