"""TopDown with scikit-learn's LinearSVC at the nodes, beside HiClass with the same, on ICD-10-CM categories.

HiClass is not a dependency: without it (``pip install hiclass``) its row says "not installed".
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.harness import print_rows, write_results
from cladist import TopDown
from cladist.datasets import Dataset, load_icd10cm
from cladist.metrics import accuracy, tree_induced_error


def judged(name: str, data: Dataset, fit_seconds: float, predict: Any) -> dict[str, Any]:
    started = time.perf_counter()
    labels = predict(data.X_test)
    seconds = time.perf_counter() - started
    return {
        "method": name,
        "fit seconds": fit_seconds,
        "predict seconds": seconds,
        "accuracy": accuracy(data.y_test, labels, data.taxonomy),
        "tree-induced error": tree_induced_error(data.y_test, labels, data.taxonomy),
    }


def fitted(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    model.fit(X, y)
    return model, time.perf_counter() - started


def hiclass_row(data: Dataset) -> dict[str, Any]:
    try:
        from hiclass import LocalClassifierPerParentNode
    except ImportError:
        return {"method": "HiClass per parent node, LinearSVC", "fit seconds": "not installed"}
    paths = np.array([data.taxonomy.path(label) for label in data.y_train], dtype=object)
    peer = LocalClassifierPerParentNode(local_classifier=LinearSVC(random_state=0))
    model, seconds = fitted(peer, data.X_train, paths)
    return judged(
        "HiClass per parent node, LinearSVC", data, seconds, lambda rows: model.predict(rows)[:, -1].astype(str)
    )


def main() -> None:
    warnings.simplefilter("ignore")
    data = load_icd10cm(level="category")
    TopDown().fit(np.eye(3), [0, 1, 2])  # compiles, or loads what is compiled
    rows = []
    for name, model in {
        "TopDown, LinearSVC": TopDown(data.taxonomy, estimator=LinearSVC(random_state=0)),
        "TopDown, LinearSVC, 2 threads": TopDown(data.taxonomy, estimator=LinearSVC(random_state=0), n_jobs=2),
        "TopDown, own SVM": TopDown(data.taxonomy),
        "TopDown, own SVM, 2 threads": TopDown(data.taxonomy, n_jobs=2),
    }.items():
        found, seconds = fitted(model, data.X_train, data.y_train)
        rows.append(judged(name, data, seconds, found.predict))
    rows.append(hiclass_row(data))
    print_rows(rows)
    write_results("top-down", rows, data="ICD-10-CM, category level, load_icd10cm's own features for all")


if __name__ == "__main__":
    main()
