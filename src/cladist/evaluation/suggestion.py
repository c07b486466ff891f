"""`suggest`: which unlabelled rows to label next."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import softmax
from sklearn.preprocessing import normalize
from sklearn.utils.validation import _num_samples

from cladist.errors import ParameterError, is_count
from cladist.labels import LabelMatrix
from cladist.learners.out_of_fold import is_ours, last_step, node_scores, pieces, transformed
from cladist.learners.probability_classifier import ProbabilityClassifier
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

CANDIDATES = 8  # classes of a row, the most probable
POOL = 10  # times as many rows as are wanted, the most uncertain, from which the batch is chosen
BRANCH = 0.5  # of the similarity of two rows is that of their predicted paths, the rest that of their features


class Suggestion(NamedTuple):
    """Rows to label next, the first the most useful.

    Attributes
    ----------
    rows : int array
    uncertainty : float array
        The expected number of edges between the most probable label and the true one; of sets, how near to one half
        the probability of the most doubtful label is.
    labels : list of list of str
        The most probable labels of each of these rows, best first.
    probabilities : float array
        Theirs.
    taxonomy : Taxonomy
    """

    rows: Ids
    uncertainty: Floats
    labels: list[list[str]]
    probabilities: Floats
    taxonomy: Taxonomy


def suggest(model: Any, X: Any, n: int = 100) -> Suggestion:
    """Choose unlabelled rows that are worth labelling.

    Rows are uncertain by how far from the best label the others are, weighted with their probabilities: a doubt between
    two branches counts more than one between siblings. Of the most uncertain rows, the batch takes one after the other
    by its uncertainty times its distance to the rows taken before, in features and in predicted paths, so that it
    covers the tree and has no near duplicates.

    Parameters
    ----------
    model : fitted learner of cladist, or Pipeline that ends in one
        Probabilities are calibrated if it has them; otherwise they are a softmax of its scores.
    X : rows, as the model takes them
    n : int
        How many rows; all, in their order of usefulness, if there are fewer.

    Examples
    --------
    >>> from cladist import TopDown
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=200, n_features=200, branching=(3, 3), noise=0.8, random_state=0)
    >>> model = TopDown(data.taxonomy).fit(data.X[:60], data.y[:60])
    >>> batch = suggest(model, data.X[60:], n=20)
    >>> len(set(batch.rows.tolist())), len(batch.labels)
    (20, 20)
    """
    if not is_ours(model) or not hasattr(last_step(model), "taxonomy_"):
        raise ParameterError("suggest: wanted a fitted learner of cladist, or a Pipeline that ends in one.")
    if not is_count(n):
        raise ParameterError(f"suggest: n must be a whole number of rows from 1 up; got {n!r}.")
    if _num_samples(X) < 1:
        raise ParameterError("suggest: there are no rows to choose from.")
    taxonomy = last_step(model).taxonomy_
    nodes, probabilities = _most_probable(model, X)
    if last_step(model).decodes_sets:
        uncertainty = 1 - 2 * np.abs(probabilities - 0.5).min(axis=1)
    else:
        uncertainty = _expected_distance(nodes, probabilities, taxonomy)
    pool = np.argsort(-uncertainty, kind="stable")[: POOL * n]
    rows = transformed(model, X if hasattr(X, "shape") else [X[i] for i in pool])
    rows = rows[pool] if hasattr(X, "shape") else rows
    chosen = pool[_diverse(uncertainty[pool], _features(rows, nodes[pool, 0], taxonomy), min(n, len(pool)))]
    names = taxonomy.names
    labels = [[names[v] for v in nodes[i]] for i in chosen]
    return Suggestion(chosen, uncertainty[chosen], labels, probabilities[chosen], taxonomy)


def _most_probable(model: Any, X: Any) -> tuple[Ids, Floats]:
    """Return the most probable classes of each row, as nodes, and their probabilities."""
    learner = last_step(model)
    k = min(CANDIDATES, len(learner.class_nodes_))
    if isinstance(learner, ProbabilityClassifier):
        top = learner.predict_proba(transformed(model, X), top_k=k)
        return learner.class_nodes_[top.columns], top.probabilities
    found, values = [], []
    for part in pieces(X, len(learner.class_nodes_)):
        scores, nodes = node_scores(model, part, learner.taxonomy_)
        P = 1 / (1 + np.exp(-np.asarray(scores, np.float64))) if learner.decodes_sets else softmax(scores, axis=1)
        key = np.abs(P - 0.5) if learner.decodes_sets else -P
        best = np.argsort(key, axis=1, kind="stable")[:, :k]
        found.append(nodes[best])
        values.append(np.take_along_axis(P, best, axis=1))
    return np.concatenate(found), np.concatenate(values)


def _expected_distance(nodes: Ids, probabilities: Floats, taxonomy: Taxonomy) -> Floats:
    """Return the expected number of edges from the most probable class; what is not listed is as far as it can be."""
    best = np.repeat(nodes[:, :1], nodes.shape[1], axis=1)
    distance = taxonomy.distances(best.ravel(), nodes.ravel().astype(np.int64)).reshape(nodes.shape)
    farthest = 2.0 * (int(taxonomy.depth.max()) + 1)
    rest = np.clip(1 - probabilities.sum(axis=1), 0, 1)
    return np.asarray((probabilities * distance).sum(axis=1) + rest * farthest)


def _features(rows: Any, best: Ids, taxonomy: Taxonomy) -> sparse.csr_array:
    """Return rows of unit length whose products are similarities of features and of predicted paths."""
    paths = LabelMatrix.from_nodes(best, taxonomy).to_indicator().astype(np.float64)
    content = sparse.csr_array(rows if sparse.issparse(rows) else np.asarray(rows, np.float64))
    parts = [np.sqrt(1 - BRANCH) * normalize(content), np.sqrt(BRANCH) * normalize(paths)]
    return sparse.csr_array(sparse.hstack(parts, format="csr"))


def _diverse(uncertainty: Floats, features: sparse.csr_array, n: int) -> Ids:
    """Return places in the order in which they are taken: the most uncertain times the least like those taken."""
    value = uncertainty + 1e-9  # certain rows come last, those unlike others first
    distance = np.ones(len(value))
    taken: list[int] = []
    for _ in range(n):
        gain = value * distance
        gain[taken] = -1.0
        taken.append(int(gain.argmax()))
        similar = np.asarray((features @ features[[taken[-1]]].T).todense()).ravel()
        distance = np.minimum(distance, np.clip(1 - similar, 0, 1))
    return np.array(taken, np.int64)
