"""The parameters that the large-margin learners share: checks, and the ascent they describe."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladist.errors import ParameterError, TooLargeError, is_count, is_positive, one_of
from cladist.learners.linear_classifier import warn_of_gap
from cladist.solvers.structured import SAMPLINGS, Ascent, Sweeps

MOST_WEIGHT_BYTES = 8 * 2**30  # weights in training; beyond this use a kernel or fewer features
SET_LOSSES = ("hamming", "hierarchical")


def check_margin(model: Any) -> None:
    """Refuse values of C, tol, max_iter, inner_iter, sampling and decode that make no sense."""
    who = type(model).__name__
    for name in ("C", "tol"):
        if not is_positive(getattr(model, name)) or not np.isfinite(getattr(model, name)):
            raise ParameterError(f"{who}: {name} must be positive; got {getattr(model, name)!r}.")
    for name in ("max_iter", "inner_iter"):
        if not is_count(getattr(model, name)):
            raise ParameterError(f"{who}: {name} must be a whole number from 1 up; got {getattr(model, name)!r}.")
    one_of(who, "sampling", model.sampling, SAMPLINGS)
    model._check_decode(model.decode)


def sweeps_of(model: Any) -> Sweeps:
    """Return the settings of the ascent."""
    return Sweeps(float(model.tol), int(model.max_iter), int(model.inner_iter), model.sampling)


def refuse_large_weights(who: str, n_features: int, n_scores: int, instead: str) -> None:
    """Raise a `TooLargeError`, before training begins, if the weights would not fit into memory."""
    needed = 8 * n_features * n_scores
    if needed > MOST_WEIGHT_BYTES:
        raise TooLargeError(
            f"{who}: weights of {n_features} features × {n_scores} scores need {needed / 2**30:.1f} GiB, over the "
            f"limit of {MOST_WEIGHT_BYTES / 2**30:.0f} GiB; {instead}."
        )


def set_certificate(model: Any, ascent: Ascent) -> None:
    """Set history_, converged_, n_iter_, both objectives and the gap; warn if the gap is not closed."""
    model.history_, model.converged_, model.n_iter_ = ascent.history, ascent.converged, max(1, ascent.n_passes)
    set_objectives(model)
    if not ascent.converged:
        warn_of_gap(model, model.gap_)


def set_objectives(model: Any) -> None:
    """Set objective_, dual_objective_ and gap_ to those of the last entry of the history."""
    last = model.history_[-1]
    model.objective_, model.dual_objective_, model.gap_ = last["objective"], last["dual"], last["gap"]
