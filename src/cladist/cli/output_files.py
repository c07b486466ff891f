"""Files that appear whole or not at all, and never in the place of what they are made from."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG
from typing import TextIO

from cladist import files
from cladist.errors import ParameterError
from cladist.locks import make_temporary

PathLike = str | os.PathLike[str]


def check_target(
    path: PathLike | None,
    *,
    inputs: Iterable[PathLike | None] = (),
    outputs: Iterable[PathLike | None] = (),
) -> None:
    """Raise an error if no file can be written there, before work is done whose result would be lost.

    Parameters
    ----------
    path : path or None
        None stands for standard output.
    inputs : iterable of paths
        What the command reads: files, however they are spelt or linked to, "-" for standard input, and folders of
        models, with all that is in them. None of them can be written to.
    outputs : iterable of paths
        What else it writes; each goes to a file of its own.

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
    for other in inputs:
        if other is not None and _is_in(target, other):
            if os.path.isdir(other):
                raise ParameterError(f"{target} lies in the folder of a model; write to a file outside of it.")
            raise ParameterError(f"{target} is also read, and would be lost; write to another file.")
    if any(other is not None and _is_in(target, other) for other in outputs):
        raise ParameterError(f"{target} is to be written twice, for two options; give each a file of its own.")
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    if target.exists() and not target.is_file():
        return  # a device or a pipe
    try:
        with make_temporary(target.resolve().parent, "file"):  # rights do not tell all: try it
            pass
    except OSError as problem:
        said = f"no file can be made in this folder ({problem.strerror})"
        raise OSError(problem.errno, said, str(target.parent)) from problem


def _is_in(target: Path, other: PathLike) -> bool:
    """Tell whether a file is another one, by any name, or lies in it if that is a folder."""
    if os.fspath(other) == "-":
        with suppress(OSError, ValueError):  # a stream in memory is no file
            status = os.fstat(sys.stdin.fileno())
            return S_ISREG(status.st_mode) and target.exists() and os.path.samestat(status, target.stat())
        return False
    known = Path(other)
    if known.is_dir():
        return target.resolve().is_relative_to(known.resolve())
    if target.exists() and not target.is_file():
        return False  # a device or a pipe
    return target.resolve() == known.resolve() or (target.exists() and known.exists() and target.samefile(known))


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
    with files.open_replacement(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
        yield file


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole text file at once."""
    with replacing(path) as file:
        file.write(text)
