"""The cost of ``C="cv"`` and the quality of its choice: CPU seconds beside one fit at the C chosen.

``python -m benchmarks.selection [SET ...]`` writes ``results/selection.json``. Test rows are for the last column only.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.harness import print_rows, write_results
from cladist import FlatLogistic, FlatSVM, RecursiveLogistic, RecursiveSVM, TopDown
from cladist.datasets import (
    Dataset,
    load_enron,
    load_genes_fun,
    load_imclef07a,
    load_naics2017,
    load_news20,
)
from cladist.datasets.dataset import take_rows
from cladist.features import text_features
from cladist.metrics import scorers

FLAT: dict[str, dict[str, Any]] = {"FlatSVM": {}, "FlatLogistic": {}, "TopDown": {}}
JOINT: dict[str, dict[str, Any]] = {"RecursiveSVM": {"sharing": 1}, "RecursiveLogistic": {"sharing": 1}}
BOTH = {"RecursiveSVM": {"sharing": "cv"}, "RecursiveLogistic": {"sharing": "cv"}}
LEARNERS = {cls.__name__: cls for cls in (FlatSVM, FlatLogistic, TopDown, RecursiveSVM, RecursiveLogistic)}
SETS: dict[str, Callable[[], Dataset]] = {
    "enron": load_enron,
    "genes_fun": load_genes_fun,
    "imclef07a": load_imclef07a,
    "naics2017": load_naics2017,
    "news20": load_news20,
}
SCALED = {"imclef07a", "genes_fun"}  # numeric tables, whose columns are standardised


def rows_of(name: str, loaded: Dataset | None = None) -> tuple[Any, Any, Any, Any, Any]:
    """Return training rows and labels, test rows and labels, and the taxonomy; a quarter is held out if need be."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    data = SETS[name]() if loaded is None else loaded
    data = data if data.is_split else data.split(0.25, random_state=0)
    train, test = data.X_train, data.X_test
    if len(train.shape) == 1:
        features = text_features().fit(train)
        train, test = features.transform(train), features.transform(test)
    elif name in SCALED:
        scaler = make_pipeline(SimpleImputer(), StandardScaler()).fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
    return train, data.y_train, test, data.y_test, data.taxonomy


def measure(name: str, learner: str, options: dict[str, Any], rows: tuple[Any, Any, Any, Any, Any]) -> dict[str, Any]:
    """Return the cost of a search and of one fit at what it chose, and how good that is."""
    X, y, X_test, y_test, taxonomy = rows
    make = LEARNERS[learner]
    first = slice(0, 300)
    make(taxonomy, C=0.1, **options).fit(X[first], take_rows(y, range(300)))  # compiles
    start = time.process_time()
    model = make(taxonomy, C="cv", **options).fit(X, y)
    search_seconds, start = time.process_time() - start, time.process_time()
    make(taxonomy, C=model.C_, **dict.fromkeys(options, getattr(model, "sharing_", None))).fit(X, y)
    seconds = time.process_time() - start
    scorer = scorers.average_precision if model.decodes_sets else scorers.accuracy
    return {
        "data": name,
        "learner": learner,
        "options": " ".join(f"{key}={value}" for key, value in options.items()),
        "C": model.C_,
        "sharing": getattr(model, "sharing_", None),
        "tried": len(model.cv_results_),
        "search and fit, CPU s": round(search_seconds, 2),
        "fit, CPU s": round(seconds, 2),
        "ratio": round(search_seconds / seconds, 2),
        "test accuracy or average precision": round(scorer(model, X_test, y_test), 4),
    }


def main(names: list[str]) -> None:
    """Measure all learners on some data sets."""
    found = []
    for name in names or SETS:
        rows = rows_of(name)
        is_single = not isinstance(rows[1][0], (set, frozenset, list))
        for plan in (FLAT, JOINT, BOTH if is_single else {}):
            for learner, options in plan.items():
                if learner == "TopDown" and not is_single:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found.append(measure(name, learner, options, rows))
                print(found[-1], flush=True)
                write_results("selection", found, quiet=True, data=", ".join(names or SETS))
    print_rows(found)


if __name__ == "__main__":
    main(sys.argv[1:])
