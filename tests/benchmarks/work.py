"""Work for a process of its own."""

import os
import signal
import time

from cladist import progress


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
