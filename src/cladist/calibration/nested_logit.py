"""Calibration of scores of single labels by a nested logit model: a choice among the children of every node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from cladist.calibration.listed_scores import ListedScores
from cladist.calibration.path_curves import PathCurves, fit_path_curves
from cladist.errors import ParameterError
from cladist.kernels import nested_logit as kernels
from cladist.kernels import tree
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Whole = Callable[[], Iterable[tuple[Floats, Ids]]]  # the scores of all classes, some rows at a time, and true nodes

LEVEL_RIDGE = 0.1  # of a level's log scale: it matters only where few rows leave the scale open, such as separable ones
SCALE_RIDGE = 10.0  # of a node's log scale around its level's: about the pull of ten rows
BIAS_RIDGE = 1.0  # of a node's bias
LARGEST_LOG_SCALE = 12.0  # relative to the spread of the scores
TINY_SPREAD = 1e-300
MOST_MOVED = 0.01  # of a row's probability on average, so that the best class is the likeliest: more does not hold
COMPARED_SCORES = 10_000_000  # of rows × classes, on which predictions of two kinds are compared
NO_SCORES = np.zeros((0, 0))
MOST_ITERATIONS, TOLERANCE = 100, 1e-8  # of L-BFGS; the tolerance is relative to the log loss


class ChoiceTree:
    """The nodes that have classes at or below them, and the choices at each; of a DAG, its deepest parents."""

    def __init__(self, taxonomy: Taxonomy, class_nodes: Ids, *, flat: bool = False) -> None:
        self.class_nodes, self.flat = class_nodes, flat
        has_class = np.zeros(taxonomy.n_nodes, bool)
        has_class[class_nodes] = True
        # Flat, all classes are children of the virtual root.
        self.parent = np.full(taxonomy.n_nodes, -1) if flat else np.asarray(taxonomy.deepest_parent)
        above = np.zeros(taxonomy.n_nodes + 1, bool)  # whether classes are below a node; the last is the virtual root
        for v in range(taxonomy.n_nodes - 1, -1, -1):
            if has_class[v] or above[v]:
                above[self.parent[v]] = True
        self.has_choice = above
        self.is_end = has_class & ~above[:-1]
        self.nodes = np.flatnonzero(has_class | above[:-1]).astype(np.int32)
        self.level = np.zeros(taxonomy.n_nodes + 1, np.int64)
        self.level[:-1] = 0 if flat else taxonomy.depth + 1

    @property
    def n_steps(self) -> int:
        """The most choices from the root down to a class, that to stop included."""
        return int(self.level[self.nodes].max(initial=0)) + 1

    def lists_of(self, columns: Ids) -> tuple[Ids, npt.NDArray[np.int32]]:
        """Return the nodes of the classes listed in each row, and all above them; one list if all are listed."""
        n_rows, n_listed = columns.shape
        if n_listed == len(self.class_nodes):
            return np.array([0, len(self.nodes)]), self.nodes
        indptr, indices = np.append(0, np.cumsum(self.parent >= 0)), self.parent[self.parent >= 0]
        listed = self.class_nodes[columns].ravel().astype(np.int32)
        closed: tuple[Ids, npt.NDArray[np.int32]] = tree.close_rows(
            np.arange(0, n_rows * n_listed + 1, n_listed), listed, indptr, indices
        )
        return closed


class NestedLogit(NamedTuple):
    """Probabilities of classes by a choice among the children of every node, from the root down.

    P(u | v) = exp(a_v I_u + b_u) / Σ over the children of v, where I_u is the score of u if it is a class, and
    otherwise the value of all below it: log Σ exp(a_u I + b) / a_u, or with `by_maximum` the highest below it. A class
    above others is a child of its own. With equal scales and no biases this is the softmax of the scaled scores.

    The path of the best choices, from the root down, may have curves: what its nodes' probabilities become, while the
    other options at each of them share the rest as before.

    Attributes
    ----------
    choices : ChoiceTree
    scales : array (nodes + 1,)
        a; the last is the virtual root's.
    biases : array (2 × nodes,)
        b of every node, then of the class at it where it has others below.
    by_maximum : bool
    curves : PathCurves
        One for each step.
    keeps_best : bool
        Whether no class may be more probable than the end of the best path. Where scores are better at telling the
        best class than their sums over subtrees are, predictions are right more often so.
    """

    choices: ChoiceTree
    scales: Floats
    biases: Floats
    by_maximum: bool
    curves: PathCurves = PathCurves()
    keeps_best: bool = False

    def log_probabilities(self, scores: npt.ArrayLike) -> Floats:
        """Return the log-probability of every class (rows × classes)."""
        values = np.ascontiguousarray(scores, dtype=np.float64)
        log_p = np.empty_like(values)
        kernels.log_probabilities(self.model, self.curves, self.keeps_best, values, self.choices.nodes, log_p)
        return log_p

    @property
    def model(self) -> tuple[Any, ...]:
        """The arrays that kernels read."""
        c = self.choices
        return c.parent, c.class_nodes, c.is_end, self.scales, self.biases, self.by_maximum

    def with_curves(self, whole: Whole, *, method: str) -> NestedLogit:
        """Return the same model with curves fitted to how often the best path is right."""
        traced, some, n_kept = [], [], 0
        for scores, targets in whole():
            traced.append(self.trace(scores, targets))
            if n_kept * scores.shape[1] < COMPARED_SCORES:
                some.append((scores, targets, traced[-1][2]))
                n_kept += len(scores)
        log_mass, hits, _ = (np.concatenate(parts) for parts in zip(*traced, strict=True))
        curved = self._replace(curves=fit_path_curves(log_mass, hits, method=method))
        keeping = curved._replace(keeps_best=True)
        gain, moved = 0, 0.0
        for scores, targets, ends in some:
            plain, kept = (np.exp(model.log_probabilities(scores)) for model in (curved, keeping))
            likeliest = self.choices.class_nodes[plain.argmax(axis=1)]
            gain += int(np.sum(ends == targets) - np.sum(likeliest == targets))
            moved += float(np.abs(plain - kept).sum()) / 2
        return keeping if gain > 0 and moved <= MOST_MOVED * n_kept else curved

    def trace(self, scores: Floats, targets: Ids) -> tuple[Floats, npt.NDArray[np.bool_], Ids]:
        """Return the log-probability of every step of the best path, whether it is right, and where the path ends."""
        rows = ListedScores.whole(scores)
        shape = len(targets), self.choices.n_steps
        log_mass, hits, ends = np.empty(shape), np.zeros(shape, bool), np.empty(len(targets), np.int64)
        kernels.trace_paths(self.model, rows, targets, *self.choices.lists_of(rows.columns), log_mass, hits, ends)
        return log_mass, hits, ends


class Parameters:
    """The free parameters of a nested logit: log scales of levels, of nodes around them, and biases of nodes.

    Biases of nodes without a calibration row are 0, so that such a class has those of its ancestors.
    """

    def __init__(
        self, choices: ChoiceTree, rows: ListedScores, targets: Ids, *, level: str, biases: bool, by_maximum: bool
    ) -> None:
        self.choices, self.rows, self.targets, self.by_maximum = choices, rows, targets, by_maximum
        self.lists = choices.lists_of(rows.columns)
        finite = np.where(np.isfinite(rows.scores), rows.scores, np.nan)
        spread = np.nanmean(np.nanmax(finite, axis=1) - np.nanmean(finite, axis=1)) if finite.size else 1.0
        self.unit = -np.log(max(float(spread), TINY_SPREAD))
        group = np.zeros(len(choices.level), np.int64) if level == "leaves" else choices.level
        self.groups, self.group_of = np.unique(group[choices.has_choice], return_inverse=True)
        self.choosing = np.flatnonzero(choices.has_choice)
        self.own_scales = self.choosing if level == "nodes" else self.choosing[:0]
        self.own_biases = self._nodes_with_rows() if biases else self.choosing[:0]
        self.ridge = np.repeat(
            [LEVEL_RIDGE, SCALE_RIDGE, BIAS_RIDGE], [len(self.groups), len(self.own_scales), len(self.own_biases)]
        )

    def without_own(self) -> Parameters:
        """Return the same problem with parameters of levels alone."""
        few = copy(self)
        few.own_scales = few.own_biases = self.choosing[:0]
        few.ridge = self.ridge[: len(self.groups)]
        return few

    def _nodes_with_rows(self) -> Ids:
        """Return the positions of the biases of nodes that rows belong to."""
        c, n_nodes = self.choices, len(self.choices.parent)
        counts = np.zeros(n_nodes + 1)
        np.add.at(counts, self.targets, 1.0)
        stops = counts[:-1].astype(bool) & ~c.is_end
        stops[np.setdiff1d(np.arange(n_nodes), c.class_nodes)] = False
        for v in range(n_nodes - 1, -1, -1):
            counts[c.parent[v]] += counts[v]
        known = np.zeros(n_nodes, bool)
        known[c.nodes] = True
        return np.flatnonzero(np.concatenate([known & (counts[:-1] > 0), stops]))

    def unpack(self, theta: Floats) -> NestedLogit:
        """Return the model of a vector of parameters."""
        n_nodes, n_groups, n_scales = len(self.choices.parent), len(self.groups), len(self.own_scales)
        log_scales = np.full(n_nodes + 1, self.unit)
        log_scales[self.choosing] += theta[:n_groups][self.group_of]
        log_scales[self.own_scales] += theta[n_groups : n_groups + n_scales]
        biases = np.zeros(2 * n_nodes)
        biases[self.own_biases] = theta[n_groups + n_scales :]
        return NestedLogit(self.choices, np.exp(log_scales), biases, self.by_maximum)

    def loss(self, theta: Floats, grad_scores: Floats = NO_SCORES) -> tuple[float, Floats]:
        """Return the mean log loss with its ridge, and its gradient; and set that by scores, if it has rows."""
        model, n_rows = self.unpack(theta), max(1, len(self.targets))
        grad_a, grad_b = np.zeros(len(model.scales)), np.zeros(len(model.biases))
        log_likelihood = kernels.add_log_likelihood(
            model.model, self.rows, self.targets, *self.lists, grad_a, grad_b, grad_scores
        )
        by_group = np.bincount(self.group_of, grad_a[self.choosing], len(self.groups))
        gradient = np.concatenate([by_group, grad_a[self.own_scales], grad_b[self.own_biases]])
        grad_scores /= -n_rows
        penalty = 0.5 * float(self.ridge @ theta**2)
        return (penalty - log_likelihood) / n_rows, (self.ridge * theta - gradient) / n_rows


def ways_to_value(choices: ChoiceTree, columns: Ids) -> tuple[bool, ...]:
    """Return whether nodes may be valued by sums, by maxima, or both; sums of sampled classes are too noisy."""
    if choices.flat:
        return (False,)
    return (False, True) if columns.shape[1] == len(choices.class_nodes) else (True,)


def fit_nested_logit(choices: ChoiceTree, rows: ListedScores, targets: Ids, *, level: str, biases: bool) -> NestedLogit:
    """Return the model of least log loss; nodes are valued by what suits the scores better.

    Scores that are sums of regrets have nothing in the sum over a subtree that its maximum does not have. This is
    decided with one scale per level, which is also where the search for more parameters starts.
    """
    fits = []
    for by_maximum in ways_to_value(choices, rows.columns):
        problem = Parameters(choices, rows, targets, level=level, biases=biases, by_maximum=by_maximum)
        few = problem.without_own()
        fits.append((problem, _minimise(few, np.zeros(len(few.ridge)))))
    problem, result = min(fits, key=lambda fit: float(fit[1].fun))
    start = np.zeros(len(problem.ridge))
    start[: len(result.x)] = result.x
    if len(start) > len(result.x):
        result = _minimise(problem, start)
    return problem.unpack(result.x)


def _minimise(problem: Parameters, start: Floats) -> Any:
    bounds = [(-LARGEST_LOG_SCALE, LARGEST_LOG_SCALE)] * len(start)
    options = {"maxiter": MOST_ITERATIONS, "ftol": TOLERANCE}
    result = minimize(problem.loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    if not np.isfinite(result.fun):
        raise ParameterError("The scores cannot be calibrated: their log loss is not finite.")
    return result
