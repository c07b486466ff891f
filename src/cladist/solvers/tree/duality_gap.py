"""The duality gap of the joint dual: its value, and a primal point that belongs to it.

w(α) is a poor primal point where many rows miss the margin by a little, as under the hinges. Leaves that are optimal
given their parents, with the inner nodes of α, are a good one. Where the dual is not sparse, w(α) is a good one.
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
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.linear_model.node_vectors import block_vectors
from cladist.linear_model.path_sums import IDENTITY, BlockAlphas, PathSumWeights
from cladist.linear_model.problem_tree import squared_norms
from cladist.linear_model.training_rows import aligned_zeros
from cladist.solvers.linear.lane_block import random_generator
from cladist.solvers.linear.rounding import EPSILON, widen
from cladist.solvers.tree.joint_dual import LARGE_TERM, JointDual, Workspace

SMALLEST_FLOAT32, SMALLEST_FLOAT64 = 1e-6, 1e-10  # lowest violations of optimality that leaves are solved to
TRIED_ROUNDINGS = (0.0, 0.5, 1.0, 2.0, 4.0)  # numbers of float32 roundings by which weights are lengthened in trial

Floats32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class DualValue:
    """The value of the joint dual.

    Attributes
    ----------
    gain : float
        Σ c gain(α / c).
    energy : float
        Σ ‖v‖² / κ over all nodes but free roots.
    pulled, apart : float
        Σ w·s and Σ ‖s‖ over free roots.
    """

    gain: float
    energy: float
    pulled: float = 0.0
    apart: float = 0.0

    def bound(self, reach: float) -> float:
        """Return a lower bound of the objective, as long as no free root moves further than `reach`."""
        return self.gain - self.energy / 2 - self.pulled - reach * self.apart


@dataclass(frozen=True)
class PrimalPoint:
    """A primal point: leaves, with the inner nodes of α.

    Attributes
    ----------
    weights : list of arrays (features in use × 16), or None
        The leaves of each block, if they were asked for.
    own : list of BlockAlphas, or None
        The α whose sums the leaves add to their parents' weights, if those are not the α of the state.
    dual : DualValue
    primal : float
    lost : float
        Σ c ℓ, the part of the primal that depends on the leaves alone.
    longest : float
        The largest ‖w‖ of a leaf.
    """

    weights: list[Floats32] | None
    own: list[BlockAlphas] | None
    dual: DualValue
    primal: float
    lost: float
    longest: float


@dataclass(frozen=True)
class _BlockTerms:
    """The terms of one block in the dual and, if its leaves were solved, in the primal.

    Attributes
    ----------
    gain, product : float
        Σ c gain(α / c), and Σ α m: with all nodes on the path to a leaf, or, if there are free roots, with those only
        that are not stored.
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


# ---------------------------------------------------------------- the dual


def evaluate_dual(joint: JointDual) -> DualValue:
    """Return the value of the dual. O(leaves / 16 · (features + nonzeros of rows in which an α is not 0))."""
    joint.refresh()
    return _sum_dual(joint, list(joint.executor.map(partial(_dual_terms, joint), range(len(joint.layout.blocks)))))


def _sum_dual(joint: JointDual, terms: list[_BlockTerms]) -> DualValue:
    gain, product = sum(each.gain for each in terms), sum(each.product for each in terms)
    if not len(joint.free):
        return DualValue(gain, product)
    # The norm of a free root is not in the objective, so it is left out of all sums: subtracted afterwards, a long one
    # would leave nothing but rounding errors.
    w, s = joint.V[joint.free].astype(np.float64), joint.pulls
    apart = float(np.sum(np.sqrt(np.sum(s * s, axis=1))))
    return DualValue(gain, product + stored_energy(joint), float(np.sum(w * s)), apart)


def stored_energy(joint: JointDual) -> float:
    """Return Σ ‖v‖² / κ over the stored nodes that are not free."""
    pulled = np.setdiff1d(np.arange(len(joint.V)), joint.free).tolist()
    return float(sum(squared_norms(joint.V[u]) for u in pulled)) / float(joint.sharing)


def _dual_terms(joint: JointDual, b: int) -> _BlockTerms:
    with joint.workspace() as space:
        kernels.put_rows(*joint.states[b].alphas, space.alpha)
        terms = _terms_of_loaded(joint, b, joint.lanes(b), space)
        kernels.clear(joint.states[b].alphas.rows, space.alpha)
    return terms


def _terms_of_loaded(joint: JointDual, b: int, lanes: LaneProblem, space: Workspace) -> _BlockTerms:
    """Return the dual terms of a block whose α are in the workspace; `space.W` is overwritten."""
    listed, W = joint.states[b].alphas.rows, _dual_weights(joint, b, lanes, space)
    gain = kernels.dual_gain(lanes, joint.surrogate, listed, space.alpha)
    return _BlockTerms(gain, kernels.margin_products(lanes, listed, W, space.alpha))


def _dual_weights(joint: JointDual, b: int, lanes: LaneProblem, space: Workspace) -> npt.NDArray[Any]:
    """Return w(α) of a block's leaves, without stored nodes if there are free roots; in `space.W`, or in float64."""
    block = joint.layout.blocks[b]
    W = np.zeros(space.W.shape) if joint.needs_float64(b) else space.W
    W[:] = 0
    if not len(joint.free):
        kernels.put_paths(joint.V, block.paths, block.groups, W)
    kernels.add_rows(lanes.rows, lanes.mask, *joint.states[b].alphas, block.local, W)
    return W


# ---------------------------------------------------------------- a primal point


def primal_point(joint: JointDual, eps: float, max_sweeps: int, *, dense: bool) -> PrimalPoint:
    """Return a primal point: every leaf optimal given the nodes above, or w(α). The state stays as it is."""
    joint.refresh()
    numbers = range(len(joint.layout.blocks))
    if not joint.surrogate.sparse_dual:
        return _sum_primal(joint, list(joint.executor.map(partial(_evaluate_leaves, joint), numbers)), None, None)
    solve = partial(_solve_leaves, joint, eps=eps, max_sweeps=max_sweeps, dense=dense)
    solved = list(joint.executor.map(solve, numbers))
    leaves: list[Any] = [leaf for leaf, _ in solved]
    return _sum_primal(joint, [terms for _, terms in solved], *((leaves, None) if dense else (None, leaves)))


def _sum_primal(
    joint: JointDual, terms: list[_BlockTerms], weights: list[Floats32] | None, own: list[BlockAlphas] | None
) -> PrimalPoint:
    apart = stored_energy(joint) + sum(each.inner + each.leaves for each in terms)
    lost, longest = sum(each.lost for each in terms), max(each.longest for each in terms)
    return PrimalPoint(weights, own, _sum_dual(joint, terms), apart / 2 + lost, lost, longest)


def _evaluate_leaves(joint: JointDual, b: int) -> _BlockTerms:
    """Return the terms of a block at w(α)."""
    lanes, alphas = joint.lanes(b), joint.states[b].alphas
    with joint.workspace() as space:
        kernels.put_rows(*alphas, space.alpha)
        inner = _put_parents(joint, b, lanes, space)
        space.W[:] = space.above
        kernels.add_rows(lanes.rows, lanes.mask, *alphas, IDENTITY, space.W)
        lost, gap, product = kernels.joint_terms(lanes, joint.surrogate, space.W, space.alpha)
        gain, longest = lost + product - gap, _longest(space.W, lanes.n_lanes)
        leaves = kernels.squared_distance(space.W, space.above, lanes.n_lanes)
        if len(joint.free) or joint.needs_float64(b):
            W = _dual_weights(joint, b, lanes, space)
            product = kernels.margin_products(lanes, alphas.rows, W, space.alpha)
        kernels.clear(alphas.rows, space.alpha)
        return _BlockTerms(gain, product, inner, leaves, lost, longest)


def _put_parents(joint: JointDual, b: int, lanes: LaneProblem, space: Workspace) -> float:
    """Set `space.above` to the parents of a block's leaves; return Σ ‖v‖² / κ of inner nodes that are not stored."""
    block, alphas, above = joint.layout.blocks[b], joint.states[b].alphas, space.above
    inner = 0.0
    if np.any(block.local_above):
        W = np.zeros(above.shape) if joint.needs_float64(b) else above
        W[:] = 0
        kernels.add_rows(lanes.rows, lanes.mask, *alphas, block.local_above, W)
        inner = kernels.margin_products(lanes, alphas.rows, W, space.alpha)
    kernels.put_paths(joint.V, block.paths, block.groups, above)
    kernels.add_rows(lanes.rows, lanes.mask, *alphas, block.local_above, above)
    return inner


def _solve_leaves(joint: JointDual, b: int, eps: float, max_sweeps: int, dense: bool) -> tuple[Any, _BlockTerms]:
    """Solve the leaves of a block given their parents; return their weights or their α, and the block's terms."""
    lanes = joint.lanes(b)
    with joint.workspace() as space:
        kernels.put_rows(*joint.states[b].alphas, space.alpha)
        terms = _terms_of_loaded(joint, b, lanes, space)
        inner = _put_parents(joint, b, lanes, space)
        W, alpha = joint.load(b, lanes, space)
        visits = joint.order, np.flatnonzero(lanes.mask).astype(np.int32)
        generator = random_generator(joint.seed, b)
        if dense and float(lanes.costs.max()) * joint.longest_row > LARGE_TERM:  # c, a factor of every rounding error
            effort = max(eps, SMALLEST_FLOAT64), max_sweeps, generator
            _descend_in_float64(joint, b, lanes, space, visits, effort)
        else:
            limit = np.float32(max(eps, SMALLEST_FLOAT32))
            flat.descend(lanes, joint.surrogate, *visits, W, alpha, limit, max_sweeps, generator)
        alpha[:, lanes.n_lanes :] = 0
        own = joint.nonzero_alphas(alpha)
        if not dense:  # the certificate is that of weights recomputed from α, without the rounding errors of the steps
            W[:] = space.above
            kernels.add_rows(lanes.rows, lanes.mask, *own, IDENTITY, W)
        leaves = kernels.squared_distance(W, space.above, lanes.n_lanes)
        lost, _, _ = kernels.joint_terms(lanes, joint.surrogate, W, alpha)
        kernels.clear(own.rows, alpha)
        terms = replace(terms, inner=inner, leaves=leaves, lost=lost, longest=_longest(W, lanes.n_lanes))
        return W.copy() if dense else own, terms


def _descend_in_float64(
    joint: JointDual, b: int, lanes: LaneProblem, space: Workspace, visits: Any, effort: Any
) -> None:
    """Solve leaves with large costs in float64, and put them into `space.W` as float32 and into `space.alpha`.

    Under the hinge, rounding puts rows that lie on the margin a little below it, at c each: the best of weights that
    are a few roundings longer is taken.
    """
    block, alphas, exact = joint.layout.blocks[b], joint.states[b].alphas, widen(lanes)
    wide, alpha = np.zeros(space.W.shape), space.alpha.astype(np.float64)
    kernels.put_paths(joint.V, block.paths, block.groups, wide)
    kernels.add_rows(lanes.rows, lanes.mask, *alphas, block.local, wide)
    flat.descend(exact, joint.surrogate, *visits, wide, alpha, *effort)
    space.alpha[:] = alpha
    lowest, longer = np.full(WIDTH, np.inf), aligned_zeros(len(wide))
    for roundings in (0.0,) if joint.surrogate.smooth else TRIED_ROUNDINGS:
        longer[:] = wide * (1 + roundings * EPSILON)
        primal = np.zeros(WIDTH)
        flat.primals(exact, joint.surrogate, longer, primal)
        primal += (squared_norms(longer - space.above) - squared_norms(longer)) / 2
        better = primal < lowest
        lowest[better], space.W[:, better] = primal[better], longer[:, better]


def _longest(W: Floats32, n_lanes: int) -> float:
    """Return the largest ‖w‖ of the lanes in use."""
    norms = np.empty(WIDTH)
    flat.squared_norms(W, norms)
    return float(np.sqrt(norms[:n_lanes].max()))


def primal_of_differences(paths: PathSumWeights, joint: JointDual) -> float:
    """Return the objective of `differences_of_paths`: of leaves that are sums of rounded differences."""
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
        lost += kernels.joint_terms(joint.lanes(b), joint.surrogate, W, no_alpha)[0]
    return apart / 2 + lost
