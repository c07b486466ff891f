"""Hieron as the paper states it, slowly: all prototypes dense, every state kept."""

from __future__ import annotations

import numpy as np


class Reference:
    def __init__(self, taxonomy, n_features, *, update="max_loss", allowed=None, C=np.inf, margin=np.sqrt):
        self.taxonomy = taxonomy
        nodes = np.arange(taxonomy.n_nodes)
        self.A = np.zeros((len(nodes), len(nodes)))
        for v in nodes:
            self.A[v, taxonomy.path_ids(v)] = 1
        u, v = np.meshgrid(nodes, nodes, indexing="ij")
        self.gamma = taxonomy.distances(u.ravel(), v.ravel()).reshape(len(nodes), -1)
        self.update, self.C, self.margin = update, C, margin
        self.allowed = np.ones(len(nodes), bool) if allowed is None else allowed
        self.w = np.zeros((len(nodes), n_features))
        self.states = [self.w.copy()]
        self.predictions, self.losses, self.competitors = [], [], []
        self.rounding_decides = False  # whether in some round the best values differ by less than they are exact

    def predict(self, x, w=None):
        S = self.A @ (self.w if w is None else w) @ x
        return int(np.argmax(np.where(self.allowed, S, -np.inf)))

    def round(self, x, y):
        S = self.A @ self.w @ x
        self.predictions.append(int(np.argmax(np.where(self.allowed, S, -np.inf))))
        bonus = self.margin(self.gamma[y].astype(float)) if self.update == "max_loss" else 0.0
        for values in (S[self.allowed], (S + bonus)[self.allowed]):
            gaps = values.max() - values
            self.rounding_decides |= bool(np.any((gaps > 0) & (gaps < 1e-9)))
        r = int(np.argmax(np.where(self.allowed, S + bonus, -np.inf)))
        gamma = self.gamma[y, r]
        loss = max(0.0, S[r] - S[y] + self.margin(float(gamma))) if r != y else 0.0
        self.losses.append(loss)
        self.competitors.append(r)
        if loss > 0 and x @ x > 0:
            alpha = min(self.C, loss / (gamma * (x @ x)))
            self.w += alpha * np.outer(self.A[y] - self.A[r], x)
        self.states.append(self.w.copy())

    def run(self, X, y):
        for x, label in zip(X, y, strict=True):
            self.round(x, label)
        return self

    @property
    def average(self):
        return np.mean(self.states, axis=0)
