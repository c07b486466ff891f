"""Training on packed rows that are larger than the memory allowed: peaks of memory of three learners on 10 GB.

``make FOLDER`` writes the data set: rows of 250 features out of a million, 32 leaves below four nodes, 20 of the 250
features drawn by the leaf. ``fit FOLDER`` trains each learner in a process of its own. ``formula`` puts what the
formula gives into the results anew, after it was changed.

What is resident is read every 20 ms from /proc: memory that only the process can free (`RssAnon`, `RssShmem`), and
pages of files (`RssFile`), which the system drops and reads again as it needs room. On a machine with more memory it
has no need to. With ``--limit-gib`` all pages of the data and of temporary files are therefore dropped, from the
system's cache too (MADV_PAGEOUT, Linux 5.4), whenever more than three quarters of the limit are resident: the learner
then reads them from the disk again, as it would on a machine of that size. Beside the peaks stands the formula of
docs/guides/larger-than-memory.md.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
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
from benchmarks.harness import RESULTS, print_rows, write_results
from cladist.datasets import Dataset, PackedWriter
from cladist.storage.scratch import scratch_in

N_FEATURES, PER_ROW, LEAVES, SIGNAL = 1_000_000, 250, (4, 8), 20
PIECE = 50_000
LEARNERS: dict[str, dict[str, Any]] = {
    "FlatSVM": {"C": 0.1, "tol": 0.1},
    "TopDown": {"C": 0.1, "tol": 0.1},
    "RecursiveSVM": {"C": 0.1, "tol": 0.1, "loss": "squared_hinge", "sharing": 1.0, "max_iter": 3},
}
MADV_PAGEOUT, ROOM = 21, 0.75  # of Linux; and the share of a limit beyond which pages are dropped
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
    """Reads what is resident, keeps the peaks in bytes, and drops pages of files beyond a limit."""

    def __init__(self, folder: Path | None = None, limit: float = np.inf) -> None:
        super().__init__(daemon=True)
        self.peaks = dict.fromkeys(FIELDS, 0)
        self.folder, self.limit, self.times_dropped = folder, limit, 0

    def run(self) -> None:
        """Read until the process ends."""
        while True:
            now = resident()
            self.peaks = {name: max(peak, now[name]) for name, peak in self.peaks.items()}
            if self.folder is not None and now["VmRSS"] > ROOM * self.limit:
                drop_pages(self.folder)
                self.times_dropped += 1
            time.sleep(0.02)


def resident() -> dict[str, int]:
    """Return what is resident of this process, in bytes, by kind."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(fields[name].split()[0]) * 1024 for name in FIELDS}


def drop_pages(folder: Path) -> None:
    """Let the system drop the pages of all files in a folder that this process has mapped."""
    libc = ctypes.CDLL(None, use_errno=True)
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, _, _, _, _, *path = line.split(maxsplit=5)
        if path and path[0].startswith(f"{folder}{os.sep}"):
            start, end = (int(part, 16) for part in span.split("-"))
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_PAGEOUT)


def formula(name: str, n_rows: int, n_features: int, n_jobs: int) -> int:
    """Return the bytes that docs/guides/larger-than-memory.md gives, without the α of RecursiveSVM beyond one copy."""
    n_bytes = n_jobs * (88 * n_rows + 192 * n_features) + (40 + 12 + 4 * len(LEAVES)) * n_rows + 2**29
    if name == "TopDown":
        n_bytes += 16 * len(LEAVES) * n_rows
    if name == "RecursiveSVM":  # the leaves below an inner node share a block
        n_bytes += 64 * n_jobs * n_features + 68 * n_rows * -(-math.prod(LEAVES) // 16)
    return n_bytes


def fit(folder: Path, name: str, n_jobs: int, limit_gib: float) -> dict[str, Any]:
    """Train one learner in this process; return sizes and peaks."""
    folder, limit = folder.absolute(), limit_gib * 2**30
    for path in folder.iterdir():  # what is in memory from writing them would not count for this process
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before, watch = resident(), Watch(folder.parent, limit)
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
    own = sum(watch.peaks[name] - before[name] for name in ("RssAnon", "RssShmem"))
    peaks |= {"own_bytes_of_fit": own, "formula_bytes": formula(name, *data.X.shape, n_jobs)}
    if limit_gib < np.inf:
        peaks |= {"limit_bytes": int(limit), "times_dropped": watch.times_dropped}
    state = {"converged": bool(model.converged_), "passes": int(model.n_iter_), "accuracy_on_training_rows": accuracy}
    return {"method": name, "n_jobs": n_jobs, **LEARNERS[name], **sizes, **peaks, **took, **state}


def run(folder: Path, names: list[str], limit_gib: float, n_jobs: int) -> list[dict[str, Any]]:
    """Train learners one after the other, each in a new process."""
    rows = []
    for name in names:
        called = [sys.executable, "-m", "benchmarks.speed.out_of_core", "one", str(folder), name]
        called += ["--jobs", str(n_jobs), "--limit-gib", str(limit_gib)]
        done = subprocess.run(called, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def write(rows: list[dict[str, Any]]) -> None:
    """Write the results; those of other methods on the same data stay."""
    path, measured = RESULTS / "out-of-core.json", {row["method"] for row in rows}
    others = json.loads(path.read_text())["rows"] if path.exists() else []
    rows += [row for row in others if row["method"] not in measured and row["rows"] == rows[0]["rows"]]
    rows.sort(key=lambda row: list(LEARNERS).index(row["method"]))
    print_rows(rows)
    data = f"{rows[0]['rows']:,} rows with {PER_ROW} of {N_FEATURES:,} features, {math.prod(LEAVES)} leaves"
    write_results("out-of-core", rows, data=data)


def renew_formulas() -> None:
    """Put what the formula gives now into the results."""
    path = RESULTS / "out-of-core.json"
    content = json.loads(path.read_text())
    for row in content["rows"]:
        row["formula_bytes"] = formula(row["method"], row["rows"], N_FEATURES, row.get("n_jobs", 1))
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def main() -> None:
    """Run one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("make", "fit", "one", "formula"))
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("method", nargs="?", choices=tuple(LEARNERS))
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--limit-gib", type=float, default=np.inf)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.step == "make":
        shutil.rmtree(options.folder, ignore_errors=True)
        make(options.folder, options.gigabytes)
    elif options.step == "formula":
        renew_formulas()
    elif options.step == "one":
        print(json.dumps(fit(options.folder, options.method, options.jobs, options.limit_gib)))
    else:
        names = [options.method] if options.method else list(LEARNERS)
        write(run(options.folder, names, options.limit_gib, options.jobs))


if __name__ == "__main__":
    main()
