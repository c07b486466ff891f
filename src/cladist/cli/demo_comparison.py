"""The demo's work: methods compared on one data set, and texts classified by the first of them."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cladist.report import Sample

if TYPE_CHECKING:
    from cladist.datasets import Dataset
    from cladist.metrics import Report

RECURSIVE, TOP_DOWN, FLAT_SVM = "RecursiveSVM", "TopDown", "FlatSVM"
TREE, FLAT = "Hieron, tree", "Hieron, flat"
# The same kind of vectors, learnt with the tree and without.
PAIRS = {RECURSIVE: (RECURSIVE, FLAT_SVM), TOP_DOWN: (TOP_DOWN, FLAT_SVM), "Hieron": (TREE, FLAT)}

# What a person might type; none of them is a text of the data.
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
ROWS_TO_WARM_UP = 1_000  # fewer have so few features that another way is taken
# "Neoplasms (C00-D49)": the codes that a chapter or block spans tell a reader of its title nothing.
CODE_RANGE = re.compile(r"\s*\([A-Z]\w*-[A-Z]\w*\)$")


@dataclass(frozen=True)
class Outcome:
    """How one method did."""

    name: str
    seconds: float
    report: Report

    @property
    def measures(self) -> dict[str, float]:
        """The numbers compared, by name."""
        names = ("accuracy", "tree_induced_error", "hierarchical_f1")
        return {name: self.report.metrics[name] for name in names} | {"seconds": self.seconds}


@dataclass(frozen=True)
class Comparison:
    """How all methods did on a data set, and what the first of them says about the sample texts."""

    data: Dataset
    outcomes: list[Outcome]
    samples: list[Sample]

    @property
    def lead(self) -> Outcome:
        """The first method, which is reported at length and files the samples, whether it is the best or not."""
        return self.outcomes[0]

    @property
    def best(self) -> Outcome:
        """The method with the smallest tree-induced error."""
        return min(self.outcomes, key=lambda outcome: outcome.measures["tree_induced_error"])

    @property
    def tree_beats_flat(self) -> dict[str, bool]:
        """Whether the tree makes errors smaller, for each that learns with and without it."""
        errors = {outcome.name: outcome.measures["tree_induced_error"] for outcome in self.outcomes}
        return {who: errors[tree] < errors[flat] for who, (tree, flat) in PAIRS.items()}

    @property
    def verdict(self) -> str:
        """What the comparison says about the tree, in a sentence."""
        helped = [who for who, answer in self.tree_beats_flat.items() if answer]
        others = [who for who in PAIRS if who not in helped]
        if helped and others:
            helps = f"The tree helps {' and '.join(helped)}, and not {' or '.join(others)}"
        else:
            helps = "The tree helps here" if helped else "The tree does not help here"
        return f"{helps}: {'; '.join(self._with_and_without(who) for who in PAIRS)}."

    def _with_and_without(self, who: str) -> str:
        measures = {outcome.name: outcome.measures for outcome in self.outcomes}
        with_tree, without = (measures[name] for name in PAIRS[who])
        return (
            f"{who} is {with_tree['tree_induced_error']:.3f} edges off on average and right in "
            f"{with_tree['accuracy']:.1%} of all rows with it, {without['tree_induced_error']:.3f} edges and "
            f"{without['accuracy']:.1%} without"
        )


def methods(taxonomy: Any) -> dict[str, Any]:
    """Return the unfitted learners to compare, by name; all are repeatable."""
    from cladist.learners.flat.svm import FlatSVM
    from cladist.learners.local.top_down import TopDown
    from cladist.learners.online.hieron import Hieron
    from cladist.learners.recursive.svm import RecursiveSVM

    return {
        RECURSIVE: RecursiveSVM(taxonomy, loss="squared_hinge", blocks_per_round=2, n_jobs=-1),
        TOP_DOWN: TopDown(taxonomy, n_jobs=-1),
        FLAT_SVM: FlatSVM(taxonomy, n_jobs=-1),
        TREE: Hieron(taxonomy, random_state=0),
        FLAT: Hieron(taxonomy.flattened(), random_state=0),
        "Hieron, greedy": TopDown(taxonomy, estimator=Hieron(random_state=0)),
    }


def compare(data: Dataset, *, texts: tuple[str, ...] = DIAGNOSES) -> Comparison:
    """Fit every method on the training part, judge it on the test part, and classify `texts` with the first.

    Errors are measured on the data's own taxonomy, whatever the method sees of it.
    """
    from cladist import progress
    from cladist.metrics import report

    with progress.task("Warming up"):
        _compile(data)
    outcomes: list[Outcome] = []
    lead: Any = None
    for name, model in methods(data.taxonomy).items():
        with progress.task(name):
            started = time.perf_counter()
            model.fit(data.X_train, data.y_train)
            seconds = time.perf_counter() - started
        assert data.taxonomy is not None
        outcomes.append(Outcome(name, seconds, report(data.y_test, model.predict(data.X_test), data.taxonomy)))
        lead = model if lead is None else lead  # models are large; the others are not kept
    with progress.task("Classifying the samples"):
        return Comparison(data, outcomes, classify(lead, data, texts))


def _compile(data: Dataset) -> None:
    """Let every kernel be compiled, or read from its cache, before the clock runs."""
    from cladist.metrics import report

    assert data.taxonomy is not None
    some = slice(None, None, max(1, len(data.y_train) // ROWS_TO_WARM_UP))
    X, y = data.X_train[some], data.y_train[some]
    models = methods(data.taxonomy)
    for name in (RECURSIVE, TOP_DOWN, FLAT_SVM, TREE):  # the others run the same kernels
        report(y, models[name].fit(X, y).predict(X), data.taxonomy)


def classify(model: Any, data: Dataset, texts: tuple[str, ...]) -> list[Sample]:
    """Return what a model says about new texts, with the titles of the nodes on the way."""
    from cladist.features import text_features

    vectoriser = text_features().fit(data.texts_train)  # the data holds its rows vectorised this way
    titles = model.taxonomy_.titles
    rows = vectoriser.transform(texts)
    paths = zip(texts, model.predict(rows), model.predict_paths(rows), strict=True)
    return [
        Sample(text, str(label), [CODE_RANGE.sub("", titles.get(name, name)) for name in path])
        for text, label, path in paths
    ]
