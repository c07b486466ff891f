"""Dual coordinate descent on sixteen leaves of a tree whose weights are sums along their paths.

Gopal & Yang 2013's recursive regularisation, min ½ Σ_n ‖w_n − w_parent(n)‖² + Σ_leaves Σ_i c_i ℓ(y_i w·x_i), with
w_n = Σ_{u on the path to n} v_u and v_u = Σ_{leaves n below u} Σ_i α_in y_in x_i. Moving α_in by δ moves the weights of
every leaf m by O[n, m] δ y x_i, where O[n, m] is the number of nodes that the two paths share: the overlap.

A `problem` is as in `cladist.kernels.one_vs_rest`, with the number of lanes in use at the end. `overlap` (16 × 16)
counts nodes above several blocks that are solved from one snapshot more than once, so that the steps of all together do
not go too far.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.lanes import WIDTH, all_of, any_of, bits, exp, load, spread, store, where
from cladist.kernels.one_vs_rest import (
    ABOVE,
    BELOW,
    HIGHEST,
    LOGISTIC,
    LOWEST,
    SQUARED_HINGE,
    add_row,
    dot,
    logistic_terms,
    rest_beyond,
    row_terms,
    shuffle,
    violation,
)

ROUNDS = 4  # through the lanes of one row; each changes what the others want
NEWTON_STEPS, NEWTON_EXACT = 30, np.float32(0.0025)
PRODUCTS, DELTAS, AFTER, TRIED, SCRATCH = 0, 1, 2, 3, 4  # rows of `scratch`, and how many


@kernel
def step_hinge(product, sign, cost, a, norm, squared):
    """Return the projected gradient of one α and its best value, the others being fixed."""
    damping = np.float32(0.5) / cost if squared else np.float32(0)
    most = np.float32(np.inf) if squared else cost
    gradient = sign * product - np.float32(1) + damping * a
    projected = gradient
    if a <= 0:
        projected = min(gradient, np.float32(0))
    elif a >= most:
        projected = max(gradient, np.float32(0))
    return projected, min(max(a - gradient / (norm + damping), np.float32(0)), most)


@kernel
def step_logistic(product, sign, cost, a, norm):
    """Return by how much of c one α wants to move, and its best value; Newton's method on the margin it leads to."""
    margin = sign * product
    t = margin
    for _ in range(NEWTON_STEPS):
        wrong = np.float32(1) / (np.exp(t) + np.float32(1))
        slope = cost * norm * wrong * (np.float32(1) - wrong) + np.float32(1)
        moved = t - (t - margin - (cost * wrong - a) * norm) / slope
        passed = t * moved < 0  # from 0 on, steps do not pass the solution; one cut short there says nothing yet
        if passed:
            moved = np.float32(0)
        step = moved - t
        t = moved
        if not passed and step * step * slope <= NEWTON_EXACT:
            break
    after = cost / (np.exp(t) + np.float32(1))
    return (after - a) / cost, after


@kernel
def may_move(product, positive, cost, a, skip):
    """Tell of each lane whether its α may move by more than `skip` of c under the logistic loss: c σ(−m) is beyond."""
    margin = where(positive, 1.0, -1.0) * product
    left = cost / (exp(margin) + 1.0) - a
    return (left > skip * cost) | (left < -skip * cost)


@kernel
def move_row(i, problem, loss, alpha, overlap, skip, scratch):
    """Move the α of a row, lane after lane; `scratch` holds its products, and what W is to be moved by."""
    _, norms, mask, weight, costs, n_lanes = problem
    store(scratch, DELTAS, spread(0.0, scratch))
    store(scratch, AFTER, load(alpha, i))
    positives = bits(mask[i])
    row_costs = where(positives, load(costs, 0), load(costs, 1)) * weight[i]
    moved = False
    for _ in range(ROUNDS):
        still = False
        if loss == LOGISTIC:  # exponentials are dear one by one
            tried = may_move(load(scratch, PRODUCTS), positives, row_costs, load(scratch, AFTER), skip)
            store(scratch, TRIED, where(tried, 1.0, 0.0))
        for k in range(n_lanes):
            if loss == LOGISTIC and scratch[TRIED, k] == 0:
                continue
            positive = (mask[i] >> np.uint32(k)) & np.uint32(1)
            sign = np.float32(1) if positive else np.float32(-1)
            cost = (costs[0, k] if positive else costs[1, k]) * weight[i]
            norm = overlap[k, k] * norms[i]
            a = scratch[AFTER, k]
            if loss == LOGISTIC:
                wanted, after = step_logistic(scratch[PRODUCTS, k], sign, cost, a, norm)
            else:
                wanted, after = step_hinge(scratch[PRODUCTS, k], sign, cost, a, norm, loss == SQUARED_HINGE)
            if abs(wanted) > skip and after != a:
                scratch[AFTER, k] = after
                delta = (after - a) * sign
                store(scratch, DELTAS, load(overlap, k) * delta + load(scratch, DELTAS))
                store(scratch, PRODUCTS, load(overlap, k) * (delta * norms[i]) + load(scratch, PRODUCTS))
                still = True
        if not still:
            break
        moved = True
    if moved:
        store(alpha, i, load(scratch, AFTER))
    return moved


@kernel
def wanting(problem, loss, i, alpha, scratch, state, skip):
    """Tell whether a row's lanes want to move, and whether it may rest; keep the extremes in `state`."""
    _, _, mask, weight, costs, n_lanes = problem
    positive = bits(mask[i])
    sign = where(positive, 1.0, -1.0)
    cost = where(positive, load(costs, 0), load(costs, 1)) * weight[i]
    before = load(alpha, i)
    used = bits((np.uint32(1) << np.uint32(n_lanes)) - np.uint32(1))
    if loss == LOGISTIC:
        wants = any_of(used & may_move(load(scratch, PRODUCTS), positive, cost, before, skip))
        return wants, not wants
    squared = loss == SQUARED_HINGE
    damping = 0.5 / cost if squared else spread(0.0, costs)
    most = spread(np.inf, costs) if squared else cost
    gradient = sign * load(scratch, PRODUCTS) - 1.0 + damping * before
    at_zero, at_most = before <= 0.0, before >= most
    falling, rising = where(gradient < 0.0, gradient, 0.0), where(gradient > 0.0, gradient, 0.0)
    projected = where(used, where(at_zero, falling, where(at_most, rising, gradient)), 0.0)
    highest, lowest = load(state, HIGHEST), load(state, LOWEST)
    store(state, HIGHEST, where(projected > highest, projected, highest))
    store(state, LOWEST, where(projected < lowest, projected, lowest))
    unused = bits(~((np.uint32(1) << np.uint32(n_lanes)) - np.uint32(1)))
    rests = all_of(unused | (at_zero & (gradient > load(state, ABOVE))) | (at_most & (gradient < load(state, BELOW))))
    return any_of((projected > skip) | (projected < -skip)), rests


@kernel
def sweep_joint(problem, loss, listed, W, alpha, overlap, state, skip, kept, scratch):
    """Visit the rows listed once; return how many stay active, which `kept` holds."""
    rows = problem[0]
    store(state, HIGHEST, spread(-np.inf, state))
    store(state, LOWEST, spread(np.inf, state))
    n_kept = 0
    for i in listed:
        store(scratch, PRODUCTS, dot(rows, i, W, W))
        wants, rests = wanting(problem, loss, i, alpha, scratch, state, skip)
        if wants:
            moved = move_row(i, problem, loss, alpha, overlap, skip, scratch)
            if moved:
                add_row(rows, i, W, load(scratch, DELTAS))
            if loss == LOGISTIC:
                rests = not moved
        if not rests:
            kept[n_kept] = i
            n_kept += 1
    return n_kept


@kernel
def visit_block(problem, loss, order, active, W, alpha, overlap, eps, resting, passes, generator):
    """Improve a block: one pass over the rows of `order`, then up to `passes` over those that stay active.

    Returns the rows that are active after the first pass, for a later visit; with an empty `order`, `active` are those
    to pass over. Rows rest whose α is at a bound by more than `resting`.
    """
    state = np.zeros((4, WIDTH), W.dtype)
    scratch = np.zeros((SCRATCH, WIDTH), W.dtype)
    skip = W.dtype.type(np.float32(0.1) * eps)
    n_rows = problem[2].shape[0]
    listed, kept = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    if order.shape[0]:
        rest_beyond(state, W.dtype.type(resting))
        n_listed = sweep_joint(problem, loss, order, W, alpha, overlap, state, skip, listed, scratch)
        remembered = listed[:n_listed].copy()
        done = loss != LOGISTIC and violation(state) <= eps
    else:
        n_listed = active.shape[0]
        listed[:n_listed] = active
        remembered, done = active, False
    rest_beyond(state, W.dtype.type(np.inf))
    for _ in range(passes):
        if done or n_listed == 0:
            break
        shuffle(listed[:n_listed], generator)
        n_listed = sweep_joint(problem, loss, listed[:n_listed], W, alpha, overlap, state, skip, kept, scratch)
        listed[:n_listed] = kept[:n_listed]
        done = loss != LOGISTIC and violation(state) <= eps
        rest_beyond(state, W.dtype.type(0))
    return remembered


# -------------------------------------------------------------------- into and out of the sixteen lanes


@kernel
def put_paths(V, paths, members, W):
    """Set W to the sums of the stored vectors along the lanes' paths.

    `paths` are (indptr, rows of V) of each group of lanes, `members` the bits of its lanes.
    """
    starts, nodes = paths
    for j in range(W.shape[0]):
        total = spread(0.0, W)
        for g in range(members.shape[0]):
            value = W.dtype.type(0)
            for s in range(starts[g], starts[g + 1]):
                value += V[nodes[s], j]
            total = total + where(bits(members[g]), spread(value, W), spread(0.0, W))
        store(W, j, total)


@kernel
def add_rows(rows, mask, listed, values, overlap, W):
    """Add to W what the α of some rows contribute, `overlap` telling how much each to each lane.

    Where α are large and cancel, W had better be float64.
    """
    for s in range(listed.shape[0]):
        i = listed[s]
        steps = spread(0.0, W)
        for k in range(WIDTH):
            a = W.dtype.type(values[s, k])
            if a != 0:
                if not (mask[i] >> np.uint32(k)) & np.uint32(1):
                    a = -a
                steps = load(overlap, k) * a + steps
        add_row(rows, i, W, steps)


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
def relax(listed, values, factor, costs, weight, mask, bounded, alpha):
    """Go further: α ← old + factor · (α − old), kept within its bounds; `listed` and `values` are the old."""
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
    for i in range(alpha.shape[0]):
        a = load(alpha, i)
        if any_of((a > 0.0) | (a < 0.0)):
            cost = where(bits(mask[i]), load(costs, 0), load(costs, 1)) * weight[i]
            a = where(a > 0.0, a, 0.0)
            store(alpha, i, where(a > cost, cost, a) if bounded else a)


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
    """Write by how much each stored vector above the block moves along each row; return how many rows moved.

    `listed` and `values` are the α before, `above` the bits of the lanes below each stored node. What is left in alpha
    is the change; the caller clears it.
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
    """Add rows to a vector, each so many times; `changes` says which and how often."""
    indptr, indices, data = rows
    for s in range(changed.shape[0]):
        step = steps[s]
        if step != 0:
            i = changed[s]
            for p in range(indptr[i], indptr[i + 1]):
                vector[indices[p]] += step * data[p]


@kernel
def clear(listed, alpha):
    """Set the α of rows to 0."""
    for i in listed:
        store(alpha, i, spread(0.0, alpha))


@kernel
def joint_terms(problem, loss, W, alpha):
    """Return Σ c ℓ(m), the gap and Σ α m of the lanes in use; the last is ‖v‖² of all nodes, summed over all blocks.

    Margins are summed in float64, as they are of W as it stands.
    """
    rows, _, mask, weight, costs, n_lanes = problem
    terms = np.empty((2, WIDTH))
    products = np.empty((1, WIDTH))
    lost, gap, product = 0.0, 0.0, 0.0
    for i in range(mask.shape[0]):
        positive = bits(mask[i])
        margin = where(positive, 1.0, -1.0) * dot(rows, i, W, terms)
        cost = where(positive, load(costs, 0), load(costs, 1)) * weight[i]
        if loss == LOGISTIC:
            logistic_terms(margin, cost, load(alpha, i), terms)
        else:
            row_terms(loss, margin, cost, load(alpha, i), terms)
        store(products, 0, margin * load(alpha, i))
        for k in range(n_lanes):
            lost += terms[0, k]
            gap += terms[1, k]
            product += products[0, k]
    return lost, gap, product


@kernel
def dual_terms(problem, loss, listed, W, alpha):
    """Return what α gain and Σ α m, over the rows listed, where some α is not 0; the dual is gain − Σ α m / 2."""
    rows, _, mask, weight, costs, n_lanes = problem
    products = np.empty((1, WIDTH))
    gain, product = 0.0, 0.0
    for i in listed:
        store(products, 0, dot(rows, i, W, products))
        for k in range(n_lanes):
            positive = (mask[i] >> np.uint32(k)) & np.uint32(1)
            a = np.float64(alpha[i, k])
            cost = np.float64((costs[0, k] if positive else costs[1, k]) * weight[i])
            product += a * (products[0, k] if positive else -products[0, k])
            if loss == LOGISTIC:
                share = min(max(a / cost, 1e-12), 1 - 1e-12)
                gain -= cost * (share * np.log(share) + (1 - share) * np.log1p(-share))
            elif loss == SQUARED_HINGE:
                gain += a - a * a / (4.0 * cost)
            else:
                gain += a
    return gain, product


@kernel
def squared_distance(W, P, n_lanes):
    """Return Σ ‖w − p‖² of the lanes in use, in float64."""
    total = 0.0
    for j in range(W.shape[0]):
        for k in range(n_lanes):
            apart = np.float64(W[j, k]) - np.float64(P[j, k])
            total += apart * apart
    return total
