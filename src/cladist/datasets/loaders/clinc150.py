"""CLINC150: queries to an assistant with 150 intents in 10 domains, and queries outside of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy.typing as npt

from cladist.datasets.dataset import Dataset
from cladist.datasets.loaders.catalogue import DATA_SETS, Folder, path_of
from cladist.datasets.loaders.split_texts import vectorise
from cladist.datasets.rows import as_objects
from cladist.errors import DatasetError, one_of
from cladist.features import text_features
from cladist.files import read_text, refuse
from cladist.taxonomy import Taxonomy

QUERIES, DOMAINS = "data_full.json", "domains.json"
OUT_OF_SCOPE = "oos"


def load_clinc150(*, out_of_scope: bool = False, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load CLINC150: 15,000 queries to train on, 4,500 to test on, 3,000 to validate.

    Parameters
    ----------
    out_of_scope : bool
        Whether to add the queries that belong to no intent (100, 1,000 and 100 of them, at the end of each part).
        Their label is "oos", a leaf of its own beside the 10 domains.
    folder : path, optional
        Holds ``data_full.json`` and ``domains.json``; None: ``clinc150`` below the folder that ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        Split, with a validation part. `X` is TF-IDF of words and word pairs, float32 CSR, fitted on the training
        part; `texts` has the queries. The taxonomy is a forest of domains with 15 intents below each.

    Examples
    --------
    >>> load_clinc150()  # doctest: +SKIP
    Dataset(15000 + 4500 rows, 3000 to validate, 30921 features, 160 nodes, CLINC150)
    """
    one_of("load_clinc150", "out_of_scope", out_of_scope, (True, False))
    place = DATA_SETS["clinc150"].locate(folder)
    taxonomy = _taxonomy(path_of(place, DOMAINS), out_of_scope)
    path = path_of(place, QUERIES)
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


def _taxonomy(path: Path, out_of_scope: bool) -> Taxonomy:
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


def _part(
    path: Path, content: dict[str, Any], key: str, taxonomy: Taxonomy, out_of_scope: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
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
