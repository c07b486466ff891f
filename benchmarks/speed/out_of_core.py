"""Training on packed rows that are larger than the memory allowed: peaks of memory of three learners on 10 GB.

``make FOLDER`` writes the data set: rows of 250 features out of a million, 32 leaves below four nodes, 20 of the 250
features drawn by the leaf. ``fit FOLDER`` trains each learner in a process of its own.

What is resident is read every 50 ms from /proc: memory that only the process can free (`RssAnon`, `RssShmem`), and
pages of files (`RssFile`), which the system drops and reads again as it needs room. With ``--limit-gib`` a memory
cgroup holds the process to this limit, all pages of files that it reads or writes included; Linux with cgroup v1, root.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import cladist
from benchmarks.harness import print_rows, write_results
from cladist.datasets import Dataset, PackedWriter
from cladist.storage.scratch import scratch_in

N_FEATURES, PER_ROW, LEAVES, SIGNAL = 1_000_000, 250, (4, 8), 20
PIECE = 50_000
LEARNERS: dict[str, dict[str, Any]] = {
    "FlatSVM": {"C": 0.1, "tol": 0.1},
    "TopDown": {"C": 0.1, "tol": 0.1},
    "RecursiveSVM": {"C": 0.1, "tol": 0.1, "loss": "squared_hinge", "sharing": 1.0},
}
FIELDS = ("RssAnon", "RssFile", "RssShmem", "VmRSS")


def make(folder: Path, gigabytes: float) -> None:
    """Write rows until their indices and values take this many gigabytes."""
    n_leaves, stratum = LEAVES[0] * LEAVES[1], N_FEATURES // PER_ROW
    n_rows = int(gigabytes * 1e9 / (8 * PER_ROW))
    generator, starts = np.random.default_rng(0), np.arange(PER_ROW) * stratum
    taxonomy = cladist.Taxonomy.from_paths([f"{k // LEAVES[1]}/{k}" for k in range(n_leaves)])
    labels = generator.integers(n_leaves, size=n_rows)
    with PackedWriter(folder, n_features=N_FEATURES) as writer:
        for first in range(0, n_rows, PIECE):
            own = labels[first : first + PIECE, None]
            columns = generator.integers(stratum, size=(len(own), PER_ROW), dtype=np.int32)
            columns[:, :SIGNAL] = columns[:, :SIGNAL] % 20 + 20 * own  # twenty words of each leaf in each stratum
            columns += starts.astype(np.int32)
            values = generator.random(columns.shape, dtype=np.float32) * np.float32(2 / np.sqrt(PER_ROW))
            ends = np.arange(len(own) + 1) * PER_ROW
            X = sparse.csr_array((values.ravel(), columns.ravel(), ends), shape=(len(own), N_FEATURES))
            X.has_sorted_indices = X.has_canonical_format = True
            writer.add(X)
        names = [f"{k // LEAVES[1]}/{k}" for k in range(n_leaves)]
        writer.finish(names, labels, taxonomy=taxonomy, source=f"{gigabytes:g} GB, generated")


class Watch(threading.Thread):
    """Reads every 50 ms what is resident, and keeps the peaks in bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peaks = dict.fromkeys(FIELDS, 0)

    def run(self) -> None:
        """Read until the process ends."""
        while True:
            lines = Path("/proc/self/status").read_text().splitlines()
            for name, value in (line.split(":", 1) for line in lines):
                if name in self.peaks:
                    self.peaks[name] = max(self.peaks[name], int(value.split()[0]) * 1024)
            time.sleep(0.05)


def fit(folder: Path, name: str, n_jobs: int) -> dict[str, Any]:
    """Train one learner in this process; return sizes and peaks."""
    for path in folder.iterdir():  # what is in memory from writing them would not count for this process
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    watch = Watch()
    watch.start()
    started, cpu = time.perf_counter(), time.process_time()
    data = Dataset.open(folder)
    model = getattr(cladist, name)(data.taxonomy, n_jobs=n_jobs, verbose=1, **LEARNERS[name])
    with scratch_in(folder.parent):
        model.fit(data.X, data.y)
    took = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
    sizes = {"rows": data.X.shape[0], "values": int(data.X.nnz), "bytes": 8 * int(data.X.nnz)}
    head = data.X[:2000]
    accuracy = float(np.mean(model.predict(head) == data.y[:2000]))
    peaks = {f"peak_{field}": value for field, value in watch.peaks.items()}
    state = {"converged": bool(model.converged_), "passes": int(model.n_iter_), "accuracy_on_training_rows": accuracy}
    return {"method": name, **LEARNERS[name], **sizes, **peaks, **took, **state}


def limited(limit_gib: float) -> Path:
    """Move this process into a new memory cgroup with a limit; return its folder."""
    own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line)
    group = Path("/sys/fs/cgroup/memory" + own.split(":", 2)[2]) / f"limit-{os.getpid()}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(int(limit_gib * 2**30)))
    (group / "cgroup.procs").write_text(str(os.getpid()))
    return group


def run(folder: Path, names: list[str], limit_gib: float | None, n_jobs: int) -> list[dict[str, Any]]:
    """Train learners one after the other, each in a new process, and in a cgroup if there is a limit."""
    rows = []
    for name in names:
        called = [sys.executable, "-m", "benchmarks.speed.out_of_core", "one", str(folder), name]
        called += ["--jobs", str(n_jobs)] + ([] if limit_gib is None else ["--limit-gib", str(limit_gib)])
        done = subprocess.run(called, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def one(folder: Path, name: str, limit_gib: float | None, n_jobs: int) -> None:
    """Train one learner, within a limit if there is one, and print what it took as JSON."""
    group = None if limit_gib is None else limited(limit_gib)
    row = fit(folder, name, n_jobs)
    if group is not None:
        row |= {"limit_bytes": int((group / "memory.limit_in_bytes").read_text())}
        row |= {"peak_of_cgroup": int((group / "memory.max_usage_in_bytes").read_text())}
        row |= {"times_limit_was_hit": int((group / "memory.failcnt").read_text())}
        (group.parent / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()
    print(json.dumps(row))


def main() -> None:
    """Run one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("make", "fit", "one"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("method", nargs="?", choices=tuple(LEARNERS))
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--limit-gib", type=float)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.step == "make":
        shutil.rmtree(options.folder, ignore_errors=True)
        make(options.folder, options.gigabytes)
    elif options.step == "one":
        one(options.folder, options.method, options.limit_gib, options.jobs)
    else:
        names = [options.method] if options.method else list(LEARNERS)
        rows = run(options.folder, names, options.limit_gib, options.jobs)
        print_rows(rows)
        data = f"{rows[0]['rows']:,} rows with {PER_ROW} of {N_FEATURES:,} features, {LEAVES[0] * LEAVES[1]} leaves"
        write_results("out-of-core", rows, data=data)


if __name__ == "__main__":
    main()
