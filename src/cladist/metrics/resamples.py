"""Resamples of rows as weights, with two pseudo-rows added: errors that the sample does not show may still happen.

Resamples of rows without an error have none either, so an interval would claim that the model never errs. As in
Laplace's rule of succession, one correct and one wrong row are added; to compare two models, half a row for each
combination of correct and wrong (Agresti & Min 2005). An added row is spread over some rows of the sample: it has their
labels, and is wrong by being predicted the labels of another row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.losses.pairs import NodeRows
from cladist.progress import task

Floats = npt.NDArray[np.float64]
ADDED = 2.0  # pseudo-rows in total
MOST_CARRIERS = 50  # rows of the sample over which an added row is spread
MOST_GROUPS = 200  # groups of rows that the jackknife leaves out


@dataclass(frozen=True)
class Sample:
    """The rows of a sample, followed by the added rows.

    Attributes
    ----------
    true, preds : rows of node ids
        The true labels, and the predicted labels of each model.
    n_rows : int
        The number of rows of the caller.
    n_blocks, n_carriers : int
        The number of kinds of added rows, and of rows over which each is spread.
    """

    true: NodeRows
    preds: tuple[NodeRows, ...]
    n_rows: int
    n_blocks: int
    n_carriers: int

    @classmethod
    def from_rows(cls, true: NodeRows, preds: Sequence[NodeRows], rng: np.random.Generator) -> Sample:
        """Add rows on which the model is correct and wrong, or two models in every combination."""
        n_rows = len(true.indptr) - 1
        carriers = rng.permutation(n_rows)[:MOST_CARRIERS]
        others = _choose_others(true, carriers, rng)
        kinds: list[tuple[bool, ...]] = [()]
        for _ in preds:
            kinds = [(*kind, right) for kind in kinds for right in (True, False)]
        if others is None:  # all rows have the same labels, so no row can be wrong
            kinds = [kind for kind in kinds if all(kind)]
        carried = np.tile(carriers, len(kinds))
        extended = []
        for k, pred in enumerate(preds):
            sources = np.concatenate([carriers if kind[k] or others is None else others for kind in kinds])
            extended.append(_append(pred, true, sources))
        return cls(_append(true, true, carried), tuple(extended), n_rows, len(kinds), len(carriers))

    @property
    def _n_added(self) -> int:
        return self.n_blocks * self.n_carriers

    def weights(self) -> Floats:
        """Return the weight of every row: 1, or its share of the added rows."""
        return np.concatenate([np.ones(self.n_rows), np.full(self._n_added, ADDED / self._n_added)])

    def resample(self, n_resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield how often each row is drawn when as many rows as there are, with the added ones, are drawn."""
        n_drawn = self.n_rows + int(ADDED)
        with task("bootstrap", total=n_resamples) as resampling:
            for _ in range(n_resamples):
                added = int(rng.binomial(n_drawn, ADDED / n_drawn))
                own = np.bincount(rng.integers(self.n_rows, size=n_drawn - added), minlength=self.n_rows)
                more = np.bincount(rng.integers(self._n_added, size=added), minlength=self._n_added)
                yield np.concatenate([own, more]).astype(np.float64)
                resampling.advance()

    def leave_out(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield weights that leave out one row, or one of at most `MOST_GROUPS` groups of rows."""
        weights = self.weights()
        for group in np.array_split(rng.permutation(self.n_rows), min(self.n_rows, MOST_GROUPS)):
            without = weights.copy()
            without[group] = 0.0
            yield without
        if self.n_rows <= MOST_GROUPS:  # a group is one row, as much as an added row
            for block in range(self.n_blocks):
                without = weights.copy()
                start = self.n_rows + block * self.n_carriers
                without[start : start + self.n_carriers] = 0.0
                yield without


def _choose_others(true: NodeRows, carriers: Any, rng: np.random.Generator) -> Any:
    """Return for each carrier another row with different labels, or None if all rows have the same."""
    number_of: dict[bytes, int] = {}
    pairs = zip(true.indptr[:-1].tolist(), true.indptr[1:].tolist(), strict=True)
    kind = np.array([number_of.setdefault(true.indices[a:b].tobytes(), len(number_of)) for a, b in pairs])
    if len(number_of) == 1:
        return None
    others = np.zeros(len(carriers), np.int64)
    for own in np.unique(kind[carriers]):
        of_kind = kind[carriers] == own
        others[of_kind] = rng.choice(np.flatnonzero(kind != own), size=int(of_kind.sum()))
    return others


def _append(rows: NodeRows, source: NodeRows, added: Any) -> NodeRows:
    """Return rows followed by some rows of another list."""
    counts = np.concatenate([np.diff(rows.indptr), np.diff(source.indptr)[added]])
    pieces = [source.indices[source.indptr[k] : source.indptr[k + 1]] for k in added]
    return NodeRows(np.concatenate([[0], np.cumsum(counts)]), np.concatenate([rows.indices, *pieces]))
