"""One-vs-rest linear SVMs, one after the other.

Problem   min_{w, b} ½(‖w‖² + b²) + C Σ_i s_i max(0, 1 − y_i (w·x_i + b))², for every class, y_i = ±1
Dual      max_α Σ α_i − ½‖Σ α_i y_i (x_i, 1)‖² − Σ α_i² / (4 C s_i), α ≥ 0
Stops     when (primal − dual) / primal ≤ tol: the gap certifies it
Found by  sparse rows: dual coordinate descent (Hsieh et al. 2008), the kernel is `cladist.kernels.svm`;
          dense rows of few features: Newton's method on the primal (Keerthi & DeCoste 2005), which does not
          mind their scale
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.kernels.svm import solve_squared_hinge
from cladist.solvers.solution import Solution

FEW_FEATURES = 500  # up to here a d × d system costs less than the passes it saves
DENSE_ENTRIES = 20_000_000  # 160 MB: beyond this, rows are not made dense
DENSE_SHARE = 0.3
SHORTEST_STEP = 1e-10


def one_vs_rest_svm(
    X: Any,
    targets: npt.NDArray[np.int64],
    n_classes: int,
    *,
    C: float = 1.0,
    sample_weight: npt.NDArray[Any] | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    seed: int = 0,
) -> Solution:
    """Fit one linear SVM a class against all others (two classes: one SVM for the second).

    Only features that occur get a weight, so the weights are CSR. Cost O(classes · passes · nonzeros); with few
    features O(classes · passes · n d²).

    Examples
    --------
    >>> solution = one_vs_rest_svm(np.eye(3), np.array([0, 1, 2]), 3)
    >>> (np.eye(3) @ solution.weights.T + solution.intercepts).argmax(axis=1).tolist()
    [0, 1, 2]
    """
    order = np.random.default_rng(seed).permutation(X.shape[0])
    rows = sparse.csr_array(X)[order]
    targets = targets[order]
    used, local = np.unique(rows.indices, return_inverse=True)
    compact = (rows.indptr, local.astype(np.int32), rows.data)
    D = 1 / (2 * C * (np.ones(rows.shape[0]) if sample_weight is None else sample_weight[order]))
    dense = _with_constant(rows, used) if _suits_newton(rows, len(used)) else None
    positives = [1] if n_classes == 2 else list(range(n_classes))
    W = np.zeros((len(positives), len(used) + 1))
    history, converged = [], True
    for w, positive in zip(W, positives, strict=True):
        signs = np.where(targets == positive, 1.0, -1.0)
        if dense is not None:
            primal, dual, passes = _newton(dense, signs, D, tol, max_iter, w)
        else:
            alpha = np.zeros(rows.shape[0])
            primal, dual, passes = solve_squared_hinge(compact, signs, D, 1.0, tol, max_iter, seed, w, alpha)
        gap = (primal - dual) / primal if primal > 0 else 0.0
        history.append({"objective": primal, "gap": gap, "passes": passes})
        converged = converged and gap <= tol
    return Solution(_spread(W[:, :-1], used, rows.shape[1]), W[:, -1].copy(), history, converged)


def _suits_newton(rows: Any, n_used: int) -> bool:
    """Tell whether rows are dense in few features; sparse texts are coordinate descent's own ground."""
    entries = rows.shape[0] * n_used
    few = n_used < min(rows.shape[0], FEW_FEATURES) and entries < DENSE_ENTRIES
    return few and rows.nnz >= DENSE_SHARE * entries


def _with_constant(rows: Any, used: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.hstack([rows[:, used].toarray().astype(np.float64), np.ones((rows.shape[0], 1))])


def _newton(
    X: npt.NDArray[Any],
    signs: npt.NDArray[Any],
    D: npt.NDArray[Any],
    tol: float,
    max_iter: int,
    w: npt.NDArray[Any],
) -> tuple[float, float, int]:
    """Minimise ½‖w‖² + Σ_i max(0, 1 − y_i w·x_i)² / (2 D_i) by Newton steps with halving; changes w.

    Between changes of the set of rows that miss their margin the objective is a quadratic, which a step solves.
    """
    identity = np.eye(X.shape[1])
    signed = signs[:, None] * X
    primal, dual = _primal_and_dual(signed, D, w)
    for done in range(1, max_iter + 1):
        missing = signed @ w < 1
        weighted = signed[missing] / D[missing, None]
        step = np.linalg.solve(identity + weighted.T @ signed[missing], weighted.sum(axis=0)) - w
        length = 1.0
        while length > SHORTEST_STEP and _primal_and_dual(signed, D, w + length * step)[0] > primal:
            length /= 2
        w += length * step
        primal, dual = _primal_and_dual(signed, D, w)
        if primal - dual <= tol * primal:
            return primal, dual, done
    return primal, dual, max_iter


def _primal_and_dual(signed: npt.NDArray[Any], D: npt.NDArray[Any], w: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the primal at w and the dual at the α that belongs to it, α_i = max(0, 1 − y_i w·x_i) / D_i."""
    miss = np.maximum(0.0, 1 - signed @ w)
    alpha = miss / D
    dual_w = alpha @ signed
    primal = 0.5 * (w @ w) + 0.5 * (miss @ alpha)
    return float(primal), float(alpha.sum() - 0.5 * (dual_w @ dual_w) - 0.5 * (D @ alpha**2))


def _spread(W: npt.NDArray[Any], used: npt.NDArray[Any], n_features: int) -> sparse.csr_array:
    """Return weights of the features in use as CSR over all features."""
    compact = sparse.csr_array(W)
    return sparse.csr_array((compact.data, used[compact.indices], compact.indptr), shape=(len(W), n_features))
