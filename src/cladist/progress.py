"""Progress of long work, reported to whoever listens.

Work opens a task and advances it; a caller that shows progress installs a reporter around the call. The command line
installs one that draws bars; by default nothing is shown, except in a terminal or notebook that kernels are compiled.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol


class Task(Protocol):
    """One piece of long work."""

    def advance(self, steps: int = 1) -> None:
        """Report that `steps` more of the total are done."""
        return


class Reporter(Protocol):
    """Shows the progress of tasks; with a method `announce`, also messages about work that has no steps."""

    def start(self, description: str, total: int | None) -> Task:
        """Begin to show a piece of work of `total` steps (None: unknown)."""

    def finish(self, task: Task) -> None:
        """Stop showing it."""
        return


class _Silent(Task, Reporter):
    """Shows nothing."""

    def start(self, description: str, total: int | None) -> Task:
        return self

    def announce(self, message: str) -> None:
        return


_SILENT = _Silent()
_reporter: ContextVar[Reporter | None] = ContextVar("cladist_progress", default=None)


@contextmanager
def task(description: str, total: int | None = None, unit: str = "") -> Iterator[Task]:
    """Open a piece of long work; `unit` is what its steps are, in the plural.

    Examples
    --------
    >>> with task("counting", total=3) as counting:
    ...     for _ in range(3):
    ...         counting.advance()
    """
    reporter = _reporter.get() or _SILENT
    running = reporter.start(description, total)
    if unit and hasattr(running, "count_in"):  # which reporters may leave out
        running.count_in(unit)
    try:
        yield running
    except MemoryError as problem:
        problem.add_note(f"It happened during: {description}.")
        raise
    finally:
        reporter.finish(running)


def describe(running: Task, description: str) -> None:
    """Say what a task is doing now, if whoever shows it can."""
    if hasattr(running, "describe"):
        running.describe(description)


def announce(message: str) -> None:
    """Tell whoever shows progress something about work that has no steps."""
    getattr(_reporter.get() or _SILENT, "announce", _SILENT.announce)(message)


class _Line(Task):
    """A task shown as lines of text, one per tenth of the total."""

    def __init__(self, description: str, total: int | None) -> None:
        self.description, self.total = description, total
        self.done, self.tenths = 0, 0
        self.started = time.perf_counter()

    def describe(self, description: str) -> None:
        self.description = description

    def advance(self, steps: int = 1) -> None:
        self.done += steps
        tenths = 10 * self.done // self.total if self.total else 0
        if tenths > self.tenths:
            self.tenths = tenths
            seconds = time.perf_counter() - self.started
            print(f"{self.description}: {self.done} of {self.total}, {seconds:.1f} s", file=sys.stderr)


class Lines(Reporter):
    """Shows progress as plain lines on standard error: what learners use for ``verbose=1``."""

    def start(self, description: str, total: int | None) -> Task:
        """Begin to show a piece of work."""
        return _Line(description, total)

    def announce(self, message: str) -> None:
        """Show a message."""
        print(message, file=sys.stderr)


class _Announcer(logging.Handler):
    """Passes messages of a logger to the reporter; without one, to a terminal or a notebook."""

    def emit(self, record: logging.LogRecord) -> None:
        is_watched = sys.stderr.isatty() or hasattr(sys, "ps1")  # interactive sessions and notebooks have a prompt
        reporter = _reporter.get() or (Lines() if is_watched else _SILENT)
        getattr(reporter, "announce", _SILENT.announce)(record.getMessage())


# Kernels import nothing of cladist, so they log.
_kernels = logging.getLogger("cladist.kernels")
_kernels.addHandler(_Announcer())
_kernels.setLevel(logging.INFO)
_kernels.propagate = False


@contextmanager
def report_to(reporter: Reporter) -> Iterator[None]:
    """Show the progress of everything called inside this block to `reporter`."""
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


def show_lines(verbose: bool | int) -> AbstractContextManager[None]:
    """Show progress as lines inside this block if `verbose`, unless a reporter is installed."""
    return report_to(Lines()) if verbose and _reporter.get() is None else nullcontext()


def hide() -> AbstractContextManager[None]:
    """Show no progress inside this block, whose caller reports the progress of the whole."""
    return report_to(_SILENT)
