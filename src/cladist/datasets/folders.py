"""Collections that are folders of small files: their files, and their training and test parts."""

from __future__ import annotations

import os
from os import PathLike
from typing import NoReturn

from cladist.errors import DatasetError
from cladist.files import data_suffix

PARTS = ("train", "test")


def files_below(folder: str | PathLike[str], *endings: str) -> list[str]:
    """Return the paths of all files below a folder that have one of the endings, packed or not, in order.

    Examples
    --------
    >>> files_below("no such folder", ".xml")
    Traceback (most recent call last):
    cladist.errors.DatasetError: no such folder: cannot be read (No such file or directory).
    """
    paths: list[str] = []
    for place, _, names in os.walk(_name(folder), onerror=_refuse):
        paths.extend(os.path.join(place, name) for name in names if data_suffix(name) in endings)
    return sorted(paths)


def parts_below(folder: str | PathLike[str]) -> tuple[str, str] | None:
    """Return the folders ``train`` and ``test`` inside a folder, in letters of any case; None unless both are there."""
    try:
        inside = {name.lower(): name for name in sorted(os.listdir(_name(folder)))}
    except OSError as problem:
        _refuse(problem)
    train, test = (os.path.join(folder, inside.get(part, part)) for part in PARTS)
    return (train, test) if os.path.isdir(train) and os.path.isdir(test) else None


def _name(folder: str | PathLike[str]) -> str:
    """Return a folder's path, refused where no folder can have it."""
    name = os.fspath(folder)
    if "\0" in name:
        raise DatasetError(f"{name!r}: no folder can have this name.")
    return name


def _refuse(problem: OSError) -> NoReturn:
    raise DatasetError(f"{problem.filename}: cannot be read ({problem.strerror}).") from problem
