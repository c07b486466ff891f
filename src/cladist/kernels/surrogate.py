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


def _compile_method(function):
    """Let kernels call `function` as the method of the same name of its first argument's class."""

    @overload(function, strict=False)
    def implementation(surrogate, *arguments):
        return getattr(surrogate.instance_class, function.__name__)

    return function


@_compile_method
def value(surrogate, margin):
    """Return ℓ(m)."""
    return surrogate.value(margin)


@_compile_method
def slope(surrogate, margin):
    """Return ℓ'(m)."""
    return surrogate.slope(margin)


@_compile_method
def gain(surrogate, share):
    """Return −ℓ*(−s), the gain in the dual of α = s c, for c = 1."""
    return surrogate.gain(share)


@_compile_method
def lower_bound(surrogate, margin, alpha, cost):
    """Return c gain(α / c) − α m ≤ c ℓ(m)."""
    return surrogate.lower_bound(margin, alpha, cost)


@_compile_method
def dual_bounds(surrogate, cost):
    """Return the lowest and the highest α."""
    return surrogate.dual_bounds(cost)


@_compile_method
def dual_step(surrogate, margin, alpha, cost, norm):
    """Return the best α, the others fixed, and how far the present one violates optimality."""
    return surrogate.dual_step(margin, alpha, cost, norm)


@_compile_method
def violation(surrogate, margin, alpha, cost):
    """Return a bound of the violation that `dual_step` finds, at less cost."""
    return surrogate.violation(margin, alpha, cost)


@_compile_method
def rests(surrogate, margin, alpha, cost, above, below):
    """Tell whether α is at a bound, with a gradient beyond `above` or `below`."""
    return surrogate.rests(margin, alpha, cost, above, below)


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
