"""How a server runs: one process that listens at an address, or several that share it."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from cladist.server.app import create_app
from cladist.server.counters import Share
from cladist.server.evaluation import LabelledRows
from cladist.server.findings import Finding
from cladist.server.settings import Settings

LOGGER = logging.getLogger("cladist.server")
BACKLOG = 1024
FASTEST_START = 1.0  # seconds between two starts of the same process, so that one that fails at once does not spin
NEW_OBJECTS = 2000  # after which a process looks for garbage among them
GRACE = 5.0  # seconds after the time limit of requests until a process that is to stop is ended


class Plan(NamedTuple):
    """What a server serves."""

    models: dict[str, Path]
    settings: Settings
    data: LabelledRows | None = None
    proxies: tuple[str, ...] = ()  # addresses whose word about clients is taken
    findings: tuple[Finding, ...] = ()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 is a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise OSError(
            error.errno, f"no server can listen there ({reason}); choose another --port", f"{host}:{port}"
        ) from None
    listener.set_inheritable(True)
    return listener


def run(plan: Plan, listener: socket.socket, *, workers: int = 1) -> None:
    """Answer requests until a signal to stop (SIGINT, SIGTERM); those that have begun are finished."""
    if workers == 1:
        answer(plan, listener, Share())
        return
    with tempfile.TemporaryDirectory(prefix="cladist-serve-") as folder:
        Workers(plan, listener, workers, Path(folder) / "counters").run()


def answer(plan: Plan, listener: socket.socket, share: Share) -> None:
    """Answer requests in this process."""
    app = create_app(plan.models, plan.settings, data=plan.data, share=share, findings=plan.findings)
    collect_often()
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        backlog=BACKLOG,
        proxy_headers=bool(plan.proxies),
        forwarded_allow_ips=list(plan.proxies),
        timeout_graceful_shutdown=round(plan.settings.timeout + GRACE / 2),
        h11_max_incomplete_event_size=1 << 16,
    )
    uvicorn.Server(config).run(sockets=[listener])


def collect_often() -> None:
    """Look for garbage often from now on, but not among what has been loaded.

    The command line looks for it after 100,000 new objects, as commands end soon. Steps of a model may leave objects
    that refer to each other, each with much memory behind it. What has been loaded stays: a search through it would
    make requests wait.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, 10, 10)


class Workers:
    """Processes that answer at one address; one that ends is started again."""

    def __init__(self, plan: Plan, listener: socket.socket, count: int, counters: Path) -> None:
        self.plan, self.listener, self.counters = plan, listener, counters
        self.context = multiprocessing.get_context("spawn")
        self.processes: list[Any] = [None] * count
        self.started = [0.0] * count
        self.stopping = threading.Event()

    def run(self) -> None:
        """Run the processes until a signal to stop."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self.stopping.set())
        try:
            while not self.stopping.is_set():
                for k in range(len(self.processes)):
                    self._start_if_ended(k)
                self.stopping.wait(0.2)
        finally:
            self._stop()

    def _start_if_ended(self, k: int) -> None:
        process, now = self.processes[k], time.monotonic()
        if process is not None and process.is_alive():
            return
        if process is not None:
            LOGGER.error("Process %d ended with code %s; another takes its place", process.pid, process.exitcode)
        if now - self.started[k] < FASTEST_START:
            return
        share = Share(self.counters, k, len(self.processes))
        process = self.context.Process(target=answer, args=(self.plan, self.listener, share), daemon=False)
        process.start()
        self.processes[k], self.started[k] = process, now

    def _stop(self) -> None:
        alive = [process for process in self.processes if process is not None and process.is_alive()]
        for process in alive:
            process.terminate()  # SIGTERM: requests that have begun are finished
        deadline = time.monotonic() + self.plan.settings.timeout + GRACE
        for process in alive:
            process.join(max(0.1, deadline - time.monotonic()))
        for process in alive:
            with suppress(OSError):
                if process.is_alive():
                    process.kill()
