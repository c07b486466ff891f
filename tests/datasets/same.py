"""Equality of Datasets, for round trips."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cladist.datasets import Dataset


def same_dataset(one: Dataset, other: Dataset) -> bool:
    """Tell whether two Datasets hold the same rows, labels, taxonomy and columns, split alike."""
    parts = ("X", "y", "X_train", "y_train", "X_test", "y_test") if one.is_split else ("X", "y")
    return (
        one.is_split == other.is_split
        and all(_same(getattr(one, part), getattr(other, part)) for part in parts)
        and one.taxonomy == other.taxonomy
        and _same(one.feature_names, other.feature_names)
    )


def _same(one: object, other: object) -> bool:
    if sparse.issparse(one) or sparse.issparse(other):
        one, other = (rows.toarray() if sparse.issparse(rows) else np.asarray(rows) for rows in (one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and one.tolist() == other.tolist()
    return list(one) == list(other) if one is not None and other is not None else one is other  # type: ignore[call-overload]
