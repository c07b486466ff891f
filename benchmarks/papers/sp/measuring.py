"""One row measured: settings chosen on a quarter of the training part, the model fitted, timed and judged."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.harness import peak_memory
from benchmarks.papers.rows import MEASURED, Row
from benchmarks.papers.sp.data_sets import DATA
from benchmarks.papers.sp.methods import METHODS, Method
from cladist import progress
from cladist.datasets import Dataset
from cladist.datasets.dataset import length, take_rows
from cladist.errors import CladistError
from cladist.metrics import micro_f1, precision_recall_f1
from cladist.metrics.significance import bootstrap_interval

RESAMPLES, SEED, HELD_OUT = 1000, 0, 0.25
Measure = Literal["precision", "recall", "f1"]
MEASURES: dict[str, Measure] = {"P": "precision", "R": "recall", "F1": "f1"}


def settings(data_set: str, method: str) -> dict[str, Any]:
    """Return everything that decides a row's figures."""
    source = DATA[data_set].source()
    chosen = METHODS[method]
    return {
        "learner": chosen.learner.__name__,
        "parameters": chosen.parameters,
        "stages": chosen.stages,
        "chosen by": f"micro-F1 over all nodes on {HELD_OUT:.0%} of the training part held out, seed {SEED}",
        "resamples": RESAMPLES,
        "features": None if source is None else source.features,
        "source": None if source is None else source.kind,
    }


def measure(data_set: str, method: str) -> Row:
    """Measure one row, named as on the command line; what the data or the learner refuses becomes its status."""
    source = DATA[data_set].source()
    assert source is not None
    try:
        data = source.load()
        found = measured(data, METHODS[method])
    except CladistError as problem:
        return {"status": f"not run: {problem}"}
    return {
        "status": MEASURED,
        "kind": source.kind,
        "rows": repr(data),
        **found,
        "peak_memory_mib": round(peak_memory() / 2**20),
    }


def measured(data: Dataset, method: Method) -> Row:
    """Return what is measured of a method."""
    started = time.perf_counter()
    chosen, tried = choose(data, method)
    between = time.perf_counter()
    with progress.task("Fitting"):
        model = method.make(data.taxonomy, chosen, length(data.y_train)).fit(data.X_train, data.y_train)
    fitted = time.perf_counter()
    predicted = model.predict(data.X_test)
    seconds = {"choosing": between - started, "fit": fitted - between, "predict": time.perf_counter() - fitted}
    intervals = {name: interval(which, data.y_test, predicted, data.taxonomy) for name, which in MEASURES.items()}
    return {
        "measured": {name: round(found.estimate, 4) for name, found in intervals.items()},
        "interval": {name: [round(found.low, 4), round(found.high, 4)] for name, found in intervals.items()},
        "chosen": chosen,
        "tried": tried,
        "iterations": int(model.n_iter_),
        "support rows": getattr(model, "n_support_", None),
        "model_bytes": getattr(model, "model_size_", None),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
    }


def choose(data: Dataset, method: Method) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings chosen, one after the other, and the held-out F1 of all that were tried.

    The first of several values that score best is kept: the default.
    """
    n = length(data.y_train)
    learnt, held_out = train_test_split(np.arange(n), test_size=HELD_OUT, random_state=SEED)
    part = take_rows(data.X_train, learnt), take_rows(data.y_train, learnt)
    rest = take_rows(data.X_train, held_out), take_rows(data.y_train, held_out)
    chosen = {name: values[0] for name, values in method.stages.items()}
    known: dict[str, float] = {}
    tried: list[dict[str, Any]] = []
    with progress.task("Choosing", sum(len(values) for values in method.stages.values())) as running:
        for name, values in method.stages.items():
            scores = []
            for value in values:
                options = chosen | {name: value}
                if str(options) not in known:
                    with progress.hide():
                        model = method.make(data.taxonomy, options, len(learnt)).fit(*part)
                        known[str(options)] = micro_f1(rest[1], model.predict(rest[0]), data.taxonomy, nodes="all")
                    tried.append({**options, "F1": round(known[str(options)], 4)})
                scores.append(known[str(options)])
                running.advance()
            chosen[name] = values[int(np.argmax(scores))]
    return chosen, tried


def interval(which: Measure, y_true: Any, y_pred: Any, taxonomy: Any) -> Any:
    """Return a measure over all nodes with its 95 % bootstrap interval over test rows."""
    return bootstrap_interval(
        partial(_one, which), y_true, y_pred, taxonomy, n_resamples=RESAMPLES, method="percentile", random_state=SEED
    )


def _one(which: Measure, y_true: Any, y_pred: Any, taxonomy: Any, **weights: Any) -> float:
    return float(getattr(precision_recall_f1(y_true, y_pred, taxonomy, nodes="all", **weights), which))
