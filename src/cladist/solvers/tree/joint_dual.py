"""Recursive regularisation on a tree: block Gauss–Seidel on the joint dual.

Problem   min ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + Σ_leaves n Σ_i c_in ℓ(y_in w_n·x_i)   (Gopal & Yang 2013, eqs. 2 and 3)
          κ = 1 for leaves, `sharing` for inner nodes: 1 in the paper
Dual      w_n = Σ_{u on the path to n} v_u, v_u = κ_u Σ_{leaves n below u} Σ_i α_in y_in x_i: one problem in all α
Stops     when (primal − dual) / primal ≤ tol
Found by  coordinate descent on sixteen leaves at a time, `cladist.kernels.joint`, the others fixed; several blocks may
          be solved from one snapshot of the nodes that they share

A free root has no v: it is w itself, and the dual demands s = Σ α y x = 0 below it. Instead of 0 it is pulled to a
point z that follows it, w = z + s, so that s goes to 0: see `FreeRoots`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.execution import Executor, Serial
from cladist.kernels import joint as kernels
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import VISITS, LaneProblem
from cladist.linear_model.path_sums import PathSums
from cladist.linear_model.problem_tree import BlockAlphas, LaneSums, LeafBlocks, squared_norms
from cladist.linear_model.training_rows import Floats32, Floats64, Ids, aligned_zeros, reserved_zeros
from cladist.solvers.cost import count_effort
from cladist.solvers.problem import OneVsRest, random_generator
from cladist.storage.array_pool import storable

FULL_EVERY = 4  # sweeps; the others visit active rows alone
PASSES, MOST_PASSES = 2, 64  # over active rows at each visit, of many blocks and of one alone
SPARSE_PASSES = 6  # of many blocks where the dual is sparse: few rows are active, and loading a block costs more
RESTING = 0.05
LEAST_NORM = np.float32(1e-30)  # of a row without features, whose α then moves to its bound at once
LARGE_TERM = 100.0  # α ‖x‖ beyond which sums of many lose too many digits in float32
RELAXATION = 1.25  # over-relaxation of a block's step
# Steps of blocks in one round agree far less than they might: ‖Σ Δ‖² is about 1 to 3 times Σ ‖Δ‖², rather than the
# number of blocks. A node above several blocks is counted MARGIN times the recent value of that ratio.
MARGIN, FORGETTING = 1.5, 0.7
NO_ROWS = np.zeros(0, np.int32)

Ids32 = npt.NDArray[np.int32]


@storable
class BlockState(NamedTuple):
    """The α of a block, the rows that were active after the last visit to all rows, and the visits to rows so far."""

    alphas: BlockAlphas = BlockAlphas.none()
    active: Ids32 = NO_ROWS
    visits: int = 0


@storable
class FreeRoots(NamedTuple):
    """The points z to which free roots are pulled: the accelerated proximal point method (Güler 1992).

    After a sweep z ← w + β (w − w of the sweep before), with Nesterov's β, which begins anew at 0 where the root turns.
    """

    centres: Floats32  # z (free roots × features in use)
    positions: Floats32  # w one sweep ago
    momentum: Floats64  # t of each root, from which β comes

    @classmethod
    def at_zero(cls, n_roots: int, n_features: int) -> FreeRoots:
        """Return roots that are pulled to 0 and have not moved."""
        zero = np.zeros((n_roots, n_features), np.float32)
        return cls(zero, zero.copy(), np.ones(n_roots))

    def copy(self) -> FreeRoots:
        """Return the same with arrays of its own."""
        return FreeRoots(self.centres.copy(), self.positions.copy(), self.momentum.copy())

    def put(self, place: Any, parts: Iterable[Any]) -> None:
        """Set the values of some roots."""
        self.centres[place], self.positions[place], self.momentum[place] = parts

    def begin_at(self, centres: Floats32) -> None:
        """Pull the roots to these points, as if they had not moved."""
        self.put(slice(None), (centres, centres, 1.0))

    def advance(self, place: int, w: Floats32) -> Floats32:
        """Move the point to which a root at w is pulled; return by how much."""
        moved, pull = w - self.positions[place], w - self.centres[place]
        # By numpy's own sum: those of BLAS depend on the number of threads.
        turned = float(np.sum(moved * pull, dtype=np.float64)) < 0
        before = 1.0 if turned else float(self.momentum[place])
        now = (1 + np.sqrt(1 + 4 * before**2)) / 2
        step = pull + np.float32((before - 1) / now) * moved
        self.put(place, (self.centres[place] + step, w, now))
        return step


class BlockChange(NamedTuple):
    """The result of a visit: the block's new state, and the coefficients of rows by which stored vectors move."""

    state: BlockState
    nodes: Ids  # the stored nodes that the columns of `coefficients` are of
    rows: Ids32
    coefficients: Floats32


Steps = dict[int, list[tuple[BlockChange, int]]]  # of each stored node, the changes of a round and their columns
Totals = dict[int, tuple[Floats32, float]]  # of nodes above several blocks of a round, the sum of Δ, and Σ ‖Δ‖²


class Workspace(NamedTuple):
    """Arrays to work on one block: W, the vectors of the leaves' parents, and α."""

    W: Floats32
    above: Floats32
    alpha: Floats32


class JointDual:
    """The state of the joint dual, and the moves that raise it."""

    def __init__(self, problem: OneVsRest, layout: LeafBlocks, executor: Executor | None = None, seed: int = 0) -> None:
        self.problem, self.layout, self.seed = problem, layout, seed
        self.executor = executor or Serial()
        self.surrogate, self.rows = problem.surrogate, problem.rows
        self.sharing, self.free = np.float32(layout.sharing), layout.free
        self.V = reserved_zeros(len(layout.stored_nodes), self.rows.n_used)  # v, and w of free roots
        self.roots = FreeRoots.at_zero(len(self.free), self.rows.n_used)
        self.pulls = np.zeros((len(self.free), self.rows.n_used))  # s of free roots, as `refresh` found it
        self.states = [BlockState() for _ in layout.blocks]
        self.order = np.arange(len(self.rows), dtype=np.int32)  # that of rows in memory, which is random
        self.norms = np.maximum(self.rows.norms, LEAST_NORM)
        self.longest_row = float(np.sqrt(np.max(self.rows.norms, initial=0.0)))
        self.agreement = np.full(len(self.V), np.inf)  # ‖Σ Δ‖² / Σ ‖Δ‖² of the blocks of a round, for each stored node
        self.relaxation = RELAXATION if self.surrogate.sparse_dual and not len(self.free) else 1.0
        passes = SPARSE_PASSES if self.surrogate.sparse_dual else PASSES
        self.passes = max(passes, MOST_PASSES // max(1, len(layout.blocks)))
        self.sweeps_listed = -1  # for which active rows are still good as they were listed; −1: they are not listed
        self.is_fresh = True  # whether V is what `refresh` makes of the α
        self._workspaces: list[Workspace] = []

    def map_blocks(self, function: Callable[..., Any], arguments: list[Any] | None = None, **options: Any) -> list[Any]:
        """Return ``function(joint, b, argument of b, **options)`` of all blocks b, which changes nothing."""
        arguments = [None] * len(self.states) if arguments is None else arguments
        return list(self.executor.map(lambda b: function(self, b, arguments[b], **options), range(len(self.states))))

    def stored_energy(self) -> float:
        """Return Σ ‖v‖² / κ over the stored nodes that are not free."""
        pulled = np.setdiff1d(np.arange(len(self.V)), self.free).tolist()
        return float(sum(squared_norms(self.V[u]) for u in pulled)) / float(self.sharing)

    def take_over(self) -> None:
        """Make the stored vectors belong to states and centres that were set from outside."""
        self.refresh()

    def close(self) -> None:
        """End what works for this object."""

    @property
    def centres(self) -> Floats32:
        """The points z to which free roots are pulled."""
        return self.roots.centres

    @property
    def alphas(self) -> list[BlockAlphas]:
        """The present α of all blocks."""
        return [state.alphas for state in self.states]

    @property
    def visits(self) -> int:
        """The number of visits to rows, in all blocks, since the α were set."""
        return sum(state.visits for state in self.states)

    # ---------------------------------------------------------------- all blocks

    def list_active(self, active: list[Ids32]) -> None:
        """Set the active rows of all blocks, for as many sweeps as after a visit to all rows."""
        self.states = [state._replace(active=rows) for state, rows in zip(self.states, active, strict=True)]
        self.sweeps_listed = FULL_EVERY

    @property
    def is_listed(self) -> bool:
        """Whether the active rows of all blocks are known."""
        return self.sweeps_listed >= 0

    def candidates(self, b: int) -> Ids32:
        """Return the rows of a block that are active or have an α other than 0."""
        return np.union1d(self.states[b].active, self.states[b].alphas.rows)

    def sweep(self, sweep: int, rounds: list[list[int]], eps: float) -> None:
        """Visit every block once; those of a round start from the same snapshot."""
        full, self.is_fresh = self.begin_sweep(), False
        for together in rounds:
            below, counts = self.count_blocks(together)
            visit = partial(self.visit, counts=counts, eps=eps, sweep=sweep, full=full)
            changes = list(self.executor.map(visit, together))
            steps = steps_of(changes)
            totals = self.measure(steps, below)
            share = self.shorten({u: (float(squared_norms(s)), q) for u, (s, q) in totals.items()}, counts)
            self.move(together, below, steps, totals, share)
            for b, change in zip(together, changes, strict=True):
                self.states[b] = blend(self.states[b], change.state, share)
        self.end_sweep()

    def begin_sweep(self) -> bool:
        """Return whether the next sweep visits all rows."""
        full = self.sweeps_listed <= 0
        self.sweeps_listed = (FULL_EVERY if full else self.sweeps_listed) - 1
        return full

    def end_sweep(self) -> None:
        """Move the points to which free roots are pulled."""
        for place, root in enumerate(self.free.tolist()):
            self.V[root] += self.roots.advance(place, self.V[root])

    def count_blocks(self, together: list[int]) -> tuple[Any, Any]:
        """Return how many blocks of a round are below each stored node, and how many times it counts in their steps."""
        below = np.zeros(len(self.V), np.int64)
        for b in together:
            below[self.layout.blocks[b].stored] += 1
        return below, np.clip(MARGIN * self.agreement, 1, below).astype(np.float32) * (below > 0)

    def measure(self, steps: Steps, below: Any) -> Totals:
        """Return the sums of the steps at the nodes above several blocks of a round."""
        shared = [u for u in np.flatnonzero(below > 1).tolist() if u in steps]
        return dict(zip(shared, self.executor.map(lambda u: self._total(steps[u]), shared), strict=True))

    def shorten(self, squares: dict[int, tuple[float, float]], counts: Any) -> float:
        """Return the share of a round's changes for which the dual rises for sure, given ‖Σ Δ‖² and Σ ‖Δ‖² of nodes.

        Each block rises as much as if node u moved by √counts[u] times its step. So do all together, as long as
        ‖Σ Δ_u‖² ≤ counts[u] Σ ‖Δ_u‖²; where they agree more than that, all take a smaller step.
        """
        share = 1.0
        for u, (together, apart) in squares.items():
            if apart > 0:
                agreement = together / apart
                share = min(share, float(counts[u]) / agreement) if agreement > 0 else share
                before = self.agreement[u]
                self.agreement[u] = agreement if np.isinf(before) else max(agreement, FORGETTING * before)
        return share

    def move(self, together: list[int], below: Any, steps: Steps, totals: Totals, share: float) -> None:
        """Move the stored vectors by a share of a round's changes."""
        for u, (total, _) in totals.items():
            self.V[u] += np.float32(share) * total
        # Nodes above one block alone that are above the same lanes move alike.
        alone: dict[tuple[int, int], list[int]] = {}
        for b in together:
            block = self.layout.blocks[b]
            for u, lanes in zip(block.stored.tolist(), block.above.tolist(), strict=True):
                if below[u] == 1:
                    alone.setdefault((b, lanes), []).append(u)
        list(self.executor.map(lambda nodes: self._move(nodes, steps, share), alone.values()))

    def _move(self, nodes: list[int], steps: Steps, share: float) -> None:
        """Move the stored vectors of some nodes alike by a block's change; those without steps are held elsewhere."""
        held = [u for u in nodes if u in steps]
        if not held:
            return
        if len(nodes) == 1:
            self.add(*steps[held[0]][0], self.V[held[0]], share)
            return
        moved = np.zeros(self.V.shape[1], np.float32)
        self.add(*steps[held[0]][0], moved, share)
        for u in held:
            self.V[u] += moved

    def add(self, change: BlockChange, place: int, vector: Floats32, share: float = 1.0) -> None:
        """Move a stored vector by a block's change."""
        step = self.sharing * np.float32(share) * change.coefficients[:, place]
        kernels.add_change(self.rows.arrays, change.rows, step, vector)

    def _total(self, steps: list[tuple[BlockChange, int]]) -> tuple[Floats32, float]:
        """Return the sum of the steps Δ of several blocks at a stored node, and Σ ‖Δ‖²."""
        total, squares = np.zeros(self.V.shape[1], np.float32), 0.0
        for change, place in steps:
            moved = np.zeros_like(total)
            self.add(change, place, moved)
            squares += float(squared_norms(moved))  # not by BLAS, whose sums depend on the number of threads
            total += moved
        return total, squares

    # ---------------------------------------------------------------- one block

    @contextmanager
    def workspace(self) -> Iterator[Workspace]:
        """Lend a worker the arrays for one block; α is all 0, and must be so again."""
        try:
            space = self._workspaces.pop()
        except IndexError:  # a test before would let another worker take the last one in between
            space = Workspace(*(aligned_zeros(n) for n in (self.rows.n_used, self.rows.n_used, len(self.rows))))
        yield space
        self._workspaces.append(space)  # not after an error, which leaves α in it

    def lanes(self, b: int) -> LaneProblem:
        """Return a block's problem as kernels take it."""
        return self.problem.lanes(self.layout.blocks[b].classes, self.norms)

    def load(self, b: int, lanes: LaneProblem, space: Workspace) -> tuple[Floats32, Floats32]:
        """Put a block's weights and α into a workspace; return both."""
        block, alphas = self.layout.blocks[b], self.states[b].alphas
        block.put_weights(space.W, self.V, self.rows, lanes.mask, (alphas, block.local))
        kernels.put_rows(*alphas, space.alpha)
        return space.W, space.alpha

    def needs_float64(self, b: int) -> bool:
        """Tell whether a block's α are so large that their sums in float32 would lose too many digits."""
        values = self.states[b].alphas.values
        largest = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
        return largest * self.longest_row > LARGE_TERM

    def visit(self, b: int, counts: Any, eps: float, sweep: int, full: bool) -> BlockChange:
        """Improve a block, the others fixed; return how it changes."""
        block, state, lanes = self.layout.blocks[b], self.states[b], self.lanes(b)
        effort = count_effort()
        with self.workspace() as space:
            W, alpha = self.load(b, lanes, space)
            active = kernels.visit_block(
                lanes, self.surrogate, self.order if full else NO_ROWS, state.active, W, alpha,
                block.overlap(self.sharing * counts),
                np.float32(eps), np.float32(RESTING), self.passes, random_generator(self.seed, b, sweep),
                effort,
            )  # fmt: skip
            if sweep > 0 and self.relaxation > 1:
                kernels.relax(lanes, self.surrogate, *state.alphas, np.float32(self.relaxation), alpha)
            visits = state.visits + int(effort[VISITS])
            return self._unload(b, lanes.mask, alpha, active if full else state.active, visits)

    def _unload(self, b: int, mask: Any, alpha: Floats32, active: Any, visits: int = 0) -> BlockChange:
        """Return the new α of a workspace, and how they move the stored vectors; set α to 0."""
        block, before, after = self.layout.blocks[b], self.states[b].alphas, self.nonzero_alphas(alpha)
        rows = np.empty(len(alpha), np.int32)
        most = min(len(alpha), len(after.rows) + len(before.rows))
        coefficients = np.empty((most, len(block.stored)), np.float32)
        count = kernels.changes(alpha, mask, *before, block.above, coefficients, rows)
        rows = rows[:count].copy()
        kernels.clear(rows, alpha)
        return BlockChange(BlockState(after, active, visits), block.stored, rows, coefficients[:count].copy())

    def nonzero_alphas(self, alpha: Floats32) -> BlockAlphas:
        """Return the α of a workspace that are not 0."""
        listed = np.empty(len(alpha), np.int32)
        count = kernels.nonzero_rows(alpha, listed)
        listed = self.order if count == len(alpha) else listed[:count].copy()  # one list serves all full blocks
        return BlockAlphas(listed, alpha[listed])

    # ---------------------------------------------------------------- α and the vectors that belong to them

    def start_from(self, alphas: list[BlockAlphas]) -> None:
        """Set the α of all blocks, clipped to their bounds, and the stored vectors that belong to them."""
        self.roots.begin_at(self.centres)
        self.V[:] = 0
        self.V[self.free] = self.centres
        self.states, self.sweeps_listed, self.is_fresh = [BlockState() for _ in alphas], -1, False
        for b, block_alphas in enumerate(alphas):
            change = self.begin_at(b, block_alphas)
            for place, u in enumerate(change.nodes.tolist()):
                self.add(change, place, self.V[u])

    def change_to(self, b: int, after: BlockState) -> BlockChange:
        """Return the change of a block from its present state to another."""
        with self.workspace() as space:
            kernels.put_rows(*after.alphas, space.alpha)
            change = self._unload(b, self.lanes(b).mask, space.alpha, after.active, after.visits)
        return change._replace(state=after)

    def begin_at(self, b: int, alphas: BlockAlphas) -> BlockChange:
        """Set the α of a block that has none, clipped to their bounds; return how they move the stored vectors."""
        lanes = self.lanes(b)
        with self.workspace() as space:
            kernels.put_rows(*alphas, space.alpha)
            kernels.relax(lanes, self.surrogate, *BlockAlphas.none(), np.float32(1), space.alpha)
            change = self._unload(b, lanes.mask, space.alpha, NO_ROWS)
        self.states[b] = change.state
        return change

    def refresh(self) -> None:
        """Recompute the stored vectors from α, without the rounding errors of the sweeps."""
        self.pulls = self.layout.set_vectors(self.V, self.rows, self.sums_of_lanes, self.centres)
        self.is_fresh = True

    def sums_of_lanes(self, b: int, here: Ids) -> LaneSums:
        """Return the rows of a block with α, and Σ α y over the lanes below some stored nodes above it."""
        rows, values = self.states[b].alphas
        return self.layout.blocks[b].sums_of_lanes(self._sign(b, BlockAlphas(rows, values.copy())), here)

    def path_sums(self, own: list[BlockAlphas] | None) -> PathSums:
        """Return the sums that the leaves' weights are; the signs of α are changed in place, so they end here."""
        signed = [self._sign(b, alphas) for b, alphas in enumerate(self.alphas)]
        own = None if own is None else [self._sign(b, alphas) for b, alphas in enumerate(own)]
        blocks = self.layout.blocks
        self.layout.set_vectors(
            self.V, self.rows, lambda b, here: blocks[b].sums_of_lanes(signed[b], here), self.centres
        )
        return PathSums(self.layout, self.V, self.rows, signed, own, self.surrogate.sparse_dual)

    def _sign(self, b: int, alphas: BlockAlphas) -> BlockAlphas:
        """Turn the α of a block into α y, in place."""
        kernels.sign_rows(self.lanes(b).mask, *alphas)
        return alphas


def steps_of(changes: list[BlockChange]) -> Steps:
    """Return the changes of a round by the stored nodes that they move."""
    steps: Steps = {}
    for change in changes:
        for place, u in enumerate(change.nodes.tolist()):
            steps.setdefault(u, []).append((change, place))
    return steps


def blend(before: BlockState, after: BlockState, share: float) -> BlockState:
    """Return the state between two."""
    if share == 1:
        return after
    listed = np.union1d(before.alphas.rows, after.alphas.rows)
    values = np.zeros((len(listed), WIDTH), np.float32)
    for alphas, part in ((before.alphas, 1 - share), (after.alphas, share)):
        values[np.searchsorted(listed, alphas.rows)] += np.float32(part) * alphas.values
    return BlockState(BlockAlphas(listed, values), after.active, after.visits)
