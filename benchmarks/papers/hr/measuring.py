"""One row measured: data loaded, C chosen on the training part, the model fitted, timed and judged on the test part."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import choose_C, peak_memory, walks_path
from benchmarks.papers.hr import predictions
from benchmarks.papers.hr.data_sets import DATA, EXACT, NEAR, Source
from benchmarks.papers.hr.methods import METHODS
from benchmarks.papers.published import read
from benchmarks.papers.rows import MEASURED, Row
from cladist import progress
from cladist.datasets import Dataset
from cladist.datasets.dataset import length
from cladist.errors import CladistError
from cladist.labels import LabelMatrix, encode
from cladist.metrics import macro_f1, micro_f1
from cladist.metrics.significance import bootstrap_interval

CS = tuple(10.0**k for k in range(-3, 4))  # the paper's
FOLDS, RESAMPLES, SEED = 3, 1000, 0
CHOOSERS = FOLDS  # threads that choose C, a fold each, however many cores share them; the fit that is timed has one


def Cs_for(source: Source | None) -> tuple[float, ...]:  # noqa: N802 - C is the papers' letter
    """Return the values that C is chosen from."""
    return tuple(C for C in CS if source is None or source.largest_C >= C)


def settings(method: str, source: Source | None, by: str = "micro") -> dict[str, Any]:
    """Return everything that decides a row's figures; what depends on the data is None where there are none.

    `by` is the measure, "micro" or "macro", that C is chosen for.
    """
    return {
        "learner": METHODS[method].learner_for(source) if source is not None else None,
        "parameters": METHODS[method].parameters,
        "relations": "those of the data" if METHODS[method].on_graph else None,
        **({} if METHODS[method].chosen == "C" else {"chosen as C": METHODS[method].chosen}),
        "Cs": Cs_for(source),
        "chosen by": f"{by}-F1 in {FOLDS}-fold cross-validation on the training part, "
        "up to two Cs in a row that gain nothing",
        "seeds": {"folds": SEED, "learner": SEED, "bootstrap": SEED},
        "resamples": RESAMPLES,
        "features": None if source is None else source.features,
        "source": None if source is None else source.kind,
        "nodes": None if source is None else source.nodes,
    }


def measure(data_set: str, method: str, by: str = "micro") -> Row:
    """Measure one row, named as on the command line; the memory is that of the whole process so far.

    What the data or the learner refuses becomes the row's status.
    """
    source = DATA[data_set].source()
    assert source is not None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the row says whether the model converged
            predictions.make_folder()
            data = source.load()
            found, predicted = _measured(data, source, method, by)
            true, decided = encode(data.y_test, data.taxonomy).labels, settings(method, source, by)
            predictions.keep(predictions.place(data_set, method, decided, found["C"]), true, predicted)
    except CladistError as problem:
        return {"status": f"not run: {problem}"}
    return {
        "status": MEASURED,
        "kind": kind(source, data, DATA[data_set].title),
        "rows": repr(data),
        **found,
        "peak_memory_mib": round(peak_memory() / 2**20),
    }


def kind(source: Source, data: Dataset, title: str) -> str:
    """Return how near the data are to the paper's: exact only if the paper's counts of rows and leaves are met."""
    if source.kind != EXACT:
        return source.kind
    published = read("hr").tables["table 1"].rows[(title,)]
    assert data.taxonomy is not None
    here = {
        "training": length(data.y_train),
        "testing": length(data.y_test),
        "leaf labels": len(data.taxonomy.leaves),
    }
    return EXACT if all(published[column].value == count for column, count in here.items()) else NEAR


def refitted(data: Dataset, source: Source, method: str, C: float) -> LabelMatrix:
    """Return the test predictions of a method with a C that was chosen before."""
    with warnings.catch_warnings(), progress.task("Fitting"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = METHODS[method].make(source, data, C).fit(data.X_train, data.y_train)
    return encode(model.predict(data.X_test), data.taxonomy).labels


def measures(source: Source) -> dict[str, Callable[..., float]]:
    """Return the table's two measures, over the nodes that count for this data."""
    return {"micro": partial(micro_f1, nodes=source.nodes), "macro": partial(macro_f1, nodes=source.nodes)}


def _measured(data: Dataset, source: Source, method: str, by: str) -> tuple[Row, LabelMatrix]:
    """Return what is measured, and the test predictions."""
    taxonomy = data.taxonomy
    assert taxonomy is not None
    wanted = measures(source)
    make = partial(METHODS[method].make, source, data)

    def score(y_true: Any, y_pred: Any) -> float:
        return wanted[by](y_true, y_pred, taxonomy)

    started = time.perf_counter()
    rows, Cs = (data.X_train, data.y_train), Cs_for(source)
    C, scores = choose_C(make, *rows, Cs, score=score, folds=FOLDS, random_state=SEED, workers=CHOOSERS)
    chosen = time.perf_counter()
    with progress.task("Fitting"):
        model = make(C).fit(*rows)
    fitted = time.perf_counter()
    predicted = model.predict(data.X_test)
    seconds = {"choosing C": chosen - started, "fit": fitted - chosen, "predict": time.perf_counter() - fitted}
    intervals = {
        name: bootstrap_interval(
            metric, data.y_test, predicted, taxonomy, n_resamples=RESAMPLES, method="percentile", random_state=SEED
        )
        for name, metric in wanted.items()
    }
    found = {
        "measured": {name: percent(found.estimate) for name, found in intervals.items()},
        "interval": {name: [percent(found.low), percent(found.high)] for name, found in intervals.items()},
        "C": C,
        "scores": {f"{tried:g}": percent(value) for tried, value in scores.items()},
        "choosing": {"threads": CHOOSERS, "C_path": walks_path(make(C), (FOLDS - 1) * length(data.y_train))},
        "tol": getattr(model, "tol", None),
        "converged": bool(getattr(model, "converged_", True)),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
    }
    return found, encode(predicted, taxonomy).labels


def percent(fraction: float) -> float:
    """Return a fraction in %, as tables print it."""
    return round(100 * fraction, 2)
