"""One-vs-rest linear classifiers, sixteen at a time.

Problem   min_w ½‖w‖² + Σ_i c_ik ℓ(y_ik w·x_i) for every class k, y_ik = ±1; ℓ is the hinge, its square or the logistic
          loss; an intercept is the weight of a constant feature, as in LIBLINEAR
Stops     for each block of sixteen classes, when (primal − dual) / primal ≤ tol for each of them: the gap certifies
          the float32 weights that are returned
Found by  dual coordinate descent, `cladist.kernels.one_vs_rest`. Where there are many classes, all begin at the
          solution of the problem in which every row is negative, which is near each of theirs. Dense rows of few
          features go to `cladist.solvers.linear.dense_solvers` instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import progress
from cladist.errors import one_of
from cladist.execution import Executor, Serial
from cladist.kernels import one_vs_rest as kernels
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.dense import DenseWeights
from cladist.linear_model.dual import DualWeights
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.training_rows import aligned_zeros
from cladist.linear_model.weights import Weights
from cladist.solvers.linear.dense_solvers import solve_directly, suits_direct
from cladist.solvers.linear.rounding import Certificate, History, drift, measure, round_weights, set_weights
from cladist.solvers.problem import Members, OneVsRest, Settings
from cladist.solvers.solution import Solution

FORMS = ("dense", "sparse", "dual")
LOSSES = {"hinge": kernels.HINGE, "squared_hinge": kernels.SQUARED_HINGE, "logistic": kernels.LOGISTIC}
# The violation of optimality that leaves about the gap wanted, as a multiple of it; where it leaves more, the solver
# finds out and goes on.
VIOLATION_PER_GAP = {"hinge": 4.0, "squared_hinge": 150.0, "logistic": 5.0}
WITH_CONSTANT = {"hinge": 1.0, "squared_hinge": 0.25, "logistic": 1.0}  # a factor of it: all rows share an intercept
LARGEST_VIOLATION = {"hinge": 0.1, "squared_hinge": 0.5, "logistic": 0.1}
# Violations that rounding leaves visible; exponentials are float32 in either type.
SMALLEST_FLOAT32, SMALLEST_FLOAT64 = 1e-4, {"hinge": 1e-10, "squared_hinge": 1e-10, "logistic": 1e-6}
FLOAT64_SHARE = 0.1  # of tol: what float64 solves to, so that rounding its weights to float32 may cost the rest
BLOCKS_THAT_SHARE = 6  # as many blocks make a shared start worth its cost, which is about that of a block

Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Start:
    """Where all classes begin: weights and α with every row negative."""

    weights: Floats32
    alpha: Floats32


@dataclass(frozen=True)
class _Block:
    """Sixteen problems: `weights` are scales_k · w(α)_k in float32; α is float64 where float32 does not suffice."""

    weights: Floats32
    alpha: Floats32 | Floats64
    mask: npt.NDArray[np.uint32]
    scales: Floats64 = field(default_factory=lambda: np.ones(WIDTH))
    history: History = field(default_factory=list)


def solve_one_vs_rest(
    problem: OneVsRest,
    settings: Settings | None = None,
    *,
    executor: Executor | None = None,
    form: str = "dense",
    prune: float = 0.0,
    state: Any = None,
    keep_state: bool = False,
) -> Solution:
    """Fit one linear classifier a class against all others.

    Parameters
    ----------
    problem : OneVsRest
    settings : Settings, optional
    executor : Executor, optional
        Runs the blocks; the result does not depend on it.
    form : {"dense", "sparse", "dual"}
        How the weights are kept.
    prune : float
        The sparse form keeps weights larger than this only. The history tells of the weights before.
    state : object, optional
        A `Solution.state` of the same rows and classes to begin from; its α must be feasible, see `scaled`.
    keep_state : bool
        Whether to return one: rows · classes · 4 bytes.

    Returns
    -------
    Solution
        `history` has an entry a class: `objective`, `gap` (relative) and `passes`.

    Notes
    -----
    Cost O(classes / 16 · sweeps · nonzeros); memory 64 bytes a feature and row for each worker, and the weights.

    Examples
    --------
    >>> from cladist.solvers.problem import members_by_class
    >>> from cladist.linear_model.training_rows import TrainingRows
    >>> rows = TrainingRows.from_matrix(np.eye(3), constant=True)
    >>> problem = OneVsRest(rows, members_by_class(np.arange(3), 3), "squared_hinge", np.ones((2, 3)))
    >>> solve_one_vs_rest(problem).weights.best(np.eye(3)).tolist()
    [0, 1, 2]
    """
    settings = settings or Settings()
    one_of("solve_one_vs_rest", "form", form, FORMS)
    if suits_direct(problem):
        return _directly(problem, settings, executor, form, prune, state, keep_state)
    n_blocks = -(-problem.n_classes // WIDTH)
    # Rows in a random order in memory: visited one after the other they are read fast, and converge as random ones do.
    shuffled = np.random.default_rng(settings.seed).permutation(len(problem.rows))
    problem = problem.taken(shuffled)
    order = np.arange(len(shuffled), dtype=np.int32)
    alike = problem.n_classes > 0 and bool(np.all(problem.costs[1] == problem.costs[1, 0]))
    shares = alike and n_blocks >= BLOCKS_THAT_SHARE and state is None
    start = _shared_start(problem, order, settings) if shares else None
    with progress.task("one-vs-rest", problem.n_classes) as running:

        def solve(b: int) -> tuple[Any, Any, History]:
            block = _solve_block(problem, b, order, settings, start, None if state is None else state[b][shuffled])
            running.advance(len(block.history))
            alpha = block.alpha.astype(np.float32, copy=False) if keep_state else None
            return _kept(block, problem, form, prune), alpha, block.history

        found = list((executor or Serial()).map(solve, range(n_blocks)))
    history = [entry for _, _, entries in found for entry in entries]
    weights = _assembled([kept for kept, _, _ in found], problem, form)
    if isinstance(weights, DualWeights):
        history = _certified_again(weights, problem, history)
    converged = all(entry["gap"] <= settings.tol for entry in history)
    place = np.argsort(shuffled)
    alphas = [alpha[place] for _, alpha, _ in found] if keep_state else None
    return Solution(weights, weights.intercepts, history, converged, alphas)


def growth(loss: str, factor: float) -> float:
    """Return by what to multiply α where all costs are multiplied by a factor.

    Of the hinges most α are at a bound, and bounds move. Of the logistic loss α is c σ(−m): ten times the α would be
    ten times the margins, which is far too much, so α only makes room where costs shrink.
    """
    return min(factor, 1.0) if loss == "logistic" else factor


def scaled(state: Any, factor: float) -> Any:
    """Return the state to begin from when all costs are multiplied by a factor: α scales with them."""
    return [alpha * np.float32(factor) for alpha in state] if isinstance(state, list) else state


# ---------------------------------------------------------------- where classes begin


def _shared_start(problem: OneVsRest, order: Any, settings: Settings) -> _Start:
    """Solve the problem in which every row is negative."""
    rows, weight = problem.rows, problem.weights32
    W, alpha, mask = aligned_zeros(rows.n_used), aligned_zeros(len(rows)), np.zeros(len(rows), np.uint32)
    costs = np.full((2, WIDTH), problem.costs[1, 0], np.float32)
    if problem.loss == "logistic":
        alpha[:] = kernels.SHARE_NEGATIVE * costs[1] * weight[:, None]
        set_weights(rows.arrays, mask, alpha, W)
    part = (rows.arrays, rows.norms, mask, weight, costs)
    generator = _generator(settings.seed, 0)
    constant = rows.has_constant
    kernels.solve_block(
        part, LOSSES[problem.loss], order, order[:0], W, alpha, _limits(problem.loss, settings.tol, constant=constant),
        settings.tol, settings.max_iter, generator, *np.zeros((3, WIDTH)),
    )  # fmt: skip
    return _Start(W[:, 0].copy(), alpha[:, 0].copy())


def _begin(problem: OneVsRest, members: Members, costs: Floats32, start: _Start | None, alpha_known: Any) -> _Block:
    """Return a block where it begins: at the α known, at the shared start, or at nothing."""
    rows, weight = problem.rows, problem.weights32
    W, alpha, mask = aligned_zeros(rows.n_used), aligned_zeros(len(rows)), np.zeros(len(rows), np.uint32)
    share = kernels.SHARE_POSITIVE if problem.loss == "logistic" else np.float32(0)
    if start is not None:
        W[:], alpha[:] = start.weights[:, None], start.alpha[:, None]
        kernels.put_positives(rows.arrays, members, weight, costs, share, start.alpha, W, alpha, mask)
        return _Block(W, alpha, mask)
    if problem.loss == "logistic":
        alpha[:] = kernels.SHARE_NEGATIVE * costs[1] * weight[:, None]
    kernels.put_positives(rows.arrays, members, weight, costs, share, np.zeros(len(rows), np.float32), W, alpha, mask)
    if alpha_known is not None:
        alpha[:] = alpha_known
    set_weights(rows.arrays, mask, alpha, W)
    return _Block(W, alpha, mask)


def _generator(seed: int, block: int) -> npt.NDArray[np.uint64]:
    """Return the state of a block's own random numbers; never 0, which would stay 0."""
    return np.random.default_rng((seed, block)).integers(1, 2**63, 1, dtype=np.uint64)


# ---------------------------------------------------------------- sixteen classes


def _solve_block(
    problem: OneVsRest, b: int, order: npt.NDArray[np.int32], settings: Settings, start: _Start | None, alpha: Any
) -> _Block:
    rows, weight = problem.rows, problem.weights32
    members, costs = _members_of_block(problem, b)
    block = _begin(problem, members, costs, start, alpha)
    generator = _generator(settings.seed, b + 1)
    first = np.unique(members[1]).astype(np.int32)
    kernels.shuffle(first, generator)
    part = (rows.arrays, rows.norms, block.mask, weight, costs)
    block, certificate, sweeps = _descend(
        part, problem.loss, order, first, block, settings, generator, rows.has_constant
    )
    n_classes = min(WIDTH, problem.n_classes - b * WIDTH)
    return replace(block, history=certificate.told([{"passes": sweeps}] * n_classes))


def _limits(loss: str, tol: float, *, constant: bool, smallest: float = SMALLEST_FLOAT32) -> tuple[float, float]:
    """Return the violation of optimality to begin with, and the smallest that makes sense."""
    eps = min(VIOLATION_PER_GAP[loss] * tol, LARGEST_VIOLATION[loss]) * (WITH_CONSTANT[loss] if constant else 1.0)
    if smallest < SMALLEST_FLOAT32:  # float32 has been as far as it can go
        eps = min(eps, SMALLEST_FLOAT32)
    return max(eps, smallest), smallest


def _descend(
    part: Any, loss: str, order: Any, first: Any, block: _Block, settings: Settings, generator: Any, constant: bool
) -> tuple[_Block, Certificate, int]:
    """Run the kernel; return the block solved, its certificate, and how many sweeps went over all rows.

    In float32 until its gradients are noise; what is left to do then is done in float64.
    """
    W, alpha = block.weights, block.alpha
    primal, gap, scales = np.zeros(WIDTH), np.zeros(WIDTH), np.ones(WIDTH)
    code, tol, left = LOSSES[loss], settings.tol, settings.max_iter
    limits = _limits(loss, tol, constant=constant)
    sweeps = kernels.solve_block(part, code, order, first, W, alpha, limits, tol, left, generator, primal, gap, scales)
    certificate = Certificate(primal, gap + drift(part, W, alpha, tol * primal))
    if certificate.holds(tol) or sweeps >= left:
        W *= scales.astype(np.float32)
        return replace(block, scales=scales), certificate, int(sweeps)
    rows, norms, mask, weight, costs = part
    exact = (rows, norms.astype(np.float64), mask, weight, costs.astype(np.float64))
    wide, alpha = W.astype(np.float64), alpha.astype(np.float64)
    kernels.weights_of(rows, mask, alpha, wide)
    wanted = FLOAT64_SHARE * tol
    limits = _limits(loss, wanted, constant=constant, smallest=SMALLEST_FLOAT64[loss])
    sweeps += kernels.solve_block(
        exact, code, order, order[:0], wide, alpha, limits, wanted, left - sweeps, generator, primal, gap, scales
    )
    lengths, certificate = round_weights(exact, code, wide * scales, primal - gap, tol, W)
    return replace(block, alpha=alpha, scales=scales * lengths), certificate, int(sweeps)


def _members_of_block(problem: OneVsRest, b: int) -> tuple[Members, Floats32]:
    """Return the rows of sixteen classes and their costs; lanes beyond the last class repeat it."""
    classes = np.minimum(np.arange(b * WIDTH, (b + 1) * WIDTH), problem.n_classes - 1)
    parts = [problem.members_of(k) for k in classes]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return (starts, np.concatenate(parts).astype(np.int64)), np.ascontiguousarray(problem.costs[:, classes], np.float32)


# ---------------------------------------------------------------- what is kept of them


def _kept(block: _Block, problem: OneVsRest, form: str, prune: float) -> Any:
    """Return a block's weights in the form they are kept in, so that the dense ones can go."""
    if form == "dense":
        return block.weights
    n_classes = len(block.history)
    dense = DenseWeights.from_blocks([block.weights], n_classes, problem.rows)
    if form == "sparse":
        return SparseWeights.from_weights(dense, prune).matrix(), dense.intercepts
    signs = np.where(block.mask[:, None] >> np.arange(n_classes, dtype=np.uint32) & 1, 1, -1)
    shares = block.alpha[:, :n_classes] * block.scales[:n_classes] * signs
    return sparse.csr_array(shares.astype(block.alpha.dtype).T), dense.intercepts


def _assembled(parts: list[Any], problem: OneVsRest, form: str) -> Weights:
    if form == "dense" or not parts:
        return DenseWeights.from_blocks(parts, problem.n_classes, problem.rows)
    matrix = sparse.vstack([part for part, _ in parts], format="csr")
    intercepts = np.concatenate([intercepts for _, intercepts in parts])
    if form == "sparse":
        return SparseWeights.from_matrix(matrix, intercepts)
    return _dual(matrix, intercepts, problem)


def _directly(
    problem: OneVsRest,
    settings: Settings,
    executor: Executor | None,
    form: str,
    prune: float,
    state: Any,
    keep_state: bool,
) -> Solution:
    # In the dual form weights are w(α), which w approaches only as the gap closes; that takes a few steps more.
    wanted = replace(settings, tol=settings.tol * 1e-7) if form == "dual" else settings
    found = solve_directly(problem, wanted, executor=executor, start=state, keep_alpha=form == "dual")
    W = np.array([one.weights for one in found]).reshape(problem.n_classes, problem.rows.n_used)
    history = [{"objective": one.primal, "gap": one.gap, "passes": one.steps} for one in found]
    blocks: list[Floats32] = []
    lengths = np.ones(len(found))
    for b, part in enumerate(_parts(problem)):
        wide, classes = np.zeros((problem.rows.n_used, WIDTH)), slice(b * WIDTH, (b + 1) * WIDTH)
        wide[:] = W[np.minimum(np.arange(b * WIDTH, (b + 1) * WIDTH), len(W) - 1)].T  # the last class fills the lanes
        blocks.append(aligned_zeros(problem.rows.n_used))
        longer, certificate = round_weights(
            part, LOSSES[problem.loss], wide, _duals(history[classes]), settings.tol, blocks[-1]
        )
        lengths[classes] = longer[: len(W[classes])]
        history[classes] = certificate.told(history[classes])
    dense = DenseWeights.from_blocks(blocks, problem.n_classes, problem.rows)
    weights: Weights = dense
    if form == "sparse":
        weights = SparseWeights.from_weights(dense, prune)
    elif form == "dual" and found:
        shares = np.array([one.alpha for one in found]) * lengths[:, None]
        for k in range(problem.n_classes):
            rest = np.ones(len(problem.rows), bool)
            rest[problem.members_of(k)] = False
            shares[k, rest] *= -1
        made = _dual(sparse.csr_array(shares), dense.intercepts, problem)
        weights, history = made, _certified_again(made, problem, history)
    converged = all(entry["gap"] <= settings.tol for entry in history)
    return Solution(weights, weights.intercepts, history, converged, W if keep_state else None)


def _parts(problem: OneVsRest) -> Iterator[Any]:
    """Yield every block's problem as kernels take it."""
    for b in range(-(-problem.n_classes // WIDTH)):
        members, costs = _members_of_block(problem, b)
        block = _begin(problem, members, costs, None, None)
        yield problem.rows.arrays, problem.rows.norms, block.mask, problem.weights32, costs


def _duals(history: History) -> Floats64:
    """Return the duals that entries of a block tell of, in sixteen lanes that the last one fills."""
    duals = [entry["objective"] * (1 - entry["gap"]) for entry in history]
    return np.array(duals + duals[-1:] * (WIDTH - len(duals)))


def _certified_again(weights: DualWeights, problem: OneVsRest, history: History) -> History:
    """Return the history with objectives and gaps of weights that are made again from shares, as these come out."""
    rows, again = problem.rows, []
    known = np.isin(rows.feature_of, weights.feature_of)
    place = np.searchsorted(weights.feature_of, rows.feature_of[known])
    for b, (made, part) in enumerate(zip(weights.blocks(), _parts(problem), strict=True)):
        told, W = history[b * WIDTH : (b + 1) * WIDTH], aligned_zeros(rows.n_used)
        W[known] = made[place]
        if rows.has_constant:
            W[-1, : len(told)] = weights.intercepts[b * WIDTH : (b + 1) * WIDTH]
        again += measure(part, LOSSES[problem.loss], W, _duals(told)).told(told)
    return again


def _dual(shares: sparse.csr_array, intercepts: Any, problem: OneVsRest) -> DualWeights:
    """Keep only the rows that have a share in some class."""
    supports = np.unique(shares.indices[shares.data != 0])
    return DualWeights(shares[:, supports], problem.rows.matrix(supports), intercepts)
