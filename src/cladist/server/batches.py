"""Requests that arrive together are answered together: one thread per model collects them from a bounded queue."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

FIRST_RATE = 100.0  # rows per second, until some have been measured


class QueueFullError(Exception):
    """No further rows may wait; `seconds` is the time after which some of them are answered."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the queue is full for {seconds:.1f} s")
        self.seconds = seconds


class StoppedError(Exception):
    """The thread of the model has ended."""


@dataclass
class Job:
    """A request: what is asked, its rows, and where its answer goes."""

    request: Any
    n_rows: int
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    answer: Any = None
    is_error: bool = field(default=False)

    def set(self, answer: Any) -> None:
        """Keep the answer, an exception if it failed."""
        self.answer, self.is_error = answer, isinstance(answer, BaseException)

    def deliver(self) -> None:
        """Hand the answer to whoever waits for it, in the thread of the event loop."""
        if self.future.done():  # given up meanwhile
            return
        if self.is_error:
            self.future.set_exception(self.answer)
        else:
            self.future.set_result(self.answer)


class Batches:
    """The queue of a model and the thread that empties it.

    Parameters
    ----------
    process : callable
        Takes a list of jobs and sets the answer of each.
    max_rows : int
        Rows that are processed together.
    wait : float
        Seconds that a batch waits for further requests, if the one before had several.
    max_waiting : int
        Rows that may wait.
    """

    def __init__(
        self, process: Callable[[Sequence[Job]], None], *, max_rows: int, wait: float, max_waiting: int
    ) -> None:
        self.process, self.max_rows, self.wait, self.max_waiting = process, max_rows, wait, max_waiting
        self.jobs: deque[Job] = deque()
        self.waiting = 0  # rows
        self.rate = FIRST_RATE
        self.is_stopped, self.is_busy = False, False
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._run, name="cladist-batches", daemon=True)
        self.thread.start()

    async def ask(self, request: Any, n_rows: int) -> Any:
        """Return the answer to a request, or raise `QueueFullError`."""
        loop = asyncio.get_running_loop()
        job = Job(request, n_rows, loop.create_future(), loop)
        with self.changed:
            if self.is_stopped:
                raise StoppedError
            if self.waiting and self.waiting + n_rows > self.max_waiting:
                raise QueueFullError(self.waiting / self.rate)
            self.jobs.append(job)
            self.waiting += n_rows
            self.changed.notify()
        return await job.future

    def stop(self) -> None:
        """End the thread after the jobs that wait."""
        with self.changed:
            self.is_stopped = True
            self.changed.notify()
        self.thread.join()

    def _run(self) -> None:
        several = False
        while True:
            with self.changed:
                self.is_busy = False
                while not self.jobs and not self.is_stopped:
                    self.changed.wait()
                if not self.jobs:
                    return
                if several and self.waiting < self.max_rows and not self.is_stopped:
                    self.changed.wait_for(lambda: self.waiting >= self.max_rows, self.wait)
                batch = self._take()
                self.is_busy = True
            several = len(batch) > 1
            self._answer([job for job in batch if not job.future.done()])

    def _take(self) -> list[Job]:
        """Remove the first jobs from the queue, as many as are processed together."""
        batch, n_rows = list[Job](), 0
        while self.jobs and (not batch or n_rows + self.jobs[0].n_rows <= self.max_rows):
            batch.append(self.jobs.popleft())
            n_rows += batch[-1].n_rows
        self.waiting -= n_rows
        return batch

    def _answer(self, jobs: list[Job]) -> None:
        if not jobs:
            return
        started = time.perf_counter()
        try:
            self.process(jobs)
        except BaseException as error:  # one that no request asked for: all of them are told
            for job in jobs:
                job.set(error)
        seconds = max(time.perf_counter() - started, 1e-6)
        self.rate += 0.2 * (sum(job.n_rows for job in jobs) / seconds - self.rate)
        for loop in {job.loop for job in jobs}:
            mine = [job for job in jobs if job.loop is loop]
            if not loop.is_closed():
                loop.call_soon_threadsafe(deliver, mine)


def deliver(jobs: Sequence[Job]) -> None:
    """Deliver the answers of some jobs of one event loop."""
    for job in jobs:
        job.deliver()
