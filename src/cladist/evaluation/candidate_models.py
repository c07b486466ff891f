"""Models that choose among candidate labels: one for each group of labels that a revision mixes up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import softmax

from cladist.learners.recursive import RecursiveLogistic

Floats = npt.NDArray[np.float64]
Sets = Sequence[tuple[int, ...]]

N_FEATURES = 2**18
STRENGTH = 10.0  # the C of the models, for rows of unit length
NEVER = -1e9  # the score of a label without any row
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
    learner: RecursiveLogistic

    def scores(self, X: sparse.csr_matrix) -> Floats:
        """Return the score of each label, a row for each row of X."""
        if not X.shape[0]:
            return np.zeros((0, len(self.labels)))
        found = np.asarray(self.learner.decision_function(X[:, self.columns]))
        found = np.column_stack([-found, found]) if found.ndim == 1 else found  # of two labels, those of the second
        scores = np.full((X.shape[0], len(self.labels)), NEVER)
        scores[:, [self.labels.index(str(name)) for name in self.learner.classes_]] = found
        return scores


def fit_candidates(X: sparse.csr_matrix, sets: Sets, labels: Sequence[str]) -> CandidateModel:
    """Fit a model to rows of which only the candidates are known; a row with one candidate has a plain label."""
    columns = np.unique(X.indices).astype(np.int64)
    learner = RecursiveLogistic(C=STRENGTH, sharing=1.0, partial_labels=True)
    learner.fit(X[:, columns], [{labels[k] for k in one} for one in sets])
    return CandidateModel(tuple(labels), columns, learner)


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
