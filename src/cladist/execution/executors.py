"""Executors: given a function and a list of tasks, they yield the results in the tasks' order.

Results never depend on the executor or the number of workers: each task computes its result from its own input, which
it does not change.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from cladist.errors import ParameterError
from cladist.execution.payload import Payload

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")


class Executor(Protocol):
    """Runs independent tasks; any object with a method `map` can be a learner's `executor`.

    An engine whose tasks run in other processes says so by an attribute ``shares_memory = False``, and has two more:
    ``n_workers``, the number of workers, and ``start_workers(make, n_workers)``, which returns `Workers`. Solvers that
    work in rounds use these. `pack` and `run_task` move a task there and run it.
    """

    def map(self, function: Callable[[TaskT], ResultT], tasks: Iterable[TaskT]) -> Iterator[ResultT]:
        """Yield ``function(task)`` for each task, in the tasks' order.

        Parameters
        ----------
        function : callable
            The work; it takes one task, and may refer to arrays, which it does not change.
        tasks : iterable
            The inputs, in the order of the results.
        """


class Workers(Protocol):
    """Workers of an engine, numbered from 0, each of which holds a `Worker`."""

    def call(self, calls: Mapping[int, Payload], shared: Payload) -> dict[int, Payload | None]:
        """Return ``worker.call(call, shared)`` of some workers, which work side by side; None of a worker that is lost.

        Parameters
        ----------
        calls : mapping of int to payload
            The call of each worker.
        shared : payload
            What all are given besides; it may be moved to each machine once.
        """
        raise NotImplementedError

    def restart(self, k: int) -> None:
        """Start a new worker of a number, in the place of one that was lost.

        Parameters
        ----------
        k : int
            The number.
        """

    def close(self) -> None:
        """End all workers."""


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
            futures = deque(pool.submit(copy_context().run, function, task) for task in tasks)
            try:
                while futures:  # a result that has been taken is not held here
                    yield futures.popleft().result()
            finally:
                for future in futures:
                    future.cancel()


def executor_for(n_jobs: int | None, executor: Any = None) -> Executor:
    """Return the executor that a learner's `n_jobs` and `executor` describe.

    Parameters
    ----------
    n_jobs : int or None
        The number of threads. None or 1: serial. A negative number counts back from the number of cores; −1 is all.
    executor : Executor, "ray" or None
        An executor of your own, or ``Ray()``, which takes precedence over `n_jobs`.

    Examples
    --------
    >>> executor_for(None), executor_for(3)
    (Serial(), Threads(workers=3))
    """
    if isinstance(executor, str) and executor == "ray":
        from cladist.execution.ray_executor import Ray

        return Ray()
    if executor is not None:
        if not hasattr(executor, "map"):
            raise ParameterError(f"executor needs a method map(function, tasks), or is 'ray'; got {executor!r}.")
        if not in_this_process(executor) and not hasattr(executor, "start_workers"):
            raise ParameterError(f"executor needs a method start_workers(make, n_workers); {executor!r} has none.")
        return executor
    workers = count_workers(n_jobs)
    return Serial() if workers == 1 else Threads(workers)


def count_workers(n_jobs: int | None) -> int:
    """Return the number of workers that a parameter `n_jobs` stands for; see `executor_for`."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__")):
        raise ParameterError(f"n_jobs must be an integer or None; got {n_jobs!r}.")
    if n_jobs == 0:
        raise ParameterError("n_jobs must not be 0; use 1 for one worker or -1 for all cores.")
    workers = 1 if n_jobs is None else int(n_jobs)
    return workers if workers > 0 else max(1, (os.cpu_count() or 1) + 1 + workers)


def in_this_process(executor: Any) -> bool:
    """Tell whether an executor's tasks see, and may change, the memory of the process that gives them out.

    Parameters
    ----------
    executor : Executor
        Any executor.

    Examples
    --------
    >>> in_this_process(Threads(2))
    True
    """
    return bool(getattr(executor, "shares_memory", True))


def local_executor(executor: Any) -> Executor:
    """Return an executor for tasks that change arrays in place: the one given, or all cores of this machine.

    Its results are the same; only what works in other processes cannot run such tasks.
    """
    if executor is None:
        return Serial()
    return executor if in_this_process(executor) else executor_for(-1)
