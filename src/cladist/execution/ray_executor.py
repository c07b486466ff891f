"""Ray: tasks and workers on a cluster, or on this machine where there is none."""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain, islice
from typing import Any

from cladist.errors import ExecutionError, ParameterError
from cladist.execution.payload import Payload, pack, result_of, run_task
from cladist.execution.worker_group import Worker

AHEAD = 2  # tasks given out per worker before the first result is taken


@dataclass(frozen=True)
class Ray:
    """Runs tasks on a Ray cluster; the model is the same bit for bit as with threads.

    Rows are put into the object store once per machine, and workers read them there. Tasks of lost machines run again
    elsewhere.

    Parameters
    ----------
    address : str or None
        The address of a cluster, as ``ray.init`` takes it. None: the cluster that this process is connected to, or that
        ``RAY_ADDRESS`` names, as inside a job that was submitted, or that runs on this machine; otherwise one is
        started here, and ends with the process.
    workers : int or None
        The number of workers with a state, and half of the tasks that wait at a time; None: the cores of the cluster.

    Examples
    --------
    >>> Ray(workers=2)
    Ray(address=None, workers=2)
    """

    address: str | None = None
    workers: int | None = None

    shares_memory = False

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(task)`` for each task, in the tasks' order; see `Executor.map`.

        Tasks are taken as they can be given out, so that there may be more than fit into memory.
        """
        tasks = iter(tasks)
        first = list(islice(tasks, 1))
        if not first:
            return
        ray = self.connect()
        work, run, waiting = [ray.put(part) for part in pack(function)], _remote(run_parts), deque[Any]()
        key = secrets.token_hex()
        most = AHEAD * self.n_workers
        try:
            for task in chain(first, tasks):
                if len(waiting) >= most:
                    yield self._take(ray, waiting.popleft())
                waiting.append(run.remote(work, pack(task), key))
            while waiting:
                yield self._take(ray, waiting.popleft())
        finally:
            for reference in waiting:
                ray.cancel(reference, force=False)

    def _take(self, ray: Any, reference: Any) -> Any:
        try:
            return result_of(ray.get(reference))
        except ray.exceptions.RayError as problem:
            raise ExecutionError(f"A task was lost on the Ray cluster: {_first_line(problem)}.") from problem

    def start_workers(self, make: Payload, n_workers: int) -> _Actors:
        """Start workers that keep a state; see `Workers`.

        Parameters
        ----------
        make : payload
            Of a function that takes a number and returns the state of that worker.
        n_workers : int
            The number of workers.
        """
        ray = self.connect()
        return _Actors(ray, [ray.put(part) for part in make], n_workers)

    @property
    def n_workers(self) -> int:
        """The number of workers, by default the cores of the cluster."""
        return self.workers or max(1, int(self.connect().cluster_resources().get("CPU", 1)))

    def connect(self) -> Any:
        """Return the module ``ray``, connected to a cluster."""
        try:
            ray = import_module("ray")
        except ImportError as problem:
            raise ParameterError("executor='ray' needs Ray, which is missing: pip install 'cladist[ray]'.") from problem
        if not ray.is_initialized():
            address = self.address or os.environ.get("RAY_ADDRESS")
            local = {} if address else {"include_dashboard": False}
            try:
                ray.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
            except (ConnectionError, RuntimeError, ValueError) as problem:
                raise ExecutionError(
                    f"There is no Ray cluster at {address or 'this machine'} ({_first_line(problem)}); start one with "
                    "'ray start --head', or leave the address out."
                ) from problem
        return ray


class _Actors:
    """Workers that are Ray actors."""

    def __init__(self, ray: Any, make: list[Any], n_workers: int) -> None:
        self.ray, self.make, self.reason = ray, make, ""
        cores = int(n_workers <= ray.cluster_resources().get("CPU", 1))
        self.actors = {k: self._start(k, cores) for k in range(n_workers)}

    def _start(self, k: int, cores: int) -> Any:
        # A new one takes no core of its own: that of the lost one may have gone with its machine.
        return _remote(_HostedWorker).options(num_cpus=cores, max_restarts=0).remote(self.make, k)

    def call(self, calls: Mapping[int, Payload], shared: Payload) -> dict[int, Payload | None]:
        """Return the answers of some workers; None of those that were lost."""
        everywhere = [self.ray.put(part) for part in shared]
        waiting = {k: self.actors[k].call.remote(call, everywhere) for k, call in calls.items()}
        return {k: self._answer(reference) for k, reference in waiting.items()}

    def _answer(self, reference: Any) -> Payload | None:
        try:
            return list(self.ray.get(reference))
        except self.ray.exceptions.RayTaskError as problem:  # not the worker's end, but an error around its call
            raise ExecutionError(f"A worker on the Ray cluster failed: {_first_line(problem)}.") from problem
        except self.ray.exceptions.RayError as problem:
            self.reason = _first_line(problem)
            return None

    def restart(self, k: int) -> None:
        """Start a worker in the place of one that was lost."""
        self.ray.kill(self.actors[k], no_restart=True)
        self.actors[k] = self._start(k, 0)

    def close(self) -> None:
        """End all workers."""
        for actor in self.actors.values():
            self.ray.kill(actor, no_restart=True)


def run_parts(function: list[Any], task: Payload, key: str) -> Payload:
    """Do as `run_task`, with a function whose parts are in the object store."""
    return run_task(import_module("ray").get(function), task, key)


class _HostedWorker:
    """A `Worker` whose state and calls are in the object store."""

    def __init__(self, make: list[Any], number: int) -> None:
        self.ray = import_module("ray")
        self.worker = Worker(self.ray.get(make), number)

    def call(self, call: Payload, shared: list[Any]) -> Payload:
        return self.worker.call(call, self.ray.get(shared))


@cache
def _remote(thing: Any) -> Any:
    return import_module("ray").remote(thing)


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0].rstrip(".")
