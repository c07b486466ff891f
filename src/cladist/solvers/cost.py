"""The costs of coordinate descent and of Newton steps, and when the former gives way to the latter.

Newton steps (Newton's method for smooth losses, an interior point method for the hinge) take steps · n d² operations a
class, whatever the lengths of rows and the scales of features. Coordinate descent takes fewer by orders of magnitude
where rows are sparse, or short for the C given, and more by orders of magnitude where they are long, or where features
have different scales; nothing that is cheap to compute tells how many. So descent begins, and Newton steps replace it
once what remains to be done, judged by the rate at which the duality gap falls, costs more than all of them.

Costs are numbers of operations, weighted by constants that were measured once, in nanoseconds of one core. They do not
depend on the clock, so that a model is the same on a busy machine.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cladist.errors import TooLargeError
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import GAVE_UP
from cladist.linear_model.problem_tree import ProblemTree
from cladist.linear_model.training_rows import Floats32
from cladist.solvers.problem import OneVsRest, Settings
from cladist.surrogates import Surrogate

UNLIMITED = 2**62  # visits
MOST_DENSE_ENTRIES = 20_000_000  # of the rows: 160 MB, up to three times
MOST_FEATURES = 4_000  # of a d × d system
MOST_ALPHAS = 5_000_000  # rows × leaves of a tree; some ten arrays of that many float64
MOST_SYSTEM_ENTRIES = 2**27  # of all nodes of a tree, features × features each in float64; there are two of each

ENTRY_OF_VISIT, FULL_ENTRY = 1.1, 0.5  # a nonzero of a row, for sixteen classes; of rows that are visited by fours
VISIT, LOGISTIC_VISIT = 35.0, 110.0  # the rest of a visit to a row
JOINT_ENTRY, JOINT_VISIT, JOINT_LOGISTIC_VISIT = 2.6, 450.0, 650.0  # in a tree, where leaves of a block move in turn
JOINT_FULL_ENTRY = 1.2  # there, of a dense column
PRODUCT, ROW_OF_STEP, STEP = 0.042, 50.0, 30_000.0  # of a Newton step: for n d², for n, and once
TREE_PRODUCT, TREE_ROW_OF_STEP, TREE_STEP = 0.08, 180.0, 100_000.0  # of one for a leaf of a tree
JUDGED_FROM = 0.1  # of the cost of Newton steps, or more: from here on the rate of descent is judged
PATIENCE = 2.5  # times the usual cost before the rate is judged
FINISHED = 4.0  # times the cost of a descent that ended at `max_iter`: Newton steps that cost less finish it
DEAR = 0.3  # times the cost of Newton steps: a check of the rate that costs more is not waited for
CLEAR = 0.1  # times the cost of Newton steps: descent that is expected to cost less needs no trial
MOST_STIFF = 500.0  # C ‖x‖²; beyond, most rows are on the right side of the margin, and their number hardly matters
UNSCALED = 5e4  # C ‖x‖² of rows with features that are far larger than others, most likely
OTHER_SCALES, SCALE_ROWS = 100.0, 1000  # ratio of the largest mean square of a feature to the median, on some rows
SCORE_PRODUCT, SCORE, PRODUCT_STEP = 0.06, 16.0, 1e6  # of a step by products: for n d and n of each leaf, and once
MEAN_HESSIAN, EIGENVECTORS, LEAF_SYSTEM = 0.05, 1.0, 2.0  # before these steps: for n d² and d³; and for leaves³ of each
PRODUCT_STEPS, CERTIFICATE = 4.5, 3.0  # steps for short rows and tol = 0.01; the cost of certifying, in steps
PRODUCT_PATIENCE = 3  # times the expected steps by products before they are given up
HOPELESS = 15.0  # times the cost of Newton steps: descent on a tree that is expected to cost more is not tried
DOUBTFUL = 0.3  # the same for one-vs-rest where features have other scales, on which descent was never quicker


class SlowDescentError(Exception):
    """Coordinate descent was given up: what remains to be done would cost more than Newton steps.

    `weights` (features × 16) are those it ended at, if it began.
    """

    def __init__(self, weights: Floats32 | None = None) -> None:
        super().__init__()
        self.weights = weights


def count_effort(most_visits: int = UNLIMITED, n_blocks: int = 1) -> npt.NDArray[np.int64]:
    """Return what kernels count: visits to rows, 0 so far; the visits that Newton steps cost; whether to give up.

    The last entry is the number of visits after which the rate of descent is judged. The more blocks profit from a
    right judgement, the longer the first one may take.
    """
    patience = min(1.0, JUDGED_FROM * max(1, n_blocks // 2))
    return np.array([0, most_visits, 0, int(patience * most_visits)], np.int64)


def check_effort(effort: npt.NDArray[np.int64], weights: Floats32) -> None:
    """Raise a `SlowDescentError` if a kernel has given up."""
    if effort[GAVE_UP]:
        raise SlowDescentError(weights)


def newton_visits(problem: OneVsRest, settings: Settings) -> int:
    """Return how many visits to rows cost as much as the Newton steps of sixteen classes; unlimited without these.

    Raises a `SlowDescentError` if descent is not worth a trial.
    """
    if settings.solver == "coordinate" or not fits_newton(problem):
        return UNLIMITED
    visits = min(problem.n_classes, WIDTH) * _class_cost(problem) / _visit_cost(problem)
    if _is_unscaled(problem) and DOUBTFUL * visits < _expected_visits(problem) * len(problem.rows):
        raise SlowDescentError
    return int(visits)


def needs_trial(problem: OneVsRest, most_visits: int) -> bool:
    """Tell whether Newton steps, which cost as much as some visits, may cost less than descent."""
    return most_visits < UNLIMITED and CLEAR * most_visits < _expected_visits(problem) * len(problem.rows)


def fits_newton(problem: OneVsRest, tree: ProblemTree | None = None) -> bool:
    """Tell whether the matrices of Newton steps fit into memory."""
    rows = problem.rows
    if not len(rows) or not problem.n_classes:
        return False
    fits = rows.n_used <= MOST_FEATURES and len(rows) * rows.n_used <= MOST_DENSE_ENTRIES
    if tree is None or not fits:
        return fits
    n_entries = (problem.n_classes + len(tree.inner)) * rows.n_used**2
    return len(rows) * problem.n_classes <= MOST_ALPHAS and n_entries <= MOST_SYSTEM_ENTRIES


def check_fits_newton(problem: OneVsRest, tree: ProblemTree | None = None) -> None:
    """Refuse ``solver="newton"`` where its matrices would not fit into memory."""
    if not fits_newton(problem, tree):
        sizes = f"{len(problem.rows):,} rows, {problem.rows.n_used:,} features and {problem.n_classes:,} classes"
        raise TooLargeError(f"solver='newton' makes dense matrices, too large for {sizes}; use solver='auto'.")


def product_steps(problem: OneVsRest, tree: ProblemTree, settings: Settings) -> int:
    """Return how many steps by products of matrices to try on a tree: 0 if they are not expected to cost least."""
    n, d, n_leaves = len(problem.rows), problem.rows.n_used, problem.n_classes
    fits = d <= MOST_FEATURES and n * d <= MOST_DENSE_ENTRIES and n * n_leaves <= MOST_ALPHAS
    if settings.solver != "auto" or not fits or not _has_logarithms(problem.surrogate):
        return 0
    steps = PRODUCT_STEPS * (1 + _stiffness(problem)) ** 0.3 * max(1.0, -math.log10(settings.tol) / 2)
    step = n_leaves * n * (SCORE_PRODUCT * d + SCORE) + LEAF_SYSTEM * n_leaves**3 + PRODUCT_STEP
    cost = MEAN_HESSIAN * n * d**2 + EIGENVECTORS * (d**3 + n_leaves**3) + (steps + CERTIFICATE) * step
    descent = _expected_joint_visits(problem) * n * math.ceil(n_leaves / WIDTH) * _joint_visit_cost(problem)
    newton = _tree_cost(problem) if fits_newton(problem, tree) else np.inf
    return min(settings.max_iter, int(PRODUCT_PATIENCE * steps)) if cost < min(descent, newton) else 0


class DescentLimit:
    """When joint descent on a tree gives way to Newton steps, if these are possible."""

    def __init__(self, problem: OneVsRest, tree: ProblemTree, settings: Settings, *, can_be_dense: bool) -> None:
        self.newton, self.tol = np.inf, settings.tol
        if can_be_dense and settings.solver != "coordinate" and fits_newton(problem, tree):
            self.newton = _tree_cost(problem)
        self.joint_visit, self.leaf_visit = _joint_visit_cost(problem), _visit_cost(problem)
        self.rests = _has_logarithms(problem.surrogate)  # whether the gap may rest for a while
        self.costs: list[float] = []  # after each sweep
        self.before: tuple[float, float] | None = None  # cost and gap at the last check
        expected = _expected_joint_visits(problem) * len(problem.rows) * math.ceil(problem.n_classes / WIDTH)
        if settings.solver == "newton":
            check_fits_newton(problem, tree)
            raise SlowDescentError
        self.expected = expected * self.joint_visit
        if HOPELESS * self.newton < self.expected:
            raise SlowDescentError

    def check(self, joint_visits: int, leaf_visits: int, gap: float, sweeps_to_check: int) -> None:
        """Raise a `SlowDescentError` if what remains to be done costs more than Newton steps.

        `gap` is the relative one of the last check, ∞ before the first, which is some sweeps ahead.
        """
        cost = joint_visits * self.joint_visit + leaf_visits * self.leaf_visit
        self.costs.append(cost)
        if gap == np.inf:
            to_check = sweeps_to_check * np.diff(self.costs)[-1:]  # if each costs as much as the last
            most = DEAR * self.newton if self.expected > self.newton else self.newton
            if cost > most or np.any(to_check > most):
                raise SlowDescentError
        elif self.before is None or gap != self.before[1]:
            judged_from = JUDGED_FROM * self.newton * (PATIENCE if self.rests else 1)
            if cost > judged_from and self.before is not None and self._is_slow(cost, gap, *self.before):
                raise SlowDescentError
            if self.before is None or not self.rests:  # otherwise the rate is that since the first check
                self.before = cost, gap
        if cost > 2 * self.newton:
            raise SlowDescentError

    def can_finish(self) -> bool:
        """Tell whether Newton steps may finish a descent that has ended; many sweeps must have been allowed it."""
        return self.newton <= FINISHED * sum(self.costs[-1:])

    def _is_slow(self, cost: float, gap: float, cost_before: float, gap_before: float) -> bool:
        return math.log(gap / self.tol) * (cost - cost_before) > math.log(gap_before / gap) * self.newton


# ---------------------------------------------------------------- operations


def _visit_cost(problem: OneVsRest) -> float:
    """Return the cost of a visit to a row of usual length, for sixteen classes."""
    entries = FULL_ENTRY * _dense_length(problem) + ENTRY_OF_VISIT * _sparse_length(problem)
    return entries + (LOGISTIC_VISIT if _has_logarithms(problem.surrogate) else VISIT)


def _joint_visit_cost(problem: OneVsRest) -> float:
    entries = JOINT_FULL_ENTRY * _dense_length(problem) + JOINT_ENTRY * _sparse_length(problem)
    if _has_logarithms(problem.surrogate):
        return entries + JOINT_LOGISTIC_VISIT
    return entries + JOINT_VISIT * min(1.0, problem.n_classes / WIDTH)


def _expected_visits(problem: OneVsRest) -> float:
    """Return how many visits to each row descent may take, to the order of magnitude."""
    power = 0.7 if _has_logarithms(problem.surrogate) else 1.0
    return 5 * (1 + _usual_stiffness(problem)) ** power * min(1.0, _rows_per_feature(problem) / 40)


def _expected_joint_visits(problem: OneVsRest) -> float:
    factor, power = (2, 0.4) if _has_logarithms(problem.surrogate) else (12, 0.5)
    return factor * (1 + _usual_stiffness(problem)) ** power * _rows_per_feature(problem) ** 0.4


def _stiffness(problem: OneVsRest) -> float:
    """Return C ‖x‖² of a usual row."""
    weights = 1.0 if problem.row_weights is None else float(np.mean(problem.row_weights))
    return float(np.mean(problem.costs)) * weights * float(np.mean(problem.rows.norms))


def _usual_stiffness(problem: OneVsRest) -> float:
    stiffness = _stiffness(problem)
    return stiffness if _is_unscaled(problem) else min(stiffness, MOST_STIFF)


def _is_unscaled(problem: OneVsRest) -> bool:
    """Tell whether some features are far larger than others, which makes descent take long."""
    if _stiffness(problem) > UNSCALED:
        return True
    rows = problem.rows
    if rows.columns is not None:
        values = rows.columns.take(slice(SCALE_ROWS))
    elif len(rows.data) and len(rows.data) == len(rows) * rows.n_used:
        values = rows.data.reshape(len(rows), rows.n_used)[:SCALE_ROWS, : rows.n_used - rows.has_constant]
    else:
        return False
    if not values.size:
        return False
    squares = np.mean(np.square(values, dtype=np.float64), axis=0)
    return bool(np.any(squares > OTHER_SCALES * np.median(squares)))


def _rows_per_feature(problem: OneVsRest) -> float:
    return len(problem.rows) / max(1, problem.rows.n_used)


def _dense_length(problem: OneVsRest) -> float:
    return 0.0 if problem.rows.columns is None else float(problem.rows.columns.n_columns)


def _sparse_length(problem: OneVsRest) -> float:
    return len(problem.rows.data) / max(1, len(problem.rows))


def _class_cost(problem: OneVsRest) -> float:
    """Return the cost of all Newton steps for one class."""
    n, d = len(problem.rows), problem.rows.n_used
    return _newton_steps(problem) * (PRODUCT * (n + d) * d**2 + ROW_OF_STEP * n + STEP)


def _tree_cost(problem: OneVsRest) -> float:
    """Return the cost of all Newton steps for the leaves of a tree."""
    n, d = len(problem.rows), problem.rows.n_used
    step = TREE_PRODUCT * (n + d) * d**2 + TREE_ROW_OF_STEP * n + TREE_STEP
    return problem.n_classes * _newton_steps(problem) * step


def _newton_steps(problem: OneVsRest) -> float:
    """Return the number of Newton steps that is usual for a loss."""
    steps = float(problem.surrogate.newton_steps)
    if _has_logarithms(problem.surrogate):  # the steeper the losses, the more steps
        steps *= 1 + 0.35 * math.log10(1 + _stiffness(problem))
    return steps


def _has_logarithms(surrogate: Surrogate) -> bool:
    return surrogate.smooth and not surrogate.sparse_dual
