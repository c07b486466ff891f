"""The part of a row's squared length that its embedding gets beside words and characters, chosen on training rows.

Problem   rows (√(1 − q) a, √q e) of unit length, for unit rows a of words and characters and e of an embedding
Choice    the q for which least squares with a ridge are right most often about rows left out one by one; in the dual
          that takes one inverse per q: the prediction of row i without i is y_i − (G⁻¹ y)_i / (G⁻¹)_ii, where
          G = (1 − q) A Aᵀ + q E Eᵀ + ridge · 1. Of those within a standard error of the best, the smallest
          q: the sample has fewer labels to confuse than all rows, and fewer rare words that tell them apart
Sample    labels that follow each other in the alphabet, with some rows each: as codes and paths such labels are often
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
ROWS_OF_LABEL = 10  # or more, if labels are few: the more labels there are in the sample, the more it is like all rows


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
    right = np.array([_right_without_itself(products, classes, share) for share in SHARES], np.float64)
    apart = right[np.argmax(right.mean(axis=1))] - right
    as_good = apart.mean(axis=1) <= apart.std(axis=1) / np.sqrt(len(rows))
    return SHARES[int(np.argmax(as_good))]


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
    """Return up to `MOST_ROWS` rows: as many of each label of some stretches as `ROWS_OF_LABEL` allows."""
    random = np.random.default_rng(seed)
    n_labels = int(classes.max()) + 1
    order = random.permutation(len(classes))
    by_label = order[np.argsort(classes[order], kind="stable")]
    rank = np.arange(len(by_label)) - np.searchsorted(classes[by_label], classes[by_label])
    rows = by_label[rank < max(ROWS_OF_LABEL, MOST_ROWS // n_labels)]
    counts = np.bincount(classes[rows], minlength=n_labels)
    stretches = np.array_split(np.arange(n_labels), max(1, min(n_labels // 2, STRETCHES * len(rows) // MOST_ROWS)))
    labels = np.concatenate([stretches[k] for k in random.permutation(len(stretches))])
    kept = labels[np.cumsum(counts[labels]) <= MOST_ROWS]
    return np.sort(rows[np.isin(classes[rows], kept)])


def _right_without_itself(products: Any, classes: npt.NDArray[np.int64], share: float) -> npt.NDArray[np.bool_]:
    """Return the rows to whose label the ridge regression on all others gives the highest value."""
    n_rows = len(classes)
    gram = (1 - share) * products[0] + share * products[1] + RIDGE * np.eye(n_rows)
    inverse = np.linalg.inv(gram)
    targets = np.zeros((n_rows, classes.max() + 1))
    targets[np.arange(n_rows), classes] = 1
    left_out = targets - (inverse @ targets) / np.diag(inverse)[:, None]
    right: npt.NDArray[np.bool_] = left_out.argmax(axis=1) == classes
    return right
