"""Words, an embedding, or both, on five sets of texts.

`python -m benchmarks.embeddings` trains on words and characters (the defaults of `TextFeatures`), on the static
embedding inside the package wordllama, and on both side by side, and predicts the test rows. C and the share of the
embedding are chosen on training rows: C by a fifth held out of at most 20,000 of them, on which `held_out` is the
accuracy. naics2017 and onet_titles have no split of their own: a random quarter is held out to test on. Seconds are CPU
seconds of one process. The last row of each data set and learner compares both with the better of the two, with the
standard error of the difference.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, print_rows, write_results
from benchmarks.text_features import BASE, SETS, Texts, measure
from cladist import RecursiveSVM, TopDown
from cladist.features import Embedding, TextFeatures
from cladist.taxonomy import Taxonomy

MODEL = "wordllama"
C_VALUES = (0.3, 1.0, 3.0, 10.0)
MOST_ROWS, HELD_OUT = 20_000, 0.2
NAME = "embeddings"


def learner(name: str, taxonomy: Taxonomy, C: float, *, tol: float | None = None) -> Any:
    """Return an unfitted learner."""
    if name == "TopDown":
        return TopDown(taxonomy, C=C)
    return RecursiveSVM(taxonomy, C=C, loss="squared_hinge", sharing=1.0, tol=tol or 1e-2)


def features_of(kind: str, base: dict[str, Any]) -> Any:
    """Return an unfitted transformer."""
    if kind == "embedding":
        return Embedding(MODEL)
    return TextFeatures(**base, embedding=MODEL if kind == "both" else None)


def choose_C(name: str, taxonomy: Taxonomy, X: Any, y: Any) -> tuple[float, float]:  # noqa: N802
    """Return the C of highest accuracy on a part of the training rows that is held out, and that accuracy."""
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    held, kept = np.split(rows, [int(HELD_OUT * len(rows))])
    scores = [
        np.mean(learner(name, taxonomy, C, tol=0.05).fit(X[kept], y[kept]).predict(X[held]) == y[held])
        for C in C_VALUES
    ]
    return C_VALUES[int(np.argmax(scores))], float(np.max(scores))


def compare(name: str, learners: list[str]) -> list[dict[str, Any]]:
    """Return the measures of all kinds of features on the test rows."""
    data: Texts = SETS[name]()
    train, test = np.asarray(data.train, dtype=object), np.asarray(data.test, dtype=object)
    y, y_test = (np.asarray(labels).astype(str) for labels in (data.y_train, data.y_test))
    table, right = [], {}
    for kind in ("words", "embedding", "both"):
        features = features_of(kind, BASE.get(name, {}))
        start = time.process_time()
        X = features.fit_transform(train, y)
        transforming = time.process_time() - start
        X_test = features.transform(test)
        for model in learners:
            start = time.process_time()
            C, held_out = choose_C(model, data.taxonomy, X, y)
            choosing = time.process_time() - start
            start = time.process_time()
            predicted = learner(model, data.taxonomy, C).fit(X, y).predict(X_test)
            seconds = {"transforming": transforming, "choosing": choosing, "fitting": time.process_time() - start}
            right[model, kind] = predicted == y_test
            share = getattr(features, "embedding_share_", None)
            row = {"data": name, "learner": model, "features": kind, "C": C, "share": share, "held_out": held_out}
            table.append(row | measure(y_test, predicted, data.taxonomy) | seconds)
    print_rows(table)
    return table + [verdict(name, model, right) for model in learners]


def verdict(name: str, model: str, right: dict[tuple[str, str], Any]) -> dict[str, Any]:
    """Return by how much both are more accurate than the better of the two, with its standard error."""
    better = max(("words", "embedding"), key=lambda kind: right[model, kind].mean())
    apart = right[model, "both"].astype(float) - right[model, better]
    error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
    return {
        "data": name, "learner": model, "features": f"both against {better}",
        "difference": float(apart.mean()), "standard_error": error,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--learners", nargs="+", default=["TopDown", "RecursiveSVM"])
    given = parser.parse_args()
    for name in given.sets:  # written after each, beside the rows of the other sets
        rows = compare(name, given.learners)
        write_results(NAME, other_rows(name, given.learners) + rows, quiet=True, model=MODEL)


def other_rows(name: str, learners: list[str]) -> list[dict[str, Any]]:
    """Return the rows that were written about other data sets and learners."""
    path = RESULTS / f"{NAME}.json"
    rows = json.loads(path.read_text())["rows"] if path.is_file() else []
    return [row for row in rows if row["data"] != name or row["learner"] not in learners]


if __name__ == "__main__":
    main()
