"""Packed data sets: rows, labels and taxonomy in a folder whose rows are mapped, for data larger than memory.

The folder is one of `cladist.storage`, as models are: a manifest and arrays in safetensors, checksummed, without code.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import Dataset, as_lists, as_objects
from cladist.errors import DatasetError, ModelFormatError
from cladist.features.rows_on_disk import as_csr
from cladist.locks import lock_folder
from cladist.storage import check_replaceable, pack_strings, read_folder, unpack_strings, write_folder
from cladist.storage.array_groups import Arrays, are_row_ends, group, prefixed
from cladist.storage.scratch import Spool, scratch_in
from cladist.taxonomy.arrays import pack_taxonomy, unpack_taxonomy
from cladist.taxonomy.taxonomy import Taxonomy

KIND = "dataset"  # of the content of a folder; that of a model has none
MAPPED = ("indices", "values")  # the arrays that stay in their file


class PackedWriter:
    """Collects rows piece by piece in temporary files beside a folder, and writes the folder when all are there.

    Parameters
    ----------
    folder : path
        A new folder, an empty one, or a packed data set to replace. While it is written it takes its room twice.
    n_features : int, optional
        The number of columns; None: as the pieces need.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with PackedWriter(folder) as writer:
    ...     for piece in (np.eye(2), np.ones((1, 2))):
    ...         writer.add(piece)
    ...     writer.finish(["a", "b"], [0, 1, 1])
    >>> data = Dataset.open(folder)
    >>> data.X.toarray().tolist(), data.y.tolist()
    ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ['a', 'b', 'b'])
    """

    def __init__(self, folder: str | os.PathLike[str], *, n_features: int | None = None) -> None:
        self.folder = Path(folder)
        self.n_features, self.widest, self.n_rows = n_features, 0, 0

    def __enter__(self) -> Self:
        check_replaceable(self.folder)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch_in(self.folder.parent):
            self.indices, self.values = Spool(np.int32), Spool(np.float32)
        self.lengths: list[npt.NDArray[np.int64]] = [np.zeros(1, np.int64)]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.indices.close()
        self.values.close()

    def add(self, X: Any) -> None:
        """Add rows, dense or sparse, of finite numbers."""
        rows = sparse.csr_array(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        values = rows.data.astype(np.float32)
        if not np.all(np.isfinite(values)):
            k = int(np.argmin(np.isfinite(values)))
            row = self.n_rows + int(np.searchsorted(rows.indptr, k, side="right"))
            raise DatasetError(
                f"Row {row} has the value {rows.data[k]}, and packed rows hold finite float32 numbers; fill in missing "
                "values, and scale what is too large."
            )
        if self.n_features is not None and rows.shape[1] > self.n_features:
            raise DatasetError(f"Rows have {rows.shape[1]:,} columns, and n_features is {self.n_features:,}.")
        self.widest, self.n_rows = max(self.widest, rows.shape[1]), self.n_rows + rows.shape[0]
        self.lengths.append(np.diff(rows.indptr).astype(np.int64))
        self.indices.append(rows.indices)
        self.values.append(values)

    def finish(
        self,
        names: Sequence[str],
        ids: npt.ArrayLike,
        counts: npt.ArrayLike | None = None,
        *,
        taxonomy: Taxonomy | None = None,
        feature_names: Sequence[str] | None = None,
        source: str = "",
        content: dict[str, Any] | None = None,
        arrays: Arrays | None = None,
    ) -> None:
        """Write the folder.

        Parameters
        ----------
        names : sequence of str
            The distinct labels.
        ids : array of int
            The label of every row, by its place in `names`; with `counts` those of all rows one after the other.
        counts : array of int, optional
            The number of labels of every row, where rows may have several.
        taxonomy : Taxonomy, optional
        feature_names : sequence of str, optional
        source : str
            The origin of the rows, for people.
        content, arrays : dict, optional
            What else is kept beside the rows, such as how texts became numbers.
        """
        ids = np.asarray(ids, np.int32)
        lengths = np.ones(len(ids), np.int64) if counts is None else np.asarray(counts, np.int64)
        if not self.n_rows:
            raise DatasetError(f"{source or self.folder}: there are no rows to pack.")
        if len(lengths) != self.n_rows or int(lengths.sum()) != len(ids):
            raise DatasetError(f"{self.n_rows:,} rows have labels for {len(lengths):,}.")
        packed: Arrays = {
            "indptr": np.cumsum(np.concatenate(self.lengths)),
            "indices": self.indices.array(),
            "values": self.values.array(),
            "labels/ids": ids,
            **prefixed("labels/names", pack_strings(list(names))),
        }
        if counts is not None:
            packed["labels/counts"] = lengths
        if feature_names is not None:
            packed |= prefixed("feature_names", pack_strings(list(feature_names)))
        tree, tree_arrays = (None, {}) if taxonomy is None else pack_taxonomy(taxonomy)
        packed |= prefixed("taxonomy", tree_arrays) | prefixed("beside", arrays or {})
        own = {"kind": KIND, "n_features": self.n_features or self.widest, "source": source, "taxonomy": tree}
        with lock_folder(self.folder):
            write_folder(self.folder, {**own, "beside": content or {}}, packed)


def open_packed(folder: str | os.PathLike[str], *, verify: bool = False) -> tuple[Dataset, dict[str, Any], Arrays]:
    """Return a packed data set and the values and arrays kept beside it; see `Dataset.open`."""
    content, arrays = read_folder(folder, keep_in_file=lambda name: name in MAPPED, verify=verify)
    if content.get("kind") != KIND:
        raise DatasetError(f"{folder} is no packed data set, which `cladist pack` writes; a model is read by load.")
    try:
        return _unpack(folder, content, arrays), content["beside"], group("beside", arrays)
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise ModelFormatError(f"{folder}: the parts of this data set do not fit together ({problem!r}).") from problem


def is_packed(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is a folder, so that it can only be a packed data set."""
    return os.path.isdir(path)


def _unpack(folder: Any, content: dict[str, Any], arrays: Arrays) -> Dataset:
    n_features, indptr, ids = int(content["n_features"]), arrays["indptr"], arrays["labels/ids"]
    names, counts = unpack_strings(**group("labels/names", arrays)), arrays.get("labels/counts")
    n_rows = len(indptr) - 1
    fits = are_row_ends(indptr, n_rows, len(arrays["indices"])) and len(arrays["indices"]) == len(arrays["values"])
    fits = fits and arrays["indices"].dtype == np.int32 and arrays["values"].dtype == np.float32
    fits = fits and 0 < n_features < 2**31 and not np.any((ids < 0) | (ids >= len(names)))
    lengths = np.ones(len(ids), np.int64) if counts is None else counts
    fits = fits and len(lengths) == n_rows and int(lengths.sum()) == len(ids) and not np.any(lengths < 0)
    if not fits:
        raise ModelFormatError(f"{folder}: the parts of this data set do not fit together.")
    labels = as_objects(names)[ids]  # the texts themselves are shared
    columns = group("feature_names", arrays)
    return Dataset(
        as_csr(indptr, arrays["indices"], arrays["values"], n_features),
        labels if counts is None else as_lists(labels, counts),
        None if content["taxonomy"] is None else unpack_taxonomy(content["taxonomy"], group("taxonomy", arrays)),
        feature_names=unpack_strings(**columns) if columns else None,
        source=content["source"] or os.fspath(folder),
    )
