"""Where structured perceptrons begin."""

from __future__ import annotations

import numpy as np

from cladist.labels import LabelMatrix
from cladist.solvers.structured import Start

STARTS = ("zeros", "random", "class_mean")
RANDOM_ROWS = 32  # whose joint features a random start is made of
RANDOM_NORM = 1e-3  # enough to break ties, too little to be remembered


def start_for(init: str, labels: LabelMatrix, random: np.random.RandomState) -> Start | None:
    """Return the start by its name; None: 0."""
    n, n_nodes = labels.shape
    if init == "class_mean":
        signs = 2.0 * labels.to_indicator().toarray() - 1.0
        return Start(np.arange(n), signs / n)
    if init == "random":
        rows = np.sort(random.permutation(n)[:RANDOM_ROWS])
        return Start(rows, random.standard_normal((len(rows), n_nodes)), RANDOM_NORM)
    return None
