"""The choice among strategies of thresholds, by a measure on rows that their thresholds were not fitted to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from cladist.decoders.thresholds import FixedPCut, GlobalCut, SCut, Strategy, Zero
from cladist.labels import LabelMatrix
from cladist.learners.out_of_fold import Folds
from cladist.metrics.scorers import Scorer
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

# The simplest first. PCut itself is not here: it gives a row that is predicted alone hardly any label.
CANDIDATES = (Zero(), GlobalCut(), FixedPCut(), SCut(fbr=0.3), SCut(fbr=0.2), SCut(fbr=0.1))
N_BLOCKS = 20  # of the jackknife; its standard error then varies by about 1/√40, or 16 %
FACTORS = 2.0 ** np.arange(-2, 2.1, 0.25)  # of the number of true labels: how many a global cut may predict


class ScoredRows(NamedTuple):
    """Out-of-fold scores (rows × classes), the true labels, and the node of each class."""

    scores: Floats
    labels: LabelMatrix
    class_nodes: Ids

    def take(self, rows: Ids) -> ScoredRows:
        """Return some of the rows."""
        return self._replace(scores=self.scores[rows], labels=self.labels[rows])

    def indicator(self) -> sparse.csr_array:
        """Return which classes each row has."""
        return self.labels.to_indicator()[:, self.class_nodes]


def choose_strategy(rows: ScoredRows, folds: Folds, scorer: Scorer) -> tuple[Strategy, list[dict[str, Any]]]:
    """Return a strategy fitted to all rows, and a record of the score of each candidate.

    It is `Zero`, unless the best of `CANDIDATES` is better by more than two standard errors; then it is the first whose
    score is not below the best by more than one. Every candidate is fitted to the rows outside each fold and predicts
    those of the fold; its score is that of all these predictions. The standard error is the jackknife's, of the
    difference from the best candidate on the same rows.
    """
    order = np.concatenate([own for _, own in folds])
    true, taxonomy = rows.labels[order], rows.labels.taxonomy
    kept = [np.delete(np.arange(len(order)), np.s_[b::N_BLOCKS]) for b in range(min(N_BLOCKS, len(order)))]
    scores, without_block = [], []
    for candidate in CANDIDATES:
        predicted = predict_folds(candidate, rows, folds, scorer)
        scores.append(scorer.of_labels(true, predicted, taxonomy))
        without_block.append([scorer.of_labels(true[some], predicted[some], taxonomy) for some in kept])
    best = int(np.argmax(scores))
    errors = jackknife_errors(np.array(without_block[best]) - np.array(without_block))
    # With one standard error, the best of so many would beat a Zero that is right in an eighth of all cases.
    margins = errors * np.where(np.arange(len(CANDIDATES)) == 0, 2, 1)
    chosen = next(k for k, score in enumerate(scores) if score >= scores[best] - margins[k])
    records = [
        {"strategy": repr(candidate), "score": score, "standard_error": float(error)}
        for candidate, score, error in zip(CANDIDATES, scores, errors, strict=True)
    ]
    return fit_candidate(CANDIDATES[chosen], rows, scorer), records


def jackknife_errors(without_block: Floats) -> Floats:
    """Return the standard error of each row's statistic; columns hold its values with one block left out."""
    return np.sqrt((without_block.shape[1] - 1) * without_block.var(axis=1))


def predict_folds(candidate: Strategy, rows: ScoredRows, folds: Folds, scorer: Scorer) -> LabelMatrix:
    """Return the labels of the rows, fold after fold, by thresholds fitted to the rows outside the fold."""
    parts = [fit_candidate(candidate, rows.take(others), scorer).predict(rows.scores[own]) for others, own in folds]
    return labels_of(sparse.vstack(parts, format="csr"), rows.class_nodes, rows.labels.taxonomy)


def fit_candidate(candidate: Strategy, rows: ScoredRows, scorer: Scorer) -> Strategy:
    """Return a strategy fitted to rows: a global cut by the measure, another by its own criterion."""
    strategy = best_global_cut(rows, scorer) if isinstance(candidate, GlobalCut) else clone(candidate)
    return strategy.fit(rows.scores, rows.indicator())


def best_global_cut(rows: ScoredRows, scorer: Scorer) -> GlobalCut:
    """Return the cut with the best measure among 0 and those that predict a quarter to four times the true labels."""
    has_class = rows.indicator()
    finite = rows.scores[np.isfinite(rows.scores)]
    counts = np.unique((FACTORS * has_class.nnz).astype(np.int64))
    places = len(finite) - counts[(counts > 0) & (counts < len(finite))]
    finite.partition(np.concatenate([places - 1, places]))
    middles = finite[places - 1] / 2 + finite[places] / 2

    def measure(t: float) -> float:
        predicted = GlobalCut(t).fit(rows.scores, has_class).predict(rows.scores)
        taxonomy = rows.labels.taxonomy
        return scorer.of_labels(rows.labels, labels_of(predicted, rows.class_nodes, taxonomy), taxonomy)

    return GlobalCut(max([0.0, *middles.tolist()], key=measure))


def labels_of(chosen: sparse.csr_array, class_nodes: Ids, taxonomy: Taxonomy) -> LabelMatrix:
    """Return the classes chosen for each row as labels, with their ancestors."""
    return LabelMatrix.from_ids(chosen.indptr, class_nodes[chosen.indices], taxonomy)
