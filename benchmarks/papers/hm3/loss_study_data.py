"""The rows of the study of losses: the stand-in for RCV1, 20 Newsgroups and generated documents, whole or in part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.data_sets import tfidf
from benchmarks.papers.hm3.run import cut
from benchmarks.papers.hrls.data_sets import Split
from benchmarks.rcv1_standin import load_rcv1_standin
from cladist import Taxonomy
from cladist.datasets import load_news20, make_topics
from cladist.labels import LabelMatrix, encode
from cladist.learners.row_arrays import normalize_rows

IN_WORDS = {
    "stand-in": "RCV1 stand-in, family CCAT: 3,000 + 3,000 stories, 944 words, TF-IDF, unit length",
    "newsgroups": "20 Newsgroups by date, random posts, a root above all groups; words by frequency in training posts",
    "generated": "make_topics: the first of two families; a row is the sum of rows of single topics",
}


def standin(*, unit_length: bool = True) -> tuple[Split, Taxonomy]:
    """Return the rows of the benchmark; or with TF-IDF not scaled to unit length."""
    raw = load_rcv1_standin()
    split, taxonomy = cut(tfidf(raw))
    if unit_length:
        return split, taxonomy
    weighed = TfidfTransformer(norm=None).fit(raw.X_train)
    X_train, X_test = (sparse.csr_array(weighed.transform(X)) for X in (raw.X_train, raw.X_test))
    return replace(split, X_train=X_train, X_test=X_test), taxonomy


def with_sizes(split: Split, n_train: int) -> Split:
    """Return the first training rows only."""
    return replace(split, X_train=split.X_train[:n_train], y_train=split.y_train[:n_train])


def with_words(split: Split, n_words: int) -> Split:
    """Return rows of unit length over the words that most training rows have."""
    frequency = np.bincount(split.X_train.indices, minlength=split.X_train.shape[1])
    kept = np.sort(np.argsort(-frequency, kind="stable")[:n_words])
    X_train, X_test = (
        normalize_rows(sparse.csr_array(sparse.csc_array(X)[:, kept])) for X in (split.X_train, split.X_test)
    )
    return replace(split, X_train=X_train, X_test=X_test)


def small_problem(n_rows: int, n_features: int, top: str = "C15") -> tuple[Any, LabelMatrix, Any]:
    """Return rows of a family of four nodes, over its most frequent words and a constant, their labels, and test rows.

    A quarter of the rows, and most test rows, are outside the family.
    """
    split, taxonomy = standin()
    below = taxonomy.subtree(top)
    marks = split.y_train.to_indicator().toarray()[:, [taxonomy.index(name) for name in below.names]]
    inside, outside = np.flatnonzero(marks[:, 0]), np.flatnonzero(marks[:, 0] == 0)
    rows = np.concatenate([inside[: n_rows * 3 // 4], outside[: n_rows - n_rows * 3 // 4]])
    words = np.argsort(-np.bincount(split.X_train[inside].indices, minlength=split.X_train.shape[1]))[:n_features]
    X, X_test = (
        np.column_stack([part.toarray()[:, words], np.ones(part.shape[0])]).astype(np.float64)
        for part in (split.X_train[rows], split.X_test)
    )
    return X, encode(marks[rows], below).labels, X_test


def newsgroups(n_train: int, n_test: int) -> tuple[Split, Taxonomy]:
    """Return random posts, each with the path of its group from a root that all posts have."""
    data, random = load_news20(), np.random.default_rng(0)
    assert data.taxonomy is not None
    names, parent = data.taxonomy.names, data.taxonomy.parent
    taxonomy = Taxonomy.from_parents(
        {"news": None, **{name: names[p] if p >= 0 else "news" for name, p in zip(names, parent, strict=True)}}
    )

    def part(X: Any, y: Any, n: int) -> tuple[Any, LabelMatrix]:
        rows = random.permutation(X.shape[0])[:n]
        return sparse.csr_array(X)[rows], encode([{y[i]} for i in rows], taxonomy).labels

    (X_train, y_train), (X_test, y_test) = (
        part(data.X_train, data.y_train, n_train),
        part(data.X_test, data.y_test, n_test),
    )
    seen = np.flatnonzero(np.bincount(X_train.indices, minlength=X_train.shape[1]))
    return Split(X_train[:, seen], X_test[:, seen], y_train, y_test), taxonomy


def generate(
    seed: int,
    *,
    n_words: int = 20_000,
    n_topics: int = 2,
    branching: Sequence[int] = (8, 3),
    n_train: int = 2500,
    n_test: int = 2500,
) -> tuple[Split, Taxonomy]:
    """Return documents about one to `n_topics` of the leaves of two families, labelled by those of the first.

    They have 20,000 words, of which the `n_words` most frequent are kept; as in RCV1, many rows have no label.
    """
    n, random = n_train + n_test, np.random.default_rng(seed)
    single = make_topics(n_samples=n_topics * n, n_features=20_000, branching=(2, *branching), random_state=seed)
    assert single.taxonomy is not None
    first = single.taxonomy.subtree(single.taxonomy.names[0])
    count = random.integers(1, n_topics + 1, n)
    members = random.permutation(n_topics * n).reshape(n, n_topics)
    used = np.arange(n_topics) < count[:, None]
    indptr = np.concatenate([[0], np.cumsum(count)])
    take = sparse.csr_array((np.ones(count.sum(), np.float32), members[used], indptr), shape=(n, n_topics * n))
    X = normalize_rows(sparse.csr_array(take @ sparse.csr_array(single.X)))
    topics = [{str(single.y[i]) for i in row[u]} & set(first.names) for row, u in zip(members, used, strict=True)]
    labels = encode(topics, first).labels
    whole = Split(X[:n_train], X[n_train:], labels[:n_train], labels[n_train:])
    return with_words(whole, n_words), first
