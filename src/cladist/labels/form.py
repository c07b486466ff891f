"""`LabelForm`: how the caller wrote y, so that predictions come back the same way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.labels.matrix import LabelMatrix
from cladist.taxonomy import Taxonomy

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
    container : {"array", "list", "series", "frame", "sparse"}
        What held them.
    dtype : str
        numpy's name of the type of the answer; strings are "str".
    scalar : {"str", "int", "float", "bool"}
        What a label was in Python.
    spelling : {"name", "path"}
        Whether labels were joined paths, in a taxonomy built from paths.
    element : {"list", "tuple", "set", "frozenset"}
        What held the labels of one row.
    columns, padding, below_root
        A path frame's column names (or how many columns), what filled its short rows, whether its paths
        leave out the taxonomy's only root.
    name : str or None
        The Series' name.
    """

    kind: str = "single"
    container: str = "array"
    dtype: str = "str"
    scalar: str = "str"
    spelling: str = "name"
    element: str = "set"
    columns: tuple[str, ...] | None = None
    width: int = 0
    padding: str | None = ""
    below_root: bool = False
    name: str | None = None

    @property
    def is_multi(self) -> bool:
        """Whether y may hold several labels a row."""
        return self.kind in ("sets", "indicator", "matrix")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a manifest."""
        content = asdict(self)
        content["columns"] = None if self.columns is None else list(self.columns)
        return content

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> LabelForm:
        """Restore what `to_dict` gave."""
        columns = content.get("columns")
        return cls(**{**content, "columns": None if columns is None else tuple(columns)})

    def values(self, taxonomy: Taxonomy, nodes: npt.NDArray[np.int64] | None = None) -> npt.NDArray[Any]:
        """Return the label of each of `nodes` (None: of all) as the caller would write it."""
        ids = range(taxonomy.n_nodes) if nodes is None else nodes.tolist()
        spell = taxonomy.joined_path if self.spelling == "path" else taxonomy.names.__getitem__
        texts = [spell(v) for v in ids]
        if self.scalar == "str":
            return np.array(texts, dtype=object if self.dtype == "object" else np.str_)
        labels = [_as_scalar(text, self.scalar) for text in texts]
        if self.dtype != "object" and not any(isinstance(label, str) for label in labels):
            return np.array(labels, dtype=self.dtype)
        # Some names are not numbers (NAICS has "31-33"): those stay text beside the numbers.
        return _objects(labels)

    def render(self, labels: LabelMatrix, *, index: Any = None) -> Any:
        """Write labels in this form; `index` is the row index of a frame they belong to."""
        if self.kind == "matrix":
            return labels
        if self.kind == "indicator":
            return self._indicator(labels, index)
        if self.kind == "sets":
            return self._sets(labels, index)
        nodes = labels.nodes("This form of y")
        return self.render_nodes(nodes, labels.taxonomy, index=index)

    def render_nodes(self, nodes: npt.NDArray[np.int64], taxonomy: Taxonomy, *, index: Any = None) -> Any:
        """Write one node a row in this form."""
        if self.is_multi:
            return self.render(LabelMatrix.from_nodes(nodes, taxonomy), index=index)
        if self.kind == "paths":
            return self._paths(nodes, taxonomy, index)
        used, inverse = np.unique(nodes, return_inverse=True)
        values = self.values(taxonomy, used)[inverse]
        if self.container != "series":
            return values
        import pandas

        return pandas.Series(values, index=index, name=self.name)

    def _sets(self, labels: LabelMatrix, index: Any) -> Any:
        values = self.values(labels.taxonomy).tolist()
        indptr, indices = labels.frontier
        element = _ELEMENTS[self.element]
        rows = [element(values[v] for v in indices[a:b]) for a, b in pairwise(indptr)]
        if self.container == "list":
            return rows
        if self.container == "array":
            return _objects(rows)
        import pandas

        return pandas.Series(_objects(rows), index=index, name=self.name)

    def _paths(self, nodes: npt.NDArray[np.int64], taxonomy: Taxonomy, index: Any) -> Any:
        skip = 1 if self.below_root else 0
        width = max(self.width, int(taxonomy.depth.max()) + 1 - skip)
        padding = float("nan") if self.padding == "nan" else self.padding
        # One row a node, then a gather: predictions repeat few nodes many times.
        used, inverse = np.unique(nodes, return_inverse=True)
        table = np.full((len(used), width), padding, dtype=object)
        for k, v in enumerate(used):
            parts = taxonomy.path_parts(int(v))[skip:]
            table[k, : len(parts)] = [_as_scalar(part, self.scalar) for part in parts]
        rows = table[inverse]
        if self.container == "frame":
            import pandas

            known = list(self.columns or ())
            columns = known + [f"level_{k}" for k in range(len(known), width)]
            return pandas.DataFrame(rows, index=index, columns=columns)
        return rows.astype(np.str_) if self.dtype == "str" else rows

    def _indicator(self, labels: LabelMatrix, index: Any) -> Any:
        matrix = labels.to_indicator().astype(self.dtype)
        if self.container == "sparse":
            from scipy import sparse

            return sparse.csr_matrix(matrix)
        if self.container == "frame":
            import pandas

            return pandas.DataFrame(matrix.toarray(), index=index, columns=list(self.columns or ()))
        return matrix.toarray()


def _as_scalar(text: str, scalar: str) -> Any:
    """Turn a name back into the number it was given as, if it is one."""
    if scalar == "bool":
        return {"True": True, "False": False}.get(text, text)
    if scalar in ("int", "float"):
        try:
            number = float(text) if scalar == "float" else int(text)
        except ValueError:
            return text
        return number if scalar == "float" or str(number) == text else text
    return text


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    """Return a 1-D object array, whatever its elements look like."""
    array = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        array[k] = value
    return array
