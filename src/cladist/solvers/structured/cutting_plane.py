"""The n-slack cutting plane for large-margin problems over structured outputs (LM-2).

    min_W ½‖W‖² + C Σ_i ξ_i,   ξ_i ≥ D_ir − ⟨W, F_ir ⊗ x_i⟩ for all competitors r of row i, ξ_i ≥ 0

Keeps a list of competitors a row. A round finds each row's most violated one, lists it if it is violated by more than
the others by `eps`, and solves the problem over the lists. Stops when the gap is closed or none is left to list.
Tsochantaridis, Joachims, Hofmann & Altun, JMLR 6, 2005, Algorithm 1 (all rows a round).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.decoders import best_labelling, loss_shift
from cladist.execution import Executor
from cladist.kernels import vertices
from cladist.labels import LabelMatrix
from cladist.losses import Loss
from cladist.solvers.structured.ascent import Ascent, Measured, Sweeps, ascend
from cladist.solvers.structured.columns import blocks
from cladist.solvers.structured.labellings import csr_parts, squares_of
from cladist.solvers.structured.paths import PathLoss

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
ROWS_AT_ONCE = 1024  # of which all scores are held


class Competitors(NamedTuple):
    """The most violated competitor of some rows: F (rows × scores), D, and D − ⟨W, F ⊗ x⟩."""

    differences: Floats
    losses: Floats
    values: Floats


class Oracle(Protocol):
    """Finds competitors."""

    n_scores: int

    def worst(self, rows: slice, scores: Floats) -> Competitors:
        """Return the most violated competitor of these rows, given W x of each."""


class PathOracle:
    """Competitors among single labels."""

    def __init__(self, true: Ids, loss: PathLoss) -> None:
        self.true, self.loss, self.features = true, loss, loss.features()
        self.n_scores = len(loss.parent)

    def worst(self, rows: slice, scores: Floats) -> Competitors:
        """Return the most violated competitor of these rows, given W x of each."""
        true, place = self.true[rows], np.arange(len(scores))
        by_label = scores @ self.features.T
        losses = self.loss.losses[true]
        weights = losses if self.loss.slack else np.ones_like(losses)
        values = losses + weights * (by_label - by_label[place, true][:, None])
        values[place, true] = 0.0
        r = values.argmax(axis=1)
        differences = weights[place, r][:, None] * (self.features[true] - self.features[r])
        return Competitors(differences, losses[place, r], values[place, r])


class LabellingOracle:
    """Competitors among labellings that respect the tree, scored Σ_v ±factor_v a_v."""

    def __init__(self, labels: LabelMatrix, loss: Loss, factor: Floats) -> None:
        self.labels, self.factor = labels, factor
        self.shift, self.constant = loss_shift(labels, labels.taxonomy, loss=loss)
        self.marks = labels.to_indicator().toarray().astype(np.float64)
        self.n_scores = self.marks.shape[1]

    def worst(self, rows: slice, scores: Floats) -> Competitors:
        """Return the most violated competitor of these rows, given W x of each."""
        found = best_labelling(2.0 * self.factor * scores + self.shift[rows], self.labels.taxonomy)
        marks = found.to_indicator().toarray()
        differences = 2.0 * self.factor * (self.marks[rows] - marks)
        losses = self.constant[rows] + (self.shift[rows] * marks).sum(axis=1)
        return Competitors(differences, losses, losses - (differences * scores).sum(axis=1))


@dataclass
class VertexDual:
    """The problem over the lists, competitors sorted by row."""

    X: Any
    n_scores: int
    C: float

    def __post_init__(self) -> None:
        n = self.X.shape[0]
        self.rows = csr_parts(self.X)
        self.squares = squares_of(self.rows)
        self.W = np.zeros((self.X.shape[1], self.n_scores))
        self.owner, self.start = np.zeros(0, np.int64), np.zeros(n + 1, np.int64)
        self.masses, self.losses, self.differences = np.zeros(0), np.zeros(0), np.zeros((0, self.n_scores))
        self.gaps, self.slacks = np.full(n, np.inf), np.zeros(n)

    def extend(self, owner: Ids, differences: Floats, losses: Floats) -> None:
        """List further competitors, with no mass yet."""
        owners = np.concatenate([self.owner, owner])
        order = np.argsort(owners, kind="stable")
        self.owner = owners[order]
        self.masses = np.concatenate([self.masses, np.zeros(len(owner))])[order]
        self.losses = np.concatenate([self.losses, losses])[order]
        self.differences = np.concatenate([self.differences, differences])[order]
        self.start = np.searchsorted(self.owner, np.arange(len(self.gaps) + 1))

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows."""
        lists = self.start, self.masses, self.differences, self.losses
        limits = self.C, n_steps, enough
        vertices.sweep_vertices(self.rows, self.W, order, *lists, limits, self.squares, self.gaps)

    def measure(self, executor: Executor) -> Measured:
        """Return both objectives over the lists and refresh all gaps."""

        def look(part: tuple[int, int]) -> None:
            lists = self.start, self.masses, self.differences, self.losses
            vertices.measure_vertices(self.rows, self.W, *part, *lists, self.C, self.slacks, self.gaps)

        list(executor.map(look, blocks(0, len(self.gaps))))
        half = 0.5 * float((self.W * self.W).sum())
        return Measured(half + self.C * float(self.slacks.sum()), float((self.masses * self.losses).sum()) - half)


def cutting_plane(
    X: Any, oracle: Oracle, C: float, sweeps: Sweeps, random: np.random.RandomState, executor: Executor
) -> tuple[Floats, Ascent, int]:
    """Return W (features × scores), how it was found (one entry a round), and how many competitors were listed."""
    dual, found, started = VertexDual(X, oracle.n_scores, C), Ascent(), time.perf_counter()
    # Half of the gap allowed is for competitors that are not listed, less than half for the problem over the lists.
    inner = replace(sweeps, tol=0.4 * sweeps.tol, n_sweeps=max(1000, sweeps.n_sweeps), watch=None)
    with progress.task("Cutting planes", sweeps.n_sweeps) as running:
        while True:
            over_lists = dual.measure(executor)
            worst = _worst(X, dual.W, oracle)
            half = 0.5 * float((dual.W * dual.W).sum())
            now = Measured(half + C * float(np.maximum(worst.values, 0.0).sum()), over_lists.dual)
            seconds = time.perf_counter() - started
            found.history.append(
                {
                    "passes": found.n_passes,
                    "objective": now.primal,
                    "dual": now.dual,
                    "gap": now.gap,
                    "seconds": seconds,
                }
            )
            eps = 0.5 * sweeps.tol * abs(now.dual) / (C * X.shape[0])
            new = np.flatnonzero(worst.values > dual.slacks + eps)
            found.converged = now.gap <= sweeps.tol
            if found.converged or not len(new) or found.n_passes >= sweeps.n_sweeps:
                return dual.W, found, len(dual.owner)
            dual.extend(new, worst.differences[new], worst.losses[new])
            ascend(dual, inner, random, executor)
            found.n_passes += 1
            running.advance()


def _worst(X: Any, W: Floats, oracle: Oracle) -> Competitors:
    """Return the most violated competitor of every row."""
    parts = []
    for first in range(0, X.shape[0], ROWS_AT_ONCE):
        rows = slice(first, min(first + ROWS_AT_ONCE, X.shape[0]))
        parts.append(oracle.worst(rows, np.asarray(X[rows] @ W, dtype=np.float64)))
    return Competitors(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
