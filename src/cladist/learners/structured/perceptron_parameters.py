"""The parameters that HP, SP and KSP share: checks, the numbers they stand for, and the state they begin with."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError, is_count, is_positive, one_of
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.explanation import Explanation, explain_rows, nodes_to_explain
from cladist.learners.kernel_functions import KernelFunction
from cladist.learners.structured.kernel_columns import kernel_columns
from cladist.learners.structured.labelling_classifier import LabellingClassifier
from cladist.learners.structured.select_c import choose_c
from cladist.solvers.structured import InitialWeights, PerceptronState

Ids = npt.NDArray[np.int64]
STEPS = ("1/sqrt(T)", "1/(R sqrt(T))")
INITIAL_WEIGHTS = ("zeros", "random", "class_mean")
MOST_ROUNDS = 10**8
RANDOM_ROWS = 32  # rows whose joint features random initial weights are made of
RANDOM_NORM = 1e-3  # large enough to break ties, too small to influence the result


def check_rounds(model: Any) -> None:
    """Refuse values of max_iter, eps, step, init and decode that make no sense."""
    who = type(model).__name__
    if model.max_iter is not None and not is_count(model.max_iter):
        raise ParameterError(f"{who}: max_iter must be a whole number from 1 up, or None; got {model.max_iter!r}.")
    if not is_positive(model.eps):
        raise ParameterError(f"{who}: eps must be positive; got {model.eps!r}.")
    if not is_positive(model.step):
        one_of(who, "step", model.step, STEPS)
    one_of(who, "init", model.init, INITIAL_WEIGHTS)
    model._check_decode(model.decode)


def check_sampling(model: Any) -> None:
    """Refuse values of eta, c, n_chunks and cache_size that make no sense."""
    who = type(model).__name__
    if not is_positive(model.eta) and not (isinstance(model.eta, str) and model.eta == "auto"):
        raise ParameterError(f"{who}: eta must be positive or 'auto'; got {model.eta!r}.")
    if not is_positive(model.c) and not (isinstance(model.c, str) and model.c == "cv"):
        raise ParameterError(f"{who}: c must be positive, or 'cv' to choose it; got {model.c!r}.")
    if not is_count(model.n_chunks):
        raise ParameterError(f"{who}: n_chunks must be a whole number from 1 up; got {model.n_chunks!r}.")
    if not is_positive(model.cache_size):
        raise ParameterError(f"{who}: cache_size must be positive, in MB; got {model.cache_size!r}.")


def number_of_rounds(max_iter: int | None, eps: float, n_rows: int) -> int:
    """Return T: `max_iter`, or ⌈log(n) / eps²⌉.

    Examples
    --------
    >>> number_of_rounds(None, 0.1, 10_786)  # the paper's CCAT
    929
    """
    if max_iter is not None:
        return int(max_iter)
    return int(np.clip(np.ceil(np.log(n_rows) / eps**2), 1, MOST_ROUNDS))


def step_length(step: Any, n_rounds: int, radius: float) -> float:
    """Return the factor of every difference in W̄: a number as given, 1/√T, or 1/(R√T)."""
    if not isinstance(step, str):
        return float(step)
    return 1.0 / (np.sqrt(n_rounds) * (1.0 if step == STEPS[0] else radius or 1.0)).item()


def learning_rate(model: Any, X: Any, labels: LabelMatrix, n_rounds: int, radius: float) -> float:
    """Return η: a number as given, or min(1/(2R), c √(log n / T)); sets `c_` and `cv_results_` if c is chosen."""
    for name in ("c_", "cv_results_"):
        model.__dict__.pop(name, None)
    if not isinstance(model.eta, str):
        return float(model.eta)
    largest = 1.0 / (2.0 * radius) if radius > 0 else 1.0  # |v| ≤ 2R: then 1 − ηv + η²v² ≥ 3/4
    if isinstance(model.c, str):
        model.c_, model.cv_results_ = choose_c(model, X, labels)
    c = model.c_ if isinstance(model.c, str) else float(model.c)
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


class Preparation(NamedTuple):
    """The state before the first round, the numbers in X of its rows, and the numbers that rows are drawn by."""

    state: PerceptronState
    order: Ids
    draws: list[list[float]]  # one number in [0, 1) per round, by chunk


def prepare_rounds(model: Any, X: Any, labels: LabelMatrix, kernel: KernelFunction) -> Preparation:
    """Return the state of HP, SP or KSP before round 1; sets radius_ (R), step_ and, where rows are drawn, eta_ (η)."""
    n, T = len(labels), number_of_rounds(model.max_iter, model.eps, len(labels))
    random = random_generator(type(model).__name__, model.random_state)
    n_chunks = min(getattr(model, "n_chunks", 1), n)
    order = np.arange(n)
    if n_chunks > 1:  # random chunks, since data are often sorted by label
        order = random.permutation(n)
    chunks = list(pairwise(np.linspace(0, n, n_chunks + 1).astype(int).tolist()))
    rows = order[:, None] if model.is_precomputed else X[order] if n_chunks > 1 else X
    y = labels[order] if n_chunks > 1 else labels
    columns = kernel_columns(rows, kernel, chunks)
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
        executor=executor_for(model.n_jobs, model.executor),
        initial=initial_weights(model.init, y, random),
        cache_bytes=1e6 * getattr(model, "cache_size", 200),
    )
    uniforms, ends = random.random_sample(T), np.linspace(0, T, n_chunks + 1).astype(int)
    return Preparation(state, order, [uniforms[first:last].tolist() for first, last in pairwise(ends)])


def explain_paths(model: LabellingClassifier, X: Any, nodes: Any) -> list[Explanation]:
    """Return the contribution of every feature to the score of a label's path, for one label per row."""
    rows = model._fitted_rows(X)
    if model.decodes_sets:
        raise ParameterError(
            f"{type(model).__name__}: the margins of nodes in a set are no sums over features; explain single "
            "labels, or multiply rows by node_coef_."
        )
    ids = model.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], model.taxonomy_)
    return explain_rows(rows, ids, model.model_.W, model.taxonomy_, getattr(model, "feature_names_in_", None))
