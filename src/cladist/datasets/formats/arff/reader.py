"""ARFF-HMC files: Weka's ARFF with the hierarchical class attribute of Clus (Vens et al. 2008)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.arff.header import read_header
from cladist.datasets.formats.arff.hierarchy import Hierarchy, read_hierarchy
from cladist.datasets.formats.arff.labels import LabelRows
from cladist.datasets.formats.arff.matrix import DenseRows, SparseRows
from cladist.datasets.formats.arff.rows import Parser
from cladist.datasets.formats.arff.writer import write_arff_hmc
from cladist.errors import DatasetError, ParameterError, one_of
from cladist.files import Source, opened, shown_name
from cladist.taxonomy import Taxonomy, as_taxonomy

__all__ = ["read_arff_hmc", "read_arff_rows", "write_arff_hmc"]


def read_arff_hmc(
    path: Source,
    *,
    taxonomy: Any = None,
    hierarchy: Hierarchy = "auto",
    on_cycle: Literal["error", "drop"] = "error",
    multilabel: bool | Literal["auto"] = "auto",
    id_columns: str | Sequence[str] | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    dtype: npt.DTypeLike = np.float32,
) -> Dataset:
    r"""Read an ARFF file with a hierarchical attribute: features, labels and their taxonomy.

    Parameters
    ----------
    path : path or binary stream
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked.
    taxonomy : Taxonomy, or what one can be built from, optional
        To be used instead of the header's; every label must be in it.
    hierarchy : {"auto", "tree", "dag"}
        What the hierarchical attribute lists: paths of a tree, or edges ``parent/child`` where ``root`` stands above
        all. "auto": edges, if every entry has one ``/`` and some entry begins with ``root/``.
    on_cycle : {"error", "drop"}
        What to do about edges that close cycles; "drop" lists them in the taxonomy's `dropped_edges`.
    multilabel : bool or "auto"
        "auto": several labels a row if any row has two of which none implies the other. Then, and with True, a row may
        also have none.
    id_columns : str or sequence of str, optional
        Attributes to leave out of `X`; those of type string and date are always left out.
    zero_based : bool or "auto"
        Whether indices of sparse rows begin at 0, as in Weka, or at 1, as in Clus; "auto": the first row that tells.
    dtype : float32 or float64
        Of the features.

    Returns
    -------
    Dataset
        `X` is an array, or for sparse rows CSR with sorted indices. A missing value, ``?``, is NaN. A nominal
        attribute has a column ``name=value`` for each value. In a tree, a node's name is its path. `y` is an array of
        names or, with several labels a row, a list of lists of them as they are written.

    Notes
    -----
    In a sparse row, an attribute that is not named is 0, and a nominal one has its first value. Numbers are parsed as
    Python's ``float`` parses them, then rounded to `dtype`; they are finite.

    Examples
    --------
    >>> import io
    >>> data = read_arff_hmc(io.BytesIO(b'''@relation genes
    ... @attribute expression numeric
    ... @attribute strand {w, c}
    ... @attribute class hierarchical 1,1/1,1/2,2
    ... @data
    ... 0.5,w,1/1@2
    ... ?,c,1/2
    ... '''))
    >>> data.y, data.taxonomy.names
    ([['1/1', '2'], ['1/2']], ('1', '2', '1/1', '1/2'))
    >>> data.feature_names, data.X.tolist()
    (['expression', 'strand=w', 'strand=c'], [[0.5, 1.0, 0.0], [nan, 0.0, 1.0]])
    """
    one_of("read_arff_hmc", "hierarchy", hierarchy, ("auto", "tree", "dag"))
    one_of("read_arff_hmc", "on_cycle", on_cycle, ("error", "drop"))
    one_of("read_arff_hmc", "multilabel", multilabel, (True, False, "auto"))
    one_of("read_arff_hmc", "zero_based", zero_based, (True, False, "auto"))
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ParameterError(f"read_arff_hmc: dtype must be float32 or float64; got {kind}.")
    ids = (id_columns,) if isinstance(id_columns, str) else tuple(id_columns or ())
    given = None if taxonomy is None else as_taxonomy(taxonomy)
    with opened(path) as stream:
        parser = _parser(path, stream, ids, given, hierarchy, on_cycle, kind)
        labels = LabelRows(parser.taxonomy, multilabel)
        for rows in parser.parse(stream, zero_based):
            labels.add(rows)
            del rows  # and with it the text
    rows_read = _rows_of(parser)
    y, names = labels.as_y(), parser.header.feature_names()
    return Dataset(rows_read.matrix(), y, parser.taxonomy, feature_names=names, source=shown_name(path))


def _parser(
    path: Source,
    stream: IO[bytes],
    ids: tuple[str, ...],
    taxonomy: Taxonomy | None,
    hierarchy: Hierarchy,
    on_cycle: Literal["error", "drop"],
    dtype: np.dtype[Any],
) -> Parser:
    """Read the header, and return what parses the rows below it."""
    header = read_header(path, stream, ids)
    place = f"{shown_name(path)}, line {header.hierarchy_line}"
    tree = read_hierarchy(header.hierarchy, hierarchy, on_cycle, place) if taxonomy is None else taxonomy
    header.hierarchy = ""  # as long as the rest of the header; not needed any more
    return Parser(path, header, tree, dtype, by_path=taxonomy is not None)


def _rows_of(parser: Parser) -> DenseRows | SparseRows:
    if parser.rows is None or not parser.rows.n_rows:
        raise DatasetError(f"{shown_name(parser.source)}: there are no rows below @data.")
    return parser.rows


class NamedRows(NamedTuple):
    """Some rows, and what their columns are called."""

    X: Any
    feature_names: list[str]


def read_arff_rows(path: Source, *, zero_based: bool | Literal["auto"] = "auto") -> Iterator[NamedRows]:
    r"""Yield the features of an ARFF-HMC file, some megabytes at a time; labels are checked and passed over.

    All is as `read_arff_hmc` reads it. What is wrong far down is found when the rows before it have been yielded.

    Examples
    --------
    >>> import io
    >>> text = b"@relation r\n@attribute a numeric\n@attribute c hierarchical 1,2\n@data\n0.5,1\n2,2\n"
    >>> [(rows.X.tolist(), rows.feature_names) for rows in read_arff_rows(io.BytesIO(text))]
    [([[0.5], [2.0]], ['a'])]
    """
    with opened(path) as stream:
        parser = _parser(path, stream, (), None, "auto", "error", np.dtype(np.float32))
        names = parser.header.feature_names()
        for labelled in parser.parse(stream, zero_based):
            del labelled  # and with it the text
            if parser.rows is not None and (X := parser.rows.taken()).shape[0]:
                yield NamedRows(X, names)
    _rows_of(parser)
