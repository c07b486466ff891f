"""The optimum of H-M³ by listing all labellings: a second solver, for small problems, which shares no code with ours.

min_W ½‖W‖² + C Σ_i max_u [ℓ(y_i, u) − Σ_e (W_e^{y_ie} − W_e^{u_e})·x_i], by accelerated projected gradients in the
dual, max_α Σ α_iu ℓ(y_i, u) − ½‖W(α)‖², where α_i ≥ 0 has the sum C over all labellings u. The duality gap is exact.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Listed(NamedTuple):
    """Weights (4 · nodes × features), and both objectives."""

    W: Floats
    objective: float
    dual: float

    def predict(self, X: Floats, parent: Any) -> tuple[Any, Floats]:
        """Return the best consistent labelling of each row, and by how much it leads the second best."""
        every = list_labellings(parent, consistent=True)
        scores = X @ self.W.T @ one_hot_states(every, parent).T
        return every[scores.argmax(axis=1)], np.diff(np.sort(scores, axis=1)[:, -2:], axis=1).ravel()


def list_labellings(parent: Any, *, consistent: bool) -> Any:
    """Return all 0/1 vectors over nodes, or those where no node is on below one that is off."""
    every = np.array(list(itertools.product((0, 1), repeat=len(parent))))
    below = parent >= 0
    return every[np.all(every[:, below] <= every[:, parent[below]], axis=1)] if consistent else every


def one_hot_states(z: Any, parent: Any) -> Floats:
    """Return the states (−−, −+, +−, ++) of every node's edge as 0 and 1; above a root all is on."""
    above = np.where(parent < 0, 1, z[:, parent])
    return np.eye(4)[2 * above + z].reshape(len(z), -1)


def list_losses(y: Any, every: Any, parent: Any, cost: Floats, *, hierarchical: bool) -> Floats:
    """Return ℓ_Δ, or ℓ_H̃, of every labelling against each row's own (rows × labellings)."""
    wrong = y[:, None, :] != every[None]
    parent_right = (parent < 0) | ~wrong[:, :, parent]
    return (wrong & parent_right if hierarchical else wrong) @ cost


def solve_by_listing(
    X: Floats, y: Any, C: float, *, cost: Floats, hierarchical: bool, consistent: bool, gap: float, limit: int = 500_000
) -> Listed:
    """Return the optimum, to a duality gap relative to the dual; y is a LabelMatrix."""
    parent, marks = y.taxonomy.parent, y.to_indicator().toarray().astype(np.int64)
    every = list_labellings(parent, consistent=consistent)
    losses = list_losses(marks, every, parent, cost, hierarchical=hierarchical)
    own, states = one_hot_states(marks, parent), one_hot_states(every, parent)

    def weights(alpha: Floats) -> Floats:
        return (C * own - alpha @ states).T @ X

    def gains(W: Floats) -> Floats:
        scores = X @ W.T
        return losses + scores @ states.T - (scores * own).sum(axis=1, keepdims=True)

    # The dual's curvature is at most that of ½‖αᵀ states ⊗ X‖².
    step = 1 / (np.linalg.norm(X, 2) ** 2 * np.linalg.norm(states, 2) ** 2)
    alpha = ahead = np.where((marks[:, None] == every[None]).all(axis=2), C, 0.0)
    momentum, W = 1.0, np.zeros((states.shape[1], X.shape[1]))
    for k in range(limit):
        new = project_to_simplex(ahead + step * gains(weights(ahead)), C)
        if ((new - alpha) * (new - ahead)).sum() < 0:  # momentum leads down: begin it anew
            momentum = 1.0
        following = 0.5 + np.sqrt(0.25 + momentum**2)
        ahead = new + (momentum - 1) / following * (new - alpha)
        alpha, momentum = new, following
        if k % 100 == 0:
            W = weights(alpha)
            half = 0.5 * float((W * W).sum())
            primal, dual = half + C * float(gains(W).max(axis=1).sum()), float((alpha * losses).sum()) - half
            if primal - dual <= gap * abs(dual):
                return Listed(W, primal, dual)
    raise RuntimeError(f"The gap is {primal - dual:.2g} after {limit} steps; raise the limit, or take fewer rows.")


def project_to_simplex(V: Floats, mass: float) -> Floats:
    """Return the nearest point, for each row, whose entries are not negative and sum to the mass."""
    descending = -np.sort(-V, axis=1)
    surplus = (np.cumsum(descending, axis=1) - mass) / np.arange(1, V.shape[1] + 1)
    last = (descending > surplus).sum(axis=1) - 1
    return np.maximum(V - surplus[np.arange(len(V)), last][:, None], 0.0)
