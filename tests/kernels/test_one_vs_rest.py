"""Dual coordinate descent on sixteen problems: the kernels against their Python source and the definitions.

In float64 the two differ by rounding alone, which decides nothing; float32 decides a few things the other way.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist.kernels import csr_rows, lanes, one_vs_rest, surrogate
from cladist.kernels.jit import kernel
from cladist.kernels.lanes import WIDTH
from cladist.surrogates import Hinge, Logistic
from tests.kernels.blocks import (
    HINGE,
    LOGISTIC,
    SQUARED_HINGE,
    SURROGATES,
    Block,
    gains,
    is_capped,
    is_nonnegative,
    losses,
)
from tests.kernels.sources import as_python, close_to_python, copied
from tests.twins import kernels_not_named_in, same_as_python

every_loss = pytest.mark.parametrize("loss", SURROGATES, ids=lambda loss: type(loss).__name__)
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])
seeds = st.integers(0, 2**32 - 1)


@kernel
def stored_dot(rows, i, W, out):
    lanes.store(out, 0, one_vs_rest.dot_sparse(rows, i, W, out))


@kernel
def add_stored(rows, i, W, steps):
    one_vs_rest.add_sparse(rows, i, W, lanes.load(steps, 0))


@kernel
def stored_step(loss, values, norm, out):
    margin, before, cost = lanes.load(values, 0), lanes.load(values, 1), lanes.load(values, 2)
    after, violation = surrogate.dual_step(loss, margin, before, cost, norm)
    lanes.store(out, 0, after)
    lanes.store(out, 1, violation)


@kernel
def stored_terms(problem, loss, i, W, alpha, margins, terms):
    positive = lanes.bits(problem.mask[i])
    margin = lanes.where(positive, 1.0, -1.0) * one_vs_rest.dot_sparse(problem.rows, i, W, terms)
    cost = one_vs_rest.row_costs(problem.costs, problem.weight[i], positive)
    one_vs_rest.put_terms(loss, margin, lanes.load(alpha, i), cost, terms)
    lanes.store(margins, 0, margin)


@kernel
def stored_costs(problem, i, out):
    lanes.store(out, 0, one_vs_rest.row_costs(problem.costs, problem.weight[i], lanes.bits(problem.mask[i])))


def close(function, *arguments, dtype=np.float32, times=1.0):
    tolerance = times * (1e-5 if dtype == np.float32 else 1e-11)
    return close_to_python(one_vs_rest, function, *arguments, rtol=tolerance, atol=tolerance)


def state_of(dtype, above=np.inf, below=-np.inf):
    state = np.zeros((4, WIDTH), dtype)
    state[one_vs_rest.ABOVE], state[one_vs_rest.BELOW] = above, below
    return state


# ---------------------------------------------------------------- one row


@every_type
@given(seed=seeds)
def test_dot_and_add_row(dtype, seed):
    block = Block(seed, dtype)
    W, steps = block.begun(HINGE)[0], block.random.normal(size=(1, WIDTH)).astype(dtype)
    for i in (0, 4, 8):
        _, (*_, out) = close(stored_dot, block.rows, i, W, np.zeros((1, WIDTH), dtype), dtype=dtype)
        np.testing.assert_allclose(out[0], block.X[i] @ W, rtol=1e-4, atol=1e-4)
        _, (*_, added, _) = close(add_stored, block.rows, i, W, steps, dtype=dtype)
        np.testing.assert_allclose(added, W + np.outer(block.X[i], steps), rtol=1e-4, atol=1e-4)


@every_type
@given(seed=seeds, norm=st.floats(0, 100, width=32))
def test_the_logistic_step_solves_for_the_margin_it_leads_to(dtype, seed, norm):
    random = np.random.default_rng(seed)
    cost = random.uniform(0.1, 10, WIDTH)
    values = np.array([random.normal(size=WIDTH) * 10, random.random(WIDTH) * cost, cost]).astype(dtype)
    _, (*_, out) = close_to_python(
        one_vs_rest, stored_step, LOGISTIC, values, dtype(norm), np.zeros((2, WIDTH), dtype), rtol=2e-3, atol=2e-3
    )
    margin, before, cost = values.astype(np.float64)
    after = out[0].astype(np.float64)
    t = margin + norm * (after - before)  # the margin that α leads to, and from there the α it should be
    slope = 1 + norm * cost / (np.exp(t / 2) + np.exp(-t / 2)) ** 2
    steepest = cost / 4  # of c σ(−t)
    assert np.all(np.abs(after - cost / (1 + np.exp(t))) <= steepest * (2e-3 * slope + 1e-4) + 1e-5 * cost)
    np.testing.assert_allclose(out[1], np.abs(after - before) / cost, rtol=1e-4, atol=1e-6)


@every_type
@every_loss
@given(seed=seeds)
def test_terms_of_a_row(dtype, loss, seed):
    block = Block(seed, dtype)
    W, alpha = block.begun(loss)
    for i in (0, 4, 8):
        _, (*_, out) = close(stored_costs, block.problem, i, np.zeros((1, WIDTH), dtype), dtype=dtype)
        np.testing.assert_allclose(out[0], block.row_costs[i], rtol=1e-6)
        empty = np.zeros((1, WIDTH)), np.zeros((2, WIDTH))
        arguments = block.problem, loss, i, W, alpha, *empty
        _, (*_, margin, terms) = close(stored_terms, *arguments, dtype=dtype, times=10)
        cost, a = block.row_costs[i], alpha[i].astype(np.float64)
        expected = block.signs[i] * (block.X[i] @ W.astype(np.float64))
        np.testing.assert_allclose(margin[0], expected, rtol=1e-9, atol=1e-9)
        lost, gain = cost * losses(loss, expected), gains(loss, a, cost)
        np.testing.assert_allclose(terms[0], lost, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(terms[1], lost + a * expected - gain, rtol=1e-4, atol=1e-4)
        assert np.all(terms[1] >= -1e-5)


# ---------------------------------------------------------------- sweeps


def sweep_of(block, loss, skip, state):
    """The arguments of one sweep of the loss over all rows."""
    W, alpha = block.begun(loss)
    return block.problem, loss, block.order, W, alpha, state, block.dtype(skip), np.zeros_like(block.order)


@every_loss
@settings(max_examples=30)
@given(seed=seeds, skip=st.sampled_from([0.0, 0.3]), bound=st.sampled_from([np.inf, 0.2]))
def test_sweeps_equal_their_source(loss, seed, skip, bound):
    block = Block(seed)
    arguments = sweep_of(block, loss, skip, state_of(np.float64, bound, -bound))
    before = arguments[-4]
    times = 1e6 if type(loss) is Logistic else 1.0  # exp is right to seven digits
    n_kept, after = close(one_vs_rest.sweep, *arguments, dtype=np.float64, times=times)
    _, W, alpha, state, _, kept = after[-6:]
    assert not is_nonnegative(loss) or np.all(alpha >= 0)
    assert not is_capped(loss) or np.all(alpha <= block.row_costs * (1 + 1e-12))
    np.testing.assert_allclose(W, block.X.T @ (alpha * block.signs), atol=1e-9)
    assert np.all(block.dual(loss, alpha) >= block.dual(loss, before) - (1e-5 if type(loss) is Logistic else 1e-9))
    assert set(kept[:n_kept]) <= set(range(9))
    assert np.all(state[one_vs_rest.HIGHEST] >= state[one_vs_rest.LOWEST])


@every_loss
@given(seed=seeds)
def test_sweeps_of_float32_are_close_to_their_source(loss, seed):
    block = Block(seed, np.float32)
    arguments = sweep_of(block, loss, 0.0, state_of(np.float32))
    compiled, twin = copied(arguments), copied(arguments)
    one_vs_rest.sweep(*compiled)
    with as_python(one_vs_rest), np.errstate(all="ignore"):
        one_vs_rest.sweep(*twin)
    for one, other in zip(compiled[-5:-2], twin[-5:-2], strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)


@given(seed=seeds)
def test_at_the_optimum_nothing_moves(seed):
    block = Block(seed)
    W, alpha = block.begun(SQUARED_HINGE)
    state, kept, order = state_of(np.float64), np.zeros_like(block.order), block.order
    for _ in range(3000):
        one_vs_rest.sweep(block.problem, SQUARED_HINGE, order, W, alpha, state, 0.0, kept)
    before = alpha.copy()
    one_vs_rest.sweep(block.problem, SQUARED_HINGE, order, W, alpha, state, 1e-6, kept)
    np.testing.assert_array_equal(alpha, before)
    assert one_vs_rest.violation(state) < 1e-6
    primal, dual = block.primal(SQUARED_HINGE, W), block.dual(SQUARED_HINGE, alpha)
    np.testing.assert_allclose(primal, dual, rtol=1e-6)


@every_type
@given(seed=seeds, bound=st.sampled_from([0.0, 0.25, np.inf]))
def test_violation_and_rest_beyond(dtype, seed, bound):
    random = np.random.default_rng(seed)
    state = random.normal(size=(4, WIDTH)).astype(dtype)
    if random.random() < 0.3:
        state[:2] = np.array([[-np.inf], [np.inf]])  # what an empty list of rows leaves
    high, low = state[:2].copy()
    most = same_as_python(one_vs_rest.violation, state)
    assert most == max(np.max(np.maximum(high, 0) - np.minimum(low, 0)), 0)
    state, _ = same_as_python(one_vs_rest.rest_beyond, state, np.float32(bound))
    above = np.where(high > 0, high, np.inf) if bound == 0 else bound
    below = np.where(low < 0, low, -np.inf) if bound == 0 else -bound
    np.testing.assert_array_equal(state[one_vs_rest.ABOVE], above)
    np.testing.assert_array_equal(state[one_vs_rest.BELOW], below)


@given(st.integers(0, 300), st.integers(1, 2**63))
def test_shuffle(n_rows, seed):
    rows, generator = same_as_python(one_vs_rest.shuffle, np.arange(n_rows), np.array([seed], np.uint64))
    assert sorted(rows) == list(range(n_rows))
    assert generator[0] != 0
    stretches = rows[: n_rows // one_vs_rest.STRETCH * one_vs_rest.STRETCH].reshape(-1, one_vs_rest.STRETCH)
    assert np.all(np.diff(stretches, axis=1) == 1)
    assert n_rows < 160 or rows.tolist() != list(range(n_rows))
    few = one_vs_rest.shuffle.py_func
    many = np.arange(2**13)
    few(many, np.array([seed], np.uint64), one_vs_rest.MANY_ROWS)  # stretches of 2¹³ / 512 rows
    assert np.all(np.diff(many.reshape(512, 16), axis=1) == 1)


# ---------------------------------------------------------------- until it is solved


@every_loss
@settings(max_examples=10)
@given(seed=seeds, max_sweeps=st.integers(0, 4))
def test_descend_and_visit_first(loss, seed, max_sweeps):
    block = Block(seed)
    W, alpha = block.begun(loss)
    generator = np.array([seed + 1], np.uint64)
    first = block.order[:4].copy()
    times = 1e8 if type(loss) is Logistic else 10.0
    effort = np.array([0, 2**62, 0, 2**62])
    arguments = block.problem, loss, first, W, alpha, 1e-3, effort
    _, (*_, W, alpha, _, effort) = close(one_vs_rest.visit_first, *arguments, dtype=np.float64, times=times)
    arguments = block.problem, loss, block.order, first, W, alpha, 1e-3, max_sweeps, generator, effort
    if type(loss) is Logistic:  # which row rests may hang on the last digit of exp, and all that follows on that
        one_vs_rest.descend(*arguments)
    else:
        (done, _), (_, _, _, _, W, alpha, *_, after) = close(
            one_vs_rest.descend, *arguments, dtype=np.float64, times=1e4
        )
        assert done <= max_sweeps
        assert after[one_vs_rest.VISITS] >= effort[one_vs_rest.VISITS] + done * len(block.order)
    np.testing.assert_allclose(W, block.X.T @ (alpha * block.signs), atol=1e-9)


@every_type
@every_loss
@settings(max_examples=5)
@given(seed=seeds)
def test_solve_block(dtype, loss, seed):
    block = Block(seed, dtype)
    results = []
    for function in (one_vs_rest.solve_block, one_vs_rest.solve_block.py_func):
        (W, alpha), generator = Block(seed, dtype).begun(loss), np.array([7], np.uint64)
        primal, gap, scales = np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH)
        first, limits, effort = block.order[:3].copy(), (1e-2, 1e-4), np.array([0, 2**62, 0, 2**62])
        found = primal, gap, scales
        arguments = (block.problem, loss, block.order, first, W, alpha, limits, 1e-4, 1000, generator, effort, *found)
        with as_python(*[one_vs_rest] * len(results)), np.errstate(all="ignore"):
            sweeps = function(*arguments)
        assert 0 < sweeps < 1000
        np.testing.assert_allclose(primal, block.primal(loss, W * scales), rtol=1e-5)
        np.testing.assert_allclose(primal - gap, block.dual(loss, alpha), rtol=2e-5)
        assert type(loss) is Hinge or np.all(scales == 1)
        assert np.all(gap <= 1e-4 * primal)
        results.append(primal)
    np.testing.assert_allclose(*results, rtol=2e-4)


@pytest.mark.parametrize(
    ("loss", "gap", "visits", "slow"),
    [
        (HINGE, 0.05, 300, False),  # a tenth of the gap for 200 visits, so 400 remain, and 500 are worth it
        (HINGE, 0.05, 600, True),
        (HINGE, 0.5, 300, True),  # it does not fall
        (HINGE, 0.49, 40, False),  # too early to tell
        (HINGE, 5e-4, 1000, True),  # twice as many as the other solver costs
        (LOGISTIC, 0.49, 120, False),  # it may rest for a while
        (LOGISTIC, 0.49, 140, True),
    ],
)
def test_is_slow(loss, gap, visits, slow):
    effort = np.array([visits, 500, 0, 50])
    assert same_as_python(one_vs_rest.is_slow, loss, 0.5, gap, 5e-4, min(100, visits // 2), effort) == slow


@every_type
@every_loss
@given(seed=seeds)
def test_objectives(dtype, loss, seed):
    block = Block(seed, dtype)
    W, alpha = block.begun(loss)
    arguments = block.problem, loss, W, alpha, np.full(WIDTH, 9.0), np.full(WIDTH, 9.0)
    _, (*_, primal, gap) = close(one_vs_rest.objectives, *arguments, dtype=dtype, times=10)
    np.testing.assert_allclose(primal, block.primal(loss, W.astype(np.float64)), rtol=1e-5)
    np.testing.assert_allclose(primal - gap, block.dual(loss, alpha.astype(np.float64)), rtol=1e-4, atol=1e-4)


@every_type
@every_loss
@given(seed=seeds)
def test_primals_are_exact_for_weights_as_they_stand(dtype, loss, seed):
    block = Block(seed, dtype)
    W, _ = block.begun(loss)
    _, (*_, primal) = close(
        one_vs_rest.primals, block.problem, loss, W, np.full(WIDTH, 9.0), dtype=np.float64, times=10
    )
    np.testing.assert_allclose(primal, block.primal(loss, W.astype(np.float64)), rtol=1e-6)  # costs are float32


@every_type
@given(seed=seeds)
def test_dot_sums_in_the_type_asked_for(dtype, seed):
    block = Block(seed, dtype)
    W, _ = block.begun(HINGE)
    for i in (0, 4, 8):
        _, (*_, out) = close(stored_dot, block.rows, i, W, np.zeros((1, WIDTH)), dtype=np.float64)
        np.testing.assert_allclose(out[0], block.X[i] @ W.astype(np.float64), rtol=1e-12, atol=1e-12)


@every_type
@given(seed=seeds)
def test_best_scales(dtype, seed):
    block = Block(seed, dtype)
    W, alpha = block.begun(HINGE)
    primal, gap = np.zeros(WIDTH), np.zeros(WIDTH)
    one_vs_rest.objectives(block.problem, HINGE, W, alpha, primal, gap)
    dual = primal - gap
    arguments = block.problem, HINGE, W, primal, gap, np.zeros(WIDTH)
    _, (*_, primal, gap, scales) = close(one_vs_rest.best_scales, *arguments, dtype=dtype, times=50)
    wide = W.astype(np.float64)
    np.testing.assert_allclose(primal, block.primal(HINGE, wide * scales), rtol=1e-4)
    np.testing.assert_allclose(primal - gap, dual, rtol=1e-6, atol=1e-6)
    for other in np.linspace(0.55, 1.95, 8):
        assert np.all(primal <= block.primal(HINGE, wide * other) * (1 + 1e-4))


@every_loss
@given(seed=seeds)
def test_keep_better_scales(loss, seed):
    block = Block(seed)
    W, alpha = block.begun(loss)
    primal, gap = np.zeros(WIDTH), np.zeros(WIDTH)
    one_vs_rest.objectives(block.problem, loss, W, alpha, primal, gap)
    tried = block.random.uniform(0.5, 2, WIDTH)
    arguments = block.problem, loss, W, primal, gap, tried
    _, (*_, lower, smaller, scales) = close(one_vs_rest.keep_better_scales, *arguments, dtype=np.float64, times=10)
    better = block.primal(loss, W * tried) < primal
    np.testing.assert_array_equal(scales, np.where(better, tried, 1))
    np.testing.assert_allclose(lower, block.primal(loss, W * scales), rtol=1e-6)
    np.testing.assert_allclose(lower - smaller, primal - gap, rtol=1e-9, atol=1e-9)


@every_type
@given(seed=seeds)
def test_squared_norms(dtype, seed):
    W, _ = Block(seed, dtype).begun(LOGISTIC)
    _, (_, norms) = close(one_vs_rest.squared_norms, W, np.full(WIDTH, 9.0), dtype=dtype)
    np.testing.assert_allclose(norms, np.sum(W.astype(np.float64) ** 2, axis=0))


@given(seed=seeds)
def test_largest_gap(seed):
    random = np.random.default_rng(seed)
    primal, gap = random.integers(0, 3, WIDTH).astype(np.float64), random.normal(size=WIDTH)
    relative = [g / p for g, p in zip(gap, primal, strict=True) if p > 0]
    assert same_as_python(one_vs_rest.largest_gap, primal, gap) == max([0.0, *relative])


# ---------------------------------------------------------------- where it begins


@every_type
@given(seed=seeds, share=st.sampled_from([0.0, 0.5]))
def test_positives_are_put_where_all_was_negative(dtype, seed, share):
    block = Block(seed)
    signs = block.signs
    alpha_before = block.random.uniform(0, 1, 9).astype(dtype)
    alpha = np.repeat(alpha_before[:, None], WIDTH, axis=1)
    W = -(block.X.T @ alpha).astype(dtype)
    members = np.nonzero(signs.T > 0)
    positives = np.append(0, np.cumsum((signs > 0).sum(axis=0))), members[1]
    arguments = (
        block.rows,
        positives,
        block.weight,
        block.costs.astype(dtype),
        np.float32(share),
        alpha_before,
        W,
        alpha,
    )
    _, (*_, W, alpha, mask) = close(one_vs_rest.put_positives, *arguments, np.zeros(9, np.uint32), dtype=np.float32)
    np.testing.assert_array_equal(mask, block.mask)
    expected = np.where(signs > 0, share * block.row_costs, alpha_before[:, None])
    np.testing.assert_allclose(alpha, expected, rtol=1e-5)
    np.testing.assert_allclose(W, block.X.T @ (alpha * signs), atol=1e-4)


@every_type
@given(seed=seeds)
def test_weights_of(dtype, seed):
    block = Block(seed, dtype)
    _, alpha = block.begun(HINGE)
    arguments = block.rows, block.mask, alpha, np.full((6, WIDTH), 9, dtype)
    _, (*_, W) = close(one_vs_rest.weights_of, *arguments, dtype=dtype, times=10)
    np.testing.assert_allclose(W, block.X.T @ (alpha * block.signs), rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------- rows taken out of a matrix


@st.composite
def choices(draw):
    """A matrix of numbers that float32 holds, and some of its rows, more than once and in any order."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(1, 6)), draw(st.integers(0, 7))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = sparse.csr_array((random.integers(-4, 5, shape) * (random.random(shape) < 0.6)).astype(dtype))
    return X, np.array(draw(st.lists(st.integers(0, shape[0] - 1), max_size=8)), np.int64)


@given(choices())
def test_count_features(choice):
    X, chosen = choice
    counts = same_as_python(csr_rows.count_features, (X.indptr, X.indices), chosen, X.shape[1])
    np.testing.assert_array_equal(counts, (X.toarray()[chosen] != 0).sum(axis=0))


@given(choices(), st.booleans(), st.randoms())
def test_gather_rows(choice, constant, random):
    X, chosen = choice
    n_features = X.shape[1]
    place = np.array(random.sample(range(n_features), n_features), np.int64)
    indptr = np.append(0, np.cumsum(np.diff(X.indptr)[chosen] + constant)).astype(np.int64)
    indices, data = np.zeros(indptr[-1], np.uint32), np.zeros(indptr[-1], np.float32)
    norms, rows = np.zeros(len(chosen), np.float32), (X.indptr, X.indices, X.data)
    *_, indices, data, norms = same_as_python(
        csr_rows.gather_rows, rows, chosen, place, constant, n_features, indptr, indices, data, norms
    )
    expected = np.zeros((len(chosen), n_features + 1))
    expected[:, place] = X.toarray()[chosen]
    expected[:, -1] = constant
    gathered = sparse.csr_array((data, indices.astype(np.int64), indptr), shape=expected.shape)
    np.testing.assert_array_equal(gathered.toarray(), expected)
    np.testing.assert_array_equal(norms, (expected**2).sum(axis=1))
    if constant:
        assert np.all(indices[indptr[1:] - 1] == n_features)


@given(choices())
def test_copy_rows(choice):
    X, chosen = choice
    X = X.astype(np.float32)
    indptr = np.append(0, np.cumsum(np.diff(X.indptr)[chosen])).astype(np.int64)
    indices, data = np.zeros(indptr[-1], X.indices.dtype), np.zeros(indptr[-1], np.float32)
    rows = (X.indptr, X.indices, X.data)
    *_, indices, data = same_as_python(csr_rows.copy_rows, rows, chosen, indptr, indices, data)
    copied = sparse.csr_array((data, indices, indptr), shape=(len(chosen), X.shape[1]))
    np.testing.assert_array_equal(copied.toarray(), X.toarray()[chosen])


def test_every_kernel_is_compared_with_its_source():
    assert kernels_not_named_in(__file__, one_vs_rest) == []
    assert kernels_not_named_in(__file__, csr_rows) == []
