"""Rounds of batch perceptrons: products with one row, score updates, and the weights by which rows are drawn."""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel

SMALLEST = 1e-250  # of a row's weight: positive, and far from the slow numbers below 1e-308


@kernel
def add_sparse_products(indptr, rows, values, features, weights, out):
    """Add x·z to `out` for every row x of a block, given by features (CSC), and one z, given by its nonzero entries.

    Cost: the entries of the block in these features. Features go by number, so that dense rows sum up alike.
    """
    for k in range(features.shape[0]):
        weight = np.float64(weights[k])
        for p in range(indptr[features[k]], indptr[features[k] + 1]):
            out[rows[p]] += weight * np.float64(values[p])


@kernel
def add_dense_products(columns, z, out):
    """Add x·z to `out` for every row x of a block, given as (features × rows), and one dense z."""
    for j in range(columns.shape[0]):
        column, weight = columns[j], np.float64(z[j])
        if weight != 0.0:
            for t in range(out.shape[0]):
                out[t] += weight * np.float64(column[t])


@kernel
def add_column(scores, nodes, values, column, first, last):
    """Add values[k] · column to the scores (nodes × rows) of node nodes[k], for rows first … last."""
    part = column[first:last]
    for k in range(nodes.shape[0]):
        row, value = scores[nodes[k], first:last], values[k]
        for t in range(row.shape[0]):
            row[t] += value * part[t]


@kernel
def reweigh(weights, margins, rate, first, last):
    """Multiply u_i by 1 − ηv_i + (ηv_i)² for rows first … last, `rate` being η over the margins' unit; returns Σu."""
    total = 0.0
    for i in range(first, last):
        moved = rate * margins[i]
        weight = weights[i] * (1.0 - moved + moved * moved)
        weights[i] = weight if weight > SMALLEST else SMALLEST
        total += weights[i]
    return total


@kernel
def find_row(weights, first, last, target):
    """Return the row of first … last at which the running sum of weights exceeds `target`, or the last one."""
    running = 0.0
    for i in range(first, last):
        running += weights[i]
        if running > target:
            return i
    return last - 1
