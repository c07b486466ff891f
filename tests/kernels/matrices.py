"""Dense 0/1 matrices over nodes, and the CSR arrays that kernels take."""

import numpy as np
from scipy import sparse


def ancestors(parents):
    """A[v, u] is True where u is a strict ancestor of v."""
    above = parents.copy()
    for v in range(len(parents)):
        for p in np.flatnonzero(parents[v]):
            above[v] |= above[p]
    return above


def csr(matrix):
    rows = sparse.csr_array(matrix)
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
