"""Visits to four dense rows at a time: one pass over the weights of sixteen problems serves all of them.

Rows are full if each has an entry for every feature in use, in their order. The products of four rows are computed from
the same weights. A step along one of them changes the products of the rows after it by its own product with them, so
that rows still move one after the other; the weights follow once all four have moved.
"""

from __future__ import annotations

from cladist.kernels.jit import kernel
from cladist.kernels.lanes import fused, load, spread, store

TILE = 4  # as many sums hide the delay of a product, and share the reads and writes of weights


@kernel
def is_full(rows, W):
    """Tell whether every row has an entry for every feature."""
    indptr, _, data = rows
    return data.shape[0] == (indptr.shape[0] - 1) * W.shape[0]


@kernel
def row_of(rows, visits, v):
    """Return the entries of the row of a visit, or of the last one; compiled code does not test indices of a slice."""
    indptr, _, data = rows
    i = visits[min(v, visits.shape[0] - 1)]
    return data[indptr[i] : indptr[i + 1]]


@kernel
def four_rows(rows, visits, v):
    """Return the entries of the rows of four visits."""
    return (
        row_of(rows, visits, v),
        row_of(rows, visits, v + 1),
        row_of(rows, visits, v + 2),
        row_of(rows, visits, v + 3),
    )


@kernel
def dot_tile(rows, visits, v, W, products):
    """Set the products w·x of four rows, the first of which is the visit `v`."""
    p, q, r, s = four_rows(rows, visits, v)
    first, second, third, fourth = spread(0.0, W), spread(0.0, W), spread(0.0, W), spread(0.0, W)
    for j in range(W.shape[0]):
        w = load(W, j)
        first = fused(p[j], w, first)
        second = fused(q[j], w, second)
        third = fused(r[j], w, third)
        fourth = fused(s[j], w, fourth)
    store(products, 0, first)
    store(products, 1, second)
    store(products, 2, third)
    store(products, 3, fourth)


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
    first, second, third, fourth = load(steps, 0), load(steps, 1), load(steps, 2), load(steps, 3)
    for j in range(W.shape[0]):
        w = fused(p[j], first, load(W, j))
        w = fused(q[j], second, w)
        w = fused(r[j], third, w)
        store(W, j, fused(s[j], fourth, w))
    for k in range(TILE):
        store(steps, k, spread(0.0, steps))
