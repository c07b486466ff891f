"""How far the joint dual is from the optimum: its value, and a primal point that belongs to it.

w(α) is a poor primal for the hinges: many rows miss the margin by a little. Leaves that are optimal given their
parents, the nodes above being as α say, are a good one. For the logistic loss w(α) is a good one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels import joint as kernels
from cladist.kernels import one_vs_rest as flat
from cladist.kernels.lanes import WIDTH
from cladist.solvers.joint import IDENTITY, Alphas, Joint, Room

Floats32 = npt.NDArray[np.float32]
Figures = tuple[float, ...]  # what α gain, Σ α m, by how much Σ ‖w − w_parent‖² of leaves changes, Σ c ℓ, longest ‖w‖


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


def measured(joint: Joint) -> Measured:
    """Return where the dual is. O(leaves / 16 · (features + nonzeros of rows in which an α is not 0))."""
    found = list(joint.executor.map(partial(_dual_terms, joint), range(len(joint.layout.blocks))))
    return _placed(joint, *np.sum(found, axis=0).tolist())


def _placed(joint: Joint, gain: float, product: float) -> Measured:
    w = joint.V[joint.free].astype(np.float64)
    s = (w - joint.centres) / joint.sharing
    pulled = float(np.sum(w * s))
    return Measured(gain, product - pulled, pulled, float(np.sum(np.sqrt(np.sum(s * s, axis=1)))))


def _dual_terms(joint: Joint, b: int) -> tuple[float, float]:
    part, listed = joint.part(b), joint.states[b].alphas.listed
    with joint.room() as room:
        W, alpha = joint.load(b, part, room)
        terms: tuple[float, float] = kernels.dual_terms(part, joint.loss, listed, W, alpha)
        kernels.clear(listed, alpha)
    return terms


def finished(joint: Joint, eps: float, max_sweeps: int, *, dense: bool) -> Finished:
    """Solve every leaf's own problem, the nodes above fixed, and say how good that is; the state stays as it is."""
    numbers = range(len(joint.layout.blocks))
    if joint.problem.loss == "logistic":
        return _summed(joint, list(joint.executor.map(partial(_evaluated, joint), numbers)), None, None)
    solve = partial(_solved_leaves, joint, eps=eps, max_sweeps=max_sweeps, dense=dense)
    found = list(joint.executor.map(solve, numbers))
    leaves: list[Any] = [leaf for leaf, _ in found]
    return _summed(joint, [figures for _, figures in found], *((leaves, None) if dense else (None, leaves)))


def _summed(joint: Joint, figures: list[Figures], weights: list[Floats32] | None, own: list[Alphas] | None) -> Finished:
    *parts, longest = zip(*figures, strict=True)
    gain, product, change, lost = (float(np.sum(part)) for part in parts)
    where = _placed(joint, gain, product)
    return Finished(weights, own, where, (where.energy + change) / 2 + lost, max(longest))


def _evaluated(joint: Joint, b: int) -> Figures:
    part = joint.part(b)
    with joint.room() as room:
        W, alpha = joint.load(b, part, room)
        lost, gap, product = kernels.joint_terms(part, joint.loss, W, alpha)
        kernels.clear(joint.states[b].alphas.listed, alpha)
        return lost + product - gap, product, 0.0, lost, _longest(W, part[-1])


def _solved_leaves(joint: Joint, b: int, eps: float, max_sweeps: int, dense: bool) -> tuple[Any, Figures]:
    with joint.room() as room:
        return _solved(joint, b, eps, max_sweeps, dense, room)


def _solved(joint: Joint, b: int, eps: float, max_sweeps: int, dense: bool, room: Room) -> tuple[Any, Figures]:
    block, alphas, part = joint.layout.blocks[b], joint.states[b].alphas, joint.part(b)
    rows, _, mask, *_, n_lanes = part
    W, alpha = joint.load(b, part, room)
    terms = kernels.dual_terms(part, joint.loss, alphas.listed, W, alpha)
    above = room.above
    kernels.put_paths(joint.V, block.paths, block.groups, above)
    kernels.add_rows(rows, mask, *alphas, block.local_above, above)
    before = kernels.squared_distance(W, above, n_lanes)
    first = np.flatnonzero(mask).astype(np.int32)
    generator = np.random.default_rng((joint.seed, b)).integers(1, 2**63, 1, dtype=np.uint64)
    flat.descend(part[:-1], joint.loss, joint.order, first, W, alpha, np.float32(eps), max_sweeps, generator)
    alpha[:, n_lanes:] = 0
    own = joint.taken(alpha)
    if not dense:  # what is measured is what can be made again from α, not W as it has become step by step
        W[:] = above
        kernels.add_rows(rows, mask, *own, IDENTITY, W)
    after = kernels.squared_distance(W, above, n_lanes)
    lost, _, _ = kernels.joint_terms(part, joint.loss, W, alpha)
    kernels.clear(own.listed, alpha)
    return W.copy() if dense else own, (*terms, after - before, lost, _longest(W, n_lanes))


def _longest(W: Floats32, n_lanes: int) -> float:
    """Return the largest ‖w‖ of the lanes in use."""
    norms = np.empty(WIDTH)
    flat.squared_norms(W, norms)
    return float(np.sqrt(norms[:n_lanes].max()))
