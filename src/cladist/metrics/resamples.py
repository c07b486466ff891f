"""Resamples of rows as weights, with two imagined rows added: what the rows do not show may still happen.

Resamples of rows without an error have none either, and would say that the model makes none, ever. So, as Laplace's
rule of succession does for a share, one row is added that is right and one that is wrong; to compare two models, half a
row for each way in which they can be right and wrong (Agresti & Min 2005). Each is spread over some rows of the sample,
whose labels it has, and is wrong by having the labels of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.losses.pairs import Rows
from cladist.progress import task

Floats = npt.NDArray[np.float64]
ADDED = 2.0  # rows, in all
MOST_CARRIERS = 50  # rows of the sample over which an added row is spread
MOST_GROUPS = 200  # of rows left out in turn


@dataclass(frozen=True)
class Sample:
    """Rows and the added ones behind them.

    Attributes
    ----------
    true, preds : rows of labels, and of each model's
    n_rows : int
        How many are the caller's.
    n_blocks, n_carriers : int
        Kinds of added rows, and how many rows each is spread over.
    """

    true: Rows
    preds: tuple[Rows, ...]
    n_rows: int
    n_blocks: int
    n_carriers: int

    @classmethod
    def of(cls, true: Rows, preds: Sequence[Rows], rng: np.random.Generator) -> Sample:
        """Add rows in which the model is right and wrong, or two models in every combination."""
        n_rows = len(true.indptr) - 1
        carriers = rng.permutation(n_rows)[:MOST_CARRIERS]
        others = _with_other_labels(true, carriers, rng)
        kinds: list[tuple[bool, ...]] = [()]
        for _ in preds:
            kinds = [(*kind, right) for kind in kinds for right in (True, False)]
        if others is None:  # all rows have the same labels, so none can be wrong by those of another
            kinds = [kind for kind in kinds if all(kind)]
        carried = np.tile(carriers, len(kinds))
        extended = []
        for k, pred in enumerate(preds):
            sources = np.concatenate([carriers if kind[k] or others is None else others for kind in kinds])
            extended.append(_stacked(pred, true, sources))
        return cls(_stacked(true, true, carried), tuple(extended), n_rows, len(kinds), len(carriers))

    @property
    def _n_added(self) -> int:
        return self.n_blocks * self.n_carriers

    def weights(self) -> Floats:
        """Return the weight of every row: 1, or what falls to it of the added ones."""
        return np.concatenate([np.ones(self.n_rows), np.full(self._n_added, ADDED / self._n_added)])

    def resampled(self, n_resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield how often each row is drawn when as many as there are, added ones among them, are drawn."""
        n_drawn = self.n_rows + int(ADDED)
        with task("bootstrap", total=n_resamples) as resampling:
            for _ in range(n_resamples):
                added = int(rng.binomial(n_drawn, ADDED / n_drawn))
                own = np.bincount(rng.integers(self.n_rows, size=n_drawn - added), minlength=self.n_rows)
                more = np.bincount(rng.integers(self._n_added, size=added), minlength=self._n_added)
                yield np.concatenate([own, more]).astype(np.float64)
                resampling.advance()

    def left_out(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield weights in which a row is left out, or one of at most `MOST_GROUPS` groups of rows."""
        weights = self.weights()
        for group in np.array_split(rng.permutation(self.n_rows), min(self.n_rows, MOST_GROUPS)):
            without = weights.copy()
            without[group] = 0.0
            yield without
        if self.n_rows <= MOST_GROUPS:  # as many rows in a group as an added one is worth
            for block in range(self.n_blocks):
                without = weights.copy()
                start = self.n_rows + block * self.n_carriers
                without[start : start + self.n_carriers] = 0.0
                yield without


def _with_other_labels(true: Rows, carriers: Any, rng: np.random.Generator) -> Any:
    """Return for each of some rows another one whose labels differ, or None where all are the same."""
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


def _stacked(rows: Rows, source: Rows, added: Any) -> Rows:
    """Return rows and behind them some rows of another list."""
    counts = np.concatenate([np.diff(rows.indptr), np.diff(source.indptr)[added]])
    pieces = [source.indices[source.indptr[k] : source.indptr[k + 1]] for k in added]
    return Rows(np.concatenate([[0], np.cumsum(counts)]), np.concatenate([rows.indices, *pieces]))
