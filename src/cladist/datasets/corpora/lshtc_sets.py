"""The data sets of the LSHTC challenges: web pages under DMOZ's categories, articles under Wikipedia's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.lshtc.reader import read_lshtc
from cladist.datasets.loaders.layout import DATA_SETS
from cladist.datasets.loaders.location import Folder, path_of
from cladist.errors import DatasetError, one_of


def load_lshtc_small(*, task: Literal[1, 2] = 2, folder: Folder = None) -> Dataset:
    """Load LSHTC-small, the dry run of the first challenge: web pages under DMOZ's categories.

    Parameters
    ----------
    task : {1, 2}
        1: pages to train on and to test on; by its number of features, the LSHTC-small of Gopal & Yang 2013.
        2: short descriptions of pages to train on and to validate, pages to test on.
    folder : path, optional
        Holds ``cat_hier.txt`` and a folder ``Task1`` or ``Task2`` with ``train.txt``, ``validation.txt`` and
        ``test.txt``; None: ``lshtc_dryrun`` below the folder that ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        Split, 4,463 + 1,858 rows and 1,860 to validate. `X` is CSR, counts of words; `feature_names` are the words'
        numbers, those that no row uses left out. `y` has one leaf a row. The taxonomy is a forest of 2,387 nodes, 1,139
        of them leaves; ``taxonomy.contracted()`` has the paper's 1,563.

    Examples
    --------
    >>> load_lshtc_small()  # doctest: +SKIP
    Dataset(4463 + 1858 rows, 1860 to validate, 26969 features, 2387 nodes, LSHTC-small, task 2)
    """
    one_of("load_lshtc_small", "task", task, (1, 2))
    return _loaded(f"lshtc_small_task{task}", folder)


def load_dmoz(*, year: Literal[2010, 2011, 2012], folder: Folder = None) -> Dataset:
    """Load the DMOZ set of a challenge's year: web pages under DMOZ's categories.

    Parameters
    ----------
    year : {2010, 2011, 2012}
        Which challenge.
    folder : path, optional
        Holds ``cat_hier.txt``, ``train.txt`` and ``test.txt``, for 2010 also ``validation.txt``; None: ``dmoz2010``
        and so on below the folder that ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        Split. `X` is CSR, counts of words; `feature_names` are the words' numbers, those that no row uses left out. `y`
        has one leaf a row, for 2011 a list of them. 2010 has a validation part; Gopal & Yang 2013 trained on both.

    Raises
    ------
    DatasetError
        Also if the test rows have no labels: the challenges gave them out with a 0 in place of each.
    """
    one_of("load_dmoz", "year", year, (2010, 2011, 2012))
    return _loaded(f"dmoz{year}", folder, multilabel=True if year == 2011 else "auto")


def load_swiki2011(*, folder: Folder = None) -> Dataset:
    """Load SWIKI-2011, the smaller Wikipedia set of the second challenge.

    Parameters
    ----------
    folder : path, optional
        Holds ``cat_hier.txt``, ``train.txt`` and ``test.txt``; None: ``swiki2011`` below the folder that
        ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        Split. `X` is CSR, counts of words, as in `load_dmoz`. `y` is a list of lists. The taxonomy is a DAG.
    """
    return _loaded("swiki2011", folder, multilabel=True)


def load_lwiki(*, folder: Folder = None) -> Dataset:
    """Load LWIKI, the large Wikipedia set of the challenges: 2.4 million articles, 325,056 labels.

    Parameters
    ----------
    folder : path, optional
        Holds ``cat_hier.txt``, ``train.txt`` and ``test.txt``; None: ``lwiki`` below the folder that ``CLADIST_DATA``
        names.

    Returns
    -------
    Dataset
        Split. `X` is CSR, counts of words, as in `load_dmoz`. `y` is a list of lists. The taxonomy is a DAG: the
        category graph with an edge of each cycle left out (``taxonomy.dropped_edges``).
    """
    return _loaded("lwiki", folder, multilabel=True, on_cycle="drop")


def _loaded(name: str, folder: Folder, **options: Any) -> Dataset:
    """Read the files of a layout: hierarchy, train, test and perhaps validation."""
    layout = DATA_SETS[name]
    place = layout.found(folder)
    hierarchy, train, test, *validation = (path_of(place, file) for file in layout.files)
    third = validation[0] if validation else None
    data = read_lshtc(train, hierarchy, test=test, validation=third, compact=True, **options)
    if not all(data.y):  # an empty list
        raise DatasetError(
            f"{place}: some rows have a 0 for a label, as the challenges gave out their test files; put the true "
            "labels there to test on them, or read the files as they are with read_lshtc."
        )
    return replace(data, source=layout.title)
