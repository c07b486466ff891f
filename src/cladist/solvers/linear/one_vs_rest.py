"""One-vs-rest linear classifiers, sixteen at a time.

Problem   min_w ½‖w‖² + Σ_i c_ik ℓ(y_ik w·x_i) for every class k, y_ik = ±1, ℓ a surrogate loss; an intercept is the
          weight of a constant feature, as in LIBLINEAR
Stops     for each block of sixteen classes, when (primal − dual) / primal ≤ tol for each of them: the gap certifies
          the float32 weights that are returned
Found by  dual coordinate descent, `cladist.kernels.one_vs_rest`. Where there are many classes, all begin at the
          solution of the problem in which every row is negative, which is near each of theirs. Where it turns out to
          cost more than Newton steps, `cladist.solvers.linear.dense_solvers` takes over
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import checkpoints, progress
from cladist.errors import one_of
from cladist.execution import Executor, Serial
from cladist.kernels import one_vs_rest as kernels
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.training_rows import Floats32, Floats64, Ids, aligned_zeros
from cladist.linear_model.weights import DenseWeights, DualWeights, Weights
from cladist.solvers.cost import (
    FINISHED,
    SlowDescentError,
    check_effort,
    check_fits_newton,
    count_effort,
    needs_trial,
    newton_visits,
)
from cladist.solvers.linear.dense_solvers import BinarySolution, solve_directly
from cladist.solvers.problem import History, OneVsRest, Settings, Solution, initial_alpha, random_generator
from cladist.surrogates import SURROGATES, Surrogate

FORMS = ("dense", "sparse", "dual")
SMALLEST_FLOAT32 = 1e-4  # violation of optimality that float32 can distinguish from rounding
FLOAT64_SHARE = 0.1  # of tol: float64 solves to this, so that rounding its weights to float32 may cost the rest
BLOCKS_THAT_SHARE = 6  # as many blocks make a shared start worth its cost, which is about that of a block
STEPS_TO_DRIFT = 1e4  # float32 sums after which W differs from w(α) by 100 roundings of the largest term
ROUNDINGS = np.arange(1, 33) / 4  # numbers of float32 roundings by which weights are lengthened in trial
EPSILON = float(np.finfo(np.float32).eps)

SharedStart = tuple[Floats32, Floats32]  # where all classes begin: weights and α with every row negative


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
    """Fit one linear classifier per class against all others.

    Parameters
    ----------
    problem : OneVsRest
    settings : Settings, optional
    executor : Executor, optional
        Runs the blocks; the result does not depend on it.
    form : {"dense", "sparse", "dual"}
        The form of the weights returned.
    prune : float
        The sparse form keeps only weights larger than this. The history is measured before pruning.
    state : object, optional
        A `Solution.state` of the same rows and classes to begin from; its α must be feasible, see `scaled`.
    keep_state : bool
        Whether to return the state: rows · classes · 4 bytes.

    Returns
    -------
    Solution
        `history` has one entry per class: `objective`, `gap` (relative) and `passes`.

    Notes
    -----
    Cost O(classes / 16 · sweeps · nonzeros); memory 64 bytes per feature and row for each worker, and the weights.

    Examples
    --------
    >>> from cladist.solvers import TrainingRows, members_by_class
    >>> rows = TrainingRows.from_matrix(np.eye(3), constant=True)
    >>> problem = OneVsRest(rows, members_by_class(np.arange(3), 3), "squared_hinge", np.ones((2, 3)))
    >>> solve_one_vs_rest(problem).weights.best(np.eye(3)).tolist()
    [0, 1, 2]
    """
    settings = settings or Settings()
    one_of("solve_one_vs_rest", "form", form, FORMS)
    try:
        if settings.solver == "newton" or isinstance(state, np.ndarray):  # a state of weights is that of Newton steps
            raise SlowDescentError
        problem, parts, state, history = _solve_blocks(problem, settings, executor, form, prune, state, keep_state)
    except SlowDescentError as slow:
        check_fits_newton(problem)
        start = state if isinstance(state, np.ndarray) else _weights_of_block(slow, problem)
        parts, state, history = _solve_directly(problem, settings, executor, form, prune, start)
    weights = _assemble(parts, problem, form)
    if isinstance(weights, DualWeights):
        history = _certify_dual(weights, problem, history)
    converged = all(entry["gap"] <= settings.tol for entry in history)
    return Solution(weights, weights.intercepts, history, converged, state if keep_state else None)


def growth(loss: str, factor: float) -> float:
    """Return the factor of α at a warm start where all costs are multiplied by a factor."""
    return SURROGATES[loss].growth(factor)


def scaled(state: Any, factor: float) -> Any:
    """Return the state to begin from when all costs are multiplied by a factor: α scales with them."""
    return [alpha * np.float32(factor) for alpha in state] if isinstance(state, list) else state


def _solve_blocks(
    problem: OneVsRest, settings: Settings, executor: Any, form: str, prune: float, state: Any, keep_state: bool
) -> tuple[OneVsRest, Any, Any, History]:
    """Solve all blocks; return the problem with its rows reordered, the blocks' weights, the state and the history.

    Raises a `SlowDescentError` if Newton steps cost less for the first block. A later one for which they do is solved
    by them alone, and so are all if the first took as long.
    """
    n_blocks = -(-problem.n_classes // WIDTH)
    # Rows in a random order in memory: visited one after the other they are read fast, and converge as random ones do.
    shuffled = np.random.default_rng(settings.seed).permutation(len(problem.rows))
    problem = problem.reorder(shuffled)
    order = np.arange(len(shuffled), dtype=np.int32)
    equal_costs = problem.n_classes > 0 and bool(np.all(problem.costs[1] == problem.costs[1, 0]))
    shares_start = equal_costs and n_blocks >= BLOCKS_THAT_SHARE and state is None
    limit = newton_visits(problem, settings)
    start = _shared_start(problem, order, settings, limit) if shares_start else None

    def solve(b: int, descends: bool = True) -> tuple[Any, Any, History, bool]:
        begin = None if state is None else state[b][shuffled]
        try:
            if not descends:
                raise SlowDescentError
            block = _solve_block(problem, b, order, settings, start, begin, limit)
            block = _finish_directly(problem, b, settings, form, block, limit)
        except SlowDescentError as slow:
            if b == 0:
                raise
            block = _solve_block_directly(problem, b, settings, form, _weights_of_block(slow, problem, b))
        alpha = block.alpha.astype(np.float32, copy=False) if keep_state else None
        return _block_weights(block, problem, form, prune), alpha, block.history, block.visits > limit

    tried = min(needs_trial(problem, limit), n_blocks)  # alone, since what the first shows holds for the others
    first = list(checkpoints.scope("first").map(Serial(), solve, range(tried)))
    solve_other = partial(solve, descends=not any(was_long for *_, was_long in first))
    others = checkpoints.scope("blocks").map(executor or Serial(), solve_other, range(tried, n_blocks))
    blocks: list[tuple[Any, Any, History]] = []
    # Weights of rows on disk go there, too, block by block.
    stored = problem.rows.new_blocks(n_blocks) if form == "dense" and problem.rows.on_disk else None
    with progress.task("one-vs-rest", problem.n_classes, unit="classes") as running:
        for b, (part, alpha, entries, _) in enumerate(chain(first, others)):
            if stored is not None:
                stored[b] = part
            blocks.append((part if stored is None else None, alpha, entries))
            running.advance(len(entries))
    place = np.argsort(shuffled)
    alphas = [alpha[place] for _, alpha, _ in blocks] if keep_state else None
    parts = [part for part, _, _ in blocks] if stored is None else stored
    return problem, parts, alphas, [entry for _, _, entries in blocks for entry in entries]


# ---------------------------------------------------------------- sixteen classes


@dataclass(frozen=True)
class _SolvedBlock:
    """Sixteen problems: `weights` are scales_k · w(α)_k in float32; α is float64 where float32 does not suffice."""

    weights: Floats32
    alpha: Floats32 | Floats64
    mask: npt.NDArray[np.uint32]
    scales: Floats64
    history: History = field(default_factory=list)
    visits: int = 0  # to rows


def _classes_of(problem: OneVsRest, b: int) -> Ids:
    """Return the classes in the lanes of a block; lanes beyond the last class repeat it."""
    return np.minimum(np.arange(b * WIDTH, (b + 1) * WIDTH), problem.n_classes - 1)


def _lane_problems(problem: OneVsRest) -> Iterator[LaneProblem]:
    """Yield the problem of every block of sixteen classes."""
    for b in range(-(-problem.n_classes // WIDTH)):
        yield problem.lanes(_classes_of(problem, b))


def _shared_start(problem: OneVsRest, order: Any, settings: Settings, most_visits: int) -> SharedStart:
    """Solve the problem in which every row is negative."""
    rows, surrogate, n_blocks = problem.rows, problem.surrogate, -(-problem.n_classes // WIDTH)
    costs = np.full((2, WIDTH), problem.costs[1, 0], np.float32)
    lanes = LaneProblem(rows.arrays, rows.norms, np.zeros(len(rows), np.uint32), problem.weights32, costs)
    W, alpha = aligned_zeros(rows.n_used), initial_alpha(lanes, surrogate)
    _set_weights(lanes, alpha, W)
    limits, effort = _violation_limits(problem, settings.tol), count_effort(most_visits, n_blocks)
    kernels.solve_block(
        lanes, surrogate, order, order[:0], W, alpha, limits, settings.tol, settings.max_iter,
        random_generator(settings.seed, 0), effort, *np.zeros((3, WIDTH)),
    )  # fmt: skip
    check_effort(effort, W)
    return W[:, 0].copy(), alpha[:, 0].copy()


def _initial_block(problem: OneVsRest, b: int, lanes: LaneProblem, start: SharedStart | None, state: Any) -> Any:
    """Return the W and α that a block begins at: those of the shared start, or the α of a state, or the initial α."""
    W = aligned_zeros(problem.rows.n_used)
    if start is None:
        alpha = initial_alpha(lanes, problem.surrogate)
        if state is not None:
            alpha[:] = state
        _set_weights(lanes, alpha, W)
        return W, alpha
    alpha, (shared_weights, shared_alpha) = aligned_zeros(len(problem.rows)), start
    W[:], alpha[:] = shared_weights[:, None], shared_alpha[:, None]
    parts = [problem.members_of(c) for c in _classes_of(problem, b)]
    positives = np.append(0, np.cumsum([len(part) for part in parts])), np.concatenate(parts)
    share = np.float32(problem.surrogate.positive_share)
    kernels.put_positives(lanes.rows, positives, lanes.weight, lanes.costs, share, shared_alpha, W, alpha, lanes.mask)
    return W, alpha


def _violation_limits(problem: OneVsRest, tol: float, smallest: float = SMALLEST_FLOAT32) -> tuple[float, float]:
    """Return the violation of optimality to begin with, and the smallest that makes sense.

    The former leaves about the gap `tol`; where it leaves more, the kernel tightens it.
    """
    surrogate = problem.surrogate
    eps = min(surrogate.violation_per_gap * tol, surrogate.largest_violation)
    if problem.rows.has_constant:
        eps *= surrogate.constant_factor
    if smallest < SMALLEST_FLOAT32:  # float32 has gone as far as it can
        eps = min(eps, SMALLEST_FLOAT32)
    return max(eps, smallest), smallest


def _solve_block(
    problem: OneVsRest,
    b: int,
    order: npt.NDArray[np.int32],
    settings: Settings,
    start: SharedStart | None,
    state: Any,
    most_visits: int,
) -> _SolvedBlock:
    """Solve sixteen classes: in float32 until its gradients are noise, and from there in float64."""
    surrogate, lanes = problem.surrogate, problem.lanes(_classes_of(problem, b))
    W, alpha = _initial_block(problem, b, lanes, start, state)
    generator = random_generator(settings.seed, b + 1)
    first = np.flatnonzero(lanes.mask).astype(np.int32)
    kernels.shuffle(first, generator, len(order))
    primal, gap, scales = np.zeros(WIDTH), np.zeros(WIDTH), np.ones(WIDTH)
    tol, most = settings.tol, settings.max_iter
    effort = count_effort(most_visits, -(-problem.n_classes // WIDTH))
    sweeps = kernels.solve_block(
        lanes, surrogate, order, first, W, alpha, _violation_limits(problem, tol), tol, most, generator,
        effort, primal, gap, scales,
    )  # fmt: skip
    check_effort(effort, W)
    certificate = Certificate(primal, gap + _weight_drift(lanes, W, alpha, tol * primal))
    if certificate.holds(tol) or sweeps >= most:
        W *= scales.astype(np.float32)
    else:
        exact, wide, alpha = widen(lanes), W.astype(np.float64), alpha.astype(np.float64)
        kernels.weights_of(lanes.rows, lanes.mask, alpha, wide)
        exact_tol = FLOAT64_SHARE * tol
        limits = _violation_limits(problem, exact_tol, surrogate.smallest_violation)
        sweeps += kernels.solve_block(
            exact, surrogate, order, order[:0], wide, alpha, limits, exact_tol, most - sweeps, generator,
            effort, primal, gap, scales,
        )  # fmt: skip
        check_effort(effort, W)
        lengths, certificate = _round_weights(exact, surrogate, wide * scales, primal - gap, tol, W)
        scales = scales * lengths
    entries: History = [{"passes": int(sweeps)}] * min(WIDTH, problem.n_classes - b * WIDTH)
    return _SolvedBlock(W, alpha, lanes.mask, scales, certificate.update_history(entries), int(effort[0]))


# ---------------------------------------------------------------- certificates of weights rounded to float32


@dataclass(frozen=True)
class Certificate:
    """Primals of the sixteen problems at the float32 weights returned, and their distances from a lower bound."""

    primal: Floats64
    gap: Floats64

    @classmethod
    def of(cls, lanes: LaneProblem, surrogate: Surrogate, W: Floats32, dual: Floats64) -> Certificate:
        """Return the certificate of float32 weights, given a lower bound of each problem."""
        primal = np.zeros(WIDTH)
        kernels.primals(lanes, surrogate, W, primal)
        return cls(primal, np.maximum(primal - dual, 0.0))  # below 0 by rounding only

    def update_history(self, history: History) -> History:
        """Return a block's entries of the history with these objectives and relative gaps; NaN stays NaN."""
        relative = np.divide(self.gap, self.primal, out=np.zeros(WIDTH), where=~(self.primal <= 0))
        pairs = zip(history, self.primal.tolist(), relative.tolist(), strict=False)
        return [{**entry, "objective": primal, "gap": gap} for entry, primal, gap in pairs]

    def holds(self, tol: float) -> bool:
        """Tell whether all relative gaps are small enough."""
        return bool(kernels.largest_gap(self.primal, self.gap) <= tol)


def _weight_drift(lanes: LaneProblem, W: Floats32, alpha: Floats32, allowed: Floats64) -> Floats64:
    """Return ½‖W − w(α)‖² of the sixteen problems, which the kernel's gap leaves out; 0 where it is negligible.

    W is the sum of many steps in float32. Where the terms α x are large, or many, and cancel, it differs from w(α).
    """
    sizes = np.abs(alpha) if float(np.min(alpha, initial=0.0)) < 0 else alpha  # a copy only where one is needed
    largest = float(np.max(sizes, initial=0.0)) * float(np.sqrt(np.max(lanes.norms, initial=0.0)))
    together = float(np.max(np.sum(sizes, axis=0, dtype=np.float64), initial=0.0))  # the sum at a constant feature
    expected = max(STEPS_TO_DRIFT * (EPSILON * largest) ** 2, len(alpha) * (EPSILON * together) ** 2)
    if expected <= 0.01 * float(np.min(allowed)):
        return np.zeros(WIDTH)
    wide = np.zeros(W.shape)
    kernels.weights_of(lanes.rows, lanes.mask, alpha, wide)
    drift: Floats64 = 0.5 * np.sum((W - wide) ** 2, axis=0)
    return drift


def _set_weights(lanes: LaneProblem, alpha: Floats32, W: Floats32) -> None:
    """Set W to w(α), summed in float64 and rounded once: over millions of rows, α y x cancel in a constant feature."""
    wide = np.zeros(W.shape)
    kernels.weights_of(lanes.rows, lanes.mask, alpha, wide)
    W[:] = wide


def _round_weights(
    lanes: LaneProblem, surrogate: Surrogate, wide: Floats64, dual: Floats64, tol: float, W: Floats32
) -> tuple[Floats64, Certificate]:
    """Put float64 weights into W as float32; return the factors they were lengthened by, and their certificate.

    Rounding puts rows that lie on the margin a little below it, at c each under the hinge. Weights a few roundings
    longer leave them above.
    """
    lengths = np.ones(WIDTH)
    W[:] = wide
    certificate = Certificate.of(lanes, surrogate, W, dual)
    for roundings in () if surrogate.smooth else ROUNDINGS:
        if certificate.holds(tol):
            break
        length = 1 + roundings * EPSILON
        longer = aligned_zeros(len(W))
        longer[:] = wide * length
        trial = Certificate.of(lanes, surrogate, longer, dual)
        better = trial.primal < certificate.primal
        lengths[better], W[:, better] = length, longer[:, better]
        primal = np.where(better, trial.primal, certificate.primal)
        certificate = Certificate(primal, np.where(better, trial.gap, certificate.gap))
    return lengths, certificate


def widen(lanes: LaneProblem) -> Any:
    """Return a problem whose norms and costs are float64."""
    return lanes._replace(norms=lanes.norms.astype(np.float64), costs=lanes.costs.astype(np.float64))


# ---------------------------------------------------------------- weights in their form


def _block_weights(block: _SolvedBlock, problem: OneVsRest, form: str, prune: float) -> Any:
    """Return a block's weights in their final form, so that the dense ones can be freed."""
    if form == "dense":
        return block.weights
    n_classes = len(block.history)
    dense = DenseWeights.from_blocks([block.weights], n_classes, problem.rows)
    if form == "sparse":
        return SparseWeights.from_weights(dense, prune).matrix(), dense.intercepts
    signs = np.where(block.mask[:, None] >> np.arange(n_classes, dtype=np.uint32) & 1, 1, -1)
    shares = block.alpha[:, :n_classes] * block.scales[:n_classes] * signs
    return sparse.csr_array(shares.astype(block.alpha.dtype).T), dense.intercepts


def _assemble(parts: Any, problem: OneVsRest, form: str) -> Weights:
    """Return the weights of all blocks together."""
    if form == "dense" or not len(parts):
        return DenseWeights.from_blocks(parts, problem.n_classes, problem.rows)
    matrix = sparse.vstack([part for part, _ in parts], format="csr")
    intercepts = np.concatenate([intercepts for _, intercepts in parts])
    if form == "sparse":
        return SparseWeights.from_matrix(matrix, intercepts)
    return _dual_weights(matrix, intercepts, problem)


def _dual_weights(shares: sparse.csr_array, intercepts: Any, problem: OneVsRest) -> DualWeights:
    """Return weights in the dual form, with only the rows that have a share in some class."""
    supports = np.unique(shares.indices[shares.data != 0])
    return DualWeights(shares[:, supports], problem.rows.matrix(supports), intercepts)


def _certify_dual(weights: DualWeights, problem: OneVsRest, history: History) -> History:
    """Return the history with the objectives and gaps of weights recomputed from shares."""
    rows, certified = problem.rows, []
    known = np.isin(rows.feature_of, weights.feature_of)
    place = np.searchsorted(weights.feature_of, rows.feature_of[known])
    for b, (block, lanes) in enumerate(zip(weights.blocks(), _lane_problems(problem), strict=True)):
        entries, W = history[b * WIDTH : (b + 1) * WIDTH], aligned_zeros(rows.n_used)
        W[known] = block[place]
        if rows.has_constant:
            W[-1, : len(entries)] = weights.intercepts[b * WIDTH : (b + 1) * WIDTH]
        certified += Certificate.of(lanes, problem.surrogate, W, _duals(entries)).update_history(entries)
    return certified


def _duals(history: History) -> Floats64:
    """Return the duals of a block's entries in the history, in sixteen lanes that the last one fills."""
    duals = [entry["objective"] * (1 - entry["gap"]) for entry in history]
    return np.array(duals + duals[-1:] * (WIDTH - len(duals)))


# ---------------------------------------------------------------- Newton steps


def _solve_directly(
    problem: OneVsRest, settings: Settings, executor: Any, form: str, prune: float, start: Any
) -> tuple[list[Any], Floats64, History]:
    """Solve all classes by Newton steps; return blocks of weights in float32, the exact ones, and the history."""
    keep_alpha = form == "dual"
    solutions = solve_directly(problem, _exact(settings, form), executor=executor, start=start, keep_alpha=keep_alpha)
    W = np.array([one.weights for one in solutions]).reshape(problem.n_classes, problem.rows.n_used)
    parts, history = [], []
    for b in range(-(-problem.n_classes // WIDTH)):
        block = _round_block(problem, b, solutions[b * WIDTH : (b + 1) * WIDTH], settings.tol)
        history += block.history
        parts.append(_block_weights(block, problem, form, prune))
    return parts, W, history


def _weights_of_block(slow: SlowDescentError, problem: OneVsRest, b: int = 0) -> npt.NDArray[np.float64]:
    """Return the weights (classes × features in use) to begin from: those of one block, and 0 for other classes."""
    start = np.zeros((problem.n_classes, problem.rows.n_used))
    if slow.weights is not None:
        part = start[b * WIDTH : (b + 1) * WIDTH]
        part[:] = slow.weights.T[: len(part)]
    return start


def _solve_block_directly(problem: OneVsRest, b: int, settings: Settings, form: str, start: Any) -> _SolvedBlock:
    """Solve sixteen classes by Newton steps."""
    classes = range(b * WIDTH, min((b + 1) * WIDTH, problem.n_classes))
    solutions = solve_directly(problem, _exact(settings, form), classes, start=start, keep_alpha=True)
    return _round_block(problem, b, solutions, settings.tol)


def _finish_directly(
    problem: OneVsRest, b: int, settings: Settings, form: str, block: _SolvedBlock, most_visits: int
) -> _SolvedBlock:
    """Return a block; if its descent ended at `max_iter`, after Newton steps where these do not cost much more."""

    def worst(one: _SolvedBlock) -> float:
        return max(entry["gap"] for entry in one.history)

    passes = block.history[0]["passes"]
    ended = passes >= settings.max_iter and not worst(block) <= settings.tol
    if not ended or most_visits > FINISHED * passes * len(problem.rows):
        return block
    start = _weights_of_block(SlowDescentError(block.weights), problem, b)
    return min(block, _solve_block_directly(problem, b, settings, form, start), key=worst)


def _exact(settings: Settings, form: str) -> Settings:
    """Return the settings of Newton steps for a form of weights.

    In the dual form weights are w(α), which w approaches only as the gap closes; that takes a few steps more.
    """
    return replace(settings, tol=settings.tol * 1e-7) if form == "dual" else settings


def _round_block(problem: OneVsRest, b: int, solutions: list[BinarySolution], tol: float) -> _SolvedBlock:
    """Return the solutions of up to sixteen classes with weights in float32, certified."""
    lanes = problem.lanes(_classes_of(problem, b))
    history = [{"objective": one.primal, "gap": one.gap, "passes": one.steps} for one in solutions]
    last = solutions[-1:] * (WIDTH - len(solutions))
    wide = np.ascontiguousarray(np.array([one.weights for one in [*solutions, *last]]).T)
    alpha = np.array([one.alpha for one in [*solutions, *last]]).T
    rounded = aligned_zeros(problem.rows.n_used)
    lengths, certificate = _round_weights(lanes, problem.surrogate, wide, _duals(history), tol, rounded)
    return _SolvedBlock(rounded, alpha, lanes.mask, lengths, certificate.update_history(history))
