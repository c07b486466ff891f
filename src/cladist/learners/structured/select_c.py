"""The choice of c by cross-validation on the rows given: `c="cv"`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from cladist import progress
from cladist.labels import LabelMatrix
from cladist.learners import select_c

GRID = (0.01, 0.1, 1.0, 10.0)


def choose_c(model: Any, X: Any, labels: LabelMatrix) -> tuple[float, list[dict[str, float]]]:
    """Return the c of highest mean score over folds of the rows, the smallest of equals, and the score of each.

    The score is micro F1 over all nodes for sets, accuracy for single labels. A square matrix of kernel values is split
    by rows and columns.
    """
    folds = select_c.folds_of(model, len(labels))
    decode = "multi" if model.decodes_sets else "single"
    results: list[dict[str, float]] = []
    with progress.task("choosing c", len(GRID)) as running, progress.hide():
        for c in GRID:
            scores = []
            for rows, held_out in folds:
                inner = clone(model).set_params(c=c, decode=decode, verbose=0)
                train, test = X[rows], X[held_out]
                if model.is_precomputed:
                    train, test = train[:, rows], test[:, rows]
                scores.append(select_c._score(inner.fit(train, labels[rows]), test, labels[held_out]))
            error = float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
            results.append({"c": c, "score": round(float(np.mean(scores)), 12), "standard_error": error})
            running.advance()
    return max(results, key=lambda entry: entry["score"])["c"], results
