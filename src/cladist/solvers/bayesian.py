"""Variational inference in hierarchical Bayesian logistic regression.

    p(n | x) ∝ exp(w_n·x) over leaves n,   w_v ~ N(w_π(v), diag(τ_g(v))⁻¹),   τ_g ~ Gamma(a0, b0),   w_π(root) = 0

τ_g has one entry per feature, or one for all; nodes v of a group g share it. The approximation is a product of
q(w_v) = N(μ_v, Ψ_v) and q(τ_g) = Gamma(a_g, b_g). The likelihood is bounded from below with β_i and ξ_in by

    log Σ_n e^{s_n} ≤ β + Σ_n log(1 + e^{s_n − β}),   log(1 + e^s) ≤ λ(ξ)(s² − ξ²) + (s − ξ)/2 + log(1 + e^ξ)

with λ(ξ) = (σ(ξ) − ½)/(2ξ). Binary likelihoods of leaves against the rest are the same with β = 0. Every update raises
the evidence lower bound (ELBO); inference stops when an iteration raises it by less than `tol` of its size. In partial
MAP, leaves have point estimates: the likelihood is exact, and Ψ of leaves and their entropy are left out.

Gopal, Yang, Bai & Niculescu-Mizil, NIPS 2012; the bounds: Bouchard 2007, Jaakkola & Jordan 2000.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import digamma, expit, gammaln, log_expit, logsumexp

from cladist import checkpoints, progress
from cladist.execution import Executor, Serial
from cladist.solvers.problem import History

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
COVARIANCES, LIKELIHOODS = ("diagonal", "full", "none"), ("softmax", "one_vs_rest")
CONJUGATE_STEPS = 5  # per update of the leaves' means; the next goes on from there, and more steps magnify rounding
LEAVES_AT_ONCE = 16  # in one task
LONGEST_STRIDE = 64.0  # by which steps of the leaves are lengthened where that raises the bound
NEWTON_STEPS = 200  # of L-BFGS per update in partial MAP
LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class BayesianProblem:
    """Rows, the leaf of each, and the tree with its prior.

    Attributes
    ----------
    X : array or CSR (rows × features)
    labels : array (rows,)
        The number of each row's leaf in `leaves`.
    parent, leaves : arrays of node ids
        Parents come before their children; −1 is above roots, whose mean is 0. Leaves have no children.
    group : array (nodes,)
        The group of precisions of each node.
    fixed : array (groups,)
        The precision of each group, NaN where it is estimated.
    by_feature : bool
        Whether a precision has one entry per feature.
    shape, rate : float
        a0 and b0.
    covariance, likelihood : str
        Of `COVARIANCES`, "none" being partial MAP, and of `LIKELIHOODS`.
    """

    X: Any
    labels: Ids
    parent: Ids
    leaves: Ids
    group: Ids
    fixed: Floats
    by_feature: bool = True
    shape: float = 1.0
    rate: float = 1.0
    covariance: str = "diagonal"
    likelihood: str = "softmax"


# What changes from step to step.
KEPT = ("mean", "variance", "full", "rates", "beta", "scores", "spread", "log_determinants", "xi")


class Posterior:
    """The approximate posterior; each `update_…` raises `elbo`."""

    def __init__(self, problem: BayesianProblem, executor: Executor | None = None) -> None:
        self.problem, self.executor = problem, executor or Serial()
        X, n_leaves = problem.X, len(problem.leaves)
        (n, d), n_nodes = X.shape, len(problem.parent)
        self.squares = X.multiply(X).tocsr() if sparse.issparse(X) else X * X
        self.targets = np.zeros((n, n_leaves))
        self.targets[np.arange(n), problem.labels] = 1.0
        is_inner = np.ones(n_nodes, bool)
        is_inner[problem.leaves] = False
        self.inner, self.is_map = np.flatnonzero(is_inner), problem.covariance == "none"
        self.mean, self.variance = np.zeros((n_nodes, d)), np.zeros((n_nodes, d))
        self.full = np.zeros((n_leaves if problem.covariance == "full" else 0, d, d))
        size = np.bincount(problem.group, minlength=len(problem.fixed))
        self.shapes = problem.shape + 0.5 * size * (1 if problem.by_feature else d)
        self.rates = np.tile((self.shapes / np.where(problem.fixed > 0, problem.fixed, 1.0))[:, None], self._width)
        self.beta = np.zeros(n)
        self.scores, self.spread = np.zeros((n, n_leaves)), np.zeros((n, n_leaves))
        self.update_inner()
        if not self.is_map:
            leaves = problem.leaves
            self.variance[leaves] = 1.0 / self.precisions()[leaves]
            self.full[:] = [np.diag(v) for v in self.variance[leaves]] if len(self.full) else 0.0
        self.log_determinants = np.log(self.variance[problem.leaves]).sum(axis=1) if not self.is_map else np.zeros(0)
        self._score()
        self.xi = np.sqrt(self.spread + self.scores**2)

    @property
    def _width(self) -> tuple[int, int]:
        return (1, self.problem.X.shape[1] if self.problem.by_feature else 1)

    def precisions(self) -> Floats:
        """Return E τ of every node and feature, of a node from its parent."""
        return np.broadcast_to((self.shapes[:, None] / self.rates)[self.problem.group], self.mean.shape)

    def _above(self) -> Floats:
        """Return the mean of every node's parent, 0 above roots."""
        return np.where(self.problem.parent[:, None] >= 0, self.mean[self.problem.parent], 0.0)

    # ---------------------------------------------------------------- updates

    def update_leaves(self) -> None:
        """Update q(w_n) of all leaves; in partial MAP, their values and the means of inner nodes together."""
        problem = self.problem
        if self.is_map:
            self._maximise_leaves()
            return
        prior, curvature = self.precisions()[problem.leaves], 2.0 * weight_of(self.xi)
        linear = np.asarray(problem.X.T @ (self.targets - 0.5 + curvature * self.beta[:, None])).T
        linear += prior * self._above()[problem.leaves]
        if len(self.full):
            updates = self.executor.map(
                lambda k: self._update_full(k, prior[k], curvature[:, k], linear[k]), leaf_range(self)
            )
            self.log_determinants = np.array(list(updates))
        else:
            diagonal = np.asarray(self.squares.T @ curvature).T + prior
            self.variance[problem.leaves] = 1.0 / diagonal
            self.log_determinants = -np.log(diagonal).sum(axis=1)
            parts = [slice(k, k + LEAVES_AT_ONCE) for k in range(0, len(problem.leaves), LEAVES_AT_ONCE)]
            system = prior, curvature.T, linear, diagonal
            list(self.executor.map(lambda part: self._improve_means(part, *(array[part] for array in system)), parts))
        self._score()

    def _update_full(self, k: int, prior: Floats, curvature: Floats, linear: Floats) -> float:
        """Set mean and covariance of a leaf; return the logarithm of the covariance's determinant."""
        X = self.problem.X
        scaled = X.multiply(curvature[:, None]).tocsr() if sparse.issparse(X) else X * curvature[:, None]
        H = X.T @ scaled
        H = np.asarray(H.toarray() if sparse.issparse(H) else H)
        H[np.diag_indices_from(H)] += prior
        inverse = np.linalg.inv(np.linalg.cholesky(H))
        self.full[k] = inverse.T @ inverse
        self.variance[self.problem.leaves[k]] = np.diag(self.full[k])
        self.mean[self.problem.leaves[k]] = self.full[k] @ linear
        return 2.0 * float(np.log(np.diag(inverse)).sum())

    def _improve_means(self, part: slice, prior: Floats, curvature: Floats, linear: Floats, diagonal: Floats) -> None:
        """Take steps of conjugate gradients, from the present means, for some leaves side by side."""
        X, leaves = self.problem.X, self.problem.leaves[part]
        mean = self.mean[leaves]

        def apply(V: Floats) -> Floats:
            return np.asarray(X.T @ (curvature.T * np.asarray(X @ V.T))).T + prior * V

        residual = linear - apply(mean)
        first = np.einsum("kj,kj->k", residual, residual / diagonal)
        step, energy = residual / diagonal, first
        for _ in range(CONJUGATE_STEPS):
            image = apply(step)
            curve = np.einsum("kj,kj->k", step, image)
            size = np.where((energy > 1e-24 * first) & (curve > 0), energy / np.where(curve > 0, curve, 1.0), 0.0)
            if not size.any():
                break
            mean, residual = mean + size[:, None] * step, residual - size[:, None] * image
            last, energy = energy, np.einsum("kj,kj->k", residual, residual / diagonal)
            step = residual / diagonal + (energy / np.where(last > 0, last, 1.0))[:, None] * step
        self.mean[leaves] = mean

    def _maximise_leaves(self) -> None:
        """Maximise the exact likelihood times the prior over leaves and inner means, by L-BFGS over the leaves."""
        problem, prior = self.problem, self.precisions()
        leaves, shape = problem.leaves, (len(problem.leaves), problem.X.shape[1])
        scale = 1.0 / np.sqrt(prior[leaves] + np.asarray(self.squares.sum(axis=0)).ravel() / (4 * shape[0]))

        def loss(z: Floats) -> tuple[float, Floats]:
            self.mean[leaves] = z.reshape(shape) * scale
            self._score()
            self._solve_inner(prior)
            pull = prior * (self.mean - self._above())
            error = (self.probabilities() - self.targets).astype(np.float64)
            gradient = np.asarray(problem.X.T @ error).T + pull[leaves]
            value = 0.5 * float((pull * (self.mean - self._above())).sum()) - self.likelihood()
            return value, (gradient * scale).ravel()

        options = {"maxiter": NEWTON_STEPS, "maxcor": 10, "ftol": 1e-15, "gtol": 1e-7}
        best = minimize(loss, (self.mean[leaves] / scale).ravel(), jac=True, method="L-BFGS-B", options=options)
        loss(best.x)

    def update_inner(self) -> None:
        """Update q(w_v) of all inner nodes: their variances, and their means together."""
        prior = self.precisions()
        self.variance[self.inner] = 1.0 / (self._sum_children(prior) + prior)[self.inner]
        self._solve_inner(prior)

    def _sum_children(self, values: Floats) -> Floats:
        """Return, for every node, the sum of its children's values."""
        below = self.problem.parent >= 0
        total = np.zeros(values.shape)
        np.add.at(total, self.problem.parent[below], values[below])
        return total

    def _solve_inner(self, prior: Floats) -> None:
        """Set the means of inner nodes to their optimum given the leaves: an elimination up, a substitution down."""
        parent, is_leaf = self.problem.parent, np.zeros(len(self.mean), bool)
        is_leaf[self.problem.leaves] = True
        total, sums = self._sum_children(prior) + prior, np.zeros(self.mean.shape)
        for v in range(len(parent) - 1, -1, -1):
            if parent[v] >= 0:
                sums[parent[v]] += prior[v] * (self.mean[v] if is_leaf[v] else sums[v] / total[v])
                if not is_leaf[v]:
                    total[parent[v]] -= prior[v] ** 2 / total[v]
        for v in self.inner.tolist():
            above = prior[v] * self.mean[parent[v]] if parent[v] >= 0 else 0.0
            self.mean[v] = (sums[v] + above) / total[v]

    def update_bounds(self) -> None:
        """Set ξ and then, for softmax, β, so that the bound of the likelihood is as high as it can be."""
        if self.is_map:
            return
        self.xi = np.sqrt(self.spread + (self.scores - self.beta[:, None]) ** 2)
        if self.problem.likelihood == "softmax":
            weight = weight_of(self.xi)
            count = 0.5 * (0.5 * weight.shape[1] - 1.0)
            self.beta = (count + (weight * self.scores).sum(axis=1)) / weight.sum(axis=1)

    def update_precisions(self) -> None:
        """Update q(τ_g): b_g = b0 + ½ Σ_v E (w_v − w_π(v))²; precisions that are fixed stay."""
        estimated = np.isnan(self.problem.fixed)
        rates = self.problem.rate + 0.5 * self._grouped(self._deviations())
        self.rates[estimated] = rates[estimated]

    def centre(self) -> None:
        """Subtract the mean of the roots from all nodes, which raises their prior; softmax does not change."""
        if self.problem.likelihood == "softmax":
            roots = self.problem.parent < 0
            middle = np.average(self.mean[roots], axis=0, weights=self.precisions()[roots])
            shift = np.asarray(self.problem.X @ middle)
            self.mean, self.scores, self.beta = self.mean - middle, self.scores - shift[:, None], self.beta - shift

    def lengthen_step(self, mean: Floats, scores: Floats, beta: Floats, stride: float) -> bool:
        """Move leaves and β on by `stride` times their way since these; go back unless that raises the bound.

        The quadratic bound is much more curved than the likelihood where scores are large, so that updates are short.
        """
        leaves, before = self.problem.leaves, (self.elbo(), self.mean, self.scores, self.xi, self.beta)
        self.mean, self.scores = self.mean.copy(), self.scores + stride * (self.scores - scores)
        self.mean[leaves] += stride * (self.mean[leaves] - mean)
        self.beta = self.beta + stride * (self.beta - beta)
        self._solve_inner(self.precisions())
        self.update_bounds()
        if self.elbo() > before[0]:
            return True
        _, self.mean, self.scores, self.xi, self.beta = before
        return False

    def _deviations(self) -> Floats:
        """Return E (w_v − w_π(v))² of every node and feature."""
        parent = self.problem.parent
        above = np.where(parent[:, None] >= 0, self.variance[parent], 0.0)
        return (self.mean - self._above()) ** 2 + self.variance + above

    def _grouped(self, values: Floats) -> Floats:
        """Return the sums of values of nodes over each group, and over features if those share a precision."""
        sums = np.zeros((len(self.rates), values.shape[1]))
        np.add.at(sums, self.problem.group, values)
        return sums if self.problem.by_feature else sums.sum(axis=1, keepdims=True)

    def _score(self) -> None:
        """Set scores μ_n·x and their variances xᵀΨ_n x."""
        X, leaves = self.problem.X, self.problem.leaves
        self.scores = np.asarray(X @ self.mean[leaves].T)
        if len(self.full):

            def spread(k: int) -> None:
                image = np.asarray(X @ self.full[k])
                product = X.multiply(image).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, image)
                self.spread[:, k] = np.maximum(np.asarray(product).ravel(), 0.0)

            list(self.executor.map(spread, leaf_range(self)))
        elif not self.is_map:
            self.spread = np.asarray(self.squares @ self.variance[leaves].T)

    # ---------------------------------------------------------------- the bound

    def probabilities(self) -> Floats:
        """Return those of the leaves at the means, one of all or each against the rest."""
        if self.problem.likelihood == "one_vs_rest":
            return np.asarray(expit(self.scores))
        return np.exp(self.scores - logsumexp(self.scores, axis=1, keepdims=True))

    def likelihood(self) -> float:
        """Return the lower bound of E log p(labels | w), or log p(labels | w) in partial MAP."""
        true = float((self.targets * self.scores).sum())
        if self.is_map and self.problem.likelihood == "softmax":
            return true - float(logsumexp(self.scores, axis=1).sum())
        if self.is_map:
            return true + float(log_expit(-self.scores).sum())
        shifted = self.scores - self.beta[:, None]
        bound = weight_of(self.xi) * (shifted**2 + self.spread - self.xi**2) + (shifted - self.xi) / 2
        return true - float(self.beta.sum()) - float((bound - log_expit(-self.xi)).sum())

    def elbo(self) -> float:
        """Return the evidence lower bound; in partial MAP without the entropy of leaves, which is constant."""
        problem, d = self.problem, self.mean.shape[1]
        estimated = np.isnan(problem.fixed)
        a, b = self.shapes[:, None], self.rates
        log_tau = np.where(estimated[:, None], digamma(a) - np.log(b), np.log(a / b))
        size = np.bincount(problem.group, minlength=len(problem.fixed))[:, None] * (1 if problem.by_feature else d)
        weights = 0.5 * float((size * log_tau - a / b * self._grouped(self._deviations())).sum())
        weights -= 0.5 * LOG_2PI * self.mean.size
        a, b, log_tau = (np.broadcast_to(part, b.shape)[estimated] for part in (a, b, log_tau))
        a0, b0 = problem.shape, problem.rate
        prior = a0 * np.log(b0) - gammaln(a0) + (a0 - 1) * log_tau - b0 * a / b
        entropy = a - np.log(b) + gammaln(a) + (1 - a) * digamma(a)
        spreads = float(np.log(self.variance[self.inner]).sum()) + float(self.log_determinants.sum())
        n_spread = d * (len(self.inner) + (0 if self.is_map else len(problem.leaves)))
        gaussian = 0.5 * (spreads + n_spread * (1 + LOG_2PI))
        return self.likelihood() + weights + float((prior + entropy).sum()) + gaussian


def weight_of(xi: Floats) -> Floats:
    """Return λ(ξ), 1/8 at 0."""
    return np.where(xi > 1e-4, np.tanh(xi / 2) / np.maximum(4.0 * xi, 1e-5), 0.125)


def leaf_range(posterior: Posterior) -> range:
    """Return the numbers of the leaves."""
    return range(len(posterior.problem.leaves))


def infer(
    problem: BayesianProblem, *, tol: float, max_iter: int, executor: Executor | None = None
) -> tuple[Posterior, History, bool]:
    """Return the posterior, its history (`elbo`, `objective` = −elbo, `seconds`), and whether the bound settled."""
    started, posterior, is_done = time.perf_counter(), Posterior(problem, executor), False
    history: History = []
    stride = 1.0
    kept, parts = checkpoints.scope("steps"), (posterior, KEPT)
    if (state := kept.load()) is not None:
        history, stride, values = state
        checkpoints.restore(values, parts)
    with progress.task("Variational inference", max_iter, unit="steps") as running:
        if history:
            running.advance(len(history))
        while len(history) < max_iter and not is_done:
            last = posterior.mean[problem.leaves], posterior.scores, posterior.beta
            posterior.update_leaves()
            posterior.update_bounds()
            posterior.update_inner()
            posterior.update_precisions()
            if not posterior.is_map:
                longer = posterior.lengthen_step(*last, stride)
                posterior.centre()
                stride = min(2.0 * stride, LONGEST_STRIDE) if longer else 0.5 * stride
            elbo = posterior.elbo()
            is_done = bool(history) and elbo - history[-1]["elbo"] <= tol * abs(elbo)
            history.append({"elbo": elbo, "objective": -elbo, "seconds": time.perf_counter() - started})
            running.advance()
            if not is_done:
                kept.save(lambda: [history, stride, checkpoints.state_of(parts)])  # noqa: B023 - called at once
    return posterior, history, is_done
