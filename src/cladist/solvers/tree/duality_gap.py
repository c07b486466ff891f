"""The duality gap of the joint dual: its value, and a primal point that belongs to it.

w(α) is a poor primal point where many rows miss the margin by a little, as under the hinges, and where there are many
leaves: 13 % above the optimum in a logistic regression whose dual was 1 % below it. Leaves that are optimal given their
parents, with the inner nodes of α, are a good one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels import joint as kernels
from cladist.kernels import one_vs_rest as flat
from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.linear_model.path_sums import IDENTITY, PathSumWeights, block_vectors
from cladist.linear_model.problem_tree import BlockAlphas, ProblemTree, squared_norms
from cladist.linear_model.training_rows import Floats32, Floats64, Ids, aligned_zeros
from cladist.solvers.cost import count_effort
from cladist.solvers.linear.one_vs_rest import EPSILON, widen
from cladist.solvers.problem import random_generator
from cladist.solvers.tree.joint_dual import NO_ROWS, RESTING, Ids32, JointDual, Workspace
from cladist.storage.array_pool import storable

SMALLEST_FLOAT32, SMALLEST_FLOAT64 = 1e-6, 1e-10  # lowest violations of optimality that leaves are solved to
LEAF_VISITS = 20  # to each row, at least, before leaves are given up
LEAF_SWEEPS = 50
TRIED_ROUNDINGS = (0.0, 0.5, 1.0, 2.0, 4.0)  # numbers of float32 roundings by which weights are lengthened in trial


@storable
@dataclass(frozen=True)
class DualValue:
    """The value of the joint dual."""

    gain: float  # Σ c gain(α / c)
    energy: float  # Σ ‖v‖² / κ over all nodes but free roots
    pulled: float = 0.0  # Σ w·s over free roots
    apart: float = 0.0  # Σ ‖s‖ over free roots

    def bound(self, reach: float) -> float:
        """Return a lower bound of the objective, as long as no free root moves further than `reach`."""
        return self.gain - self.energy / 2 - self.pulled - reach * self.apart


@storable
@dataclass(frozen=True)
class PrimalPoint:
    """A primal point: leaves, with the inner nodes of α."""

    dual: DualValue
    primal: float
    lost: float  # Σ c ℓ, the part of the primal that depends on the leaves alone
    longest: float  # the largest ‖w‖ of a leaf
    weights: list[Floats32] | None  # the leaves (features in use × 16) of each block, if they were asked for
    own: list[BlockAlphas] | None  # α whose sums the leaves add to their parents' weights, if not those of the state
    visits: int = 0  # to rows, to solve leaves
    alphas: list[BlockAlphas] | None = None  # α that the inner nodes belong to; None: the present ones
    centres: Floats32 | None = None  # z of free roots then


class _BlockTerms(NamedTuple):
    """The terms of one block in the dual and, if its leaves were solved, in the primal."""

    gain: float  # Σ c gain(α / c)
    product: float  # Σ α m with all nodes on the path to a leaf, or, if there are free roots, without stored ones
    inner: float = 0.0  # Σ ‖v‖² / κ of inner nodes that are not stored
    leaves: float = 0.0  # Σ ‖w − w_parent‖² of the leaves
    lost: float = 0.0  # Σ c ℓ at the leaves
    longest: float = 0.0  # the largest ‖w‖ of a leaf
    visits: int = 0  # to rows, to solve leaves


# ---------------------------------------------------------------- the dual


def evaluate_dual(joint: JointDual) -> DualValue:
    """Return the value of the dual. O(leaves / 16 · (features + nonzeros of rows in which an α is not 0))."""
    joint.refresh()
    return _sum_dual(joint, joint.map_blocks(_evaluate_block))


def _evaluate_block(joint: JointDual, b: int, _: None) -> _BlockTerms:
    """Return the terms of a block in the dual."""
    with joint.workspace() as space:
        lanes, alphas = joint.lanes(b), joint.states[b].alphas
        kernels.put_rows(*alphas, space.alpha)
        gain = kernels.dual_gain(lanes, joint.surrogate, alphas.rows, space.alpha)
        product = _dual_product(joint, b, lanes, space)
        kernels.clear(alphas.rows, space.alpha)
    return _BlockTerms(gain, product)


def _sum_dual(joint: JointDual, terms: list[_BlockTerms]) -> DualValue:
    gain, product = sum(each.gain for each in terms), sum(each.product for each in terms)
    if not len(joint.free):
        return DualValue(gain, product)
    # The norm of a free root is not in the objective, so it is left out of all sums: subtracted afterwards, a long one
    # would leave nothing but rounding errors.
    w, s = joint.V[joint.free].astype(np.float64), joint.pulls
    apart = float(np.sum(np.sqrt(np.sum(s * s, axis=1))))
    return DualValue(gain, product + joint.stored_energy(), float(np.sum(w * s)), apart)


def _needs_own_product(joint: JointDual, b: int) -> bool:
    """Tell whether Σ α m at the weights of a block is not what the dual needs, or not exact enough."""
    return len(joint.free) > 0 or joint.layout.blocks[b].prior is not None or joint.needs_float64(b)


def _dual_product(joint: JointDual, b: int, lanes: LaneProblem, space: Workspace) -> float:
    """Return Σ α m of a block's leaves at w(α), without stored nodes if there are free roots.

    The block's α are in the workspace; `space.W` is overwritten. With vectors u known before training, w = v + u: the
    dual is Σ c gain − Σ α y u·x − ½ E(v), and Σ α y (v + 2u)·x = E(v) + 2 Σ α y u·x is the energy that it needs.
    """
    block, alphas = joint.layout.blocks[b], joint.states[b].alphas
    W = np.zeros(space.W.shape) if joint.needs_float64(b) else space.W
    block.put_weights(W, None if len(joint.free) else joint.V, joint.rows, lanes.mask, (alphas, block.local))
    if block.prior is not None:
        block.prior.add(W, 2.0 if len(joint.free) else 1.0)
    return float(kernels.margin_products(lanes, alphas.rows, W, space.alpha))


# ---------------------------------------------------------------- a primal point


def primal_point(
    joint: JointDual, eps: float, max_sweeps: int, start: list[BlockAlphas] | None = None, *, dense: bool
) -> PrimalPoint:
    """Return a primal point: every leaf optimal given the nodes above. The α stay as they are.

    Leaves begin at `start`, their own α at an earlier point. Under the hinges, the active rows of all blocks are listed
    anew, for the sweeps that follow.
    """
    joint.refresh()
    solved = joint.map_blocks(_solve_leaves, start, eps=eps, max_sweeps=max_sweeps, dense=dense)
    leaves, terms = [leaf for leaf, _, _ in solved], [terms for _, terms, _ in solved]
    if joint.surrogate.sparse_dual:
        joint.list_active([active for _, _, active in solved])
    apart = joint.stored_energy() + sum(each.inner + each.leaves for each in terms)
    lost, longest = sum(each.lost for each in terms), max(each.longest for each in terms)
    weights, own = (leaves, None) if dense else (None, leaves)
    visits = sum(each.visits for each in terms)
    return PrimalPoint(_sum_dual(joint, terms), apart / 2 + lost, lost, longest, weights, own, visits)


def _add_own(lanes: LaneProblem, alphas: BlockAlphas, space: Workspace) -> None:
    """Set `space.W` to the parents of a block's leaves plus Σ α y x."""
    space.W[:] = space.above
    kernels.add_rows(lanes.rows, lanes.mask, *alphas, IDENTITY, space.W)


def _put_parents(joint: JointDual, b: int, lanes: LaneProblem, space: Workspace) -> float:
    """Set `space.above` to the parents of a block's leaves; return Σ ‖v‖² / κ of inner nodes that are not stored."""
    block, alphas = joint.layout.blocks[b], joint.states[b].alphas
    inner, part = 0.0, (alphas, block.local_above)
    if np.any(block.local_above):
        W = np.zeros(space.above.shape) if joint.needs_float64(b) else space.above
        block.put_weights(W, None, joint.rows, lanes.mask, part)
        inner = kernels.margin_products(lanes, alphas.rows, W, space.alpha)
    block.put_weights(space.above, joint.V, joint.rows, lanes.mask, part)
    return inner


def _solve_leaves(
    joint: JointDual, b: int, start: BlockAlphas | None, eps: float, max_sweeps: int, dense: bool
) -> tuple[Any, _BlockTerms, Ids32]:
    """Solve the leaves of a block given their parents; return weights or α, the block's terms, and its active rows."""
    lanes, alphas = joint.lanes(b), joint.states[b].alphas
    with joint.workspace() as space:
        W, alpha = space.W, space.alpha
        kernels.put_rows(*alphas, alpha)
        gain = kernels.dual_gain(lanes, joint.surrogate, alphas.rows, alpha)
        inner = _put_parents(joint, b, lanes, space)
        if _needs_own_product(joint, b):
            product = _dual_product(joint, b, lanes, space)
            _add_own(lanes, alphas, space)
        else:
            _add_own(lanes, alphas, space)
            product = float(kernels.margin_products(lanes, alphas.rows, W, alpha))
        effort = count_effort(_most_visits(joint, b))
        if dense:
            visits = joint.order, np.flatnonzero(lanes.mask).astype(np.int32)
            exact = max(eps, SMALLEST_FLOAT64), max_sweeps, random_generator(joint.seed, b), effort
            _descend_in_float64(joint, b, lanes, space, visits, exact)
            own = joint.nonzero_alphas(alpha)
        else:
            limits = np.float32(max(eps, SMALLEST_FLOAT32)), max_sweeps, random_generator(joint.seed, b), effort
            own = _descend(joint, b, lanes, space, start, limits)
            _add_own(lanes, own, space)  # certified are weights recomputed from α, without rounding errors of steps
        kernels.clear(own.rows, alpha)
        kernels.put_rows(*alphas, alpha)
        active = np.empty(len(joint.rows), np.int32)
        lost, n_active = kernels.leaf_losses(lanes, joint.surrogate, W, alpha, np.float32(RESTING), active)
        kernels.clear(alphas.rows, alpha)
        leaves, longest = kernels.squared_distance(W, space.above, lanes.n_lanes), _longest(joint, W, lanes.n_lanes)
        terms = _BlockTerms(gain, product, inner, leaves, lost, longest, int(effort[flat.VISITS]))
        listed = active[:n_active].copy() if joint.surrogate.sparse_dual else NO_ROWS  # where no row rests, it is all
        return W.copy() if dense else own, terms, listed


def _descend(
    joint: JointDual, b: int, lanes: LaneProblem, space: Workspace, start: BlockAlphas | None, limits: Any
) -> BlockAlphas:
    """Solve the leaves of a block; return their own α, under the hinges at the best length of w − p.

    They begin at the α of the state; or at `start`, over the rows that are active then, if few sweeps are made. In the
    workspace α change, too.
    """
    W, alpha, listed = space.W, space.alpha, joint.order
    eps, max_sweeps, generator, effort = limits
    few = max_sweeps < LEAF_SWEEPS and joint.is_listed
    if start is not None:
        if few:
            listed, max_sweeps = np.union1d(joint.candidates(b), start.rows), LEAF_SWEEPS
        kernels.clear(joint.states[b].alphas.rows, alpha)
        kernels.put_rows(*start, alpha)
        kernels.relax(lanes, joint.surrogate, *BlockAlphas.none(), np.float32(1), alpha)  # lengths may pass bounds
        _add_own(lanes, joint.nonzero_alphas(alpha), space)
    first = np.flatnonzero(lanes.mask).astype(np.int32)
    flat.descend(lanes, joint.surrogate, listed, first, W, alpha, eps, max_sweeps, generator, effort)
    alpha[:, lanes.n_lanes :] = 0
    if not joint.surrogate.sparse_dual:
        return joint.nonzero_alphas(alpha)
    if few:  # a row that rests beyond the margin hardly matters for the length of w − p, and takes most of the time
        listed = np.union1d(joint.candidates(b), joint.nonzero_alphas(alpha).rows)
    lengths = np.ones((1, WIDTH))
    kernels.best_lengths(lanes, joint.surrogate, listed, W, space.above, alpha, lengths)
    own = joint.nonzero_alphas(alpha)
    return BlockAlphas(own.rows, own.values * lengths.astype(np.float32))


def _most_visits(joint: JointDual, b: int) -> int:
    """Return how many visits to rows the leaves of a block are worth: as many as the sweeps so far, or some."""
    visits = max(LEAF_VISITS * len(joint.rows), joint.states[b].visits)
    return visits // 2  # kernels end after twice as many


def _descend_in_float64(
    joint: JointDual, b: int, lanes: LaneProblem, space: Workspace, visits: Any, limits: Any
) -> None:
    """Solve leaves with large costs in float64, and put them into `space.W` as float32 and into `space.alpha`.

    Under the hinge, rounding puts rows that lie on the margin a little below it, at c each: the best of weights that
    are a few roundings longer is taken.
    """
    block, exact = joint.layout.blocks[b], widen(lanes)
    wide, alpha = np.zeros(space.W.shape), space.alpha.astype(np.float64)
    block.put_weights(wide, joint.V, joint.rows, lanes.mask, (joint.states[b].alphas, block.local))
    flat.descend(exact, joint.surrogate, *visits, wide, alpha, *limits)
    space.alpha[:] = alpha
    lowest, longer = np.full(WIDTH, np.inf), aligned_zeros(len(wide))
    for roundings in (0.0,) if joint.surrogate.smooth else TRIED_ROUNDINGS:
        longer[:] = wide * (1 + roundings * EPSILON)
        primal = np.zeros(WIDTH)
        flat.primals(exact, joint.surrogate, longer, primal)
        primal += (squared_norms(longer - space.above) - squared_norms(longer)) / 2
        better = primal < lowest
        lowest[better], space.W[:, better] = primal[better], longer[:, better]


def _longest(joint: JointDual, W: Floats32, n_lanes: int) -> float:
    """Return the largest ‖w‖ of the lanes in use, which only free roots need."""
    if not len(joint.free):
        return 0.0
    norms = np.empty(WIDTH)
    flat.squared_norms(W, norms)
    return float(np.sqrt(norms[:n_lanes].max()))


def primal_of_differences(paths: PathSumWeights, joint: JointDual) -> float:
    """Return the objective of `differences_of_paths`: of leaves that are sums of rounded differences."""
    rows = joint.rows
    apart, lost, W, no_alpha = joint.stored_energy(), 0.0, aligned_zeros(rows.n_used), aligned_zeros(len(rows))
    for b, block in enumerate(joint.layout.blocks):
        total = np.zeros(W.shape)
        kernels.put_paths(joint.V, block.stored, block.above, total)
        for nodes, lanes, pull in block_vectors(paths, b, W):
            apart += pull * float(np.sum(squared_norms(W)[: len(nodes)]))
            total += W.astype(np.float64) @ lanes
        W[:] = total
        lost += kernels.joint_terms(joint.lanes(b), joint.surrogate, W, no_alpha)[0]
    return apart / 2 + lost


# ---------------------------------------------------------------- leaves with the best nodes above them


class _Level(NamedTuple):
    """The nodes of one level below an inner node, their parents, and the matrix (parents × nodes) of averages."""

    children: Ids
    inner: Ids
    family: Ids
    averages: sparse.csr_array


def leaf_energy(columns: Iterable[npt.NDArray[Any]], tree: ProblemTree, root: str) -> float:
    """Return E = min over inner nodes of Σ_n ‖w_n − w_parent(n)‖² / κ_n in float64, the leaves' w being given.

    `columns` are the weights of all leaves for some features at a time. From below, a node stands for its children as
    one child would: at their weighted mean m = Σ g_c w_c / G, G = Σ g_c, pulled by g = G / (1 + κ G); what they are
    apart, Σ g_c ‖w_c − m‖², is part of E. A leaf has g = 1. A root adds g ‖m‖², nothing if it is free, and G ‖m‖² if it
    is held at 0. O(nodes · features) in time, O(nodes · features at a time) in memory.
    """
    levels, pulls, roots = tree_levels(tree, root)
    energy = 0.0
    for leaves in columns:
        values = np.zeros((len(tree.parent), leaves.shape[1]))
        values[tree.leaves] = leaves
        for level in levels:
            apart = values[level.children]
            means = level.averages @ apart
            apart -= means[level.family]
            energy += _weighted(pulls[level.children], apart)
            values[level.inner] = means
        energy += _weighted(roots, values)
    return energy


def _weighted(weights: Floats64, vectors: Floats64) -> float:
    return float(weights @ np.einsum("ij,ij->i", vectors, vectors))


def tree_levels(tree: ProblemTree, root: str) -> tuple[list[_Level], Floats64, Floats64]:
    """Return the levels from the deepest up, g of all nodes, and the factors of ‖m‖² that roots add."""
    n_nodes, is_leaf = len(tree.parent), np.zeros(len(tree.parent), bool)
    is_leaf[tree.leaves] = True
    pulls, totals = np.where(is_leaf, 1.0, 0.0), np.zeros(n_nodes)
    levels = []
    for depth in range(int(tree.depth[tree.leaves].max(initial=0)), 0, -1):
        children = np.flatnonzero(tree.in_use & (tree.depth == depth))
        above = tree.parent[children]
        totals += np.bincount(above, pulls[children], minlength=n_nodes)
        inner, family = np.unique(above, return_inverse=True)
        pulls[inner] = totals[inner] / (1 + tree.sharing * totals[inner])
        entries = pulls[children] / totals[above], (family, np.arange(len(children)))
        levels.append(_Level(children, inner, family, sparse.csr_array(entries, shape=(len(inner), len(children)))))
    is_root = tree.in_use & (tree.parent < 0)
    of_inner = {"zero": pulls, "free": np.zeros(n_nodes), "fixed": totals}[root]
    return levels, pulls, np.where(is_root, np.where(is_leaf, 1.0, of_inner), 0.0)
