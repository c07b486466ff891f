"""Executors: given a function and a list of tasks, they yield the results in the tasks' order.

Results never depend on the executor or the number of workers: each task computes its result from its own input.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from multiprocessing import get_context
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
    workers = count_workers(n_jobs)
    return Serial() if workers == 1 else Threads(workers)


# ---------------------------------------------------------------- endless streams of tasks

AHEAD = 2  # tasks per worker that are read before the first result is taken


def stream_in_threads(
    function: Callable[[TaskT], ResultT], tasks: Iterable[TaskT], workers: int = 1
) -> Iterator[ResultT]:
    """Yield ``function(task)`` for each task in order, a few tasks at a time, so that memory stays bounded.

    Examples
    --------
    >>> list(stream_in_threads(abs, iter([-1, 2, -3]), 2))
    [1, 2, 3]
    """
    if workers == 1:
        yield from map(function, tasks)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from _window(lambda task: pool.submit(copy_context().run, function, task), tasks, workers)


@contextmanager
def processes(
    make: Callable[[], Callable[[TaskT], ResultT]], workers: int
) -> Iterator[Callable[[Iterable[TaskT]], Iterator[ResultT]]]:
    """Start processes of which each calls `make` once, for work that holds the GIL.

    Gives a function that yields the results of what `make` returned for each of many tasks, in order, a few tasks at a
    time. With one worker it runs here. `make`, tasks and results are pickled.
    """
    if workers == 1:
        function = make()
        yield lambda tasks: map(function, tasks)
        return
    # Spawned, since a fork would copy the locks of threads that are not there.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_start, initargs=(make,))
    try:
        yield lambda tasks: _window(lambda task: pool.submit(_work, task), tasks, workers)
    finally:
        pool.shutdown(cancel_futures=True)


def _window(submit: Callable[[TaskT], Future[ResultT]], tasks: Iterable[TaskT], workers: int) -> Iterator[ResultT]:
    """Yield the results of tasks in order while no more than a few are under way."""
    under_way: deque[Future[ResultT]] = deque()
    try:
        for task in tasks:
            under_way.append(submit(task))
            if len(under_way) >= AHEAD * workers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()


_function: Callable[[Any], Any] | None = None  # of a worker process


def _start(make: Callable[[], Callable[[Any], Any]]) -> None:
    global _function
    _function = make()


def _work(task: Any) -> Any:
    assert _function is not None
    return _function(task)


def count_workers(n_jobs: int | None) -> int:
    """Return the number of workers that a parameter `n_jobs` stands for; see `executor_for`."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__")):
        raise ParameterError(f"n_jobs must be an integer or None; got {n_jobs!r}.")
    if n_jobs == 0:
        raise ParameterError("n_jobs must not be 0; use 1 for one worker or -1 for all cores.")
    workers = 1 if n_jobs is None else int(n_jobs)
    return workers if workers > 0 else max(1, (os.cpu_count() or 1) + 1 + workers)
