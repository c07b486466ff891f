"""Loaders of the papers' data sets that must be licensed or requested: news, patents, medicine, speech, web pages.

``docs/guides/real-data.md`` lists the files of each, their sources and licences; so does `DATA_SETS`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from cladist.datasets.corpora.ohsumed import read_ohsumed
from cladist.datasets.corpora.phonemes import read_phonemes
from cladist.datasets.corpora.wipo import read_wipo_alpha
from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.lshtc import read_lshtc
from cladist.datasets.formats.rcv1 import read_rcv1
from cladist.datasets.formats.svmlight import read_svmlight
from cladist.datasets.loaders.catalogue import DATA_SETS, Folder, path_of, vectorise
from cladist.errors import DatasetError, one_of
from cladist.features import text_features
from cladist.taxonomy import Taxonomy

N_RCV1_FEATURES = 47_236


def load_rcv1(
    *,
    family: str | None = None,
    hierarchy: Literal["orig", "expanded"] = "orig",
    n_train: int | None = None,
    n_test: int | None = None,
    folder: Folder = None,
) -> Dataset[Taxonomy]:
    """Load RCV1-v2, stories of Reuters: 23,149 to train on, 781,265 to test on, with the published vectors.

    ``family="CCAT", n_train=2500, n_test=5000`` is near the Reuters set of Rousu et al. 2005; the families with
    ``n_test=5000`` are near the CCAT, ECAT, GCAT and MCAT of Liu et al. 2013. None of the papers lists its documents.

    Parameters
    ----------
    family, hierarchy, n_train, n_test
        As in `read_rcv1`.
    folder : path, optional
        Holds the files; None: ``rcv1`` below ``CLADIST_DATA``.

    Returns
    -------
    Dataset
        Split; `y` is a list of lists. The taxonomy is a forest of 103 topics, with some nodes more if expanded.
    """
    entry = DATA_SETS["rcv1"]
    place = entry.locate(folder)
    data = read_rcv1(
        place, family=family, hierarchy=hierarchy, n_train=n_train, n_test=n_test, n_features=N_RCV1_FEATURES
    )
    return replace(data, source=entry.title)


def load_wipo_alpha(*, section: str | None = "D", folder: Folder = None) -> Dataset[Taxonomy]:
    """Load WIPO-alpha, patents by main group of the International Patent Classification, as TF-IDF of words.

    Section D, textiles and paper, is the set of Rousu et al. 2005 and Liu et al. 2013: 188 nodes.

    Parameters
    ----------
    section : {"A", …, "H"}, optional
        Only patents of this section; None: all.
    folder : path, optional
        Holds the folders ``train`` and ``test``; None: ``wipo_alpha`` below ``CLADIST_DATA``.
    """
    return _load_patents("wipo_alpha", folder, section=section, level="main-group")


def load_ipc(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load all of WIPO-alpha by subclass: the IPC set of Gopal & Yang 2013.

    Parameters
    ----------
    folder : path, optional
        As in `load_wipo_alpha`.
    """
    return _load_patents("ipc", folder, level="subclass")


def _load_patents(name: str, folder: Folder, **options: Any) -> Dataset[Taxonomy]:
    entry = DATA_SETS[name]
    data = replace(read_wipo_alpha(entry.locate(folder), **options), source=entry.title)
    # Word pairs, which help short texts, would make millions of columns of such long ones.
    return vectorise(data, text_features(words=(1, 1), characters=False))


def load_ohsumed(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load OHSUMED, references of MEDLINE from 1987 to 1991, below the MeSH descriptor "Quality of Health Care".

    Cesa-Bianchi et al. 2006 have 55,503 documents and 94 nodes; the edition of MeSH decides.

    Parameters
    ----------
    folder : path, optional
        Holds the years that are there, and ``mtrees.bin``; None: ``ohsumed`` below ``CLADIST_DATA``.

    Returns
    -------
    Dataset
        Not split, as of `read_ohsumed`. Call `split` and put a vectoriser before the learner in a `Pipeline`.
    """
    entry = DATA_SETS["ohsumed"]
    place = entry.locate(folder)
    return replace(read_ohsumed(place, mesh=path_of(place, "mtrees.bin")), source=entry.title)


def load_phonemes(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load phonemes of TIMIT, 40 of them in a phonetic tree, by five stacked frames of features, split.

    Dekel et al. 2004 drew 2,000 examples per phoneme to train on and 500 to test on; this set has all frames.

    Parameters
    ----------
    folder : path, optional
        Holds the folders ``train`` and ``test``; None: ``phonemes`` below ``CLADIST_DATA``.
    """
    entry = DATA_SETS["phonemes"]
    return replace(read_phonemes(entry.locate(folder), stack=5, n_phonemes=40), source=entry.title)


def load_dekel_dmoz(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load the DMOZ set of Dekel et al. 2004, 8,576 pages and 316 nodes, not split: the paper cross-validates.

    Parameters
    ----------
    folder : path, optional
        Holds ``pages.svm`` and ``hierarchy.txt`` in any format of taxonomies; None: ``dekel_dmoz`` below
        ``CLADIST_DATA``.
    """
    entry = DATA_SETS["dekel_dmoz"]
    place = entry.locate(folder)
    taxonomy = Taxonomy.read(path_of(place, "hierarchy.txt"))
    data = read_svmlight(path_of(place, "pages.svm"), taxonomy=taxonomy, multilabel=False)
    return Dataset(data.X, data.y, taxonomy, source=entry.title)


def load_lshtc_small(*, task: Literal[1, 2] = 2, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load LSHTC-small, the dry run of the first challenge: web pages under DMOZ's categories.

    Parameters
    ----------
    task : {1, 2}
        1: pages to train on and to test on; by its number of features, the LSHTC-small of Gopal & Yang 2013.
        2: short descriptions of pages to train on and to validate, pages to test on.
    folder : path, optional
        Holds ``cat_hier.txt`` and a folder ``Task1`` or ``Task2``; None: ``lshtc_dryrun`` below ``CLADIST_DATA``.

    Returns
    -------
    Dataset
        Split, with a validation part, as of `load_dmoz`. The taxonomy is a forest of 2,387 nodes, 1,139 of them leaves;
        ``taxonomy.contracted()`` has the paper's 1,563.

    Examples
    --------
    >>> load_lshtc_small()  # doctest: +SKIP
    Dataset(4463 + 1858 rows, 1860 to validate, 26969 features, 2387 nodes, LSHTC-small, task 2)
    """
    one_of("load_lshtc_small", "task", task, (1, 2))
    return _load_lshtc(f"lshtc_small_task{task}", folder)


def load_dmoz(*, year: Literal[2010, 2011, 2012], folder: Folder = None) -> Dataset[Taxonomy]:
    """Load the DMOZ set of a challenge's year: web pages under DMOZ's categories.

    Parameters
    ----------
    year : {2010, 2011, 2012}
        The year of the challenge.
    folder : path, optional
        Holds ``cat_hier.txt``, ``train.txt``, ``test.txt``; None: ``dmoz2010`` and so on below ``CLADIST_DATA``.

    Returns
    -------
    Dataset
        Split. `X` is CSR, counts of words; `feature_names` are the words' numbers, those that no row uses left out. `y`
        has one leaf per row, for 2011 a list of them. 2010 has a validation part; Gopal & Yang 2013 trained on both.
    """
    one_of("load_dmoz", "year", year, (2010, 2011, 2012))
    return _load_lshtc(f"dmoz{year}", folder, multilabel=True if year == 2011 else "auto")


def load_swiki2011(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load SWIKI-2011, the smaller Wikipedia set of the second challenge: a DAG, and a list of labels per row.

    Parameters
    ----------
    folder : path, optional
        As in `load_dmoz`; None: ``swiki2011`` below ``CLADIST_DATA``.
    """
    return _load_lshtc("swiki2011", folder, multilabel=True)


def load_lwiki(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load LWIKI, the large Wikipedia set of the challenges: 2.4 million articles, 325,056 labels.

    The taxonomy is the category graph with an edge of each cycle left out (``taxonomy.dropped_edges``).

    Parameters
    ----------
    folder : path, optional
        As in `load_dmoz`; None: ``lwiki`` below ``CLADIST_DATA``.
    """
    return _load_lshtc("lwiki", folder, multilabel=True, on_cycle="drop")


def _load_lshtc(name: str, folder: Folder, **options: Any) -> Dataset[Taxonomy]:
    """Read the files of an entry: hierarchy, train, test and perhaps validation."""
    entry = DATA_SETS[name]
    place = entry.locate(folder)
    hierarchy, train, test, *validation = (path_of(place, file) for file in entry.files)
    third = validation[0] if validation else None
    data = read_lshtc(train, hierarchy, test=test, validation=third, compact=True, **options)
    if not all(data.y):  # an empty list
        raise DatasetError(
            f"{place}: some rows have a 0 for a label, as the challenges gave out their test files; put the true "
            "labels there to test on them, or read the files as they are with read_lshtc."
        )
    return replace(data, source=entry.title)
