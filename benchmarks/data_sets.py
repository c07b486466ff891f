"""The data sets of the comparison, those of Gopal & Yang and others, and the features that learners see of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from benchmarks.rcv1_standin import STANDIN, load_rcv1_standin
from cladist.datasets import (
    Dataset,
    load_clinc150,
    load_dmoz,
    load_enron,
    load_genes_fun,
    load_genes_go,
    load_icd10cm,
    load_imclef07a,
    load_ipc,
    load_lshtc_small,
    load_lwiki,
    load_naics2017,
    load_news20,
    load_onet_titles,
    load_rcv1,
    load_swiki2011,
)
from cladist.datasets.dataset import stack_rows
from cladist.datasets.loaders.catalogue import DATA_SETS, CatalogueEntry, vectorise
from cladist.errors import DatasetError
from cladist.features import text_features

EXACT, NEAR, STAND_IN, OTHER = "exact", "near", "stand-in", "not in the paper"
NOT_TO_BE_HAD = "not to be had"


@dataclass(frozen=True)
class Source:
    """Files from which a row of the table can be filled.

    Attributes
    ----------
    kind : str
        How near they are to what the paper used: EXACT, if the sizes turn out to be the paper's, NEAR, STAND_IN; OTHER
        for a data set that the paper does not have.
    load : callable
        Returns a split Dataset with the features that learners see.
    features : str
        These features in words.
    layout : CatalogueEntry, optional
        Where the files lie; None: a package has them.
    multilabel : bool
        Whether rows have several labels.
    nodes : {"leaves", "all"}
        Over which nodes F1 is counted.
    largest_C : float
        Of the values that C is chosen from; beyond, a fit would take hours.
    """

    kind: str
    load: Callable[[], Dataset]
    features: str
    layout: CatalogueEntry | None = None
    multilabel: bool = False
    nodes: Literal["leaves", "all"] = "leaves"
    largest_C: float = np.inf  # noqa: N815 - C is the papers' letter

    def is_there(self) -> bool:
        """Tell whether the files are where ``CLADIST_DATA`` says."""
        try:
            return self.layout is None or bool(self.layout.locate())
        except DatasetError:
            return False


@dataclass(frozen=True)
class DataSet:
    """A data set; of its sources the first that is there is used.

    `has_graph`: labels are related, too. `is_licensed`: its files cannot be had by everybody, and tables say so.
    """

    title: str
    sources: tuple[Source, ...]
    has_graph: bool = False
    is_licensed: bool = False

    def source(self) -> Source | None:
        """Return the source to use, or None where no files are."""
        return next((source for source in self.sources if source.is_there()), None)


# ---------------------------------------------------------------- features


def standardised(data: Dataset) -> Dataset:
    """Return data whose features have mean 0 and deviation 1 in the training part."""
    return replace(data, X=StandardScaler().fit(data.X_train).transform(data.X))


def tfidf(data: Dataset) -> Dataset:
    """Return data whose counts are weighed by TF-IDF, rows of unit length; frequencies are the training part's."""
    weighed = TfidfTransformer().fit(data.X_train.astype(np.float32)).transform(data.X.astype(np.float32))
    weighed.sort_indices()
    return replace(data, X=weighed)


def with_validation_part(data: Dataset) -> Dataset:
    """Return data whose validation part is trained on too, as the paper did."""
    X, y = stack_rows([data.X_train, data.X_validation]), stack_rows([data.y_train, data.y_validation])
    return Dataset.from_parts(X, y, data.X_test, data.y_test, taxonomy=data.taxonomy, source=data.source)


def quarter_held_out(data: Dataset) -> Dataset:
    """Return unsplit texts with a random quarter to test on, and features learnt from the others."""
    split = data.split(0.25, random_state=0)
    parts = (split.X_train, split.y_train, split.X_test, split.y_test)
    texts = Dataset.from_parts(*parts, taxonomy=data.taxonomy, source=f"{data.source}, a random quarter to test on")
    return replace(words_and_pairs(texts), relations=data.relations)


def words_and_pairs(data: Dataset) -> Dataset:
    """Return texts with features of words and word pairs, without the characters that text_features adds."""
    return vectorise(data, text_features(characters=False))


def filled_in(data: Dataset) -> Dataset:
    """Return data whose missing values are the training part's means."""
    return replace(data, X=SimpleImputer().fit(data.X_train).transform(data.X))


# ---------------------------------------------------------------- the table

_WORDS, _PAIRS = "TF-IDF of words", "TF-IDF of words and word pairs"
_POSTS = "TF-IDF of words, counted as 1 + log"
_COUNTS = "TF-IDF of counts"


def _counted(title: str, layout: str, load: Callable[[], Dataset], *, multilabel: bool = False) -> DataSet:
    source = Source(EXACT, lambda: tfidf(load()), _COUNTS, DATA_SETS[layout], multilabel=multilabel)
    return DataSet(title, (source,), is_licensed=True)


def _genes(layout: str, load: Callable[[], Dataset], **options: Any) -> Source:
    return Source(
        OTHER,
        lambda: standardised(filled_in(load())),
        "missing values filled with the training part's means, standardised",
        DATA_SETS[layout],
        multilabel=True,
        nodes="all",
        **options,
    )


DATA: dict[str, DataSet] = {
    "clef": DataSet(
        "CLEF",
        (
            Source(
                EXACT,
                lambda: standardised(load_imclef07a()),
                "standardised with the training part's mean and population deviation",
                DATA_SETS["imclef07a"],
            ),
        ),
    ),
    "rcv1": DataSet(
        "RCV1",
        (
            Source(NEAR, load_rcv1, "the published vectors", DATA_SETS["rcv1"], multilabel=True, nodes="all"),
            Source(
                STAND_IN,
                lambda: tfidf(load_rcv1_standin()),
                "TF-IDF of 944 binary features",
                STANDIN,
                multilabel=True,
                nodes="all",
            ),
        ),
    ),
    "ipc": DataSet("IPC", (Source(NEAR, load_ipc, _WORDS, DATA_SETS["ipc"]),), is_licensed=True),
    "lshtc-small": DataSet(
        "LSHTC-small",
        (
            Source(EXACT, lambda: tfidf(load_lshtc_small(task=1)), _COUNTS, DATA_SETS["lshtc_small_task1"]),
            Source(
                NEAR,
                lambda: tfidf(load_lshtc_small(task=2)),
                f"{_COUNTS}; short descriptions to train on",
                DATA_SETS["lshtc_small_task2"],
            ),
        ),
    ),
    "dmoz-2010": _counted("DMOZ-2010", "dmoz2010", lambda: with_validation_part(load_dmoz(year=2010))),
    "dmoz-2012": _counted("DMOZ-2012", "dmoz2012", partial(load_dmoz, year=2012)),
    "dmoz-2011": _counted("DMOZ-2011", "dmoz2011", partial(load_dmoz, year=2011), multilabel=True),
    "swiki-2011": _counted("SWIKI-2011", "swiki2011", load_swiki2011, multilabel=True),
    "lwiki": _counted("LWIKI", "lwiki", load_lwiki, multilabel=True),
    "news20": DataSet("news20", (Source(OTHER, load_news20, _POSTS, DATA_SETS["news20"]),)),
    "naics2017": DataSet(
        "naics2017",
        (Source(OTHER, lambda: quarter_held_out(load_naics2017()), _PAIRS, DATA_SETS["naics2017"]),),
    ),
    "clinc150": DataSet(
        "clinc150", (Source(OTHER, lambda: words_and_pairs(load_clinc150()), _PAIRS, DATA_SETS["clinc150"]),)
    ),
    "onet-titles": DataSet(
        "onet_titles",
        (Source(OTHER, lambda: quarter_held_out(load_onet_titles()), _PAIRS, DATA_SETS["onet_titles"]),),
        has_graph=True,
    ),
    "genes-go": DataSet("genes_go", (_genes("genes_go_cellcycle", load_genes_go, largest_C=100.0),)),
    "genes-fun": DataSet("genes_fun cellcycle", (_genes("genes_fun_cellcycle", load_genes_fun),)),
    "genes-fun-derisi": DataSet(
        "genes_fun derisi", (_genes("genes_fun_derisi", partial(load_genes_fun, which="derisi")),)
    ),
    "enron": DataSet(
        "enron",
        (
            Source(
                OTHER,
                lambda: tfidf(load_enron()),
                "TF-IDF of 1,001 binary features",
                DATA_SETS["enron"],
                multilabel=True,
                nodes="all",
            ),
        ),
    ),
    "icd10cm": DataSet("ICD-10-CM", (Source(OTHER, lambda: words_and_pairs(load_icd10cm()), _PAIRS, largest_C=10.0),)),
}
