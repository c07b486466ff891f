"""How a model's data was read, noted in the model, so that later commands need not be told again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from cladist.cli.model_input import DataSource, features_of
from cladist.errors import DatasetError, ModelFormatError
from cladist.persistence.models import load_noted

# Note → its type, and what messages call it.
NOTES: dict[str, tuple[type, str]] = {
    "text": (list, "a list of column names"),
    "features": (list, "a list of column names"),
    **dict.fromkeys(("label", "label_sep", "path_sep", "format"), (str, "a text")),
    "zero_based": (bool, "true or false"),
}


def notes_of(source: DataSource, features: Iterable[str] | None = None) -> dict[str, Any]:
    """Return what to note in a model that learns from this data, whose columns of numbers are called `features`.

    Examples
    --------
    >>> notes_of(DataSource("train.csv", text=("title",), label="category"))
    {'text': ['title'], 'label': 'category', 'label_sep': None, 'path_sep': None}
    >>> notes_of(DataSource("train.svm", zero_based=True))
    {'zero_based': True}
    >>> notes_of(DataSource("train.txt", "lshtc"), ["3", "17"])
    {'format': 'lshtc', 'features': ['3', '17']}
    """
    if source.kind == "svmlight":
        return {"zero_based": bool(source.zero_based)}
    columns = {"features": [] if features is None else [str(name) for name in features]}
    if source.kind == "arff":
        return {"zero_based": source.zero_based} | columns
    if source.kind == "lshtc":  # no ending tells of it, so it is noted
        return {"format": "lshtc"} | columns
    return {"text": list(source.text)} | {name: getattr(source, name) for name in ("label", "label_sep", "path_sep")}


def open_model(folder: Path, *, mmap: bool = False, verify: bool = False) -> tuple[Any, dict[str, Any]]:
    """Return a model and the notes in it; one saved from Python may have none, or some of its own besides."""
    model, notes, _ = load_noted(folder, mmap=mmap, verify=verify)  # one reading: both are of the same save
    check_notes(notes, folder)
    return model, notes


def check_notes(notes: dict[str, Any], folder: Path) -> None:
    """Refuse notes that are not what this version of cladist writes."""
    for name, (kind, wanted) in NOTES.items():
        value: Any = notes.get(name)
        fits = value is None or isinstance(value, kind)
        if not fits or (kind is list and not all(isinstance(column, str) for column in value or ())):
            raise ModelFormatError(f"{folder}: this model's note {name!r} must be {wanted}; got {value!r}.")
    if notes.get("format") == "lshtc" and not _are_rising_numbers(notes.get("features") or ()):
        raise ModelFormatError(f"{folder}: this model's note 'features' must be rising numbers, as LSHTC rows have.")


def _are_rising_numbers(names: Sequence[str]) -> bool:
    numbers = [int(name) for name in names if name.isascii() and name.isdigit() and len(name) <= 10]
    return 0 < len(numbers) == len(names) and all(a < b for a, b in pairwise(numbers))


def check_fits(model: Any, notes: dict[str, Any], source: DataSource, folder: Path) -> None:
    """Raise a `DatasetError` if the model learnt from texts and the data is numbers, or the other way round.

    Numbers of LSHTC rows only suit a model of such: no other rows count their features as they do.
    """
    learnt_from_texts, learnt_lshtc = features_of(model) is None, notes.get("format") == "lshtc"
    if learnt_from_texts == source.is_numbers:
        learnt, given = ("texts", "numbers") if learnt_from_texts else ("numbers", "texts")
    elif source.is_numbers and learnt_lshtc != (source.kind == "lshtc"):
        learnt, given = ("LSHTC rows", "other rows") if learnt_lshtc else ("other rows", "LSHTC rows")
    else:
        return
    raise DatasetError(f"{folder} was trained on {learnt}, and {source.name} holds {given}.")


def completed(source: DataSource, notes: dict[str, Any]) -> DataSource:
    """Return the data with what its reader was not told taken from a model's notes.

    A separator given as an empty text stands for none, whatever is noted.

    Examples
    --------
    >>> completed(DataSource("new.csv", labelled=True, label="kind"), {"text": ["title"], "label": "category"})
    DataSource(path='new.csv', ..., text=('title',), label='kind', ...)
    """
    if notes.get("format") == "lshtc" and not source.is_told and not source.text:
        source = replace(source, format="lshtc")
    if source.is_numbers:
        zero_based = notes.get("zero_based") if source.zero_based is None else source.zero_based
        return replace(source, zero_based=zero_based, features=tuple(notes.get("features") or ()))
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
