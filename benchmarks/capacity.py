"""What training costs on one machine: a model of CPU seconds and of memory, checked against runs it was not made from.

Data have the shape of LWIKI (2.4 million rows, 1.6 million features, 325,056 leaves in four levels, about 40 features a
row) at a fraction of its size: rows, features and leaves are all that fraction. Documents are generated.

CPU seconds of a block of sixteen classifiers are a + b · rows + (c + d · log features) · values + e · features, where
rows, values and features are those of its problem: all of them for `FlatSVM`, those of a family for `TopDown`. The
logarithm stands for caches: weights of more features are further away. This was found by trial. A first model without
it, from runs at 1/1000 to 1/200, whose weights all fit into a cache, gave 0.37 of the seconds of `FlatSVM` at 1/10;
with it and runs up to 1/50, 0.63; hence the run at 1/20.

For one visit of `RecursiveSVM` to a block, features count once more for each node above the block that has a vector;
and where several blocks of a round are below a node, the sum of their steps there takes f + g · features for each. The
numbers come from runs at 1/1000 to 1/20; runs at 1/100, 1/30 and 1/10 are predicted. Of `FlatSVM` and `RecursiveSVM`,
some blocks drawn at random are solved, those of `RecursiveSVM` in `SWEEPS` sweeps in rounds of eight, and the others
count as much. Memory is a formula without a number that was fitted, but for the rows of a block that have an α:
a + b · log rows + c · rows.

Each size is measured in a process of its own, three times, of which the fastest counts.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import time
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.harness import in_new_process, print_rows, write_results
from benchmarks.rounds_simulated import record
from benchmarks.speed.out_of_core import Watch, resident
from cladist import RecursiveSVM, TopDown
from cladist.datasets import make_topics
from cladist.labels import encode
from cladist.learners.local.top_down import node_problems
from cladist.linear_model.problem_tree import build_leaf_blocks
from cladist.solvers import OneVsRest, Settings, TrainingRows, solve_one_vs_rest
from cladist.solvers.problem import Targets, members_by_class
from cladist.solvers.tree.joint_dual import JointDual

LWIKI = {"rows": 2_400_000, "features": 1_600_000, "leaves": 325_056}
CALIBRATION, CHECKS = (1000, 700, 500, 300, 200, 150, 70, 50, 20), (100, 30, 10)
TIMES = 3  # that each size is measured
BLOCKS = 12  # of FlatSVM that are solved
SWEEPS, PER_ROUND, ROUNDS = 8, 8, 2  # of RecursiveSVM
WIDTH = 16
# What is predicted, and the sizes that it is a sum of.
MODELS: dict[str, dict[str, tuple[str, ...]]] = {
    "FlatSVM": {"block s": ("one", "rows", "values", "features", "values · log features")},
    "TopDown": {"fit s": ("blocks", "rows", "values", "features", "values · log features")},
    "RecursiveSVM": {
        "visit s": ("one", "rows", "values", "path features", "values · log features"),
        "sum s": ("one", "features"),
        "rows with α": ("one", "log rows", "rows"),
    },
}


def data_at(parts: int) -> Any:
    """Return data of one part of LWIKI's shape."""
    n_leaves = LWIKI["leaves"] // parts
    top = max(2, round(n_leaves ** (1 / 4)))
    branching = (top, top, top, max(2, round(n_leaves / top**3)))
    sizes = {"n_samples": LWIKI["rows"] // parts, "n_features": LWIKI["features"] // parts}
    return make_topics(**sizes, branching=branching, doc_length=43, random_state=parts)


def warm() -> None:
    """Compile kernels, or load them."""
    data = make_topics(n_samples=400, n_features=300, branching=(3, 4, 4, 4), random_state=0)
    TopDown(data.taxonomy, solver="coordinate").fit(data.X, data.y)
    RecursiveSVM(data.taxonomy, loss="hinge", sharing=1.0, solver="coordinate", max_iter=9).fit(data.X, data.y)
    rows = TrainingRows.from_matrix(data.X, constant=True)
    classes = np.unique(data.y, return_inverse=True)[1]
    problem = OneVsRest(rows, members_by_class(classes, 192), "squared_hinge", np.ones((2, 192)))
    solve_one_vs_rest(problem, Settings(solver="coordinate"))


def sizes_of(rows: TrainingRows) -> dict[str, Any]:
    """Return the sizes of which the seconds of a block are a sum."""
    values, features = len(rows.data), int(rows.n_used)
    mixed = values * math.log2(features)
    return {"one": 1, "rows": len(rows), "values": values, "features": features, "values · log features": mixed}


def flat(parts: int) -> dict[str, Any]:
    """Solve some blocks of the flat problem; return the sizes, CPU seconds and the peak of memory."""
    warm()
    data = data_at(parts)
    labels = encode(data.y, data.taxonomy).labels
    targets = Targets.of(labels, all_nodes=False, sets=False)
    ctypes.CDLL(None).malloc_trim(0)  # what the data left free would be used again, and not be seen
    before, watch = resident(), Watch()
    watch.start()
    rows = TrainingRows.from_matrix(data.X, constant=True)
    n_blocks = -(-len(targets.nodes) // WIDTH)
    chosen = np.sort(np.random.default_rng(0).permutation(len(targets.nodes) // WIDTH)[:BLOCKS])
    classes = (chosen[:, None] * WIDTH + np.arange(WIDTH)).ravel()
    starts, members = targets.members
    own = [members[starts[k] : starts[k + 1]] for k in classes]
    some = np.append(0, np.cumsum([len(part) for part in own])), np.concatenate(own)
    problem = OneVsRest(rows, some, "squared_hinge", np.ones((2, len(classes))))
    seconds = []
    for _ in range(TIMES):
        started = time.process_time()
        solution = solve_one_vs_rest(problem, Settings(tol=1e-3, solver="coordinate"))
        seconds.append((time.process_time() - started) / len(chosen))
        passes = float(np.mean([entry["passes"] for entry in solution.history]))
        del solution  # so that two of them never count for the peak
    time.sleep(0.1)  # until the watch has looked again
    sizes = {**sizes_of(rows), "blocks": n_blocks}
    peak = sum(watch.peaks[name] - before[name] for name in ("RssAnon", "RssShmem"))
    formula = flat_bytes(len(rows), len(rows.data), rows.n_used, len(chosen))
    return {**sizes, "block s": min(seconds), "passes": passes, "peak bytes": peak, "formula bytes": formula}


def flat_bytes(n_rows: int, n_values: int, n_features: int, n_blocks: int) -> int:
    """Return the bytes that a flat learner adds to those of its input, with one worker and dense weights.

    Values are held twice, as they come and in a random order. A block has α (64 bytes per row) and W (64 per feature),
    sums in float64 (128 per feature), and lists of rows; 40 bytes per row are its own, whatever the blocks.
    """
    return 16 * n_values + (64 + 24 + 40) * n_rows + (64 + 128) * n_features + 64 * n_features * n_blocks


def top_down(parts: int) -> dict[str, Any]:
    """Train a top-down learner; return the sums of the sizes of its families, and CPU seconds."""
    warm()
    data = data_at(parts)
    nodes = encode(data.y, data.taxonomy).labels.nodes("capacity")
    model = TopDown(data.taxonomy, solver="coordinate")
    seconds = []
    for _ in range(TIMES):
        started = time.process_time()
        model.fit(data.X, data.y)
        seconds.append(time.process_time() - started)
    totals = {"blocks": 0.0, "rows": 0.0, "values": 0.0, "features": 0.0, "values · log features": 0.0}
    lengths = np.diff(data.X.indptr)
    for problem in node_problems(data.taxonomy, nodes):
        if len(problem.children) > 1:
            n_blocks, values = math.ceil(problem.n_problems / WIDTH), int(lengths[problem.rows].sum())
            totals["blocks"] += n_blocks
            totals["rows"] += n_blocks * len(problem.rows)
            totals["values"] += n_blocks * values
            n_features = len(np.unique(data.X[problem.rows].indices))
            totals["features"] += n_blocks * n_features
            totals["values · log features"] += n_blocks * values * math.log2(n_features)
    return {**totals, "fit s": min(seconds)}


def recursive(parts: int) -> dict[str, Any]:
    """Visit some blocks of the joint problem in a few sweeps, the others at 0; return sizes and CPU seconds."""
    warm()
    data = data_at(parts)
    model = RecursiveSVM(data.taxonomy, loss="hinge", sharing=1.0)
    problem = model.prepare(*model.validate_weighted(data.X, data.y, None))
    assert model._coupling is not None
    layout = build_leaf_blocks(model._coupling.tree, "zero")
    reordered = problem.reorder(np.random.default_rng(1).permutation(len(problem.rows)))
    chosen = np.random.default_rng(0).permutation(len(layout.blocks))[: PER_ROUND * ROUNDS].tolist()
    eps, visits, sums = problem.surrogate.first_violation(1.0), [], []
    for _ in range(TIMES):
        joint = JointDual(reordered, layout)
        with record() as log:
            for sweep in range(SWEEPS):
                joint.sweep(sweep, [chosen[first::ROUNDS] for first in range(ROUNDS)], eps)
        moves = sum(sum(r.visits.values()) + sum(r.moves.values()) for r in log.rounds)
        visits.append(moves / (SWEEPS * len(chosen)))
        sums.append(sum(sum(r.sums.values()) for r in log.rounds) / sum(r.terms for r in log.rounds))
    rows, above = joint.rows, float(np.mean([len(block.stored) for block in layout.blocks]))
    return {
        **sizes_of(rows), "log rows": math.log2(len(rows)), "path features": rows.n_used * (1 + above),
        "nodes above a block": above, "blocks": len(layout.blocks),
        "nodes with a vector": len(layout.stored_nodes), "visit s": min(visits), "sum s": min(sums),
        "rows with α": float(np.mean([len(joint.states[b].alphas.rows) for b in chosen])),
    }  # fmt: skip


def measured(method: str, parts: int) -> dict[str, Any]:
    """Return what a new process measured."""
    function = {"FlatSVM": "flat", "TopDown": "top_down", "RecursiveSVM": "recursive"}[method]
    return dict(in_new_process(f"benchmarks.capacity:{function}", parts))


def fitted(rows: list[dict[str, Any]], name: str, terms: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Return the numbers, none negative, of least relative error."""
    matrix = np.array([[row[term] / row[name] for term in terms] for row in rows])
    scale = matrix.max(axis=0)
    return nnls(matrix / scale, np.ones(len(rows)))[0] / scale


def compared(method: str, runs: dict[int, dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return what was measured beside what is predicted, and the numbers of the model."""
    found, numbers = [], {}
    for name, terms in MODELS[method].items():
        factors = fitted([runs[parts] for parts in CALIBRATION], name, terms)
        numbers[name] = dict(zip(terms, factors.tolist(), strict=True))
        for parts, run in runs.items():
            predicted = float(np.dot(factors, [run[term] for term in terms]))
            found.append(_line(method, parts, name, run[name], predicted))
    for parts, run in runs.items() if method == "FlatSVM" else ():
        found.append(_line(method, parts, "peak bytes", run["peak bytes"], run["formula bytes"]))
    return found, numbers


def _line(method: str, parts: int, name: str, value: float, predicted: float) -> dict[str, Any]:
    kind = "calibration" if parts in CALIBRATION else "held out"
    line = {"method": method, "parts": parts, "kind": kind, "what": name, "measured": value, "predicted": predicted}
    return {**line, "ratio": predicted / value}


def main() -> None:
    """Calibrate, predict, measure and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checks", default=",".join(map(str, CHECKS)))
    parser.add_argument("--methods", default=",".join(MODELS))
    options = parser.parse_args()
    checks = [int(part) for part in options.checks.split(",")]
    rows, numbers, sizes = [], {}, {}
    for method in options.methods.split(","):
        runs: dict[int, dict[str, Any]] = {}
        for parts in (*CALIBRATION, *checks):
            runs[parts] = measured(method, parts)
            print(method, parts, runs[parts], flush=True)
        found, numbers[method] = compared(method, runs)
        sizes[method] = {str(parts): run for parts, run in runs.items()}
        rows += found
        print_rows(found)
    write_results("capacity", rows, numbers=numbers, sizes=sizes, data="generated, shape of LWIKI")


if __name__ == "__main__":
    main()
