"""What recursive regularisation costs where the tree says nothing: HR minus flat over seeds, C chosen for both.

Two of HR: the paper's problem, and the one whose `sharing` is chosen together with C on the training part.

Topics   `make_topics(informative=0)` in two sizes, a new set for each seed
CLINC150 its leaves dealt at random to the places of leaves in its tree, anew for each seed; flat learners see no tree
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import cladist
from benchmarks import cells
from benchmarks.cells import NO_DATA, Cell
from benchmarks.comparison import FLAT, METHODS
from benchmarks.data_sets import DATA
from benchmarks.papers.hr.verdicts import signed
from benchmarks.studies import Study
from benchmarks.tables import Part
from cladist import Taxonomy
from cladist.datasets import Dataset, make_topics

NAME, SEEDS = "hr-uninformative", 5
NOISE = 0.8  # flat accuracy is about 80 %: neither hopeless nor trivial
SIZES: dict[str, dict[str, Any]] = {
    "topics-20": {"n_samples": 400, "n_features": 1_000, "branching": (4, 5), "n_test": 4_000},
    "topics-60": {"n_samples": 1_000, "n_features": 5_000, "branching": (5, 4, 3), "n_test": 4_000},
}
SHUFFLED = "clinc150-shuffled"
TITLES = {"topics-20": "topics, 20 leaves", "topics-60": "topics, 60 leaves", SHUFFLED: "CLINC150, shuffled"}
CHOSEN = "-sharing-chosen"  # ends the name of a method whose `sharing` is chosen; the paper's has sharing=1
POINT = 1.0  # what a tree that says nothing may cost
HEADER = [
    "data set, methods",
    "flat accuracy",
    "HR minus flat, seed by seed",
    "mean ± standard error",
    "within a point",
]
REMARK = (
    "Accuracy in %, differences in points; C chosen by each learner itself (C='cv') on the training part, with "
    "'sharing chosen' the `sharing` of HR, too (sharing='cv'; the paper's problem has 1). Within a point: the mean's "
    "size is at most 1."
)


def settings(data: str, method: str) -> dict[str, Any]:
    """Return what decides a cell: a data set ends with its seed, as in topics-20-seed-0."""
    name, _, seed = data.partition("-seed-")
    hr = method.removesuffix(CHOSEN)
    parameters = METHODS[hr].parameters | ({"sharing": "cv"} if method.endswith(CHOSEN) else {})
    found = {"data": name, "method": hr, "seed": int(seed), "C": "cv", "parameters": parameters}
    return found | ({"noise": NOISE, **SIZES[name]} if name in SIZES else {})


def measure(data: str, method: str) -> Cell:
    """Fit both, each with its own C chosen on the training part, and return how far apart their accuracies are."""
    started, given = time.perf_counter(), settings(data, method)
    rows = drawn(given["data"], given["seed"])
    flat_method = FLAT[given["method"]]
    flat = scored(flat_method, rows, METHODS[flat_method].parameters)
    hr = scored(given["method"], rows, {"sharing": 1.0, **given["parameters"]})
    return {
        "accuracy": {"HR": hr["accuracy"], "flat": flat["accuracy"]},
        "difference": round(hr["accuracy"] - flat["accuracy"], 4),
        "C": {"HR": hr["C"], "flat": flat["C"]},
        "sharing": hr["sharing"],
        "seconds": round(time.perf_counter() - started, 1),
    }


def drawn(data: str, seed: int) -> Dataset:
    """Return a set of rows under a tree that says nothing about them."""
    if data != SHUFFLED:
        return make_topics(**SIZES[data], noise=NOISE, informative=0, random_state=seed)
    source = DATA["clinc150"].source()
    assert source is not None
    return shuffled(source.load(), seed)


def scored(method: str, data: Dataset, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the test accuracy in % of a method that chooses its own C, and what it chose."""
    learner = getattr(cladist, METHODS[method].learner)
    model = learner(data.taxonomy, C="cv", random_state=0, **parameters).fit(data.X_train, data.y_train)
    accuracy = 100 * float(model.score(data.X_test, data.y_test))
    return {"accuracy": accuracy, "C": model.C_, "sharing": getattr(model, "sharing_", 0.0)}


def shuffled(data: Dataset, seed: int) -> Dataset:
    """Return the data with the leaves dealt at random to the places of leaves."""
    tree = data.taxonomy
    assert tree is not None
    leaves = [tree.names[v] for v in tree.leaves]
    dealt = dict(zip(leaves, np.random.default_rng(seed).permutation(leaves).tolist(), strict=True))
    parents = {name: None if p < 0 else tree.names[p] for name, p in zip(tree.names, tree.parent, strict=True)}
    other = Taxonomy.from_parents({dealt.get(name, name): parent for name, parent in parents.items()})
    parts = data.X_train, data.y_train, data.X_test, data.y_test
    return Dataset.from_parts(*parts, taxonomy=other, source=f"{data.source}, shuffled")


def missing(data: str, _: str) -> str:
    """Return why a cell cannot be measured here."""
    return NO_DATA if data.startswith(SHUFFLED) and DATA["clinc150"].source() is None else ""


STUDY = Study(
    NAME,
    lambda: [
        (f"{d}-seed-{seed}", f"{m}{sharing}")
        for d in TITLES
        for m in FLAT
        for sharing in ("", CHOSEN)
        for seed in range(SEEDS)
    ],
    settings,
    missing,
    "benchmarks.papers.hr.uninformative:measure",
)


def part() -> Part:
    """Return the table: a line for each data set and method, over seeds."""
    by_name: dict[str, list[Cell]] = {}
    found = cells.measured(NAME)
    for d, m in STUDY.pairs():
        if (d, m) in found:
            given = found[d, m]["settings"]
            chosen = ", sharing chosen" if m.endswith(CHOSEN) else ""
            methods = f"{METHODS[given['method']].title}{chosen} − {METHODS[FLAT[given['method']]].title}"
            by_name.setdefault(f"{TITLES[given['data']]}, {methods}", []).append(found[d, m])
    return Part("A tree that says nothing", HEADER, [_line(name, rows) for name, rows in by_name.items()], [REMARK])


def _line(name: str, found: list[Cell]) -> list[str]:
    gained = [cell["difference"] for cell in found]
    mean, n = float(np.mean(gained)), len(gained)
    error = f" ± {float(np.std(gained, ddof=1) / np.sqrt(n)):.2f}" if n > 1 else ""
    return [
        name,
        f"{np.mean([cell['accuracy']['flat'] for cell in found]):.1f}",
        " ".join(signed(gain, 2) for gain in gained),
        signed(mean, 2) + error,
        "yes" if abs(mean) <= POINT else "no",
    ]
