"""Rows with dense columns beside sparse ones: four of them share one pass over the weights of sixteen problems.

Rows are (indptr, indices, data, dense): a CSR part and an array of dense columns, none if it has no columns. The
weights of dense columns are the last ones. The products of four rows are computed from the same weights. A step along
one of them changes the products of the rows after it by its own product with them, so that rows still move one after
the other; the weights of dense columns follow once all four have moved, those of sparse ones at once.

Kernels for rows without dense columns are apart, since what is small enough to be compiled into a loop is fast.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.lanes import fused, load, spread, store

TILE = 4  # as many sums hide the delay of a product, and share the reads and writes of weights


@kernel
def has_dense(rows):
    """Tell whether rows have dense columns."""
    return rows[3].shape[1] > 0


@kernel
def row_length(rows, i):
    """Return the number of entries of a row."""
    indptr, _, _, dense = rows
    return indptr[i + 1] - indptr[i] + dense.shape[1]


# ---------------------------------------------------------------- one row


@kernel
def dot_sparse(rows, i, W, like):
    """Return the sixteen products of w with the sparse part of a row, summed in the type of an array."""
    indptr, indices, data, _ = rows
    # Unsigned, so that compiled code does not test whether an index counts from the end.
    p, end, one = np.uint64(indptr[i]), np.uint64(indptr[i + 1]), np.uint64(1)
    even, odd = spread(0.0, like), spread(0.0, like)  # two sums, so that one product need not wait for the other
    while p + one < end:
        even = fused(data[p], load(W, indices[p]), even)
        odd = fused(data[p + one], load(W, indices[p + one]), odd)
        p += np.uint64(2)
    if p < end:
        even = fused(data[p], load(W, indices[p]), even)
    return even + odd


@kernel
def dot_mixed(rows, i, W, like):
    """Return the sixteen products w·x_i of a row with dense columns, summed in the type of an array."""
    indptr, indices, data, dense = rows
    total = dot_dense(dense[i], W, like)
    for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        total = fused(data[p], load(W, indices[p]), total)
    return total


@kernel
def dot_dense(row, W, like):
    """Return the sixteen products of w with the dense part of a row, summed in the type of an array."""
    start, n, four = np.uint64(W.shape[0] - row.shape[0]), np.uint64(row.shape[0]), np.uint64(4)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    first, second, third, fourth = spread(0.0, like), spread(0.0, like), spread(0.0, like), spread(0.0, like)
    whole = n - n % four
    for j in range(np.uint64(0), whole, four):
        first = fused(row[j], load(W, start + j), first)
        second = fused(row[j + one], load(W, start + j + one), second)
        third = fused(row[j + two], load(W, start + j + two), third)
        fourth = fused(row[j + three], load(W, start + j + three), fourth)
    for j in range(whole, n):
        first = fused(row[j], load(W, start + j), first)
    return (first + second) + (third + fourth)


@kernel
def add_sparse(rows, i, W, steps):
    """Add steps_k · x_i to each w_k for the sparse part of a row."""
    indptr, indices, data, _ = rows
    for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        store(W, indices[p], fused(data[p], steps, load(W, indices[p])))


@kernel
def add_mixed(rows, i, W, steps):
    """Add steps_k · x_i to each w_k for a row with dense columns."""
    add_sparse(rows, i, W, steps)
    row, start = rows[3][i], np.uint64(W.shape[0] - rows[3].shape[1])
    for j in range(np.uint64(row.shape[0])):
        store(W, start + j, fused(row[j], steps, load(W, start + j)))


@kernel
def add_to_column(rows, i, step, W, k):
    """Add a multiple of a row to column k of W."""
    indptr, indices, data, dense = rows
    for p in range(indptr[i], indptr[i + 1]):
        W[indices[p], k] += step * data[p]
    first = W.shape[0] - dense.shape[1]
    for j in range(dense.shape[1]):
        W[first + j, k] += step * dense[i, j]


@kernel
def add_to_vector(rows, i, step, vector):
    """Add a multiple of a row to a vector."""
    indptr, indices, data, dense = rows
    for p in range(indptr[i], indptr[i + 1]):
        vector[indices[p]] += step * data[p]
    if dense.shape[1] > 0:
        row, last = dense[i], vector[vector.shape[0] - dense.shape[1] :]
        for j in range(row.shape[0]):
            last[j] += step * row[j]


# ---------------------------------------------------------------- four rows


@kernel
def row_of(rows, visits, v):
    """Return the dense part of the row of a visit, or of the last one; compiled code does not test indices of a row."""
    return rows[3][visits[min(v, visits.shape[0] - 1)]]


@kernel
def four_rows(rows, visits, v):
    """Return the dense parts of the rows of four visits."""
    return (
        row_of(rows, visits, v),
        row_of(rows, visits, v + 1),
        row_of(rows, visits, v + 2),
        row_of(rows, visits, v + 3),
    )


@kernel
def dot_tile(rows, visits, v, W, products):
    """Set the products of w with the dense parts of four rows, from the visit `v` on, summed in their own type."""
    p, q, r, s = four_rows(rows, visits, v)
    start = np.uint64(W.shape[0] - p.shape[0])
    first, second, third, fourth = (
        spread(0.0, products),
        spread(0.0, products),
        spread(0.0, products),
        spread(0.0, products),
    )
    for j in range(np.uint64(p.shape[0])):
        w = load(W, start + j)
        first = fused(p[j], w, first)
        second = fused(q[j], w, second)
        third = fused(r[j], w, third)
        fourth = fused(s[j], w, fourth)
    store(products, 0, first)
    store(products, 1, second)
    store(products, 2, third)
    store(products, 3, fourth)


@kernel
def tile_product(rows, i, place, W, products):
    """Return the products of w with the row at a place of its tile."""
    indptr, indices, data, _ = rows
    total = load(products, place)
    for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        total = fused(data[p], load(W, indices[p]), total)
    return total


@kernel(fastmath={"reassoc", "contract", "nsz"})
def multiply_rows(one, other, like):
    """Return the product of two rows, summed in the type of an array, in the order that is fastest."""
    total = like.dtype.type(0)
    for j in range(one.shape[0]):
        total += like.dtype.type(one[j]) * like.dtype.type(other[j])
    return total


@kernel
def carry_step(rows, visits, v, step, products, steps):
    """Note the step of the visit `v`, and add what it changes to the products of the rows after it in its tile."""
    here, row = v % TILE, row_of(rows, visits, v)
    store(steps, here, step)
    for k in range(1, min(TILE - here, visits.shape[0] - v)):
        product = multiply_rows(row, row_of(rows, visits, v + k), products)
        store(products, here + k, fused(product, step, load(products, here + k)))


@kernel
def add_tile(rows, visits, v, W, steps):
    """Add the steps along four rows, the first of which is the visit `v`, to the weights; set the steps to 0."""
    p, q, r, s = four_rows(rows, visits, v)
    start = np.uint64(W.shape[0] - p.shape[0])
    first, second, third, fourth = load(steps, 0), load(steps, 1), load(steps, 2), load(steps, 3)
    for j in range(np.uint64(p.shape[0])):
        w = fused(p[j], first, load(W, start + j))
        w = fused(q[j], second, w)
        w = fused(r[j], third, w)
        store(W, start + j, fused(s[j], fourth, w))
    for k in range(TILE):
        store(steps, k, spread(0.0, steps))
