"""What recursive regularisation costs where the tree says nothing: HR minus flat over seeds, C chosen for both.

Two of HR: the paper's problem, and the one whose `sharing` is chosen together with C on the training part.

``python benchmarks/papers/hr/uninformative.py`` goes on where an earlier run ended.

Topics   `make_topics(informative=0)` in two sizes, a new set for each seed
CLINC150 its leaves dealt at random to the places of leaves in its tree, anew for each seed; flat learners see no tree
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import cladist
from benchmarks.harness import Outcome, print_outcome, write_results
from benchmarks.papers.hr.data_sets import DATA
from benchmarks.papers.hr.methods import FLAT, METHODS
from benchmarks.papers.hr.uninformative_showing import remarks, summary, table
from benchmarks.papers.rows import MEASURED, NO_DATA, Row, run_rows
from cladist import Taxonomy
from cladist.datasets import Dataset, make_topics

NAME = "hr-uninformative"
SEEDS = range(5)
NOISE = 0.8  # flat accuracy is about 80 %: neither hopeless nor trivial
SIZES: dict[str, dict[str, Any]] = {
    "topics, 20 leaves": {"n_samples": 400, "n_features": 1_000, "branching": (4, 5), "n_test": 4_000},
    "topics, 60 leaves": {"n_samples": 1_000, "n_features": 5_000, "branching": (5, 4, 3), "n_test": 4_000},
}
SHUFFLED = "CLINC150, shuffled"
SHARINGS: dict[str, dict[str, Any]] = {"": {}, ", sharing chosen": {"sharing": "cv"}}  # the paper's has sharing=1


def bench(*, seeds: Any = SEEDS, again: bool = False) -> Outcome:
    """Measure every data set, loss and seed that is not measured yet."""
    cases = product((*SIZES, SHUFFLED), FLAT, SHARINGS, seeds)
    plan = [planned(*case) for case in cases]
    found, content = run_rows(
        NAME,
        plan,
        lambda row: measured(row["settings"]),
        order=[(row["data"], row["method"]) for row in plan],
        again=again,
    )
    told = {"measures": "accuracy in %, HR minus flat in points", "summary": summary(content["rows"])}
    if any(content.get(name) != value for name, value in told.items()):
        content = write_results(NAME, content["rows"], quiet=True, **told)
    return Outcome(*table(found), remarks(found), content)


def planned(data: str, method: str, sharing: str, seed: int) -> Row:
    """Return a row before it is measured."""
    parameters = METHODS[method].parameters | SHARINGS[sharing]
    settings = {"data": data, "method": method, "seed": seed, "C": "cv", "parameters": parameters}
    row: Row = {
        "data": f"{data}, seed {seed}",
        "method": f"{METHODS[method].title}{sharing} − {METHODS[FLAT[method]].title}",
        "published": None,
        "settings": settings | ({"noise": NOISE, **SIZES[data]} if data in SIZES else {}),
    }
    missing = data == SHUFFLED and DATA["clinc150"].source() is None
    return row | {"status": NO_DATA} if missing else row


def measured(settings: dict[str, Any]) -> Row:
    """Fit both, each with its own C chosen on the training part, and return how far apart their accuracies are."""
    started = time.perf_counter()
    data, method, seed = (settings[name] for name in ("data", "method", "seed"))
    flat = _flat(FLAT[method], data, None if data == SHUFFLED else seed)
    hr = scored(method, drawn(data, seed), settings["parameters"])
    return {
        "status": MEASURED,
        "accuracy": {"HR": hr["accuracy"], "flat": flat["accuracy"]},
        "difference": round(hr["accuracy"] - flat["accuracy"], 4),
        "C": {"HR": hr["C"], "flat": flat["C"]},
        "sharing": hr["sharing"],
        "seconds": round(time.perf_counter() - started, 1),
    }


def drawn(data: str, seed: int | None) -> Dataset:
    """Return a set of rows under a tree that says nothing about them; CLINC150 with no seed as it is."""
    if data != SHUFFLED:
        return make_topics(**SIZES[data], noise=NOISE, informative=0, random_state=seed)
    return _clinc150() if seed is None else shuffled(_clinc150(), seed)


def scored(method: str, data: Dataset, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the test accuracy in % of a method that chooses its own C, and what it chose."""
    learner = getattr(cladist, METHODS[method].learner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at a C that is tried and not chosen
        if method in FLAT:
            parameters = {"sharing": 1.0, **parameters}  # the paper's problem, unless it is to be chosen
        model = learner(data.taxonomy, C="cv", random_state=0, n_jobs=-1, **parameters)
        model.fit(data.X_train, data.y_train)
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


@cache
def _clinc150() -> Dataset:
    source = DATA["clinc150"].source()
    assert source is not None
    return source.load()


@cache
def _flat(method: str, data: str, seed: int | None) -> dict[str, Any]:
    """Return the score of a flat method, which sees no tree: on CLINC150 it is the same for all seeds."""
    return scored(method, drawn(data, seed), METHODS[method].parameters)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many seeds, from 0 up")
    parser.add_argument("--again", action="store_true", help="measure rows anew that are there")
    given = parser.parse_args()
    print_outcome(bench(seeds=range(given.seeds), again=given.again))


if __name__ == "__main__":
    main()
