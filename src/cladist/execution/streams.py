"""Endless streams of tasks, in threads, processes or elsewhere: a few at a time, in order, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from multiprocessing import get_context
from typing import Any, TypeVar

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")
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


def elsewhere(
    make: Callable[[], Callable[[TaskT], ResultT]], executor: Any
) -> Callable[[Iterable[TaskT]], Iterator[ResultT]]:
    """Return a function that yields the results of what `make` returned for each of many tasks, on an engine.

    Each process of the engine calls `make` once.
    """
    return lambda tasks: executor.map(_MadeOnce(make), tasks)


class _MadeOnce:
    """A function that is made where it is first called."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self.make = make
        self.function: Callable[[Any], Any] | None = None

    def __call__(self, task: Any) -> Any:
        if self.function is None:
            self.function = self.make()
        return self.function(task)


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
