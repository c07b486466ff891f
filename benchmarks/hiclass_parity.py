"""Predictions and probabilities of local classifiers beside those of HiClass 5.0.8, and the examples of its documents.

``python -m benchmarks.hiclass_parity`` needs ``pip install hiclass==5.0.8``. Every classifier at a node is a random
forest, or a logistic regression, with a fixed seed; both libraries get the same rows and labels. `rows` of the result
hold, per data set and method, the share of test rows with the same path. `probabilities` hold the largest difference
between probabilities of nodes. `examples` hold the predictions of both for every example of HiClass's README and
documents that 5.0.8 runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.harness import print_rows, write_results
from benchmarks.hiclass_examples import EXAMPLES
from cladist import LocalPerLevel, LocalPerNode, TopDown
from cladist.datasets import Dataset, load_clinc150, load_imclef07a, load_news20
from cladist.learners.local.per_node import POLICIES

SETS = {"clinc150": load_clinc150, "imclef07a": load_imclef07a, "news20": load_news20}
N_TRAIN, N_TEST = 1500, 500
IN_LITERATURE = "per node, inclusive as in the literature"


def parts(load: Any) -> tuple[Any, Any, Any]:
    """Return training rows, their padded paths and test rows: a random part of a data set, of at most 300 features."""
    data: Dataset = load()
    random = np.random.default_rng(0)
    train = random.permutation(data.X_train.shape[0])[:N_TRAIN]
    test = random.permutation(data.X_test.shape[0])[:N_TEST]
    X, X_test = sparse.csr_matrix(data.X_train)[train], sparse.csr_matrix(data.X_test)[test]
    frequent = np.argsort(-np.diff(X.tocsc().indptr), kind="stable")[:300]
    nodes = [data.taxonomy.index(name) for name in np.asarray(data.y_train)[train]]
    paths = [[part.replace("/", "|") for part in data.taxonomy.path_parts(v)] for v in nodes]
    width = max(map(len, paths))
    y = np.array([path + [""] * (width - len(path)) for path in paths], dtype=object)
    return X[:, frequent].toarray(), y, X_test[:, frequent].toarray()


def forest() -> RandomForestClassifier:
    """Return the classifier of every node."""
    return RandomForestClassifier(n_estimators=10, random_state=0)


def pairs() -> Iterator[tuple[str, Any, Any]]:
    """Yield the methods, ours and HiClass's."""
    import hiclass

    yield (
        "per parent node",
        TopDown(estimator=forest()),
        hiclass.LocalClassifierPerParentNode(local_classifier=forest()),
    )
    yield "per level", LocalPerLevel(estimator=forest()), hiclass.LocalClassifierPerLevel(local_classifier=forest())
    for policy in POLICIES:
        theirs = hiclass.LocalClassifierPerNode(local_classifier=forest(), binary_policy=policy)
        yield f"per node, {policy}", LocalPerNode(estimator=forest(), policy=policy, whole_path=True), theirs
    theirs = hiclass.LocalClassifierPerNode(local_classifier=forest(), binary_policy="inclusive")
    yield IN_LITERATURE, LocalPerNode(estimator=forest(), policy="inclusive"), theirs


def compare(name: str, X: Any, y: Any, X_test: Any) -> Iterator[dict[str, Any]]:
    """Yield the agreement of each method on one data set."""
    for method, ours, theirs in pairs():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mine, other = ours.fit(X, y).predict(X_test), theirs.fit(X, y).predict(X_test)
        rows = (mine == np.asarray(other, dtype=object)).all(axis=1)
        yield {"data": name, "method": method, "rows": len(rows), "same": float(rows.mean())}


def compare_probabilities(name: str, X: Any, y: Any, X_test: Any) -> Iterator[dict[str, Any]]:
    """Yield the largest difference of probabilities of nodes, per method and combiner."""
    import hiclass

    lr = LogisticRegression(max_iter=200)
    for method, ours, theirs in (
        ("per node", LocalPerNode(estimator=lr), hiclass.LocalClassifierPerNode(lr)),
        ("per level", LocalPerLevel(estimator=lr), hiclass.LocalClassifierPerLevel(lr)),
    ):
        for combine in ("multiply", "geometric", "arithmetic", None):
            theirs.set_params(probability_combiner=combine, return_all_probabilities=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours.set_params(combine=combine).fit(X, y)
                levels = theirs.fit(X, y).predict_proba(X_test)
            mine, names, worst = ours.predict_proba(X_test, nodes="levels"), ours.taxonomy_, 0.0
            for level, (classes, found) in enumerate(zip(theirs.classes_, levels, strict=True)):
                here = np.flatnonzero(names.depth == level).tolist()
                column = {names.path_parts(v)[-1]: k for k, v in enumerate(here)}
                if len(column) < len(here):
                    continue  # HiClass adds nodes that end in the same name
                columns = [column[label] for label in classes if label]
                difference = mine[level][:, columns] - found[:, [bool(label) for label in classes]]
                worst = max(worst, float(np.abs(difference).max()))
            yield {"data": name, "method": method, "combine": combine or "none", "largest difference": worst}


def run_examples() -> Iterator[dict[str, Any]]:
    """Yield the predictions of both libraries for each example."""
    for title, example in EXAMPLES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, theirs = (np.asarray(pad(example(library))).tolist() for library in ("cladist", "hiclass"))
        yield {"example": title, "same": ours == theirs, "cladist": ours, "hiclass": theirs}


def pad(rows: Any) -> list[list[Any]]:
    """Return paths of equal length: HiClass answers with a padded array also where y has lists."""
    width = max(map(len, rows))
    return [list(row) + [""] * (width - len(row)) for row in rows]


def main() -> None:
    """Compare all and write the result."""
    import hiclass

    rows, probabilities = [], []
    for name, load in SETS.items():
        X, y, X_test = parts(load)
        rows.extend(compare(name, X, y, X_test))
        probabilities.extend(compare_probabilities(name, X, y, X_test))
    print_rows(rows)
    print_rows(probabilities)
    examples = list(run_examples())
    for entry in examples:
        print(f"{'same' if entry['same'] else 'OTHER'}: {entry['example']}")
    write_results("hiclass_parity", rows, probabilities=probabilities, examples=examples, hiclass=hiclass.__version__)


if __name__ == "__main__":
    main()
