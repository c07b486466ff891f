"""The memory of a server's processes, once a second, and whether it is flat."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

FLAT = 0.01  # memory is flat if the means of the last and the middle third of a run differ by at most this share
PROC = Path("/proc")


class Sample(NamedTuple):
    """Memory at a time in seconds: all pages of all processes, and each page shared out among those that have it."""

    seconds: float
    rss_mib: float
    pss_mib: float


class MemoryWatch:
    """Looks at the memory of a process and its children while it is entered; `samples` has what it saw.

    Examples
    --------
    >>> import os
    >>> with MemoryWatch(os.getpid(), every=0.01) as watch:
    ...     time.sleep(0.1)
    >>> watch.samples[0].rss_mib > 1
    True
    """

    def __init__(self, process: int, every: float = 1.0) -> None:
        self.process, self.every = process, every
        self.samples: list[Sample] = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self.thread.join()

    def _run(self) -> None:
        started = time.monotonic()
        while True:
            sizes = np.sum([memory_of(process) for process in family(self.process)] or [(0.0, 0.0)], axis=0)
            self.samples.append(Sample(round(time.monotonic() - started, 2), *np.round(sizes, 2).tolist()))
            if self.stopping.wait(self.every):
                return


def family(process: int) -> list[int]:
    """Return a process and all below it that live."""
    try:
        tasks = [task.read_text() for task in PROC.joinpath(str(process), "task").glob("*/children")]
    except OSError:  # it has ended
        return []
    children = [int(child) for text in tasks for child in text.split()]
    return [process, *(member for child in children for member in family(child))]


def memory_of(process: int) -> tuple[float, float]:
    """Return the pages of a process, and its share in them, in MiB; 0 if it has ended."""
    try:
        lines = PROC.joinpath(str(process), "smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0.0, 0.0
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return kib.get("Rss", 0) / 1024, kib.get("Pss", 0) / 1024


def summary(samples: list[Sample]) -> dict[str, Any]:
    """Return how memory went: the largest of each tenth, the slope after the first third, and whether it is flat."""
    seconds, rss, pss = (np.array(column) for column in zip(*samples, strict=True))
    thirds, tenths = np.array_split(rss, 3), np.array_split(rss, min(10, len(rss)))
    after = len(thirds[0])
    slope, error = slope_of(seconds[after:] / 60, rss[after:])
    change = float(thirds[2].mean() / thirds[1].mean() - 1)
    return {
        "rss_mib_largest_of_tenths": [round(float(part.max()), 1) for part in tenths],
        "rss_mib_mean_of_thirds": [round(float(part.mean()), 2) for part in thirds],
        "rss_mib_per_minute": round(slope, 3),
        "rss_mib_per_minute_error": round(error, 3),
        "pss_mib_largest": round(float(pss.max()), 1),
        "change_of_last_third_percent": round(100 * change, 3),
        "is_flat": abs(change) <= FLAT,
    }


def slope_of(x: Any, y: Any) -> tuple[float, float]:
    """Return the slope of a line by least squares, and its standard error.

    Memory now is much like memory a second ago, so that there are fewer independent numbers than samples: the error
    is that of errors in which each depends on the one before (a first-order autoregression).

    Examples
    --------
    >>> slope, error = slope_of(np.arange(9.0), 3 * np.arange(9.0) + np.tile([0.1, -0.1, 0.0], 3))
    >>> round(slope, 1), error < 0.1
    (3.0, True)
    """
    if len(x) < 4:
        return 0.0, float("inf")
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    rest = y - y.mean() - slope * centred
    total = float(rest @ rest)
    before = min(0.99, max(0.0, float(rest[1:] @ rest[:-1]) / total)) if total else 0.0
    error = np.sqrt(total / (len(x) - 2) / float(centred @ centred) * (1 + before) / (1 - before))
    return slope, float(error)
