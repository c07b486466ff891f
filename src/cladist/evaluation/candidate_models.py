"""Models that choose among candidate labels: one for each group of labels that a revision mixes up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

Floats = npt.NDArray[np.float64]
Sets = Sequence[tuple[int, ...]]

N_FEATURES = 2**18
ROUNDS = 5  # of expectation and maximisation; further ones change few rows
STRENGTH = 10.0  # the C of the logistic regression, for rows of unit length
N_FOLDS = 5


def text_matrix(texts: Sequence[str]) -> sparse.csr_matrix:
    """Return rows of hashed words and word pairs; no fit is needed, so that rows can be read in blocks."""
    from cladist.features import text_features

    if not texts:
        return sparse.csr_matrix((0, N_FEATURES), dtype=np.float32)
    vectorizer = text_features(characters=False, hashing=True, n_features=N_FEATURES)
    return sparse.csr_matrix(vectorizer.transform(list(texts)))


@dataclass(frozen=True)
class CandidateModel:
    """A model over the labels of one group; only the features of its training rows are kept."""

    labels: tuple[str, ...]
    columns: npt.NDArray[np.int64]
    coef: Floats
    intercept: Floats

    def scores(self, X: sparse.csr_matrix) -> Floats:
        """Return the score of each label, the logarithm of its probability up to a constant of the row."""
        return np.asarray(X[:, self.columns] @ self.coef.T + self.intercept)


def fit_candidates(X: sparse.csr_matrix, sets: Sets, labels: Sequence[str]) -> CandidateModel:
    """Fit a model to rows of which only the candidates are known; a row with one candidate has a plain label.

    Expectation and maximisation: rows of several candidates count for each by its probability among them, beginning
    with those of a model of the plain rows alone.
    """
    columns = np.unique(X.indices).astype(np.int64)
    own = X[:, columns]
    row, label = _pairs(sets)
    plain = np.array([len(one) == 1 for one in sets])
    is_plain = plain[row]
    coef, intercept = _fit(own[row[is_plain]], label[is_plain], np.ones(int(is_plain.sum())), len(labels))
    if not plain.all():
        for _ in range(ROUNDS):
            weight = _responsibilities(own @ coef.T + intercept, row, label, len(sets))
            coef, intercept = _fit(own[row], label, weight, len(labels))
    return CandidateModel(tuple(labels), columns, coef, intercept)


def _pairs(sets: Sets) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return row and label of every candidate of every row."""
    sizes = np.array([len(one) for one in sets])
    return np.repeat(np.arange(len(sets)), sizes), np.array([label for one in sets for label in one], np.int64)


def _responsibilities(scores: Floats, row: Any, label: Any, n_rows: int) -> Floats:
    """Return the probability of each pair of row and candidate among the candidates of the row."""
    own = scores[row, label]
    highest = np.full(n_rows, -np.inf)
    np.maximum.at(highest, row, own)
    weight = np.exp(own - highest[row])
    return np.asarray(weight / np.bincount(row, weight, n_rows)[row])


def _fit(X: Any, y: Any, weight: Floats, n_labels: int) -> tuple[Floats, Floats]:
    """Return coefficients and intercepts of a logistic regression; a label without rows is never chosen."""
    coef, intercept = np.zeros((n_labels, X.shape[1])), np.full(n_labels, -1e9)
    seen = np.unique(y)
    if len(seen) < 2:
        intercept[seen] = 0.0
        return coef, intercept
    kept = weight > 1e-3  # a copy of less weight changes nothing but the time
    kept[np.unique(y, return_index=True)[1]] = True
    model = LogisticRegression(C=STRENGTH, max_iter=100, tol=1e-3)
    model.fit(X[kept], y[kept], sample_weight=weight[kept])
    if len(model.classes_) == 2:  # one row for the second label
        coef[seen[1]], intercept[seen] = model.coef_[0], (0.0, float(model.intercept_[0]))
    else:
        coef[model.classes_], intercept[model.classes_] = model.coef_, model.intercept_
    return coef, intercept


def held_out_scores(
    X: sparse.csr_matrix, sets: Sets, labels: Sequence[str], checked: npt.NDArray[np.int64], asked: Sets, seed: int
) -> Floats:
    """Return the scores of checked rows by models that were given their candidates `asked`, not their labels."""
    scores = np.zeros((len(checked), len(labels)))
    fold = np.random.default_rng(seed).permutation(len(checked)) % N_FOLDS
    for k in range(min(N_FOLDS, len(checked))):
        own = np.flatnonzero(fold == k)
        hidden = list(sets)
        for i in own.tolist():
            hidden[checked[i]] = asked[i]
        scores[own] = fit_candidates(X, hidden, labels).scores(X[checked[own]])
    return scores


def choose(scores: Floats, candidates: Sequence[int], temperature: float) -> Floats:
    """Return the probabilities of some of the labels among themselves, a row for each row of scores."""
    return np.asarray(softmax(scores[:, list(candidates)] / temperature, axis=1))


def group_labels(sets: Iterable[tuple[Hashable, Sequence[str]]]) -> list[tuple[list[Any], list[str]]]:
    """Return keys and candidates in groups that share no candidate with each other, in their order."""
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    sets = [(key, list(names)) for key, names in sets]
    for _, names in sets:
        for name in names:
            above.setdefault(name, name)
            above[top(name)] = top(names[0])
    groups: dict[str, tuple[list[Any], dict[str, None]]] = {}
    for key, names in sets:
        keys, members = groups.setdefault(top(names[0]), ([], {}))
        keys.append(key)
        members.update(dict.fromkeys(names))
    return [(keys, list(members)) for keys, members in groups.values()]
