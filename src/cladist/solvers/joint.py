"""Recursive regularisation on a tree: block Gauss–Seidel on the joint dual.

Problem   min ½ Σ_n ‖w_n − w_parent(n)‖² + Σ_leaves n Σ_i c_in ℓ(y_in w_n·x_i)        (Gopal & Yang 2013, eqs. 2 and 3)
Dual      w_n = Σ_{u on the path to n} v_u, v_u = Σ_{leaves n below u} Σ_i α_in y_in x_i: one problem in all α
Stops     when (primal − dual) / primal ≤ tol
Found by  coordinate descent on sixteen leaves at a time, `cladist.kernels.joint`, the others fixed; several blocks may
          be solved from one snapshot of what they share
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.execution import Executor, Serial
from cladist.kernels import joint as kernels
from cladist.kernels import one_vs_rest as flat
from cladist.kernels.lanes import WIDTH
from cladist.solvers.layout import BlockLayout, Layout
from cladist.solvers.one_vs_rest import LOSSES
from cladist.solvers.problem import OneVsRest
from cladist.solvers.rows import aligned

Floats32 = npt.NDArray[np.float32]
FULL_EVERY = 4  # sweeps; the others visit active rows alone
PASSES, MOST_PASSES = 2, 64  # over active rows at each visit, of many blocks and of one alone
RESTING = 0.05
UNUSED = 1e-20  # cost in lanes without a leaf
LEAST_NORM = np.float32(1e-30)  # of a row without features, which so moves its α to the bound at once
FURTHER = 1.25  # over-relaxation of a block's step


@dataclass
class BlockState:
    """The α of a block that are not 0, by row, and the rows that were active when all were last looked at."""

    listed: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    values: Floats32 = field(default_factory=lambda: np.zeros((0, WIDTH), np.float32))
    active: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))


@dataclass(frozen=True)
class Change:
    """What a visit has changed: the block's state, and by how much stored vectors move along which rows."""

    state: BlockState
    rows: npt.NDArray[np.int32]
    coefficients: Floats32


@dataclass(frozen=True)
class Terms:
    """Σ c ℓ(m), the gap and Σ α m = Σ ‖v‖² over all leaves."""

    lost: float
    gap: float
    product: float

    @property
    def primal(self) -> float:
        """The objective at w(α)."""
        return self.product / 2 + self.lost


@dataclass(frozen=True)
class Finished:
    """Leaves' weights, block by block, optimal given their parents.

    Attributes
    ----------
    weights : list of arrays (features in use × 16)
    own : float
        Σ ‖w − w_parent‖² of the leaves now.
    before : float
        The same at w(α).
    lost : float
        Σ c ℓ(m) now.
    """

    weights: list[Floats32]
    own: float
    before: float
    lost: float

    def primal(self, terms: Terms) -> float:
        """Return the objective: of nodes above leaves as at w(α), of the leaves as they are now."""
        return (terms.product - self.before + self.own) / 2 + self.lost


class Joint:
    """The joint dual on its way down: state, and the moves that lower it."""

    def __init__(self, problem: OneVsRest, layout: Layout, executor: Executor | None = None, seed: int = 0) -> None:
        self.problem, self.layout = problem, layout
        self.executor = executor or Serial()
        self.loss = LOSSES[problem.loss]
        self.V = np.zeros((len(layout.stored_nodes), problem.rows.n_used), np.float32)
        self.states = [BlockState() for _ in layout.blocks]
        self.order = np.arange(len(problem.rows), dtype=np.int32)  # theirs in memory, which is random
        self.weight = problem.weights32
        self.norms = np.maximum(problem.rows.norms, LEAST_NORM)
        self.seed = seed
        self.further = FURTHER
        self.passes = max(PASSES, MOST_PASSES // max(1, len(layout.blocks)))
        self._buffers = threading.local()

    # ---------------------------------------------------------------- one block

    def _room(self) -> tuple[Floats32, Floats32]:
        """Return the worker's own W and α, the latter all 0."""
        if not hasattr(self._buffers, "W"):
            self._buffers.W = aligned(self.problem.rows.n_used)
            self._buffers.alpha = aligned(len(self.problem.rows))
        return self._buffers.W, self._buffers.alpha

    def _part(self, block: BlockLayout) -> tuple[Any, ...]:
        mask = np.zeros(len(self.problem.rows), np.uint32)
        for k, c in enumerate(block.classes.tolist()):
            mask[self.problem.members_of(c)] |= np.uint32(1 << k)
        costs = np.full((2, WIDTH), UNUSED, np.float32)
        costs[:, : len(block.classes)] = self.problem.costs[:, block.classes]
        return self.problem.rows.arrays, self.norms, mask, self.weight, costs, len(block.classes)

    def _load(self, b: int, part: Any) -> tuple[Floats32, Floats32]:
        """Put a block into the worker's lanes: the sums of stored vectors, and what its own α add."""
        block, state = self.layout.blocks[b], self.states[b]
        W, alpha = self._room()
        kernels.put_paths(self.V, block.paths, block.groups, W)
        kernels.put_rows(part[0], part[2], state.listed, state.values, block.local, W, alpha)
        return W, alpha

    def _visit(self, b: int, counts: Any, eps: float, sweep: int) -> Change:
        block, state = self.layout.blocks[b], self.states[b]
        part = self._part(block)
        W, alpha = self._load(b, part)
        full = sweep % FULL_EVERY == 0
        generator = np.random.default_rng((self.seed, b, sweep)).integers(1, 2**63, 1, dtype=np.uint64)
        active = kernels.visit_block(
            part, self.loss, self.order if full else self.order[:0], state.active, W, alpha, block.overlap(counts),
            np.float32(eps), np.float32(RESTING), self.passes, generator,
        )  # fmt: skip
        if sweep > 0 and self.further > 1 and self.problem.loss != "logistic":
            bounded = self.problem.loss == "hinge"
            kernels.relax(
                state.listed, state.values, np.float32(self.further), part[4], self.weight, part[2], bounded, alpha
            )
        return self._unloaded(block, state, part, alpha, active if full else state.active)

    def _unloaded(self, block: BlockLayout, state: BlockState, part: Any, alpha: Floats32, active: Any) -> Change:
        """Take the new α out of the lanes, and what they change above; leave α all 0."""
        n = len(alpha)
        listed = np.empty(n, np.int32)
        listed = listed[: kernels.nonzero_rows(alpha, listed)].copy()
        after = BlockState(listed, alpha[listed], active)
        changed = np.empty(n, np.int32)
        coefficients = np.empty((len(listed) + len(state.listed), len(block.stored)), np.float32)
        count = kernels.changes(alpha, part[2], state.listed, state.values, block.above, coefficients, changed)
        changed = changed[:count].copy()
        kernels.clear(changed, alpha)
        return Change(after, changed, coefficients[:count].copy())

    # ---------------------------------------------------------------- all blocks

    def sweep(self, sweep: int, rounds: list[list[int]], eps: float) -> None:
        """Visit every block once; those of a round start from the same snapshot."""
        for together in rounds:
            counts = np.zeros(len(self.V), np.float32)
            for b in together:
                counts[self.layout.blocks[b].stored] += 1
            visit = partial(self._visit, counts=counts, eps=eps, sweep=sweep)
            changes = list(self.executor.map(visit, together))
            for b, change in zip(together, changes, strict=True):
                self.states[b] = change.state
                stored = self.layout.blocks[b].stored
                kernels.add_changes(self.problem.rows.arrays, change.rows, change.coefficients, stored, self.V)

    def terms(self) -> Terms:
        """Return what primal and gap are made of. O(leaves / 16 · nonzeros)."""
        found = list(self.executor.map(self._terms_of, range(len(self.layout.blocks))))
        return Terms(*np.sum(found, axis=0).tolist())

    def _terms_of(self, b: int) -> tuple[float, float, float]:
        part = self._part(self.layout.blocks[b])
        W, alpha = self._load(b, part)
        terms = kernels.joint_terms(part, self.loss, W, alpha)
        kernels.clear(self.states[b].listed, alpha)
        return terms

    # ---------------------------------------------------------------- leaves by themselves

    def finished(self, eps: float, max_sweeps: int) -> Finished:
        """Solve every leaf's own problem, the nodes above fixed; the state stays as it is.

        w(α) is a poor primal for the hinge: many rows miss the margin by a little. Leaves that are optimal given their
        parents are a good one.
        """
        found = list(
            self.executor.map(lambda b: self._finished_block(b, eps, max_sweeps), range(len(self.layout.blocks)))
        )
        own, others, lost = np.sum([figures for _, figures in found], axis=0).tolist()
        return Finished([W for W, _ in found], own, others, lost)

    def _finished_block(self, b: int, eps: float, max_sweeps: int) -> tuple[Floats32, tuple[float, float, float]]:
        block, state = self.layout.blocks[b], self.states[b]
        part = self._part(block)
        n_lanes = part[-1]
        W, alpha = self._load(b, part)
        above = aligned(len(W))
        kernels.put_paths(self.V, block.paths, block.groups, above)
        local = block.local - np.eye(WIDTH, dtype=np.float32)
        local[n_lanes:, n_lanes:] = 0
        kernels.put_rows(part[0], part[2], state.listed, state.values, local, above, alpha)
        before = kernels.squared_distance(W, above, n_lanes)
        first = np.flatnonzero(part[2]).astype(np.int32)
        generator = np.random.default_rng((self.seed, b)).integers(1, 2**63, 1, dtype=np.uint64)
        flat.descend(part[:-1], self.loss, self.order, first, W, alpha, np.float32(eps), max_sweeps, generator)
        after = kernels.squared_distance(W, above, n_lanes)
        lost, _, _ = kernels.joint_terms(part, self.loss, W, alpha)
        weights = W.copy()
        alpha[:] = 0
        return weights, (after, before, lost)
