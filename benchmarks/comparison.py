"""Every method of the registry on every data set, one protocol for all; Gopal & Yang's tables are a part of it.

A method's C is chosen among the paper's powers of ten by micro-F1 in 3-fold cross-validation on the training part;
other parameters one after the other on a quarter of the training part held out, from the values in
`benchmarks.defaults.STAGES`. The test part is seen once, by the model fitted to all training rows.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import cladist
from benchmarks import predictions
from benchmarks.cells import NO_DATA, NO_METHOD, Cell, Pair
from benchmarks.choosing import HELD_OUT, Stages, choose_C, choose_in_stages, walks_path
from benchmarks.data_sets import DATA, EXACT, NEAR, Source
from benchmarks.defaults import OF_C, STAGES
from benchmarks.papers.published import read
from benchmarks.studies import Study
from cladist import progress, registry
from cladist.datasets import Dataset
from cladist.datasets.dataset import length
from cladist.labels import LabelMatrix, encode
from cladist.metrics import macro_f1, micro_f1, symmetric_difference_loss, tree_induced_error
from cladist.metrics.significance import bootstrap_interval

NAME, BY_MACRO = "comparison", "hr-by-macro"
CS = tuple(10.0**k for k in range(-3, 4))  # Gopal & Yang's
FOLDS, RESAMPLES, SEED = 3, 1000, 0
CHOOSERS = min(FOLDS, int(os.environ.get("NUMBA_NUM_THREADS", FOLDS)))  # threads that choose C, a fold each
# Beside the defaults: what the papers have.
PARAMETERS: dict[str, dict[str, Any]] = {
    "svm": {"loss": "hinge"},
    "hr-svm": {"loss": "hinge"},
    "structural-svm": {"tol": 1e-2, "max_iter": 3000},
    "hblr": {"tol": 1e-3},
}
ALIASES = {"TD": "top-down", "HSVM": "structural-svm"}  # columns of Gopal & Yang's tables → names in the registry
OF_SETS = {"top-down": "h-svm"}  # where rows have several labels
FLAT = {"hr-svm": "svm", "hr-lr": "lr"}  # a method that knows the tree → the same loss without it


@dataclass(frozen=True)
class Method:
    """A method: the public name of its class, "" while cladist has none, and parameters beside `taxonomy` and `C`.

    `stages` are the parameters to choose, None for C alone; with `on_graph` it learns from the label graph of the data.
    """

    title: str
    learner: str
    parameters: dict[str, Any] = field(default_factory=dict)
    stages: Stages | None = None
    on_graph: bool = False

    def make(self, source: Source, data: Dataset, **chosen: Any) -> Any:
        """Return an unfitted learner; all are repeatable and work on one core."""
        learner = getattr(cladist, self.learner)
        options: dict[str, Any] = {"random_state": SEED, "sharing": 1.0}  # sharing: the paper's problem
        if source.nodes == "all":
            options["targets"] = "nodes"
        if self.on_graph:
            options["relations"] = data.relations
        given = inspect.signature(learner).parameters
        return learner(data.taxonomy, **{k: v for k, v in options.items() if k in given}, **self.parameters, **chosen)


def name_of_column(title: str) -> str:
    """Return the name in the registry of a column of Gopal & Yang's tables.

    Examples
    --------
    >>> [name_of_column(title) for title in ("HR-SVM", "TD", "HBLR")]
    ['hr-svm', 'top-down', 'hblr']
    """
    return ALIASES.get(title, title.lower())


def columns() -> list[str]:
    """Return the methods of Gopal & Yang's Table 3, in its order."""
    suffix = " micro-F1"
    return [c.removesuffix(suffix) for c in read("hr").tables["table 3"].columns if c.endswith(suffix)]


def list_methods() -> dict[str, Method]:
    """Return the methods of the registry and those of Gopal & Yang's Table 3 that it does not have yet, by name."""
    titles = {name_of_column(title): title for title in columns()}
    found = {
        name: Method(titles.get(name, name), learner, PARAMETERS.get(name, {}), _stages(name, learner))
        for name, learner in {**dict.fromkeys(titles, ""), **{m.name: m.class_name for m in registry.METHODS}}.items()
    }
    for name in FLAT:
        graph = {**PARAMETERS.get(name, {}), "tol": 2e-2}  # 1e-2 takes several times as many sweeps
        found[f"{name}-graph"] = Method(f"{found[name].title}, graph", found[name].learner, graph, on_graph=True)
    return found


def _stages(name: str, learner: str) -> Stages | None:
    stages = STAGES.get(name, OF_C)
    if stages is not OF_C:
        return stages
    return None if not learner or "C" in inspect.signature(getattr(cladist, learner)).parameters else {}


METHODS = list_methods()


def pairs() -> list[Pair]:
    """Return every data set that is not licensed with every method; graphs of labels where there are some.

    Licensed data sets have the methods of the paper.
    """
    printed = [name_of_column(title) for title in columns()]
    return [
        (d, m)
        for d, data_set in DATA.items()
        for m, method in METHODS.items()
        if (data_set.has_graph or not method.on_graph) and (m in printed or not data_set.is_licensed)
    ]


# ------------------------------------------------------------------ settings


def Cs_for(source: Source | None) -> tuple[float, ...]:  # noqa: N802 - C is the papers' letter
    """Return the values that C is chosen from."""
    return tuple(C for C in CS if source is None or source.largest_C >= C)


def settings(data_set: str, method: str, by: str = "micro") -> dict[str, Any]:
    """Return everything that decides a cell's figures; what depends on the data is None where there are none."""
    source, chosen = DATA[data_set].source(), METHODS[method]
    found: dict[str, Any] = {"learner": chosen.learner or None, "parameters": chosen.parameters}
    if chosen.stages is None:
        found |= {
            "relations": "those of the data" if chosen.on_graph else None,
            "Cs": Cs_for(source),
            "chosen by": f"{by}-F1 in {FOLDS}-fold cross-validation on the training part, "
            "up to two Cs in a row that gain nothing",
            "seeds": {"folds": SEED, "learner": SEED, "bootstrap": SEED},
        }
    else:
        held_out = f"{by}-F1 on {HELD_OUT:.0%} of the training part held out, seed {SEED}"
        found |= {"stages": chosen.stages, "chosen by": held_out}
    of_source = {part: None if source is None else getattr(source, part) for part in ("features", "kind", "nodes")}
    return found | {"resamples": RESAMPLES, "source": of_source.pop("kind"), **of_source}


def missing(data_set: str, method: str) -> str:
    """Return why a cell cannot be measured here."""
    if DATA[data_set].source() is None:
        return NO_DATA
    return "" if METHODS[method].learner else NO_METHOD


# ------------------------------------------------------------------ measuring

Metrics = dict[str, tuple[Callable[..., float], float, int]]  # name → metric, unit, digits


def metrics_of(source: Source) -> Metrics:
    """Return the measures, over the nodes that count for this data; wrong nodes of a row, where its labels are sets."""
    tree = symmetric_difference_loss if source.multilabel else tree_induced_error
    f1 = {"micro": micro_f1, "macro": macro_f1}
    return {
        **{name: (partial(metric, nodes=source.nodes), 100.0, 2) for name, metric in f1.items()},
        "tree": (tree, 1.0, 4),
    }


def judge(metrics: Metrics, y_true: Any, y_pred: Any, taxonomy: Any) -> Cell:
    """Return figures with 95 % bootstrap intervals over test rows."""
    found: Cell = {"measured": {}, "interval": {}}
    for name, (metric, unit, digits) in metrics.items():
        interval = bootstrap_interval(
            metric, y_true, y_pred, taxonomy, n_resamples=RESAMPLES, method="percentile", random_state=SEED
        )
        found["measured"][name] = round(unit * interval.estimate, digits)
        found["interval"][name] = [round(unit * interval.low, digits), round(unit * interval.high, digits)]
    return found


def fit_and_judge(
    data: Dataset,
    make: Callable[[dict[str, Any]], Any],
    choose_parameters: Callable[[], tuple[dict[str, Any], Cell]],
    metrics: Metrics,
) -> tuple[Cell, Any, Any]:
    """Choose parameters, fit, predict and return figures and CPU seconds, the model and its predictions."""
    started = time.process_time()  # of the processor, so that cells measured side by side can be compared
    options, facts = choose_parameters()
    chosen = time.process_time()
    with progress.task("Fitting"):
        model = make(options).fit(data.X_train, data.y_train)
    fitted = time.process_time()
    predicted = model.predict(data.X_test)
    seconds = {"choosing": chosen - started, "fit": fitted - chosen, "predict": time.process_time() - fitted}
    shown = {name: round(value, 3) for name, value in seconds.items()}
    return {**judge(metrics, data.y_test, predicted, data.taxonomy), **facts, "seconds": shown}, model, predicted


def measure(data_set: str, method: str, by: str = "micro") -> Cell:
    """Return the figures of one cell."""
    source = DATA[data_set].source()
    assert source is not None
    predictions.make_folder()
    data = source.load()
    found, model, predicted = fit_and_judge(
        data,
        lambda options: METHODS[method].make(source, data, **options),
        lambda: choose(method, source, data, by),
        metrics_of(source),
    )
    labels = [encode(y, data.taxonomy).labels for y in (data.y_test, predicted)]
    predictions.keep(predictions.place(data_set, method, settings(data_set, method, by), found.get("C")), *labels)
    about = {"kind": kind(source, data, DATA[data_set].title), "rows": repr(data)}
    ended = {"tol": getattr(model, "tol", None), "converged": bool(getattr(model, "converged_", True))}
    return about | found | ended


def choose(method: str, source: Source, data: Dataset, by: str) -> tuple[dict[str, Any], Cell]:
    """Return the parameters chosen on the training part, and what is to be said of the choice."""
    make, stages = partial(METHODS[method].make, source, data), METHODS[method].stages
    metric = metrics_of(source)[by][0]

    def score(y_true: Any, y_pred: Any) -> float:
        return metric(y_true, y_pred, data.taxonomy)

    rows = data.X_train, data.y_train
    if stages is not None:
        chosen, tried = choose_in_stages(lambda options, n: make(**options), stages, *rows, score=score, seed=SEED)
        return chosen, {"chosen": chosen, "tried": tried}
    C, scores = choose_C(
        lambda C: make(C=C), *rows, Cs_for(source), score=score, folds=FOLDS, random_state=SEED, workers=CHOOSERS
    )
    path = walks_path(make(C=C), (FOLDS - 1) * length(data.y_train))
    shown = {f"{tried:g}": round(100 * value, 2) for tried, value in scores.items()}
    return {"C": C}, {"C": C, "scores": shown, "choosing": {"threads": CHOOSERS, "C_path": path}}


def measure_by_macro(data_set: str, method: str) -> Cell:
    """Return the figures of one cell, C being chosen for macro-F1."""
    return measure(data_set, method, "macro")


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
    with progress.task("Fitting"):
        model = METHODS[method].make(source, data, C=C).fit(data.X_train, data.y_train)
    return encode(model.predict(data.X_test), data.taxonomy).labels


STUDY = Study(NAME, pairs, settings, missing, "benchmarks.comparison:measure")
MACRO_STUDY = Study(
    BY_MACRO,
    lambda: [("clef", m) for m in ("svm", "hr-svm", "lr", "hr-lr", "top-down")],
    lambda d, m: settings(d, m, "macro"),
    missing,
    "benchmarks.comparison:measure_by_macro",
)
