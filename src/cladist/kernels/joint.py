"""Dual coordinate descent on sixteen leaves of a tree whose weights are sums along their paths.

Gopal & Yang 2013's recursive regularisation, min ½ Σ_n ‖w_n − w_parent(n)‖² + Σ_leaves Σ_i c_i ℓ(y_i w·x_i), with
w_n = Σ_{u on the path to n} v_u and v_u = Σ_{leaves n below u} Σ_i α_in y_in x_i. Moving α_in by δ moves the weights of
every leaf m by O[n, m] δ y x_i, where O[n, m] is the number of nodes that the two paths share: the overlap.

A `problem` is a `LaneProblem`, as in `cladist.kernels.one_vs_rest`. `overlap` (16 × 16) counts nodes above several
blocks that are solved from one snapshot more than once, so that the steps of all together do not go too far.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.dense_rows import (
    TILE,
    add_sparse,
    add_tile,
    add_to_vector,
    carry_step,
    dot_mixed,
    dot_sparse,
    dot_tile,
    has_dense,
    row_length,
    tile_product,
)
from cladist.kernels.jit import kernel
from cladist.kernels.lanes import WIDTH, all_of, any_of, bits, load, spread, store, where
from cladist.kernels.one_vs_rest import (
    ABOVE,
    BELOW,
    HIGHEST,
    LOWEST,
    VISITS,
    put_terms,
    rest_beyond,
    row_costs,
    shuffle,
    violation,
)
from cladist.kernels.surrogate import clip, dual_bounds, dual_step, gain, rests, slope, value
from cladist.kernels.surrogate import violation as lane_violation

ROUNDS = 4  # through the lanes of one row; each changes the products of the others
LENGTHS, LENGTH_STEPS = (0.5, 2.0), 24  # between which the length of a leaf is sought, by so many bisections
PRODUCTS, DELTAS, AFTER, OWN, STEPS, ALONE, TOGETHER, SCRATCH = range(8)  # rows of `scratch`, and their number


@kernel
def move_row(i, problem, surrogate, alpha, overlap, skip, scratch):
    """Move the α of a row, lane after lane; return whether any moved.

    `scratch` holds the row's products, and takes the change of W.
    """
    _, norms, mask, weight, lane_costs, n_lanes = problem
    norm = norms[i]
    store(scratch, DELTAS, spread(0.0, scratch))
    store(scratch, AFTER, load(alpha, i))
    moved = False
    for _ in range(ROUNDS):
        moving = False
        for k in range(n_lanes):
            positive = (mask[i] >> np.uint32(k)) & np.uint32(1)
            sign = np.float32(1) if positive else np.float32(-1)
            cost = (lane_costs[0, k] if positive else lane_costs[1, k]) * weight[i]
            a = scratch[AFTER, k]
            after, violated = dual_step(surrogate, sign * scratch[PRODUCTS, k], a, cost, overlap[k, k] * norm)
            if abs(violated) > skip and after != a:
                scratch[AFTER, k] = after
                delta = (after - a) * sign
                store(scratch, DELTAS, load(overlap, k) * delta + load(scratch, DELTAS))
                store(scratch, PRODUCTS, load(overlap, k) * (delta * norm) + load(scratch, PRODUCTS))
                moving = True
        if not moving:
            break
        moved = True
    if moved:
        store(alpha, i, load(scratch, AFTER))
    return moved


@kernel
def move_lanes(i, problem, surrogate, alpha, overlap, skip, scratch):
    """Move the α of a row in all lanes at once, where steps are expensive lane by lane; else like `move_row`.

    Steps d, each the best by itself, are shortened by θ = Σ O_kk d_k² / Σ O_kl d_k d_l if that is below 1: the dual is
    concave, and rises by ½ θ ‖x‖² Σ O_kk d_k² at least.
    """
    _, norms, mask, weight, lane_costs, n_lanes = problem
    positive, norm = bits(mask[i]), norms[i]
    lanes = bits((np.uint32(1) << np.uint32(n_lanes)) - np.uint32(1))
    sign, cost = where(positive, 1.0, -1.0), row_costs(lane_costs, weight[i], positive)
    store(scratch, DELTAS, spread(0.0, scratch))
    for k in range(WIDTH):
        scratch[OWN, k] = overlap[k, k]
    own, before, products = load(scratch, OWN), load(alpha, i), load(scratch, PRODUCTS)
    moved = False
    for _ in range(ROUNDS):
        after, violated = dual_step(surrogate, sign * products, before, cost, own * norm)
        moves = lanes & ((violated > skip) | (violated < -skip)) & ((after > before) | (after < before))
        if not any_of(moves):
            break
        moved = True
        step = where(moves, (after - before) * sign, 0.0)
        store(scratch, STEPS, step)
        change = spread(0.0, scratch)
        for k in range(n_lanes):
            if scratch[STEPS, k] != 0:
                change = load(overlap, k) * scratch[STEPS, k] + change
        store(scratch, ALONE, own * step * step)
        store(scratch, TOGETHER, change * step)
        alone, together = np.sum(scratch[ALONE]), np.sum(scratch[TOGETHER])
        share = scratch.dtype.type(1)
        if together > alone:  # both are 0 where the squares of steps are too small for a float
            share = alone / together
        before = before + where(moves, (after - before) * share, 0.0)
        products = products + change * (share * norm)
        store(scratch, DELTAS, load(scratch, DELTAS) + change * share)
    if moved:
        store(alpha, i, before)
    return moved


@kernel
def inspect_row(problem, surrogate, i, alpha, scratch, state, skip):
    """Return whether some α of a row should move, and whether it may rest; update the extremes in `state`."""
    _, _, mask, weight, costs, n_lanes = problem
    positive = bits(mask[i])
    cost, before = row_costs(costs, weight[i], positive), load(alpha, i)
    margin = where(positive, 1.0, -1.0) * load(scratch, PRODUCTS)
    lanes = (np.uint32(1) << np.uint32(n_lanes)) - np.uint32(1)
    violated = where(bits(lanes), lane_violation(surrogate, margin, before, cost), 0.0)
    moves = any_of((violated > skip) | (violated < -skip))
    if not surrogate.sparse_dual:
        return moves, not moves
    highest, lowest = load(state, HIGHEST), load(state, LOWEST)
    store(state, HIGHEST, where(violated > highest, violated, highest))
    store(state, LOWEST, where(violated < lowest, violated, lowest))
    at_rest = rests(surrogate, margin, before, cost, load(state, ABOVE), load(state, BELOW))
    return moves, all_of(bits(~lanes) | at_rest)


@kernel
def sweep_joint(problem, surrogate, visits, W, alpha, overlap, state, skip, active, scratch):
    """Visit some rows once; return how many stay active, and put these into `active`."""
    rows = problem.rows
    store(state, HIGHEST, spread(-np.inf, state))
    store(state, LOWEST, spread(np.inf, state))
    if has_dense(rows):
        return sweep_tiles(problem, surrogate, visits, W, alpha, overlap, state, skip, active, scratch)
    n_active = 0
    for i in visits:
        store(scratch, PRODUCTS, dot_sparse(rows, i, W, W))
        moves, at_rest = inspect_row(problem, surrogate, i, alpha, scratch, state, skip)
        if moves:
            if surrogate.sparse_dual:
                moved = move_row(i, problem, surrogate, alpha, overlap, skip, scratch)
            else:
                moved = move_lanes(i, problem, surrogate, alpha, overlap, skip, scratch)
            if moved:
                add_sparse(rows, i, W, load(scratch, DELTAS))
            if not surrogate.sparse_dual:
                at_rest = not moved
        if not at_rest:
            active[n_active] = i
            n_active += 1
    return n_active


@kernel
def sweep_tiles(problem, surrogate, visits, W, alpha, overlap, state, skip, active, scratch):
    """Do what `sweep_joint` does for rows with dense columns, four of which are read together."""
    rows = problem.rows
    products, steps = np.empty((TILE, WIDTH), W.dtype), np.zeros((TILE, WIDTH), W.dtype)
    n_active, n_moved = 0, 0
    for v in range(visits.shape[0]):
        i, place = visits[v], v % TILE
        if place == 0:
            dot_tile(rows, visits, v, W, products)
        store(scratch, PRODUCTS, tile_product(rows, i, place, W, products))
        moves, at_rest = inspect_row(problem, surrogate, i, alpha, scratch, state, skip)
        if moves:
            if surrogate.sparse_dual:
                moved = move_row(i, problem, surrogate, alpha, overlap, skip, scratch)
            else:
                moved = move_lanes(i, problem, surrogate, alpha, overlap, skip, scratch)
            if moved:
                n_moved += 1
                carry_step(rows, visits, v, load(scratch, DELTAS), products, steps)
                add_sparse(rows, i, W, load(scratch, DELTAS))
            if not surrogate.sparse_dual:
                at_rest = not moved
        if n_moved > 0 and (place == TILE - 1 or v == visits.shape[0] - 1):
            add_tile(rows, visits, v - place, W, steps)
            n_moved = 0
        if not at_rest:
            active[n_active] = i
            n_active += 1
    return n_active


@kernel
def visit_block(problem, surrogate, order, active, W, alpha, overlap, eps, resting, passes, generator, effort):
    """Improve a block: one pass over the rows of `order`, then up to `passes` over those that stay active.

    Returns the rows that are active after the first pass, for a later visit; with an empty `order`, passes are over
    `active`. Rows rest whose α is at a bound by more than `resting`. `effort` counts the visits to rows.
    """
    state = np.zeros((4, WIDTH), W.dtype)
    scratch = np.zeros((SCRATCH, WIDTH), W.dtype)
    skip = W.dtype.type(np.float32(0.1) * eps)
    n_rows = problem.mask.shape[0]
    visits, still_active = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    effort[VISITS] += order.shape[0]
    if order.shape[0]:
        rest_beyond(state, W.dtype.type(resting))
        n_visits = sweep_joint(problem, surrogate, order, W, alpha, overlap, state, skip, visits, scratch)
        remembered = visits[:n_visits].copy()
        done = surrogate.sparse_dual and violation(state) <= eps
    else:
        n_visits = active.shape[0]
        visits[:n_visits] = active
        remembered, done = active, False
    rest_beyond(state, W.dtype.type(np.inf))
    for _ in range(passes):
        if done or n_visits == 0:
            break
        effort[VISITS] += n_visits
        shuffle(visits[:n_visits], generator, alpha.shape[0])
        n_visits = sweep_joint(
            problem, surrogate, visits[:n_visits], W, alpha, overlap, state, skip, still_active, scratch
        )
        visits[:n_visits] = still_active[:n_visits]
        done = surrogate.sparse_dual and violation(state) <= eps
        rest_beyond(state, W.dtype.type(0))
    return remembered


# -------------------------------------------------------------------- into and out of the sixteen lanes


@kernel
def put_paths(V, stored, above, W):
    """Set W to the sums of stored vectors along the lanes' paths; `above` are the bits of the lanes below each node."""
    for j in range(W.shape[0]):
        total = spread(0.0, W)
        for s in range(stored.shape[0]):
            total = total + where(bits(above[s]), spread(V[stored[s], j], W), spread(0.0, W))
        store(W, j, total)


@kernel
def add_rows(rows, mask, listed, values, overlap, W):
    """Add to W the contributions of some rows' α, weighted by `overlap` for each pair of lanes.

    Where α are large and cancel, W should be float64.
    """
    tile, full = np.zeros((TILE, WIDTH), W.dtype), has_dense(rows)
    for s in range(listed.shape[0]):
        i = listed[s]
        steps = spread(0.0, W)
        for k in range(WIDTH):
            a = W.dtype.type(values[s, k])
            if a != 0:
                if not (mask[i] >> np.uint32(k)) & np.uint32(1):
                    a = -a
                steps = load(overlap, k) * a + steps
        add_sparse(rows, i, W, steps)
        if full:
            store(tile, s % TILE, steps)
            if s % TILE == TILE - 1 or s == listed.shape[0] - 1:
                add_tile(rows, listed, s - s % TILE, W, tile)


@kernel
def put_rows(listed, values, alpha):
    """Put the α of some rows into alpha."""
    for s in range(listed.shape[0]):
        store(alpha, listed[s], load(values, s))


@kernel
def sign_rows(mask, listed, values):
    """Turn α into α y, in place."""
    for s in range(listed.shape[0]):
        for k in range(WIDTH):
            if not (mask[listed[s]] >> np.uint32(k)) & np.uint32(1):
                values[s, k] = -values[s, k]


@kernel
def relax(problem, surrogate, listed, values, factor, alpha):
    """Over-relax a step: α ← old + factor · (α − old), kept within its bounds; `listed` and `values` are the old α."""
    for s in range(listed.shape[0]):
        i = listed[s]
        store(alpha, i, load(alpha, i) - load(values, s))
    for i in range(alpha.shape[0]):
        change = load(alpha, i)
        if any_of((change > 0.0) | (change < 0.0)):
            store(alpha, i, change * factor)
    for s in range(listed.shape[0]):
        i = listed[s]
        store(alpha, i, load(alpha, i) + load(values, s))
    _, _, mask, weight, costs, _ = problem
    for i in range(alpha.shape[0]):
        a = load(alpha, i)
        if any_of((a > 0.0) | (a < 0.0)):
            low, high = dual_bounds(surrogate, row_costs(costs, weight[i], bits(mask[i])))
            store(alpha, i, clip(a, low, high))


@kernel
def nonzero_rows(alpha, listed):
    """Write the rows in which some α is not 0; return how many."""
    count = 0
    for i in range(alpha.shape[0]):
        a = load(alpha, i)
        if any_of((a > 0.0) | (a < 0.0)):
            listed[count] = i
            count += 1
    return count


@kernel
def changes(alpha, mask, listed, values, above, coefficients, changed):
    """Write how far each stored vector above the block moves along each row; return how many rows moved.

    `listed` and `values` are the old α, `above` the bits of the lanes below each stored node. Afterwards alpha holds
    the change; the caller clears it.
    """
    for s in range(listed.shape[0]):
        i = listed[s]
        store(alpha, i, load(alpha, i) - load(values, s))
    count = 0
    for i in range(alpha.shape[0]):
        change = load(alpha, i)
        if any_of((change > 0.0) | (change < 0.0)):
            changed[count] = i
            for u in range(above.shape[0]):
                total = np.float32(0)
                for k in range(WIDTH):
                    if (above[u] >> np.uint32(k)) & np.uint32(1):
                        total += alpha[i, k] if (mask[i] >> np.uint32(k)) & np.uint32(1) else -alpha[i, k]
                coefficients[count, u] = total
            count += 1
    return count


@kernel
def add_change(rows, changed, steps, vector):
    """Add `steps` times the rows that `changes` has found to a vector."""
    for s in range(changed.shape[0]):
        if steps[s] != 0:
            add_to_vector(rows, changed[s], steps[s], vector)


@kernel
def clear(listed, alpha):
    """Set the α of rows to 0."""
    for i in listed:
        store(alpha, i, spread(0.0, alpha))


@kernel
def joint_terms(problem, surrogate, W, alpha):
    """Return Σ c ℓ(m), the gap and Σ α m of the lanes in use; the last is ‖v‖² of all nodes, summed over all blocks.

    Margins are summed in float64.
    """
    terms, products, scores = np.empty((2, WIDTH)), np.empty((1, WIDTH)), np.empty((TILE, WIDTH))
    lost, gap, product = 0.0, 0.0, 0.0
    rows, _, mask, weight, costs, n_lanes = problem
    visits, full = np.arange(np.int32(mask.shape[0])), has_dense(rows)
    for i in range(mask.shape[0]):
        if full and i % TILE == 0:
            dot_tile(rows, visits, i, W, scores)
        positive = bits(mask[i])
        score = tile_product(rows, i, i % TILE, W, scores) if full else dot_sparse(rows, i, W, terms)
        margin = where(positive, 1.0, -1.0) * score
        put_terms(surrogate, margin, load(alpha, i), row_costs(costs, weight[i], positive), terms)
        store(products, 0, margin * load(alpha, i))
        for k in range(n_lanes):
            lost += terms[0, k]
            gap += terms[1, k]
            product += products[0, k]
    return lost, gap, product


@kernel
def dual_gain(problem, surrogate, listed, alpha):
    """Return Σ c gain(α / c) over some rows."""
    _, _, mask, weight, costs, n_lanes = problem
    total = 0.0
    for i in listed:
        for k in range(n_lanes):
            positive = (mask[i] >> np.uint32(k)) & np.uint32(1)
            cost = np.float64((costs[0, k] if positive else costs[1, k]) * weight[i])
            if cost > 0:
                total += cost * gain(surrogate, np.float64(alpha[i, k]) / cost)
    return total


@kernel
def margin_products(problem, listed, W, alpha):
    """Return Σ α m over some rows, in float64."""
    products, scores = np.empty((1, WIDTH)), np.empty((TILE, WIDTH))
    rows, _, mask, _, _, n_lanes = problem
    total, full = 0.0, has_dense(rows)
    for v in range(listed.shape[0]):
        i = listed[v]
        if full and v % TILE == 0:
            dot_tile(rows, listed, v, W, scores)
        sign = where(bits(mask[i]), 1.0, -1.0)
        score = tile_product(rows, i, v % TILE, W, scores) if full else dot_sparse(rows, i, W, products)
        store(products, 0, sign * score * load(alpha, i))
        for k in range(n_lanes):
            total += products[0, k]
    return total


@kernel
def squared_distance(W, P, n_lanes):
    """Return Σ ‖w − p‖² of the lanes in use, in float64."""
    sums = np.zeros((1, WIDTH))
    total = load(sums, 0)
    for j in range(W.shape[0]):
        apart = spread(0.0, sums) + load(W, j) - load(P, j)
        total = apart * apart + total
    store(sums, 0, total)
    return np.sum(sums[0, :n_lanes])


@kernel
def leaf_losses(problem, surrogate, W, alpha, resting, active):
    """Return Σ c ℓ(m) of the lanes in use, in float64, and how many rows do not rest, which are put into `active`.

    A row rests if every α is at a bound by more than `resting`, as in `visit_block`. Most rows have α = 0 and pass the
    margin by so much that a sum in the type of W, with a rounding error up to `largest_error`, proves a loss of 0.
    """
    sums, state = np.zeros((1, WIDTH)), np.zeros((4, WIDTH))
    rows, norms, mask, weight, costs, n_lanes = problem
    lanes = (np.uint32(1) << np.uint32(n_lanes)) - np.uint32(1)
    rest_beyond(state, np.float64(resting))
    above, below, lost, n_active = load(state, ABOVE), load(state, BELOW), load(sums, 0), 0
    never, far = spread(-np.inf, W), spread(0.0, W) + W.dtype.type(resting)
    for j in range(W.shape[0]):
        lost = lost + load(W, j) * (spread(0.0, sums) + load(W, j))
    store(sums, 0, lost)
    rounding, lost = np.sqrt(np.sum(sums)) * 2.0**-23, spread(0.0, sums)
    visits, full, scores = np.arange(np.int32(mask.shape[0])), has_dense(rows), np.empty((TILE, WIDTH), W.dtype)
    for i in range(mask.shape[0]):
        if full and i % TILE == 0:
            dot_tile(rows, visits, i, W, scores)
        positive = bits(mask[i])
        sign, cost = where(positive, 1.0, -1.0), row_costs(costs, weight[i], positive)
        largest_error = row_length(rows, i) * np.sqrt(norms[i]) * rounding
        if 2 * largest_error < resting:
            score = tile_product(rows, i, i % TILE, W, scores) if full else dot_sparse(rows, i, W, W)
            margin = sign * score
            if all_of(bits(~lanes) | rests(surrogate, margin, load(alpha, i), cost, far, never)):
                continue
        margin = sign * (dot_mixed(rows, i, W, sums) if full else dot_sparse(rows, i, W, sums))
        lost = cost * value(surrogate, margin) + lost
        if not all_of(bits(~lanes) | rests(surrogate, margin, load(alpha, i), cost, above, below)):
            active[n_active] = i
            n_active += 1
    store(sums, 0, lost)
    return np.sum(sums[0, :n_lanes]), n_active


@kernel
def best_lengths(problem, surrogate, listed, W, P, alpha, lengths):
    """Set the s for which p + s (w − p) has the lowest objective over the rows listed; w − p is Σ α y x over these.

    Under the hinge, rows on the margin miss it by a little, each at the cost of c; a little more length costs less. The
    slope in s, s ‖w − p‖² + Σ c d ℓ'(m + s d) with m the margin at p and d that of w − p, rises: bisection finds its 0.
    """
    rows, _, mask, weight, costs, _ = problem
    starts, moves = np.empty((listed.shape[0], WIDTH)), np.empty((listed.shape[0], WIDTH))
    n, lost, full = 0, np.empty_like(listed), has_dense(rows)
    before, after = np.empty((TILE, WIDTH)), np.empty((TILE, WIDTH))
    norm, low, high = spread(0.0, starts), spread(LENGTHS[0], starts), spread(LENGTHS[1], starts)
    for v in range(listed.shape[0]):
        i, place = listed[v], v % TILE
        if full and place == 0:
            dot_tile(rows, listed, v, P, before)
            dot_tile(rows, listed, v, W, after)
        sign = where(bits(mask[i]), 1.0, -1.0)
        start = sign * (tile_product(rows, i, place, P, before) if full else dot_sparse(rows, i, P, starts))
        move = sign * (tile_product(rows, i, place, W, after) if full else dot_sparse(rows, i, W, starts)) - start
        norm = load(alpha, i) * move + norm
        # Margins are linear in s: a row that loses nothing at either end loses nothing between them.
        if any_of((value(surrogate, start + move * low) > 0.0) | (value(surrogate, start + move * high) > 0.0)):
            store(starts, n, start)
            store(moves, n, move)
            lost[n] = i
            n += 1
    for _ in range(LENGTH_STEPS):
        middle = (low + high) * 0.5
        total = norm * middle
        for s in range(n):
            i, move = lost[s], load(moves, s)
            cost = row_costs(costs, weight[i], bits(mask[i]))
            total = total + cost * move * slope(surrogate, load(starts, s) + move * middle)
        high = where(total > 0.0, middle, high)
        low = where(total > 0.0, low, middle)
    store(lengths, 0, (low + high) * 0.5)
