"""Training on a Ray cluster on this machine, nodes and drivers that are killed, and many workers simulated.

    python benchmarks/speed/cluster.py overhead kills driver simulate --scale 10

The data have a tenth (`--scale`) of the shape of DMOZ-2010 in Gopal & Yang 2013: 128,710 rows, 381,580 features and
12,294 leaves; they are generated, since the originals are licensed. RecursiveSVM with the hinge.

overhead   wall seconds of Ray on one machine over those of as many threads; bytes that pass per sweep, beside those
           that the stored vectors of all visited blocks would take
kills      a node of three is killed at a random call of a run: whether the model is the same bit for bit
driver     the driver is killed by SIGKILL at a random moment, and the same fit goes on from its checkpoint, likewise
simulate   with about 8,500 leaves and rounds of 8 to 512 blocks: sweeps and bytes as they were, and the critical path,
           were every worker a machine of its own: in each round the longest sum of seconds of a worker's visits, the
           bytes over a link of 10 Gbit/s, and 2 ms for its calls
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("RAY_worker_niceness", "0")  # otherwise 15: threads of this process would have no such handicap

from benchmarks.harness import print_rows, write_results
from cladist import RecursiveSVM, Relations, checkpoints
from cladist.datasets import Dataset, make_topics
from cladist.execution import Ray, Threads
from cladist.execution.worker_group import WorkerGroup
from cladist.linear_model.problem_tree import schedule_rounds
from cladist.solvers.tree.joint_dual import JointDual
from cladist.solvers.tree.joint_workers import RemoteJoint

WIDE = 8_500  # leaves: 512 blocks of sixteen and more, for as many workers
ROWS, FEATURES, LEAVES = 128_710, 381_580, 12_294
FINE = 1e-6  # the gap to which drivers that are killed train, so that there is something to lose
LINK, CALLS = 10e9 / 8, 2e-3  # bytes per second, and seconds per round
NOTES = {"simulate": f"with {WIDE:,} leaves or somewhat more, in place of those of the data"}
WORKERS, BLOCKS = (8, 16, 32, 64, 128, 256, 512), (8, 64, 512)  # simulated, and blocks of their rounds


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


def overhead(data: Dataset, workers: int = 2) -> list[dict[str, Any]]:
    """Return seconds with threads and on Ray, and the bytes of a sweep."""
    seen: list[RemoteJoint] = []
    finish = RemoteJoint.close

    def watch(joint: RemoteJoint) -> None:
        seen.append(joint)
        finish(joint)

    import ray

    RemoteJoint.close = watch  # type: ignore[method-assign]
    ray.init(address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    timed(learner(data, Threads(workers), workers), data)  # loads the kernels
    here, threads = timed(learner(data, Threads(workers), workers), data)
    there, first = timed(learner(data, Ray(workers=workers), workers), data)  # workers load their kernels
    there, ray = timed(learner(data, Ray(workers=workers), workers), data)
    joint, sweeps = seen[-1], there.n_iter_
    vectors = sum(4 * joint.V.shape[1] * len(block.stored) for block in joint.layout.blocks)
    passed = (joint.group.bytes_sent + joint.group.bytes_received) / sweeps
    return [
        {
            "threads s": threads, "ray s": ray, "ray, first s": first, "ratio": ray / threads, "sweeps": sweeps,
            "bytes per sweep": passed, "of vectors": passed / vectors, "same": same(here, there, data),
        }
    ]  # fmt: skip


def kills(data: Dataset, runs: int) -> list[dict[str, Any]]:
    """Return for each run at which call a node was killed, and whether the model is the same."""
    import ray
    from ray.cluster_utils import Cluster

    ray.shutdown()
    here, _ = timed(learner(data, Threads(2), 3), data)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=200 * 2**20) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    call, random, found = WorkerGroup.call, np.random.default_rng(0), []
    for _ in range(runs):
        left = first = int(random.integers(2, 60))

        def killing(group: WorkerGroup, *arguments: Any, **options: Any) -> list[Any]:
            nonlocal left
            left -= 1
            if left == 0:
                cluster.remove_node(nodes.pop(), allow_graceful=False)
            return call(group, *arguments, **options)

        WorkerGroup.call = killing  # type: ignore[method-assign]
        there, seconds = timed(learner(data, Ray(workers=3), 3), data)
        found.append({"killed at call": first, "s": seconds, "killed": left <= 0, "same": same(here, there, data)})
        print(found[-1], flush=True)
        while len(nodes) < 2:
            nodes.append(cluster.add_node(num_cpus=1, object_store_memory=200 * 2**20))
    WorkerGroup.call = call  # type: ignore[method-assign]
    ray.shutdown()
    cluster.shutdown()
    return found


def driver(data: Dataset, scale: float, times: int) -> list[dict[str, Any]]:
    """Return for each kill after how many seconds it came, and whether the resumed model is the same."""
    here, seconds = timed(learner(data, None, 2, tol=FINE), data)
    random, found = np.random.default_rng(0), []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "fit", "--scale", str(scale), "--folder", folder]
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            process.stdout.readline()  # type: ignore[union-attr]  # the fit begins
            moment = float(random.uniform(0.1, 1.0)) * seconds
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            process.wait()
            kept = len(list(Path(folder).glob("*-sweeps")))
            there, rest = timed(learner(data, None, 2, tol=FINE, checkpoint=folder), data)
        found.append({"killed after s": moment, "state kept": kept, "rest s": rest, "same": same(here, there, data)})
    return found


def simulate(data: Dataset) -> list[dict[str, Any]]:
    """Return for each size of rounds the sweeps, the bytes of a sweep, and the critical path."""
    visit, found = JointDual.visit, []
    for size in BLOCKS:
        log: list[tuple[int, int, float, int]] = []

        def watched(joint: JointDual, b: int, *, log: Any = log, **details: Any) -> Any:
            started = time.thread_time()
            change = visit(joint, b, **details)
            is_shared = len(joint.layout.blocks[b].stored)  # at most: those above blocks of one worker do not travel
            log.append((details["sweep"], b, time.thread_time() - started, len(change.rows) * (4 + 4 * is_shared)))
            return change

        JointDual.visit = watched  # type: ignore[method-assign]
        model = learner(data, None, size).fit(data.X, data.y)
        JointDual.visit = visit  # type: ignore[method-assign]
        n_blocks = 1 + max(b for _, b, _, _ in log)
        rounds = schedule_rounds(n_blocks, size)
        for workers in [each for each in WORKERS if each <= size]:
            path = critical_path(log, rounds, n_blocks, workers)
            serial = sum(seconds for _, _, seconds, _ in log)
            n_bytes = sum(each for _, _, _, each in log)
            found.append(
                {
                    "blocks a round": size, "workers": workers, "sweeps": model.n_iter_,
                    "gap": model.history_[-1]["gap"], "visits s": serial, "path s": path,
                    "bytes per sweep": n_bytes / model.n_iter_,
                }
            )  # fmt: skip
    return found


def critical_path(log: list[Any], rounds: list[list[int]], n_blocks: int, workers: int) -> float:
    """Return the seconds of all rounds, were every worker a machine of its own."""
    owner = np.arange(n_blocks) * workers // n_blocks
    of_round = {b: r for r, together in enumerate(rounds) for b in together}
    busy: dict[tuple[int, int], Any] = {}
    passed: dict[tuple[int, int], int] = {}
    for sweep, b, seconds, n_bytes in log:
        key = sweep, of_round[b]
        busy.setdefault(key, np.zeros(workers))[owner[b]] += seconds
        passed[key] = passed.get(key, 0) + n_bytes
    return float(sum(each.max() for each in busy.values()) + sum(passed.values()) / LINK + CALLS * len(busy))


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=("overhead", "kills", "driver", "simulate", "fit"))
    parser.add_argument("--scale", type=float, default=10.0, help="how many times smaller than DMOZ-2010")
    parser.add_argument("--times", type=int, default=0, help="kills: 10 of nodes and 20 of drivers if 0")
    parser.add_argument("--folder", help="the checkpoint of fit")
    options = parser.parse_args()
    data = shape(options.scale)
    if "fit" in options.what:
        checkpoints.SHARE = 0.5  # so that a short fit has something to lose
        print("begins", flush=True)
        learner(data, None, 2, tol=FINE, checkpoint=options.folder).fit(data.X, data.y)
        return
    work = {
        "overhead": lambda: overhead(data),
        "kills": lambda: kills(data, options.times or 10),
        "driver": lambda: driver(data, options.scale, options.times or 20),
        "simulate": lambda: simulate(shape(options.scale, WIDE)),
    }
    size = f"{data.X.shape[0]:,} rows, {data.X.shape[1]:,} features, {len(data.taxonomy.leaves):,} leaves"
    for name in options.what:
        write_results(f"cluster-{name}", rows := work[name](), data=f"generated: {size}", note=NOTES.get(name, ""))
        print_rows(rows)


if __name__ == "__main__":
    main()
