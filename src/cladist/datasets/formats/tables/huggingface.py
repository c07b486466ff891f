"""Data sets of the Hugging Face library `datasets`, in memory, as a `Dataset`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cladist.datasets.dataset import Dataset, as_objects
from cladist.datasets.formats.tables.reader import Columns, LabelColumn, _check_columns, join_cells
from cladist.errors import DatasetError
from cladist.files.delimited import MOST_COLUMNS
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.taxonomy import as_taxonomy


def from_huggingface(
    data: Any, *, text: Columns, label: str, path_sep: str | None = None, taxonomy: Any = None
) -> Dataset[Any]:
    """Return the rows of a Hugging Face data set.

    Parameters
    ----------
    data : datasets.Dataset or datasets.DatasetDict
        The data set; of several parts, "train", "test" and "validation" become those of the result.
    text : str or sequence of str
        The column with the text; several are joined by a space.
    label : str
        The column with the label: a text, a number, a class label, whose name is taken, or a list of these.
    path_sep : str, optional
        The separator of the parts of labels that are paths from a root.
    taxonomy : Taxonomy, or what one can be built from, optional
        The taxonomy of the labels, which must all be in it.

    Returns
    -------
    Dataset
        As from `read_table`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> class Rows(dict):  # as datasets.Dataset.from_dict makes them
    ...     features = {"label": SimpleNamespace(names=["wear", "home"])}
    ...     column_names = ["title", "label"]
    >>> from_huggingface(Rows(title=["rain coat", "tea cup"], label=[0, 1]), text="title", label="label").y
    array(['wear', 'home'], dtype=object)
    """
    columns = _check_columns("from_huggingface", text)
    parts = {"": data} if hasattr(data, "column_names") and isinstance(data.column_names, list) else dict(data)
    known = [part for part in ("train", "test", "validation") if part in parts] or list(parts)
    if not known or len(parts) > MOST_COLUMNS:
        raise DatasetError("from_huggingface: the data set has no parts.")
    texts: list[str] = []
    collected = LabelColumn(name := getattr(data, "builder_name", None) or "data", "row", label, None)
    ends = [0]
    for part in known:
        rows = parts[part]
        for column in (*columns, label):
            if column not in rows.column_names:
                there = ", ".join(map(repr, rows.column_names))
                raise DatasetError(f"from_huggingface: there is no column {column!r}; there are {there}.")
        spell = _speller(rows.features, label)
        cells = [list(rows[column]) for column in columns]
        for number, (*row, value) in enumerate(zip(*cells, list(rows[label]), strict=True), start=1):
            texts.append(join_cells(name, "row", number, columns, row))
            collected.add(number, spell(value))
        ends.append(len(texts))
    if not texts:
        raise DatasetError("from_huggingface: the data set has no rows.")
    collected.finish()
    tree: Taxonomy | None = None if taxonomy is None else as_taxonomy(taxonomy)
    names, tree = collected.resolve(path_sep, tree)
    fields = {}
    if {"train", "test"} <= set(known):
        fields = {f"{part}_rows": slice(a, b) for part, a, b in zip(known, ends, ends[1:], strict=False)}
    return Dataset(as_objects(texts), collected.as_y(names), tree, source=name, **fields)  # type: ignore[arg-type]


def _speller(features: Mapping[str, Any], label: str) -> Any:
    """Return a function from a value of the label column to its name, or names."""
    feature = features.get(label)
    names: Sequence[str] | None = getattr(feature, "names", None) or getattr(
        getattr(feature, "feature", None), "names", None
    )

    def spell(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [spell(one) for one in value]
        if names is None or not isinstance(value, int):
            return value
        if not 0 <= value < len(names):
            raise DatasetError(f"from_huggingface: the label {value} is none of the {len(names)} class labels.")
        return names[value]

    return spell
