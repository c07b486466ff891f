"""What the words of the taxonomy are worth: few rows per leaf, and none at all.

`python -m benchmarks.label_text curves` trains on 1 to 50 rows per leaf, with and without the texts of the leaves, on
words, on an embedding and on both. Their weights are 1 there: with one row per leaf there is nothing to choose with.

`python -m benchmarks.label_text zero` takes all rows of a fifth of the leaves away, and predicts the test rows: those
of these leaves, and those of the others. Weights are chosen on the training rows. Beside it stand the nearest leaf by
the embedding of its text, and by words.

`python -m benchmarks.label_text reach` asks how much could be right about these rows at most: by a model that has been
trained on them, by one that is told which test rows belong to leaves without rows, and by one whose scores of these
leaves are raised until the rows of others lose some points, which is read off the test rows and is no choice.

The texts of leaves are their titles; those of clinc150 are the names of intents. Both studies write to
benchmarks/results; seconds are CPU seconds of one process.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.embeddings import MODEL
from benchmarks.harness import RESULTS, print_rows, write_results
from benchmarks.text_features import SETS, Texts, measure
from cladist import RecursiveSVM, TopDown
from cladist.features import Embedding, TextFeatures
from cladist.taxonomy import Taxonomy

DATA = ("naics2017", "clinc150", "icd10cm")
FEATURES = ("words", "embedding", "both")
KEYS = ("data", "features", "method", "rows_per_leaf", "label_text")  # of a row of results, which replaces the last one
COUNTS = (1, 2, 5, 10, 20, 50)
MOST_TEST = 5_000  # rows of a learning curve
MOST_EMBEDDED = 20_000  # rows that the embedding alone is trained on: dense rows take long
STRIPPED = 0.2
LOST_POINTS = (0, 5, 10, 20)  # of accuracy on rows of other leaves
SHARE = 0.2  # of the embedding; TextFeatures' own where there are no labels


class Study:
    """A data set, its texts of nodes, and the features of all texts."""

    def __init__(self, name: str) -> None:
        data: Texts = SETS[name]()
        self.name, self.taxonomy = name, data.taxonomy
        self.train, self.test = (np.asarray(texts, dtype=object) for texts in (data.train, data.test))
        self.y, self.y_test = (np.asarray(labels).astype(str) for labels in (data.y_train, data.y_test))
        self.words = [data.taxonomy.words_of(node) for node in data.taxonomy.names]
        self.leaves = np.array([data.taxonomy.names[v] for v in data.taxonomy.leaves])

    def features(self, kind: str, rows: Any) -> tuple[Any, Any, Any]:
        """Return the features of some training texts, of the nodes' texts and of the test texts."""
        if kind == "embedding":
            model = Embedding(MODEL).fit(self.words[:1])
        else:
            embedding = MODEL if kind == "both" else None
            model = TextFeatures(embedding=embedding, embedding_share=SHARE)
            model.fit(np.concatenate([self.train[rows], np.array(self.words, dtype=object)]))
        return model.transform(self.train[rows]), model.transform(self.words), model.transform(self.test)


# ---------------------------------------------------------------- few rows


def curves(name: str, features: list[str], counts: list[int]) -> list[dict[str, Any]]:
    """Return accuracy and tree-induced error by the number of rows per leaf."""
    study, table = Study(name), []
    chosen = np.sort(np.random.default_rng(0).permutation(len(study.test))[:MOST_TEST])
    study.test, study.y_test = study.test[chosen], study.y_test[chosen]
    order = np.random.default_rng(1).permutation(len(study.y))
    for count in counts:
        rows = first_of_each(study.y[order], count)
        rows = np.sort(order[rows])
        for kind in features:
            if kind == "embedding" and len(rows) > MOST_EMBEDDED:
                continue
            X, X_nodes, X_test = study.features(kind, rows)
            for use in (None, "rows", "prior"):
                options = {} if use is None else {"label_text": use, "label_weight": 1.0, "label_features": X_nodes}
                start = time.process_time()
                model = recursive(study.taxonomy, **options).fit(X, study.y[rows])
                seconds = time.process_time() - start
                row = {"data": name, "rows_per_leaf": count, "rows": len(rows), "features": kind, "label_text": use}
                measures = measure(study.y_test, model.predict(X_test).astype(str), study.taxonomy)
                table.append(row | measures | {"seconds": seconds})
    print_rows(table)
    return table


def first_of_each(y: Any, count: int) -> Any:
    """Return the first rows of each label, up to `count`."""
    seen: dict[str, int] = {}
    rows = []
    for row, label in enumerate(y.tolist()):
        seen[label] = seen.get(label, 0) + 1
        if seen[label] <= count:
            rows.append(row)
    return np.array(rows)


def recursive(taxonomy: Taxonomy, **options: Any) -> RecursiveSVM:
    """Return the learner of both studies."""
    return RecursiveSVM(taxonomy, loss="squared_hinge", sharing=1.0, **options)


# ---------------------------------------------------------------- no rows


def strip(study: Study) -> tuple[Any, Any]:
    """Return a fifth of the leaves, and the training rows of the others."""
    stripped = np.random.default_rng(0).choice(study.leaves, int(STRIPPED * len(study.leaves)), replace=False)
    return stripped, np.flatnonzero(~np.isin(study.y, stripped))


def zero(name: str, features: list[str], methods: list[str] | None = None) -> list[dict[str, Any]]:
    """Return how often rows of leaves without training rows get the right leaf, and the right parent."""
    study = Study(name)
    stripped, rows = strip(study)
    table = []
    for kind in features:
        X, X_nodes, X_test = study.features(kind, rows)
        of_leaves = X_nodes[study.taxonomy.leaves]
        nearness = X_test @ of_leaves.T
        nearest = study.leaves[
            np.asarray(nearness.todense() if hasattr(nearness, "todense") else nearness).argmax(axis=1)
        ]
        table.append(judged(study, stripped, nearest, method="nearest text", features=kind))
        if kind == "embedding":
            continue
        text = {"empty_leaf": "text", "label_features": X_nodes}
        for method, model in {
            "RecursiveSVM": recursive(study.taxonomy),
            "RecursiveSVM, rows": recursive(study.taxonomy, label_text="rows", **text),
            "RecursiveSVM, prior": recursive(study.taxonomy, label_text="prior", **text),
            "TopDown": TopDown(study.taxonomy),
            "TopDown, rows": TopDown(study.taxonomy, label_text="rows", **text),
        }.items():
            if methods is not None and method.partition(",")[0] not in methods:
                continue
            start = time.process_time()
            model.fit(X, study.y[rows])
            facts = {"seconds": time.process_time() - start, "weight": getattr(model, "label_weight_", None)}
            facts["cost"] = getattr(model, "empty_cost_", None)
            predicted = model.predict(X_test).astype(str)
            table.append(judged(study, stripped, predicted, method=method, features=kind) | facts)
    print_rows(table)
    return table


# ---------------------------------------------------------------- the most that could be reached


def reach(name: str) -> list[dict[str, Any]]:
    """Return how often rows of leaves without training rows could be right, on words."""
    study = Study(name)
    stripped, rows = strip(study)
    X, _, X_test = study.features("words", np.arange(len(study.y)))
    trained = recursive(study.taxonomy).fit(X, study.y).predict(X_test).astype(str)
    table = [judged(study, stripped, trained, method="trained on their rows")]
    X, X_nodes, X_test = study.features("words", rows)
    model = recursive(study.taxonomy, label_text="rows", empty_leaf="text", label_features=X_nodes)
    model.fit(X, study.y[rows])
    scores, classes = np.asarray(model.decision_function(X_test)), np.asarray(model.classes_).astype(str)
    is_empty, of_empty = np.isin(classes, stripped), np.isin(study.y_test, stripped)
    told = np.where(is_empty[None, :] == of_empty[:, None], scores, -np.inf)
    table.append(judged(study, stripped, classes[told.argmax(axis=1)], method="told which rows they are"))
    for points in LOST_POINTS:
        table.append(raised(study, stripped, scores, classes, points / 100))
    alone = np.array([not study.taxonomy.siblings(label) for label in study.y_test[of_empty].tolist()])
    table = [row | {"rows_of_only_children": float(alone.mean())} for row in table]
    print_rows(table)
    return table


def raised(study: Study, stripped: Any, scores: Any, classes: Any, lost: float) -> dict[str, Any]:
    """Return what is right if scores of leaves without rows are raised until other rows lose a share, by bisection."""
    others, is_empty = ~np.isin(study.y_test, stripped), np.isin(classes, stripped)

    def predict(by: float) -> Any:
        return classes[(scores + by * is_empty).argmax(axis=1)]

    def right(by: float) -> float:
        return float(np.mean((predict(by) == study.y_test)[others]))

    low, high, least = 0.0, 10.0, right(0.0) - lost
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if right(middle) >= least else (low, middle)
    return judged(study, stripped, predict(low), method=f"raised, others lose {100 * lost:g} points")


def judged(study: Study, stripped: Any, predicted: Any, **facts: Any) -> dict[str, Any]:
    """Return the shares of rows that are right, of leaves without rows and of the others."""
    is_stripped = np.isin(study.y_test, stripped)
    parent = {name: tuple(study.taxonomy.parents_of(name)) for name in study.leaves.tolist()}
    same = np.array([parent[a] == parent[b] for a, b in zip(predicted.tolist(), study.y_test.tolist(), strict=True)])
    right = predicted == study.y_test
    # Of a leaf all of whose siblings lost their rows too, nothing is known of the parent either.
    has_siblings = {name: any(s not in stripped for s in study.taxonomy.siblings(name)) for name in stripped.tolist()}
    known = is_stripped & np.array([has_siblings.get(label, True) for label in study.y_test.tolist()])
    return {
        "data": study.name, **facts, "rows_of_stripped": int(is_stripped.sum()),
        "leaf": float(right[is_stripped].mean()), "parent": float(same[is_stripped].mean()),
        "parent_with_rows_below": float(same[known].mean()), "others": float(right[~is_stripped].mean()),
        "predicted_stripped": float(np.isin(predicted, stripped).mean()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=["curves", "zero", "reach"])
    parser.add_argument("--sets", nargs="+", default=None, choices=DATA)
    parser.add_argument(
        "--counts", nargs="+", type=int, default=list(COUNTS), help="rows per leaf, of the study curves"
    )
    parser.add_argument("--methods", nargs="+", choices=["RecursiveSVM", "TopDown"], help="of the study zero")
    parser.add_argument("--features", nargs="+", default=list(FEATURES), choices=FEATURES)
    given = parser.parse_args()
    sets = given.sets or [name for name in DATA if given.study == "curves" or name != "clinc150"]
    sets = ["naics2017"] if given.study == "reach" else sets
    results = f"label-text-{given.study}"
    warnings.filterwarnings("ignore", category=UserWarning)
    for name in sets:  # written after each, beside the rows of the other sets
        if given.study == "curves":
            rows = curves(name, given.features, given.counts)
        else:
            rows = reach(name) if given.study == "reach" else zero(name, given.features, given.methods)
        path = RESULTS / f"{results}.json"
        before = json.loads(path.read_text())["rows"] if path.is_file() else []
        keys = [{key: row.get(key) for key in KEYS} for row in rows]
        kept = [row for row in before if {key: row.get(key) for key in KEYS} not in keys]
        write_results(results, kept + rows, quiet=True, model=MODEL, share=SHARE)


if __name__ == "__main__":
    main()
