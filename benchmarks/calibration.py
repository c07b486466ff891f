"""Whether calibrated probabilities hold, and whether a blend of learners beats the best of them.

`python -m benchmarks.calibration [SET …]` runs five sets of texts with `TopDown`, `RecursiveSVM` (squared hinge,
sharing 1) and `FlatLogistic`, all with C = 1, and writes benchmarks/results/calibration.json; sets that are there
already are skipped. Every learner is scored out of fold (5 folds), as in `CalibratedClassifier`, and the calibrations
are fitted to these scores.

`choice`: each calibration fitted to 6,000 of the training rows' out-of-fold scores, its log loss on 6,000 others. The
defaults of the library are chosen by these. `held_out`: calibrations fitted to all out-of-fold scores, measured on rows
that were held out: adaptive expected calibration error with 15 bins of every level, `noise` that of the same
probabilities if they held exactly (the mean of 20 draws of labels from them). `blend`: accuracy of the blend of the
three, beside the learners', with the standard error of the difference from the best of them.

naics2017 and onet_titles: a random quarter is held out. Of the others, a random quarter of their training part, since
calibration is about rows that are drawn like those of the training; of icd10cm, of 30,000 random rows. news20 has
words alone, counted as 1 + log. Seconds are CPU seconds of one process.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, write_results
from benchmarks.text_features import SETS
from cladist import FlatLogistic, RecursiveSVM, TopDown
from cladist.calibration.blend import combine, fit_weights
from cladist.calibration.calibrators import Calibrator, columns_of, fit_calibrator
from cladist.calibration.listed_scores import ListedScores
from cladist.calibration.nested_logit import ChoiceTree
from cladist.features import text_features
from cladist.labels import encode
from cladist.learners.blended import list_jointly
from cladist.learners.out_of_fold import class_scores, random_folds, reduce_out_of_fold
from cladist.metrics import calibration_by_level
from cladist.metrics.calibration import _nodes_at
from cladist.taxonomy import Taxonomy

PATH = RESULTS / "calibration.json"
LEARNERS = {
    "TopDown": TopDown,
    "RecursiveSVM": lambda taxonomy: RecursiveSVM(taxonomy, loss="squared_hinge", sharing=1),
    "FlatLogistic": FlatLogistic,
}
OWN_SPLIT = ("icd10cm", "clinc150", "news20")
MOST_ROWS = {"icd10cm": 30_000}
OPTIONS: dict[str, dict[str, Any]] = {"news20": {"words": (1, 1), "sublinear_tf": True, "characters": False}}
CALIBRATIONS = (
    ("temperature", "leaves"),
    ("temperature", "levels"),
    ("temperature", "nodes"),
    ("platt", "levels"),
    ("isotonic", "levels"),
    ("vector", "levels"),
)
REPORTED = (("temperature", "leaves"), ("temperature", "levels"), ("isotonic", "levels"))
CHOICE_ROWS = 6_000
FOLDS = 5


class Rows:
    """The rows of a set, as features and node ids, in two parts."""

    def __init__(self, name: str) -> None:
        data = SETS[name]()
        texts, y = np.asarray(data.train, dtype=object), np.asarray(data.y_train)
        test, y_test = np.asarray(data.test, dtype=object), np.asarray(data.y_test)
        if name in OWN_SPLIT:
            order = np.random.default_rng(0).permutation(len(texts))[: MOST_ROWS.get(name)]
            held_out, kept = np.split(order, [len(order) // 4])
            texts, y, test, y_test = texts[kept], y[kept], texts[held_out], y[held_out]
        features = text_features(**OPTIONS.get(name, {}))
        self.taxonomy: Taxonomy = data.taxonomy
        self.X, self.X_test = features.fit_transform(texts), features.transform(test)
        self.y, self.labels = y, encode(y, data.taxonomy).labels
        self.nodes = self.labels.nodes("calibration")
        self.test_nodes = encode(y_test, data.taxonomy).labels.nodes("calibration")
        self.names = np.array(data.taxonomy.names, dtype=object)


def score(rows: Rows, learner: Any) -> tuple[Any, Any, Any]:
    """Return out-of-fold scores of the training rows, scores of the held-out rows, and the classes' nodes."""
    model = learner(rows.taxonomy).fit(rows.X, rows.y)
    scores = np.empty((len(rows.nodes), len(model.class_nodes_)), np.float32)

    def keep(of_models: Any, some: Any) -> None:
        scores[some] = of_models[0]

    folds = random_folds("calibration", len(rows.nodes), FOLDS, 0)
    reduce_out_of_fold(
        [learner(rows.taxonomy)], rows.X, rows.labels, model.class_nodes_, keep, folds=folds, single=True
    )
    return scores, class_scores(model, rows.X_test), model.class_nodes_


def fit(rows: Rows, scores: Any, class_nodes: Any, some: Any, method: str, level: str) -> tuple[Calibrator, float]:
    """Return a calibration fitted to some of the rows, and its CPU seconds."""
    started, targets = time.process_time(), rows.nodes[some]
    listed = ListedScores.of(scores[some], columns_of(class_nodes, rows.taxonomy)[targets])
    fitted = fit_calibrator(listed, targets, rows.taxonomy, class_nodes, method=method, level=level)
    return fitted, time.process_time() - started


def measure(rows: Rows, calibrator: Calibrator, P: Any, nodes: Any) -> dict[str, Any]:
    """Return the measures of probabilities, by level."""
    classes = rows.names[calibrator.class_nodes]
    *levels, of_classes = calibration_by_level(rows.names[nodes], P, rows.taxonomy, classes=classes)
    return {
        "accuracy": of_classes.accuracy,
        "log_loss": of_classes.log_loss,
        "brier_score": of_classes.brier_score,
        "ece_by_level": [part.expected_calibration_error for part in levels],
        "confidence_less_accuracy_by_level": [part.sharpness - part.accuracy for part in levels],
    }


def chance_errors(rows: Rows, calibrator: Calibrator, P: Any, n_draws: int = 20) -> list[float]:
    """Return the expected calibration error of every level if labels were drawn from the probabilities."""
    random, result = np.random.default_rng(0), []
    for level in range(len(rows.taxonomy.levels)):
        groups, which = np.unique(_nodes_at(calibrator.class_nodes, rows.taxonomy, level), return_inverse=True)
        sums = np.zeros((len(groups), len(P)))
        np.add.at(sums, which, P.T)
        confidence = np.sort(sums.max(axis=0))
        hits = random.random((n_draws, len(confidence))) < confidence
        bins = np.array_split(np.arange(len(confidence)), min(15, len(confidence)))
        off = [np.abs(hits[:, part].mean(axis=1) - confidence[part].mean()) * len(part) for part in bins]
        result.append(float(np.sum(off, axis=0).mean() / len(confidence)))
    return result


def try_calibrations(rows: Rows, scores: Any, class_nodes: Any) -> list[dict[str, Any]]:
    """Return the log loss of every calibration on training rows that it was not fitted to."""
    order = np.random.default_rng(1).permutation(len(rows.nodes))
    half = min(CHOICE_ROWS, len(order) // 2)
    fitted_to, others, table = order[:half], order[half : 2 * half], []
    for method, level in CALIBRATIONS:
        calibrator, seconds = fit(rows, scores, class_nodes, fitted_to, method, level)
        found = measure(rows, calibrator, calibrator.predict(scores[others]), rows.nodes[others])
        table.append({"method": method, "level": level, "log_loss": found["log_loss"], "fit_seconds": seconds})
        print("   ", table[-1], flush=True)
    return table


def run_learner(rows: Rows, name: str) -> tuple[dict[str, Any], tuple[Any, Any, Any], Any]:
    """Return the figures of one learner, its scores, and which held-out rows it has right."""
    started = time.process_time()
    scores, test_scores, class_nodes = scored = score(rows, LEARNERS[name])
    own = class_nodes[test_scores.argmax(axis=1)] == rows.test_nodes
    figures = {"classes": len(class_nodes), "seconds_of_6_fits": time.process_time() - started}
    figures.update(accuracy_of_scores=float(own.mean()), choice=try_calibrations(rows, scores, class_nodes))
    held_out = []
    for method, level in REPORTED:
        calibrator, seconds = fit(rows, scores, class_nodes, np.arange(len(rows.nodes)), method, level)
        P = calibrator.predict(test_scores)
        found = {"method": method, "level": level, "fit_seconds": seconds}
        found.update(measure(rows, calibrator, P, rows.test_nodes))
        if (method, level) == ("temperature", "levels"):
            figures["noise_by_level"] = chance_errors(rows, calibrator, P)
            right = class_nodes[P.argmax(axis=1)] == rows.test_nodes
        held_out.append(found)
        print("   ", {k: np.round(v, 4) if k != "method" and k != "level" else v for k, v in found.items()}, flush=True)
    # As accurate as it gets: by its own scores, or by calibrated probabilities.
    return {**figures, "held_out": held_out}, scored, max(own, right, key=np.mean)


def run_blend(rows: Rows, scored: dict[str, tuple[Any, Any, Any]], right: dict[str, Any]) -> dict[str, Any]:
    """Return the accuracy of the blend of all learners beside theirs."""
    started = time.process_time()
    class_nodes = np.unique(np.concatenate([nodes for _, _, nodes in scored.values()]))
    columns = columns_of(class_nodes, rows.taxonomy)

    def stack(part: int, some: Any) -> Any:
        stacked = np.full((len(scored), len(some), len(class_nodes)), -np.inf, np.float32)
        for k, of_learner in enumerate(scored.values()):
            stacked[k][:, columns[of_learner[2]]] = of_learner[part][some]
        return stacked

    parts = [
        list_jointly(stack(0, some), columns[rows.nodes[some]])
        for some in np.array_split(np.arange(len(rows.nodes)), 1 + len(rows.nodes) // 4_000)
    ]
    listed = ListedScores.joined(part for part, _ in parts)
    scores = np.concatenate([taken for _, taken in parts], axis=1)
    choices = ChoiceTree(rows.taxonomy, class_nodes)
    weights, shares = fit_weights(choices, listed.columns, scores, listed.log_counts, rows.nodes)
    blended = listed._replace(scores=combine(weights, scores))
    options = {"method": "temperature", "level": "levels"}
    calibrator = fit_calibrator(blended, rows.nodes, rows.taxonomy, class_nodes, **options)
    P = calibrator.predict(combine(weights, stack(1, np.arange(len(rows.test_nodes)))))
    hits = class_nodes[P.argmax(axis=1)] == rows.test_nodes
    best = max(right, key=lambda name: right[name].mean())
    gain = hits.astype(float) - right[best]
    return {
        "shares": dict(zip(scored, shares.tolist(), strict=True)),
        "accuracy": float(hits.mean()),
        "best_learner": best,
        "accuracy_of_best": float(right[best].mean()),
        "gain": float(gain.mean()),
        "standard_error_of_gain": float(gain.std() / np.sqrt(len(gain))),
        "held_out": measure(rows, calibrator, P, rows.test_nodes),
        "seconds": time.process_time() - started,
    }


def run_set(name: str) -> dict[str, Any]:
    """Return all figures of one set."""
    rows = Rows(name)
    shape = {"rows": len(rows.nodes), "held_out_rows": len(rows.test_nodes), "levels": len(rows.taxonomy.levels)}
    print(name, shape, flush=True)
    learners, scored, right = {}, {}, {}
    for learner in LEARNERS:
        print("  ", learner, flush=True)
        learners[learner], scored[learner], right[learner] = run_learner(rows, learner)
    blend = run_blend(rows, scored, right)
    print("   blend", {k: v for k, v in blend.items() if k != "held_out"}, flush=True)
    return {"set": name, **shape, "learners": learners, "blend": blend}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all by default")
    for name in parser.parse_args().sets or SETS:
        known = json.loads(PATH.read_text())["rows"] if PATH.exists() else []
        if any(row["set"] == name for row in known):
            continue
        row = run_set(name)
        # Read again: another process may have written meanwhile.
        known = json.loads(PATH.read_text())["rows"] if PATH.exists() else []
        write_results("calibration", [*known, row], quiet=True)


if __name__ == "__main__":
    main()
