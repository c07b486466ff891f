"""`LabelForm`: the form of y, in which predictions are returned."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError, TaxonomyError
from cladist.labels.form_schema import check_form
from cladist.labels.matrix import LabelMatrix
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.structure import as_text

_ELEMENTS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


@dataclass(frozen=True)
class LabelForm:
    """The form of y, as plain values that a file can hold.

    Attributes
    ----------
    kind : {"single", "sets", "paths", "indicator", "matrix"}
        Names; collections of names; rows of path parts; a 0/1 matrix; a `LabelMatrix`.
    container : {"array", "list", "series", "frame"} or the name of a scipy class
        The container of the labels.
    dtype : str
        The name of the numpy type of predictions; strings are "str".
    scalar : {"str", "int", "float", "bool"}
        The Python type of a label.
    spelling : {"name", "path"}
        Whether labels are joined paths, in a taxonomy built from paths.
    below_root : bool
        Whether paths leave out the taxonomy's only root.
    joint : str or None
        The separator of joined paths, if it is the taxonomy's with blanks around it.
    element : {"list", "tuple", "set", "frozenset"}
        The container of the labels of one row.
    columns, width, padding
        The column names of a frame, the number of columns, and the filler of short rows of paths.
    name : str, int or None
        The name of a Series.
    dtypes : tuple of str
        The pandas types of a Series, of each column of a frame, or of all columns.
    categories, ordered
        The categories of a categorical Series, and whether they are ordered.
    """

    kind: str = "single"
    container: str = "array"
    dtype: str = "str"
    scalar: str = "str"
    spelling: str = "name"
    element: str = "set"
    below_root: bool = False
    joint: str | None = None
    columns: tuple[str | int, ...] | None = None
    width: int = 0
    padding: str | None = ""
    name: str | int | None = None
    dtypes: tuple[str, ...] = ()
    categories: tuple[Any, ...] | None = None
    ordered: bool = False

    @property
    def is_multi(self) -> bool:
        """Whether y may hold several labels per row."""
        return self.kind in ("sets", "indicator", "matrix")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a manifest."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> LabelForm:
        """Restore the form from the result of `to_dict`; anything else is a `ModelFormatError`."""
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
        check_form(fields)
        return cls(**fields)

    def check_fits(self, taxonomy: Taxonomy, nodes: npt.NDArray[np.int64]) -> None:
        """Raise a `ModelFormatError` unless nodes of a taxonomy can be written in this form."""
        try:
            self.values(taxonomy, nodes)
        except (TaxonomyError, ValueError, TypeError, OverflowError) as problem:
            raise ModelFormatError(f"The form of y in this model does not fit its taxonomy ({problem}).") from problem
        if self.kind == "indicator" and len(self.columns or ()) > taxonomy.n_nodes:
            raise ModelFormatError("The form of y in this model has more columns than its taxonomy has nodes.")

    def spell(self, v: int, taxonomy: Taxonomy) -> str:
        """Return the text of node v in this form."""
        if self.spelling == "name":
            return taxonomy.names[v]
        return taxonomy.joined_path(v, below_root=self.below_root, sep=self.joint)

    def spell_sets(self, labels: LabelMatrix) -> list[list[str]]:
        """Return the texts of the deepest nodes of each row in this form."""
        indptr, indices = labels.frontier
        text_of = {v: self.spell(v, labels.taxonomy) for v in np.unique(indices).tolist()}
        return [[text_of[v] for v in indices[a:b].tolist()] for a, b in pairwise(indptr)]

    def values(self, taxonomy: Taxonomy, nodes: npt.NDArray[np.int64] | None = None) -> npt.NDArray[Any]:
        """Return the labels of `nodes` (None: of all nodes) in this form."""
        ids = range(taxonomy.n_nodes) if nodes is None else nodes.tolist()
        texts = [self.spell(v, taxonomy) for v in ids]
        if self.scalar == "str":
            return np.array(texts, dtype=object if self.dtype == "object" else np.str_)
        labels = [_as_scalar(text, self.scalar) for text in texts]
        if self.dtype != "object" and not any(isinstance(label, str) for label in labels):
            return np.array(labels, dtype=self.dtype)
        # Some names are not numbers (NAICS has "31-33"): they stay texts.
        return _objects(labels)

    def render(self, labels: LabelMatrix, *, index: Any = None) -> Any:
        """Return labels in this form; `index` is the row index of a Series or frame."""
        if self.kind == "matrix":
            return labels
        if self.kind == "indicator":
            return self._render_indicator(labels, index)
        if self.kind == "sets":
            return self._render_sets(labels, index)
        nodes = labels.nodes("This form of y")
        return self.render_nodes(nodes, labels.taxonomy, index=index)

    def render_nodes(self, nodes: npt.NDArray[np.int64], taxonomy: Taxonomy, *, index: Any = None) -> Any:
        """Return one node per row in this form."""
        if self.is_multi:
            return self.render(LabelMatrix.from_nodes(nodes, taxonomy), index=index)
        if self.kind == "paths":
            return self._render_paths(nodes, taxonomy, index)
        used, inverse = np.unique(nodes, return_inverse=True)
        values = self.values(taxonomy, used)[inverse]
        return self._make_series(values, index) if self.container == "series" else values

    def _make_series(self, values: npt.NDArray[Any], index: Any) -> Any:
        import pandas

        series = pandas.Series(
            values, index=index, name=self.name, dtype=values.dtype if values.dtype == object else None
        )
        if self.categories is None:
            return _as_dtype(series, *self.dtypes)
        # A label that is not among the categories is added to them, or it would become a missing value.
        categories = dict.fromkeys([*self.categories, *values.tolist()])
        return series.astype(pandas.CategoricalDtype(list(categories), ordered=self.ordered))

    def _make_frame(self, values: npt.NDArray[Any], index: Any) -> Any:
        import pandas

        known = list(self.columns or ())
        columns = known + [f"level_{k}" for k in range(len(known), values.shape[1])]
        frame = pandas.DataFrame(values, index=index, columns=columns, dtype=values.dtype)
        dtypes = self.dtypes * len(known) if len(self.dtypes) == 1 else self.dtypes
        for k, dtype in enumerate(dtypes):
            if str(frame.dtypes.iloc[k]) != dtype:
                frame.isetitem(k, _as_dtype(frame.iloc[:, k], dtype))
        return frame

    def _render_sets(self, labels: LabelMatrix, index: Any) -> Any:
        values = self.values(labels.taxonomy).tolist()
        indptr, indices = labels.frontier
        element = _ELEMENTS[self.element]
        rows = [element(values[v] for v in indices[a:b]) for a, b in pairwise(indptr)]
        if self.container == "list":
            return rows
        return self._make_series(_objects(rows), index) if self.container == "series" else _objects(rows)

    def _render_paths(self, nodes: npt.NDArray[np.int64], taxonomy: Taxonomy, index: Any) -> Any:
        skip = 1 if self.below_root else 0
        padding = float("nan") if self.padding == "nan" else self.padding
        # One row per distinct node, then a gather: predictions repeat few nodes many times.
        used, inverse = np.unique(nodes, return_inverse=True)
        width = max(self.width, int(taxonomy.depth[used].max(initial=0)) + 1 - skip)
        table = np.full((len(used), width), padding, dtype=object)
        for k, v in enumerate(used):
            parts = taxonomy.path_parts(int(v))[skip:]
            table[k, : len(parts)] = [_as_scalar(part, self.scalar) for part in parts]
        rows = table[inverse]
        if self.container == "frame":
            return self._make_frame(rows, index)
        return rows.astype(np.str_) if self.dtype == "str" else rows

    def _render_indicator(self, labels: LabelMatrix, index: Any) -> Any:
        matrix = labels.to_indicator().astype(self.dtype)
        if self.container == "array":
            return matrix.toarray()
        if self.container == "frame":
            return self._make_frame(matrix.toarray(), index)
        layout, _, kind = self.container.partition("_")
        return (matrix if kind == "array" else sparse.csr_matrix(matrix)).asformat(layout)


def _as_dtype(series: Any, dtype: str) -> Any:
    """Return a Series with the type that y had, or unchanged if that type cannot hold it: texts, missing values."""
    if dtype in ("bool", "boolean") and not series.isin([True, False]).all():
        return series  # pandas would turn every text into True
    try:
        return series.astype(dtype)
    except (TypeError, ValueError, OverflowError, NotImplementedError, ImportError):
        return series


def _as_scalar(text: str, scalar: str) -> Any:
    """Return a name as the number that it was in y, if it was one."""
    if scalar == "bool":
        return {"True": True, "False": False}.get(text, text)
    if scalar in ("int", "float"):
        try:
            number = float(text) if scalar == "float" else int(text)
        except ValueError:
            return text
        # A text such as "007", "1_000" or "nan" is a name that only looks like a number.
        return number if math.isfinite(number) and text in (str(number), as_text(number)) else text
    return text


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    """Return a 1-D object array, also of elements that are sequences."""
    array = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        array[k] = value
    return array
