"""A stand-in for RCV1 where the real one is not at hand: 6,000 of its stories over the 944 most telling words.

Topics and topic tree are RCV1's own; documents, words and split are not those of any published table. Print results in
a column headed "stand-in", never as a replication.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cladist.datasets import Dataset
from cladist.datasets.loaders.catalogue import CatalogueEntry, Folder
from cladist.errors import DatasetError
from cladist.files import open_for_reading
from cladist.taxonomy import Taxonomy

STANDIN = CatalogueEntry(
    "rcv1_standin",
    "RCV1 stand-in",
    folder="rcv1",
    files=("rcv1subset1_clean.npz", "topics.edges.tsv"),
    loader="benchmarks.rcv1_standin.load_rcv1_standin()",
    source="private to these benchmarks: subset 1 of the Mulan RCV1-v2 subsets, its label columns put right",
    licence="none stated; used in research",
)
LARGEST_ARCHIVE = 64 * 2**20
_ARRAYS = ("indptr", "indices", "shape", "Y_packed", "n_labels", "names", "n_train")


def load_rcv1_standin(*, folder: Folder = None) -> Dataset:
    """Load the stand-in: 3,000 + 3,000 stories, 944 binary features, 3.2 topics a story, ancestors included.

    The taxonomy has all 103 topics of RCV1; two of them label no story.
    """
    place = STANDIN.locate(folder)
    path = place / "rcv1subset1_clean.npz"
    arrays = _arrays(path)
    try:
        return _dataset(arrays, _topics(place / "topics.edges.tsv"))
    except (ValueError, TypeError, IndexError) as problem:
        raise DatasetError(f"{path}: the arrays do not fit each other ({problem}).") from problem


def _arrays(path: Path) -> dict[str, Any]:
    with open_for_reading(path) as stream:
        content = stream.read(LARGEST_ARCHIVE + 1)
    if len(content) > LARGEST_ARCHIVE:
        raise DatasetError(f"{path}: more than {LARGEST_ARCHIVE:,} bytes.")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {name: archive[name] for name in _ARRAYS}
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, zipfile.BadZipFile) as problem:
        raise DatasetError(
            f"{path}: not an .npz archive with the arrays {', '.join(_ARRAYS)} ({problem})."
        ) from problem


def _topics(path: Path) -> Taxonomy:
    """Read the tree, without the node that stands above the four top topics."""
    tree = Taxonomy.read(path, format="tsv")
    return Taxonomy.from_parents(
        {tree.names[v]: tree.names[p] if p > 0 else None for v, p in enumerate(tree.parent) if v > 0}
    )


def _dataset(arrays: dict[str, Any], taxonomy: Taxonomy) -> Dataset:
    values = np.ones(len(arrays["indices"]), np.float32)
    X = sparse.csr_matrix((values, arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
    X.check_format(full_check=True)
    X.sort_indices()
    names = [str(name) for name in arrays["names"]]
    unknown = [name for name in names if name not in taxonomy]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not in the topic tree")
    has = np.unpackbits(arrays["Y_packed"], axis=1)[:, : int(arrays["n_labels"])]
    y = [[names[k] for k in np.flatnonzero(row)] for row in has]
    n_train = int(arrays["n_train"])
    return Dataset(
        X,
        y,
        taxonomy,
        source="RCV1 stand-in (not the published split)",
        train_rows=slice(0, n_train),
        test_rows=slice(n_train, X.shape[0]),
    )
