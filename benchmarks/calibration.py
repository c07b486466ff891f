"""Whether calibrated probabilities hold at every level, and whether a blend of learners beats the best of them.

`python -m benchmarks.calibration [SET …]` reads the scores of `benchmarks.held_out_scores`, computes those that are not
there, and writes benchmarks/results/calibration.json; sets named are measured anew.

Every calibration is fitted to the out-of-fold scores of at most 20,000 of a part's training rows, as in
`CalibratedClassifier`, and measured on the part's own rows: the expected calibration error of every level, with 15 bins
of as many rows each. `noise` is that of the same probabilities if they held exactly, the mean of 20 draws of outcomes
from them: no model has less on average. Rows of parts 0 to 3, which are drawn like the training rows, are put together.
Part "test" has rows from elsewhere: other wordings of the same codes (icd10cm), later posts (news20), another sample of
queries (clinc150); the difference is how far the probabilities drift.

`--drift` measures the calibrations of part "test" alone and writes calibration-drift.json: on the test part and, beside
it, on 10,000 training rows that the calibration is not fitted to, scored out of fold.

`blend` is the accuracy of `BlendedClassifier`'s weighting on the same scores, beside the best of the learners, each by
its own scores or by its calibrated probabilities, whichever is more accurate; with the difference's standard error.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, write_results
from benchmarks.held_out_scores import FOLDER, OWN_TEST, PARTS, Scores, load_scores
from cladist.calibration.blend import combine, fit_weights
from cladist.calibration.calibrators import Calibrator, columns_of, fit_calibrator
from cladist.calibration.listed_scores import ListedScores
from cladist.calibration.nested_logit import ChoiceTree
from cladist.learners.blended import list_jointly
from cladist.metrics.calibration import _read

PATH, DRIFT_PATH = RESULTS / "calibration.json", RESULTS / "calibration-drift.json"
CALIBRATIONS = (("temperature", "levels"), ("temperature", "leaves"), ("isotonic", "levels"))
N_BINS, N_DRAWS, ROWS_AT_ONCE = 15, 20, 4_000
MOST_BESIDE = 10_000  # training rows that a test part is compared with
MOST_FITTED = 20_000  # rows, drawn at random, that a calibration is fitted to
Outcomes = list[tuple[Any, Any]]  # of each level, the rows' highest probability, and whether it is right


def rows_to_fit(scores: Scores) -> Any:
    """Return the training rows that calibrations are fitted to, in pieces, each of which is drawn from all rows."""
    order = np.random.default_rng(3).permutation(len(scores.nodes))[:MOST_FITTED]
    return [np.sort(rows) for rows in np.array_split(order, 1 + len(order) // ROWS_AT_ONCE)]


def fit(scores: Scores, learner: str, method: str, level: str) -> tuple[Calibrator, float]:
    """Return a calibration of a learner, fitted to out-of-fold scores, and its CPU seconds."""
    started = time.process_time()
    columns, pieces = columns_of(scores.class_nodes, scores.taxonomy)[scores.nodes], rows_to_fit(scores)
    parts = [ListedScores.of(np.asarray(scores.out_of_fold[learner][rows]), columns[rows]) for rows in pieces]
    listed, targets = ListedScores.joined(parts), scores.nodes[np.concatenate(pieces)]
    options = {"method": method, "level": level}

    def whole() -> Any:
        for rows in pieces:
            yield np.asarray(scores.out_of_fold[learner][rows], dtype=np.float64), scores.nodes[rows]

    fitted = fit_calibrator(listed, targets, whole, scores.taxonomy, scores.class_nodes, **options)
    return fitted, time.process_time() - started


def outcomes(scores: Scores, P: Any) -> Outcomes:
    """Return the outcomes of every level, roots first, and of the classes."""
    names = np.array(scores.taxonomy.names, dtype=object)
    levels = (*range(len(scores.taxonomy.levels)), None)
    read = [_read(names[scores.own_nodes], P, scores.taxonomy, names[scores.class_nodes], level) for level in levels]
    return [(rows.confidence, rows.hits) for rows in read]


def joined(parts: list[Outcomes]) -> Outcomes:
    """Return the outcomes of several parts as one."""
    return [
        (np.concatenate([c for c, _ in level]), np.concatenate([h for _, h in level]))
        for level in zip(*parts, strict=True)
    ]


def calibration_error(confidence: Any, hits: Any) -> float:
    """Return the expected calibration error with bins of equal size, as in `cladist.metrics`."""
    bins = np.array_split(np.argsort(confidence, kind="stable"), N_BINS)
    return float(sum(abs(hits[part].sum() - confidence[part].sum()) for part in bins) / len(confidence))


def summary(levels: Outcomes) -> dict[str, Any]:
    """Return the measures of all levels."""
    random = np.random.default_rng(0)
    noise = [
        float(np.mean([calibration_error(c, random.random(len(c)) < c) for _ in range(N_DRAWS)])) for c, _ in levels
    ]
    errors = [calibration_error(c, h) for c, h in levels]
    return {
        "rows": len(levels[0][0]),
        "accuracy": float(levels[-1][1].mean()),
        "largest_ece": max(errors),
        "ece_by_level": errors,
        "noise_by_level": noise,
        "confidence_less_accuracy_by_level": [float(c.mean() - h.mean()) for c, h in levels],
    }


def measure_learner(parts: dict[str, Scores], learner: str, calibrations: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures of a learner, and of each part which own rows it has right at its best."""
    figures, right = dict[str, Any](), dict[str, Any]()
    for method, level in calibrations:
        found, seconds = dict[str, Outcomes](), 0.0
        for part, scores in parts.items():
            if learner not in scores.out_of_fold:
                continue
            calibrator, spent = fit(scores, learner, method, level)
            seconds += spent
            P = calibrator.predict(scores.own[learner])
            found[part] = outcomes(scores, P)
            if (method, level) == ("temperature", "levels"):
                by_scores = scores.class_nodes[scores.own[learner].argmax(axis=1)] == scores.own_nodes
                right[part] = max(by_scores, found[part][-1][1], key=np.mean).astype(float)
        drawn_alike = [levels for part, levels in found.items() if part != "test"]
        row: dict[str, Any] = {"fit_seconds": seconds, "held_out": summary(joined(drawn_alike))}
        if "test" in found:
            row["test_part"] = summary(found["test"])
        figures[f"{method}, {level}"] = row
        print("  ", learner, method, level, np.round(row["held_out"]["ece_by_level"], 4), flush=True)
    return figures, right


def blend(scores: Scores, learners: list[str]) -> tuple[dict[str, float], Any, Calibrator, Any]:
    """Return the shares of the learners, the calibrated probabilities of own rows, the calibration, and the weights."""
    columns, some = columns_of(scores.class_nodes, scores.taxonomy)[scores.nodes], rows_to_fit(scores)
    pieces = [
        list_jointly(np.stack([np.asarray(scores.out_of_fold[learner][rows]) for learner in learners]), columns[rows])
        for rows in some
    ]
    targets = scores.nodes[np.concatenate(some)]
    listed = ListedScores.joined(part for part, _ in pieces)
    taken = np.concatenate([values for _, values in pieces], axis=1)
    choices = ChoiceTree(scores.taxonomy, scores.class_nodes)
    weights, shares = fit_weights(choices, listed.columns, taken, listed.log_counts, targets)
    blended, options = listed._replace(scores=combine(weights, taken)), {"method": "temperature", "level": "levels"}

    def whole() -> Any:
        for rows in some:
            of_models = np.stack([np.asarray(scores.out_of_fold[learner][rows]) for learner in learners])
            yield combine(weights, of_models), scores.nodes[rows]

    calibrator = fit_calibrator(blended, targets, whole, scores.taxonomy, scores.class_nodes, **options)
    own = np.stack([np.asarray(scores.own[learner]) for learner in learners])
    return (
        dict(zip(learners, shares.tolist(), strict=True)),
        calibrator.predict(combine(weights, own)),
        calibrator,
        weights,
    )


def measure_blend(parts: dict[str, Scores], right: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the accuracy of the blend beside that of the best learner, on rows drawn alike and on the test part."""
    table, hits, shares, found = dict[str, Any](), dict[str, Any](), dict[str, Any](), list[Outcomes]()
    for part, scores in parts.items():
        shares[part], P, _, _ = blend(scores, list(scores.out_of_fold))
        levels = outcomes(scores, P)
        hits[part] = levels[-1][1].astype(float)
        if part != "test":
            found.append(levels)
    for kind, of_kind in (("held_out", [p for p in parts if p != "test"]), ("test_part", ["test"] * ("test" in parts))):
        if not of_kind:
            continue
        together = {name: np.concatenate([of[p] for p in of_kind]) for name, of in right.items() if of_kind[0] in of}
        best = max(together, key=lambda name: together[name].mean())
        ours = np.concatenate([hits[p] for p in of_kind])
        gain = ours - together[best]
        table[kind] = {
            "accuracy": float(ours.mean()),
            "best_learner": best,
            "accuracy_of_best": float(together[best].mean()),
            "gain": float(gain.mean()),
            "standard_error_of_gain": float(gain.std() / np.sqrt(len(gain))),
        }
        print("   blend", kind, table[kind], flush=True)
    return {"shares": shares, **table, "calibration": summary(joined(found))}


def measure_set(name: str, folder: Path, wanted: list[str] | None, calibrations: Any) -> dict[str, Any]:
    """Return all figures of one set."""
    parts = {part: load_scores(name, part, folder) for part in wanted or PARTS[name] if part in PARTS[name]}
    print(name, list(parts), flush=True)
    learners, right = dict[str, Any](), dict[str, Any]()
    for learner in next(iter(parts.values())).own:
        learners[learner], right[learner] = measure_learner(parts, learner, calibrations)
    chosen = json.loads((folder / name / "C.json").read_text())
    return {"set": name, "parts": list(parts), "C": chosen, "learners": learners, "blend": measure_blend(parts, right)}


def measure_drift(name: str, folder: Path) -> dict[str, Any]:
    """Return the figures of the test part of a set, and of training rows that calibrations are not fitted to."""
    scores, learners = load_scores(name, "test", folder), dict[str, Any]()
    others = np.sort(np.random.default_rng(3).permutation(len(scores.nodes))[MOST_FITTED:][:MOST_BESIDE])
    for learner, out_of_fold in scores.out_of_fold.items():
        calibrator, _ = fit(scores, learner, *CALIBRATIONS[0])
        beside = scores._replace(own={learner: np.asarray(out_of_fold[others])}, own_nodes=scores.nodes[others])
        figures = {}
        for kind, part in (("training_rows", beside), ("test_part", scores)):
            figures[kind] = summary(outcomes(part, calibrator.predict(part.own[learner])))
            print("  ", name, learner, kind, np.round(figures[kind]["ece_by_level"], 4), flush=True)
        learners[learner] = figures
    return {"set": name, "learners": learners}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--parts", nargs="+", help="0, 1, 2, 3 or test; all by default")
    parser.add_argument("--default", action="store_true", help="the default calibration alone")
    parser.add_argument("--drift", action="store_true", help="of test parts alone")
    parser.add_argument("--scores", type=Path, default=FOLDER, help="the folder of the scores")
    given = parser.parse_args()
    path = DRIFT_PATH if given.drift else PATH
    for name in given.sets or (OWN_TEST if given.drift else PARTS):
        if given.drift:
            row = measure_drift(name, given.scores)
        else:
            row = measure_set(name, given.scores, given.parts, CALIBRATIONS[: 1 if given.default else None])
        # Read again: another process may have written meanwhile.
        known = json.loads(path.read_text())["rows"] if path.exists() else []
        write_results(path.stem, [*(old for old in known if old["set"] != name), row], quiet=True)


if __name__ == "__main__":
    main()
