"""Work for a process of its own."""

import os
import signal
import time
from pathlib import Path

from benchmarks import harness
from benchmarks.studies import Study, run
from cladist import progress
from cladist.errors import DatasetError, LabelError


def counted(steps: int) -> dict[str, int]:
    print("not for the listener")
    with progress.task("outer", total=steps) as outer:
        for _ in range(steps):
            with progress.task("inner", total=2) as inner:
                inner.advance(2)
            outer.advance()
    return {"steps": steps, "process": os.getpid()}


def broken() -> None:
    raise ValueError("the roof is leaking")


def interrupted() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background is told to ignore it
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)


def sleepy() -> None:
    with progress.task("my process", total=os.getpid()):
        time.sleep(3600)


# ---------------------------------------------------------------- cells of a study


def scored(data: str, method: str) -> dict[str, object]:
    """Note the call in the file that LOG names, then do what the method's name says."""
    with open(os.environ["LOG"], "a", encoding="utf-8") as log:
        log.write(f"{data} {method} {os.getpid()}\n")
    if method == os.environ.get("WAITS"):
        time.sleep(3600)
    if method == "endless":
        while True:
            pass
    if method == "refused":
        raise LabelError("Rows have sets of labels.")
    if method == "unread":
        raise DatasetError("toy.csv, line 3: there is no label.")
    if method == "broken":
        raise ZeroDivisionError("the roof is leaking")
    return {"measured": {"micro": 50.0}, "seconds": 1.0}


def toy_study(*methods: str, **options: object) -> Study:
    """A study of one data set; `settings` and `version` as given."""
    settings = options.pop("settings", {"C": 1})
    return Study(
        "toy", lambda: [("d", m) for m in methods], lambda *_: settings, lambda *_: "", "tests.benchmarks.work:scored",
        **options,
    )  # fmt: skip


def run_toys(folder: str) -> None:
    """Run a study whose results go to a folder: the work of a process that is killed."""
    harness.RESULTS = Path(folder)
    run([toy_study("a", "b", "c")])
