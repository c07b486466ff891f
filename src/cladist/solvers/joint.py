"""Recursive regularisation on a tree: block Gauss–Seidel on the joint dual.

Problem   min ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + Σ_leaves n Σ_i c_in ℓ(y_in w_n·x_i)   (Gopal & Yang 2013, eqs. 2 and 3)
          κ = 1 for leaves, `sharing` for inner nodes: 1 in the paper
Dual      w_n = Σ_{u on the path to n} v_u, v_u = κ_u Σ_{leaves n below u} Σ_i α_in y_in x_i: one problem in all α
Stops     when (primal − dual) / primal ≤ tol
Found by  coordinate descent on sixteen leaves at a time, `cladist.kernels.joint`, the others fixed; several blocks may
          be solved from one snapshot of what they share

A root that is free has no v: it is w itself, and the dual wants s = Σ α y x = 0 below it. It is pulled to where it was
a sweep ago instead of 0, w = z + s with z ← w after each sweep (Rockafellar's proximal point): s goes to 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.execution import Executor, Serial
from cladist.kernels import joint as kernels
from cladist.kernels import one_vs_rest as flat
from cladist.kernels.lanes import WIDTH
from cladist.solvers.layout import BlockLayout, Layout
from cladist.solvers.one_vs_rest import LOSSES
from cladist.solvers.problem import OneVsRest
from cladist.solvers.rows import Rows, aligned

Floats32 = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
FULL_EVERY = 4  # sweeps; the others visit active rows alone
PASSES, MOST_PASSES = 2, 64  # over active rows at each visit, of many blocks and of one alone
RESTING = 0.05
UNUSED = 1e-20  # cost in lanes without a leaf
LEAST_NORM = np.float32(1e-30)  # of a row without features, which so moves its α to the bound at once
FURTHER = 1.25  # over-relaxation of a block's step
# Steps of blocks in one round agree far less than they might: ‖Σ Δ‖² is some 1 to 3 times Σ ‖Δ‖², not as many times as
# there are blocks. Nodes above several blocks are counted so often, with a margin, as was seen of late.
MARGIN, FORGETTING = 1.5, 0.7
EVERY_LANE = np.uint32(2**WIDTH - 1)
IDENTITY = np.eye(WIDTH, dtype=np.float32)


class Alphas(NamedTuple):
    """The α of a block that are not 0: rows, and sixteen values each."""

    listed: npt.NDArray[np.int32]
    values: Floats32

    @classmethod
    def none(cls) -> Alphas:
        """Return no rows."""
        return cls(np.zeros(0, np.int32), np.zeros((0, WIDTH), np.float32))


@dataclass
class BlockState:
    """The α of a block, and the rows that were active when all were last looked at."""

    alphas: Alphas = field(default_factory=Alphas.none)
    active: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))


@dataclass(frozen=True)
class Change:
    """What a visit has changed: the block's state, and by how much stored vectors move along which rows."""

    state: BlockState
    rows: npt.NDArray[np.int32]
    coefficients: Floats32


@dataclass(frozen=True)
class Measured:
    """Where the dual is.

    Attributes
    ----------
    gain : float
        What α gain.
    energy : float
        Σ ‖v‖² / κ over all nodes but free roots.
    pulled, apart : float
        Σ w·s and Σ ‖s‖ over free roots.
    """

    gain: float
    energy: float
    pulled: float = 0.0
    apart: float = 0.0

    def dual(self, reach: float) -> float:
        """Return what the objective is at least, as long as no free root is further than `reach` from where it is."""
        return self.gain - self.energy / 2 - self.pulled - reach * self.apart


@dataclass(frozen=True)
class Finished:
    """Leaves that are optimal given their parents, nodes above being as α say.

    Attributes
    ----------
    weights : list of arrays (features in use × 16), or None
        The leaves of each block, if they were asked for.
    own : list of Alphas, or None
        Otherwise, whose sums the leaves add to their parents' weights; None: those of the state.
    measured : Measured
    primal : float
    longest : float
        The largest ‖w‖ of a leaf.
    """

    weights: list[Floats32] | None
    own: list[Alphas] | None
    measured: Measured
    primal: float
    longest: float


class Room(NamedTuple):
    """Where one block is worked on: W, another like it, and α."""

    W: Floats32
    above: Floats32
    alpha: Floats32

    @classmethod
    def of(cls, rows: Rows) -> Room:
        """Make room for such rows."""
        return cls(aligned(rows.n_used), aligned(rows.n_used), aligned(len(rows)))


class Joint:
    """The joint dual on its way up: state, and the moves that raise it."""

    def __init__(
        self,
        problem: OneVsRest,
        layout: Layout,
        executor: Executor | None = None,
        seed: int = 0,
        *,
        free: Ids | None = None,
    ) -> None:
        self.problem, self.layout = problem, layout
        self.executor = executor or Serial()
        self.loss = LOSSES[problem.loss]
        self.V = np.zeros((len(layout.stored_nodes), problem.rows.n_used), np.float32)
        self.sharing = np.float32(layout.sharing)
        self.free = np.zeros(0, np.int64) if free is None else free  # stored nodes; of these V holds w
        self.centres = np.zeros((len(self.free), problem.rows.n_used), np.float32)
        self.states = [BlockState() for _ in layout.blocks]
        self.order = np.arange(len(problem.rows), dtype=np.int32)  # theirs in memory, which is random
        self.weight = problem.weights32
        self.norms = np.maximum(problem.rows.norms, LEAST_NORM)
        self.seed = seed
        self.agreement = np.full(len(self.V), np.inf)  # ‖Σ Δ‖² / Σ ‖Δ‖² of the blocks of a round, for each stored node
        self.further = 1.0 if len(self.free) or problem.loss == "logistic" else FURTHER
        self.passes = max(PASSES, MOST_PASSES // max(1, len(layout.blocks)))
        self._rooms: list[Room] = []

    # ---------------------------------------------------------------- one block

    @contextmanager
    def _room(self) -> Iterator[Room]:
        """Lend a worker room for one block; its α is all 0, and must be so again."""
        room = self._rooms.pop() if self._rooms else Room.of(self.problem.rows)
        yield room
        self._rooms.append(room)

    def mask_of(self, block: BlockLayout) -> npt.NDArray[np.uint32]:
        """Return of which leaves each row is, as bits."""
        mask = np.zeros(len(self.problem.rows), np.uint32)
        for k, c in enumerate(block.classes.tolist()):
            mask[self.problem.members_of(c)] |= np.uint32(1 << k)
        return mask

    def _part(self, block: BlockLayout) -> tuple[Any, ...]:
        costs = np.full((2, WIDTH), UNUSED, np.float32)
        costs[:, : len(block.classes)] = self.problem.costs[:, block.classes]
        return self.problem.rows.arrays, self.norms, self.mask_of(block), self.weight, costs, len(block.classes)

    def _load(self, b: int, part: Any, room: Room) -> tuple[Floats32, Floats32]:
        """Put a block into the worker's lanes: the sums of stored vectors, and what its own α add."""
        block, alphas = self.layout.blocks[b], self.states[b].alphas
        W, _, alpha = room
        kernels.put_paths(self.V, block.paths, block.groups, W)
        kernels.add_rows(part[0], part[2], *alphas, block.local, W)
        kernels.put_rows(*alphas, alpha)
        return W, alpha

    def _visit(self, b: int, counts: Any, eps: float, sweep: int) -> Change:
        with self._room() as room:
            return self._visited(b, counts, eps, sweep, room)

    def _visited(self, b: int, counts: Any, eps: float, sweep: int, room: Room) -> Change:
        block, state = self.layout.blocks[b], self.states[b]
        part = self._part(block)
        W, alpha = self._load(b, part, room)
        full = sweep % FULL_EVERY == 0
        generator = np.random.default_rng((self.seed, b, sweep)).integers(1, 2**63, 1, dtype=np.uint64)
        active = kernels.visit_block(
            part, self.loss, self.order if full else self.order[:0], state.active, W, alpha,
            block.overlap(self.sharing * counts),
            np.float32(eps), np.float32(RESTING), self.passes, generator,
        )  # fmt: skip
        if sweep > 0 and self.further > 1:
            bounded = self.problem.loss == "hinge"
            kernels.relax(*state.alphas, np.float32(self.further), part[4], self.weight, part[2], bounded, alpha)
        return self._unloaded(block, state, part[2], alpha, active if full else state.active)

    def _unloaded(self, block: BlockLayout, state: BlockState, mask: Any, alpha: Floats32, active: Any) -> Change:
        """Take the new α out of the lanes, and what they change above; leave α all 0."""
        after = BlockState(self._taken(alpha), active)
        changed = np.empty(len(alpha), np.int32)
        most = min(len(alpha), len(after.alphas.listed) + len(state.alphas.listed))
        coefficients = np.empty((most, len(block.stored)), np.float32)
        count = kernels.changes(alpha, mask, *state.alphas, block.above, coefficients, changed)
        changed = changed[:count].copy()
        kernels.clear(changed, alpha)
        return Change(after, changed, coefficients[:count].copy())

    def _taken(self, alpha: Floats32) -> Alphas:
        """Return the α in the lanes."""
        listed = np.empty(len(alpha), np.int32)
        count = kernels.nonzero_rows(alpha, listed)
        listed = self.order if count == len(alpha) else listed[:count].copy()  # one list serves all full blocks
        return Alphas(listed, alpha[listed])

    # ---------------------------------------------------------------- all blocks

    def sweep(self, sweep: int, rounds: list[list[int]], eps: float) -> None:
        """Visit every block once; those of a round start from the same snapshot."""
        for together in rounds:
            below = np.zeros(len(self.V), np.int64)
            for b in together:
                below[self.layout.blocks[b].stored] += 1
            counts = np.clip(MARGIN * self.agreement, 1, below).astype(np.float32) * (below > 0)
            visit = partial(self._visit, counts=counts, eps=eps, sweep=sweep)
            changes = list(self.executor.map(visit, together))
            self._apply(together, changes, below, counts)
        for place, root in enumerate(self.free.tolist()):
            here = self.V[root].copy()
            self.V[root] += here - self.centres[place]
            self.centres[place] = here

    def _apply(self, together: list[int], changes: list[Change], below: Any, counts: Any) -> None:
        """Take over what the blocks of a round have changed, or so much of it that the dual rises for sure.

        Each block rises as much as if node u moved by √counts[u] times its step. So all together do, as long as
        ‖Σ Δ_u‖² ≤ counts[u] Σ ‖Δ_u‖²; where they agree more than was counted on, all take a smaller step.
        """
        steps: dict[int, list[tuple[Change, int]]] = {u: [] for u in np.flatnonzero(below).tolist()}
        for b, change in zip(together, changes, strict=True):
            for place, u in enumerate(self.layout.blocks[b].stored.tolist()):
                steps[u].append((change, place))
        shared = np.flatnonzero(below > 1).tolist()
        share, totals = 1.0, list(self.executor.map(lambda u: self._total(steps[u]), shared))
        for u, (total, squares) in zip(shared, totals, strict=True):
            if squares > 0:
                agreed = float(total.astype(np.float64) @ total) / squares
                share = min(share, float(counts[u]) / agreed) if agreed > 0 else share
                remembered = self.agreement[u]
                self.agreement[u] = agreed if np.isinf(remembered) else max(agreed, FORGETTING * remembered)
        for u, (total, _) in zip(shared, totals, strict=True):
            self.V[u] += np.float32(share) * total
        alone = np.flatnonzero(below == 1).tolist()
        list(self.executor.map(lambda u: self._add(*steps[u][0], self.V[u], share), alone))
        for b, change in zip(together, changes, strict=True):
            self.states[b] = change.state if share == 1 else _blended(self.states[b], change.state, share)

    def _add(self, change: Change, place: int, vector: Floats32, share: float = 1.0) -> None:
        """Add to a stored vector what a block's change moves it by."""
        step = self.sharing * np.float32(share) * change.coefficients[:, place]
        kernels.add_change(self.problem.rows.arrays, change.rows, step, vector)

    def _total(self, steps: list[tuple[Change, int]]) -> tuple[Floats32, float]:
        """Return by how much several blocks want to move a stored node, and the sum of each one's ‖Δ‖²."""
        total, squares = np.zeros(self.V.shape[1], np.float32), 0.0
        for change, place in steps:
            moved = np.zeros_like(total)
            self._add(change, place, moved)
            squares += float(moved @ moved)
            total += moved
        return total, squares

    def start_from(self, alphas: list[Alphas]) -> None:
        """Set the α of all blocks, or as much as their bounds allow, and the stored vectors to what they say."""
        self.V[:] = 0
        self.V[self.free] = self.centres
        self.states = [BlockState() for _ in alphas]
        for b, (block, given) in enumerate(zip(self.layout.blocks, alphas, strict=True)):
            change = self._started(block, given)
            self.states[b] = change.state
            for place, u in enumerate(block.stored.tolist()):
                self._add(change, place, self.V[u])

    def _started(self, block: BlockLayout, given: Alphas) -> Change:
        _, _, mask, _, costs, _ = self._part(block)
        with self._room() as room:
            kernels.put_rows(*given, room.alpha)
            if self.problem.loss != "squared_hinge":
                kernels.relax(*Alphas.none(), np.float32(1), costs, self.weight, mask, True, room.alpha)
            return self._unloaded(block, BlockState(), mask, room.alpha, self.order[:0])

    # ---------------------------------------------------------------- where it is

    def measured(self) -> Measured:
        """Return where the dual is. O(leaves / 16 · (features + nonzeros of rows in which an α is not 0))."""
        found = list(self.executor.map(self._dual_terms_of, range(len(self.layout.blocks))))
        return self._measured(*np.sum(found, axis=0).tolist())

    def _measured(self, gain: float, product: float) -> Measured:
        w = self.V[self.free].astype(np.float64)
        s = (w - self.centres) / self.sharing
        pulled = float(np.sum(w * s))
        return Measured(gain, product - pulled, pulled, float(np.sum(np.sqrt(np.sum(s * s, axis=1)))))

    def _dual_terms_of(self, b: int) -> tuple[float, float]:
        part, listed = self._part(self.layout.blocks[b]), self.states[b].alphas.listed
        with self._room() as room:
            W, alpha = self._load(b, part, room)
            terms: tuple[float, float] = kernels.dual_terms(part, self.loss, listed, W, alpha)
            kernels.clear(listed, alpha)
        return terms

    def finished(self, eps: float, max_sweeps: int, *, dense: bool) -> Finished:
        """Solve every leaf's own problem, the nodes above fixed; the state stays as it is.

        w(α) is a poor primal for the hinges: many rows miss the margin by a little. Leaves that are optimal given their
        parents are a good one. For the logistic loss w(α) is a good one, and is what is measured.
        """
        numbers = range(len(self.layout.blocks))
        if self.problem.loss == "logistic":
            return self._summed(list(self.executor.map(self._evaluated, numbers)), None, None)
        solve = partial(self._solved_leaves, eps=eps, max_sweeps=max_sweeps, dense=dense)
        found = list(self.executor.map(solve, numbers))
        leaves: list[Any] = [leaf for leaf, _ in found]
        return self._summed([figures for _, figures in found], *((leaves, None) if dense else (None, leaves)))

    def _summed(self, figures: Any, weights: list[Floats32] | None, own: list[Alphas] | None) -> Finished:
        figures = np.array(figures)
        gain, product, change, lost = figures[:, :4].sum(axis=0).tolist()
        measured = self._measured(gain, product)
        return Finished(weights, own, measured, (measured.energy + change) / 2 + lost, float(figures[:, 4].max()))

    def _evaluated(self, b: int) -> tuple[float, ...]:
        part = self._part(self.layout.blocks[b])
        with self._room() as room:
            W, alpha = self._load(b, part, room)
            lost, gap, product = kernels.joint_terms(part, self.loss, W, alpha)
            kernels.clear(self.states[b].alphas.listed, alpha)
            return lost + product - gap, product, 0.0, lost, longest(W, part[-1])

    def _solved_leaves(self, b: int, eps: float, max_sweeps: int, dense: bool) -> tuple[Any, tuple[float, ...]]:
        with self._room() as room:
            return self._solved(b, eps, max_sweeps, dense, room)

    def _solved(self, b: int, eps: float, max_sweeps: int, dense: bool, room: Room) -> tuple[Any, tuple[float, ...]]:
        block, alphas = self.layout.blocks[b], self.states[b].alphas
        part = self._part(block)
        n_lanes = part[-1]
        W, alpha = self._load(b, part, room)
        terms = kernels.dual_terms(part, self.loss, alphas.listed, W, alpha)
        above = room.above
        kernels.put_paths(self.V, block.paths, block.groups, above)
        kernels.add_rows(part[0], part[2], *alphas, block.local_above, above)
        before = kernels.squared_distance(W, above, n_lanes)
        first = np.flatnonzero(part[2]).astype(np.int32)
        generator = np.random.default_rng((self.seed, b)).integers(1, 2**63, 1, dtype=np.uint64)
        flat.descend(part[:-1], self.loss, self.order, first, W, alpha, np.float32(eps), max_sweeps, generator)
        alpha[:, n_lanes:] = 0
        own = self._taken(alpha)
        if not dense:  # what is measured is what can be made again from α, not W as it has become step by step
            W[:] = above
            kernels.add_rows(part[0], part[2], *own, IDENTITY, W)
        after = kernels.squared_distance(W, above, n_lanes)
        lost, _, _ = kernels.joint_terms(part, self.loss, W, alpha)
        kernels.clear(own.listed, alpha)
        return W.copy() if dense else own, (*terms, after - before, lost, longest(W, n_lanes))


def _blended(before: BlockState, after: BlockState, share: float) -> BlockState:
    """Return the state on the way between two."""
    listed = np.union1d(before.alphas.listed, after.alphas.listed)
    values = np.zeros((len(listed), WIDTH), np.float32)
    for alphas, part in ((before.alphas, 1 - share), (after.alphas, share)):
        values[np.searchsorted(listed, alphas.listed)] += np.float32(part) * alphas.values
    return BlockState(Alphas(listed, values), after.active)


def longest(W: Floats32, n_lanes: int) -> float:
    """Return the largest ‖w‖ of the lanes in use."""
    norms = np.empty(WIDTH)
    flat.squared_norms(W, norms)
    return float(np.sqrt(norms[:n_lanes].max()))
