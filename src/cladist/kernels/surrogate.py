"""Calls of a surrogate loss from kernels: `dual_step(surrogate, …)` is the method `surrogate.dual_step(…)`.

A surrogate is a NamedTuple whose methods hold its formulas, see `cladist.surrogates`. numba knows such a tuple by its
class, so that a kernel is compiled once per loss, with the source of these methods inlined, and is cached on disk.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload, register_jitable

from cladist.kernels.lanes import where

# Constants of formulas in float32, which float32 and float64 represent alike: they leave either precision as it is.
ZERO, HALF, ONE, INFINITY = (np.float32(x) for x in (0, 0.5, 1, np.inf))


def _method(name):
    """Return a function that calls a method of its first argument, compiled as the method of that argument's class."""

    def call(surrogate, *arguments):
        return getattr(surrogate, name)(*arguments)

    @overload(call, strict=False)
    def implementation(surrogate, *arguments):
        return getattr(surrogate.instance_class, name)

    return call


value = _method("value")  # (m) ℓ(m)
slope = _method("slope")  # (m) ℓ'(m)
gain = _method("gain")  # (s) −ℓ*(−s) = min_m ℓ(m) + s m: the gain of α = s c in the dual, for c = 1
lower_bound = _method("lower_bound")  # (m, α, c) c gain(α / c) − α m ≤ c ℓ(m), equal for α = −c ℓ'(m)
dual_bounds = _method("dual_bounds")  # (c) the lowest and the highest α
# (m, α, c, ‖x‖²) the α' that maximises c gain(α' / c) − α' m − ½ (α' − α)² ‖x‖², and the violation of optimality at α:
# the projected gradient, or for the logistic loss |α' − α| / c
dual_step = _method("dual_step")
violation = _method("violation")  # (m, α, c) that violation, or an upper bound that is cheaper than a step
rests = _method("rests")  # (m, α, c, above, below) whether α is at a bound, with a gradient beyond `above` or `below`


@register_jitable
def clip(x, low, high):
    """Return x, at least `low` and at most `high`."""
    return where(x < low, low, where(x > high, high, x))


@register_jitable
def projected(gradient, alpha, bounds):
    """Return the gradient, or 0 where it points out of the bounds that α is at."""
    low, high = bounds
    falling, rising = where(gradient < ZERO, gradient, ZERO), where(gradient > ZERO, gradient, ZERO)
    return where(alpha <= low, falling, where(alpha >= high, rising, gradient))


@register_jitable
def rests_at_bound(gradient, alpha, bounds, above, below):
    """Tell whether α is at its lower bound with a gradient above a limit, or at its upper one with one below."""
    low, high = bounds
    return ((alpha <= low) & (gradient > above)) | ((alpha >= high) & (gradient < below))
