"""The demo's work: methods compared on one data set, or one model of all codes, and sample texts classified."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cladist import progress
from cladist.datasets.dataset import stack_rows
from cladist.datasets.loaders.catalogue import vectorise
from cladist.decisions import Confidence
from cladist.features import text_features
from cladist.learners.decision_classifier import DecisionClassifier
from cladist.learners.flat import FlatSVM
from cladist.learners.local.top_down import TopDown
from cladist.learners.online.hieron import Hieron
from cladist.learners.recursive import RecursiveSVM
from cladist.metrics import Report, report
from cladist.persistence.models import load
from cladist.report import Sample, Table, table_of_measures
from cladist.solvers.relations import Relations

if TYPE_CHECKING:
    from cladist.datasets import Dataset

RECURSIVE, TOP_DOWN, FLAT_SVM = "RecursiveSVM", "TopDown", "FlatSVM"
TREE, FLAT = "Hieron, tree", "Hieron, flat"
EMBEDDED = "RecursiveSVM, embedding"  # words, characters and an embedding; the others have no embedding
EMBEDDING, NEEDED = "wordllama", ("wordllama", "safetensors", "tokenizers")
# The same kind of weights, trained with the tree and without.
PAIRS = {RECURSIVE: (RECURSIVE, FLAT_SVM), TOP_DOWN: (TOP_DOWN, FLAT_SVM), "Hieron": (TREE, FLAT)}
MEASURES = {
    "accuracy": ("accuracy", "{:.4f}", max),
    "tree_induced_error": ("tree-induced error", "{:.4f}", min),
    "hierarchical_f1": ("hierarchical F1", "{:.4f}", max),
    "seconds": ("seconds to fit", "{:.1f}", min),
}
WARM_UP_ROWS = 1_000  # fewer rows have so few features that another solver is chosen
LEAST_CONFIDENCE = 0.5  # of an answer to a sample: more probable than not
CALIBRATION_ROWS = 3_000  # of the test rows, which the model was not trained on

TOP_K = 5
BEAMS = (None, 10, 3)  # None: all codes are scored
CODE_MEASURES = {
    "accuracy": ("accuracy", "{:.4f}", max),
    "among_best": (f"correct among {TOP_K}", "{:.4f}", max),
    "tree_induced_error": ("tree-induced error", "{:.4f}", min),
    "same_first": ("same first as all codes", "{:.4f}", max),
    "rows_a_second": ("rows per second", "{:,.0f}", max),
}

# Texts as a person might type them; none of them is in the data.
DIAGNOSES = (
    "severe asthma, acute flare",
    "heart attack of the anterior wall",
    "type 2 diabetes with kidney damage",
    "closed fracture of the left wrist",
    "migraine with visual aura",
    "salmonella food poisoning",
    "second degree burn of the right hand",
    "malignant melanoma on the nose",
    "panic attacks, fear of crowds",
    "dog bite of the left calf",
)
# The range of codes at the end of a title, as in "Neoplasms (C00-D49)", which is not shown.
CODE_RANGE = re.compile(r"\s*\([A-Z]\w*-[A-Z]\w*\)$")


@dataclass(frozen=True)
class Result:
    """The compared methods, or kinds of search, with a report of each, and the samples classified by method `name`.

    The first report is shown in full. `verdict` is a sentence about the table, `values` holds all numbers for JSON.
    """

    data: Dataset
    name: str
    reports: dict[str, Report]
    table: Table
    verdict: str
    values: dict[str, Any]
    samples: list[Sample]
    predicted: Any = None  # what the first method predicts for the test rows

    @property
    def report(self) -> Report:
        """The first report."""
        return next(iter(self.reports.values()))


def classify(model: Any, data: Dataset, texts: tuple[str, ...], **features: Any) -> list[Sample]:
    """Return the predictions of a model for new texts, with the titles of the nodes on the paths.

    `features` are the options of `text_features` by which the rows of the data were vectorised.
    """
    with progress.task("Classifying the samples"):
        rows = text_features(**features).fit(data.texts_train).transform(texts)
        predictions = zip(texts, model.predict(rows), model.predict_paths(rows), strict=True)
        return [Sample(text, str(label), _titles(model, path)) for text, label, path in predictions]


def has_embedding() -> bool:
    """Tell whether the optional packages of the embedding are installed."""
    return all(find_spec(package) is not None for package in NEEDED)


def decide(model: Any, data: Dataset, texts: tuple[str, ...], features: Any = None) -> list[Sample]:
    """Return the deepest nodes that are more probable than not for new texts, or the best guess where none is.

    Probabilities are calibrated on some of the test rows: the samples are other wordings, too. `features` are the
    fitted ones of the rows of the data, if they are not those of `text_features`.
    """
    step = max(1, len(data.y_test) // CALIBRATION_ROWS)
    with progress.task("Calibrating"):
        decider = DecisionClassifier(model, rule=Confidence(LEAST_CONFIDENCE), cv="prefit")
        decider.fit(data.X_test[::step], data.y_test[::step])
    with progress.task("Classifying the samples"):
        features = text_features().fit(data.texts_train) if features is None else features
        rows = features.transform(texts)
        decisions, best = decider.predict_decisions(rows), decider.predict_proba(rows, top_k=1)
        guesses = decider.classes_[best.columns[:, 0]]
        samples = []
        for k, text in enumerate(texts):
            found, sure = decisions.labels[k], float(decisions.confidence[k])
            is_sure = found is not None
            label = str(found if is_sure else guesses[k])
            path = model.taxonomy_.shortest_path_parts(model.taxonomy_.index(label))
            confidence = sure if is_sure else float(best.probabilities[k, 0])
            samples.append(Sample(text, label, _titles(model, path), confidence, is_sure))
    return samples


def _titles(model: Any, path: Any) -> list[str]:
    titles = model.taxonomy_.titles
    return [CODE_RANGE.sub("", titles.get(name, name)) for name in path]


def methods(taxonomy: Any) -> dict[str, Any]:
    """Return the unfitted learners to compare, by name; all are deterministic."""
    return {
        RECURSIVE: RecursiveSVM(
            taxonomy, loss="squared_hinge", sharing=1, relations=Relations(blocks_per_round=2), n_jobs=-1
        ),
        TOP_DOWN: TopDown(taxonomy, n_jobs=-1),
        FLAT_SVM: FlatSVM(taxonomy, n_jobs=-1),
        TREE: Hieron(taxonomy, random_state=0),
        FLAT: Hieron(taxonomy.flattened(), random_state=0),
        "Hieron, greedy": TopDown(taxonomy, estimator=Hieron(random_state=0)),
    }


def compare(data: Dataset, *, texts: tuple[str, ...] = DIAGNOSES, embedding: bool = False) -> Result:
    """Train every method on the training part, evaluate it on the test part, and decide on `texts` with the first.

    All methods are evaluated on the taxonomy of the data, including those trained without it. With `embedding`, the
    first is RecursiveSVM on an embedding of the texts, too.
    """
    assert data.taxonomy is not None
    with progress.task("Warming up"):  # kernels are compiled, or loaded from the cache, before times are measured
        subset = slice(None, None, max(1, len(data.y_train) // WARM_UP_ROWS))
        X, y = data.X_train[subset], data.y_train[subset]
        models = methods(data.taxonomy)
        for name in (RECURSIVE, TOP_DOWN, FLAT_SVM, TREE):  # the others run the same kernels
            report(y, models[name].fit(X, y).predict(X), data.taxonomy)
    reports, seconds, lead, predicted = {}, {}, None, None
    samples: list[Sample] = []
    if embedding:
        reports[EMBEDDED], seconds[EMBEDDED], samples, predicted = _with_embedding(data, texts)
    for name, model in methods(data.taxonomy).items():
        with progress.task(name):
            start = time.perf_counter()
            model.fit(data.X_train, data.y_train)
            seconds[name] = time.perf_counter() - start
        labels = model.predict(data.X_test)
        reports[name] = report(data.y_test, labels, data.taxonomy)
        lead = model if lead is None else lead  # models are large; the others are not kept
        predicted = labels if predicted is None else predicted
    samples = samples or decide(lead, data, texts)
    return replace(summarise(data, reports, seconds, samples), predicted=predicted)


def _with_embedding(data: Dataset, texts: tuple[str, ...]) -> tuple[Report, float, list[Sample], Any]:
    """Train RecursiveSVM on words, characters and an embedding; return its report, seconds, samples and predictions."""
    assert data.taxonomy is not None
    with progress.task("Embedding texts"):
        features = text_features(embedding=EMBEDDING)
        X = features.fit_transform(data.texts_train, data.y_train)
        embedded = replace(data, X=stack_rows([X, features.transform(data.texts_test)]), feature_names=None)
    model = methods(data.taxonomy)[RECURSIVE]
    with progress.task(EMBEDDED):
        start = time.perf_counter()
        model.fit(embedded.X_train, embedded.y_train)
        seconds = time.perf_counter() - start
    labels = model.predict(embedded.X_test)
    result = report(data.y_test, labels, data.taxonomy)
    return result, seconds, decide(model, embedded, texts, features), labels


def summarise(data: Dataset, reports: dict[str, Report], seconds: dict[str, float], samples: list[Sample]) -> Result:
    """Return the table of methods, and a verdict on whether the tree helps."""
    measures = {
        name: {key: seconds[name] if key == "seconds" else report.metrics[key] for key in MEASURES}
        for name, report in reports.items()
    }
    errors = {name: row["tree_induced_error"] for name, row in measures.items()}
    tree_beats_flat = {name: errors[tree] < errors[flat] for name, (tree, flat) in PAIRS.items()}
    better = [name for name, is_better in tree_beats_flat.items() if is_better]
    others = [name for name in PAIRS if name not in better]
    claim = "The tree helps here" if better else "The tree does not help here"
    if better and others:
        claim = f"The tree helps {' and '.join(better)}, and not {' or '.join(others)}"
    pairs = [
        f"{name} is {errors[tree]:.3f} edges off on average and right in {measures[tree]['accuracy']:.1%} of all rows "
        f"with it, {errors[flat]:.3f} edges and {measures[flat]['accuracy']:.1%} without"
        for name, (tree, flat) in PAIRS.items()
    ]
    lead = next(iter(reports))
    values = {
        "methods": [{"name": name, **row} for name, row in measures.items()],
        "lead": lead,
        "best": min(errors, key=lambda name: errors[name]),
        "tree_beats_flat": tree_beats_flat,
    }
    table = table_of_measures("method", MEASURES, list(measures.items()))
    return Result(data, lead, reports, table, f"{claim}: {'; '.join(pairs)}.", values, samples)


def train_codes(data: Dataset, folder: Path, *, texts: tuple[str, ...] = DIAGNOSES) -> Result:
    """Train a model, save it to `folder`, load it memory-mapped, and predict the test rows and `texts`.

    Words and word pairs are its features: characters would make training several times longer.
    """
    features = {"characters": False}
    data = vectorise(data, text_features(**features))
    # Weights are stored as differences from the parents' weights, without the small ones.
    model = RecursiveSVM(
        data.taxonomy,
        loss="squared_hinge",
        sharing=1,
        relations=Relations(blocks_per_round=8),
        weights="differences",
        prune=0.01,
        tol=0.1,
        n_jobs=-1,
    )
    with progress.task(RECURSIVE):
        start = time.perf_counter()
        model.fit(data.X_train, data.y_train)
        fit_seconds, gap = time.perf_counter() - start, float(model.history_[-1]["gap"])
    with progress.task("Saving"):
        model.save(folder)
    del model  # all predictions are made from the disk
    start = time.perf_counter()
    mapped = load(folder, mmap=True)
    load_seconds = time.perf_counter() - start
    reports, rows = _search_codes(mapped, data)
    samples = classify(mapped, data, texts, **features)
    size, peak = sum(file.stat().st_size for file in folder.iterdir()), peak_memory()
    values = {
        "model": str(folder),
        "fit_seconds": fit_seconds,
        "gap": gap,
        "model_bytes": size,
        "load_seconds": load_seconds,
        "peak_bytes": peak,
        "ways": [{"name": name, "beam": beam, **rows[name]} for name, beam in zip(rows, BEAMS, strict=True)],
    }
    memory = "" if peak is None else f", with at most {peak / 2**30:.1f} GiB of memory"
    verdict = (
        f"{RECURSIVE} was trained in {fit_seconds:,.0f} s to a gap of {gap:.1e}{memory}; its model is "
        f"{size / 2**20:,.0f} MiB on disk, and opens memory-mapped in {load_seconds:.2f} s."
    )
    table = table_of_measures("search", CODE_MEASURES, list(rows.items()))
    return Result(data, RECURSIVE, reports, table, verdict, values, samples)


def _search_codes(model: Any, data: Dataset) -> tuple[dict[str, Report], dict[str, dict[str, float]]]:
    """Find the best codes of the test rows in several ways; return the report and the measures of each."""
    assert data.taxonomy is not None
    reports, measures, exact = {}, {}, None
    k = min(TOP_K, len(model.classes_))
    for beam in BEAMS:
        name = "all codes scored" if beam is None else f"beam {beam}"
        with progress.task("Scoring all codes" if beam is None else f"Searching with a beam of {beam}"):
            model.predict_top_k(data.X_test[:1], k, beam=beam)  # compilation and caches are not timed
            start = time.perf_counter()
            labels, _ = model.predict_top_k(data.X_test, k, beam=beam)
            seconds = time.perf_counter() - start
            exact = labels[:, 0] if exact is None else exact
            reports[name] = report(data.y_test, labels[:, 0], data.taxonomy)
        measures[name] = {
            "accuracy": reports[name].metrics["accuracy"],
            "among_best": float((labels == data.y_test[:, None]).any(axis=1).mean()),
            "tree_induced_error": reports[name].metrics["tree_induced_error"],
            "same_first": float((labels[:, 0] == exact).mean()),
            "rows_a_second": len(labels) / seconds,
        }
    return reports, measures


def peak_memory() -> int | None:
    """Return the largest resident size of this process so far, in bytes, or None if it is unknown."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
