"""Rows that are the same or nearly the same, and rows without content."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Ids = npt.NDArray[np.int64]

BANDS, PER_BAND = 8, 4  # of hash values; rows alike in 80 % of their features share a band with probability 0.98
ALIKE = 0.8  # share of the features of two rows together that both have
MOST_IN_BUCKET = 20  # rows compared with each other; larger groups of near rows are templates
PRIME = 2**31 - 1


def exact_groups(X: Any) -> list[list[int]]:
    """Return groups of two rows or more that are the same; texts without regard to case, blanks and signs."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for i, key in enumerate(_keys(X)):
        if key:
            groups[key].append(i)
    return [rows for rows in groups.values() if len(rows) > 1]


def empty_rows(X: Any) -> list[int]:
    """Return the rows without a word, or with zeros alone."""
    return [i for i, key in enumerate(_keys(X)) if not key]


def _keys(X: Any) -> Iterator[Any]:
    if sparse.issparse(X):
        rows = X.tocsr()
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            used = rows.data[a:b] != 0
            yield rows.indices[a:b][used].tobytes() + rows.data[a:b][used].tobytes()
    elif getattr(X, "ndim", 1) == 2:
        for row in np.asarray(X):
            yield row.tobytes() if row.any() else b""
    else:
        for text in X:
            yield " ".join(re.findall(r"\w+", str(text).casefold()))


def near_pairs(rows: sparse.csr_array, random_state: int = 0) -> Iterator[tuple[int, int, float]]:
    """Yield pairs of rows that share most of their features, and the share, found by min-hashing (Broder 1997)."""
    csr = sparse.csr_array(rows)
    lengths = np.diff(csr.indptr)
    used = np.flatnonzero(lengths >= PER_BAND)
    if len(used) < 2:
        return
    random, seen = np.random.default_rng(random_state), set()
    starts = csr.indptr[used]
    for _ in range(BANDS):
        factors, offsets = random.integers(1, PRIME, size=(2, PER_BAND))
        signature = np.empty((len(used), PER_BAND), np.int64)
        for k in range(PER_BAND):
            hashed = (csr.indices.astype(np.int64) * factors[k] + offsets[k]) % PRIME
            signature[:, k] = np.minimum.reduceat(np.append(hashed, PRIME), starts)
        buckets: dict[bytes, list[int]] = defaultdict(list)
        for i, row in zip(used.tolist(), signature, strict=True):
            buckets[row.tobytes()].append(i)
        for bucket in buckets.values():
            for pair in combinations(bucket[:MOST_IN_BUCKET], 2):
                if pair not in seen:
                    seen.add(pair)
                    share = _shared(csr, *pair)
                    if share >= ALIKE:
                        yield (*pair, share)


def _shared(rows: sparse.csr_array, a: int, b: int) -> float:
    one, other = (rows.indices[rows.indptr[i] : rows.indptr[i + 1]] for i in (a, b))
    both = len(np.intersect1d(one, other))
    return both / (len(one) + len(other) - both)
