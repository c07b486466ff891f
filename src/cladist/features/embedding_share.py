"""The part of a row's squared length that its embedding gets beside words and characters, chosen on training rows.

Problem   rows (√(1 − q) a, √q e) of unit length, for unit rows a of words and characters and e of an embedding
Choice    the q for which least squares with a ridge are right most often about rows left out one by one; in the dual
          that takes one inverse per q: the prediction of row i without i is y_i − (G⁻¹ y)_i / (G⁻¹)_ii, where
          G = (1 − q) A Aᵀ + q E Eᵀ + ridge · 1
Sample    labels that follow each other in the alphabet, with all their rows: as codes and paths such labels are often
          siblings, which are hard to tell apart
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
DEFAULT_SHARE = 0.2  # where there are no labels to choose with
RIDGE = 0.1
MOST_ROWS = 1_500  # of the sample: G is of this size squared
STRETCHES = 8  # of labels in the sample, about


def choose_share(first: sparse.csr_matrix, dense: npt.NDArray[np.float32], y: Any, seed: int = 0) -> float:
    """Return the share of the embedding that does best on rows left out, `DEFAULT_SHARE` without labels.

    Parameters
    ----------
    first : CSR (rows × features)
        Rows of words and characters, of unit length.
    dense : array (rows × dimensions)
        Rows of the embedding, of unit length.
    y : sequence, or None
        The label of each row, in any form.
    seed : int
        Of the sample of labels.
    """
    classes = _classes(y)
    if classes is None or len(classes) != len(dense):
        return DEFAULT_SHARE
    rows = sample_rows(classes, seed)
    if len(np.unique(classes[rows])) < 2:
        return DEFAULT_SHARE
    _, classes = np.unique(classes[rows], return_inverse=True)
    words, vectors = first[rows], dense[rows]
    products = np.asarray((words @ words.T).todense(), np.float64), vectors.astype(np.float64) @ vectors.T
    return SHARES[int(np.argmax([_rate_without_itself(products, classes, share) for share in SHARES]))]


def _classes(y: Any) -> npt.NDArray[np.int64] | None:
    """Return a number per row, the same for equal labels, whatever the form of y."""
    if y is None:
        return None
    if sparse.issparse(y):
        y = [tuple(row.indices.tolist()) for row in sparse.csr_matrix(y)]
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    labels: Iterable[Any] = list(y)
    keys = [_key(label) for label in labels]
    number = {key: k for k, key in enumerate(sorted(dict.fromkeys(keys)))}
    return np.array([number[key] for key in keys], np.int64)


def _key(label: Any) -> Any:
    if isinstance(label, (set, frozenset)):
        return tuple(sorted(map(str, label)))
    return tuple(map(str, label)) if isinstance(label, (list, tuple, np.ndarray)) else (str(label),)


def sample_rows(classes: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int64]:
    """Return all rows of some stretches of labels, up to `MOST_ROWS`; where labels are larger, a part of the rows."""
    random = np.random.default_rng(seed)
    counts = np.bincount(classes)
    stretches = np.array_split(
        np.arange(len(counts)), max(1, min(len(counts) // 2, STRETCHES * len(classes) // MOST_ROWS))
    )
    order = np.concatenate([stretches[k] for k in random.permutation(len(stretches))])
    kept = order[np.cumsum(counts[order]) <= MOST_ROWS]
    if len(kept) < 2:  # a few large labels
        return np.sort(random.permutation(len(classes))[:MOST_ROWS])
    return np.flatnonzero(np.isin(classes, kept))


def _rate_without_itself(products: Any, classes: npt.NDArray[np.int64], share: float) -> float:
    """Return the share of rows to whose label the ridge regression on all others gives the highest value."""
    n_rows = len(classes)
    gram = (1 - share) * products[0] + share * products[1] + RIDGE * np.eye(n_rows)
    inverse = np.linalg.inv(gram)
    targets = np.zeros((n_rows, classes.max() + 1))
    targets[np.arange(n_rows), classes] = 1
    left_out = targets - (inverse @ targets) / np.diag(inverse)[:, None]
    return float(np.mean(left_out.argmax(axis=1) == classes))
