"""What training costs on one machine: a model of CPU seconds and of memory, checked against runs it was not made from.

Data have the shape of LWIKI (2.4 million rows, 1.6 million features, 325,056 leaves in four levels, about 40 features a
row) at a fraction of its size: rows, features and leaves are all that fraction. Documents are generated.

CPU seconds of a block of sixteen classifiers are a + b · rows + c · values + d · features, where rows, values and
features are those of its problem: all of them for `FlatSVM`, those of a family for `TopDown`. The four numbers come
from runs at 1/1000 to 1/200; runs at 1/100, 1/30 and 1/10 are predicted. Of a flat learner, some blocks drawn at random
are solved, and the others count as much. Memory is a formula without a number that was fitted.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.harness import in_new_process, print_rows, write_results
from benchmarks.speed.out_of_core import Watch
from cladist import TopDown
from cladist.datasets import make_topics
from cladist.labels import encode
from cladist.learners.local.top_down import node_problems
from cladist.solvers import OneVsRest, Settings, TrainingRows, solve_one_vs_rest
from cladist.solvers.problem import Targets, members_by_class

LWIKI = {"rows": 2_400_000, "features": 1_600_000, "leaves": 325_056}
CALIBRATION, CHECKS = (1000, 700, 500, 300, 200), (100, 30, 10)
BLOCKS = 12  # of a flat learner that are solved
WIDTH = 16


def data_at(parts: int) -> Any:
    """Return data of one part of LWIKI's shape."""
    n_leaves = LWIKI["leaves"] // parts
    top = max(2, round(n_leaves ** (1 / 4)))
    branching = (top, top, top, max(2, round(n_leaves / top**3)))
    sizes = {"n_samples": LWIKI["rows"] // parts, "n_features": LWIKI["features"] // parts}
    return make_topics(**sizes, branching=branching, doc_length=60, random_state=parts)


def warm() -> None:
    """Compile kernels, or load them."""
    data = make_topics(n_samples=400, n_features=300, branching=(3, 4, 4, 4), random_state=0)
    TopDown(data.taxonomy, solver="coordinate").fit(data.X, data.y)
    rows = TrainingRows.from_matrix(data.X, constant=True)
    classes = np.unique(data.y, return_inverse=True)[1]
    problem = OneVsRest(rows, members_by_class(classes, 192), "squared_hinge", np.ones((2, 192)))
    solve_one_vs_rest(problem, Settings(solver="coordinate"))


def flat(parts: int) -> dict[str, Any]:
    """Solve some blocks of the flat problem; return the sizes, CPU seconds and the peak of memory."""
    warm()
    data = data_at(parts)
    labels = encode(data.y, data.taxonomy).labels
    targets = Targets.of(labels, all_nodes=False, sets=False)
    before, watch = resident(), Watch()
    watch.start()
    started = time.process_time()
    rows = TrainingRows.from_matrix(data.X, constant=True)
    prepared = time.process_time() - started
    n_blocks = len(targets.nodes) // WIDTH
    chosen = np.sort(np.random.default_rng(0).permutation(n_blocks)[:BLOCKS])
    classes = (chosen[:, None] * WIDTH + np.arange(WIDTH)).ravel()
    starts, members = targets.members
    own = [members[starts[k] : starts[k + 1]] for k in classes]
    some = np.append(0, np.cumsum([len(part) for part in own])), np.concatenate(own)
    problem = OneVsRest(rows, some, "squared_hinge", np.ones((2, len(classes))))
    started = time.process_time()
    solve_one_vs_rest(problem, Settings(tol=1e-3, solver="coordinate"))
    seconds = (time.process_time() - started) / len(chosen)
    time.sleep(0.1)
    sizes = {"rows": len(rows), "values": len(rows.data), "features": int(rows.n_used), "blocks": n_blocks}
    peak = watch.peaks["RssAnon"] + watch.peaks["RssShmem"] - before
    held = flat_bytes(len(rows), len(rows.data), rows.n_used, len(chosen))
    return {
        "method": "FlatSVM",
        "parts": parts,
        **sizes,
        "prepare": prepared,
        "block": seconds,
        "peak": peak,
        "formula": held,
    }


def top_down(parts: int) -> dict[str, Any]:
    """Train a top-down learner; return the sums of the sizes of its families, and CPU seconds."""
    warm()
    data = data_at(parts)
    nodes = encode(data.y, data.taxonomy).labels.nodes("capacity")
    model = TopDown(data.taxonomy, solver="coordinate")
    started = time.process_time()
    model.fit(data.X, data.y)
    seconds = time.process_time() - started
    totals = {"blocks": 0, "rows": 0, "values": 0, "features": 0}
    lengths = np.diff(data.X.indptr)
    for problem in node_problems(data.taxonomy, nodes):
        if len(problem.children) > 1:
            n_blocks, values = math.ceil(problem.n_problems / WIDTH), int(lengths[problem.rows].sum())
            totals["blocks"] += n_blocks
            totals["rows"] += n_blocks * len(problem.rows)
            totals["values"] += n_blocks * values
            totals["features"] += n_blocks * len(np.unique(data.X[problem.rows].indices))
    return {"method": "TopDown", "parts": parts, **totals, "seconds": seconds}


def flat_bytes(n_rows: int, n_values: int, n_features: int, n_blocks: int) -> int:
    """Return the bytes that a flat learner adds to those of its input, with one worker and dense weights.

    Values are held twice, as they come and in a random order. A block has α (64 bytes per row) and W (64 per feature),
    sums in float64 (128 per feature), and lists of rows; 40 bytes per row are its own, whatever the blocks.
    """
    return 16 * n_values + (64 + 24 + 40) * n_rows + (64 + 128) * n_features + 64 * n_features * n_blocks


def resident() -> int:
    """Return the bytes that only this process can free."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return sum(int(fields[name].split()[0]) * 1024 for name in ("RssAnon", "RssShmem"))


def terms(row: dict[str, Any], *, of_blocks: bool) -> list[float]:
    """Return what the four numbers are multiplied by: for one block, or for sums over all of them."""
    return [row["blocks"] if of_blocks else 1.0, row["rows"], row["values"], row["features"]]


def fitted(rows: list[dict[str, Any]], name: str, *, of_blocks: bool) -> np.ndarray[Any, Any]:
    """Return the four numbers of least relative error."""
    matrix = np.array([terms(row, of_blocks=of_blocks) for row in rows]) / np.array([[row[name]] for row in rows])
    scale = matrix.max(axis=0)
    return nnls(matrix / scale, np.ones(len(rows)))[0] / scale


def main() -> None:
    """Calibrate, predict, measure and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", default=",".join(map(str, CHECKS)))
    parser.add_argument("--methods", default="FlatSVM,TopDown")
    options = parser.parse_args()
    checks = [int(part) for part in options.checks.split(",")]
    steps = {"FlatSVM": ("flat", "block", False), "TopDown": ("top_down", "seconds", True)}
    compared, numbers = [], {}
    for method in options.methods.split(","):
        measure, name, of_blocks = steps[method]
        measured = {parts: in_new_process(f"benchmarks.capacity:{measure}", parts) for parts in (*CALIBRATION, *checks)}
        found = fitted([measured[parts] for parts in CALIBRATION], name, of_blocks=of_blocks)
        numbers[method] = dict(zip(("block", "row", "value", "feature"), found.tolist(), strict=True))
        for parts, row in measured.items():
            predicted = float(np.dot(found, terms(row, of_blocks=of_blocks)))
            kind = "calibration" if parts in CALIBRATION else "held out"
            compared.append({**row, "kind": kind, "predicted": predicted, "ratio": predicted / row[name]})
            if "peak" in row:
                compared[-1]["memory_ratio"] = row["formula"] / row["peak"]
            print_rows(compared[-1:])
    write_results("capacity", compared, numbers=numbers, data="generated, shape of LWIKI")


if __name__ == "__main__":
    main()
