"""Every method with its defaults beside the same method with parameters chosen on the training rows.

Parameters are chosen one after the other, each with those chosen before it, by the mean score over two folds of the
training rows; of equals, the first. Scores of the table are on test rows, which nothing was chosen on: accuracy where
rows have one label, micro-F1 over all nodes where they have sets. Columns of numbers are standardised, and so are those
of the test rows with the means of the training rows. ``python benchmarks/defaults.py [method or data set …]``
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from benchmarks.choosing import Stages
from benchmarks.harness import RESULTS, print_rows, write_results
from cladist import datasets
from cladist.datasets.dataset import take_rows
from cladist.errors import CladistError
from cladist.metrics import micro_f1
from cladist.registry import METHODS

NAME, MEASURE = "defaults", "accuracy in %, for enron micro-F1 over all nodes in %"
TRAINING_ROWS, TEST_ROWS, FOLDS = 1500, 2000, 2
POINTS = 2.0  # a default that is further behind is explained in the docs
OF_C: Stages = {"C": (1.0, 0.01, 0.1, 10.0)}
OF_ROUNDS: Stages = {
    "max_iter": ("auto", None, 20_000),
    "fit_intercept": (True, False),
    "step": ("1/(R sqrt(T))", "1/sqrt(T)"),
    "average": (True, False),
}
OF_DRAWS: Stages = {**OF_ROUNDS, "c": (1.0, 0.1, 10.0)}
STAGES: dict[str, Stages] = {
    "hr-svm": OF_C,
    "hr-lr": OF_C,
    "hieron": {"max_iter": (1, 5, 20), "average": (True, False), "C": (None, 0.01, 1.0)},
    "h-rls": {"alpha": (0.3, 0.01, 0.1, 1.0), "fit_intercept": (True, False), "unseen": ("positive", "negative")},
    "h-perc": {"max_iter": (1, 5, 20), "average": (False, True)},
    "top-down": OF_C,
    "h-svm": OF_C,
    "hp": OF_ROUNDS,
    "sp": OF_DRAWS,
    "ksp": {"kernel": ("linear", "rbf"), **OF_DRAWS},
    "h-m3": OF_C,
    "structural-svm": OF_C,
    "ot": OF_C,
    "hblr": {"b0": (1.0, 0.01, 0.1, 10.0)},
    "svm": OF_C,
    "lr": OF_C,
}


class Parts(NamedTuple):
    """The rows of a data set that are used, and whether their labels are sets."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    taxonomy: Any
    has_sets: bool

    def score(self, model: Any, X: Any, y: Any) -> float:
        """Return the score of a fitted model in points."""
        predicted = model.predict(X)
        if self.has_sets:
            return 100 * float(micro_f1(y, predicted, self.taxonomy, nodes="all"))
        return 100 * float(np.mean(np.asarray(predicted) == np.asarray(y)))


def load(name: str, *, has_sets: bool, standardise: bool) -> Parts:
    """Return some rows of a data set, the same in every run."""
    data = getattr(datasets, f"load_{name}")()
    random = np.random.default_rng(0)

    def some(X: Any, y: Any, n_rows: int) -> tuple[Any, Any]:
        rows = np.sort(random.permutation(len(y))[:n_rows])
        return take_rows(X, rows), _take(y, rows)

    X, y = some(data.X_train, data.y_train, TRAINING_ROWS)
    X_test, y_test = some(data.X_test, data.y_test, TEST_ROWS)
    if standardise:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return Parts(X, y, X_test, y_test, data.taxonomy, has_sets)


def _take(y: Any, rows: Any) -> Any:
    return y[rows] if isinstance(y, np.ndarray) else [y[i] for i in rows]


DATA: dict[str, Callable[[], Parts]] = {
    "imclef07a": lambda: load("imclef07a", has_sets=False, standardise=True),
    "clinc150": lambda: load("clinc150", has_sets=False, standardise=False),
    "enron": lambda: load("enron", has_sets=True, standardise=False),
}


def choose(make: Callable[..., Any], stages: Stages, parts: Parts) -> dict[str, Any]:
    """Return the values that are best over folds of the training rows; those that equal the default are left out."""
    defaults, chosen = make().get_params(), {}
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(len(parts.y))))
    best = _fold_score(make, {}, parts, folds)
    for name, values in stages.items():
        for value in values:
            if value == defaults[name]:
                continue
            score = _fold_score(make, {**chosen, name: value}, parts, folds)
            if score > best:
                best, chosen = score, {**chosen, name: value}
    return chosen


def _fold_score(make: Callable[..., Any], options: dict[str, Any], parts: Parts, folds: Any) -> float:
    scores = []
    for rows, held_out in folds:
        model = make(**options).fit(take_rows(parts.X, rows), _take(parts.y, rows))
        scores.append(parts.score(model, take_rows(parts.X, held_out), _take(parts.y, held_out)))
    return float(np.mean(scores))


def measure(method: Any, data_set: str, parts: Parts) -> dict[str, Any] | None:
    """Return a row of the table; None if the method does not take these labels."""
    learner = method.load()

    def make(**options: Any) -> Any:
        seed = {"random_state": 0} if "random_state" in learner().get_params() else {}
        return learner(parts.taxonomy, **seed, **options)

    started = time.process_time()
    try:
        default = parts.score(make().fit(parts.X, parts.y), parts.X_test, parts.y_test)
    except CladistError:
        return None
    chosen = choose(make, STAGES[method.name], parts)
    tuned = parts.score(make(**chosen).fit(parts.X, parts.y), parts.X_test, parts.y_test) if chosen else default
    return {
        "method": method.name,
        "data set": data_set,
        "default": default,
        "tuned": tuned,
        "difference": default - tuned,
        "within 2": default >= tuned - POINTS,
        "chosen": chosen,
        "CPU s": time.process_time() - started,
    }


def main() -> None:
    """Measure all methods on all data sets, or those named; rows of others stay in the results."""
    warnings.simplefilter("ignore")
    named = set(sys.argv[1:])
    for data_set, read in DATA.items():
        if named & DATA.keys() and data_set not in named:
            continue
        parts = read()
        for method in METHODS:
            if named - DATA.keys() and method.name not in named:
                continue
            row = measure(method, data_set, parts)
            if row is not None:
                print_rows([row])
                write(row)


def write(row: dict[str, Any]) -> None:
    """Add a row to the results, or let it take the place of the one of this method and data set."""
    path = RESULTS / f"{NAME}.json"
    known = json.loads(path.read_text())["rows"] if path.exists() else []
    by_key = {(old["data set"], old["method"]): old for old in known} | {(row["data set"], row["method"]): row}
    write_results(NAME, list(by_key.values()), quiet=True, measure=MEASURE, training_rows=TRAINING_ROWS)


if __name__ == "__main__":
    main()
