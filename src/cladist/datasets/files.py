"""Opening data files, and saying where in them something is wrong."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, NoReturn

from cladist.errors import DatasetError

Source = str | PathLike[str] | IO[bytes]

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


def shown_name(source: Source) -> str:
    """Return the name by which messages call a path or stream."""
    if isinstance(source, (str, PathLike)):
        return fspath(source)
    return str(getattr(source, "name", "the stream"))


def data_suffix(source: Source) -> str:
    """Return the ending that tells a file's format, below any ending of a compression.

    Examples
    --------
    >>> data_suffix("train.CSV.gz")
    '.csv'
    """
    path = Path(shown_name(source))
    if path.suffix.lower() in _OPENERS:
        path = path.with_suffix("")
    return path.suffix.lower()


@contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """Open a path for reading bytes, unpacked according to its ending; a binary stream is used as it is.

    Whatever the file system or the unpacking complains about becomes a `DatasetError`.
    """
    name = shown_name(source)
    try:
        if not isinstance(source, (str, PathLike)):
            yield source
            return
        opener = _OPENERS.get(Path(name).suffix.lower(), open)
        with opener(name, "rb") as stream:
            yield stream
    except FileNotFoundError as error:
        raise DatasetError(f"{name}: there is no such file.") from error
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DatasetError(f"{name}: the compressed file is damaged or cut short ({error}).") from error
    except OSError as error:
        raise DatasetError(f"{name}: cannot be read ({error}).") from error


def refuse(source: Source, line: int, column: int | str, problem: str) -> NoReturn:
    """Raise a `DatasetError` that names file, line and column; a text column is named in quotes."""
    place = repr(column) if isinstance(column, str) else str(column)
    raise DatasetError(f"{shown_name(source)}, line {line}, column {place}: {problem}")
