"""Sixteen problems at once, with their primal and dual by the definition."""

import numpy as np

from cladist.kernels.lanes import WIDTH
from cladist.kernels.one_vs_rest import LaneProblem
from cladist.surrogates import Hinge, Logistic, Squared, SquaredHinge

HINGE, SQUARED_HINGE, LOGISTIC, SQUARED = Hinge(), SquaredHinge(), Logistic(), Squared()
SURROGATES = [HINGE, SQUARED_HINGE, LOGISTIC, SQUARED]


def is_nonnegative(loss):
    """Whether the dual bounds α from below; NamedTuples of different classes may be equal, so classes decide."""
    return type(loss) is not Squared


def is_capped(loss):
    """Whether the dual bounds α from above by the cost."""
    return type(loss) in (Hinge, Logistic)


def gains(loss, alpha, cost):
    """What each α adds to the dual, by the definition."""
    if type(loss) is Hinge:
        return alpha
    if type(loss) in (SquaredHinge, Squared):
        return alpha - alpha**2 / (4 * cost)
    share = np.clip(alpha / cost, 1e-12, 1 - 1e-12)
    return cost * (-share * np.log(share) - (1 - share) * np.log1p(-share))


def losses(loss, margins):
    """What each margin loses, by the definition."""
    miss = np.maximum(0, 1 - margins)
    return {
        Hinge: miss,
        SquaredHinge: miss**2,
        Squared: (1 - margins) ** 2,
        Logistic: np.logaddexp(0, -margins),
    }[type(loss)]


def mixed_rows(X, n_dense):
    """Rows as kernels take them, whose last `n_dense` features are dense columns."""
    n_sparse = X.shape[1] - n_dense
    others, dense = X[:, :n_sparse], np.ascontiguousarray(X[:, n_sparse:], np.float32)
    present = others != 0
    indptr = np.append(0, np.cumsum(present.sum(axis=1))).astype(np.int64)
    return indptr, np.nonzero(present)[1].astype(np.uint32), others[present].astype(np.float32), dense


class Block:
    """Sixteen random problems over the same few rows, one of which is empty, as the kernels take them."""

    def __init__(self, seed, dtype=np.float64, n_rows=9, n_features=6, n_dense=0):
        random = np.random.default_rng(seed)
        self.X = random.normal(size=(n_rows, n_features)) * (random.random((n_rows, n_features)) < 0.7)
        self.X[n_rows // 2] = 0
        self.X = self.X.astype(np.float32).astype(np.float64)
        self.rows = mixed_rows(self.X, n_dense)
        self.mask = random.integers(0, 2**WIDTH, n_rows).astype(np.uint32)
        self.weight = random.uniform(0.5, 2, n_rows).astype(np.float32)
        self.costs = random.uniform(0.5, 3, (2, WIDTH)).astype(np.float32).astype(dtype)
        norms = (self.X**2).sum(axis=1).astype(np.float32).astype(dtype)
        self.problem = LaneProblem(self.rows, norms, self.mask, self.weight, self.costs)
        self.order = random.permutation(n_rows).astype(np.int32)
        self.dtype, self.random = dtype, random

    @property
    def signs(self):
        return np.where(self.mask[:, None] >> np.arange(WIDTH, dtype=np.uint32) & 1, 1.0, -1.0)

    @property
    def row_costs(self):
        return np.where(self.signs > 0, self.costs[0], self.costs[1]) * self.weight[:, None].astype(np.float64)

    def begun(self, loss):
        """W and α that belong to each other, some α at their bounds."""
        share = self.random.uniform(0.1, 0.9, self.signs.shape)
        if type(loss) is not Logistic:
            share = np.where(self.random.random(share.shape) < 0.4, np.round(share), share)
        alpha = (share * self.row_costs).astype(self.dtype)
        return (self.X.T @ (alpha * self.signs)).astype(self.dtype), alpha

    def dual(self, loss, alpha):
        w, cost = self.X.T @ (alpha * self.signs), self.row_costs
        return gains(loss, alpha, cost).sum(axis=0) - 0.5 * (w**2).sum(axis=0)

    def primal(self, loss, W):
        margins = self.signs * (self.X @ W)
        return 0.5 * (W**2).sum(axis=0) + (self.row_costs * losses(loss, margins)).sum(axis=0)
