"""ARFF-HMC files: Weka's ARFF with the hierarchical class attribute of Clus (Vens et al. 2008)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.datasets.dataset import Dataset, as_lists, as_objects, check_float, stack_rows
from cladist.datasets.formats.arff.header import read_header
from cladist.datasets.formats.arff.hierarchy import Hierarchy, read_hierarchy
from cladist.datasets.formats.arff.rows import RowParser
from cladist.errors import one_of
from cladist.files import Source, display_name, open_for_reading, refuse
from cladist.taxonomy import Taxonomy, as_taxonomy


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
) -> Dataset[Taxonomy]:
    r"""Read an ARFF file with a hierarchical attribute: features, labels and their taxonomy.

    Parameters
    ----------
    path : path or binary stream
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked.
    taxonomy : Taxonomy, or what one can be built from, optional
        Replaces the one of the header; every label must be in it.
    hierarchy : {"auto", "tree", "dag"}
        The entries of the hierarchical attribute: paths of a tree, or edges ``parent/child`` where ``root`` stands
        above all. "auto": edges, if every entry has one ``/`` and some entry begins with ``root/``.
    on_cycle : {"error", "drop"}
        Whether edges that close cycles are refused or dropped; ``taxonomy.dropped_edges`` lists dropped ones.
    multilabel : bool or "auto"
        "auto": several labels per row if any row has two of which none implies the other. Then, and with True, a row
        may also have none.
    id_columns : str or sequence of str, optional
        Attributes to leave out of `X`; those of type string and date are always left out.
    zero_based : bool or "auto"
        Whether indices of sparse rows begin at 0, as in Weka, or at 1, as in Clus; "auto": the first row that tells.
    dtype : float32 or float64
        The dtype of the features.

    Returns
    -------
    Dataset
        `X` is an array, or for sparse rows CSR with sorted indices. A missing value, ``?``, is NaN. A nominal
        attribute has a column ``name=value`` for each value. In a tree, a node's name is its path. `y` is an array of
        names or, with several labels per row, a list of lists of them as they are written.

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
    ids = (id_columns,) if isinstance(id_columns, str) else tuple(id_columns or ())
    kind = check_float("read_arff_hmc", dtype)
    given = None if taxonomy is None else as_taxonomy(taxonomy)
    with open_for_reading(path) as stream:
        header = read_header(path, stream, ids)
        tree = read_hierarchy(path, header, hierarchy, on_cycle) if given is None else given
        labels = LabelRows(path, tree, multilabel)
        header.hierarchy = ""  # it may be as long as the rest of the file
        pieces = list(RowParser(path, header, tree, kind).parse(stream, zero_based, labels.add))
    y, names = labels.as_y(), header.feature_names()
    return Dataset(stack_rows(pieces), y, tree, feature_names=names, source=display_name(path))


class LabelRows:
    """Collects the labels of all rows, and finds out whether each row has one.

    A row has one label if that implies all the others: files may write ``2@2/1@2/1/3`` for ``2/1/3``.
    """

    def __init__(self, source: Source, taxonomy: Taxonomy, multilabel: bool | str) -> None:
        self.source, self.taxonomy, self.multilabel = source, taxonomy, multilabel
        self.several = multilabel is True
        self.ids, self.counts, self.only = array("i"), array("i"), array("i")
        self.first_unlabelled: tuple[int, int] | None = None
        self.indptr, self.parents = taxonomy.parents.indptr, taxonomy.parents.indices

    def add(self, line: int, column: int, labels: list[int]) -> None:
        """Add the labels of the row at this place."""
        self.ids.extend(labels)
        self.counts.append(len(labels))
        if self.several:
            return
        if not labels and self.first_unlabelled is None:
            self.first_unlabelled = line, column
        lowest = max(labels, default=-1)
        self.several = not self._implies(lowest, set(labels) - {lowest})
        self.only.append(lowest)
        if self.several and self.multilabel is False:
            shown = ", ".join(repr(self.taxonomy.names[v]) for v in labels[:3])
            problem = f"the row has several labels ({shown} …); read the file with multilabel=True."
            refuse(self.source, line, column, problem, kind="several-labels")

    def _implies(self, node: int, others: set[int]) -> bool:
        """Tell whether all others are ancestors of a node; ids are topological, so it can only be the highest."""
        stack, seen = [node], {node}
        while others and stack:
            v = stack.pop()
            above = set(self.parents[self.indptr[v] : self.indptr[v + 1]].tolist()) - seen
            others -= above
            seen |= above
            stack.extend(above)
        return not others

    def as_y(self) -> Any:
        """Return y: an array of names, or a list of lists of them."""
        if not self.several and self.first_unlabelled is not None:
            problem = "the row has no label; if that is meant, read with multilabel=True."
            refuse(self.source, *self.first_unlabelled, problem, kind="no-label")
        names = as_objects(self.taxonomy.names)
        ids = np.frombuffer(self.ids if self.several else self.only, np.int32)
        return as_lists(names[ids], np.frombuffer(self.counts, np.int32)) if self.several else names[ids]


class NamedRows(NamedTuple):
    """Some rows, and the names of their columns."""

    X: Any
    feature_names: list[str]


def read_arff_rows(path: Source, *, zero_based: bool | Literal["auto"] = "auto") -> Iterator[NamedRows]:
    r"""Yield the features of an ARFF-HMC file, some megabytes at a time; labels are checked and left out.

    Everything is read as by `read_arff_hmc`. An error far down is found after the rows before it have been yielded.

    Examples
    --------
    >>> import io
    >>> text = b"@relation r\n@attribute a numeric\n@attribute c hierarchical 1,2\n@data\n0.5,1\n2,2\n"
    >>> [(rows.X.tolist(), rows.feature_names) for rows in read_arff_rows(io.BytesIO(text))]
    [([[0.5], [2.0]], ['a'])]
    """
    with open_for_reading(path) as stream:
        header = read_header(path, stream)
        parser = RowParser(path, header, read_hierarchy(path, header), np.dtype(np.float32), keeps_all=False)
        names = header.feature_names()
        for X in parser.parse(stream, zero_based, lambda line, column, labels: None):
            yield NamedRows(X, names)
