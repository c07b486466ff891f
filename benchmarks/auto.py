"""`cladist.auto` beside each of its candidates tuned alone, on every data set: scores on test rows, and CPU seconds.

    python benchmarks/auto.py [--sets imclef07a,enron] [--methods svm,auto] [--limit 600]

A candidate is tuned by ``C="cv"``. Every fit runs in a process of its own on one thread; one that takes more CPU time
than the limit is left out and named. Scores are accuracy, and for sets of labels average precision; the standard error
is that of the mean over twenty parts of the test rows. Dense columns are standardised for all but `auto`, which decides
by itself, unless all values are 0 or 1; their missing values are replaced by means. Sets of labels have thresholds from
`Thresholded`. Writes auto.json after every fit; rows of other sets and methods that exist already are kept.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.harness import RESULTS, print_rows, write_results
from benchmarks.rcv1_standin import load_rcv1_standin
from cladist import (
    FlatLogistic,
    FlatSVM,
    NodewiseSVM,
    RecursiveLogistic,
    RecursiveSVM,
    Thresholded,
    TopDown,
    auto,
    datasets,
)
from cladist.datasets.dataset import take_rows
from cladist.features import text_features
from cladist.metrics import average_precision

SETS: dict[str, Callable[[], Any]] = {
    "enron": datasets.load_enron,
    "imclef07a": datasets.load_imclef07a,
    "genes_fun cellcycle": lambda: datasets.load_genes_fun(which="cellcycle"),
    "genes_fun derisi": lambda: datasets.load_genes_fun(which="derisi"),
    "genes_go cellcycle": datasets.load_genes_go,
    "rcv1 stand-in": load_rcv1_standin,
    "clinc150": datasets.load_clinc150,
    "lshtc_small": datasets.load_lshtc_small,
    "naics2017": lambda: hold_out(datasets.load_naics2017()),
    "news20": datasets.load_news20,
    "onet_titles": lambda: hold_out(datasets.load_onet_titles()),
    "icd10cm": datasets.load_icd10cm,
}
N_PARTS = 20
FEW_ROWS = 300  # that a method is compiled with before it is measured


def hold_out(data: Any) -> Any:
    """Return texts as features, a quarter of the rows held out where the data do not say which."""
    parts, features = data if data.is_split else data.split(0.25, random_state=0), text_features()
    X_train, X_test = features.fit_transform(parts.X_train), features.transform(parts.X_test)
    rows = {"X_train": X_train, "X_test": X_test, "y_train": parts.y_train, "y_test": parts.y_test}
    return SimpleNamespace(taxonomy=data.taxonomy, **rows)


def candidates(data: Any, is_multi: bool) -> dict[str, Any]:
    """Return the methods that `auto` chooses from, each with a search for its C."""
    tuned = {"taxonomy": data.taxonomy, "C": "cv", "random_state": 0}
    targets = {"targets": "nodes"} if is_multi else {}
    found: dict[str, Any] = {"svm": FlatSVM(**targets, **tuned), "lr": FlatLogistic(**targets, **tuned)}
    if data.taxonomy.kind == "dag":
        return found
    recursive = {"hr-svm": RecursiveSVM(sharing=1, **tuned), "hr-lr": RecursiveLogistic(sharing=1, **tuned)}
    if is_multi:
        return {**found, "h-svm": NodewiseSVM(**tuned), "hr-lr": recursive["hr-lr"]}
    ends_above = not set(map(str, data.y_train)) <= {data.taxonomy.names[v] for v in data.taxonomy.leaves}
    return {**found, "top-down": TopDown(stop=ends_above, **tuned), **recursive}


def fit_tuned(learner: Any, steps: list[Any], data: Any, is_multi: bool) -> Any:
    """Return a learner fitted with the best C; for sets of labels, with thresholds, as `auto` has them."""
    rows = make_pipeline(*steps).fit_transform(data.X_train) if steps else data.X_train
    found = learner.fit(rows, data.y_train)
    if is_multi:
        found = Thresholded(clone(learner).set_params(C=learner.C_), random_state=0).fit(rows, data.y_train)
    prepared = make_pipeline(*steps).fit(data.X_train) if steps else None
    return found if prepared is None else Pipeline([*prepared.steps, ("model", found)])


def scores_of(model: Any, data: Any, is_multi: bool) -> list[float]:
    """Return the scores of parts of the test rows."""
    parts = np.array_split(np.random.default_rng(0).permutation(data.X_test.shape[0]), N_PARTS)
    y = np.empty(data.X_test.shape[0], object)
    y[:] = list(data.y_test)
    if not is_multi:
        right = model.predict(data.X_test) == data.y_test
        return [float(np.mean(right[part])) for part in parts]
    scores, classes = np.asarray(model.decision_function(data.X_test)), list(model.classes_)
    return [average_precision(list(y[part]), scores[part], data.taxonomy, classes=classes) for part in parts]


def measure(fit: Callable[[Any], Any], data: Any, is_multi: bool, limit: float) -> dict[str, Any] | None:
    """Return the scores, their standard error, the CPU seconds and what was chosen; None beyond the limit."""
    few = SimpleNamespace(X_train=data.X_train[:FEW_ROWS], y_train=take_rows(data.y_train, range(FEW_ROWS)))

    def run() -> None:
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit),) * 2)  # ends the process; other work does not count
        with threadpool_limits(1):
            fit(few)  # compiles
            started = time.process_time()
            model = fit(data)
        seconds = time.process_time() - started
        selection = getattr(model, "selection_", None)
        last = model[-1] if isinstance(model, Pipeline) else model
        C = selection.C if selection is not None else getattr(getattr(last, "estimator", last), "C", None)
        C = getattr(last, "C_", C)
        answers.put((seconds, scores_of(model, data, is_multi), C, selection and selection.method))

    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=run)
    process.start()
    answer = None
    while answer is None:
        ended = not process.is_alive()
        try:
            answer = answers.get(timeout=1)
        except Empty:
            if ended:
                return None
    process.join()
    seconds, scores, C, method = answer
    error = float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
    return {"score": float(np.mean(scores)), "standard_error": error, "cpu": seconds, "C": C, "chose": method}


def measure_set(name: str, methods: list[str], limit: float) -> Iterator[dict[str, Any]]:
    """Yield a row for every method on a data set that is asked for, or for all, `auto` last."""
    data = SETS[name]()
    is_multi = not isinstance(next(iter(data.y_train)), str | int | np.integer)
    is_table = isinstance(data.X_train, np.ndarray) and not np.isin(data.X_train, (0, 1)).all()
    steps = [SimpleImputer(keep_empty_features=True), StandardScaler()] if is_table else []
    fits = {
        method: lambda rows, learner=learner: fit_tuned(clone(learner), steps, rows, is_multi)
        for method, learner in candidates(data, is_multi).items()
    }
    fits["auto"] = lambda rows: auto(rows.X_train, rows.y_train, data.taxonomy)
    for method, fit in fits.items():
        if method in (methods or fits):
            result = measure(fit, data, is_multi, limit) or {"over_limit": limit}
            row = {"data": name, "method": method, "n_test": data.X_test.shape[0], **result}
            print_rows([row])
            yield row


def verdict(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return how far `auto` is behind the best method, in standard errors, and the ratio of their CPU seconds.

    None if either was not measured.
    """
    tuned = [row for row in rows if row["method"] != "auto" and "score" in row]
    ours = next((row for row in rows if row["method"] == "auto" and "score" in row), None)
    if ours is None or not tuned:
        return None
    best = max(tuned, key=lambda row: row["score"])
    behind = (best["score"] - ours["score"]) / max(best["standard_error"], 1e-12)
    return {
        "data": ours["data"],
        "best": best["method"],
        "best_score": best["score"],
        "auto_chose": ours["chose"],
        "auto_score": ours["score"],
        "standard_errors_behind": round(behind, 2),
        "cpu_ratio": round(ours["cpu"] / best["cpu"], 2),
    }


def main() -> None:
    """Measure the sets asked for, print and write all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default="", help="all if none is named")
    parser.add_argument("--limit", type=float, default=600.0, help="CPU seconds of one fit")
    given = parser.parse_args()
    path = RESULTS / "auto.json"
    for name in given.sets.split(","):
        for row in measure_set(name, list(filter(None, given.methods.split(","))), given.limit):
            known = json.loads(path.read_text())["rows"] if path.exists() else []
            key = row["data"], row["method"]
            rows = [*(other for other in known if (other["data"], other["method"]) != key), row]
            by_set = {row["data"]: [other for other in rows if other["data"] == row["data"]] for row in rows}
            verdicts = [found for found in map(verdict, by_set.values()) if found]
            write_results("auto", rows, quiet=True, verdicts=verdicts)
    print_rows(verdicts)


if __name__ == "__main__":
    main()
