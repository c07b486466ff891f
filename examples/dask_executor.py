"""Train on a Dask cluster: an executor of your own for `cladist`, with tasks and with workers that keep a state.

Run it with ``python examples/dask_executor.py``; it starts a small cluster on this machine. It needs
``pip install distributed cloudpickle``.
"""

from __future__ import annotations

import secrets
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

import cladist
from cladist.datasets import make_topics
from cladist.execution import Worker, pack, run_task
from cladist.execution.payload import result_of


class Dask:
    """Runs the tasks of learners on the cluster of a Dask client."""

    shares_memory = False  # tasks run in other processes: learners then use `start_workers` for work in rounds

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def n_workers(self) -> int:
        """The number of workers of the cluster."""
        return len(self.client.scheduler_info(n_workers=-1)["workers"])

    def map(self, function: Any, tasks: Any) -> Any:
        """Yield ``function(task)`` for each task, in order; the function is moved to each worker once."""
        work, key = self.client.scatter([pack(function)], broadcast=True, hash=False)[0], secrets.token_hex()
        waiting = [self.client.submit(run_task, work, pack(task), key, pure=False) for task in tasks]
        for future in waiting:
            yield result_of(future.result())

    def start_workers(self, make: Any, n_workers: int) -> Actors:
        """Start workers that keep a state."""
        return Actors(self.client, make, n_workers)


class Actors:
    """Workers that are Dask actors."""

    def __init__(self, client: Any, make: Any, n_workers: int) -> None:
        self.client, self.make = client, make
        self.actors = {k: self._start(k) for k in range(n_workers)}

    def _start(self, k: int) -> Any:
        return self.client.submit(Worker, self.make, k, actor=True, pure=False).result()

    def call(self, calls: Any, shared: Any) -> dict[int, Any]:
        """Call several workers side by side; None stands for a worker that is lost."""
        waiting = {k: self.actors[k].call(call, shared) for k, call in calls.items()}
        return {k: answer_of(future) for k, future in waiting.items()}

    def restart(self, k: int) -> None:
        """Start a new worker in the place of a lost one."""
        self.actors[k] = self._start(k)

    def close(self) -> None:
        """End all workers."""
        self.actors = {}


def answer_of(future: Any) -> Any:
    """Return what an actor answered; None if it is lost."""
    try:
        return future.result()
    except (OSError, ValueError, RuntimeError, CancelledError):
        return None


def main() -> None:
    """Train the same model in this process and on a cluster of two processes."""
    from distributed import Client, LocalCluster

    data = make_topics(n_samples=800, n_features=400, branching=(5, 4, 4), random_state=0)
    settings = {"sharing": 1, "relations": cladist.Relations(blocks_per_round=2)}
    here = cladist.RecursiveSVM(data.taxonomy, **settings).fit(data.X, data.y)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        there = cladist.RecursiveSVM(data.taxonomy, executor=Dask(client), **settings).fit(data.X, data.y)
    print("The same weights, bit for bit:", np.array_equal(here.coef_, there.coef_))


if __name__ == "__main__":
    main()
