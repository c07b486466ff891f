"""Sets of labels by thresholds: none, one per label whatever its F1, and the default of `Thresholded`.

Five random halves of enron, of two sets of genes and of an RCV1 stand-in: one half to train on, the other to test on.
Each measure is also what the default chooses its strategy by, on training rows only. With the argument "fbr", SCut with
several values of `fbr` is compared on training rows alone, by thresholds fitted to other folds, to choose its default.
Other arguments are the sets to measure; rows of others are kept.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import RESULTS, print_rows, write_results
from benchmarks.rcv1_standin import load_rcv1_standin
from cladist import FlatLogistic, FlatSVM
from cladist.datasets import Dataset, load_enron, load_genes_fun
from cladist.decoders.thresholds import SCut, Strategy, Zero
from cladist.labels import LabelMatrix, encode
from cladist.learners.out_of_fold import class_scores, out_of_fold_scores
from cladist.learners.threshold_choice import Folds, ScoredRows, choose_strategy, labels_of, predict_folds
from cladist.metrics import scorers

DATA = {
    "enron": load_enron,
    "cellcycle": lambda: load_genes_fun(which="cellcycle"),
    "derisi": lambda: load_genes_fun(which="derisi"),
    "RCV1 stand-in": load_rcv1_standin,
}
LEARNERS = {
    "FlatSVM, C = 1": (FlatSVM, 1.0),
    "FlatLogistic, C = 1": (FlatLogistic, 1.0),
    "FlatSVM, C = 0.1": (FlatSVM, 0.1),
}
MEASURES = ("micro_f1", "macro_f1", "accuracy")
N_SPLITS, N_FOLDS = 5, 5


def halves(data: Dataset, seed: int) -> tuple[Any, LabelMatrix, Any, LabelMatrix]:
    """Return rows and labels of two random halves; a set with missing values is imputed and standardised."""
    labels = encode(data.y, data.taxonomy).labels
    order = np.random.default_rng(seed).permutation(len(labels))
    train, test = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    X_train, X_test = data.X[train], data.X[test]
    if isinstance(X_train, np.ndarray) and np.isnan(X_train).any():
        scaler = make_pipeline(SimpleImputer(), StandardScaler()).fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    return X_train, labels[train], X_test, labels[test]


def score_folds(estimator: Any, X: Any, y: LabelMatrix, seed: int) -> tuple[ScoredRows, Folds]:
    """Return out-of-fold scores of a fitted estimator's classes, and the folds."""
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=seed).split(X))
    nodes = estimator.class_nodes_
    return ScoredRows(out_of_fold_scores(estimator, X, y, nodes, folds=folds), y, nodes), folds


def measure_split(estimator: Any, data: Dataset, seed: int) -> Iterator[tuple[str, str, float, float, float]]:
    """Yield each measure, the strategy chosen by it, and its values without, with old and with chosen thresholds.

    `Thresholded.fit` in steps, so that one set of out-of-fold scores serves all measures.
    """
    X_train, y_train, X_test, y_test = halves(data, seed)
    rows, folds = score_folds(estimator.fit(X_train, y_train), X_train, y_train, seed)
    scores, taxonomy = class_scores(estimator, X_test), data.taxonomy
    for name in MEASURES:
        scorer = getattr(scorers, name)

        def evaluate(strategy: Strategy, scorer: scorers.Scorer = scorer) -> float:
            return scorer.of_labels(y_test, labels_of(strategy.predict(scores), rows.class_nodes, taxonomy), taxonomy)

        chosen, _ = choose_strategy(rows, folds, scorer)
        fixed = [strategy.fit(rows.scores, rows.indicator()) for strategy in (Zero(), SCut(fbr=None))]
        yield name, chosen.name, *(evaluate(strategy) for strategy in (*fixed, chosen))


def compare_fbr() -> None:
    """Write micro and macro F1 of SCut by `fbr`, on training rows of two splits, FlatLogistic at C = 1."""
    cuts = {"none": Zero(), **{f"fbr={fbr}": SCut(fbr) for fbr in (None, 0.1, 0.2, 0.3, 0.4, 0.5)}}
    results = []
    for data_name, load_data in DATA.items():
        data = load_data()
        parts = []
        for seed in range(2):
            X, y, _, _ = halves(data, seed)
            parts.append(score_folds(FlatLogistic(data.taxonomy).fit(X, y), X, y, seed))
        for name in ("micro_f1", "macro_f1"):
            scorer, row = getattr(scorers, name), {"data": data_name, "measure": name}
            for cut_name, cut in cuts.items():
                values = []
                for rows, folds in parts:
                    true = rows.labels[np.concatenate([own for _, own in folds])]
                    values.append(scorer.of_labels(true, predict_folds(cut, rows, folds, scorer), data.taxonomy))
                row[cut_name] = 100 * float(np.mean(values))
            results.append(row)
    print_rows(results)
    write_results("thresholds-fbr", results, n_splits=2, n_folds=N_FOLDS, unit="percent, on training rows out of fold")


def main(names: list[str]) -> None:
    path = RESULTS / "thresholds.json"
    rows = [row for row in json.loads(path.read_text())["rows"] if row["data"] not in names] if path.exists() else []
    for data_name in names:
        data = DATA[data_name]()
        for learner, (method, C) in LEARNERS.items():
            splits = [list(measure_split(method(data.taxonomy, C=C), data, seed)) for seed in range(N_SPLITS)]
            for of_measure in zip(*splits, strict=True):
                none, old, new = (100 * np.array([split[k] for split in of_measure]) for k in (2, 3, 4))
                rows.append(
                    {
                        "data": data_name,
                        "learner": learner,
                        "measure": of_measure[0][0],
                        "none": none.mean(),
                        "scut without fbr": old.mean(),
                        "auto": new.mean(),
                        "gain": (new - none).mean(),
                        "least gain of a split": (new - none).min(),
                        "chosen": dict(Counter(split[1] for split in of_measure)),
                    }
                )
                print_rows(rows[-1:])
            unit = "percent, mean over splits, on test rows"
            write_results("thresholds", rows, n_splits=N_SPLITS, n_folds=N_FOLDS, unit=unit, quiet=True)
    print_rows(rows)


if __name__ == "__main__":
    compare_fbr() if sys.argv[1:] == ["fbr"] else main(sys.argv[1:] or list(DATA))
