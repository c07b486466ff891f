"""The parameters that structured learners share: checks, and the numbers and the problem they stand for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import TooLargeError, is_count, is_positive, one_of
from cladist.execution import executor_for
from cladist.execution.executors import local_executor
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.kernel_functions import Kernel, check_values, is_positive_finite
from cladist.learners.linear_classifier import warn_of_gap
from cladist.learners.select_c import choose, forget_choice
from cladist.learners.structured.labelling_classifier import KernelColumns
from cladist.solvers.structured.ascent import SAMPLINGS, Ascent, Sweeps
from cladist.solvers.structured.perceptron import InitialWeights, PerceptronState

Ids = npt.NDArray[np.int64]
STEPS = ("1/sqrt(T)", "1/(R sqrt(T))")
INITIAL_WEIGHTS = ("zeros", "random", "class_mean")
SET_LOSSES = ("hamming", "hierarchical")
MOST_ROUNDS = 10**8
ROUNDS_PER_ROW = 4  # max_iter="auto": more rounds gain little on data sets of text and of numbers
CHUNK_ROWS = 4096  # n_chunks="auto": a round costs at most as many rows, so that training costs O(n)
CONSTANT_SHARE = 0.01  # of the mean K(x, x): the constant feature is a tenth as long as rows are
MOST_WEIGHT_BYTES = 8 * 2**30  # weights in training; beyond this use a kernel or fewer features
RANDOM_ROWS = 32  # rows whose joint features random initial weights are made of
RANDOM_NORM = 1e-3  # large enough to break ties, too small to influence the result

# ---------------------------------------------------------------- HP, SP and KSP


def check_rounds(model: Any) -> None:
    """Refuse values of max_iter, eps, step, init and decode that make no sense."""
    who = type(model).__name__
    if not (model.max_iter is None or _is_auto(model.max_iter)):
        check_values(model, is_count, "a whole number from 1 up, 'auto' or None", "max_iter")
    check_values(model, lambda value: isinstance(value, bool), "True or False", "fit_intercept")
    check_values(model, is_positive, "positive", "eps")
    if not is_positive(model.step):
        one_of(who, "step", model.step, STEPS)
    one_of(who, "init", model.init, INITIAL_WEIGHTS)
    model._check_decode(model.decode)


def check_sampling(model: Any) -> None:
    """Refuse values of eta, c, n_chunks and cache_size that make no sense."""
    if not _is_auto(model.eta):
        check_values(model, is_positive, "positive or 'auto'", "eta")
    if not (isinstance(model.c, str) and model.c == "cv"):
        check_values(model, is_positive, "positive, or 'cv' to choose it", "c")
    if not _is_auto(model.n_chunks):
        check_values(model, is_count, "a whole number from 1 up or 'auto'", "n_chunks")
    check_values(model, is_positive, "positive, in MB", "cache_size")


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def fill_in_old(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model file; those of the first versions have no intercept."""
    return {"fit_intercept": False, **given}


def number_of_rounds(max_iter: int | str | None, eps: float, n_rows: int) -> int:
    """Return T: `max_iter`; None: ⌈log(n) / eps²⌉; "auto": the larger of this and 4n."""
    if max_iter is not None and not isinstance(max_iter, str):
        return int(max_iter)
    T = np.ceil(np.log(n_rows) / eps**2)
    return int(np.clip(T if max_iter is None else max(T, ROUNDS_PER_ROW * n_rows), 1, MOST_ROUNDS))


def step_length(step: Any, n_rounds: int, radius: float) -> float:
    """Return the factor of every difference in W̄: a number as given, 1/√T, or 1/(R√T)."""
    if not isinstance(step, str):
        return float(step)
    return 1.0 / (np.sqrt(n_rounds) * (1.0 if step == STEPS[0] else radius or 1.0)).item()


def learning_rate(model: Any, X: Any, labels: LabelMatrix, n_rounds: int, radius: float) -> float:
    """Return η: a number as given, or min(1/(2R), c √(log n / T)); sets `c_` and `cv_results_` if c is chosen."""
    forget_choice(model, "c")
    if not isinstance(model.eta, str):
        return float(model.eta)
    largest = 1.0 / (2.0 * radius) if radius > 0 else 1.0  # |v| ≤ 2R: then 1 − ηv + η²v² ≥ 3/4
    c = choose(model, "c", X, labels)
    return float(min(largest, c * np.sqrt(np.log(max(2, len(labels))) / n_rounds)))


def initial_weights(init: str, labels: LabelMatrix, random: np.random.RandomState) -> InitialWeights | None:
    """Return W̄ of the first round by its name; None: 0."""
    n, n_nodes = labels.shape
    if init == "class_mean":
        signs = 2.0 * labels.to_indicator().toarray() - 1.0
        return InitialWeights(np.arange(n), signs / n)
    if init == "random":
        rows = np.sort(random.permutation(n)[:RANDOM_ROWS])
        return InitialWeights(rows, random.standard_normal((len(rows), n_nodes)), RANDOM_NORM)
    return None


def prepare_rounds(
    model: Any, X: Any, labels: LabelMatrix, kernel: Kernel
) -> tuple[PerceptronState, Ids, list[list[float]]]:
    """Return the state before round 1, the numbers in X of its rows, and by chunk one number in [0, 1) per round.

    Sets constant_, radius_ (R), step_ and, where rows are drawn, eta_ (η).
    """
    n, T = len(labels), number_of_rounds(model.max_iter, model.eps, len(labels))
    random = random_generator(type(model).__name__, model.random_state)
    n_chunks = getattr(model, "n_chunks", 1)
    n_chunks = -(-n // CHUNK_ROWS) if _is_auto(n_chunks) else min(n_chunks, n)
    order = np.arange(n)
    if n_chunks > 1:  # random chunks, since data are often sorted by label
        order = random.permutation(n)
    chunks = list(pairwise(np.linspace(0, n, n_chunks + 1).astype(int).tolist()))
    rows = order[:, None] if model.is_precomputed else X[order] if n_chunks > 1 else X
    y = labels[order] if n_chunks > 1 else labels
    columns = KernelColumns(rows, kernel, chunks)
    model.constant_ = CONSTANT_SHARE * float(columns.diagonal.mean()) if model.fit_intercept else 0.0
    columns.add_constant(model.constant_)
    model.radius_ = float(np.sqrt(np.max(columns.diagonal) * labels.taxonomy.n_nodes))
    model.step_ = step_length(model.step, T, model.radius_)
    if hasattr(model, "eta"):
        model.eta_ = learning_rate(model, X, labels, T, model.radius_)
    state = PerceptronState(
        columns,
        y,
        step=model.step_,
        n_rounds=T,
        average=bool(model.average),
        windows=chunks,
        executor=local_executor(executor_for(model.n_jobs, model.executor)),
        initial=initial_weights(model.init, y, random),
        cache_bytes=1e6 * getattr(model, "cache_size", 200),
    )
    uniforms, ends = random.random_sample(T), np.linspace(0, T, n_chunks + 1).astype(int)
    return state, order, [uniforms[first:last].tolist() for first, last in pairwise(ends)]


# ---------------------------------------------------------------- large-margin learners


def check_margin(model: Any) -> None:
    """Refuse values of C, tol, max_iter, inner_iter, sampling and decode that make no sense."""
    if not (isinstance(model.C, str) and model.C == "cv"):
        check_values(model, is_positive_finite, "positive, or 'cv' to choose it", "C")
    check_values(model, is_positive_finite, "positive", "tol")
    check_values(model, is_count, "a whole number from 1 up", "max_iter", "inner_iter")
    one_of(type(model).__name__, "sampling", model.sampling, SAMPLINGS)
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
    model.set_objectives()
    if not ascent.converged:
        warn_of_gap(model, model.gap_)
