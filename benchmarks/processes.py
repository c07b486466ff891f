"""Work done in a process of its own: its memory is its own, and its progress is seen from here."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from cladist import progress

EVENT = "\x1e"  # begins the lines that are meant for the process that listens; whatever else is printed is not
CHILD = "import sys; sys.path[:0] = [sys.argv[1]]; from benchmarks.processes import answer; answer(*sys.argv[2:])"


class TimeLimitError(RuntimeError):
    """The process used all the CPU seconds that it had."""


def in_new_process(function: str, *arguments: Any, limit: float | None = None) -> Any:
    """Call ``module:function`` in a process of its own and return its JSON result; memory peaks stay apart.

    Progress that the function reports is passed on. Stopping this process stops the other. With a `limit`, it may use
    so many CPU seconds.
    """
    root = Path(__file__).parent.parent
    called = [sys.executable, "-c", CHILD, str(root), function, json.dumps(arguments), json.dumps(limit)]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints,
        subprocess.Popen(called, stdout=subprocess.PIPE, stderr=complaints, encoding="utf-8") as process,
    ):
        try:
            results = _listen(process)
        except BaseException:
            process.kill()
            raise
        if process.returncode == -signal.SIGINT:  # Ctrl-C reached it first
            raise KeyboardInterrupt
        if process.returncode == -signal.SIGXCPU:
            raise TimeLimitError(f"{function} used more than {limit} CPU seconds.")
        if process.returncode or not results:
            complaints.seek(0)
            raise RuntimeError(complaints.read() or f"{function} ended with code {process.returncode}.")
        return results[-1]


def _listen(process: subprocess.Popen[str]) -> list[Any]:
    """Pass on the progress of a process until it ends; return its results."""
    results: list[Any] = []
    assert process.stdout is not None
    with ExitStack() as under_way:
        for line in process.stdout:
            if not line.startswith(EVENT):
                continue
            kind, *values = json.loads(line.removeprefix(EVENT))
            if kind == "start":
                task = under_way.enter_context(progress.task(*values))
            elif kind == "advance":
                task.advance(*values)
            elif kind == "finish":
                under_way.close()
            else:
                results += values
    process.wait()
    return results


def answer(function: str, arguments: str, limit: str) -> None:
    """Call ``module:function`` and tell the process that listens how far it is, and what came out."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if (seconds := json.loads(limit)) is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 60))
    module, _, name = function.partition(":")
    with progress.report_to(_Told()):
        result = getattr(import_module(module), name)(*json.loads(arguments))
    _tell("result", result)


def _end_with_parent() -> None:
    """End this process once the one that listens is gone, even if it was killed."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _tell(*event: Any) -> None:
    print(f"\n{EVENT}{json.dumps(event)}", flush=True)


class _Told:
    """A `cladist.progress.Reporter` that tells of the outermost work; whatever lies deeper is not told."""

    def __init__(self) -> None:
        self.depth = 0

    def start(self, description: str, total: int | None) -> progress.Task:
        self.depth += 1
        if self.depth == 1:
            _tell("start", description, total)
        return _Step(told=self.depth == 1)

    def finish(self, task: progress.Task) -> None:
        self.depth -= 1
        if self.depth == 0:
            _tell("finish")


class _Step:
    def __init__(self, *, told: bool) -> None:
        self.told = told

    def advance(self, steps: int = 1) -> None:
        if self.told:
            _tell("advance", steps)
