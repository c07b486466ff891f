"""Training on a Ray cluster on this machine, nodes and drivers that are killed, and many workers simulated.

    python benchmarks/speed/cluster.py overhead kills driver simulate --scale 10

The data have a tenth (`--scale`) of the shape of DMOZ-2010 in Gopal & Yang 2013: 128,710 rows, 381,580 features and
12,294 leaves; they are generated, since the originals are licensed. RecursiveSVM with the hinge.

overhead   wall seconds of Ray on one machine over those of as many threads; bytes that pass per sweep, beside those
           that the stored vectors of all visited blocks would take, and those of the nodes that workers share
bytes      the bytes alone, in this process: workers are objects, and everything passes through the same payloads
kills      a node of three is killed at a random moment of a run: whether the model is the same bit for bit
driver     the driver is killed by SIGKILL at a random moment, and the same fit goes on from its checkpoint: the
           same question
simulate   with about 8,500 leaves and rounds of 8 to 512 blocks: sweeps and bytes as they were, and the critical path,
           were every worker a machine of its own; see `benchmarks.rounds_simulated`
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("RAY_worker_niceness", "0")  # otherwise 15: threads of this process would have no such handicap

from benchmarks.harness import print_rows, write_results
from benchmarks.rounds_simulated import record, simulate
from cladist import RecursiveSVM, Relations, checkpoints
from cladist.datasets import Dataset, make_topics
from cladist.execution import Ray, Threads, Worker
from cladist.execution.ray_executor import _Actors as RemoteWorkers
from cladist.linear_model.problem_tree import schedule_rounds
from cladist.solvers.tree.joint_workers import RemoteJoint

WIDE = 8_500  # leaves: 512 blocks of sixteen and more, for as many workers
ROWS, FEATURES, LEAVES = 128_710, 381_580, 12_294
STORE = 512 * 2**20  # bytes of each object store
FINE = 1e-5  # the gap to which drivers that are killed train, so that there is something to lose
LATEST = 0.8  # of an undisturbed run: when a node is killed at the latest
WORKERS, BLOCKS = (8, 16, 32, 64, 128, 256, 512), (8, 64, 512)  # simulated, and blocks of their rounds
NOTES = {"simulate": f"with {WIDE:,} leaves or somewhat more, in place of those of the data"}


def shape(scale: float, leaves: float = 0.0) -> Dataset:
    """Return data of the shape of DMOZ-2010, so many times smaller, or with another number of leaves."""
    leaves = leaves or LEAVES / scale
    per_level = round(leaves ** (1 / 4))
    return make_topics(
        n_samples=round(ROWS / scale),
        n_features=round(FEATURES / scale),
        branching=(per_level,) * 3 + (round(leaves / per_level**3),),
        random_state=0,
    )


def learner(data: Dataset, executor: Any, blocks: int, **options: Any) -> RecursiveSVM:
    """Return the learner of all measurements."""
    relations = Relations(blocks_per_round=blocks)
    return RecursiveSVM(
        data.taxonomy, loss="hinge", sharing=1, weights="dual", relations=relations, executor=executor, **options
    )


def timed(model: RecursiveSVM, data: Dataset) -> tuple[RecursiveSVM, float]:
    """Return the fitted model and its seconds."""
    started = time.perf_counter()
    return model.fit(data.X, data.y), time.perf_counter() - started


def same(one: RecursiveSVM, other: RecursiveSVM, data: Dataset) -> bool:
    """Tell whether two models have the same scores, bit for bit."""
    rows = data.X[:500]
    return bool(np.array_equal(one.decision_function(rows), other.decision_function(rows)))


@contextmanager
def watched() -> Iterator[list[RemoteJoint]]:
    """Collect the solvers that end inside the block."""
    seen: list[RemoteJoint] = []
    close = RemoteJoint.close

    def watch(joint: RemoteJoint) -> None:
        if joint.is_open:
            seen.append(joint)
        close(joint)

    RemoteJoint.close = watch  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        RemoteJoint.close = close  # type: ignore[method-assign]


def bytes_of(joint: RemoteJoint, blocks_per_round: int) -> dict[str, float]:
    """Return the bytes per sweep, checks included, and what they are of those that vectors would take.

    Were vectors sent, each visit would need those of the stored nodes above its block; or at least, after each round
    every worker would need the vectors of the nodes that it shares with others.
    """
    vector, blocks = 4 * joint.V.shape[1], joint.layout.blocks
    n_rounds = len(schedule_rounds(len(blocks), blocks_per_round))
    visited = vector * sum(len(block.stored) for block in blocks)
    shared = vector * n_rounds * int(joint.division.holders[:, joint.division.is_shared].sum())
    passed = (joint.group.bytes_sent + joint.group.bytes_received) / joint.n_sweeps
    return {
        "workers": joint.n_workers, "blocks a round": blocks_per_round, "sweeps": joint.n_sweeps,
        "bytes per sweep": passed, "vectors of visited blocks": visited, "of these": passed / visited,
        "vectors of shared nodes": shared, "of them": passed / shared if shared else np.inf,
    }  # fmt: skip


def overhead(data: Dataset, tol: float, workers: int = 2) -> list[dict[str, Any]]:
    """Return seconds with threads and on Ray, and the bytes of a sweep."""
    import ray

    ray.init(
        address="local", num_cpus=workers, object_store_memory=2 * STORE, include_dashboard=False,
        log_to_driver=False, logging_level="ERROR",
    )  # fmt: skip
    small = shape(200)
    for executor in (Threads(workers), Ray(workers=workers)):  # loads the kernels
        timed(learner(small, executor, workers), small)
    here, threads = timed(learner(data, Threads(workers), workers, tol=tol), data)
    print(f"threads: {threads:.0f} s", flush=True)
    with watched() as seen:
        there, on_ray = timed(learner(data, Ray(workers=workers), workers, tol=tol), data)
    ray.shutdown()
    row = {"threads s": threads, "ray s": on_ray, "ratio": on_ray / threads, "tol": tol}
    return [{**row, **bytes_of(seen[-1], workers), "same": same(here, there, data)}]


class InProcess:
    """An engine whose workers are objects here; what they are told and what they answer are payloads all the same."""

    shares_memory = False

    def __init__(self, n_workers: int) -> None:
        self.n_workers, self.workers = n_workers, list[Worker]()

    def map(self, function: Any, tasks: Any) -> Any:
        """Yield ``function(task)`` for each task."""
        return map(function, tasks)

    def start_workers(self, make: Any, n_workers: int) -> InProcess:
        """Make the workers."""
        self.workers = [Worker(make, k) for k in range(n_workers)]
        return self

    def call(self, calls: Any, shared: Any) -> dict[int, Any]:
        """Return the answers of some workers."""
        return {k: self.workers[k].call(call, shared) for k, call in calls.items()}

    def close(self) -> None:
        """End all workers."""
        self.workers = []


def bytes_alone(data: Dataset, workers: tuple[int, ...] = (2, 8)) -> list[dict[str, Any]]:
    """Return the bytes of the first sweeps, in which the most rows move, with as many blocks a round as workers."""
    rows = []
    for n_workers in workers:
        with watched() as seen:
            timed(learner(data, InProcess(n_workers), n_workers, max_iter=2), data)
        rows.append(bytes_of(seen[-1], n_workers))
        print(rows[-1], flush=True)
    return rows


def kills(data: Dataset, runs: int) -> list[dict[str, Any]]:
    """Return for each run when a node was killed, and whether the model is the same."""
    import ray
    from ray.cluster_utils import Cluster

    here, _ = timed(learner(data, Threads(2), 3), data)
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    cluster.wait_for_nodes()
    for data_of_run in (shape(200), data):  # loads the kernels
        there, usual = timed(learner(data_of_run, Ray(workers=3), 3), data_of_run)
    found: list[dict[str, Any]] = [{"killed after s": None, "s": usual, "restarts": 0, "same": same(here, there, data)}]
    random, restart, restarts = np.random.default_rng(0), RemoteWorkers.restart, 0

    def counted(workers: Any, k: int) -> None:
        nonlocal restarts
        restarts += 1
        restart(workers, k)

    RemoteWorkers.restart = counted  # type: ignore[method-assign]
    while len(found) <= runs:
        restarts, moment = 0, float(random.uniform(0, LATEST)) * usual
        node = nodes.pop(int(random.integers(len(nodes))))
        timer = threading.Timer(moment, cluster.remove_node, (node,), {"allow_graceful": False})
        timer.start()
        there, seconds = timed(learner(data, Ray(workers=3), 3), data)
        timer.join()
        row = {"killed after s": moment, "s": seconds, "restarts": restarts, "same": same(here, there, data)}
        found += [row] if seconds > moment else []  # else it was done before, and counts for nothing
        print(row, flush=True)
        nodes.append(cluster.add_node(num_cpus=1, object_store_memory=STORE))
        cluster.wait_for_nodes()
    RemoteWorkers.restart = restart  # type: ignore[method-assign]
    ray.shutdown()
    cluster.shutdown()
    return found


def driver(data: Dataset, scale: float, times: int) -> list[dict[str, Any]]:
    """Return for each kill after how many seconds it came, and whether the resumed model is the same."""
    small = shape(200)
    timed(learner(small, None, 2), small)  # loads the kernels
    cpu = time.process_time()
    here, seconds = timed(learner(data, None, 2, tol=FINE), data)
    cpu = time.process_time() - cpu
    random, found = np.random.default_rng(0), list[dict[str, Any]]()
    while len(found) < times:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "fit", "--scale", str(scale), "--folder", folder]
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            assert process.stdout is not None
            process.stdout.readline()  # the fit begins
            moment = float(random.uniform(0, 1)) * seconds
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            killed = process.wait() == -signal.SIGKILL
            process.stdout.close()
            kept = len(list(Path(folder).glob("*-sweeps")))
            before = time.process_time()
            there, _ = timed(learner(data, None, 2, tol=FINE, checkpoint=folder), data)
            rest = time.process_time() - before
        row = {
            "killed after s": moment, "state kept": kept, "CPU s of the rest": rest, "CPU s of a whole fit": cpu,
            "sweeps": there.n_iter_, "same": same(here, there, data),
        }  # fmt: skip
        found += [row] if killed else []  # else it was done before, and counts for nothing
        print(row, flush=True)
    return found


def simulated(data: Dataset) -> list[dict[str, Any]]:
    """Return for each size of rounds the sweeps, the bytes of a sweep, and the critical path."""
    small, found, first = shape(200), list[dict[str, Any]](), 0.0
    timed(learner(small, None, 8), small)  # loads the kernels
    for size in BLOCKS:
        with record() as log:
            model, _ = timed(learner(data, None, size), data)
        first = first or log.seconds
        for workers in [each for each in WORKERS if each <= size]:
            spent = simulate(log, workers)
            path = sum(spent[name] for name in ("visit", "measure", "lead", "network"))
            found.append(
                {
                    "blocks a round": size, "workers": workers, "sweeps": model.n_iter_,
                    "gap": model.history_[-1]["gap"], "one process s": log.seconds, "path s": path,
                    **{f"{name} s": spent[name] for name in ("visit", "measure", "lead", "network")},
                    "times faster": first / path, "bytes per sweep": spent["bytes"] / model.n_iter_,
                }
            )  # fmt: skip
            print(found[-1], flush=True)
    return found


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = ("overhead", "bytes", "kills", "driver", "simulate")
    parser.add_argument("what", nargs="*", choices=(*steps, "fit"), default=steps)
    parser.add_argument("--scale", type=float, default=10.0, help="how many times smaller than DMOZ-2010")
    parser.add_argument("--times", type=int, default=0, help="kills: 10 of nodes and 20 of drivers if 0")
    parser.add_argument("--tol", type=float, default=0.01, help="of overhead: with less, the job takes longer")
    parser.add_argument("--folder", help="the checkpoint of fit")
    options = parser.parse_args()
    data = shape(options.scale)
    if "fit" in options.what:
        checkpoints.SHARE = 0.5  # so that a short fit has something to lose
        print("begins", flush=True)
        learner(data, None, 2, tol=FINE, checkpoint=options.folder).fit(data.X, data.y)
        return
    work = {
        "overhead": lambda: overhead(data, options.tol),
        "bytes": lambda: bytes_alone(data),
        "kills": lambda: kills(data, options.times or 10),
        "driver": lambda: driver(data, options.scale, options.times or 20),
        "simulate": lambda: simulated(shape(options.scale, WIDE)),
    }
    size = f"{data.X.shape[0]:,} rows, {data.X.shape[1]:,} features, {len(data.taxonomy.leaves):,} leaves"
    for name in options.what:
        write_results(f"cluster-{name}", rows := work[name](), data=f"generated: {size}", note=NOTES.get(name, ""))
        print_rows(rows)


if __name__ == "__main__":
    main()
