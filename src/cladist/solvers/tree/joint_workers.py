"""The joint dual with its blocks on several workers: the log of changes is the state.

Worker   holds the rows, the α of its own blocks, and the vectors of the stored nodes above them, in a `JointDual` whose
         other vectors are never touched. Blocks are divided by subtree, so that few nodes are above blocks of several
         workers: these are shared
Round    workers visit their blocks; what comes back of a visit is small, a `Step`: the rows that moved, their new α,
         and the coefficients of shared nodes. Rows and coefficients of the round go to all workers, and each applies
         them to its own vectors in the order of blocks. So copies stay equal, bit for bit, and equal to those of one
         process
Vectors  never travel, but for those of free roots
Faults   a lost worker is rebuilt from the α at the last recomputation of all vectors, and the steps since
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.execution import Executor, Serial, executor_for, in_this_process
from cladist.execution.worker_group import WorkerGroup
from cladist.linear_model.path_sums import PathSums
from cladist.linear_model.problem_tree import BlockAlphas, LaneSums, LeafBlocks, squared_norms
from cladist.linear_model.training_rows import Floats32, Ids
from cladist.solvers.problem import OneVsRest
from cladist.solvers.tree.joint_dual import (
    BlockChange,
    BlockState,
    FreeRoots,
    Ids32,
    JointDual,
    Steps,
    Totals,
    blend,
    steps_of,
)


class Step(NamedTuple):
    """What a visit has changed."""

    rows: Ids32  # the rows of which some α moved
    values: Floats32  # their new α
    active: Ids32 | None  # the active rows, if all rows were visited
    visits: int
    coefficients: Floats32  # by which each shared node above the block moves along the rows


SharedStep = tuple[Ids32, Floats32]  # the part of a step that other workers need: rows and coefficients


def open_joint(
    problem: OneVsRest, layout: LeafBlocks, executor: Executor | None, seed: int, blocks_per_round: int
) -> JointDual:
    """Return the joint dual, on the workers of an executor that has some elsewhere."""
    if executor is None or in_this_process(executor):
        return JointDual(problem, layout, executor, seed)
    return RemoteJoint(problem, layout, executor, seed, blocks_per_round)


class Division(NamedTuple):
    """Which worker has which blocks, and which stored nodes are above blocks of several workers."""

    owner: Ids  # of each block
    holders: npt.NDArray[np.bool_]  # (workers × stored nodes)

    @classmethod
    def of(cls, layout: LeafBlocks, n_workers: int) -> Division:
        """Divide blocks, in the order of a walk through the tree, into stretches of equal length."""
        n_blocks = len(layout.blocks)
        owner = np.arange(n_blocks) * n_workers // max(1, n_blocks)
        holders = np.zeros((n_workers, len(layout.stored_nodes)), bool)
        for b, block in enumerate(layout.blocks):
            holders[owner[b], block.stored] = True
        return cls(owner, holders)

    @property
    def is_shared(self) -> npt.NDArray[np.bool_]:
        """Whether each stored node is held by several workers."""
        return self.holders.sum(axis=0) > 1

    def own(self, k: int) -> list[int]:
        """Return the blocks of a worker."""
        return np.flatnonzero(self.owner == k).tolist()

    def led(self, k: int) -> list[int]:
        """Return the stored nodes that a worker speaks for: of several, the first."""
        return np.flatnonzero(self.holders[k] & ~self.holders[:k].any(axis=0)).tolist()


# ---------------------------------------------------------------- a worker, and what it is called to do


class JointWorker:
    """A worker's part of the joint dual."""

    def __init__(self, problem: OneVsRest, layout: LeafBlocks, seed: int, division: Division, number: int) -> None:
        self.joint = JointDual(problem, layout, Serial(), seed)
        self.own, self.led = division.own(number), division.led(number)
        self.held, self.is_shared = division.holders[number], division.is_shared
        self.changes: dict[int, BlockChange] = {}  # of the round, not yet applied
        self.steps: Steps = {}
        self.totals: Totals = {}
        self.together: list[int] = []

    def shared_places(self, b: int) -> Ids:
        """Return which of the stored nodes above a block are shared."""
        return np.flatnonzero(self.is_shared[self.joint.layout.blocks[b].stored])

    def foreign_change(self, b: int, rows: Ids32, coefficients: Floats32) -> BlockChange:
        """Return the change of another worker's block, at shared nodes alone."""
        nodes = self.joint.layout.blocks[b].stored[self.shared_places(b)]
        return BlockChange(BlockState(), nodes, rows, coefficients)

    def held_steps(self, changes: dict[int, BlockChange]) -> Steps:
        """Return changes by the stored nodes that are held here."""
        steps = steps_of([changes[b] for b in sorted(changes, key=self.together.index)])
        return {u: parts for u, parts in steps.items() if self.held[u]}

    def apply(self, share: float | None) -> None:
        """Apply a share of the last round's changes, if that has not been done."""
        if share is None:
            return
        joint = self.joint
        below, _ = joint.count_blocks(self.together)
        joint.move(self.together, below, self.steps, self.totals, share)
        for b, change in self.changes.items():
            joint.states[b] = blend(joint.states[b], change.state, share)
        self.changes, self.steps, self.totals = {}, {}, {}


def visit(worker: JointWorker, share: float | None, options: tuple[list[int], dict[str, Any]]) -> dict[int, Step]:
    """Apply the last round, and visit the own blocks of the next."""
    worker.apply(share)
    worker.together, details = options
    own = [b for b in worker.together if b in set(worker.own)]
    worker.changes = {b: worker.joint.visit(b, **details) for b in own}
    return {b: _step(worker, b, change, details["full"]) for b, change in worker.changes.items()}


def _step(worker: JointWorker, b: int, change: BlockChange, full: bool) -> Step:
    state, coefficients = change.state, change.coefficients[:, worker.shared_places(b)]
    return Step(change.rows, moved_alphas(change), state.active if full else None, state.visits, coefficients)


def moved_alphas(change: BlockChange) -> Floats32:
    """Return the new α of the rows of which some moved."""
    alphas = change.state.alphas
    values = np.zeros((len(change.rows), alphas.values.shape[1]), np.float32)
    kept = np.isin(change.rows, alphas.rows)
    values[kept] = alphas.values[np.searchsorted(alphas.rows, change.rows[kept])]
    return values


def visit_again(worker: JointWorker, told: tuple[float | None, dict[int, Step]], options: Any) -> None:
    """Do as `visit`, with the steps that a lost worker found."""
    share, found = told
    worker.apply(share)
    worker.together = options[0]
    for b, step in found.items():
        after = merge(worker.joint.states[b], step)
        worker.changes[b] = worker.joint.change_to(b, after)


def measure(worker: JointWorker, _: None, steps: dict[int, SharedStep]) -> dict[int, tuple[float, float]]:
    """Take in the steps of other workers; return ‖Σ Δ‖² and Σ ‖Δ‖² of the nodes that this one speaks for."""
    others = {b: worker.foreign_change(b, *step) for b, step in steps.items() if b not in worker.changes}
    worker.steps = worker.held_steps({**worker.changes, **others})
    below, _counts = worker.joint.count_blocks(worker.together)
    worker.totals = worker.joint.measure(worker.steps, below)
    led = set(worker.led)
    return {u: (float(squared_norms(s)), q) for u, (s, q) in worker.totals.items() if u in led}


def end_sweep(worker: JointWorker, _: None, share: float | None) -> dict[int, tuple[Floats32, list[Any]]]:
    """Apply the last round, and move the points that free roots are pulled to; return those it speaks for."""
    worker.apply(share)
    joint = worker.joint
    joint.end_sweep()
    led = [(place, u) for place, u in enumerate(joint.free.tolist()) if u in worker.led]
    return {place: (joint.V[u], [part[place] for part in joint.roots]) for place, u in led}


def put_states(worker: JointWorker, states: dict[int, BlockState], told: tuple[FreeRoots, int]) -> None:
    """Set the states of the own blocks, the free roots, and for how long active rows are listed."""
    for b, state in states.items():
        worker.joint.states[b] = state
    roots, worker.joint.sweeps_listed = told
    worker.joint.roots.put(slice(None), roots)


def give_sums(worker: JointWorker, _: None, __: None) -> dict[int, LaneSums]:
    """Return the rows and factors with which the own blocks enter shared nodes."""
    return {b: worker.joint.sums_of_lanes(b, worker.shared_places(b)) for b in worker.own}


def refresh(
    worker: JointWorker, _: None, told: tuple[dict[int, LaneSums], int]
) -> tuple[dict[int, Any], dict[int, Any]]:
    """Recompute the vectors held here; return ‖v‖² of those it speaks for, and of free roots the vectors and pulls."""
    joint, own = worker.joint, set(worker.own)
    given, joint.sweeps_listed = told

    def sums_of_lanes(b: int, here: Ids) -> LaneSums:
        if b in own:
            return joint.sums_of_lanes(b, here)
        rows, steps = given[b]
        return rows, steps[np.searchsorted(worker.shared_places(b), here)]

    pulls = joint.layout.set_vectors(joint.V, joint.rows, sums_of_lanes, joint.centres, np.flatnonzero(worker.held))
    number = {u: place for place, u in enumerate(joint.free.tolist())}
    roots = {number[u]: (joint.V[u], pulls[number[u]]) for u in worker.led if u in number}
    return {u: squared_norms(joint.V[u]) for u in worker.led}, roots


def begin(worker: JointWorker, alphas: dict[int, BlockAlphas], centres: Floats32) -> dict[int, Any]:
    """Begin at some α of the own blocks; return the clipped ones, and how they move shared nodes."""
    worker.joint.states, worker.joint.sweeps_listed = [BlockState() for _ in worker.joint.states], -1
    worker.joint.roots.begin_at(centres)
    worker.changes = {b: worker.joint.begin_at(b, own) for b, own in alphas.items()}
    return {
        b: (change.state.alphas, change.rows, change.coefficients[:, worker.shared_places(b)])
        for b, change in worker.changes.items()
    }


def build(worker: JointWorker, _: None, given: dict[int, Any]) -> None:
    """Make the vectors held here from the changes that `begin` returned."""
    joint = worker.joint
    for u in np.flatnonzero(worker.held).tolist():
        joint.V[u] = 0
    for place, u in enumerate(joint.free.tolist()):
        if worker.held[u]:
            joint.V[u] = joint.centres[place]
    for b in range(len(joint.states)):
        change = worker.changes[b] if b in worker.changes else worker.foreign_change(b, *given[b][1:])
        for place, u in enumerate(change.nodes.tolist()):
            if worker.held[u]:
                joint.add(change, place, joint.V[u])
    worker.changes = {}


def put_active(worker: JointWorker, active: dict[int, Ids32], sweeps_listed: int) -> None:
    """List the active rows of the own blocks."""
    for b, rows in active.items():
        worker.joint.states[b] = worker.joint.states[b]._replace(active=rows)
    worker.joint.sweeps_listed = sweeps_listed


def run(worker: JointWorker, arguments: dict[int, Any], told: tuple[Any, dict[str, Any]]) -> dict[int, Any]:
    """Call a function with each of the own blocks."""
    function, options = told
    return {b: function(worker.joint, b, argument, **options) for b, argument in arguments.items()}


def merge(before: BlockState, step: Step) -> BlockState:
    """Return the state after a step."""
    rows = np.union1d(before.alphas.rows, step.rows)
    values = np.zeros((len(rows), step.values.shape[1]), np.float32)
    values[np.searchsorted(rows, before.alphas.rows)] = before.alphas.values
    values[np.searchsorted(rows, step.rows)] = step.values
    kept = np.any(values != 0, axis=1)
    active = before.active if step.active is None else step.active
    return BlockState(BlockAlphas(rows[kept].astype(np.int32), values[kept]), active, step.visits)


# ---------------------------------------------------------------- the process that leads them


class RemoteJoint(JointDual):
    """The joint dual on workers; here are the α of all blocks, and of vectors those of free roots alone."""

    def __init__(self, problem: OneVsRest, layout: LeafBlocks, executor: Any, seed: int, blocks_per_round: int) -> None:
        super().__init__(problem, layout, executor_for(-1), seed)
        # A worker without a block in a round would wait.
        self.n_workers = max(1, min(executor.n_workers, blocks_per_round, len(layout.blocks)))
        self.division = Division.of(layout, self.n_workers)
        make = partial(JointWorker, problem, layout, seed, self.division)
        self.group = WorkerGroup(executor, make, self.n_workers)
        self.share: float | None = None  # of the last round, which workers have yet to apply
        self.energies: dict[int, float] = {}  # ‖v‖² of stored nodes, as they were recomputed last
        self.is_open, self.n_sweeps = True, 0

    @cached_property
    def own(self) -> list[list[int]]:
        """The blocks of each worker."""
        return [self.division.own(k) for k in range(self.n_workers)]

    def _divided(self, parts: list[Any]) -> list[dict[int, Any]]:
        """Return for each worker what belongs to its blocks."""
        return [{b: parts[b] for b in own} for own in self.own]

    def sweep(self, sweep: int, rounds: list[list[int]], eps: float) -> None:
        """Visit every block once; those of a round start from the same snapshot."""
        full, self.is_fresh = self.begin_sweep(), False
        self.n_sweeps += 1
        for together in rounds:
            _, counts = self.count_blocks(together)
            told = together, {"counts": counts, "eps": eps, "sweep": sweep, "full": full}
            share = self.share
            found = self.group.call(visit, [share] * self.n_workers, told, replay=partial(_again, share, told))
            steps = {b: step for part in found for b, step in part.items()}
            # Blocks without a shared node above them concern nobody else.
            shared = {b: (step.rows, step.coefficients) for b, step in steps.items() if step.coefficients.shape[1]}
            measured = self.group.call(measure, None, shared)
            squares = {u: pair for part in measured for u, pair in part.items()}
            self.share = self.shorten({u: squares[u] for u in sorted(squares)}, counts)
            for b in together:
                self.states[b] = blend(self.states[b], merge(self.states[b], steps[b]), self.share)
        self._settle()

    def _settle(self) -> None:
        """Let all workers apply the last round."""
        for part in self.group.call(end_sweep, None, self.share):
            for place, (vector, root) in part.items():
                self.V[self.free[place]] = vector
                self.roots.put(place, root)
        self.share = None

    def refresh(self) -> None:
        """Recompute the stored vectors from α, without the rounding errors of the sweeps."""
        given = {b: s for part in self.group.call(give_sums, is_logged=False) for b, s in part.items()}
        self.group.begin_log((put_states, self._divided(self.states), (self.roots.copy(), self.sweeps_listed)))
        self.pulls = np.zeros((len(self.free), self.rows.n_used))
        for energies, roots in self.group.call(refresh, None, (given, self.sweeps_listed)):
            self.energies.update(energies)
            for place, (vector, pull) in roots.items():
                self.V[self.free[place]], self.pulls[place] = vector, pull
        self.is_fresh = True

    def take_over(self) -> None:
        """Make the stored vectors belong to states and centres that were set from outside."""
        self.group.call(put_states, self._divided(self.states), (self.roots.copy(), self.sweeps_listed))
        self.refresh()

    def start_from(self, alphas: list[BlockAlphas]) -> None:
        """Set the α of all blocks, clipped to their bounds, and the stored vectors that belong to them."""
        self.states, self.sweeps_listed, self.is_fresh = [BlockState() for _ in alphas], -1, False
        if not self.is_open:  # only the α count from now on
            for b, own in enumerate(alphas):
                self.begin_at(b, own)
            return
        self.group.begin_log()
        given = self.group.call(begin, self._divided(alphas), self.centres.copy())
        begun = {b: entry for part in given for b, entry in part.items()}
        for b, (clipped, _, _) in begun.items():
            self.states[b] = BlockState(clipped)
        self.group.call(build, None, {b: (None, *entry[1:]) for b, entry in begun.items()})
        self.roots.begin_at(self.centres)
        self.V[self.free] = self.centres  # as far as is known here

    def list_active(self, active: list[Ids32]) -> None:
        """Set the active rows of all blocks, for as many sweeps as after a visit to all rows."""
        super().list_active(active)
        self.group.call(put_active, self._divided(active), self.sweeps_listed)

    def map_blocks(self, function: Any, arguments: list[Any] | None = None, **options: Any) -> list[Any]:
        """Return ``function(joint, b, argument of b, **options)`` of all blocks b, which changes nothing."""
        arguments = [None] * len(self.states) if arguments is None else arguments
        answers = self.group.call(run, self._divided(arguments), (function, options), is_logged=False)
        results = {b: result for part in answers for b, result in part.items()}
        return [results[b] for b in range(len(self.states))]

    def stored_energy(self) -> float:
        """Return Σ ‖v‖² / κ over the stored nodes that are not free."""
        if not self.is_open:
            return super().stored_energy()
        pulled = np.setdiff1d(np.arange(len(self.V)), self.free).tolist()
        return float(sum(self.energies[u] for u in pulled)) / float(self.sharing)

    def path_sums(self, own: list[BlockAlphas] | None) -> PathSums:
        """Return the sums that the leaves' weights are; the workers end, and all vectors are made here."""
        self.close()
        return super().path_sums(own)

    def close(self) -> None:
        """End the workers."""
        if self.is_open:
            self.is_open = False
            passed = (self.group.bytes_sent + self.group.bytes_received) / max(1, self.n_sweeps) / 1e6
            progress.announce(f"{self.n_workers} workers exchanged {passed:.1f} MB per sweep, checks included.")
            self.group.close()


def _again(share: float | None, told: Any, found: list[dict[int, Step]]) -> Any:
    """Return the entry of the log that stands for a visit."""
    return visit_again, [(share, part) for part in found], told
