"""How a model's data was read, noted in the model, so that later commands need not be told again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from cladist.cli.reading import DataSource
from cladist.errors import ModelFormatError
from cladist.learners.persistence import load, load_notes

# Note → its type, and what messages call it.
NOTES: dict[str, tuple[type, str]] = {
    "text": (list, "a list of column names"),
    **dict.fromkeys(("label", "label_sep", "path_sep"), (str, "a text")),
    "zero_based": (bool, "true or false"),
}


def notes_of(source: DataSource) -> dict[str, Any]:
    """Return what to note in a model that learns from this data.

    Examples
    --------
    >>> notes_of(DataSource("train.csv", text=("title",), label="category"))
    {'text': ['title'], 'label': 'category', 'label_sep': None, 'path_sep': None}
    >>> notes_of(DataSource("train.svm", zero_based=True))
    {'zero_based': True}
    """
    if source.kind == "svmlight":
        return {"zero_based": bool(source.zero_based)}
    return {"text": list(source.text)} | {name: getattr(source, name) for name in ("label", "label_sep", "path_sep")}


def open_model(folder: Path) -> tuple[Any, dict[str, Any]]:
    """Return a model and the notes in it; one saved from Python may have none, or some of its own besides."""
    model, notes = load(folder), load_notes(folder)
    for name, (kind, wanted) in NOTES.items():
        value: Any = notes.get(name)
        fits = value is None or isinstance(value, kind)
        if not fits or (name == "text" and not all(isinstance(column, str) for column in value or ())):
            raise ModelFormatError(f"{folder}: this model's note {name!r} must be {wanted}; got {value!r}.")
    return model, notes


def completed(source: DataSource, notes: dict[str, Any]) -> DataSource:
    """Return the data with what its reader was not told taken from a model's notes.

    A separator given as an empty text stands for none, whatever is noted.

    Examples
    --------
    >>> completed(DataSource("new.csv", labelled=True, label="kind"), {"text": ["title"], "label": "category"})
    DataSource(path='new.csv', ..., text=('title',), label='kind', ...)
    """
    if source.kind == "svmlight":
        return replace(source, zero_based=notes.get("zero_based") if source.zero_based is None else source.zero_based)
    text = tuple(notes.get("text") or ())
    if source.kind == "lines":
        return replace(source, columns_learnt=text if source.format is None else ())
    if not source.labelled:
        return replace(source, text=source.text or text)
    label, label_sep, path_sep = (
        notes.get(name) if value is None else value
        for name, value in (("label", source.label), ("label_sep", source.label_sep), ("path_sep", source.path_sep))
    )
    return replace(
        source, text=source.text or text, label=label, label_sep=label_sep or None, path_sep=path_sep or None
    )
