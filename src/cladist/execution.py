"""Executors: given a function and a list of tasks, they yield the results in the tasks' order.

Results never depend on the executor or the number of workers: each task computes its result from its own input.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from cladist.errors import ParameterError

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")


class Executor(Protocol):
    """Runs independent tasks; any object with this method can be a learner's `executor`."""

    def map(self, function: Callable[[TaskT], ResultT], tasks: Iterable[TaskT]) -> Iterator[ResultT]:
        """Yield ``function(task)`` for each task, in the tasks' order.

        Parameters
        ----------
        function : callable
            The work; it takes one task.
        tasks : iterable
            The inputs, in the order of the results.
        """


@dataclass(frozen=True)
class Serial:
    """Runs one task after the other in the caller's thread.

    Examples
    --------
    >>> list(Serial().map(abs, [-1, 2]))
    [1, 2]
    """

    def map(self, function: Callable[[TaskT], ResultT], tasks: Iterable[TaskT]) -> Iterator[ResultT]:
        """Yield ``function(task)`` for each task, in the tasks' order; see `Executor.map`."""
        return map(function, tasks)


@dataclass(frozen=True)
class Threads:
    """Runs tasks in threads, for work that releases the GIL: compiled kernels and most solvers of scikit-learn.

    Parameters
    ----------
    workers : int
        The number of threads.

    Examples
    --------
    >>> list(Threads(2).map(abs, [-1, 2]))
    [1, 2]
    """

    workers: int

    def map(self, function: Callable[[TaskT], ResultT], tasks: Iterable[TaskT]) -> Iterator[ResultT]:
        """Yield ``function(task)`` for each task, in the tasks' order; see `Executor.map`."""
        with ThreadPoolExecutor(self.workers) as pool:
            # Each task runs in the caller's context, and so reports progress to the same place.
            futures = [pool.submit(copy_context().run, function, task) for task in tasks]
            try:
                for future in futures:
                    yield future.result()
            finally:
                for future in futures:
                    future.cancel()


def executor_for(n_jobs: int | None, executor: Any = None) -> Executor:
    """Return the executor that a learner's `n_jobs` and `executor` describe.

    Parameters
    ----------
    n_jobs : int or None
        The number of threads. None or 1: serial. A negative number counts back from the number of cores; −1 is all.
    executor : Executor or None
        An executor of your own, which takes precedence over `n_jobs`.

    Examples
    --------
    >>> executor_for(None), executor_for(3)
    (Serial(), Threads(workers=3))
    """
    if executor is not None:
        if not hasattr(executor, "map"):
            raise ParameterError(f"executor needs a method map(function, tasks); got {executor!r}.")
        return executor
    if n_jobs is not None and (isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__")):
        raise ParameterError(f"n_jobs must be an integer or None; got {n_jobs!r}.")
    if n_jobs == 0:
        raise ParameterError("n_jobs must not be 0; use 1 for one worker or -1 for all cores.")
    workers = 1 if n_jobs is None else int(n_jobs)
    if workers < 0:
        workers = max(1, (os.cpu_count() or 1) + 1 + workers)
    return Serial() if workers == 1 else Threads(workers)
