"""Measures of the best k labels of every row, as extreme classification reports them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import LabelError, ParameterError, is_count
from cladist.labels import LabelMatrix, encode
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]


def precision_at_k(
    y_true: Any, ranked: Any, taxonomy: Taxonomy, *, k: int = 5, propensities: Any = None, ancestors: bool = False
) -> float:
    """Return P@k, the mean share of the k best labels that are true, or with propensities PSP@k.

    Parameters
    ----------
    y_true : labels in any form
    ranked : array of labels (rows × k or more)
        The labels of each row, best first and different from each other, as `predict_top_k` returns them.
    taxonomy : Taxonomy
    k : int
        How many labels count.
    propensities : array of shape (n_nodes,), optional
        See `propensities`. A true label then counts 1 / its propensity, and the sum over rows is divided by that of the
        best ranking possible (Jain, Prabhu & Varma 2016), so that rare labels count more.
    ancestors : bool
        Whether nodes above a row's labels are true labels, too.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> precision_at_k([["chess", "art"], ["art"]], [["chess", "art"], ["tennis", "art"]], taxonomy, k=2)
    0.75
    """
    gained, best = _gains(y_true, ranked, taxonomy, k, propensities, ancestors)
    return float(gained.mean()) if propensities is None else _share(gained.sum(), best.sum())


def ndcg_at_k(
    y_true: Any, ranked: Any, taxonomy: Taxonomy, *, k: int = 5, propensities: Any = None, ancestors: bool = False
) -> float:
    """Return nDCG@k, in which the label at rank r counts 1 / log₂(r + 1), or with propensities PSnDCG@k.

    Parameters
    ----------
    y_true, ranked, taxonomy, k, propensities, ancestors
        As in `precision_at_k`. The sum of a row is divided by that of a row whose true labels, as many as it has and at
        most k, come first.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> round(ndcg_at_k([["chess"], ["art"]], [["chess", "art"], ["tennis", "art"]], taxonomy, k=2), 3)
    0.815
    """
    gained, best = _gains(y_true, ranked, taxonomy, k, propensities, ancestors)
    discount = 1.0 / np.log2(np.arange(k) + 2.0)
    n_true = (best > 0).sum(axis=1)
    most = np.append(0.0, np.cumsum(discount))[n_true]
    most[n_true == 0] = 1.0
    rows, best_rows = gained @ discount / most, best @ discount / most
    return float(rows.mean()) if propensities is None else _share(rows.sum(), best_rows.sum())


def propensities(y_train: Any, taxonomy: Taxonomy, *, A: float = 0.55, B: float = 1.5) -> Floats:
    """Return the propensity of every node: how likely a true label is recorded, by its number of training rows.

    The model of Jain, Prabhu & Varma 2016: 1 / (1 + C (n + B)^−A) for a node with n rows, with
    C = (log N − 1)(B + 1)^A for N rows in total.

    Parameters
    ----------
    y_train : labels in any form
        The labels of the training rows; a node's rows are those with a label at or below it.
    taxonomy : Taxonomy
    A, B : float
        The paper has 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon, and these values for other data.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> propensities(["chess"] * 90 + ["tennis"] * 10, taxonomy).round(2).tolist()
    [0.68, 0.17, 0.39, 0.67]
    """
    labels = encode(y_train, taxonomy).labels
    n_rows = np.bincount(labels.indices, minlength=taxonomy.n_nodes)
    scale = (np.log(len(labels)) - 1.0) * (B + 1.0) ** A
    return np.asarray(1.0 / (1.0 + max(scale, 0.0) * (n_rows + B) ** -A))


def _gains(
    y_true: Any, ranked: Any, taxonomy: Taxonomy, k: int, weights: Any, ancestors: bool
) -> tuple[Floats, Floats]:
    """Return the gains of the k best labels of each row, and those of the best ranking there can be (rows × k)."""
    labels = encode(y_true, taxonomy).labels
    nodes = _read_ranked(ranked, taxonomy, k, len(labels))
    gains = np.ones(taxonomy.n_nodes) if weights is None else 1.0 / _read_propensities(weights, taxonomy)
    true = labels.to_indicator() if ancestors else _deepest(labels)
    row = np.repeat(np.arange(len(labels)), k)
    is_true = np.asarray(true[row, nodes.ravel()]).reshape(nodes.shape) > 0
    best = np.zeros(nodes.shape)
    own = gains[true.indices]
    order = np.lexsort((-own, np.repeat(np.arange(len(labels)), np.diff(true.indptr))))
    rank = np.arange(len(own)) - np.repeat(true.indptr[:-1], np.diff(true.indptr))
    rows = np.repeat(np.arange(len(labels)), np.diff(true.indptr))
    best[rows[rank < k], rank[rank < k]] = own[order][rank < k]
    return np.where(is_true, gains[nodes], 0.0), best


def _deepest(labels: LabelMatrix) -> sparse.csr_array:
    indptr, indices = labels.frontier
    return sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=labels.shape)


def _read_ranked(ranked: Any, taxonomy: Taxonomy, k: int, n_rows: int) -> npt.NDArray[np.int64]:
    """Return the ids of the first k labels of each row."""
    if not is_count(k):
        raise ParameterError(f"k must be a whole number from 1 up; got {k!r}.")
    names = np.asarray(ranked, dtype=object)
    if names.ndim != 2 or len(names) != n_rows or names.shape[1] < k:
        raise LabelError(f"Ranked labels of {n_rows} rows must be rows × {k} or more; got shape {names.shape}.")
    distinct = {name: taxonomy.index(name) for name in dict.fromkeys(names[:, :k].ravel().tolist())}
    nodes = np.array([distinct[name] for name in names[:, :k].ravel().tolist()], np.int64).reshape(-1, k)
    ordered = np.sort(nodes, axis=1)
    if np.any(ordered[:, 1:] == ordered[:, :-1]):
        raise LabelError("Ranked labels of a row must be different; one is repeated.")
    return nodes


def _read_propensities(values: Any, taxonomy: Taxonomy) -> Floats:
    given = np.asarray(values, np.float64)
    if given.shape != (taxonomy.n_nodes,) or not np.all((given > 0) & (given <= 1)):
        raise ParameterError(f"propensities must be {taxonomy.n_nodes} numbers above 0 and up to 1, one per node.")
    return given


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
