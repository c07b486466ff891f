"""Data sets in ARFF-HMC: medical images, e-mails, and genes under two ontologies."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.arff import read_arff_hmc
from cladist.datasets.loaders.catalogue import DATA_SETS, CatalogueEntry, Folder, path_of
from cladist.errors import one_of
from cladist.files import refuse
from cladist.taxonomy import Taxonomy


def load_imclef07a(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load ImCLEF07A, X-ray images by part of the body: the CLEF set of Gopal & Yang 2013.

    Parameters
    ----------
    folder : path, optional
        Holds the two ``.arff`` files; None: ``imclef07a`` below ``CLADIST_DATA``.

    Returns
    -------
    Dataset
        Split. `X` is dense, 80 whole numbers; scale them with ``StandardScaler``, as that line of work does. `y` has
        one leaf per row, of 63. The paper counts 87 nodes and 89 features, which do not fit these files.

    Examples
    --------
    >>> load_imclef07a()  # doctest: +SKIP
    Dataset(10000 + 1006 rows, 80 features, 96 nodes, ImCLEF07A)
    """
    return _load(DATA_SETS["imclef07a"], folder, multilabel=False)


def load_enron(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load the Enron e-mails with several labels each: genre, topics, emotion.

    Parameters
    ----------
    folder : path, optional
        Holds the two ``.arff`` files; None: ``enron`` below ``CLADIST_DATA``.

    Examples
    --------
    >>> load_enron()  # doctest: +SKIP
    Dataset(988 + 660 rows, 1001 features, 56 nodes, Enron e-mails)
    """
    return _load(DATA_SETS["enron"], folder, multilabel=True)


def load_genes_fun(*, which: Literal["cellcycle", "derisi"] = "cellcycle", folder: Folder = None) -> Dataset[Taxonomy]:
    """Load genes of yeast and their functions in FunCat (Vens et al. 2008).

    Parameters
    ----------
    which : {"cellcycle", "derisi"}
        The measurements that are the features.
    folder : path, optional
        Holds a folder ``cellcycle`` or ``derisi``; None: ``genes_fun`` below ``CLADIST_DATA``.

    Returns
    -------
    Dataset
        Split, with a validation part. A missing measurement is NaN; `y` is a list of lists, of inner nodes too.

    Examples
    --------
    >>> load_genes_fun(which="cellcycle")  # doctest: +SKIP
    Dataset(1628 + 1281 rows, 848 to validate, 77 features, 499 nodes, Yeast genes, FunCat, cellcycle)
    """
    one_of("load_genes_fun", "which", which, ("cellcycle", "derisi"))
    return _load(DATA_SETS[f"genes_fun_{which}"], folder, multilabel=True)


def load_genes_go(*, which: Literal["cellcycle"] = "cellcycle", folder: Folder = None) -> Dataset[Taxonomy]:
    """Load genes of yeast and their terms in the Gene Ontology, a DAG (Vens et al. 2008).

    Parameters
    ----------
    which : {"cellcycle"}
        The measurements that are the features.
    folder : path, optional
        Holds a folder ``cellcycle``; None: ``genes_go`` below ``CLADIST_DATA``.

    Examples
    --------
    >>> load_genes_go()  # doctest: +SKIP
    Dataset(1625 + 1278 rows, 848 to validate, 77 features, 4125 nodes, Yeast genes, Gene Ontology, cellcycle)
    """
    one_of("load_genes_go", "which", which, ("cellcycle",))
    return _load(DATA_SETS[f"genes_go_{which}"], folder, multilabel=True)


def _load(entry: CatalogueEntry, folder: Folder, *, multilabel: bool) -> Dataset[Taxonomy]:
    """Read the files of an entry, which are train and test or train, valid and test, over one taxonomy."""
    place = entry.locate(folder)
    paths = [path_of(place, file) for file in entry.files]
    train = read_arff_hmc(paths[0], multilabel=multilabel)
    *validation, test = (_read_part(path, paths[0], train, multilabel) for path in paths[1:])
    fields: dict[str, Any] = {"taxonomy": train.taxonomy, "feature_names": train.feature_names, "source": entry.title}
    if validation:
        fields |= {"X_validation": validation[0].X, "y_validation": validation[0].y}
    return Dataset.from_parts(train.X, train.y, test.X, test.y, **fields)


def _read_part(path: Path, first: Path, train: Dataset[Taxonomy], multilabel: bool) -> Dataset[Taxonomy]:
    """Read another file with the features and labels of the first."""
    part = read_arff_hmc(path, taxonomy=train.taxonomy, multilabel=multilabel)
    if list(part.feature_names or ()) != list(train.feature_names or ()):
        refuse(path, None, None, f"its attributes are not those of {first.name}.")
    return part
