"""Dense and mixed rows: CPU time, memory and accuracy beside scikit-learn, on rows like embeddings.

Rows are generated: each node of a three-level tree has a vector near its parent's, rows are leaves' vectors with noise,
in features of falling size with a common mean, scaled to length 1. Peers train on the same rows in float32. Mixed rows
have 20,000 sparse columns beside the dense ones; "times the sum" is their CPU time divided by that of both alone.
With ``--full`` also 100,000 rows × 256 with 10,000 leaves, RecursiveSVM with two threads, which takes long. ``--only
NAME`` runs one part, "peers", "mixed", "eighth" (of the full rows × leaves) or "full", ``--method NAME`` one method;
other rows of the results stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier

from benchmarks.harness import RESULTS, in_new_process, peak_memory, print_rows, write_results
from cladist import FlatLogistic, FlatSVM, Hieron, MixedRows, RecursiveLogistic, RecursiveSVM, Taxonomy, TopDown
from cladist.datasets import make_topics

N_TEST = 5_000
SIZES = {
    "peers": (10_000, 256, (5, 5, 8)),
    "mixed": (6_000, 256, (4, 8, 8)),
    "eighth": (40_000, 256, (8, 16, 25)),
    "full": (100_000, 256, (10, 20, 50)),
}
NOISE, SPECTRUM, MEAN = 5.0, -0.25, 1.0  # standard deviation of rows around leaves; size of feature j: j^SPECTRUM

THREADS = {("full", "RecursiveSVM"): 2}  # other methods have one
METHODS: dict[str, Any] = {
    "TopDown": lambda tree: TopDown(tree),
    "FlatSVM": lambda tree: FlatSVM(tree),
    "FlatLogistic": lambda tree: FlatLogistic(tree, tol=1e-2),
    "RecursiveSVM": lambda tree: RecursiveSVM(tree, loss="squared_hinge", tol=1e-2, sharing=1),
    "RecursiveLogistic": lambda tree: RecursiveLogistic(tree, tol=1e-2, sharing=1),
    "Hieron": lambda tree: Hieron(tree, random_state=0),
    "scikit-learn LogisticRegression": lambda tree: LogisticRegression(max_iter=100),
    "scikit-learn RidgeClassifier": lambda tree: RidgeClassifier(),
    "scikit-learn SGDClassifier": lambda tree: SGDClassifier(random_state=0),
}
OF_PART = {
    "peers": list(METHODS),
    "mixed": ["TopDown", "FlatSVM", "RecursiveSVM"],
    "eighth": ["TopDown", "RecursiveSVM"],
    "full": ["TopDown", "RecursiveSVM"],
}


def embeddings(leaves: Any, n_features: int, branching: tuple[int, ...], seed: int = 0) -> Any:
    """Return rows like embeddings, given the leaf of each."""
    random = np.random.default_rng(seed)
    vectors = np.zeros((1, n_features), np.float32)
    for children in branching:
        vectors = np.repeat(vectors, children, axis=0)
        vectors += random.standard_normal(vectors.shape, np.float32)
    X = random.standard_normal((len(leaves), n_features), np.float32)
    X *= NOISE
    X += vectors[leaves]
    X *= (np.arange(1, n_features + 1) ** SPECTRUM).astype(np.float32)
    X += MEAN * random.standard_normal(n_features, np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X


def tree_of(branching: tuple[int, ...]) -> tuple[Taxonomy, Any]:
    """Return a tree and the names of its leaves."""
    paths = [""]
    for children in branching:
        paths = [f"{path}/n{k}".strip("/") for path in paths for k in range(children)]
    taxonomy = Taxonomy.from_paths(paths)
    return taxonomy, np.array(paths)


def problem(part: str, kind: str) -> tuple[Taxonomy, Any, Any, Any, Any]:
    """Return a tree, and rows and labels to train and to test on; `kind` is "dense", "sparse" or "mixed"."""
    n_rows, n_features, branching = SIZES[part]
    n = n_rows + N_TEST
    if part == "mixed":
        data = make_topics(n_samples=n, n_features=20_000, branching=branching, random_state=0)
        taxonomy, y = data.taxonomy, np.asarray(data.y)
        leaves = np.unique(y, return_inverse=True)[1]
        words = data.X.astype(np.float32)
        X = {"sparse": words, "dense": None, "mixed": words}[kind]
        if kind != "sparse":
            dense = embeddings(leaves, n_features, branching)
            X = dense if kind == "dense" else MixedRows([words, dense])
    else:
        taxonomy, names = tree_of(branching)
        leaves = np.random.default_rng(1).permutation(np.arange(n) % len(names))
        X, y = embeddings(leaves, n_features, branching), names[leaves]
    return taxonomy, X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def fit_one(part: str, kind: str, method: str) -> dict[str, Any]:
    """Return the CPU seconds, memory and accuracy of one method; compilation is not counted."""
    warnings.simplefilter("ignore")
    taxonomy, X, y, X_test, y_test = problem(part, kind)
    if not method.startswith("scikit"):
        few = np.arange(2_000)
        METHODS[method](taxonomy).fit(X[few], y[few]).predict(X[few])
    model, before = METHODS[method](taxonomy), peak_memory()
    threads = THREADS.get((part, method), 1)
    if threads > 1:
        model.set_params(n_jobs=threads)
    cpu, started = time.process_time(), time.perf_counter()
    model.fit(X, y)
    row = {
        "part": part,
        "rows": f"{X.shape[0]:,} × {X.shape[1]:,}, {kind}",
        "leaves": len(np.unique(y)),
        "method": method,
        "threads": threads,
        "CPU seconds": time.process_time() - cpu,
        "seconds": time.perf_counter() - started,
        "peak GiB": peak_memory() / 2**30,
        "before fit GiB": before / 2**30,
        "accuracy": float(model.score(X_test, y_test)),
    }
    history = getattr(model, "history_", [{}])[-1]
    return row | ({"gap": history["gap"]} if "gap" in history else {})


def measure(part: str, methods: list[str]) -> list[dict[str, Any]]:
    """Return the rows of some methods of one part."""
    rows = []
    for method in methods:
        kinds = ("sparse", "dense", "mixed") if part == "mixed" else ("dense",)
        found = [in_new_process("benchmarks.speed.dense:fit_one", part, kind, method) for kind in kinds]
        if part == "mixed":
            alone, together = sum(row["CPU seconds"] for row in found[:2]), found[2]["CPU seconds"]
            found[2]["times the sum"] = together / alone
        rows += found
        print_rows(found)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", choices=list(SIZES))
    parser.add_argument("--method", choices=list(METHODS))
    options = parser.parse_args()
    parts = [options.only] if options.only else ["peers", "mixed", "eighth", *(["full"] if options.full else [])]
    path = RESULTS / "dense.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    for part in parts:
        methods = [options.method] if options.method else OF_PART[part]
        measured = measure(part, methods)
        rows = [row for row in rows if row["part"] != part or row["method"] not in methods] + measured
        write_results("dense", rows, data="generated rows like embeddings, see the script", noise=NOISE, quiet=True)
    print_rows(rows)


if __name__ == "__main__":
    main()
