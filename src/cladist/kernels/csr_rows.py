"""Rows of a CSR matrix over the features that occur: counted, gathered and reordered."""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel


@kernel
def count_features(rows, chosen, n_features):
    """Return the number of chosen rows in which each feature has an entry; nothing if there is no such feature.

    Rows may be those of a file that nobody has verified, so every index is checked before it is used.
    """
    indptr, indices = rows
    counts = np.zeros(n_features, np.int64)
    for i in chosen:
        for p in range(indptr[i], indptr[i + 1]):
            if not 0 <= indices[p] < n_features:
                return counts[:0]
            counts[indices[p]] += 1
    return counts


@kernel
def gather_rows(rows, chosen, position, constant, constant_position, to_indptr, to_indices, to_data, norms):
    """Copy the chosen rows; feature j becomes `position[j]`, and a constant 1 is the last feature if `constant`."""
    indptr, indices, data = rows
    for k in range(chosen.shape[0]):
        i = chosen[k]
        to, total = to_indptr[k], 0.0
        for p in range(indptr[i], indptr[i + 1]):
            to_indices[to] = position[indices[p]]
            to_data[to] = data[p]
            total += np.float64(data[p]) * np.float64(data[p])
            to += 1
        if constant:
            to_indices[to] = constant_position
            to_data[to] = 1
            total += 1.0
        norms[k] = total


@kernel
def copy_rows(rows, order, to_indptr, to_indices, to_data):
    """Copy rows in another order."""
    indptr, indices, data = rows
    for k in range(order.shape[0]):
        start = indptr[order[k]]
        to = to_indptr[k]
        for p in range(to_indptr[k + 1] - to):
            to_indices[to + p] = indices[start + p]
            to_data[to + p] = data[start + p]
