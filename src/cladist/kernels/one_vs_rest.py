"""Dual coordinate descent on a block of sixteen one-vs-rest problems over the same rows.

Problem   min_w ½‖w‖² + Σ_i c_ik ℓ(y_ik w·x_i) for each k of the block, y_ik = ±1; ℓ is a surrogate, see `surrogate`
Dual      max_α Σ_i c_ik gain(α_i / c_ik) − ½‖w(α)‖², w(α) = Σ_i α_i y_ik x_i
Moves     one α at a time, to its best value with the others fixed; one row is read once for all sixteen problems
Stops     when all relative duality gaps are small. A gap is the sum over rows of c ℓ(m) − lower_bound(m, α, c) ≥ 0
Found by  Hsieh, Chang, Lin, Keerthi & Sundararajan 2008; Shalev-Shwartz & Zhang 2013 for the logistic loss

An active list leaves out rows whose α do not move (shrinking). Steps use float32 margins; objectives are computed from
margins summed in float64, so that they are those of the weights in W, however large c is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cladist.kernels.dense_rows import (
    TILE,
    add_mixed,
    add_sparse,
    add_tile,
    add_to_column,
    carry_step,
    dot_mixed,
    dot_sparse,
    dot_tile,
    has_dense,
    tile_product,
)
from cladist.kernels.jit import kernel
from cladist.kernels.lanes import WIDTH, all_of, any_of, bits, load, spread, store, where
from cladist.kernels.surrogate import dual_step, lower_bound, rests, slope, value

HIGHEST, LOWEST, ABOVE, BELOW = 0, 1, 2, 3  # rows of `state`
VISITS, MOST_VISITS, GAVE_UP, FIRST_JUDGED = 0, 1, 2, 3  # entries of `effort`
SWEEPS_BEFORE_STAGNATION, STAGNATION = 250, 0.99  # descent ends where twice the sweeps lower the gap by less than 1 %
LONGEST = 1.5  # times the cost of Newton steps: descent that takes longer gives way to them
SKIPPED = np.float32(0.1)  # share of the tolerance below which moving α costs more than it gains
FIRST_SWEEPS = 5
FEW = 8
STRETCH = 8  # rows that are shuffled as one; about as many as a processor prefetches
# Of so many rows, lists are divided into this many stretches: such rows may lie in a file that is larger than memory,
# of which a system reads megabytes at once.
MANY_ROWS, STRETCHES = 2**20, 512
ACTIVE_SWEEPS = 10  # visits to active rows before all rows are visited again, as a multiple of all rows
SWEEPS_TO_JUDGE = 40  # the fraction of the cost of another solver that a sweep over active rows may cost
SCALES, SCALE_STEPS = (0.5, 2.0), 14


class LaneProblem(NamedTuple):
    """Sixteen binary problems over the same rows.

    W (features × 16), α (rows × 16), norms and costs are float32, or all float64. Kernels unpack a problem outside
    loops: compiled code counts references whenever a field is read.
    """

    rows: Any  # (indptr, indices, data, dense): CSR rows and dense columns beside them, float32
    norms: Any  # (rows,) ‖x_i‖²
    mask: Any  # (rows,) uint32: bit k of mask[i] is set where row i is positive in problem k
    weight: Any  # (rows,) float32
    costs: Any  # (2 × 16) c_ik is weight[i] · costs[0, k] for positive rows, weight[i] · costs[1, k] for negative ones
    n_lanes: int = WIDTH  # the number of problems, the first lanes


@kernel
def row_costs(costs, weight, positive):
    """Return the costs of a row in the sixteen problems, given its weight and where it is positive."""
    return where(positive, load(costs, 0), load(costs, 1)) * weight


@kernel
def sweep(problem, surrogate, visits, W, alpha, state, skip, active):
    """Visit some rows once; return how many of them stay active, and put these into `active`.

    Where many α are at a bound, a row rests if in every problem its α is at a bound, with a gradient beyond the limits
    in `state`; otherwise, if none of its α has moved.
    """
    rows, norms, mask, weight, costs, _ = problem
    highest, lowest = spread(-np.inf, state), spread(np.inf, state)
    above, below = load(state, ABOVE), load(state, BELOW)
    products, steps, full = np.empty((TILE, WIDTH), W.dtype), np.zeros((TILE, WIDTH), W.dtype), has_dense(rows)
    n_active, n_moved = 0, 0
    for v in range(visits.shape[0]):
        i, place = visits[v], v % TILE
        if full and place == 0:
            dot_tile(rows, visits, v, W, products)
        positive = bits(mask[i])
        sign, cost = where(positive, 1.0, -1.0), row_costs(costs, weight[i], positive)
        product = tile_product(rows, i, place, W, products) if full else dot_sparse(rows, i, W, W)
        before, margin = load(alpha, i), sign * product
        after, violated = dual_step(surrogate, margin, before, cost, norms[i])
        highest = where(violated > highest, violated, highest)
        lowest = where(violated < lowest, violated, lowest)
        moves = (violated > skip) | (violated < -skip)
        moved = any_of(moves)
        if moved:
            after = where(moves, after, before)
            store(alpha, i, after)
            if full:
                n_moved += 1
                carry_step(rows, visits, v, (after - before) * sign, products, steps)
                add_sparse(rows, i, W, (after - before) * sign)
            else:
                add_sparse(rows, i, W, (after - before) * sign)
        if n_moved > 0 and (place == TILE - 1 or v == visits.shape[0] - 1):
            add_tile(rows, visits, v - place, W, steps)
            n_moved = 0
        at_rest = all_of(rests(surrogate, margin, before, cost, above, below)) if surrogate.sparse_dual else not moved
        if not at_rest:
            active[n_active] = i
            n_active += 1
    store(state, HIGHEST, highest)
    store(state, LOWEST, lowest)
    return n_active


@kernel
def violation(state):
    """Return the largest violation of optimality of the sixteen problems in the last sweep."""
    most = np.float32(0)
    for k in range(WIDTH):
        most = max(most, max(state[HIGHEST, k], np.float32(0)) - min(state[LOWEST, k], np.float32(0)))
    return most


@kernel
def rest_beyond(state, bound):
    """Set the limits of gradients beyond which rows rest: a bound, or for 0 the extremes of the last sweep."""
    for k in range(WIDTH):
        high, low = state[HIGHEST, k], state[LOWEST, k]
        state[ABOVE, k] = bound if bound > 0 else (high if high > 0 else np.float32(np.inf))
        state[BELOW, k] = -bound if bound > 0 else (low if low < 0 else np.float32(-np.inf))


@kernel
def shuffle(rows, generator, n_rows=0):
    """Put stretches of rows into a random order; `generator` is the state of a xorshift, one per block, never shared.

    Rows that follow each other are neighbours in memory, already in a random order: whole stretches of them are read
    much faster than the same number of single rows, and serve as well. Rows beyond the last whole stretch stay.
    `n_rows` is the number of all rows, of which these may be a few.
    """
    stretch = max(STRETCH, rows.shape[0] // STRETCHES) if n_rows >= MANY_ROWS else STRETCH
    for k in range(rows.shape[0] // stretch - 1, 0, -1):
        generator[0] ^= generator[0] << np.uint64(13)
        generator[0] ^= generator[0] >> np.uint64(7)
        generator[0] ^= generator[0] << np.uint64(17)
        j = np.int64((generator[0] >> np.uint64(33)) % np.uint64(k + 1))
        for s in range(stretch):
            one, other = k * stretch + s, j * stretch + s
            rows[one], rows[other] = rows[other], rows[one]


@kernel
def visit_first(problem, surrogate, first, W, alpha, eps, effort):
    """Sweep a few times over the rows that change most with the others: the few positive ones."""
    state, active = np.empty((4, WIDTH), W.dtype), np.empty_like(first)
    for _ in range(FIRST_SWEEPS):
        effort[VISITS] += first.shape[0]
        rest_beyond(state, np.float32(np.inf))
        sweep(problem, surrogate, first, W, alpha, state, W.dtype.type(SKIPPED * eps), active)
        if violation(state) <= eps:
            break


@kernel
def descend(
    problem, surrogate, order, first, W, alpha, eps, max_sweeps, generator, effort, active_sweeps=ACTIVE_SWEEPS
):
    """Sweep over all rows and then over active ones, up to `max_sweeps` times; after each over those of `first`.

    Active rows are visited up to `active_sweeps` times the number of all rows before all are visited again. `effort`
    holds the number of visits to rows, which is counted on, and the number that another solver would cost; descent ends
    after twice as many. Its last two entries are for `solve_block`.

    Returns the number of sweeps over all rows, and whether the last of them left no violation above `eps`.
    """
    state = np.empty((4, WIDTH), W.dtype)
    active, still_active = np.empty_like(order), np.empty_like(order)
    skip = W.dtype.type(SKIPPED * eps)
    for done in range(1, max_sweeps + 1):
        effort[VISITS] += order.shape[0]
        rest_beyond(state, np.float32(0.5) * eps)
        n_active = sweep(problem, surrogate, order, W, alpha, state, skip, active)
        if violation(state) <= eps:
            return done, True
        visit_first(problem, surrogate, first, W, alpha, eps, effort)
        visited = 0
        while (
            n_active > 0 and visited < active_sweeps * order.shape[0] and effort[VISITS] < LONGEST * effort[MOST_VISITS]
        ):
            visited += n_active
            effort[VISITS] += n_active
            rest_beyond(state, np.float32(0))
            shuffle(active[:n_active], generator, order.shape[0])
            n_active = sweep(problem, surrogate, active[:n_active], W, alpha, state, skip, still_active)
            active[:n_active] = still_active[:n_active]
            if violation(state) <= eps:
                break
            visit_first(problem, surrogate, first, W, alpha, eps, effort)
        if effort[VISITS] >= LONGEST * effort[MOST_VISITS]:
            return done, False
    return max_sweeps, False


@kernel
def squared_norms(W, norms):
    """Set the ‖w‖² of the sixteen problems, in float64."""
    norms[:] = 0
    for j in range(W.shape[0]):
        for k in range(WIDTH):
            norms[k] += np.float64(W[j, k]) * np.float64(W[j, k])


@kernel
def objectives(problem, surrogate, W, alpha, primal, gap):
    """Set primal and gap (float64) of the sixteen problems, at w = W and at α.

    The gap leaves out ½‖W − w(α)‖², the square of the rounding errors in W.
    """
    squared_norms(W, primal)
    primal /= 2
    gap[:] = 0
    terms, products = np.empty((2, WIDTH)), np.empty((TILE, WIDTH))
    rows, _, mask, weight, costs, _ = problem
    visits, full = np.arange(np.int32(mask.shape[0])), has_dense(rows)
    for i in range(mask.shape[0]):
        if full and i % TILE == 0:
            dot_tile(rows, visits, i, W, products)
        positive = bits(mask[i])
        product = tile_product(rows, i, i % TILE, W, products) if full else dot_sparse(rows, i, W, terms)
        margin = where(positive, 1.0, -1.0) * product
        put_terms(surrogate, margin, load(alpha, i), row_costs(costs, weight[i], positive), terms)
        for k in range(WIDTH):
            primal[k] += terms[0, k]
            gap[k] += terms[1, k]


@kernel
def put_terms(surrogate, margin, alpha, cost, terms):
    """Write c ℓ(m) and c ℓ(m) − lower_bound(m, α, c) of a row into `terms`, in float64."""
    cost = spread(0.0, terms) + cost
    lost = cost * value(surrogate, margin)
    store(terms, 0, lost)
    store(terms, 1, lost - lower_bound(surrogate, margin, alpha, cost))


@kernel
def primals(problem, surrogate, W, primal):
    """Set the primal (float64) of the sixteen problems at w = W."""
    sums, norms = np.zeros((1, WIDTH)), np.empty(WIDTH)
    squared_norms(W, norms)
    lost, products = load(sums, 0), np.empty((TILE, WIDTH))
    rows, _, mask, weight, costs, _ = problem
    visits, full = np.arange(np.int32(mask.shape[0])), has_dense(rows)
    for i in range(mask.shape[0]):
        if full and i % TILE == 0:
            dot_tile(rows, visits, i, W, products)
        positive = bits(mask[i])
        product = tile_product(rows, i, i % TILE, W, products) if full else dot_sparse(rows, i, W, sums)
        margin = where(positive, 1.0, -1.0) * product
        lost = row_costs(costs, weight[i], positive) * value(surrogate, margin) + lost
    store(sums, 0, lost)
    primal[:] = norms / 2 + sums[0]


@kernel
def best_scales(problem, surrogate, W, primal, gap, scales):
    """Find the s for which s·w has the lowest loss; set `scales`, and primal and gap at s·w as W would hold it.

    Under the hinge, rows on the margin miss it by a little, each at the cost of c; a little more length costs less
    where c is large. The slope in s, s‖w‖² + Σ c m ℓ'(s m), rises; bisection finds its zero.
    """
    rows, _, mask, weight, costs, _ = problem
    n = mask.shape[0]
    norms, slopes, scale = np.empty(WIDTH), np.empty((1, WIDTH)), np.empty((1, WIDTH), W.dtype)
    squared_norms(W, norms)
    margins = np.empty((n, WIDTH), W.dtype)
    full = has_dense(rows)
    for i in range(n):
        product = dot_mixed(rows, i, W, W) if full else dot_sparse(rows, i, W, W)
        store(margins, i, where(bits(mask[i]), 1.0, -1.0) * product)
    low, high = np.full(WIDTH, SCALES[0]), np.full(WIDTH, SCALES[1])
    for _ in range(SCALE_STEPS):
        middle = (low + high) / 2
        scale[0] = middle
        slopes[0] = middle * norms
        total = load(slopes, 0)
        for i in range(n):
            margin = load(margins, i)
            product = row_costs(costs, weight[i], bits(mask[i])) * margin
            total = total + product * slope(surrogate, margin * (spread(0.0, slopes) + load(scale, 0)))
        store(slopes, 0, total)
        for k in range(WIDTH):
            if slopes[0, k] > 0:
                high[k] = middle[k]
            else:
                low[k] = middle[k]
    scales[:] = (low + high) / 2
    keep_better_scales(problem, surrogate, W, primal, gap, scales)


@kernel
def keep_better_scales(problem, surrogate, W, primal, gap, scales):
    """Set scales that do not lower the primal back to 1; lower primal and gap where the others do."""
    scaled, lower = np.empty_like(W), np.empty(WIDTH)
    for j in range(W.shape[0]):
        for k in range(WIDTH):
            scaled[j, k] = W[j, k] * scales[k]
    primals(problem, surrogate, scaled, lower)
    for k in range(WIDTH):
        if lower[k] < primal[k]:
            gap[k] -= primal[k] - lower[k]
            primal[k] = lower[k]
        else:
            scales[k] = 1


@kernel
def largest_gap(primal, gap):
    """Return the largest relative gap of the sixteen problems; ∞ if one is not finite."""
    most = 0.0
    for k in range(WIDTH):
        if not np.isfinite(primal[k]) or not np.isfinite(gap[k]):
            return np.inf
        if primal[k] > 0:
            most = max(most, gap[k] / primal[k])
    return most


@kernel
def is_slow(surrogate, before, gap, tol, visits_before, effort):
    """Tell whether another solver costs less than the visits that remain, if the gap goes on falling as it did.

    Where the dual is not sparse, and under the hinge, it may rest for a while: descent is given more time there.
    """
    visits, most = effort[VISITS], effort[MOST_VISITS]
    if visits >= LONGEST * most:
        return True
    judged_from = effort[FIRST_JUDGED] if surrogate.sparse_dual else 2.5 * effort[FIRST_JUDGED]
    if visits < judged_from or not np.isfinite(before):
        return False
    if not gap < before:  # it may have risen for a moment
        return 2 * visits >= most
    return np.log(gap / tol) * (visits - visits_before) > np.log(before / gap) * most


@kernel
def solve_block(
    problem, surrogate, order, first, W, alpha, eps, tol, max_sweeps, generator, effort, primal, gap, scales
):
    """Solve a block until every relative duality gap is at most `tol`; return the number of sweeps over all rows.

    `order` are all rows, best in a random order that is theirs in memory, too; `first` those to visit before. W must be
    w(α); both are changed, and primal and gap are set. `eps` holds the violation allowed at first, which is tightened
    until the gap is small enough, and the smallest violation that makes sense. `effort` is that of `descend`; from
    its last entry on the rate of descent is judged, and the one before becomes 1 where another solver would cost less
    than the visits that remain. The gap certifies scales_k · w_k;
    scales differ from 1 only for losses that are not smooth.
    """
    eps, smallest = eps
    scales[:] = 1
    visit_first(problem, surrogate, first, W, alpha, eps, effort)
    often = first if first.shape[0] * FEW < order.shape[0] else first[:0]
    # The less another solver costs, the sooner the rate of descent must be known.
    active_sweeps = min(ACTIVE_SWEEPS, max(1, effort[MOST_VISITS] // (SWEEPS_TO_JUDGE * max(1, order.shape[0]))))
    done, until_check, before, visits_before = 0, 2, np.inf, 0
    while True:
        limit = min(until_check, max_sweeps - done)
        swept, settled = descend(
            problem, surrogate, order, often, W, alpha, eps, limit, generator, effort, active_sweeps
        )
        done += swept
        objectives(problem, surrogate, W, alpha, primal, gap)
        largest = largest_gap(primal, gap)
        if not surrogate.smooth and largest > tol:
            best_scales(problem, surrogate, W, primal, gap, scales)
            largest = largest_gap(primal, gap)
        stagnant = not settled and done >= SWEEPS_BEFORE_STAGNATION and largest > STAGNATION * before
        stagnant = stagnant and surrogate.smooth  # under the hinge the gap may rest for long before it falls
        if largest <= tol or done >= max_sweeps or stagnant or (settled and eps <= smallest):
            return done
        if is_slow(surrogate, before, largest, tol, visits_before, effort):
            effort[GAVE_UP] = 1
            return done
        if (
            surrogate.smooth and surrogate.sparse_dual
        ) or before == np.inf:  # else the rate is that since the first check
            before, visits_before = largest, effort[VISITS]
        scales[:] = 1
        if settled:
            factor = 0.5 * tol / largest
            if surrogate.smooth:  # the gap falls as the square of the violation
                factor = np.sqrt(factor)
            eps = max(smallest, eps * min(max(factor, 0.1), 0.6))
            until_check = 1
        else:
            until_check = 2 * until_check - 1 if until_check > 1 else 2


@kernel
def put_positives(rows, positives, weight, costs, share, alpha_before, W, alpha, mask):
    """Make rows, negative so far, positive in some problems; `positives` are (indptr, rows) by problem.

    Their α, `alpha_before` as negative rows, becomes `share` times c, and W follows.
    """
    starts, members = positives
    for k in range(WIDTH):
        for s in range(starts[k], starts[k + 1]):
            i = members[s]
            mask[i] |= np.uint32(1) << np.uint32(k)
            alpha[i, k] = share * costs[0, k] * weight[i]
            add_to_column(rows, i, alpha_before[i] + alpha[i, k], W, k)


@kernel
def weights_of(rows, mask, alpha, W):
    """Set W to w(α)."""
    W[:], full = 0, has_dense(rows)
    for i in range(mask.shape[0]):
        a = load(alpha, i)
        if any_of((a > 0.0) | (a < 0.0)):
            step = where(bits(mask[i]), 1.0, -1.0) * a
            if full:
                add_mixed(rows, i, W, step)
            else:
                add_sparse(rows, i, W, step)
