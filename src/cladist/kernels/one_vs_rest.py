"""Dual coordinate descent on a block of sixteen one-vs-rest problems over the same rows.

Problem k of the block    min_w ½‖w‖² + Σ_i c_ik ℓ(y_ik w·x_i), y_ik = ±1
Hinge                     ℓ(m) = max(0, 1 − m);    dual  max Σ_i α_i − ½‖w(α)‖², 0 ≤ α_i ≤ c_ik
Squared hinge             ℓ(m) = max(0, 1 − m)²;   dual  max Σ_i α_i − α_i² / (4 c_ik) − ½‖w(α)‖², α ≥ 0
Logistic                  ℓ(m) = log(1 + e^−m);    dual  max Σ_i c H(α_i / c) − ½‖w(α)‖², 0 < α_i < c, c = c_ik,
                          H the entropy of a coin
with w(α) = Σ_i α_i y_ik x_i in all three.

Hsieh, Chang, Lin, Keerthi & Sundararajan 2008 for the hinges; for the logistic loss a step of Shalev-Shwartz & Zhang
2013, found by Newton's method. One row is read once for all sixteen problems. An active list leaves out rows that no
problem wants to move. The duality gap is the sum over rows of c ℓ(m) + α m − (what α gains), none of which is negative
(Fenchel and Young). Steps are taken on float32 margins; objectives are measured with margins that are summed in
float64, so that they are those of the weights as they stand, however large c is.

A `problem` is (rows, norms, mask, weight, costs): `rows` are (indptr, indices, data) with float32 data, `norms` their
‖x_i‖²; bit k of `mask[i]` says whether row i is positive in problem k; c_ik is weight[i] · costs[0, k] for positive
rows, weight[i] · costs[1, k] for negative ones. W (features × 16), alpha (rows × 16) and costs are float32, or all
float64: the same source, for the last digits.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel
from cladist.kernels.lanes import WIDTH, all_of, any_of, bits, exp, fused, load, spread, store, where

HINGE, SQUARED_HINGE, LOGISTIC = 0, 1, 2
HIGHEST, LOWEST, ABOVE, BELOW = 0, 1, 2, 3  # rows of `state`
SKIPPED = np.float32(0.1)  # share of the tolerance below which moving α costs more than it gains
FIRST_SWEEPS = 5
FEW = 8
STRETCH = 8  # rows that are shuffled as one; about as many fit into what a processor fetches ahead
ACTIVE_SWEEPS = 10  # visits to active rows before all are looked at again, as a multiple of all
NEWTON_STEPS, NEWTON_EXACT = 30, np.float32(0.0025)  # of step² · slope, about the gap that is left
SCALES, SCALE_STEPS = (0.5, 2.0), 14
SHARE_NEGATIVE, SHARE_POSITIVE = np.float32(0.02), np.float32(0.5)  # of c: where α of the logistic loss begins


@kernel
def dot(rows, i, W, like):
    """Return the sixteen products w·x_i, summed in the type of an array: in W's own, or in float64 to be exact."""
    indptr, indices, data = rows
    p, end = indptr[i], indptr[i + 1]
    even, odd = spread(0.0, like), spread(0.0, like)  # two sums, so that one product need not wait for the other
    while p + 1 < end:
        even = fused(data[p], load(W, indices[p]), even)
        odd = fused(data[p + 1], load(W, indices[p + 1]), odd)
        p += 2
    if p < end:
        even = fused(data[p], load(W, indices[p]), even)
    return even + odd


@kernel
def add_row(rows, i, W, steps):
    """Add steps_k · x_i to each w_k."""
    indptr, indices, data = rows
    for p in range(indptr[i], indptr[i + 1]):
        store(W, indices[p], fused(data[p], steps, load(W, indices[p])))


@kernel
def sweep_hinge(problem, squared, listed, W, alpha, state, skip, kept):
    """Visit the rows listed once; return how many of them stay active, which `kept` holds.

    A row may rest if in every problem its α is at a bound and the gradient beyond what `state` says.
    """
    rows, norms, mask, weight, costs = problem
    highest, lowest = spread(-np.inf, state), spread(np.inf, state)
    above, below = load(state, ABOVE), load(state, BELOW)
    n_kept = 0
    for i in listed:
        positive = bits(mask[i])
        sign = where(positive, 1.0, -1.0)
        cost = where(positive, load(costs, 0), load(costs, 1)) * weight[i]
        damping = 0.5 / cost if squared else spread(0.0, costs)
        most = spread(np.inf, costs) if squared else cost
        before = load(alpha, i)
        gradient = sign * dot(rows, i, W, W) - 1.0 + damping * before
        at_zero, at_most = before <= 0.0, before >= most
        falling, rising = where(gradient < 0.0, gradient, 0.0), where(gradient > 0.0, gradient, 0.0)
        projected = where(at_zero, falling, where(at_most, rising, gradient))
        highest = where(projected > highest, projected, highest)
        lowest = where(projected < lowest, projected, lowest)
        moves = (projected > skip) | (projected < -skip)
        if any_of(moves):
            after = before - gradient / (damping + norms[i])
            after = where(after < 0.0, 0.0, where(after > most, most, after))
            after = where(moves, after, before)
            store(alpha, i, after)
            add_row(rows, i, W, (after - before) * sign)
        if not all_of((at_zero & (gradient > above)) | (at_most & (gradient < below))):
            kept[n_kept] = i
            n_kept += 1
    store(state, HIGHEST, highest)
    store(state, LOWEST, lowest)
    return n_kept


@kernel
def solved_margin(margin, before, cost, norm):
    """Return the t for which t = m + q (c σ(−t) − α): the margin after a row's α is the best, q = ‖x‖².

    Newton's method, which from 0 goes to the solution without passing it: the slope falls on either side. From
    elsewhere it may pass 0, and stops there once. Two steps do nearly always.
    """
    t = margin
    for _ in range(NEWTON_STEPS):
        wrong = 1.0 / (exp(t) + 1.0)
        slope = cost * norm * wrong * (1.0 - wrong) + 1.0
        moved = t - (t - margin - (cost * wrong - before) * norm) / slope
        passed = ((t > 0.0) & (moved < 0.0)) | ((t < 0.0) & (moved > 0.0))
        moved = where(passed, 0.0, moved)
        step = moved - t
        t = moved
        if not any_of(passed | (step * step * slope > NEWTON_EXACT)):  # a step cut short at 0 says nothing yet
            break
    return t


@kernel
def sweep_logistic(problem, listed, W, alpha, state, skip, kept):
    """Visit the rows listed once; those whose α moved stay active. The new α is c σ(−t), t the margin it leads to."""
    rows, norms, mask, weight, costs = problem
    largest = spread(0.0, state)
    n_kept = 0
    for i in listed:
        positive = bits(mask[i])
        sign = where(positive, 1.0, -1.0)
        cost = where(positive, load(costs, 0), load(costs, 1)) * weight[i]
        before = load(alpha, i)
        margin = sign * dot(rows, i, W, W)
        t = solved_margin(margin, before, cost, norms[i])
        after = cost / (exp(t) + 1.0)
        change = (after - before) / cost
        size = where(change > 0.0, change, 0.0 - change)
        largest = where(size > largest, size, largest)
        moves = size > skip
        if any_of(moves):
            after = where(moves, after, before)
            store(alpha, i, after)
            add_row(rows, i, W, (after - before) * sign)
            kept[n_kept] = i
            n_kept += 1
    store(state, HIGHEST, largest)
    store(state, LOWEST, spread(0.0, state))
    return n_kept


@kernel
def sweep(problem, loss, listed, W, alpha, state, skip, kept):
    """Visit the rows listed once, whatever the loss."""
    if loss == LOGISTIC:
        return sweep_logistic(problem, listed, W, alpha, state, skip, kept)
    return sweep_hinge(problem, loss == SQUARED_HINGE, listed, W, alpha, state, skip, kept)


@kernel
def violation(state):
    """Return by how much the worst of the sixteen problems missed its optimum in the last sweep."""
    most = np.float32(0)
    for k in range(WIDTH):
        most = max(most, max(state[HIGHEST, k], np.float32(0)) - min(state[LOWEST, k], np.float32(0)))
    return most


@kernel
def rest_beyond(state, bound):
    """Let rows rest whose gradient is beyond a bound, or with 0, beyond the worst of the last sweep."""
    for k in range(WIDTH):
        high, low = state[HIGHEST, k], state[LOWEST, k]
        state[ABOVE, k] = bound if bound > 0 else (high if high > 0 else np.float32(np.inf))
        state[BELOW, k] = -bound if bound > 0 else (low if low < 0 else np.float32(-np.inf))


@kernel
def shuffle(rows, generator):
    """Put stretches of rows into a random order; `generator` is the state of a xorshift, one a block, never shared.

    Rows that follow each other lie side by side in memory, and in a random order already: whole stretches of them are
    read much faster than as many single rows, and serve as well. Those beyond the last whole stretch stay.
    """
    for k in range(rows.shape[0] // STRETCH - 1, 0, -1):
        generator[0] ^= generator[0] << np.uint64(13)
        generator[0] ^= generator[0] >> np.uint64(7)
        generator[0] ^= generator[0] << np.uint64(17)
        j = np.int64((generator[0] >> np.uint64(33)) % np.uint64(k + 1))
        for s in range(STRETCH):
            one, other = k * STRETCH + s, j * STRETCH + s
            rows[one], rows[other] = rows[other], rows[one]


@kernel
def visit_first(problem, loss, first, W, alpha, eps):
    """Sweep a few times over the rows that every change of others moves most: the few positive ones."""
    state, kept = np.empty((4, WIDTH), W.dtype), np.empty_like(first)
    for _ in range(FIRST_SWEEPS):
        rest_beyond(state, np.float32(np.inf))
        sweep(problem, loss, first, W, alpha, state, W.dtype.type(SKIPPED * eps), kept)
        if violation(state) <= eps:
            break


@kernel
def descend(problem, loss, order, first, W, alpha, eps, max_sweeps, generator, active_sweeps=ACTIVE_SWEEPS):
    """Sweep over all rows and then over active ones, up to `max_sweeps` times; after each over those of `first`.

    Active rows are visited `active_sweeps` times as often as there are rows before all are looked at again.

    Returns how many sweeps went over all rows, and whether the last of them found no problem to violate its optimality
    by more than `eps`.
    """
    state = np.empty((4, WIDTH), W.dtype)
    active, kept = np.empty_like(order), np.empty_like(order)
    skip = W.dtype.type(SKIPPED * eps)
    for done in range(1, max_sweeps + 1):
        rest_beyond(state, np.float32(0.5) * eps)
        n_active = sweep(problem, loss, order, W, alpha, state, skip, active)
        if violation(state) <= eps:
            return done, True
        visit_first(problem, loss, first, W, alpha, eps)
        visited = 0
        while n_active > 0 and visited < active_sweeps * order.shape[0]:
            visited += n_active
            rest_beyond(state, np.float32(0))
            shuffle(active[:n_active], generator)
            n_active = sweep(problem, loss, active[:n_active], W, alpha, state, skip, kept)
            active[:n_active] = kept[:n_active]
            if violation(state) <= eps:
                break
            visit_first(problem, loss, first, W, alpha, eps)
    return max_sweeps, False


@kernel
def row_terms(loss, margin, cost, a, terms):
    """Put c ℓ(m) into the first row of `terms`, and c ℓ(m) + α m less what α gains into the second."""
    miss = 1.0 - margin
    short = where(miss > 0.0, miss, 0.0)
    if loss == SQUARED_HINGE:
        lost = cost * short * short
        gain = a * miss - a * a / (4.0 * cost)
    else:
        lost = cost * short
        gain = a * miss
    store(terms, 0, lost)
    store(terms, 1, lost - gain)


@kernel
def logistic_terms(margin, cost, a, terms):
    """Do the same for the logistic loss; in float64, since its terms cancel near the optimum."""
    store(terms, 0, margin)
    store(terms, 1, a / cost)
    for k in range(WIDTH):
        m, share = np.float64(terms[0, k]), np.float64(terms[1, k])
        share = min(max(share, 1e-12), 1 - 1e-12)
        lost = np.log1p(np.exp(-abs(m))) + max(-m, 0.0)
        entropy = -share * np.log(share) - (1 - share) * np.log1p(-share)
        terms[0, k] = lost
        terms[1, k] = lost + share * m - entropy
    store(terms, 0, load(terms, 0) * cost)
    store(terms, 1, load(terms, 1) * cost)


@kernel
def squared_norms(W, norms):
    """Set the ‖w‖² of the sixteen problems, in float64."""
    norms[:] = 0
    for j in range(W.shape[0]):
        for k in range(WIDTH):
            norms[k] += np.float64(W[j, k]) * np.float64(W[j, k])


@kernel
def objectives(problem, loss, W, alpha, primal, gap):
    """Set primal and gap (float64) of the sixteen problems, at w = W and at α.

    The gap leaves out ½‖W − w(α)‖², the square of what rounding has done to W.
    """
    rows, _, mask, weight, costs = problem
    squared_norms(W, primal)
    primal /= 2
    gap[:] = 0
    terms = np.empty((2, WIDTH))
    for i in range(mask.shape[0]):
        positive = bits(mask[i])
        margin = where(positive, 1.0, -1.0) * dot(rows, i, W, terms)
        cost = where(positive, load(costs, 0), load(costs, 1)) * weight[i]
        if loss == LOGISTIC:
            logistic_terms(margin, cost, load(alpha, i), terms)
        else:
            row_terms(loss, margin, cost, load(alpha, i), terms)
        for k in range(WIDTH):
            primal[k] += terms[0, k]
            gap[k] += terms[1, k]


@kernel
def primals(problem, loss, W, primal):
    """Set the primal (float64) of the sixteen problems at w = W, whatever α may be."""
    rows, _, mask, weight, costs = problem
    squared_norms(W, primal)
    primal /= 2
    terms, nothing = np.empty((2, WIDTH)), np.zeros((1, WIDTH))
    for i in range(mask.shape[0]):
        positive = bits(mask[i])
        margin = where(positive, 1.0, -1.0) * dot(rows, i, W, terms)
        cost = where(positive, load(costs, 0), load(costs, 1)) * weight[i]
        if loss == LOGISTIC:
            logistic_terms(margin, cost, load(nothing, 0), terms)
        else:
            row_terms(loss, margin, cost, load(nothing, 0), terms)
        for k in range(WIDTH):
            primal[k] += terms[0, k]


@kernel
def best_scales(problem, W, primal, gap, scales):
    """Find the s for which s·w has the lowest hinge loss; set `scales`, and primal and gap at s·w as W would hold it.

    Rows on the margin miss it by a little, each at the cost of c; a little more length costs less where c is large.
    The slope in s, s‖w‖² − Σ_{s m < 1} c m, rises; bisection finds where it is 0.
    """
    rows, _, mask, weight, costs = problem
    n = mask.shape[0]
    norms, slopes = np.empty(WIDTH), np.empty(WIDTH)
    squared_norms(W, norms)
    margins, terms = np.empty((n, WIDTH), W.dtype), np.empty((2, WIDTH), W.dtype)
    for i in range(n):
        store(margins, i, where(bits(mask[i]), 1.0, -1.0) * dot(rows, i, W, W))
    low, high = np.full(WIDTH, SCALES[0]), np.full(WIDTH, SCALES[1])
    for _ in range(SCALE_STEPS):
        middle = (low + high) / 2
        terms[0] = middle
        slopes[:] = middle * norms
        for i in range(n):
            margin = load(margins, i)
            cost = where(bits(mask[i]), load(costs, 0), load(costs, 1)) * weight[i]
            store(terms, 1, where(margin * load(terms, 0) < 1.0, cost * margin, 0.0))
            for k in range(WIDTH):
                slopes[k] -= terms[1, k]
        for k in range(WIDTH):
            if slopes[k] > 0:
                high[k] = middle[k]
            else:
                low[k] = middle[k]
    scales[:] = (low + high) / 2
    scaled, found = np.empty_like(W), np.empty(WIDTH)
    for j in range(W.shape[0]):
        for k in range(WIDTH):
            scaled[j, k] = W[j, k] * scales[k]
    primals(problem, HINGE, scaled, found)
    for k in range(WIDTH):
        if found[k] < primal[k]:
            gap[k] -= primal[k] - found[k]
            primal[k] = found[k]
        else:
            scales[k] = 1


@kernel
def largest_gap(primal, gap):
    """Return the largest relative gap of the sixteen problems; what is no number is no optimum."""
    most = 0.0
    for k in range(WIDTH):
        if not np.isfinite(primal[k]) or not np.isfinite(gap[k]):
            return np.inf
        if primal[k] > 0:
            most = max(most, gap[k] / primal[k])
    return most


@kernel
def solve_block(problem, loss, order, first, W, alpha, eps, tol, max_sweeps, generator, primal, gap, scales):
    """Solve a block until every relative duality gap is at most `tol`; return how many sweeps went over all rows.

    `order` are all rows, best in a random order that is theirs in memory, too; `first` those to visit before. W and
    alpha must belong to each other; they are changed, and primal and gap are set. `eps` holds the violation allowed at
    first, which is tightened until the gap is small enough, and the smallest that makes sense, after which nothing more
    is tried. What is certified is scales_k · w_k, where `scales` is not 1 only for the hinge.
    """
    eps, smallest = eps
    scales[:] = 1
    visit_first(problem, loss, first, W, alpha, eps)
    often = first if first.shape[0] * FEW < order.shape[0] else first[:0]
    done, until_check = 0, 2
    while True:
        limit = min(until_check, max_sweeps - done)
        swept, settled = descend(problem, loss, order, often, W, alpha, eps, limit, generator)
        done += swept
        objectives(problem, loss, W, alpha, primal, gap)
        found = largest_gap(primal, gap)
        if loss == HINGE and found > tol:
            best_scales(problem, W, primal, gap, scales)
            found = largest_gap(primal, gap)
        if found <= tol or done >= max_sweeps or (settled and eps <= smallest):
            return done
        scales[:] = 1
        if settled:
            wanted = (
                0.5 * tol / found
            )  # of the hinge the gap falls as the violation does, of smooth losses as its square
            eps = max(smallest, eps * min(max(wanted if loss == HINGE else np.sqrt(wanted), 0.1), 0.6))
            until_check = 1
        else:
            until_check = 2 * until_check - 1 if until_check > 1 else 2


@kernel
def put_positives(rows, positives, weight, costs, share, alpha_before, W, alpha, mask):
    """Turn rows that all problems hold for negative into positives of some; `positives` are (indptr, rows) by problem.

    Their α, `alpha_before` as negatives, becomes `share` of c, and W follows.
    """
    indptr, indices, data = rows
    starts, members = positives
    for k in range(WIDTH):
        for s in range(starts[k], starts[k + 1]):
            i = members[s]
            mask[i] |= np.uint32(1) << np.uint32(k)
            alpha[i, k] = share * costs[0, k] * weight[i]
            step = alpha_before[i] + alpha[i, k]
            for p in range(indptr[i], indptr[i + 1]):
                W[indices[p], k] += step * data[p]


@kernel
def weights_of(rows, mask, alpha, W):
    """Set W to w(α)."""
    W[:] = 0
    for i in range(mask.shape[0]):
        a = load(alpha, i)
        if any_of((a > 0.0) | (a < 0.0)):
            add_row(rows, i, W, where(bits(mask[i]), 1.0, -1.0) * a)
