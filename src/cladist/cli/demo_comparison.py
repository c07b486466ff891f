"""The demo's comparison of methods on one data set, with sample texts classified by the first of them."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cladist.report import Sample, Table, table_of_measures

if TYPE_CHECKING:
    from cladist.datasets import Dataset
    from cladist.metrics import Report

RECURSIVE, TOP_DOWN, FLAT_SVM = "RecursiveSVM", "TopDown", "FlatSVM"
TREE, FLAT = "Hieron, tree", "Hieron, flat"
# The same kind of weights, trained with the tree and without.
PAIRS = {RECURSIVE: (RECURSIVE, FLAT_SVM), TOP_DOWN: (TOP_DOWN, FLAT_SVM), "Hieron": (TREE, FLAT)}
MEASURES = {
    "accuracy": ("accuracy", "{:.4f}", max),
    "tree_induced_error": ("tree-induced error", "{:.4f}", min),
    "hierarchical_f1": ("hierarchical F1", "{:.4f}", max),
    "seconds": ("seconds to fit", "{:.1f}", min),
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
WARM_UP_ROWS = 1_000  # fewer rows have so few features that another solver is chosen
# The range of codes at the end of a title, as in "Neoplasms (C00-D49)", which is not shown.
CODE_RANGE = re.compile(r"\s*\([A-Z]\w*-[A-Z]\w*\)$")


@dataclass(frozen=True)
class Outcome:
    """The result of one method."""

    name: str
    seconds: float
    report: Report

    @property
    def measures(self) -> dict[str, float]:
        """The compared numbers, by name."""
        return {name: self.report.metrics[name] for name in list(MEASURES)[:-1]} | {"seconds": self.seconds}


@dataclass(frozen=True)
class Comparison:
    """The results of all methods on a data set, and the predictions of the first one for the sample texts."""

    data: Dataset
    outcomes: list[Outcome]
    samples: list[Sample]

    @property
    def lead(self) -> Outcome:
        """The first method, whose report is shown in full and which classifies the samples, best or not."""
        return self.outcomes[0]

    @property
    def name(self) -> str:
        """The name of the first method."""
        return self.lead.name

    @property
    def report(self) -> Report:
        """The report of the first method."""
        return self.lead.report

    @property
    def table(self) -> Table:
        """The table of methods."""
        return table_of_measures("method", MEASURES, [(outcome.name, outcome.measures) for outcome in self.outcomes])

    @property
    def best(self) -> Outcome:
        """The method with the smallest tree-induced error."""
        return min(self.outcomes, key=lambda outcome: outcome.measures["tree_induced_error"])

    @property
    def tree_beats_flat(self) -> dict[str, bool]:
        """For each pair of methods, whether the tree-induced error is smaller with the tree than without."""
        errors = {outcome.name: outcome.measures["tree_induced_error"] for outcome in self.outcomes}
        return {name: errors[tree] < errors[flat] for name, (tree, flat) in PAIRS.items()}

    @property
    def verdict(self) -> str:
        """One sentence about whether the tree helps."""
        better = [name for name, is_better in self.tree_beats_flat.items() if is_better]
        others = [name for name in PAIRS if name not in better]
        if better and others:
            claim = f"The tree helps {' and '.join(better)}, and not {' or '.join(others)}"
        else:
            claim = "The tree helps here" if better else "The tree does not help here"
        return f"{claim}: {'; '.join(map(self._describe_pair, PAIRS))}."

    def _describe_pair(self, name: str) -> str:
        measures = {outcome.name: outcome.measures for outcome in self.outcomes}
        tree, flat = (measures[method] for method in PAIRS[name])
        return (
            f"{name} is {tree['tree_induced_error']:.3f} edges off on average and right in {tree['accuracy']:.1%} of "
            f"all rows with it, {flat['tree_induced_error']:.3f} edges and {flat['accuracy']:.1%} without"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the results as values for JSON."""
        return {
            "methods": [{"name": outcome.name, **outcome.measures} for outcome in self.outcomes],
            "lead": self.name,
            "best": self.best.name,
            "tree_beats_flat": self.tree_beats_flat,
        }


def methods(taxonomy: Any) -> dict[str, Any]:
    """Return the unfitted learners to compare, by name; all are deterministic."""
    from cladist.learners.flat import FlatSVM
    from cladist.learners.local.top_down import TopDown
    from cladist.learners.online.hieron import Hieron
    from cladist.learners.recursive import RecursiveSVM
    from cladist.solvers.relations import Relations

    return {
        RECURSIVE: RecursiveSVM(taxonomy, loss="squared_hinge", relations=Relations(blocks_per_round=2), n_jobs=-1),
        TOP_DOWN: TopDown(taxonomy, n_jobs=-1),
        FLAT_SVM: FlatSVM(taxonomy, n_jobs=-1),
        TREE: Hieron(taxonomy, random_state=0),
        FLAT: Hieron(taxonomy.flattened(), random_state=0),
        "Hieron, greedy": TopDown(taxonomy, estimator=Hieron(random_state=0)),
    }


def compare(data: Dataset, *, texts: tuple[str, ...] = DIAGNOSES) -> Comparison:
    """Train every method on the training part, evaluate it on the test part, and classify `texts` with the first.

    All methods are evaluated on the taxonomy of the data, including those trained without it.
    """
    from cladist import progress
    from cladist.metrics import report

    assert data.taxonomy is not None
    with progress.task("Warming up"):
        _compile(data)
    outcomes: list[Outcome] = []
    lead: Any = None
    for name, model in methods(data.taxonomy).items():
        with progress.task(name):
            start = time.perf_counter()
            model.fit(data.X_train, data.y_train)
            seconds = time.perf_counter() - start
        outcomes.append(Outcome(name, seconds, report(data.y_test, model.predict(data.X_test), data.taxonomy)))
        lead = model if lead is None else lead  # models are large; the others are not kept
    with progress.task("Classifying the samples"):
        return Comparison(data, outcomes, classify(lead, data, texts))


def _compile(data: Dataset) -> None:
    """Compile every kernel, or load it from the cache, before times are measured."""
    from cladist.metrics import report

    assert data.taxonomy is not None
    subset = slice(None, None, max(1, len(data.y_train) // WARM_UP_ROWS))
    X, y = data.X_train[subset], data.y_train[subset]
    models = methods(data.taxonomy)
    for name in (RECURSIVE, TOP_DOWN, FLAT_SVM, TREE):  # the others run the same kernels
        report(y, models[name].fit(X, y).predict(X), data.taxonomy)


def classify(model: Any, data: Dataset, texts: tuple[str, ...]) -> list[Sample]:
    """Return the predictions of a model for new texts, with the titles of the nodes on the paths."""
    from cladist.features import text_features

    vectoriser = text_features().fit(data.texts_train)  # the rows of the data are vectorised in this way
    titles = model.taxonomy_.titles
    rows = vectoriser.transform(texts)
    predictions = zip(texts, model.predict(rows), model.predict_paths(rows), strict=True)
    return [
        Sample(text, str(label), [CODE_RANGE.sub("", titles.get(name, name)) for name in path])
        for text, label, path in predictions
    ]
