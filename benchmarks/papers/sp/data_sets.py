"""The data sets of the tables: 20 Newsgroups in two splits, and the four families of RCV1, cut from what there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.data_sets import NEAR, STAND_IN, DataSet, Source, tfidf
from benchmarks.rcv1_standin import STANDIN, load_rcv1_standin
from cladist.datasets import Dataset, load_news20, load_rcv1
from cladist.datasets.dataset import take_rows
from cladist.datasets.loaders.catalogue import DATA_SETS, vectorise
from cladist.features import text_features
from cladist.labels import encode

TEST_ROWS = 5_000  # of a family, as the paper's; if there are fewer, all
WORDS = "TF-IDF of words, counted as 1 + log"


def as_sets(data: Dataset) -> Dataset:
    """Return data whose labels are sets, so that predictions may be any consistent labelling, as in the paper."""
    return replace(data, y=[{str(label)} for label in data.y])


def shuffled(data: Dataset) -> Dataset:
    """Return the posts of both parts with a random fifth to test on, about the paper's sizes, and features anew."""
    texts = replace(data, X=data.texts, texts=None, feature_names=None).split(0.2, random_state=0)
    parts = texts.X_train, texts.y_train, texts.X_test, texts.y_test
    posts = Dataset.from_parts(*parts, taxonomy=data.taxonomy, source=f"{data.source}, shuffled, a fifth to test on")
    return vectorise(posts, text_features(words=(1, 1), characters=False, sublinear_tf=True))


def family(data: Dataset, top: str) -> Dataset:
    """Return the documents of one top topic, and of their topics those at or below it; the top is an ordinary node."""
    assert data.taxonomy is not None
    taxonomy = data.taxonomy.subtree(top)
    labels = encode(data.y, data.taxonomy).labels.to_indicator()
    inside = np.flatnonzero(labels[:, [data.taxonomy.index(top)]].toarray().ravel())
    places = {"train": set(range(*_range(data, "train"))), "test": set(range(*_range(data, "test")))}
    train = np.array([i for i in inside if i in places["train"]])
    test = np.array([i for i in inside if i in places["test"]])
    if len(test) > TEST_ROWS:
        test = np.sort(np.random.default_rng(0).choice(test, TEST_ROWS, replace=False))
    known = set(taxonomy.names)
    y = [{str(name) for name in data.y[i] if str(name) in known} for i in (*train, *test)]
    return Dataset.from_parts(
        take_rows(data.X, train), y[: len(train)], take_rows(data.X, test), y[len(train) :],
        taxonomy=taxonomy, source=f"{data.source}, {top}",
    )  # fmt: skip


def _range(data: Dataset, part: str) -> tuple[int, int]:
    rows = getattr(data, f"{part}_rows")
    return rows.indices(len(data.y))[:2] if isinstance(rows, slice) else (int(rows[0]), int(rows[-1]) + 1)


def _family_of(load: Callable[[], Dataset], top: str) -> Dataset:
    return family(load(), top)


def _families() -> dict[str, DataSet]:
    return {
        top.lower(): DataSet(
            top,
            (
                Source(
                    NEAR,
                    partial(_family_of, load_rcv1, top),
                    "the published vectors",
                    DATA_SETS["rcv1"],
                    multilabel=True,
                    nodes="all",
                ),
                Source(
                    STAND_IN,
                    partial(_family_of, lambda: tfidf(load_rcv1_standin()), top),
                    "TF-IDF of 944 binary features",
                    STANDIN,
                    multilabel=True,
                    nodes="all",
                ),
            ),
        )
        for top in ("CCAT", "ECAT", "GCAT", "MCAT")
    }


def _news20(load: Callable[[], Dataset]) -> Source:
    return Source(NEAR, lambda: as_sets(load()), WORDS, DATA_SETS["news20"], multilabel=True, nodes="all")


DATA: dict[str, DataSet] = {
    **_families(),
    "news20": DataSet("NEWS20", (_news20(load_news20),)),
    "news20-shuffled": DataSet("NEWS20, shuffled", (_news20(lambda: shuffled(load_news20())),)),
    "wipo": DataSet("WIPO", ()),
}
