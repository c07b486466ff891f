"""Data sets of the papers that must be asked for: news, patents, medicine, speech, and a corner of DMOZ."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from cladist.datasets.corpora.documents.ohsumed import read_ohsumed
from cladist.datasets.corpora.documents.wipo import read_wipo_alpha
from cladist.datasets.corpora.speech.phonemes import read_phonemes
from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.rcv1.reader import read_rcv1
from cladist.datasets.formats.svmlight.reader import read_svmlight
from cladist.datasets.loaders.layout import DATA_SETS
from cladist.datasets.loaders.location import Folder, Layout, path_of
from cladist.datasets.loaders.split_texts import vectorised
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
) -> Dataset:
    """Load RCV1-v2, stories of Reuters: 23,149 to train on, 781,265 to test on, with the published vectors.

    ``family="CCAT", n_train=2500, n_test=5000`` is near the Reuters set of Rousu et al. 2005; the families with
    ``n_test=5000`` are near the CCAT, ECAT, GCAT and MCAT of Liu et al. 2013. None of the papers lists its documents.

    Parameters
    ----------
    family, hierarchy, n_train, n_test
        As in `read_rcv1`.
    folder : path, optional
        Holds ``rcv1-v2.topics.qrels``, ``rcv1.topics.hier.orig``, ``lyrl2004_vectors_train.dat`` and
        ``lyrl2004_vectors_test_pt0.dat`` to ``…pt3.dat``; None: ``rcv1`` below the folder that ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        Split. `X` is CSR with 47,236 columns, `y` a list of lists. The taxonomy is a forest of 103 topics, with some
        nodes more if expanded; `descriptions` says what they mean.
    """
    layout = DATA_SETS["rcv1"]
    place = layout.found(folder)
    data = read_rcv1(
        place, family=family, hierarchy=hierarchy, n_train=n_train, n_test=n_test, n_features=N_RCV1_FEATURES
    )
    return _called(layout, data)


def load_wipo_alpha(*, section: str | None = "D", folder: Folder = None) -> Dataset:
    """Load WIPO-alpha, patents by main group of the International Patent Classification.

    Section D, textiles and paper, is the set of Rousu et al. 2005 and Liu et al. 2013: 188 nodes.

    Parameters
    ----------
    section : {"A", …, "H"}, optional
        Only patents of this section; None: all.
    folder : path, optional
        Holds the folders ``train`` and ``test`` with the ``.xml`` records; None: ``wipo_alpha`` below the folder that
        ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        Split. `X` is TF-IDF of words, float32 CSR, fitted on the training part; `texts` has the patents. `y` has one
        main group a row.
    """
    layout = DATA_SETS["wipo_alpha"]
    return _patents(layout, read_wipo_alpha(layout.found(folder), section=section, level="main-group"))


def load_ipc(*, folder: Folder = None) -> Dataset:
    """Load WIPO-alpha by subclass of the International Patent Classification: the IPC set of Gopal & Yang 2013.

    Parameters
    ----------
    folder : path, optional
        As in `load_wipo_alpha`.

    Returns
    -------
    Dataset
        As `load_wipo_alpha` gives it, with all sections, and one subclass a row.
    """
    layout = DATA_SETS["ipc"]
    return _patents(layout, read_wipo_alpha(layout.found(folder), level="subclass"))


def load_ohsumed(*, folder: Folder = None) -> Dataset:
    """Load OHSUMED, references of MEDLINE from 1987 to 1991, below the MeSH descriptor "Quality of Health Care".

    Parameters
    ----------
    folder : path, optional
        Holds ``ohsumed.87`` and the other years, as far as they are there, and ``mtrees.bin``, a file of MeSH trees;
        None: ``ohsumed`` below the folder that ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        Not split; `X` is an array of texts, titles and abstracts, `y` a list of lists of descriptors. Call `split` and
        put a vectoriser before the learner in a `Pipeline`. The taxonomy is a DAG, cycles taken out. Cesa-Bianchi et
        al. 2006 have 55,503 documents and 94 nodes; the edition of MeSH decides.
    """
    layout = DATA_SETS["ohsumed"]
    place = layout.found(folder)
    return _called(layout, read_ohsumed(place, mesh=path_of(place, "mtrees.bin")))


def load_phonemes(*, folder: Folder = None) -> Dataset:
    """Load phonemes of TIMIT, 40 of them in a phonetic tree, by five stacked frames of features.

    Dekel et al. 2004 drew 2,000 examples a phoneme to train on and 500 to test on; these are all there are.

    Parameters
    ----------
    folder : path, optional
        Holds the folders ``train`` and ``test``, in which a feature file (``.mfc`` or ``.htk``) lies beside every label
        file (``.phn``); None: ``phonemes`` below the folder that ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        Split. `X` is dense, float32; `y` has one phoneme a row.
    """
    layout = DATA_SETS["phonemes"]
    return _called(layout, read_phonemes(layout.found(folder), stack=5, n_phonemes=40))


def load_dekel_dmoz(*, folder: Folder = None) -> Dataset:
    """Load the DMOZ set of Dekel et al. 2004, 8,576 pages and 316 nodes, from its owners' files.

    Parameters
    ----------
    folder : path, optional
        Holds ``pages.svm``, one label a row in svmlight format, and ``hierarchy.txt`` in any format that
        `Taxonomy.read` knows; None: ``dekel_dmoz`` below the folder that ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        Not split: the paper cross-validates, in 4 parts.
    """
    layout = DATA_SETS["dekel_dmoz"]
    place = layout.found(folder)
    taxonomy = Taxonomy.read(path_of(place, "hierarchy.txt"))
    return _called(layout, read_svmlight(path_of(place, "pages.svm"), taxonomy=taxonomy, multilabel=False))


def _patents(layout: Layout, data: Dataset) -> Dataset:
    # Word pairs, which help short texts, would make millions of columns of such long ones.
    return vectorised(_called(layout, data), text_features(ngram_range=(1, 1)))


def _called(layout: Layout, data: Dataset) -> Dataset:
    return replace(data, source=layout.title)
