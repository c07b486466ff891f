"""The n-slack cutting plane for large-margin problems over structured outputs (LM-2).

    min_W ½‖W‖² + C Σ_i ξ_i,   ξ_i ≥ D_ir − ⟨W, F_ir ⊗ x_i⟩ for all competitors r of row i, ξ_i ≥ 0

Keeps one list of competitors per row. A round finds each row's most violated competitor, lists it if it is violated by
`eps` more than those listed, and solves the problem over the lists. Stops when the gap is closed or nothing was listed.
Tsochantaridis, Joachims, Hofmann & Altun, JMLR 6, 2005, Algorithm 1 (with one solution per round over all rows).
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist import checkpoints, progress
from cladist.decoders import best_labelling, loss_shift
from cladist.execution import Executor
from cladist.kernels import path_margin
from cladist.labels import LabelMatrix
from cladist.losses import Loss
from cladist.solvers.structured.ascent import Ascent, Objectives, PathLoss, RowDual, Sweeps, ascend

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
ROWS_AT_ONCE = 1024  # rows whose scores are in memory at once


class Competitors(NamedTuple):
    """The most violated competitor of some rows: F (rows × scores), D, and D − ⟨W, F ⊗ x⟩."""

    differences: Floats
    losses: Floats
    values: Floats


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
    """Competitors among consistent labellings, scored Σ_v ±factor_v a_v."""

    def __init__(self, labels: LabelMatrix, loss: Loss, factor: Floats) -> None:
        self.labels, self.factor = labels, factor
        self.shift, self.constant = loss_shift(labels, labels.taxonomy, loss=loss)
        self.marks = labels.to_indicator().toarray().astype(np.float64)
        self.n_scores = self.marks.shape[1]

    def worst(self, rows: slice, scores: Floats) -> Competitors:
        """Return the most violated competitor of these rows, given W x of each."""
        best = best_labelling(2.0 * self.factor * scores + self.shift[rows], self.labels.taxonomy)
        marks = best.to_indicator().toarray()
        differences = 2.0 * self.factor * (self.marks[rows] - marks)
        losses = self.constant[rows] + (self.shift[rows] * marks).sum(axis=1)
        return Competitors(differences, losses, losses - (differences * scores).sum(axis=1))


Oracle = PathOracle | LabellingOracle


class VertexDual(RowDual):
    """The dual over the listed competitors, which are sorted by row."""

    kept = (*RowDual.kept, "owner", "start", "masses", "losses", "differences")

    def __init__(self, X: Any, n_scores: int, C: float) -> None:
        super().__init__(X.shape[0], C)
        self.hold_rows(X, n_scores)
        self.owner, self.start = np.zeros(0, np.int64), np.zeros(X.shape[0] + 1, np.int64)
        self.masses, self.losses, self.differences = np.zeros(0), np.zeros(0), np.zeros((0, n_scores))

    def extend(self, owner: Ids, differences: Floats, losses: Floats) -> None:
        """List further competitors, whose mass is 0."""
        owners = np.concatenate([self.owner, owner])
        order = np.argsort(owners, kind="stable")
        self.owner = owners[order]
        self.masses = np.concatenate([self.masses, np.zeros(len(owner))])[order]
        self.losses = np.concatenate([self.losses, losses])[order]
        self.differences = np.concatenate([self.differences, differences])[order]
        self.start = np.searchsorted(self.owner, np.arange(len(self.gaps) + 1))

    def lists(self) -> tuple[Any, ...]:
        """Return the arguments of the kernels that describe the lists."""
        return self.start, self.masses, self.differences, self.losses

    def sweep(self, order: Ids, n_steps: int, enough: float) -> None:
        """Raise the dual over these rows."""
        limits = self.C, n_steps, enough
        path_margin.sweep_vertices(self.rows, self.W, order, *self.lists(), limits, self.squares, self.gaps)

    def measure_block(self, first: int, last: int) -> None:
        """Write the slacks and gaps of rows first … last over the lists."""
        path_margin.measure_vertices(self.rows, self.W, first, last, *self.lists(), self.C, self.slacks, self.gaps)

    def linear_part(self) -> float:
        """Return Σ masses · losses."""
        return float((self.masses * self.losses).sum())


def cutting_plane(
    X: Any,
    oracle: Oracle,
    C: float,
    sweeps: Sweeps,
    random: np.random.RandomState,
    executor: Executor,
) -> tuple[Floats, Ascent, int]:
    """Return W (features × scores), the ascent (one entry per round), and the number of competitors listed."""
    dual, ascent, started = VertexDual(X, oracle.n_scores, C), Ascent(), time.perf_counter()
    # Half of the allowed gap is for competitors that are not listed, less than half for the problem over the lists.
    inner = replace(sweeps, tol=0.4 * sweeps.tol, n_sweeps=max(1000, sweeps.n_sweeps), watch=None)
    kept = checkpoints.scope("rounds")
    parts: list[checkpoints.Attributes] = [(dual, dual.kept), (ascent, ("history", "n_passes"))]
    if (state := kept.load()) is not None:
        checkpoints.restore(state[0], *parts)
        random.set_state(state[1])
    with progress.task("Cutting planes", sweeps.n_sweeps, unit="sweeps") as running:
        if ascent.n_passes:
            running.advance(ascent.n_passes)
        while True:
            over_lists = dual.measure(executor)
            worst = _worst(X, dual.W, oracle)
            half = 0.5 * float((dual.W * dual.W).sum())
            now = Objectives(half + C * float(np.maximum(worst.values, 0.0).sum()), over_lists.dual)
            ascent.record(now, time.perf_counter() - started)
            eps = 0.5 * sweeps.tol * abs(now.dual) / (C * X.shape[0])
            new = np.flatnonzero(worst.values > dual.slacks + eps)
            ascent.converged = now.gap <= sweeps.tol
            if ascent.converged or not len(new) or ascent.n_passes >= sweeps.n_sweeps:
                return dual.W, ascent, len(dual.owner)
            dual.extend(new, worst.differences[new], worst.losses[new])
            with kept.child(str(ascent.n_passes)).active():
                ascend(dual, inner, random, executor)
            ascent.n_passes += 1
            kept.save(lambda: [checkpoints.state_of(*parts), random.get_state()])
            running.advance()


def _worst(X: Any, W: Floats, oracle: Oracle) -> Competitors:
    """Return the most violated competitor of every row."""
    parts = []
    for first in range(0, X.shape[0], ROWS_AT_ONCE):
        rows = slice(first, min(first + ROWS_AT_ONCE, X.shape[0]))
        parts.append(oracle.worst(rows, np.asarray(X[rows] @ W, dtype=np.float64)))
    return Competitors(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
