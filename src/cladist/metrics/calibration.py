"""Measures of probabilities: whether they hold, and how sharp they are; of classes, or of a level of the taxonomy.

At a level, a class counts as the node above it there, or as itself if it ends above the level; so the probabilities of
a level sum to 1, as those of classes do. In a DAG, that node is on the path of deepest parents.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.errors import LabelError, ParameterError, is_count
from cladist.labels import encode
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
N_BINS = 15
LEAST = float(np.finfo(np.float64).eps)  # the smallest probability in a log loss, as in scikit-learn


class ReliabilityCurve(NamedTuple):
    """Rows in bins of equal size by the highest probability, lowest first.

    Attributes
    ----------
    confidence : array
        The mean of the highest probability in each bin.
    accuracy : array
        The share of rows whose most probable class is the true one.
    n_rows : array
        The number of rows.
    """

    confidence: Floats
    accuracy: Floats
    n_rows: Ids


class LevelCalibration(NamedTuple):
    """The measures of one level of the taxonomy; roots are level 0, and None is the classes themselves."""

    level: int | None
    accuracy: float
    expected_calibration_error: float
    brier_score: float
    log_loss: float
    sharpness: float


class _Outcomes(NamedTuple):
    """Probabilities (rows × groups), and each row's true group; −1 if it has no column."""

    P: Floats
    true: Ids

    @property
    def confidence(self) -> Floats:
        highest: Floats = self.P.max(axis=1)
        return highest

    @property
    def hits(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.P.argmax(axis=1) == self.true)


def expected_calibration_error(
    y_true: Any,
    probabilities: npt.ArrayLike,
    taxonomy: Taxonomy,
    *,
    classes: Any = None,
    level: int | None = None,
    n_bins: int = N_BINS,
) -> float:
    """Return how far the highest probability is from the accuracy: ``Σ_bins n_b/n · |accuracy_b − confidence_b|``.

    Bins are adaptive, each with the same number of rows (Nguyen & O'Connor 2015).

    Parameters
    ----------
    y_true : labels in any form, one per row
        The true labels. A label without a column is never right.
    probabilities : array (rows × classes)
        Each row sums to 1.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    classes : sequence of labels, optional
        The nodes of the columns, such as a model's `classes_`; None: the leaves or, if there are as many columns as
        nodes, all nodes, in taxonomy order.
    level : int, optional
        The level of the taxonomy, 0 at the roots; None: the classes.
    n_bins : int
        The number of bins; at most one per row.

    Notes
    -----
    The error of probabilities that hold perfectly is not 0: each bin's accuracy is off by chance, about
    √(p (1 − p) / n_b).

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> P = [[0.8, 0.1, 0.1], [0.6, 0.2, 0.2]]
    >>> y, classes = ["tennis", "chess"], ["tennis", "chess", "art"]
    >>> round(expected_calibration_error(y, P, taxonomy, classes=classes, n_bins=2), 3)  # (0.2 + 0.6) / 2
    0.4
    >>> round(expected_calibration_error(y, P, taxonomy, classes=classes, level=0, n_bins=2), 3)  # sport: (0.1 + 0.2)/2
    0.15
    """
    curve = reliability_curve(y_true, probabilities, taxonomy, classes=classes, level=level, n_bins=n_bins)
    return _error(curve)


def reliability_curve(
    y_true: Any,
    probabilities: npt.ArrayLike,
    taxonomy: Taxonomy,
    *,
    classes: Any = None,
    level: int | None = None,
    n_bins: int = N_BINS,
) -> ReliabilityCurve:
    """Return confidence and accuracy of rows in bins of equal size, for a diagram.

    Parameters
    ----------
    y_true, probabilities, taxonomy, classes, level, n_bins
        As in `expected_calibration_error`.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_parents({"a": None, "b": None})
    >>> reliability_curve(["a", "b"], [[0.75, 0.25], [0.75, 0.25]], taxonomy, n_bins=1)
    ReliabilityCurve(confidence=array([0.75]), accuracy=array([0.5]), n_rows=array([2]))
    """
    return _curve(_read(y_true, probabilities, taxonomy, classes, level), n_bins)


def brier_score(
    y_true: Any, probabilities: npt.ArrayLike, taxonomy: Taxonomy, *, classes: Any = None, level: int | None = None
) -> float:
    """Return the mean over rows of Σ_k (p_k − ⟦k is true⟧)², from 0 to 2; a true label without a column adds 1.

    Parameters
    ----------
    y_true, probabilities, taxonomy, classes, level
        As in `expected_calibration_error`.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_parents({"a": None, "b": None})
    >>> brier_score(["a", "b"], [[1.0, 0.0], [0.5, 0.5]], taxonomy)
    0.25
    """
    return _brier(_read(y_true, probabilities, taxonomy, classes, level))


def log_loss(
    y_true: Any, probabilities: npt.ArrayLike, taxonomy: Taxonomy, *, classes: Any = None, level: int | None = None
) -> float:
    """Return the mean over rows of −log p of the true label, where p is at least 2.2e-16, also without a column.

    Parameters
    ----------
    y_true, probabilities, taxonomy, classes, level
        As in `expected_calibration_error`.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_parents({"a": None, "b": None})
    >>> round(log_loss(["a", "b"], [[1.0, 0.0], [0.5, 0.5]], taxonomy), 4)  # log 2 / 2
    0.3466
    """
    return _log_loss(_read(y_true, probabilities, taxonomy, classes, level))


def sharpness(
    probabilities: npt.ArrayLike, taxonomy: Taxonomy, *, classes: Any = None, level: int | None = None
) -> float:
    """Return the mean of the highest probability; of two models whose probabilities hold, the sharper tells more.

    Parameters
    ----------
    probabilities, taxonomy, classes, level
        As in `expected_calibration_error`.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> sharpness([[1.0, 0.0], [0.5, 0.5]], Taxonomy.from_parents({"a": None, "b": None}))
    0.75
    """
    nodes = _columns(probabilities, taxonomy, classes)
    return float(_group(np.asarray(probabilities, dtype=np.float64), nodes, taxonomy, level)[0].max(axis=1).mean())


def calibration_by_level(
    y_true: Any, probabilities: npt.ArrayLike, taxonomy: Taxonomy, *, classes: Any = None, n_bins: int = N_BINS
) -> list[LevelCalibration]:
    """Return all measures of every level, roots first, and of the classes.

    Parameters
    ----------
    y_true, probabilities, taxonomy, classes, n_bins
        As in `expected_calibration_error`.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> P, classes = [[0.8, 0.1, 0.1], [0.6, 0.2, 0.2]], ["tennis", "chess", "art"]
    >>> table = calibration_by_level(["tennis", "chess"], P, taxonomy, classes=classes)
    >>> [(part.level, part.accuracy) for part in table]
    [(0, 1.0), (1, 0.5), (None, 0.5)]
    """
    table = []
    for level in (*range(len(taxonomy.levels)), None):
        rows = _read(y_true, probabilities, taxonomy, classes, level)
        error, highest = _error(_curve(rows, n_bins)), float(rows.confidence.mean())
        row = LevelCalibration(level, float(rows.hits.mean()), error, _brier(rows), _log_loss(rows), highest)
        table.append(row)
    return table


# -------------------------------------------------------------------- rows, read once


def _read(y_true: Any, probabilities: npt.ArrayLike, taxonomy: Taxonomy, classes: Any, level: int | None) -> _Outcomes:
    """Return the probabilities of the classes or of a level, and the true ones."""
    nodes, P = _columns(probabilities, taxonomy, classes), np.asarray(probabilities, dtype=np.float64)
    true = encode(y_true, taxonomy).labels.nodes("A measure of probabilities")
    if len(P) != len(true) or not len(P):
        raise LabelError(f"probabilities need one row per label; they have {len(P)}, and y has {len(true)}.")
    grouped, groups = _group(P, nodes, taxonomy, level)
    column_of = np.full(taxonomy.n_nodes, -1, np.int64)
    column_of[groups] = np.arange(len(groups))
    return _Outcomes(grouped, column_of[_nodes_at(true, taxonomy, level)])


def _columns(probabilities: npt.ArrayLike, taxonomy: Taxonomy, classes: Any) -> Ids:
    shape = np.shape(probabilities)
    if len(shape) != 2:
        raise ParameterError(f"probabilities must be rows × classes; got an array of shape {shape}.")
    if classes is not None:
        nodes = np.array([taxonomy.index(name) for name in classes], dtype=np.int64)
    else:
        nodes = np.arange(taxonomy.n_nodes) if shape[1] == taxonomy.n_nodes else np.asarray(taxonomy.leaves)
    if shape[1] != len(nodes):
        raise ParameterError(f"{len(nodes)} classes need as many columns; got {shape[1]}.")
    return nodes


def _nodes_at(nodes: Ids, taxonomy: Taxonomy, level: int | None) -> Ids:
    """Return the node above each one at a level, or itself if it ends above it."""
    if level is None:
        return nodes
    if type(level) is bool or not isinstance(level, (int, np.integer)) or not 0 <= level < len(taxonomy.levels):
        raise ParameterError(f"level must be from 0 to {len(taxonomy.levels) - 1}, or None; got {level!r}.")
    nodes = nodes.copy()
    while (deep := taxonomy.depth[nodes] > level).any():
        nodes[deep] = taxonomy.deepest_parent[nodes[deep]]
    return nodes


def _group(P: Floats, nodes: Ids, taxonomy: Taxonomy, level: int | None) -> tuple[Floats, Ids]:
    """Return the sums of probabilities of classes that a level does not tell apart, and their nodes."""
    groups, which = np.unique(_nodes_at(nodes, taxonomy, level), return_inverse=True)
    sums = np.zeros((len(groups), len(P)))
    np.add.at(sums, which, P.T)
    return sums.T, groups


def _curve(rows: _Outcomes, n_bins: int) -> ReliabilityCurve:
    if not is_count(n_bins):
        raise ParameterError(f"n_bins must be a whole number from 1 up; got {n_bins!r}.")
    confidence, hits = rows.confidence, rows.hits
    bins = np.array_split(np.argsort(confidence, kind="stable"), min(n_bins, len(hits)))
    return ReliabilityCurve(
        np.array([confidence[part].mean() for part in bins]),
        np.array([hits[part].mean() for part in bins]),
        np.array([len(part) for part in bins]),
    )


def _error(curve: ReliabilityCurve) -> float:
    return float(np.average(np.abs(curve.accuracy - curve.confidence), weights=curve.n_rows))


def _brier(rows: _Outcomes) -> float:
    p = _true_probabilities(rows)
    return float((np.square(rows.P).sum(axis=1) + 1 - 2 * p).mean())


def _log_loss(rows: _Outcomes) -> float:
    return float(-np.log(np.maximum(_true_probabilities(rows), LEAST)).mean())


def _true_probabilities(rows: _Outcomes) -> Floats:
    p = rows.P[np.arange(len(rows.P)), np.maximum(rows.true, 0)]
    return np.where(rows.true >= 0, p, 0.0)
