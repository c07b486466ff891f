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
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.leaf_blocks import LeafBlock, LeafBlocks
from cladist.linear_model.path_sums import BlockAlphas, PathSums, set_vectors
from cladist.linear_model.problem_tree import squared_norms
from cladist.linear_model.training_rows import TrainingRows, aligned_zeros
from cladist.solvers.linear.one_vs_rest import LOSSES
from cladist.solvers.problem import OneVsRest

Floats32 = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
FULL_EVERY = 4  # sweeps; the others visit active rows alone
PASSES, MOST_PASSES = 2, 64  # over active rows at each visit, of many blocks and of one alone
RESTING = 0.05
UNUSED = 1e-20  # cost in lanes without a leaf
LEAST_NORM = np.float32(1e-30)  # of a row without features, which so moves its α to the bound at once
LARGE_TERM = 100.0  # α ‖x‖ beyond which sums of many lose too many digits in float32
FURTHER = 1.25  # over-relaxation of a block's step
# Steps of blocks in one round agree far less than they might: ‖Σ Δ‖² is some 1 to 3 times Σ ‖Δ‖², not as many times as
# there are blocks. Nodes above several blocks are counted so often, with a margin, as was seen of late.
MARGIN, FORGETTING = 1.5, 0.7


@dataclass
class BlockState:
    """The α of a block, and the rows that were active when all were last looked at."""

    alphas: BlockAlphas = field(default_factory=BlockAlphas.none)
    active: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))


@dataclass(frozen=True)
class Change:
    """What a visit has changed: the block's state, and by how much stored vectors move along which rows."""

    state: BlockState
    rows: npt.NDArray[np.int32]
    coefficients: Floats32


class Room(NamedTuple):
    """Where one block is worked on: W, another like it, and α."""

    W: Floats32
    above: Floats32
    alpha: Floats32

    @classmethod
    def of(cls, rows: TrainingRows) -> Room:
        """Make room for such rows."""
        return cls(aligned_zeros(rows.n_used), aligned_zeros(rows.n_used), aligned_zeros(len(rows)))


class Joint:
    """The joint dual on its way up: state, and the moves that raise it."""

    def __init__(
        self,
        problem: OneVsRest,
        layout: LeafBlocks,
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
        self.pulls = np.zeros((len(self.free), problem.rows.n_used))  # s of free roots, as `refresh` found it
        self.states = [BlockState() for _ in layout.blocks]
        self.order = np.arange(len(problem.rows), dtype=np.int32)  # theirs in memory, which is random
        self.weight = problem.weights32
        self.norms = np.maximum(problem.rows.norms, LEAST_NORM)
        self.longest_row = float(np.sqrt(np.max(problem.rows.norms, initial=0.0)))
        self.seed = seed
        self.agreement = np.full(len(self.V), np.inf)  # ‖Σ Δ‖² / Σ ‖Δ‖² of the blocks of a round, for each stored node
        self.further = 1.0 if len(self.free) or problem.loss == "logistic" else FURTHER
        self.passes = max(PASSES, MOST_PASSES // max(1, len(layout.blocks)))
        self._rooms: list[Room] = []

    # ---------------------------------------------------------------- one block

    @contextmanager
    def room(self) -> Iterator[Room]:
        """Lend a worker room for one block; its α is all 0, and must be so again."""
        try:
            room = self._rooms.pop()
        except IndexError:  # asked for first, another worker might take the last one in between
            room = Room.of(self.problem.rows)
        yield room
        self._rooms.append(room)  # unless something went wrong, which leaves α in it

    def sums(self, own: list[BlockAlphas] | None) -> PathSums:
        """Return what the leaves' weights are sums of; α are needed no more: their signs are changed in place."""
        for b, block in enumerate(self.layout.blocks):
            mask = self.mask_of(block)
            for listed, values in [self.states[b].alphas, *([] if own is None else [own[b]])]:
                kernels.sign_rows(mask, listed, values)
        sums = PathSums(self.layout, self.V, self.problem.rows, [state.alphas for state in self.states], own)
        sums.set_vectors(self.free, self.centres)  # without what rounding has added to them sweep by sweep
        return sums

    def mask_of(self, block: LeafBlock) -> npt.NDArray[np.uint32]:
        """Return of which leaves each row is, as bits."""
        mask = np.zeros(len(self.problem.rows), np.uint32)
        for k, c in enumerate(block.classes.tolist()):
            mask[self.problem.members_of(c)] |= np.uint32(1 << k)
        return mask

    def part(self, b: int) -> tuple[Any, ...]:
        """Return a block's problem as kernels take it."""
        block = self.layout.blocks[b]
        costs = np.full((2, WIDTH), UNUSED, np.float32)
        costs[:, : len(block.classes)] = self.problem.costs[:, block.classes]
        return self.problem.rows.arrays, self.norms, self.mask_of(block), self.weight, costs, len(block.classes)

    def needs_float64(self, b: int) -> bool:
        """Tell whether a block's α are so large that their sums in float32 would not be what they say."""
        largest = float(np.max(self.states[b].alphas.values, initial=0.0))
        return largest * self.longest_row > LARGE_TERM

    def load(self, b: int, part: Any, room: Room) -> tuple[Floats32, Floats32]:
        """Put a block into the worker's lanes: the sums of stored vectors, and what its own α add."""
        block, alphas = self.layout.blocks[b], self.states[b].alphas
        W, _, alpha = room
        kernels.put_paths(self.V, block.paths, block.groups, W)
        kernels.add_rows(part[0], part[2], *alphas, block.local, W)
        kernels.put_rows(*alphas, alpha)
        return W, alpha

    def _visit(self, b: int, counts: Any, eps: float, sweep: int) -> Change:
        with self.room() as room:
            return self._visited(b, counts, eps, sweep, room)

    def _visited(self, b: int, counts: Any, eps: float, sweep: int, room: Room) -> Change:
        block, state = self.layout.blocks[b], self.states[b]
        part = self.part(b)
        W, alpha = self.load(b, part, room)
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

    def _unloaded(self, block: LeafBlock, state: BlockState, mask: Any, alpha: Floats32, active: Any) -> Change:
        """Take the new α out of the lanes, and what they change above; leave α all 0."""
        after = BlockState(self.taken(alpha), active)
        changed = np.empty(len(alpha), np.int32)
        most = min(len(alpha), len(after.alphas.rows) + len(state.alphas.rows))
        coefficients = np.empty((most, len(block.stored)), np.float32)
        count = kernels.changes(alpha, mask, *state.alphas, block.above, coefficients, changed)
        changed = changed[:count].copy()
        kernels.clear(changed, alpha)
        return Change(after, changed, coefficients[:count].copy())

    def taken(self, alpha: Floats32) -> BlockAlphas:
        """Return the α in the lanes."""
        listed = np.empty(len(alpha), np.int32)
        count = kernels.nonzero_rows(alpha, listed)
        listed = self.order if count == len(alpha) else listed[:count].copy()  # one list serves all full blocks
        return BlockAlphas(listed, alpha[listed])

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
                agreed = float(squared_norms(total)) / squares
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
            squares += float(squared_norms(moved))  # not by BLAS, whose sums depend on how many threads it has
            total += moved
        return total, squares

    def refresh(self) -> None:
        """Set the stored vectors to what α say, without what rounding has added to them step by step."""
        self.pulls = set_vectors(self.V, self.layout, self.problem.rows, self._signed, self.free, self.centres)

    def _signed(self, b: int) -> BlockAlphas:
        """Return α y of a block."""
        listed, values = self.states[b].alphas
        values = values.copy()
        kernels.sign_rows(self.mask_of(self.layout.blocks[b]), listed, values)
        return BlockAlphas(listed, values)

    def start_from(self, alphas: list[BlockAlphas]) -> None:
        """Set the α of all blocks, or as much as their bounds allow, and the stored vectors to what they say."""
        self.V[:] = 0
        self.V[self.free] = self.centres
        self.states = [BlockState() for _ in alphas]
        for b, (block, given) in enumerate(zip(self.layout.blocks, alphas, strict=True)):
            change = self._started(b, given)
            self.states[b] = change.state
            for place, u in enumerate(block.stored.tolist()):
                self._add(change, place, self.V[u])

    def _started(self, b: int, given: BlockAlphas) -> Change:
        _, _, mask, _, costs, _ = self.part(b)
        with self.room() as room:
            kernels.put_rows(*given, room.alpha)
            if self.problem.loss != "squared_hinge":
                kernels.relax(*BlockAlphas.none(), np.float32(1), costs, self.weight, mask, True, room.alpha)
            return self._unloaded(self.layout.blocks[b], BlockState(), mask, room.alpha, self.order[:0])


def _blended(before: BlockState, after: BlockState, share: float) -> BlockState:
    """Return the state on the way between two."""
    listed = np.union1d(before.alphas.rows, after.alphas.rows)
    values = np.zeros((len(listed), WIDTH), np.float32)
    for alphas, part in ((before.alphas, 1 - share), (after.alphas, share)):
        values[np.searchsorted(listed, alphas.rows)] += np.float32(part) * alphas.values
    return BlockState(BlockAlphas(listed, values), after.active)
