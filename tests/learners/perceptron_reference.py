"""HP, SP and KSP as the paper states them, slowly: W dense, every labelling enumerated."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from tests.strategies import consistent_sets

TIE = 1e-11  # scores this near are equal


def runner_up(every, a, y):
    """The best labelling that is not y: of equal ones the smallest, and next to y the first node switched."""
    values = every @ a
    tied = every[values >= values.max() - TIE]
    best = tied[tied.sum(axis=1).argmin()]
    if (best != y).any():
        return best
    switched = [np.flatnonzero(every[:, v] != y[v]) for v in range(len(y))]
    highest = np.array([values[group].max() for group in switched])
    v = int(np.flatnonzero(highest >= highest.max() - TIE)[0])
    group = switched[v][values[switched[v]] >= highest[v] - TIE]
    return every[group[(every[group] != y).sum(axis=1).argmin()]]


class Primal:
    """Algorithms 1 and 2 with a dense W."""

    def __init__(self, taxonomy, X, marks, *, rounds, step, rate=None, uniforms=None, start=None):
        self.every = 2.0 * consistent_sets(taxonomy.parent) - 1.0
        self.X, self.Y = np.asarray(X, float), 2.0 * marks - 1.0
        self.step, self.rate = step, rate
        self.W_bar = np.zeros((taxonomy.n_nodes, self.X.shape[1])) if start is None else start.copy()
        self.u = np.ones(len(self.X))
        self.chosen, self.v, self.norms, self.states = [], [], [], []
        for t in range(rounds):
            self._round(None if uniforms is None else uniforms[t])
        self.mean = np.mean(self.states, axis=0)
        self.last = self.projected

    @property
    def projected(self):
        return self.W_bar / max(1.0, np.linalg.norm(self.W_bar))

    def _round(self, uniform):
        W = self.projected
        scores = self.X @ W.T
        Z = np.array([runner_up(self.every, a, y) for a, y in zip(scores, self.Y, strict=True)])
        v = (scores * (self.Y - Z)).sum(axis=1)
        i = int(v.argmin())
        if uniform is not None:
            i = int(np.searchsorted(np.cumsum(self.u), uniform * self.u.sum(), side="right"))
            self.u = self.u * (1 - self.rate * v + self.rate**2 * v**2)
        self.chosen.append(i)
        self.v.append(v)
        self.norms.append(np.linalg.norm(self.W_bar))
        self.states.append(W)
        self.W_bar = self.W_bar + self.step * np.outer(self.Y[i] - Z[i], self.X[i])


def kernel_run(taxonomy, K, marks, *, rounds, rate, uniforms):
    """Algorithm 3 by the letter: a, α, β, u; returns a, the drawn rows, and α and v of every round."""
    every = 2.0 * consistent_sets(taxonomy.parent) - 1.0
    Y = 2.0 * marks - 1.0
    a, u = np.zeros((len(K), taxonomy.n_nodes)), np.ones(len(K))
    alpha, beta = 0.0, np.sqrt(rounds)
    drawn, alphas, betas, vs, cs = [], [], [], [], []
    for t in range(rounds):
        Z = np.array([runner_up(every, row, y) for row, y in zip(a, Y, strict=True)])
        v = (a * (Y - Z)).sum(axis=1) / beta
        i = int(np.searchsorted(np.cumsum(u), uniforms[t] * u.sum(), side="right"))
        u = u * (1 - rate * v + rate**2 * v**2)
        c = Y[i] - Z[i]
        drawn.append(i)
        alphas.append(alpha)
        betas.append(beta)
        vs.append(v)
        cs.append(c)
        alpha = alpha + K[i, i] * (c @ c) / rounds + 2 / np.sqrt(rounds) * max(1.0, np.sqrt(alpha)) * v[i]
        beta = np.sqrt(rounds) * max(1.0, np.sqrt(alpha))
        a = a + np.outer(K[i], c)
    return {"a": a, "drawn": drawn, "alpha": alphas, "beta": betas, "v": vs, "c": cs, "u": u}


def best_margin(taxonomy, X, marks):
    """δ = max_{‖W‖ ≤ 1} min_{i, z ≠ y_i} ⟨W, (y_i − z) x_iᵀ⟩ by a convex solver, and R_Δ = max ‖(y_i − z) x_iᵀ‖."""
    every, Y = 2.0 * consistent_sets(taxonomy.parent) - 1.0, 2.0 * marks - 1.0
    pairs = [(x, y, z) for x, y in zip(np.asarray(X, float), Y, strict=True) for z in every if (z != y).any()]
    D = np.array([np.outer(y - z, x).ravel() for x, y, z in pairs])
    # The dual: the shortest vector in the convex hull of all differences. With p = t q, Σ q = 1, t chosen best, the
    # least ‖Dᵀp‖² + (Σ p − 1)² grows with ‖Dᵀq‖.
    p, _ = nnls(np.vstack([D.T, np.ones(len(D))]), np.append(np.zeros(D.shape[1]), 1.0), maxiter=100 * len(D))
    w = (p / p.sum()) @ D
    lower, upper = (D @ w).min() / np.linalg.norm(w), np.linalg.norm(w)
    assert upper - lower < 1e-6 * upper
    return float(lower), float(np.linalg.norm(D, axis=1).max())
