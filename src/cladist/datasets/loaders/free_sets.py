"""Data sets that are free to download: images, e-mails and genes in ARFF-HMC; CLINC150; 20 Newsgroups."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from cladist import progress
from cladist.datasets.dataset import Dataset, as_objects
from cladist.datasets.formats.arff import read_arff_hmc
from cladist.datasets.loaders.catalogue import DATA_SETS, CatalogueEntry, Folder, path_of, read_bytes, vectorise
from cladist.errors import DatasetError, one_of
from cladist.features import text_features
from cladist.files import LONGEST_LINE, read_text, refuse
from cladist.taxonomy import Taxonomy

Texts = tuple[npt.NDArray[Any], npt.NDArray[Any]]  # texts and their labels


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
    return _load_arff(DATA_SETS["imclef07a"], folder, multilabel=False)


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
    return _load_arff(DATA_SETS["enron"], folder, multilabel=True)


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
    return _load_arff(DATA_SETS[f"genes_fun_{which}"], folder, multilabel=True)


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
    return _load_arff(DATA_SETS[f"genes_go_{which}"], folder, multilabel=True)


def _load_arff(entry: CatalogueEntry, folder: Folder, *, multilabel: bool) -> Dataset[Taxonomy]:
    """Read the files of an entry, which are train and test or train, valid and test, over one taxonomy."""
    place = entry.locate(folder)
    paths = [path_of(place, file) for file in entry.files]
    return replace(read_arff_hmc(*paths, multilabel=multilabel), source=entry.title)


OUT_OF_SCOPE = "oos"


def load_clinc150(*, out_of_scope: bool = False, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load CLINC150: 15,000 queries to train on, 4,500 to test on, 3,000 to validate.

    Parameters
    ----------
    out_of_scope : bool
        Whether to add the queries that belong to no intent (100, 1,000 and 100 of them, at the end of each part).
        Their label is "oos", a leaf of its own beside the 10 domains.
    folder : path, optional
        Holds ``data_full.json`` and ``domains.json``; None: ``clinc150`` below ``CLADIST_DATA``.

    Returns
    -------
    Dataset
        Split, with a validation part. `X` is TF-IDF of words, word pairs and characters; `texts` has the queries.

    Examples
    --------
    >>> load_clinc150()  # doctest: +SKIP
    Dataset(15000 + 4500 rows, 3000 to validate, 41606 features, 160 nodes, CLINC150)
    """
    one_of("load_clinc150", "out_of_scope", out_of_scope, (True, False))
    place = DATA_SETS["clinc150"].locate(folder)
    taxonomy = _domains(path_of(place, "domains.json"), out_of_scope)
    path = path_of(place, "data_full.json")
    content = _object(path)
    train, test, validation = (_part(path, content, key, taxonomy, out_of_scope) for key in ("train", "test", "val"))
    queries = Dataset.from_parts(
        *train,
        *test,
        X_validation=validation[0],
        y_validation=validation[1],
        taxonomy=taxonomy,
        source="CLINC150 with out-of-scope queries" if out_of_scope else "CLINC150",
    )
    return vectorise(queries, text_features())


def _object(path: Path) -> dict[str, Any]:
    text = read_text(path)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as problem:
        place = str(path), problem.lineno, problem.colno
        raise DatasetError.at(*place, f"not valid JSON ({problem.msg}).", kind="bad-json") from problem
    except (ValueError, RecursionError) as problem:  # a number of thousands of digits; brackets without end
        raise DatasetError(f"{path}: not a file of CLINC150 ({problem}).") from problem
    if not isinstance(content, dict):
        refuse(path, None, None, f"wanted a JSON object, got {type(content).__name__}.")
    return content


def _domains(path: Path, out_of_scope: bool) -> Taxonomy:
    parents: dict[str, str | None] = {}
    for domain, intents in _object(path).items():
        if not isinstance(intents, list) or not all(isinstance(intent, str) for intent in intents):
            refuse(path, None, None, f"domain {domain!r} must hold a list of the names of its intents.")
        for name in (domain, *intents):
            if name in parents:
                refuse(path, None, None, f"{name!r} stands there twice.")
            parents[name] = None if name is domain else domain
    if out_of_scope:
        parents[OUT_OF_SCOPE] = None
    return Taxonomy.from_parents(parents)


def _part(path: Path, content: dict[str, Any], key: str, taxonomy: Taxonomy, out_of_scope: bool) -> Texts:
    """Return the queries under a key and their intents, those out of scope after the others."""
    texts, labels = [], []
    for name in (key, f"oos_{key}") if out_of_scope else (key,):
        rows = content.get(name)
        if not isinstance(rows, list):
            refuse(path, None, None, f"{name!r} must hold a list of [query, intent] pairs.")
        for position, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != 2 or not all(isinstance(field, str) for field in row):
                refuse(path, None, None, f"{name}[{position}] must be a [query, intent] pair of texts; got {row!r}.")
            if row[1] not in taxonomy:
                refuse(path, None, None, f"{name}[{position}] has the intent {row[1]!r}, which is in no domain.")
            texts.append(row[0])
            labels.append(row[1])
    return as_objects(texts), as_objects(labels)


ROOT = "ROOT"  # the node above the seven top groups in the file, which is no label


def load_news20(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load 20 Newsgroups "by date": 11,314 older posts to train on, 7,532 newer ones to test on.

    Posts are whole, with headers, signatures and quotations. Headers name the writer and often the group's own
    words, so that figures are higher than on posts stripped of them. Bytes are decoded as Latin-1, in which every
    post can be read.

    Parameters
    ----------
    folder : path, optional
        Holds the two folders of posts and ``hierarchy.tsv``; None: ``news20_bydate`` below ``CLADIST_DATA``.

    Returns
    -------
    Dataset
        Split. `X` is TF-IDF of words, counted as 1 + log; `texts` has the posts, ordered by group and file name.

    Examples
    --------
    >>> load_news20()  # doctest: +SKIP
    Dataset(11314 + 7532 rows, 130152 features, 27 nodes, 20 Newsgroups by date)
    """
    place = DATA_SETS["news20"].locate(folder)
    taxonomy = _groups(path_of(place, "hierarchy.tsv"))
    train, test = (_posts(place / f"20news-bydate-{part}", taxonomy) for part in ("train", "test"))
    posts = Dataset.from_parts(*train, *test, taxonomy=taxonomy, source="20 Newsgroups by date")
    # Word pairs, which help short texts, would make a million columns of such long ones; and in these a word seen ten
    # times says little more than one seen twice (92.7 against 91.7 % right in cross-validation on the training part).
    return vectorise(posts, text_features(words=(1, 1), characters=False, sublinear_tf=True))


def _groups(path: Path) -> Taxonomy:
    tree = Taxonomy.read(path, format="tsv")
    if tree.names[0] != ROOT or tree.kind != "tree":
        return tree
    parents = {tree.names[v]: tree.names[p] if p > 0 else None for v, p in enumerate(tree.parent) if v > 0}
    return Taxonomy.from_parents(parents)


def _posts(folder: Path, taxonomy: Taxonomy) -> Texts:
    """Read a folder of groups: the posts and their groups, each of which must be in the tree."""
    groups = _names(folder)
    for group in groups:
        if group not in taxonomy:
            raise DatasetError(f"{folder / group}: the tree has no group {group!r}{taxonomy.suggestion(group)}")
    files = [(group, folder / group / name) for group in groups for name in _names(folder / group)]
    posts = []
    with (
        progress.task(f"Reading {folder.name}", total=len(files)) as task,
        progress.hide(),
    ):  # no bar for each small file
        for _, path in files:
            posts.append(read_bytes(path, LONGEST_LINE).decode("latin-1"))
            task.advance()
    return as_objects(posts), as_objects([group for group, _ in files])


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as problem:
        raise DatasetError(f"{folder}: cannot be listed ({problem}).") from problem
