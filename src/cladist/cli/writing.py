"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from cladist import files


def check_target(path: str | os.PathLike[str] | None) -> None:
    """Raise an `OSError` if no file can be written there, before work is done whose result would be lost.

    Examples
    --------
    >>> check_target("no-such-folder/report.html")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] there is no such folder: 'no-such-folder'
    """
    if path is None:
        return
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, and a file is to be written", str(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(errno.EACCES, "this folder may not be written to", str(target.parent))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a text file for writing that takes the place of `path` only if the block ends well.

    A device or a pipe is written to directly.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "table.csv")
    >>> with replacing(target) as file:
    ...     _ = file.write("a,b")
    >>> target.read_text()
    'a,b'
    """
    check_target(path)
    with files.replacing(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
        yield file


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole text file at once."""
    with replacing(path) as file:
        file.write(text)
