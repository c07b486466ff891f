"""Whether Venn–ABERS calibration, fitted afterwards, still finds something to mend in calibrated probabilities.

`python -m benchmarks.calibration_oracle [SET …] [--parts PART …]` reads the scores of `benchmarks.held_out_scores` and
writes benchmarks/results/calibration-oracle.json. It needs the package venn-abers, which cladist does not depend on.

The own rows of a part are halved at random. On one half, a Venn–ABERS calibrator is fitted, for each level, to the
probability of the row's best node and to whether it is right; its predictions hold for any rows drawn alike. On the
other half stand the expected calibration error and the log loss of cladist's probabilities and of the calibrator's. The
standard error is that of the difference of log losses.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration import CALIBRATIONS, Outcomes, calibration_error, fit, joined, outcomes
from benchmarks.harness import print_rows, write_results
from benchmarks.held_out_scores import FOLDER, PARTS, load_scores

NAME, LEAST = "calibration-oracle", 1e-6


def log_losses(confidence: Any, hits: Any) -> Any:
    """Return the log loss of each row's confidence."""
    return -np.log(np.clip(np.where(hits, confidence, 1 - confidence), LEAST, 1))


def by_venn_abers(confidence: Any, hits: Any, new: Any) -> Any:
    """Return what a Venn–ABERS calibrator of rows makes of new confidences."""
    from venn_abers import VennAbers

    oracle = VennAbers()
    oracle.fit(np.column_stack([1 - confidence, confidence]), hits.astype(int))
    return oracle.predict_proba(np.column_stack([1 - new, new]))[0][:, 1]


def compare(levels: Outcomes) -> list[dict[str, Any]]:
    """Return the figures of every level but that of the classes, which repeats another one."""
    rows = []
    for level, (confidence, hits) in enumerate(levels[:-1]):
        order = np.random.default_rng(level).permutation(len(hits))
        known, new = np.array_split(order, 2)
        mended = by_venn_abers(confidence[known], hits[known], confidence[new])
        ours, oracle = (log_losses(p, hits[new]) for p in (confidence[new], mended))
        rows.append({
            "level": level, "rows": len(new), "ece": calibration_error(confidence[new], hits[new]),
            "ece, Venn–ABERS": calibration_error(mended, hits[new]), "log loss": float(ours.mean()),
            "log loss, Venn–ABERS": float(oracle.mean()),
            "standard error": float((ours - oracle).std() / np.sqrt(len(new))),
        })  # fmt: skip
    return rows


def measure(name: str, folder: Path, wanted: list[str]) -> list[dict[str, Any]]:
    """Return the figures of all learners of a set, its parts put together."""
    parts = [load_scores(name, part, folder) for part in wanted if part in PARTS[name]]
    table = []
    for learner in parts[0].out_of_fold:
        found = [outcomes(s, fit(s, learner, *CALIBRATIONS[0])[0].predict(s.own[learner])) for s in parts]
        table += [{"set": name, "learner": learner, **row} for row in compare(joined(found))]
    print_rows(table)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--parts", nargs="+", default=["0"], help="0, 1, 2 or 3; 0 by default")
    parser.add_argument("--scores", type=Path, default=FOLDER, help="the folder of the scores")
    given = parser.parse_args()
    rows = [row for name in given.sets or PARTS for row in measure(name, given.scores, given.parts)]
    write_results(NAME, rows, quiet=True, data=f"parts {', '.join(given.parts)} of the held-out scores")


if __name__ == "__main__":
    main()
