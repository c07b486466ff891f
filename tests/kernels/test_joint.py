"""Dual coordinate descent on sixteen leaves of a tree: the kernels against their Python source and the definitions.

What decides between steps is compared in float64, where the two differ by rounding alone, which decides nothing.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cladist.kernels import joint, one_vs_rest, surrogate
from cladist.kernels.jit import kernel
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.surrogates import Hinge, Logistic, SquaredHinge
from tests.kernels.blocks import (
    HINGE,
    LOGISTIC,
    SQUARED_HINGE,
    SURROGATES,
    Block,
    is_capped,
    is_nonnegative,
    mixed_rows,
)
from tests.kernels.sources import as_python, close_to_python
from tests.twins import kernels_not_named_in, same_as_python

every_loss = pytest.mark.parametrize("loss", SURROGATES, ids=lambda loss: type(loss).__name__)
seeds = st.integers(0, 2**32 - 1)
UNUSED = 1e-20


class Leaves(Block):
    """Leaves of a random tree in the first lanes, and weights that other leaves have given to the nodes above them."""

    def __init__(self, seed, dtype=np.float64, n_lanes=None):
        super().__init__(seed, dtype)
        self.n_lanes = int(self.random.integers(1, WIDTH + 1)) if n_lanes is None else n_lanes
        used = np.arange(WIDTH) < self.n_lanes
        self.mask &= np.uint32((1 << self.n_lanes) - 1)
        self.costs[:, ~used] = UNUSED
        norms = np.maximum(self.problem[1], dtype(1e-30))  # what the solver puts for a row without features
        self.problem = LaneProblem(self.rows, norms, self.mask, self.weight, self.costs, self.n_lanes)
        self.below = (self.random.random((4, WIDTH)) < 0.5) & used  # the lanes below each of four nodes
        self.overlap = (np.diag(used) + self.below.T.astype(int) @ self.below).astype(dtype)
        self.others = self.random.normal(size=(self.X.shape[1], WIDTH)).astype(dtype)

    def sums(self, alpha):
        return self.X.T @ (alpha * self.signs)

    def begun(self, loss):
        _, alpha = super().begun(loss)
        alpha[:, self.n_lanes :] = 0
        return self.weights_of(alpha).astype(self.dtype), alpha

    def weights_of(self, alpha):
        return self.others + self.sums(alpha) @ self.overlap

    def joint_dual(self, loss, alpha):
        """The dual as a function of these leaves' α: Σ gain − ½ Σ O ⟨s, s'⟩ − Σ ⟨s, w of the others⟩."""
        sums = self.sums(alpha)
        gained = self.dual(loss, alpha) + 0.5 * (sums**2).sum(axis=0)
        return gained[: self.n_lanes].sum() - 0.5 * np.sum(sums @ self.overlap * sums) - np.sum(sums * self.others)

    def feasible(self, loss, alpha):
        above = not is_nonnegative(loss) or np.all(alpha >= 0)
        return above and (not is_capped(loss) or np.all(alpha <= self.row_costs * (1 + 1e-6)))


class Twin:
    """A kernel whose Python source calls the Python source of the other module, too; tuples come as arrays."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __call__(self, *arguments):
        return self._plain(self.kernel(*arguments))

    def py_func(self, *arguments):
        with as_python(one_vs_rest):
            return self._plain(self.kernel.py_func(*arguments))

    @staticmethod
    def _plain(answer):
        return np.array(answer, np.float64) if isinstance(answer, tuple) else answer


def close(kernel, *arguments, tolerance=1e-9):
    return close_to_python(joint, Twin(kernel), *arguments, rtol=tolerance, atol=tolerance)


def state_of(above=np.inf):
    state = np.zeros((4, WIDTH))
    state[one_vs_rest.ABOVE], state[one_vs_rest.BELOW] = above, -above
    state[one_vs_rest.HIGHEST], state[one_vs_rest.LOWEST] = -np.inf, np.inf
    return state


def stored_alpha(alpha):
    """Rows in which some α is not 0, and these."""
    listed = np.flatnonzero(alpha.any(axis=1)).astype(np.int32)
    return listed, alpha[listed]


def as_bits(truths):
    return (truths * (1 << np.arange(WIDTH))).sum(axis=1).astype(np.uint32)


# ---------------------------------------------------------------- one α


@kernel
def step_one(loss, margin, alpha, cost, norm):
    return surrogate.dual_step(loss, margin, alpha, cost, norm)


@pytest.mark.parametrize("squared", [False, True])
@given(seed=seeds)
def test_a_step_of_the_hinges_solves_for_one_alpha(squared, seed):
    random = np.random.default_rng(seed)
    cost, norm = random.uniform(0.1, 3), random.choice([1e-30, random.uniform(0.1, 5)])
    product, sign = random.normal() * 3 if norm > 0.1 else 0.0, random.choice([-1.0, 1.0])
    a = random.choice([0.0, cost, random.random() * cost])
    numbers = map(np.float64, (sign * product, a, cost, norm))
    (after, wanted), _ = close(step_one, SQUARED_HINGE if squared else HINGE, *numbers, tolerance=1e-12)
    damping, most = (0.5 / cost, np.inf) if squared else (0.0, cost)
    slope = sign * product + (after - a) * norm - 1 + damping * after  # of ½ α²‖x‖² − gain, at the new α
    assert 0 <= after <= most
    assert slope > -1e-9 or after == most
    assert slope < 1e-9 or after == 0
    assert (abs(wanted) > 1e-9) == (abs(after - a) > 1e-9 / (norm + damping + 1))


@given(seed=seeds)
@example(seed=1093045)  # a first step that is cut short at 0
def test_a_logistic_step_solves_for_one_alpha(seed):
    random = np.random.default_rng(seed)
    cost, norm = random.uniform(0.1, 10), random.choice([0.0, random.uniform(0.1, 20)])
    product, sign, a = random.normal() * 5, random.choice([-1.0, 1.0]), random.random() * cost
    numbers = map(np.float64, (sign * product, a, cost, norm))
    (after, wanted), _ = close(step_one, LOGISTIC, *numbers, tolerance=1e-6)
    assert 0 < after < cost
    assert wanted == pytest.approx(abs(after - a) / cost)
    t = np.log(cost / after - 1)  # the margin that α belongs to, and the one it leads to
    slope = 1 + cost * norm * (after / cost) * (1 - after / cost)
    assert abs(t - sign * product - (after - a) * norm) <= 2e-3 * slope + 1e-4


@settings(max_examples=200)
@given(seed=seeds)
def test_a_lane_that_may_not_move_would_not(seed):
    """The best α is between the present one and c σ(−m): what they are apart bounds how far it moves."""
    random, skip = np.random.default_rng(seed), 0.05
    products, costs = random.normal(size=(1, WIDTH)) * 3, random.uniform(0.1, 10, (1, WIDTH))
    alpha, norm = random.random((1, WIDTH)) * costs, random.uniform(0, 5)
    mask = np.uint32(random.integers(1 << WIDTH))
    signs = np.where((mask >> np.arange(WIDTH)) & 1, 1.0, -1.0)
    steps = [
        step_one(LOGISTIC, *map(np.float64, (signs[k] * products[0, k], alpha[0, k], costs[0, k], norm)))[1]
        for k in range(WIDTH)
    ]
    truths = np.abs(LOGISTIC.violation(signs * products[0], alpha[0], costs[0])) > skip
    assert not np.any(~truths & (np.abs(steps) > skip + 1e-6))
    assert not np.any(truths & (np.abs(steps) == 0))


# ---------------------------------------------------------------- rows


@every_loss
@pytest.mark.parametrize("move", [joint.move_row, joint.move_lanes], ids=["in turn", "at once"])
@settings(max_examples=30)
@given(seed=seeds)
def test_moving_a_row_raises_the_joint_dual(move, loss, seed):
    leaves = Leaves(seed)
    W, alpha = leaves.begun(loss)
    for i in (0, 4, 8):
        scratch = np.zeros((joint.SCRATCH, WIDTH))
        scratch[joint.PRODUCTS] = leaves.X[i] @ W
        arguments = i, leaves.problem, loss, alpha, leaves.overlap, 1e-6, scratch
        moved, after = close(move, *arguments, tolerance=1e-6)
        new, deltas = after[3], after[-1][joint.DELTAS]
        assert leaves.feasible(loss, new)
        assert np.array_equal(np.delete(new, i, axis=0), np.delete(alpha, i, axis=0))
        assert moved == (not np.array_equal(new, alpha))
        np.testing.assert_allclose(W + np.outer(leaves.X[i], deltas), leaves.weights_of(new), atol=1e-9)
        assert leaves.joint_dual(loss, new) >= leaves.joint_dual(loss, alpha) - (
            1e-5 if type(loss) is Logistic else 1e-9
        )


@every_loss
@settings(max_examples=30)
@given(seed=seeds, bound=st.sampled_from([np.inf, 0.2]), skip=st.sampled_from([1e-6, 0.3]))
def test_inspect_row(loss, seed, bound, skip):
    leaves = Leaves(seed)
    W, alpha = leaves.begun(loss)
    i, scratch, state = 3, np.zeros((joint.SCRATCH, WIDTH)), state_of(bound)
    scratch[joint.PRODUCTS] = leaves.X[i] @ W
    (wants, rests), after = close(joint.inspect_row, leaves.problem, loss, i, alpha, scratch, state, skip)
    used = slice(leaves.n_lanes)
    a, cost = alpha[i, used], leaves.row_costs[i, used]
    if type(loss) is Logistic:
        wrong = 1 / (np.exp(leaves.signs[i, used] * scratch[joint.PRODUCTS, used]) + 1)
        assert wants == np.any(np.abs(cost * wrong - a) > skip * cost)
        assert rests == (not wants)
        return
    damping = 0 if type(loss) is Hinge else a / (2 * cost)
    gradient = leaves.signs[i, used] * scratch[joint.PRODUCTS, used] - 1 + damping
    if not is_nonnegative(loss):
        assert wants == np.any(np.abs(gradient) > skip)
        assert rests == (not wants)
        return
    at_zero, at_most = a <= 0, a >= (np.inf if type(loss) is SquaredHinge else cost)
    projected = np.where(at_zero, np.minimum(gradient, 0), np.where(at_most, np.maximum(gradient, 0), gradient))
    assert wants == np.any(np.abs(projected) > skip)
    assert rests == np.all((at_zero & (gradient > bound)) | (at_most & (gradient < -bound)))
    np.testing.assert_allclose(after[-2][one_vs_rest.HIGHEST, used], projected, atol=1e-9)
    np.testing.assert_allclose(after[-2][one_vs_rest.LOWEST, used], projected, atol=1e-9)
    assert not np.any(after[-2][:2, leaves.n_lanes :])  # lanes not in use violate nothing


@every_loss
@settings(max_examples=15)
@given(seed=seeds, bound=st.sampled_from([np.inf, 0.2]))
@example(seed=819, bound=np.inf)  # a lane that misses `skip` by 5e-9 of c: its exponential decides whether it is tried
def test_sweep_joint(loss, seed, bound):
    leaves = Leaves(seed)
    W, alpha = leaves.begun(loss)
    kept, scratch = np.zeros_like(leaves.order), np.zeros((joint.SCRATCH, WIDTH))
    arguments = leaves.problem, loss, leaves.order, W, alpha, leaves.overlap, state_of(bound), 1e-6, kept, scratch
    n_kept, after = close(joint.sweep_joint, *arguments, tolerance=1e-6)
    found, before = after[4], alpha
    np.testing.assert_allclose(after[3], leaves.weights_of(found), atol=1e-9)
    assert leaves.feasible(loss, found)
    assert not np.any(found[:, leaves.n_lanes :])
    assert leaves.joint_dual(loss, found) >= leaves.joint_dual(loss, before) - (
        1e-4 if type(loss) is Logistic else 1e-9
    )
    assert len(set(after[-2][:n_kept].tolist())) == n_kept


def test_sweep_tiles():
    leaves = Leaves(3)
    W, alpha = leaves.begun(HINGE)
    problem = leaves.problem._replace(rows=mixed_rows(leaves.X, 4))
    rest = leaves.order, W, alpha, leaves.overlap, state_of(np.inf), 1e-6
    kept, scratch = np.zeros_like(leaves.order), np.zeros((joint.SCRATCH, WIDTH))
    n_kept, after = close(joint.sweep_tiles, problem, HINGE, *rest, kept, scratch, tolerance=1e-6)
    twin, by_row = close(joint.sweep_joint, leaves.problem, HINGE, *rest, kept, scratch, tolerance=1e-6)
    assert n_kept == twin
    for one, other in zip(after[3:5], by_row[3:5], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert not np.array_equal(after[4], alpha)


@every_loss
@settings(max_examples=8)
@given(seed=seeds, full=st.booleans(), passes=st.integers(0, 3))
def test_visit_block(loss, seed, full, passes):
    leaves = Leaves(seed)
    W, alpha = leaves.begun(loss)
    active = leaves.order[:4].copy()
    order = leaves.order if full else leaves.order[:0]
    arguments = (leaves.problem, loss, order, active, W, alpha, leaves.overlap, 1e-3, np.inf, passes)
    remembered, after = close(
        joint.visit_block, *arguments, np.array([seed + 1], np.uint64), np.zeros(3, np.int64), tolerance=1e-5
    )
    found = after[5]
    np.testing.assert_allclose(after[4], leaves.weights_of(found), atol=1e-9)
    assert leaves.feasible(loss, found)
    assert leaves.joint_dual(loss, found) >= leaves.joint_dual(loss, alpha) - (1e-4 if type(loss) is Logistic else 1e-9)
    assert set(remembered.tolist()) <= set(order.tolist()) if full else np.array_equal(remembered, active)
    if not full:
        others = np.setdiff1d(leaves.order, active)
        np.testing.assert_array_equal(found[others], alpha[others])


@every_loss
def test_many_visits_solve_the_block(loss):
    leaves = Leaves(1, n_lanes=11)
    W, alpha = leaves.begun(loss)
    for visit in range(300):
        generator = np.array([visit + 1], np.uint64)
        joint.visit_block(
            leaves.problem,
            loss,
            leaves.order,
            leaves.order,
            W,
            alpha,
            leaves.overlap,
            1e-7,
            np.inf,
            5,
            generator,
            np.zeros(3, np.int64),
        )
    lost, gap, product = joint.joint_terms(leaves.problem, loss, W, alpha)
    assert gap <= 1e-4 * (lost + abs(product))


# ---------------------------------------------------------------- into and out of the lanes


@given(seed=seeds)
def test_put_paths(seed):
    random = np.random.default_rng(seed)
    V, stored = random.normal(size=(5, 6)).astype(np.float32), random.permutation(5)[: random.integers(0, 6)]
    below = random.random((len(stored), WIDTH)) < 0.5
    arguments = V, stored, as_bits(below), np.full((6, WIDTH), 9, np.float32)
    _, (*_, W) = close(joint.put_paths, *arguments, tolerance=1e-5)
    expected = V[stored].T.astype(np.float64) @ below
    np.testing.assert_allclose(W, expected, atol=1e-5)
    wide = np.zeros((6, WIDTH))
    joint.put_paths(*arguments[:3], wide)
    np.testing.assert_allclose(wide, expected, atol=1e-14)


@given(seed=seeds)
def test_rows_are_put_and_added(seed):
    leaves = Leaves(seed, np.float32)
    _, alpha = leaves.begun(HINGE)
    alpha[leaves.random.random(len(alpha)) < 0.4] = 0
    stored = stored_alpha(alpha)
    _, (*_, put) = close(joint.put_rows, *stored, np.zeros_like(alpha))
    np.testing.assert_array_equal(put, alpha)
    arguments = leaves.rows, leaves.mask, *stored, leaves.overlap, leaves.others
    _, (*_, W) = close(joint.add_rows, *arguments, tolerance=1e-4)
    np.testing.assert_allclose(W, leaves.weights_of(alpha), rtol=1e-4, atol=1e-3)


@given(seed=seeds)
def test_sign_rows(seed):
    leaves = Leaves(seed, np.float32)
    listed, values = stored_alpha(leaves.begun(HINGE)[1])
    _, (*_, signed) = close(joint.sign_rows, leaves.mask, listed, values)
    np.testing.assert_array_equal(signed, values * leaves.signs[listed])


@every_loss
@given(seed=seeds, factor=st.sampled_from([1.25, 3.0]))
def test_relax(loss, seed, factor):
    leaves = Leaves(seed, np.float32)
    before, alpha = leaves.begun(HINGE)[1], leaves.begun(HINGE)[1]
    before[leaves.random.random(len(before)) < 0.4] = 0
    same = leaves.random.random(len(before)) < 0.3
    alpha[same] = before[same]
    arguments = leaves.problem, loss, *stored_alpha(before), np.float32(factor), alpha
    _, (*_, found) = close(joint.relax, *arguments, tolerance=1e-5)
    expected = before + np.float32(factor) * (alpha - before)
    expected = np.maximum(expected, 0) if is_nonnegative(loss) else expected
    np.testing.assert_allclose(
        found, np.minimum(expected, leaves.row_costs) if is_capped(loss) else expected, atol=1e-5
    )
    np.testing.assert_array_equal(found[same], before[same])


@given(seed=seeds)
def test_changes_move_stored_vectors(seed):
    """What is taken out of the lanes and added to the stored vectors is what the new α say they are."""
    leaves = Leaves(seed, np.float32)
    before, after = leaves.begun(HINGE)[1], leaves.begun(HINGE)[1]
    before[leaves.random.random(len(before)) < 0.4] = 0
    same = leaves.random.random(len(before)) < 0.3
    after[same] = before[same]
    above, n_rows = as_bits(leaves.below), len(after)
    coefficients, changed = np.zeros((n_rows, 4), np.float32), np.zeros(n_rows, np.int32)
    arguments = after, leaves.mask, *stored_alpha(before), above, coefficients, changed
    count, (left, *_, coefficients, changed) = close(joint.changes, *arguments, tolerance=1e-5)
    np.testing.assert_array_equal(changed[:count], np.flatnonzero((before != after).any(axis=1)))
    np.testing.assert_allclose(left, after - before, atol=1e-6)
    for u, vector in enumerate(leaves.random.normal(size=(4, 6)).astype(np.float32)):
        arguments = leaves.rows, changed[:count], coefficients[:count, u].copy(), vector
        _, (*_, moved) = close(joint.add_change, *arguments, tolerance=1e-4)
        expected = vector + leaves.sums(after.astype(np.float64) - before) @ leaves.below[u]
        np.testing.assert_allclose(moved, expected, atol=1e-4)
    _, cleared = same_as_python(joint.clear, changed[:count], left)
    assert not np.any(cleared)


@given(seed=seeds)
def test_nonzero_rows(seed):
    random = np.random.default_rng(seed)
    alpha = (random.random((9, WIDTH)) * (random.random((9, WIDTH)) < 0.05)).astype(np.float32)
    count, (_, listed) = close(joint.nonzero_rows, alpha, np.zeros(9, np.int32))
    assert listed[:count].tolist() == np.flatnonzero(alpha.any(axis=1)).tolist()


# ---------------------------------------------------------------- where it is


@every_loss
@given(seed=seeds)
def test_joint_terms(loss, seed):
    leaves = Leaves(seed)
    W, alpha = leaves.begun(loss)
    (lost, gap, product), _ = close(joint.joint_terms, leaves.problem, loss, W, alpha, tolerance=1e-5)
    used, sums = slice(leaves.n_lanes), leaves.sums(alpha)
    losses = (leaves.primal(loss, W) - 0.5 * (W**2).sum(axis=0))[used].sum()
    gained = (leaves.dual(loss, alpha) + 0.5 * (sums**2).sum(axis=0))[used].sum()
    assert lost == pytest.approx(losses, rel=1e-5)
    assert product == pytest.approx(np.sum(W * sums), rel=1e-9, abs=1e-9)
    assert gap == pytest.approx(losses + product - gained, rel=1e-5, abs=1e-4)


@every_loss
@given(seed=seeds, resting=st.sampled_from([0.05, np.inf]))
def test_leaf_losses(loss, seed, resting):
    leaves = Leaves(seed)
    W, alpha = leaves.begun(loss)
    arguments = leaves.problem, loss, W, alpha, resting, np.zeros(len(alpha), np.int32)
    (lost, n_active), (*_, active) = close(joint.leaf_losses, *arguments, tolerance=1e-5)
    losses = (leaves.primal(loss, W) - 0.5 * (W**2).sum(axis=0))[: leaves.n_lanes].sum()
    assert lost == pytest.approx(losses, rel=1e-5)
    margins = leaves.signs * (leaves.X @ W)
    at_rest = loss.rests(margins, alpha, leaves.row_costs, resting, -resting)[:, : leaves.n_lanes].all(axis=1)
    assert active[: int(n_active)].tolist() == np.flatnonzero(~at_rest).tolist()


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: type(loss).__name__)
@given(seed=seeds)
def test_best_lengths(loss, seed):
    leaves = Leaves(seed)
    _, alpha = leaves.begun(loss)
    P, moves = leaves.others, leaves.sums(alpha)
    arguments = leaves.problem, loss, leaves.order, P + moves, P, alpha, np.ones((1, WIDTH))
    _, (*_, lengths) = close(joint.best_lengths, *arguments, tolerance=1e-5)

    def objective(s):  # of each lane: leaves.primal has ‖w‖² where leaves have ‖w − p‖²
        W = P + s * moves
        return leaves.primal(loss, W) + 0.5 * (((s * moves) ** 2).sum(axis=0) - (W**2).sum(axis=0))

    best = objective(lengths[0])[: leaves.n_lanes]
    for other in np.linspace(*joint.LENGTHS, 40):
        assert np.all(best <= objective(other)[: leaves.n_lanes] * (1 + 1e-5) + 1e-5)


@every_loss
@given(seed=seeds)
def test_dual_gain_and_margin_products(loss, seed):
    leaves = Leaves(seed)
    W, alpha = leaves.begun(loss)
    if type(loss) is not Logistic:
        alpha[leaves.random.random(len(alpha)) < 0.4] = 0
    listed, _ = stored_alpha(alpha)
    gain, _ = close(joint.dual_gain, leaves.problem, loss, listed, alpha, tolerance=1e-6)
    product, _ = close(joint.margin_products, leaves.problem, listed, W, alpha, tolerance=1e-6)
    sums = leaves.sums(alpha)
    gained = (leaves.dual(loss, alpha) + 0.5 * (sums**2).sum(axis=0))[: leaves.n_lanes].sum()
    assert gain == pytest.approx(gained, rel=1e-6, abs=1e-6)
    assert product == pytest.approx(np.sum(W * sums), rel=1e-9, abs=1e-9)


@given(seed=seeds, n_lanes=st.integers(0, WIDTH))
def test_squared_distance(seed, n_lanes):
    W, P = np.random.default_rng(seed).normal(size=(2, 6, WIDTH)).astype(np.float32)
    found, _ = close(joint.squared_distance, W, P, n_lanes)
    assert found == pytest.approx(np.sum((W.astype(np.float64) - P)[:, :n_lanes] ** 2))


def test_every_kernel_is_compared_with_its_source():
    assert kernels_not_named_in(__file__, joint) == []
