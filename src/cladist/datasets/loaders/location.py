"""Where data sets lie that cannot be shipped: one folder each, below the one that ``CLADIST_DATA`` names.

`layout.DATA_SETS` lists them all; a loader asks its entry for the folder and is told, before anything is read, which
files are missing and where they come from.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NoReturn

from cladist.errors import DatasetError
from cladist.files import PACKED_ENDINGS

VARIABLE = "CLADIST_DATA"

Folder = str | PathLike[str] | None


@dataclass(frozen=True)
class Layout:
    """One data set: the folder and files that are wanted, and where to get them.

    Attributes
    ----------
    name : str
        The key in `DATA_SETS`.
    title : str
        What people call it.
    folder : str
        Below the folder that ``CLADIST_DATA`` names.
    files : tuple of str
        Wanted, relative to `folder`; a name that ends with ``/`` is a folder.
    loader : str
        The call that loads it.
    source, licence : str
        Where the files come from, and on what terms.
    used_by : tuple of str
        The papers whose tables have rows for it.
    optional_files : tuple of str
        Read where they are there.
    """

    name: str
    title: str
    folder: str
    files: tuple[str, ...]
    loader: str
    source: str
    licence: str
    used_by: tuple[str, ...] = ()
    optional_files: tuple[str, ...] = ()

    def found(self, folder: Folder = None) -> Path:
        """Return the folder that holds the files; `folder` itself, or the one below ``CLADIST_DATA``.

        Raises
        ------
        DatasetError
            If the folder or one of the files is missing. It names them and where they come from.
        """
        above = os.environ.get(VARIABLE)
        if folder is None and not above:
            self._refuse(f"no folder is given and {VARIABLE} is not set")
        place = Path(folder) if folder is not None else Path(str(above), self.folder)
        if not os.path.isdir(place):
            self._refuse(f"there is no folder {place}")
        if missing := self.missing(place):
            self._refuse(f"{place} has no {', '.join(missing)}")
        return place

    def missing(self, place: Path) -> list[str]:
        """Return those of the wanted files that a folder does not have."""
        return [file for file in self.files if not _is_there(place, file)]

    def _refuse(self, problem: str) -> NoReturn:
        wanted = ", ".join(self.files)
        raise DatasetError(
            f"{self.title}: {problem}; wanted: a folder with {wanted}, as folder=… or as {self.folder} below the "
            f"folder that {VARIABLE} names. Source: {self.source}."
        )


def path_of(folder: Path, file: str) -> Path:
    """Return the path of a file, under its own name or with the ending of a compression.

    Examples
    --------
    >>> path_of(Path("data"), "train.txt").as_posix()
    'data/train.txt'
    """
    paths = (folder / (file + ending) for ending in ("", *PACKED_ENDINGS))
    return next(filter(os.path.isfile, paths), folder / file)


def _is_there(folder: Path, file: str) -> bool:
    return os.path.isdir(folder / file) if file.endswith("/") else os.path.isfile(path_of(folder, file))
