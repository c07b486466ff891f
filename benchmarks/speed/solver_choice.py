"""The solver chosen by `solver="auto"` beside both it chooses from: CPU seconds on generated shapes.

    python benchmarks/speed/solver_choice.py --seed 4

Shapes are drawn at random: rows 500–50,000, features 20–50,000, dense and sparse, classes 5–1,000, rows of unit
length, standardised or of different scales, C 0.1–100. Every fit runs in a process of its own on one thread, the three
solvers in turn, twice, and the least time counts; a fit that exceeds the limit of CPU time is stopped there.
Newton steps that do not fit into memory are left out. Then dense rows of unit length, 6,000 × 300 with 114 classes,
beside scikit-learn's LogisticRegression. Writes solver-choice.json. With `--kept FILE`, rows are kept there as they are
measured, and a run that was interrupted goes on from them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
import warnings
from pathlib import Path
from queue import Empty
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.harness import print_rows, write_results
from cladist import FlatLogistic, FlatSVM, RecursiveLogistic, RecursiveSVM, Taxonomy, TopDown
from cladist.errors import TooLargeError

LEARNERS: dict[str, Any] = {
    "FlatSVM": lambda tree, **given: FlatSVM(tree, **given),
    "FlatSVM hinge": lambda tree, **given: FlatSVM(tree, loss="hinge", **given),
    "FlatLogistic": lambda tree, **given: FlatLogistic(tree, **given),
    "TopDown": lambda tree, **given: TopDown(tree, **given),
    "RecursiveSVM": lambda tree, **given: RecursiveSVM(tree, sharing=1, **given),
    "RecursiveLogistic": lambda tree, **given: RecursiveLogistic(tree, sharing=1, **given),
}
SOLVERS = ("auto", "coordinate", "newton")
MOST_PRODUCTS = 1.5e11  # classes × rows × features² of dense shapes, so that Newton steps end


def draw_shapes(n_shapes: int, seed: int) -> list[dict[str, Any]]:
    """Return shapes drawn at random, a fifth of them sparse."""
    random, shapes = np.random.default_rng(seed), []
    while len(shapes) < n_shapes:
        is_sparse = len(shapes) % 5 == 4
        n_rows, n_classes = (int(np.exp(random.uniform(*np.log(ends)))) for ends in ((500, 50_000), (5, 1000)))
        n_features = int(np.exp(random.uniform(*np.log((2000, 50_000) if is_sparse else (20, 1000)))))
        lengths = "sparse" if is_sparse else str(random.choice(["unit", "standardised", "scales"], p=[0.4, 0.4, 0.2]))
        shape = {
            "rows": n_rows,
            "features": n_features,
            "classes": n_classes,
            "lengths": lengths,
            "C": float(10.0 ** random.integers(-1, 3)),
            "learner": list(LEARNERS)[len(shapes) % len(LEARNERS)],
        }
        fits = (is_sparse and n_rows * n_classes <= 5e6) or n_rows * n_features <= 2e7
        small = is_sparse or n_classes * n_rows * n_features**2 <= MOST_PRODUCTS
        if n_rows >= 5 * n_classes and fits and small:
            shapes.append(shape)
    return shapes


def make_rows(shape: dict[str, Any], seed: int) -> tuple[Any, Any, Taxonomy]:
    """Return rows around the means of their classes, which lie around those of groups, labels, and the tree."""
    random, n_classes = np.random.default_rng(seed), shape["classes"]
    group_size = max(2, round(n_classes**0.5))
    y = random.permutation(np.arange(shape["rows"]) % n_classes)
    tree = Taxonomy.from_paths([f"g{k // group_size}/c{k}" for k in range(n_classes)])
    d = shape["features"]
    if shape["lengths"] == "sparse":
        rows = [_sparse_row(random, int(k), int(k) // group_size, d) for k in y]
        X: Any = sparse.csr_array(sparse.vstack(rows), dtype=np.float32)
        return X, np.array([f"c{k}" for k in y]), tree
    groups = random.normal(size=(n_classes // group_size + 1, d))
    means = groups[np.arange(n_classes) // group_size] + 0.7 * random.normal(size=(n_classes, d))
    spectrum = 1 / np.sqrt(1 + 8 * np.arange(d) / d)
    X = (means[y] / 2 + 1.5 * random.normal(size=(len(y), d))) * spectrum
    X = X @ np.linalg.qr(random.normal(size=(d, d)))[0]
    if shape["lengths"] == "unit":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    else:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    if shape["lengths"] == "scales":
        X *= np.exp(1.5 * random.normal(size=d))
    return X.astype(np.float32), np.array([f"c{k}" for k in y]), tree


def _sparse_row(random: Any, label: int, group: int, n_features: int) -> Any:
    """Return a text-like row of unit length: words of its class, of its group, and any."""
    words = np.unique(np.concatenate([
        (label * 7919 + random.integers(0, 30, 6)) % n_features,
        (group * 104_729 + random.integers(0, 200, 8)) % n_features,
        np.minimum(random.zipf(1.3, 30), n_features) - 1,
    ]))  # fmt: skip
    values = random.random(len(words)) + 0.5
    return sparse.csr_array((values / np.linalg.norm(values), words, [0, len(words)]), shape=(1, n_features))


# ---------------------------------------------------------------- measurement


def fit_seconds(make: Any, X: Any, y: Any, limit: float) -> float:
    """Return the CPU seconds of a fit in a process of its own; the limit if it takes longer, ∞ if it is refused."""

    def run() -> None:
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit),) * 2)  # ends the process; other work does not count
        started = time.process_time()
        try:
            with threadpool_limits(1):
                make().fit(X, y)
        except TooLargeError:
            answers.put(np.inf)
        else:
            answers.put(time.process_time() - started)

    context = multiprocessing.get_context("fork")  # so that kernels are compiled once
    answers = context.Queue()
    process = context.Process(target=run)
    process.start()
    try:
        while True:
            ended = not process.is_alive()
            try:
                return float(answers.get(timeout=1))
            except Empty:
                if ended:
                    return limit
    finally:
        process.kill()
        process.join()


def compile_kernels() -> None:
    """Fit everything once to little data, so that compilation is not measured."""
    for C, lengths in ((1.0, "standardised"), (1.0, "sparse"), (1000.0, "standardised")):
        shape = {"rows": 400, "features": 30, "classes": 20, "lengths": lengths}
        X, y, tree = make_rows(shape, 0)
        for make in LEARNERS.values():
            for solver in ("coordinate", "newton"):
                make(tree, C=C, solver=solver, max_iter=20).fit(X, y)


def measure_shape(shape: dict[str, Any], seed: int, limit: float) -> dict[str, Any]:
    """Return the least CPU seconds of each solver of two, and the ratio of the chosen one to the better."""
    X, y, tree = make_rows(shape, seed)
    make = LEARNERS[shape["learner"]]
    least = dict.fromkeys(SOLVERS, np.inf)
    for _ in range(2):
        for solver in SOLVERS:
            if least[solver] < limit / 3 or least[solver] == np.inf:
                seconds = fit_seconds(lambda solver=solver: make(tree, C=shape["C"], solver=solver), X, y, limit)
                least[solver] = min(least[solver], seconds)
    ratio = least["auto"] / min(least["coordinate"], least["newton"])
    return {**shape, **{k: None if v == np.inf else round(v, 3) for k, v in least.items()}, "ratio": round(ratio, 3)}


def measure_peers(limit: float) -> list[dict[str, Any]]:
    """Return the CPU seconds of learners and of scikit-learn on dense rows of unit length."""
    shape = {"rows": 6000, "features": 300, "classes": 114, "lengths": "unit"}
    X, y, tree = make_rows(shape, 1)
    peer = min(fit_seconds(lambda: LogisticRegression(max_iter=1000), X, y, limit) for _ in range(2))
    rows = [{**shape, "learner": "scikit-learn LogisticRegression (lbfgs)", "auto": round(peer, 3), "ratio": 1.0}]
    for name in ("FlatSVM", "TopDown", "RecursiveLogistic", "RecursiveSVM"):
        ours = min(fit_seconds(lambda name=name: LEARNERS[name](tree), X, y, limit) for _ in range(2))
        rows.append({**shape, "learner": name, "auto": round(ours, 3), "ratio": round(ours / peer, 3)})
    return rows


def main() -> None:
    """Measure all shapes, print and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", type=int, default=42)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=15.0, help="CPU seconds")
    parser.add_argument("--kept", type=Path, help="a file of rows measured so far")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    compile_kernels()
    kept = (
        [json.loads(line) for line in given.kept.read_text().splitlines()] if given.kept and given.kept.exists() else []
    )
    peers, rows = measure_peers(60.0), []
    print_rows(peers)
    for shape in draw_shapes(given.shapes, given.seed):
        row = next((row for row in kept if shape.items() <= row.items()), None)
        rows.append(row or measure_shape(shape, given.seed, given.limit))
        print_rows(rows[-1:])
        if given.kept and row is None:
            with given.kept.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    ratios = [row["ratio"] for row in rows]
    facts = {"median_ratio": float(np.median(ratios)), "largest_ratio": float(np.max(ratios)), "peers": peers}
    write_results("solver-choice", rows, limit_seconds=given.limit, seed=given.seed, **facts)


if __name__ == "__main__":
    main()
