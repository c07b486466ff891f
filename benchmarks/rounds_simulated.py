"""Rounds of the joint solver on many machines, simulated from the recorded log of a run in one process.

`record` trains, and logs what every visit, sum and move took on the processor and how many rows moved. `simulate` deals
the blocks out to workers as `cladist.solvers.tree.joint_workers` does, and adds up what has to wait for each other:

visit    the longest, over workers, of the moves of the last round and the visits of this one
collect  the steps of all blocks over the link of the leading process
share    rows and coefficients of blocks below shared nodes to all workers, passed on from machine to machine: as many
         copies one after the other as a binary tree is deep
measure  the longest, over workers, of the sums at the nodes that they hold
lead     the leading process merges all steps, one after the other

Every worker is a machine of its own. Checks of the gap, pickling and the start are left out.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cladist.solvers.tree.joint_dual import JointDual
from cladist.solvers.tree.joint_workers import Division, Step, merge, moved_alphas

LINK, CALL = 10e9 / 8, 1e-3  # bytes per second, and seconds of one call of all workers
FIXED = 4 + 64  # bytes of a row that moved: its number, and sixteen α


@dataclass
class Round:
    """What one round took, by block and by node."""

    full: bool = False
    visits: dict[int, float] = field(default_factory=dict)  # seconds by block
    rows: dict[int, int] = field(default_factory=dict)  # that moved, by block
    active: dict[int, int] = field(default_factory=dict)  # rows that are listed, by block
    merges: float = 0.0
    sums: dict[int, float] = field(default_factory=dict)  # seconds by node above several blocks
    terms: int = 0  # of these sums
    moves: dict[int, float] = field(default_factory=lambda: defaultdict(float))  # seconds by block, of its own nodes


class Log:
    """The rounds of a run, and the blocks that they are of."""

    def __init__(self) -> None:
        self.rounds: list[Round] = []
        self.layout: Any = None
        self.block_of: dict[int, int] = {}  # by the identity of a change

    @property
    def seconds(self) -> float:
        """What all rounds took in one process."""
        return sum(sum(each.values()) for r in self.rounds for each in (r.visits, r.sums, r.moves))


@contextmanager
def record() -> Iterator[Log]:
    """Log the rounds of fits inside the block, which run in this thread."""
    log, saved = (
        Log(),
        {name: getattr(JointDual, name) for name in ("visit", "count_blocks", "_total", "_move", "move")},
    )

    def count_blocks(joint: JointDual, together: list[int]) -> Any:
        log.layout = joint.layout
        log.rounds.append(Round())
        return saved["count_blocks"](joint, together)

    def visit(joint: JointDual, b: int, **details: Any) -> Any:
        now, started = log.rounds[-1], time.thread_time()
        change = saved["visit"](joint, b, **details)
        step = Step(change.rows, moved_alphas(change), None, 0, change.coefficients)
        now.visits[b], now.full = time.thread_time() - started, details["full"]
        now.rows[b], now.active[b] = len(change.rows), len(change.state.active)
        log.block_of[id(change)] = b
        started = time.thread_time()
        merge(joint.states[b], step)
        now.merges += time.thread_time() - started
        return change

    def total(joint: JointDual, steps: list[Any]) -> Any:
        change, place = steps[0]
        started = time.thread_time()
        found = saved["_total"](joint, steps)
        log.rounds[-1].sums[int(change.nodes[place])] = time.thread_time() - started
        log.rounds[-1].terms += len(steps)
        return found

    def move_block(joint: JointDual, nodes: list[int], steps: Any, share: float) -> None:
        started = time.thread_time()
        saved["_move"](joint, nodes, steps, share)
        log.rounds[-1].moves[log.block_of[id(steps[nodes[0]][0][0])]] += time.thread_time() - started

    def move(joint: JointDual, together: list[int], below: Any, steps: Any, totals: Any, share: float) -> None:
        now, started = log.rounds[-1], time.thread_time()
        saved["move"](joint, together, below, steps, totals, share)
        rest = time.thread_time() - started - sum(now.moves.values())
        for u in totals:
            now.sums[u] += rest / len(totals)
        log.block_of.clear()

    for name, patch in (("visit", visit), ("count_blocks", count_blocks), ("_total", total)):
        setattr(JointDual, name, patch)
    JointDual._move, JointDual.move = move_block, move  # type: ignore[method-assign]
    try:
        yield log
    finally:
        for name, method in saved.items():
            setattr(JointDual, name, method)


def simulate(log: Log, n_workers: int) -> dict[str, float]:
    """Return seconds of the critical path by what they are spent on, and bytes over the leading process's link."""
    division = Division.of(log.layout, n_workers)
    owner, held = division.owner, division.holders.astype(float)
    shared = [int(division.is_shared[block.stored].sum()) for block in log.layout.blocks]
    spent, moved = dict.fromkeys(("visit", "measure", "lead", "network"), 0.0), np.zeros(n_workers)
    n_bytes = 0
    for now in log.rounds:
        busy, moved = moved, np.zeros(n_workers)
        for b, seconds in now.visits.items():
            busy[owner[b]] += seconds
        for b, seconds in now.moves.items():
            moved[owner[b]] += seconds
        sums = np.zeros(held.shape[1])
        sums[list(now.sums)] = list(now.sums.values())
        to_leader = sum(n * (FIXED + 4 * shared[b]) + 4 * now.full * now.active[b] for b, n in now.rows.items())
        to_all = sum(n * 4 * (1 + shared[b]) for b, n in now.rows.items() if shared[b])
        n_bytes += to_leader + to_all
        spent["visit"] += float(busy.max())
        spent["measure"] += float((held @ sums).max())
        spent["lead"] += now.merges
        spent["network"] += (to_leader + to_all * math.ceil(math.log2(n_workers + 1))) / LINK + 2 * CALL
    spent["visit"] += float(moved.max())
    return {**spent, "bytes": n_bytes}
