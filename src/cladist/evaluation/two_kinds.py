"""Labels whose rows are of two kinds: they point in two directions that are further apart than those of other labels.

Rows of one label differ by wording, too. So rows are compared where the rows of other labels spread alike in all
directions (within-class whitening, as in linear discriminant analysis), by their angles. The kinds are found on half
of the rows of a label, and the angle between them is that of the other half, so that it is not made by looking for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.labels import LabelMatrix

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

DIMENSIONS, ROWS_PER_DIMENSION = 200, 20
SAMPLE = 20_000  # rows from which directions are found
MOST_FEATURES = 10_000  # of these rows, the most frequent
MOST_ROWS = 400  # of a label, at random
FEWEST_ROWS, FEWEST_LABELS = 20, 5
HALVINGS, FOLDS = 3, 5
RIDGE = 0.05  # of the mean variance
FALSE_ALARMS = 0.01  # of labels: no more are named, and at least one, whatever the angles are
SIBLINGS = 0.9  # of them have a smaller cosine than two kinds may have
SMALLEST_KIND = 0.2


class Kinds(NamedTuple):
    """A label, some of its rows, which of them are of the first kind, and the cosine between the kinds."""

    label: int
    rows: Ids
    first: npt.NDArray[np.bool_]
    cosine: float


def labels_of_two_kinds(X: Any, labels: LabelMatrix, random_state: int = 0) -> Iterator[Kinds]:
    """Yield the labels whose rows are of two kinds, at most `FALSE_ALARMS` of all labels, those furthest apart.

    Two kinds have as little in common as siblings have, or as labels below other parents where there are no siblings.
    If all labels are clean, each is as likely as another to be among these: so that is the rate of false alarms,
    however angles are distributed.
    """
    indptr, frontier = labels.frontier
    random = np.random.default_rng(random_state)
    row, label = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.asarray(frontier, np.int64)
    order = random.permutation(len(row))
    order = order[np.argsort(label[order], kind="stable")]
    known, firsts = np.unique(label[order], return_index=True)
    parts = [part[:MOST_ROWS] for part in np.split(row[order], firsts[1:])]
    chosen = [k for k, part in enumerate(parts) if len(part) >= FEWEST_ROWS]
    if len(chosen) < FEWEST_LABELS:
        return
    pairs = np.concatenate(parts), np.repeat(known, [len(part) for part in parts])
    some = np.sort(random.permutation(len(pairs[0]))[:SAMPLE])
    rows = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    space = Space(rows, pairs[0][some], pairs[1][some], random)
    places = (space.place(rows[parts[k]], int(known[k])) for k in chosen)
    cosines, kurtoses = np.array([apart(place, random) for place in places]).T
    beside = [k for _, k in sorted((int(labels.taxonomy.deepest_parent[known[k]]), k) for k in chosen)]
    most_in_common = np.quantile(_cosines(rows, [parts[k] for k in beside], space), SIBLINGS)
    order = np.argsort(cosines + np.log(kurtoses) / 2, kind="stable")
    for j in order[: int(np.ceil(FALSE_ALARMS * len(chosen)))].tolist():
        k = chosen[j]
        side = split_in_two(space.place(rows[parts[k]], int(known[k])))
        if cosines[j] < most_in_common and SMALLEST_KIND <= side.mean() <= 1 - SMALLEST_KIND:
            yield Kinds(int(known[k]), parts[k], side, float(cosines[j]))


class Space:
    """Where the rows of one label spread alike in all directions, as the rows of other labels show.

    A label is judged by directions to which its own rows did not contribute: they are found `FOLDS` times, each time
    without some of the labels.
    """

    def __init__(self, X: Any, row: Ids, label: Ids, random: np.random.Generator) -> None:
        known, codes = np.unique(label, return_inverse=True)
        self.fold = dict(zip(known.tolist(), (random.permutation(len(known)) % FOLDS).tolist(), strict=True))
        n_dimensions = max(min(DIMENSIONS, (len(row) - len(known)) // ROWS_PER_DIMENSION, X.shape[1]), 1)
        self.columns: Any = slice(None)
        self.axes: Any = None
        if n_dimensions < X.shape[1]:
            self._choose(X[row], n_dimensions, random)
        self.centre: Any = 0.0
        places = self._reduced(X[row])
        self.centre = places.mean(axis=0)
        sums = sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes))))) @ places
        places -= (sums / np.bincount(codes)[:, None])[codes]
        fold = np.array([self.fold[v] for v in known.tolist()])[codes]
        self.whitenings = [_whitening(places[fold != k]) for k in range(FOLDS)]

    def _choose(self, sample: Any, n_dimensions: int, random: np.random.Generator) -> None:
        from sklearn.decomposition import TruncatedSVD

        if sample.shape[1] > MOST_FEATURES:
            used = np.asarray((sample != 0).sum(axis=0)).ravel()
            self.columns = np.sort(np.argsort(-used, kind="stable")[:MOST_FEATURES])
        svd = TruncatedSVD(n_dimensions, n_iter=4, n_oversamples=n_dimensions, random_state=int(random.integers(2**31)))
        self.axes = svd.fit(sample[:, self.columns]).components_.T

    def _reduced(self, rows: Any) -> Floats:
        values = rows[:, self.columns]
        values = values @ self.axes if self.axes is not None else values
        return _unit(np.asarray(values.toarray() if sparse.issparse(values) else values, np.float64)) - self.centre

    def place(self, rows: Any, label: int) -> Floats:
        """Return rows of a label as vectors of length 1."""
        return _unit(self._reduced(rows) @ self.whitenings[self.fold.get(label, 0)])


def _whitening(within: Floats) -> Floats:
    variance, directions = np.linalg.eigh(within.T @ within / max(len(within), 1))
    return np.asarray(directions / np.sqrt(np.maximum(variance, 0) + RIDGE * variance.mean() + 1e-12))


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0)[:, None])


def split_in_two(rows: Floats, n_rounds: int = 10) -> npt.NDArray[np.bool_]:
    """Return which rows are in the first of two groups (2-means, begun along the direction of the largest variance)."""
    centred = rows - rows.mean(axis=0)
    side = np.asarray(np.linalg.eigh(centred @ centred.T)[1][:, -1] > 0)
    for _ in range(n_rounds):
        if side.all() or not side.any():
            break
        before, side = side, _nearer(rows, rows[side].mean(axis=0), rows[~side].mean(axis=0))
        if np.array_equal(before, side):
            break
    return side


def _nearer(rows: Floats, first: Floats, second: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(rows @ (first - second) > (first @ first - second @ second) / 2)


def apart(rows: Floats, random: np.random.Generator) -> tuple[float, float]:
    """Return the cosine between two kinds of rows and the kurtosis between them; the kinds are found on other rows."""
    found = []
    for _ in range(HALVINGS):
        halves = [rows[part] for part in np.array_split(random.permutation(len(rows)), 2)]
        found += [_kinds_of(*halves), _kinds_of(*halves[::-1])]
    cosine, kurtosis = np.mean(found, axis=0).tolist()
    return cosine, kurtosis


def _cosines(rows: Any, parts: list[Ids], space: Space) -> list[float]:
    """Return the cosine between each label and the next one, of which each product is one of other rows."""
    means = []
    for part in parts:
        place = space.place(rows[part], -1)
        means.append((place[::2].mean(axis=0), place[1::2].mean(axis=0)))
    lengths = [np.sqrt(max(float(one @ two), 1e-4)) for one, two in means]
    return [
        float(means[k][0] @ means[k + 1][1] + means[k][1] @ means[k + 1][0]) / 2 / (lengths[k] * lengths[k + 1])
        for k in range(len(parts) - 1)
    ]


def _kinds_of(some: Floats, others: Floats) -> tuple[float, float]:
    """Return the cosine between the means of two kinds, of which each product is one of some rows with others."""
    side = split_in_two(some)
    if side.all() or not side.any():
        return 1.0, 3.0  # as of a normal distribution
    first, second = some[side].mean(axis=0), some[~side].mean(axis=0)
    along = others @ (first - second)
    nearer = _nearer(others, first, second)
    along -= along.mean()
    kurtosis = float((along**4).mean() / max(float((along**2).mean()) ** 2, 1e-12))
    if nearer.all() or not nearer.any():
        return 1.0, kurtosis
    one, two = others[nearer].mean(axis=0), others[~nearer].mean(axis=0)
    lengths = np.sqrt(max(float(one @ first), 1e-4) * max(float(two @ second), 1e-4))
    return float((one @ second + two @ first) / 2 / max(lengths, 1e-3)), kurtosis
