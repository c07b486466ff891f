"""Rounds of structured perceptrons: products with one row, score updates, and the weights that rows are drawn by."""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.runner_up import margin_rows

STRIDE = 1024  # rows that are updated and measured together, while their scores are in the cache
SMALLEST = 1e-250  # a row's weight stays positive, and far from the slow denormal numbers below 1e-308


@kernel
def add_sparse_products(indptr, rows, values, features, weights, out):
    """Add x·z to `out` for every row x of a block, given by features (CSC), and one z, given by its nonzero entries.

    Cost: the entries of the block in these features. Features are added in order, so that dense rows give equal sums.
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
def reweigh(weights, margins, rate):
    """Multiply u_i by 1 − ηv_i + (ηv_i)², `rate` being η over the unit of the margins; returns Σu."""
    total = 0.0
    for i in range(weights.shape[0]):
        change = rate * margins[i]
        weight = weights[i] * (1.0 - change + change * change)
        weights[i] = weight if weight > SMALLEST else SMALLEST
        total += weights[i]
    return total


@kernel
def find_row(weights, target):
    """Return the row at which the running sum of weights exceeds `target`, or the last one."""
    running = 0.0
    for i in range(weights.shape[0]):
        running += weights[i]
        if running > target:
            return i
    return weights.shape[0] - 1


@kernel
def advance_rows(cache, update, first, last):
    """Add an update to the scores of rows first … last, and measure their margins while the scores are in the cache.

    `cache` is (scores, counted, parent, side, margins), see `ScoreCache`; without the average `counted` has no nodes.
    `update` is (nodes, values, counted values, column); without nodes, only margins are measured.
    """
    scores, counted, parent, side, margins = cache
    nodes, values, counted_values, column = update
    for start in range(first, last, STRIDE):
        end = min(start + STRIDE, last)
        add_column(scores, nodes, values, column, start, end)
        if counted.shape[0]:
            add_column(counted, nodes, counted_values, column, start, end)
        margin_rows(scores, parent, side, start, end, margins)
