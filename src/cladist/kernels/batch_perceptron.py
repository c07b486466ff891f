"""Rounds of batch perceptrons: products with one row, score updates, and the weights by which rows are drawn."""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.runner_up import margin_rows

STRIDE = 1024  # rows that are updated and measured together, while their scores are in the cache
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


@kernel
def advance_rows(board, update, weights, rate, first, last):
    """Bring the scores of rows first … last up to date, measure their margins and reweigh them; returns Σu.

    `board` is (scores, counted, parent, side, margins), see `ScoreBoard`; without the average `counted` has no nodes.
    `update` is (nodes, values, counted values, column), without nodes if there is none. rate 0: weights are left alone.
    """
    scores, counted, parent, side, margins = board
    nodes, values, counted_values, column = update
    total = 0.0
    for start in range(first, last, STRIDE):
        end = min(start + STRIDE, last)
        add_column(scores, nodes, values, column, start, end)
        if counted.shape[0]:
            add_column(counted, nodes, counted_values, column, start, end)
        margin_rows(scores, parent, side, start, end, margins)
        if rate != 0.0:
            total += reweigh(weights, margins, rate, start, end)
    return total
