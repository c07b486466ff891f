"""How far the joint dual is from the optimum: its value, and a primal point that belongs to it.

w(α) is a poor primal for the hinges: many rows miss the margin by a little. Leaves that are optimal given their
parents, the nodes above being as α say, are a good one. For the logistic loss w(α) is a good one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.kernels import joint as kernels
from cladist.kernels import one_vs_rest as flat
from cladist.kernels.lanes import WIDTH
from cladist.linear_model.path_sums import IDENTITY, BlockAlphas, PathSumWeights, block_vectors
from cladist.linear_model.problem_tree import squared_norms
from cladist.linear_model.training_rows import aligned_zeros
from cladist.solvers.linear.rounding import EPSILON
from cladist.solvers.tree.joint_dual import LARGE_TERM, Joint, Room

SMALLEST_FLOAT32, SMALLEST_FLOAT64 = 1e-6, 1e-10  # violations of optimality that leaves are asked for at most
TRIED_ROUNDINGS = (0.0, 0.5, 1.0, 2.0, 4.0)  # by how many float32 roundings weights are lengthened in trial

Floats32 = npt.NDArray[np.float32]


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
    own : list of BlockAlphas, or None
        Otherwise, whose sums the leaves add to their parents' weights; None: those of the state.
    measured : Measured
    primal : float
    lost : float
        Σ c ℓ, the part of the primal that the nodes above have no part in.
    longest : float
        The largest ‖w‖ of a leaf.
    """

    weights: list[Floats32] | None
    own: list[BlockAlphas] | None
    measured: Measured
    primal: float
    lost: float
    longest: float


@dataclass(frozen=True)
class _Terms:
    """What a block adds to the dual and, if its leaves were solved, to the primal.

    Attributes
    ----------
    gain, product : float
        What α gain, and Σ α m: with all nodes on the path to a leaf, or, if there are free roots, with those alone that
        are not stored.
    inner : float
        Σ ‖v‖² / κ of inner nodes that are not stored.
    leaves : float
        Σ ‖w − w_parent‖² of the leaves.
    lost : float
        Σ c ℓ at the leaves.
    longest : float
        The largest ‖w‖ of a leaf.
    """

    gain: float
    product: float
    inner: float = 0.0
    leaves: float = 0.0
    lost: float = 0.0
    longest: float = 0.0


def measured(joint: Joint) -> Measured:
    """Return where the dual is. O(leaves / 16 · (features + nonzeros of rows in which an α is not 0))."""
    joint.refresh()
    return _placed(joint, list(joint.executor.map(partial(_dual_terms, joint), range(len(joint.layout.blocks)))))


def _placed(joint: Joint, terms: list[_Terms]) -> Measured:
    gain, product = sum(each.gain for each in terms), sum(each.product for each in terms)
    if not len(joint.free):
        return Measured(gain, product)
    # A free root is as long as it likes and counts nothing, so it is left out of all sums: taken off again it would
    # leave nothing but rounding.
    w, s = joint.V[joint.free].astype(np.float64), joint.pulls
    apart = float(np.sum(np.sqrt(np.sum(s * s, axis=1))))
    return Measured(gain, product + stored_energy(joint), float(np.sum(w * s)), apart)


def stored_energy(joint: Joint) -> float:
    """Return Σ ‖v‖² / κ over the stored nodes that are pulled."""
    pulled = np.setdiff1d(np.arange(len(joint.V)), joint.free).tolist()
    return float(sum(squared_norms(joint.V[u]) for u in pulled)) / float(joint.sharing)


def _dual_terms(joint: Joint, b: int) -> _Terms:
    part = joint.part(b)
    with joint.room() as room:
        kernels.put_rows(*joint.states[b].alphas, room.alpha)
        terms = _terms_of_dual(joint, b, part, room)
        kernels.clear(joint.states[b].alphas.rows, room.alpha)
    return terms


def _terms_of_dual(joint: Joint, b: int, part: Any, room: Room) -> _Terms:
    """Return what a block's α, which are in the room, add to the dual; `room.W` is used up."""
    W = _dual_weights(joint, b, part, room)
    return _Terms(*kernels.dual_terms(part, joint.loss, joint.states[b].alphas.rows, W, room.alpha))


def _dual_weights(joint: Joint, b: int, part: Any, room: Room) -> npt.NDArray[Any]:
    """Return w(α) of a block's leaves, without stored nodes if there are free roots; in `room.W`, or in float64."""
    block = joint.layout.blocks[b]
    W = np.zeros(room.W.shape) if joint.needs_float64(b) else room.W
    W[:] = 0
    if not len(joint.free):
        kernels.put_paths(joint.V, block.paths, block.groups, W)
    kernels.add_rows(part[0], part[2], *joint.states[b].alphas, block.local, W)
    return W


def _product(part: Any, alphas: BlockAlphas, W: npt.NDArray[Any], alpha: Floats32) -> float:
    """Return Σ α m at W."""
    found: float = kernels.dual_terms(part, flat.HINGE, alphas.rows, W, alpha)[1]  # which is the same for all losses
    return found


def finished(joint: Joint, eps: float, max_sweeps: int, *, dense: bool) -> Finished:
    """Solve every leaf's own problem, the nodes above fixed, and say how good that is; the state stays as it is."""
    joint.refresh()
    numbers = range(len(joint.layout.blocks))
    if joint.problem.loss == "logistic":
        return _summed(joint, list(joint.executor.map(partial(_evaluated, joint), numbers)), None, None)
    solve = partial(_solved_leaves, joint, eps=eps, max_sweeps=max_sweeps, dense=dense)
    found = list(joint.executor.map(solve, numbers))
    leaves: list[Any] = [leaf for leaf, _ in found]
    return _summed(joint, [terms for _, terms in found], *((leaves, None) if dense else (None, leaves)))


def _summed(
    joint: Joint, terms: list[_Terms], weights: list[Floats32] | None, own: list[BlockAlphas] | None
) -> Finished:
    apart = stored_energy(joint) + sum(each.inner + each.leaves for each in terms)
    lost = sum(each.lost for each in terms)
    return Finished(weights, own, _placed(joint, terms), apart / 2 + lost, lost, max(each.longest for each in terms))


def _evaluated(joint: Joint, b: int) -> _Terms:
    """Return the terms of a block at w(α), which is what the logistic loss returns."""
    part = joint.part(b)
    rows, _, mask, *_, n_lanes = part
    alphas = joint.states[b].alphas
    with joint.room() as room:
        kernels.put_rows(*alphas, room.alpha)
        inner = _put_above(joint, b, part, room)
        room.W[:] = room.above
        kernels.add_rows(rows, mask, *alphas, IDENTITY, room.W)
        lost, gap, product = kernels.joint_terms(part, joint.loss, room.W, room.alpha)
        gain, longest = lost + product - gap, _longest(room.W, n_lanes)
        leaves = kernels.squared_distance(room.W, room.above, n_lanes)
        if len(joint.free) or joint.needs_float64(b):
            product = _product(part, alphas, _dual_weights(joint, b, part, room), room.alpha)
        kernels.clear(alphas.rows, room.alpha)
        return _Terms(gain, product, inner, leaves, lost, longest)


def _put_above(joint: Joint, b: int, part: Any, room: Room) -> float:
    """Set `room.above` to the parents of a block's leaves; return Σ ‖v‖² / κ of inner nodes that are not stored."""
    block, alphas, above = joint.layout.blocks[b], joint.states[b].alphas, room.above
    inner = 0.0
    if np.any(block.local_above):
        W = np.zeros(above.shape) if joint.needs_float64(b) else above
        W[:] = 0
        kernels.add_rows(part[0], part[2], *alphas, block.local_above, W)
        inner = _product(part, alphas, W, room.alpha)
    kernels.put_paths(joint.V, block.paths, block.groups, above)
    kernels.add_rows(part[0], part[2], *alphas, block.local_above, above)
    return inner


def _solved_leaves(joint: Joint, b: int, eps: float, max_sweeps: int, dense: bool) -> tuple[Any, _Terms]:
    with joint.room() as room:
        return _solved(joint, b, eps, max_sweeps, dense, room)


def _solved(joint: Joint, b: int, eps: float, max_sweeps: int, dense: bool, room: Room) -> tuple[Any, _Terms]:
    part = joint.part(b)
    rows, _, mask, *_, n_lanes = part
    kernels.put_rows(*joint.states[b].alphas, room.alpha)
    terms = _terms_of_dual(joint, b, part, room)
    inner = _put_above(joint, b, part, room)
    W, alpha = joint.load(b, part, room)
    first = np.flatnonzero(mask).astype(np.int32)
    generator = np.random.default_rng((joint.seed, b)).integers(1, 2**63, 1, dtype=np.uint64)
    visits = joint.order, first
    if dense and float(part[4].max()) * joint.longest_row > LARGE_TERM:  # c, by which every rounding is multiplied
        _descend_in_float64(joint, b, part, room, visits, (max(eps, SMALLEST_FLOAT64), max_sweeps, generator))
    else:
        limit = np.float32(max(eps, SMALLEST_FLOAT32))
        flat.descend(part[:-1], joint.loss, *visits, W, alpha, limit, max_sweeps, generator)
    alpha[:, n_lanes:] = 0
    own = joint.taken(alpha)
    if not dense:  # what is measured is what can be made again from α, not W as it has become step by step
        W[:] = room.above
        kernels.add_rows(rows, mask, *own, IDENTITY, W)
    leaves = kernels.squared_distance(W, room.above, n_lanes)
    lost, _, _ = kernels.joint_terms(part, joint.loss, W, alpha)
    kernels.clear(own.rows, alpha)
    terms = replace(terms, inner=inner, leaves=leaves, lost=lost, longest=_longest(W, n_lanes))
    return W.copy() if dense else own, terms


def _descend_in_float64(joint: Joint, b: int, part: Any, room: Room, visits: Any, effort: Any) -> None:
    """Solve leaves with large costs in float64, and put them into `room.W` as float32 and into `room.alpha`.

    Under the hinge, rounding puts rows that lie on the margin a little below it, at c each: of weights that are a few
    roundings longer the best are taken.
    """
    rows, norms, mask, weight, costs, _ = part
    block, alphas = joint.layout.blocks[b], joint.states[b].alphas
    exact = (rows, norms.astype(np.float64), mask, weight, costs.astype(np.float64))
    wide, alpha = np.zeros(room.W.shape), room.alpha.astype(np.float64)
    kernels.put_paths(joint.V, block.paths, block.groups, wide)
    kernels.add_rows(rows, mask, *alphas, block.local, wide)
    flat.descend(exact, joint.loss, *visits, wide, alpha, *effort)
    room.alpha[:] = alpha
    lowest, longer = np.full(WIDTH, np.inf), aligned_zeros(len(wide))
    for roundings in TRIED_ROUNDINGS if joint.loss == flat.HINGE else (0.0,):
        longer[:] = wide * (1 + roundings * EPSILON)
        found = np.zeros(WIDTH)
        flat.primals(exact, joint.loss, longer, found)
        found += (squared_norms(longer - room.above) - squared_norms(longer)) / 2
        better = found < lowest
        lowest[better], room.W[:, better] = found[better], longer[:, better]


def _longest(W: Floats32, n_lanes: int) -> float:
    """Return the largest ‖w‖ of the lanes in use."""
    norms = np.empty(WIDTH)
    flat.squared_norms(W, norms)
    return float(np.sqrt(norms[:n_lanes].max()))


def primal_of_differences(paths: PathSumWeights, joint: Joint) -> float:
    """Return the objective of what `differences_of_paths` keeps: of leaves that are sums of rounded differences."""
    sums, tree = paths.sums, paths.tree
    rows, layout = sums.rows, sums.layout
    stored = np.zeros(len(tree.parent), bool)
    stored[layout.stored_nodes] = True
    apart, lost, W, no_alpha = stored_energy(joint), 0.0, aligned_zeros(rows.n_used), aligned_zeros(len(rows))
    for b, block in enumerate(layout.blocks):
        total = np.zeros(W.shape)
        kernels.put_paths(sums.V, block.paths, block.groups, total)
        for vectors, lanes, pull in block_vectors(paths, b, stored, W):
            apart += pull * float(np.sum(squared_norms(vectors.weights)[: len(vectors.nodes)]))
            total += vectors.weights.astype(np.float64) @ lanes
        W[:] = total
        lost += kernels.joint_terms(joint.part(b), joint.loss, W, no_alpha)[0]
    return apart / 2 + lost
