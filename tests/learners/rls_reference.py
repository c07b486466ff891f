"""H-RLS as its definition reads: examples in lists, one linear system solved a node and row."""

from __future__ import annotations

import numpy as np


class DirectRLS:
    """One list of examples and targets a node; see `HierarchicalRLS` for the parameters."""

    def __init__(self, taxonomy, n_features, *, alpha=1.0, c=np.inf, budget=None, gated=True, current=True, empty=0.0):
        self.parent, self.d = taxonomy.parent, n_features
        self.levels = taxonomy.levels
        self.alpha, self.c, self.budget, self.gated, self.current, self.empty = alpha, c, budget, gated, current, empty
        self.rows = [[] for _ in self.parent]
        self.targets = [[] for _ in self.parent]
        self.t = 0

    def margin(self, v, x):
        if not self.rows[v]:
            return self.empty
        S, s = np.array(self.rows[v]).T, np.array(self.targets[v])
        A = self.alpha * np.eye(self.d) + S @ S.T + (np.outer(x, x) if self.current else 0)
        return x @ np.linalg.solve(A, S @ s)

    def margins(self, X):
        return np.array([[self.margin(v, x) for v in range(len(self.parent))] for x in unit(X)])

    def round(self, x, on, zero=-1.0):
        """Return the margins before the update. `zero` is the target of a node that is off."""
        self.t += 1
        x = unit(x[None])[0]
        margins = np.array([self.margin(v, x) for v in range(len(self.parent))])
        for v, p in enumerate(self.parent):
            if x.any() and (not self.gated or p < 0 or on[p]):
                stored = len(self.rows[v])
                if not stored or margins[v] ** 2 <= self.c * np.log(self.t) / stored:
                    self.rows[v].append(x)
                    self.targets[v].append(1.0 if on[v] else zero)
                    self._drop(v)
        return margins

    def _drop(self, v):
        if self.budget is not None and len(self.rows[v]) > self.budget:
            S = np.array(self.rows[v])
            duals = np.linalg.solve(self.alpha * np.eye(len(S)) + S @ S.T, self.targets[v])
            gone = int(np.argmax(np.abs(duals) <= np.abs(duals).min() * (1 + 1e-9)))
            del self.rows[v][gone], self.targets[v][gone]

    def run(self, X, on, zero=-1.0):
        return np.array([self.round(x, z, zero) for x, z in zip(X, on, strict=True)])


def unit(X):
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


def top_down(margins, taxonomy):
    """What the margins say from the roots down."""
    on = margins >= 0
    for v, p in enumerate(taxonomy.parent):
        if p >= 0:
            on[:, v] &= on[:, p]
    return on
