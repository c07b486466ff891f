"""Hieron on ICD-10-CM at category level: rounds a second and peak memory, each run in a process of its own.

Targets: 5,000 rounds a second; peak memory beside the data below 2.2 × (weights + data) averaged, 1.2 × online.
The peer is scikit-learn's SGDClassifier, a pass over the same rows with one class a leaf.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import in_new_process, peak_memory, print_rows, write_results

RUNS = ("batch, averaged", "online (partial_fit)", "flat, averaged", "SGDClassifier, one epoch")


def measure(run: str) -> dict[str, Any]:
    """Return rounds a second and memory of one run."""
    import numpy as np
    from sklearn.linear_model import SGDClassifier

    from cladist import Hieron
    from cladist.datasets import load_icd10cm

    data = load_icd10cm(level="category")
    X, y = data.X_train, data.y_train
    warm = Hieron(data.taxonomy, random_state=0)
    warm.fit(X[:10], y[:10])  # compiles, or loads what is compiled
    warm.partial_fit(X[:10], y[:10])
    taxonomy = data.taxonomy.flattened() if run.startswith("flat") else data.taxonomy
    model: Any = Hieron(taxonomy, random_state=0)
    if run.startswith("SGD"):
        model = SGDClassifier(max_iter=1, tol=None, random_state=0)
    del warm
    before = peak_memory()
    started = time.perf_counter()
    if run.startswith("online"):
        model.partial_fit(X, y)
    else:
        model.fit(X, y)
    seconds = time.perf_counter() - started
    data_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    weight_bytes = (X.shape[1] * taxonomy.n_nodes if isinstance(model, Hieron) else model.coef_.size * 2) * 4
    grown = peak_memory() - before
    return {
        "run": run,
        "rows a second": X.shape[0] / seconds,
        "seconds": seconds,
        "weights MB": weight_bytes / 1e6,
        "data MB": data_bytes / 1e6,
        "peak growth MB": grown / 1e6,
        "(growth + data) / (weights + data)": (grown + data_bytes) / (weight_bytes + data_bytes),
        "accuracy": float(np.mean(model.predict(data.X_test) == data.y_test)),
    }


def main() -> None:
    rows = [in_new_process("benchmarks.speed.hieron:measure", run) for run in RUNS]
    for row in rows:
        row["ratio to peer"] = rows[-1]["seconds"] / row["seconds"]
    print_rows(rows)
    write_results("hieron-speed", rows, data="ICD-10-CM, category level: 98,225 rows, 1,918 categories")


if __name__ == "__main__":
    main()
