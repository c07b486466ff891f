"""Which features of texts: words, characters, or both, on five sets of texts.

`python -m benchmarks.text_features choose` compares settings of `TextFeatures` by cross-validation on part of the
training rows. `python -m benchmarks.text_features compare` trains on all training rows with words and word pairs and
with the defaults, and predicts the test rows: nothing is chosen there. C is 1 unless it is chosen by cross-validation
on training rows; `RecursiveSVM` has the squared hinge loss. naics2017 and onet_titles have no split of their own: a
random quarter is held out to test on. Both write to benchmarks/results; seconds are CPU seconds of one process.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

import cladist
from benchmarks.harness import RESULTS, print_rows, write_results
from cladist import RecursiveSVM, TopDown
from cladist.datasets import (
    Dataset,
    load_clinc150,
    load_icd10cm,
    load_naics2017,
    load_news20,
    load_onet_titles,
)
from cladist.features import text_features
from cladist.metrics import accuracy, tree_induced_error
from cladist.taxonomy import Taxonomy

FOLDS = 3
ROWS = {"news20": 1_500}  # of the training rows in a study; posts are long
MOST_ROWS = 9_000
# news20 has words alone, counted as 1 + log: word pairs of such long texts would be a million columns.
BASE: dict[str, dict[str, Any]] = {"news20": {"words": (1, 1), "sublinear_tf": True}}
EQUAL = {"character_share": 0.5}
SETTINGS: dict[str, dict[str, Any]] = {
    "words": {"characters": False},
    "characters 4": {"words": False, "characters": (4, 4)},
    "both, 3": {"characters": (3, 3), **EQUAL},
    "both, 5": {"characters": (5, 5), **EQUAL},
    "both, 3-5": {"characters": (3, 5), **EQUAL},
    "both, 4": {"characters": (4, 4), **EQUAL},
    "both, 4, share 0.3": {"characters": (4, 4), "character_share": 0.3},
    "both, 4, share 0.7": {"characters": (4, 4), "character_share": 0.7},
    "both, 4, counts 1 + log": {"characters": (4, 4), **EQUAL, "sublinear_tf": True},
    "both, 4, in 2 texts": {"characters": (4, 4), **EQUAL, "min_df": 2},
    "both, 4, 10,000 each": {"characters": (4, 4), **EQUAL, "max_features": 10_000},
    "hashed words": {"characters": False, "hashing": True},
    "hashed, both, 4": {"characters": (4, 4), **EQUAL, "hashing": True},
}
LEARNERS: dict[str, Callable[[Taxonomy], Any]] = {
    "TopDown": TopDown,
    "RecursiveSVM": lambda taxonomy: RecursiveSVM(taxonomy, loss="squared_hinge"),
    "RecursiveSVM, C chosen": lambda taxonomy: GridSearchCV(
        RecursiveSVM(taxonomy, loss="squared_hinge"), {"C": [1, 3, 10]}, cv=KFold(FOLDS, shuffle=True, random_state=0)
    ),
}


class Texts(NamedTuple):
    """A set of texts in two parts."""

    train: Any
    y_train: Any
    test: Any
    y_test: Any
    taxonomy: Taxonomy


def load_split(load: Callable[[], Dataset]) -> Texts:
    """Load a data set that has parts."""
    data = load()
    assert data.taxonomy is not None
    return Texts(data.texts_train, data.y_train, data.texts_test, data.y_test, data.taxonomy)


def hold_out(load: Callable[[], Dataset]) -> Texts:
    """Load a data set without parts, and hold a random quarter out."""
    data = load().split(0.25, random_state=0)
    assert data.taxonomy is not None
    return Texts(data.X_train, data.y_train, data.X_test, data.y_test, data.taxonomy)


SETS: dict[str, Callable[[], Texts]] = {
    "naics2017": lambda: hold_out(load_naics2017),
    "icd10cm": lambda: load_split(load_icd10cm),
    "clinc150": lambda: load_split(load_clinc150),
    "news20": lambda: load_split(load_news20),
    "onet_titles": lambda: hold_out(load_onet_titles),
}

# ---------------------------------------------------------------- by cross-validation on training rows


def choose(name: str, learners: list[str]) -> list[dict[str, Any]]:
    """Return the mean measures of every setting and learner over the folds of part of the training rows."""
    data = SETS[name]()
    rows = np.random.default_rng(0).permutation(len(data.train))[: ROWS.get(name, MOST_ROWS)]
    texts, y = np.asarray(data.train)[rows], np.asarray(data.y_train)[rows]
    table = []
    for setting, options in SETTINGS.items():
        folds = [
            judge(texts[fitted], y[fitted], texts[held], y[held], data.taxonomy, BASE.get(name, {}) | options, learners)
            for fitted, held in KFold(FOLDS).split(texts)
        ]
        for found in zip(*folds, strict=True):
            means = {key: float(np.mean([row[key] for row in found])) for key in found[0] if key != "learner"}
            table.append(
                {"data": name, "rows": len(texts), "setting": setting, "learner": found[0]["learner"], **means}
            )
    print_rows(table)
    return table


def judge(
    texts: Any, y: Any, others: Any, truth: Any, taxonomy: Taxonomy, options: dict[str, Any], learners: list[str]
) -> list[dict[str, Any]]:
    """Fit features and learners to texts, and return the measures on other texts, one row per learner."""
    start = time.process_time()
    vectorizer = text_features(**options)
    X = vectorizer.fit_transform(texts)
    vectorising = time.process_time() - start
    X_others = vectorizer.transform(others)
    table = []
    for name in learners:
        start = time.process_time()
        model = LEARNERS[name](taxonomy).fit(X, y)
        seconds = time.process_time() - start
        table.append({"learner": name, **measure(truth, model.predict(X_others), taxonomy)})
        table[-1] |= {"features": X.shape[1], "entries_per_row": X.nnz / X.shape[0]}
        table[-1] |= {"vectorising": vectorising, "fitting": seconds}
    return table


def measure(truth: Any, predicted: Any, taxonomy: Taxonomy) -> dict[str, float]:
    """Return accuracy and tree-induced error."""
    return {
        "accuracy": accuracy(truth, predicted, taxonomy),
        "tree_induced_error": tree_induced_error(truth, predicted, taxonomy),
    }


# ---------------------------------------------------------------- on test rows


def compare(name: str, learners: list[str]) -> list[dict[str, Any]]:
    """Return the measures on the test rows, words and word pairs against the defaults, with times and sizes."""
    data, base = SETS[name](), BASE.get(name, {})
    table = []
    for features, options in (("words", {"characters": False}), ("default", {})):
        for learner in learners:
            model = make_pipeline(text_features(**base | options), LEARNERS[learner](data.taxonomy))
            start = time.process_time()
            X = model[0].fit_transform(data.train)
            vectorising = time.process_time() - start
            fitted = model[1].fit(X, data.y_train)
            fitting = time.process_time() - start - vectorising
            fitted = getattr(fitted, "best_estimator_", fitted)
            model = make_pipeline(model[0], fitted)
            start = time.process_time()
            predicted = model.predict(data.test)
            predicting = time.process_time() - start
            row = {"data": name, "features": features, "learner": learner, "C": fitted.C}
            row |= measure(data.y_test, predicted, data.taxonomy) | {"columns": X.shape[1], "entries": X.nnz}
            row |= {"vectorising": vectorising, "fitting": fitting, "predicting": predicting}
            table.append(row | {"model_mib": saved_size(model) / 2**20})
    print_rows(table)
    return table


def saved_size(model: Any) -> int:
    """Return the bytes of a model on disk."""
    with tempfile.TemporaryDirectory() as folder:
        cladist.save(model, Path(folder, "model"))
        return sum(file.stat().st_size for file in Path(folder, "model").iterdir())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=["choose", "compare"])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS)[:2], choices=list(LEARNERS))
    given = parser.parse_args()
    study = choose if given.study == "choose" else compare
    results = f"text-features-{given.study}"
    for name in given.sets:  # written after each, beside the rows of the other sets
        rows = study(name, given.learners)
        write_results(results, other_rows(results, name, given.learners) + rows, quiet=True, folds=FOLDS)


def other_rows(results: str, name: str, learners: list[str]) -> list[dict[str, Any]]:
    """Return the rows that were written about other data sets and learners."""
    path = RESULTS / f"{results}.json"
    rows = json.loads(path.read_text())["rows"] if path.is_file() else []
    return [row for row in rows if row["data"] != name or row["learner"] not in learners]


if __name__ == "__main__":
    main()
