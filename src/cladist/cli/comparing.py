"""The demo's work: methods compared on one data set, and texts classified by the best of them."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cladist.plots import Sample

if TYPE_CHECKING:
    from cladist.datasets import Dataset
    from cladist.metrics import Report

TREE, FLAT = "Hieron, tree", "Hieron, flat"

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
    """How all methods did on a data set, and what the best of them says about the sample texts."""

    data: Dataset
    outcomes: list[Outcome]
    samples: list[Sample]

    @property
    def best(self) -> Outcome:
        """The method with the smallest tree-induced error."""
        return min(self.outcomes, key=lambda outcome: outcome.measures["tree_induced_error"])

    @property
    def tree_beats_flat(self) -> bool:
        """Whether Hieron makes smaller errors with the tree than without."""
        errors = {outcome.name: outcome.measures["tree_induced_error"] for outcome in self.outcomes}
        return errors[TREE] < errors[FLAT]

    @property
    def verdict(self) -> str:
        """What the comparison says about the tree, in a sentence."""
        found = {o.name: o.measures for o in self.outcomes}
        error, accuracy = ([found[name][key] for name in (TREE, FLAT)] for key in ("tree_induced_error", "accuracy"))
        helps = "The tree helps here" if self.tree_beats_flat else "The tree does not help here"
        return (
            f"{helps}: Hieron with the tree is {error[0]:.3f} edges off on average and right in {accuracy[0]:.1%} of "
            f"all rows; without it, {error[1]:.3f} edges and {accuracy[1]:.1%}."
        )


def methods(taxonomy: Any) -> dict[str, Any]:
    """Return the unfitted learners to compare, by name; all are repeatable."""
    from sklearn.svm import LinearSVC

    from cladist.learners.local.top_down import TopDown
    from cladist.learners.online.hieron import Hieron

    return {
        TREE: Hieron(taxonomy, random_state=0),
        FLAT: Hieron(taxonomy.flattened(), random_state=0),
        "Hieron, greedy": TopDown(taxonomy, estimator=Hieron(random_state=0)),
        "TopDown, LinearSVC": TopDown(taxonomy, estimator=LinearSVC(random_state=0)),
    }


def compare(data: Dataset, *, texts: tuple[str, ...] = DIAGNOSES) -> Comparison:
    """Fit every method on the training part, judge it on the test part, and classify `texts` with the best.

    Errors are measured on the data's own taxonomy, whatever the method sees of it.
    """
    from cladist import progress
    from cladist.metrics import report

    with progress.task("Warming up"):
        _compile(data)
    outcomes: list[Outcome] = []
    best: Any = None
    for name, model in methods(data.taxonomy).items():
        with progress.task(name):
            started = time.perf_counter()
            model.fit(data.X_train, data.y_train)
            seconds = time.perf_counter() - started
        assert data.taxonomy is not None
        outcomes.append(Outcome(name, seconds, report(data.y_test, model.predict(data.X_test), data.taxonomy)))
        # Models are large; only the best so far is kept.
        if Comparison(data, outcomes, []).best is outcomes[-1]:
            best = model
    with progress.task("Classifying the samples"):
        return Comparison(data, outcomes, classify(best, data, texts))


def _compile(data: Dataset) -> None:
    """Let every kernel be compiled, or read from its cache, before the clock runs."""
    from cladist.learners.online.hieron import Hieron
    from cladist.metrics import report

    assert data.taxonomy is not None
    few, labels = data.X_train[:2], data.y_train[:2]
    report(labels, Hieron(data.taxonomy, random_state=0).fit(few, labels).predict(few), data.taxonomy)


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
