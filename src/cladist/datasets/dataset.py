"""`Dataset`: rows, labels and taxonomy, which readers, loaders and generators return; and rules of all readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import DatasetError, ParameterError
from cladist.features.rows_on_disk import slice_rows
from cladist.features.rows_on_disk import take_rows as take_mapped_rows
from cladist.notebook import frame, html_rows
from cladist.storage import is_mapped
from cladist.taxonomy import RelationGraph, Taxonomy

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the standard library's has defaults from Python 3.13 on

    T = TypeVar("T", bound=Taxonomy | None, default=Taxonomy | None, covariant=True)
else:
    from typing import TypeVar

    T = TypeVar("T")

Rows = slice | npt.NDArray[np.intp]

PARTS = ("train", "test", "validation")
SETS = (list, tuple, set, frozenset)  # of labels, as an entry of y
MOST_LABELS = 100_000  # of a row, in every format; the richest real ones have some hundreds

# The largest double that becomes a finite number of this kind: float32 rounds numbers up to half a step beyond its own
# largest, and the shortest text of that one, 3.4028235e+38, is such a number.
LARGEST_NUMBER = {"float32": float(np.nextafter(2.0**128 - 2.0**103, 0)), "float64": float(np.finfo(np.float64).max)}


def _part_of(column: str, part: str) -> cached_property[Any]:
    """Return a property that selects one part of a column on first use; None where the Dataset has no such column."""

    def rows(data: Dataset) -> Any:
        values = getattr(data, column)
        return None if values is None else take_rows(values, data._part(part))

    rows.__doc__ = f"The rows of `{column}` in the {part} part."
    return cached_property(rows)


class NotSplitError(DatasetError, AttributeError):
    """A Dataset was asked for a part it does not have; as an AttributeError, ``hasattr`` understands it."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Generic[T]):
    """Rows, their labels and the taxonomy the labels come from.

    `X` and `y` always hold all rows in their original order. A split Dataset also has `X_train`, `y_train`, `X_test`,
    `y_test` (and `texts_train`, `texts_test`), which are selected on first use; with a third part, to choose parameters
    by, also `X_validation`, `y_validation` and `texts_validation`. For type checkers, the `taxonomy` of a
    ``Dataset[Taxonomy]`` is never None.

    Parameters
    ----------
    X : array, CSR matrix or array of texts
        One row per sample.
    y : array of labels, or list of lists of labels
        One entry per row.
    taxonomy : Taxonomy, optional
        None where the source has none.
    feature_names : sequence of str, optional
        The names of the columns of `X`.
    source : str
        The origin of the rows, for people.
    texts : array of str, optional
        The raw texts behind the rows of a vectorised `X`.
    descriptions : mapping, optional
        Node name → text that explains the node.
    train_rows, test_rows, validation_rows : slice or array of int, optional
        The rows of the parts; training and test part both or neither.
    relations : RelationGraph, optional
        Relations of nodes beside the taxonomy, where the source has them.

    Examples
    --------
    >>> data = Dataset(np.eye(4), np.array(["a", "b", "a", "b"]), source="by hand")
    >>> data
    Dataset(4 rows, 4 features, by hand)
    >>> data.is_split
    False
    >>> data.split(0.25, random_state=0)
    Dataset(3 + 1 rows, 4 features, by hand)
    """

    X: Any
    y: Any
    taxonomy: T = None  # type: ignore[assignment]
    feature_names: Sequence[str] | npt.NDArray[Any] | None = None
    source: str = ""
    texts: npt.NDArray[Any] | None = None
    descriptions: Mapping[str, str] = field(default_factory=dict)
    train_rows: Rows | None = None
    test_rows: Rows | None = None
    validation_rows: Rows | None = None
    relations: RelationGraph | None = None

    def __post_init__(self) -> None:
        n_rows = length(self.X)
        for name, column in (("y", self.y), ("texts", self.texts)):
            if column is not None and length(column) != n_rows:
                raise DatasetError(f"Dataset: X has {n_rows} rows but {name} has {length(column)}.")
        if (self.train_rows is None) != (self.test_rows is None):
            raise DatasetError("Dataset: train_rows and test_rows belong together; one of them is missing.")
        if self.validation_rows is not None and self.train_rows is None:
            raise DatasetError("Dataset: validation_rows are a third part; train_rows and test_rows are missing.")

    @classmethod
    def from_parts(
        cls,
        X_train: Any,
        y_train: Any,
        X_test: Any,
        y_test: Any,
        *,
        X_validation: Any = None,
        y_validation: Any = None,
        **fields: Any,
    ) -> Dataset[Any]:
        """Join a training and a test part, and a third to validate on if there is one.

        `X` and `y` are the parts stacked in this order; `texts`, if given, is stacked already. If one part is sparse,
        so is `X`; if one part has sets of labels, `y` has sets for all rows.

        Examples
        --------
        >>> data = Dataset.from_parts(np.eye(3), ["a", "b", "c"], np.ones((1, 3)), ["a"])
        >>> data.X.shape, data.y, data.y_test
        ((4, 3), ['a', 'b', 'c', 'a'], ['a'])
        """
        if (X_validation is None) != (y_validation is None):
            raise DatasetError("Dataset: X_validation and y_validation belong together; one of them is missing.")
        Xs, ys = [X_train, X_test], [y_train, y_test]
        if X_validation is not None:
            Xs.append(X_validation)
            ys.append(y_validation)
        widths = {X.shape[1] for X in Xs if len(getattr(X, "shape", ())) == 2}
        if len(widths) > 1:
            raise DatasetError(f"Dataset: the parts must have the same features; they have {sorted(widths)} columns.")
        has_sets = [isinstance(y, list) and any(isinstance(row, SETS) for row in y) for y in ys]
        if any(has_sets):
            ys = [y if are_sets else [[label] for label in y] for y, are_sets in zip(ys, has_sets, strict=True)]
        ends = [0, *accumulate(map(length, Xs))]
        for part, start, end in zip(PARTS, ends, ends[1:], strict=False):
            fields[f"{part}_rows"] = slice(start, end)
        return cls(stack_rows(Xs), stack_rows(ys), **fields)

    @staticmethod
    def open(folder: Any, *, verify: bool = False) -> Dataset[Any]:
        """Return the data set that ``cladist pack`` or `PackedWriter` wrote, whose rows are mapped and not read.

        Linear learners train on it in memory that does not depend on the number of values; see the guide on data
        larger than memory.

        Parameters
        ----------
        folder : path
            The folder, which must not be written to meanwhile.
        verify : bool
            Read all values once to verify their checksum; all other parts are always verified.

        Examples
        --------
        >>> import tempfile
        >>> from cladist.datasets import PackedWriter
        >>> with PackedWriter(folder := tempfile.mkdtemp()) as writer:
        ...     writer.add(np.eye(2))
        ...     writer.finish(["a", "b"], [0, 1], source="by hand")
        >>> Dataset.open(folder)
        Dataset(2 rows, 2 features, by hand)
        """
        from cladist.datasets.packed import open_packed

        return open_packed(folder, verify=verify)[0]

    @property
    def is_split(self) -> bool:
        """Whether there is a test part."""
        return self.train_rows is not None

    X_train, X_test, X_validation = (_part_of("X", part) for part in PARTS)
    y_train, y_test, y_validation = (_part_of("y", part) for part in PARTS)
    texts_train, texts_test, texts_validation = (_part_of("texts", part) for part in PARTS)

    def _part(self, which: str) -> Rows:
        rows: Rows | None = getattr(self, f"{which}_rows")
        if rows is None and which == "validation" and self.is_split:
            raise NotSplitError("This Dataset comes without a validation part; hold out some of its training rows.")
        if rows is None:
            raise NotSplitError("This Dataset has no train and test part; make them with split(test_size=0.25).")
        return rows

    def _count(self, which: str) -> int:
        rows = self._part(which)
        return len(range(*rows.indices(length(self.X)))) if isinstance(rows, slice) else len(rows)

    def split(
        self,
        test_size: float | int = 0.25,
        random_state: int | np.random.RandomState | None = None,
        groups: Sequence[Any] | npt.NDArray[Any] | None = None,
    ) -> Dataset[T]:
        """Return the same rows with a random part of them set aside for testing.

        Parameters
        ----------
        test_size : float or int
            A share of the rows (with `groups`: of the groups) or a number of them.
        random_state : int, RandomState or None
            As in scikit-learn.
        groups : sequence, optional
            One entry per row; rows of one group stay on one side.

        Returns
        -------
        Dataset
            Split, each part in the original order. It replaces an earlier split, with its validation part.
        """
        from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

        if groups is not None and len(groups) != length(self.X):
            raise DatasetError(f"split: groups has {len(groups)} entries for {length(self.X)} rows.")
        chooser = ShuffleSplit if groups is None else GroupShuffleSplit
        try:
            splitter = chooser(n_splits=1, test_size=test_size, random_state=random_state)
            train, test = next(splitter.split(np.empty(length(self.X)), groups=groups))
        except ValueError as error:
            raise DatasetError(f"split: {error}") from error
        return replace(self, train_rows=np.sort(train), test_rows=np.sort(test), validation_rows=None)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of the texts, or of dense features, with the labels and the part of each row."""
        columns = self._columns(length(self.X))
        if "text" not in columns and not sparse.issparse(self.X):
            names = self.feature_names or [f"x{j}" for j in range(self.X.shape[1])]
            columns = {str(name): self.X[:, j] for j, name in enumerate(names)} | columns
        return frame(columns)

    def _columns(self, n_rows: int) -> dict[str, Any]:
        """Return texts, labels and parts of the first rows."""
        texts = self.X if getattr(self.X, "ndim", 1) == 1 else self.texts
        columns = {} if texts is None else {"text": list(texts[:n_rows])}
        columns["label"] = list(take_rows(self.y, slice(0, n_rows)))
        if self.is_split:
            part = np.full(length(self.X), "", dtype=object)
            for name in PARTS:
                rows = getattr(self, f"{name}_rows")
                if rows is not None:
                    part[rows] = name
            columns["part"] = part[:n_rows].tolist()
        return columns

    def _repr_html_(self) -> str:
        columns = self._columns(5)
        return html_rows(repr(self), list(columns), list(zip(*columns.values(), strict=True)), length(self.X))

    def __repr__(self) -> str:
        n_rows = f"{length(self.X)}"
        if self.is_split:
            n_rows = f"{self._count('train')} + {self._count('test')}"
        shape: tuple[int, ...] = getattr(self.X, "shape", ())
        parts = [f"{n_rows} rows"]
        if self.validation_rows is not None:
            parts.append(f"{self._count('validation')} to validate")
        parts.append(f"{shape[1]} features" if len(shape) == 2 else "texts")
        if self.taxonomy is not None:
            parts.append(f"{self.taxonomy.n_nodes} nodes")
        if self.source:
            parts.append(self.source)
        return f"Dataset({', '.join(parts)})"


def check_float(who: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return a dtype that features can have, or raise a `ParameterError`."""
    kinds: dict[str, np.dtype[Any]] = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}
    try:
        return kinds[np.dtype(dtype).name]
    except (KeyError, TypeError):
        raise ParameterError(f"{who}: dtype must be float32 or float64; got {dtype!r}.") from None


def length(rows: Any) -> int:
    """Return the number of rows."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def take_rows(rows: Any, selection: Rows) -> Any:
    """Return the chosen rows; a slice of CSR rows shares memory with the whole."""
    if isinstance(rows, list):
        return rows[selection] if isinstance(selection, slice) else [rows[i] for i in selection]
    if isinstance(selection, slice) and sparse.issparse(rows) and rows.format == "csr":
        first, last, _ = selection.indices(rows.shape[0])
        if is_mapped(rows.data):
            return slice_rows(rows, first, last)
        start, end = rows.indptr[first], rows.indptr[last]
        arrays = rows.data[start:end], rows.indices[start:end], rows.indptr[first : last + 1] - start
        part = type(rows)(arrays, shape=(last - first, rows.shape[1]))
        part.has_sorted_indices = rows.has_sorted_indices
        return part
    if sparse.issparse(rows) and rows.format == "csr" and is_mapped(rows.data):
        return take_mapped_rows(rows, np.asarray(selection))
    return rows[selection]


def stack_rows(parts: list[Any]) -> Any:
    """Return the parts one below the other; sparse if one of them is."""
    if any(map(sparse.issparse, parts)):
        return sparse.vstack(parts, format="csr")
    if isinstance(parts[0], list):
        return [row for part in parts for row in part]
    return np.concatenate(parts)


def as_objects(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Return an object array: one very long text must not make every entry as wide."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def as_lists(flat: npt.NDArray[Any], counts: npt.NDArray[np.integer[Any]]) -> list[list[Any]]:
    """Cut an array into lists of these lengths."""
    labels, start = flat.tolist(), 0
    lists = []
    for end in np.cumsum(counts).tolist():  # slicing a list is several times faster than slicing an array
        lists.append(labels[start:end])
        start = end
    return lists
