"""Which of RCV1's official files a folder has."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from cladist.errors import DatasetError
from cladist.files import PACKED_ENDINGS

JUDGEMENTS = "rcv1-v2.topics.qrels"
HIERARCHY = "rcv1.topics.hier"
_MOST_PARTS = 10  # of the test files; there are four


def documents_file(features: str, part: str) -> str:
    """Return the name of a file of documents.

    Examples
    --------
    >>> documents_file("vectors", "train"), documents_file("tokens", "test_pt0")
    ('lyrl2004_vectors_train.dat', 'lyrl2004_tokens_test_pt0.dat')
    """
    return f"lyrl2004_{features}_{part}.dat"


class Files:
    """The files below a folder: in it, or in the folders directly in it; packed or not."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.name = os.fspath(folder)
        try:
            if not os.path.isdir(folder):
                raise DatasetError(f"{self.name}: there is no such folder.")
            self.folders = [Path(folder), *sorted(path for path in Path(folder).iterdir() if path.is_dir())]
        except (OSError, ValueError) as problem:  # a ValueError is a path that no folder can have
            if isinstance(problem, DatasetError):
                raise
            raise DatasetError(f"{self.name!r}: the folder cannot be read ({problem}).") from problem

    def find(self, file: str) -> Path | None:
        """Return the path of a file if it is there; an unpacked one comes first."""
        paths = (folder / f"{file}{ending}" for folder in self.folders for ending in ("", *PACKED_ENDINGS))
        return next((path for path in paths if path.is_file()), None)

    def found(self, file: str) -> Path:
        """Return the path of a file, or say that it is missing."""
        path = self.find(file)
        if path is None:
            raise DatasetError(f"{self.name}: there is no {file}, packed or not, in this folder or one in it.")
        return path

    def test_parts(self, features: str) -> list[Path]:
        """Return the test files in order, none if there are none; a gap between them is an error."""
        names = [documents_file(features, f"test_pt{k}") for k in range(_MOST_PARTS)]
        paths = [path for path in map(self.find, names) if path is not None]
        for name in names[: len(paths)]:
            self.found(name)
        return paths
