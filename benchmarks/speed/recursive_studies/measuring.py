"""What the studies share: learners, clocks around a fit, and the checks of a search as they come."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from benchmarks.speed.peers.shared import forget_peak, memory, timed
from cladist import RecursiveLogistic, RecursiveSVM
from cladist.datasets import Dataset
from cladist.solvers.tree import recursive as solver

LOSSES = ("hinge", "squared_hinge", "logistic")
FEW_ROWS = 200

Row = dict[str, Any]


def recursive(loss: str, taxonomy: Any, **options: Any) -> Any:
    """Return the learner of a loss, at C = 1 and without intercepts."""
    if loss == "logistic":
        return RecursiveLogistic(taxonomy, C=1.0, sharing=1, fit_intercept=False, **options)
    return RecursiveSVM(taxonomy, C=1.0, loss=loss, sharing=1, fit_intercept=False, **options)


def warm(model: Any, data: Dataset) -> None:
    """Compile, or load what is compiled, on a few rows."""
    few = slice(0, FEW_ROWS)
    with _unconverged_too():
        clone(model).fit(data.X_train[few], data.y_train[few]).predict(data.X_test[few])


def fitted(model: Any, data: Dataset) -> Row:
    """Fit a model to the training rows; return seconds, memory, and how far the search came."""
    X, y = data.X_train, data.y_train
    forget_peak()
    before = memory("VmRSS")
    with _unconverged_too():
        cpu, wall, _ = timed(lambda: model.fit(X, y))
    peak = memory("VmHWM")
    row: Row = {"fit CPU s": cpu, "fit wall s": wall, "peak MB": peak / 1e6, "growth MB": (peak - before) / 1e6}
    row["sweeps"] = int(np.max(model.n_iter_))
    if hasattr(model, "history_"):
        row |= {"gap": float(model.history_[-1]["gap"]), "converged": bool(model.converged_)}
    return row


@contextmanager
def _unconverged_too() -> Iterator[None]:
    """Keep still about a search that stops early: the results say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


# ---------------------------------------------------------------- how far it is


def say(*words: object) -> None:
    """Print a line of progress."""
    print(*words, file=sys.stderr, flush=True)


class Sweeps:
    """A `cladist.progress.Reporter` that says a line a sweep."""

    def start(self, description: str, total: int | None) -> Any:
        """Begin to count."""
        return _Swept()

    def finish(self, task: Any) -> None:
        """Stop counting."""


class _Swept:
    def __init__(self) -> None:
        self.done, self.started = 0, time.perf_counter()

    def advance(self, steps: int = 1) -> None:
        self.done += steps
        say(f"sweep {self.done}: {time.perf_counter() - self.started:.1f} s, {memory('VmRSS') / 1e6:,.0f} MB")


@contextmanager
def told_of_checks(tell: Callable[[Any], None]) -> Iterator[None]:
    """Call `tell` with the search after each of its checks. Learners show their history only when all is over."""
    check = solver._Search.check

    def and_tell(search: Any, sweep: int) -> bool:
        near_enough = check(search, sweep)
        tell(search)
        return near_enough

    solver._Search.check = and_tell  # type: ignore[method-assign]
    try:
        yield
    finally:
        solver._Search.check = check  # type: ignore[method-assign]
