"""Weights of new labels, made from those of old ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Vector = tuple[Any, float]  # weights (1 × features, CSR) and intercept


def combine(vectors: list[Vector]) -> Vector:
    """Return the weights of a label that several labels were merged into.

    Evidence for any of them is evidence for it: weights are summed. Without evidence its score is the mean of theirs:
    so is the intercept.
    """
    if len(vectors) == 1:
        return vectors[0]
    weights = sum((row for row, _ in vectors[1:]), vectors[0][0])
    return sparse.csr_array(weights), float(np.mean([intercept for _, intercept in vectors], dtype=np.float64))


def average(vectors: list[Vector]) -> Vector:
    """Return the mean of weights: where a new label begins that has only its siblings."""
    weights = sum((row for row, _ in vectors[1:]), vectors[0][0]) * np.float32(1 / len(vectors))
    return sparse.csr_array(weights), float(np.mean([intercept for _, intercept in vectors], dtype=np.float64))


def turn_towards(vector: Vector, text: Any) -> Vector:
    """Return the nearest weights that give a row, the features of a label's text, a score of at least 1."""
    weights, intercept = vector
    row = sparse.csr_array(text, dtype=np.float32)
    length = float(row.multiply(row).sum())
    miss = 1 - float((weights @ row.T).toarray()[0, 0]) - intercept
    if length == 0 or miss <= 0:
        return vector
    return sparse.csr_array(weights + row * np.float32(miss / length)), intercept


def stack(vectors: list[Vector], n_features: int) -> tuple[sparse.csr_array, npt.NDArray[np.float32]]:
    """Return the weights as a matrix (labels × features) with sorted indices, and the intercepts."""
    rows = [sparse.csr_array((0, n_features), dtype=np.float32), *(row for row, _ in vectors)]
    matrix = sparse.csr_array(sparse.vstack(rows, format="csr", dtype=np.float32))
    return matrix.sorted_indices(), np.array([intercept for _, intercept in vectors], np.float32)
