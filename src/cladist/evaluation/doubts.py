"""How far out-of-fold probabilities contradict the label of each row, pooled along the tree.

Of each row only the most probable classes are kept, so memory is rows × a few classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.calibration.calibrators import Calibrator, columns_of, fit_calibrator
from cladist.calibration.listed_scores import ListedScores
from cladist.labels import LabelMatrix
from cladist.learners.out_of_fold import fit_folds, random_folds
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

CALIBRATION_ROWS = 5_000
KEPT = 16  # classes of a row, the most probable
CHUNK = 1_000  # rows whose probabilities are dense for a moment
FLOOR, LEAST = 0.01, 0.0001  # a probability below it is no stronger evidence: along a path, and at its end
ALONG = 0.2  # weight of the mean along the path
PRIOR_ROWS = 10.0  # rows of the parent that a node's mean is shrunk with


@dataclass(frozen=True)
class Doubts:
    """What out-of-fold predictions say about the labels of rows.

    Attributes
    ----------
    score : array (rows,)
        log(mass + 0.0001) − log(mean + 0.0001) of the label, plus a fifth of the mean of log(mass + 0.01) −
        log(mean + 0.01) over the nodes of its path; the lower, the more suspicious. The mass of a node is the
        probability of all classes at and below it, its mean that of the rows that have the node, shrunk to the mean of
        its parent: a node with few rows is judged by what is known of its ancestors and siblings.
    own : array (rows,)
        The probability of the label.
    nodes, probabilities : arrays (rows × kept)
        The most probable classes of each row, best first.
    mean_own : array (nodes,)
        The shrunk mean mass of each node.
    """

    score: Floats
    own: Floats
    nodes: npt.NDArray[np.int32]
    probabilities: npt.NDArray[np.float32]
    mean_own: Floats


class OutOfFold(NamedTuple):
    """Scores of rows by clones that were not trained on them, and what makes probabilities of them.

    Attributes
    ----------
    rows : int array
        The rows in the order of `listed`.
    listed : ListedScores
    targets : int array
        The node of each row's label, in the order of the data.
    calibrator : Calibrator
    """

    rows: Ids
    listed: ListedScores
    targets: Ids
    calibrator: Calibrator

    def chunks(self) -> Iterator[tuple[Ids, Ids, Floats]]:
        """Yield some rows, the columns of their listed classes, and the probabilities of these."""
        for first in range(0, len(self.rows), CHUNK):
            part = slice(first, first + CHUNK)
            columns = np.asarray(self.listed.columns[part])
            scores = _spread(columns, self.listed.scores[part], len(self.calibrator.class_nodes))
            yield self.rows[part], columns, np.take_along_axis(self.calibrator.predict(scores), columns, axis=1)


def _spread(columns: Ids, scores: Floats, n_classes: int) -> Floats:
    """Return the scores of all classes; −inf of those that are not listed."""
    whole = np.full((len(columns), n_classes), -np.inf)
    np.put_along_axis(whole, np.asarray(columns), scores, axis=1)
    return whole


def predict_out_of_fold(
    estimator: Any, X: Any, labels: LabelMatrix, *, cv: int = 5, random_state: Any = 0, n_jobs: int | None = None
) -> OutOfFold:
    """Return calibrated predictions of rows with single labels by clones that were not trained on them."""
    targets, taxonomy = labels.nodes("diagnose"), labels.taxonomy
    class_nodes = np.unique(targets)
    columns = columns_of(class_nodes, taxonomy)
    folds = random_folds("diagnose", len(labels), cv, random_state)

    with progress.task("predicting rows out of fold"):
        scored = fit_folds([estimator], X, labels, class_nodes, folds=folds, single=True, n_jobs=n_jobs)
        parts = [(rows, ListedScores.of(scores[0], columns[targets[rows]])) for rows, scores in scored()]
    order = np.concatenate([rows for rows, _ in parts])
    listed = ListedScores.joined(part for _, part in parts)
    some = np.random.default_rng(0).permutation(len(order))[:CALIBRATION_ROWS]
    with progress.task("calibrating"):
        taken, own = listed.take(some), targets[order][some]

        def spread() -> Iterator[tuple[Floats, Ids]]:  # as predictions are
            for first in range(0, len(own), CHUNK):
                part = slice(first, first + CHUNK)
                yield _spread(taken.columns[part], taken.scores[part], len(class_nodes)), own[part]

        options = {"method": "temperature", "level": "levels"}
        calibrator = fit_calibrator(taken, own, spread, taxonomy, class_nodes, **options)
    return OutOfFold(order, listed, targets, calibrator)


def doubt_labels(predicted: OutOfFold) -> Doubts:
    """Return the doubts about single labels."""
    targets, taxonomy = predicted.targets, predicted.calibrator.taxonomy
    class_nodes = predicted.calibrator.class_nodes
    paths = _paths(taxonomy)
    n_rows, n_kept = len(targets), min(KEPT, len(class_nodes))
    masses = np.empty((n_rows, paths.shape[1]), np.float32)
    own = np.empty(n_rows)
    nodes, kept = np.empty((n_rows, n_kept), np.int32), np.empty((n_rows, n_kept), np.float32)
    for rows, columns, P in predicted.chunks():
        ancestors, wanted = paths[class_nodes[columns]], paths[targets[rows]]
        for step in range(paths.shape[1]):
            masses[rows, step] = np.where(ancestors[..., step] == wanted[:, None, step], P, 0.0).sum(axis=1)
        own[rows] = np.where(class_nodes[columns] == targets[rows, None], P, 0.0).sum(axis=1)
        best = np.argsort(-P, axis=1, kind="stable")[:, :n_kept]
        nodes[rows] = class_nodes[np.take_along_axis(columns, best, axis=1)]
        kept[rows] = np.take_along_axis(P, best, axis=1)
    mean = _shrunk_means(masses, paths[targets], taxonomy)
    return Doubts(_score(masses, paths[targets], mean, targets), own, nodes, kept, mean)


def _paths(taxonomy: Taxonomy) -> npt.NDArray[np.int32]:
    """Return the nodes on the path to each node, from the root (nodes × levels); −1 below it. In a DAG the deepest."""
    forest = taxonomy if taxonomy.kind != "dag" else taxonomy.spanning_forest()
    parent, place = np.asarray(forest.parent), forest.depth
    if forest is not taxonomy:  # the same names, perhaps in another order
        ids = np.array([taxonomy.index(name) for name in forest.names])
        other = np.full(len(ids), -1, np.int64)
        other[ids] = np.where(parent >= 0, ids[parent], -1)
        parent, place = other, taxonomy.depth
    paths = np.full((taxonomy.n_nodes, int(place.max()) + 1), -1, np.int32)
    for v in np.argsort(place, kind="stable").tolist():
        if parent[v] >= 0:
            paths[v] = paths[parent[v]]
        paths[v, place[v]] = v
    return paths


def _shrunk_means(masses: Any, wanted: Any, taxonomy: Taxonomy) -> Floats:
    """Return the mean mass of each node over the rows that have it, shrunk to that of its parent."""
    inside = wanted >= 0
    sums = np.bincount(wanted[inside], masses[inside], minlength=taxonomy.n_nodes)
    counts = np.bincount(wanted[inside], minlength=taxonomy.n_nodes)
    overall = float(sums.sum() / max(counts.sum(), 1))
    means = np.empty(taxonomy.n_nodes)
    for v, p in enumerate(taxonomy.deepest_parent.tolist()):
        means[v] = (sums[v] + PRIOR_ROWS * (overall if p < 0 else means[p])) / (counts[v] + PRIOR_ROWS)
    return means


def _score(masses: Any, wanted: Any, means: Floats, targets: Ids) -> Floats:
    """Return the log ratio at the end of each path plus a share of the mean along it.

    A label whose only row this is could not be predicted: its path ends at its parent.
    """
    counted, places = wanted >= 0, np.arange(len(targets))
    alone = np.bincount(targets)[targets] == 1
    counted &= ~(alone[:, None] & (wanted == targets[:, None])) | (counted.sum(axis=1) == 1)[:, None]
    n_counted = counted.sum(axis=1)
    ratio = np.log(masses + FLOOR) - np.log(means[wanted] + FLOOR)
    along = np.where(counted, ratio, 0.0).sum(axis=1) / n_counted
    end = masses[places, n_counted - 1], means[wanted[places, n_counted - 1]]
    at_end = np.log(end[0] + LEAST) - np.log(end[1] + LEAST)
    return np.asarray(at_end + ALONG * along)


def doubt_sets(
    estimator: Any, X: Any, labels: LabelMatrix, *, cv: int = 5, random_state: Any = 0, n_jobs: int | None = None
) -> tuple[Floats, list[tuple[int, int]]]:
    """Return doubts about sets of labels: a score per row, and its worst label with whether to add (1) or remove it.

    Scores of labels become probabilities by one sigmoid; a row is as good as the least probable of its labels, or as
    the most probable that it lacks.
    """
    from scipy.special import expit
    from sklearn.linear_model import LogisticRegression

    class_nodes = np.unique(labels.indices)
    indicator = labels.to_indicator()
    folds = random_folds("diagnose", len(labels), cv, random_state)

    def reduce(scores: Floats, rows: Ids) -> tuple[Any, ...]:
        values = np.where(np.isfinite(scores[0]), scores[0], np.nan)
        has = indicator[rows][:, class_nodes].toarray() > 0
        low, high = np.where(has, values, np.nan), np.where(has, np.nan, values)
        spots = np.nan_to_num(low, nan=np.inf).argmin(axis=1), np.nan_to_num(high, nan=-np.inf).argmax(axis=1)
        places = np.arange(len(rows))
        drawn = np.random.default_rng(0).integers(values.shape[1], size=(len(rows), KEPT))
        samples = np.take_along_axis(values, drawn, axis=1), np.take_along_axis(has, drawn, axis=1)
        return low[places, spots[0]], high[places, spots[1]], *spots, *samples

    scored = fit_folds([estimator], X, labels, class_nodes.astype(np.int64), folds=folds, n_jobs=n_jobs)
    parts = [(rows, reduce(scores, rows)) for rows, scores in scored()]
    order = np.concatenate([rows for rows, _ in parts])
    low, high, lowest, highest, values, has = (np.concatenate([part[k] for _, part in parts]) for k in range(6))
    known = np.isfinite(values)
    x = np.concatenate([values[known], low[np.isfinite(low)]])[:, None]
    y = np.concatenate([has[known], np.ones(int(np.isfinite(low).sum()), bool)])
    curve = LogisticRegression().fit(x, y) if 0 < y.mean() < 1 else None
    slope, offset = (1.0, 0.0) if curve is None else (float(curve.coef_[0, 0]), float(curve.intercept_[0]))
    p_low = np.where(np.isfinite(low), expit(slope * low + offset), 1.0)
    p_high = np.where(np.isfinite(high), expit(slope * high + offset), 0.0)
    removes = p_low < 1 - p_high
    score = np.empty(len(labels))
    score[order] = np.where(removes, p_low, 1 - p_high)
    worst = np.where(removes, class_nodes[lowest], class_nodes[highest])
    edits = np.empty((len(labels), 2), np.int64)
    edits[order] = np.column_stack([worst, ~removes])
    return score, [(int(v), int(add)) for v, add in edits]
