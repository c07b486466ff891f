"""A folder → (manifest, arrays), every byte verified before it is believed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cladist.errors import ModelFormatError
from cladist.storage.array_file import Left, read_arrays
from cladist.storage.json_text import MAX_BYTES
from cladist.storage.manifest import unseal

MANIFEST = "manifest.json"
MOST_READINGS = 50  # a save takes far longer than it takes to open its files: two readings nearly always do


def read_folder(
    folder: str | os.PathLike[str], *, left: Left | None = None, verify: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the manifest and the arrays of a folder, after verifying every byte of them.

    Another process may save to the folder meanwhile: what is returned is of one save. If the arrays that a manifest
    lists are gone or others, and the manifest has changed too, the folder is read again.

    Parameters
    ----------
    folder : path
    left : callable, optional
        Which arrays, by name, to leave in their file: mapped, and of the large ones only type and shape verified.
        A folder that has no checksums of single arrays, as the first versions wrote it, is still read once as a whole.
    verify : bool
        Read and verify what is left in the file, too.

    Returns
    -------
    manifest : dict
    arrays : dict of str to ndarray
        In C order, writable unless they are mapped.

    Examples
    --------
    >>> read_folder("no-such-model")
    Traceback (most recent call last):
    cladist.errors.ModelFormatError: no-such-model is not a folder, so no model can be read from it.
    """
    source = Path(folder)
    for _ in range(MOST_READINGS):
        raw = _manifest_of(source)
        try:
            return _read(source, raw, left, verify)
        except ModelFormatError as error:
            problem = error
        if _manifest_of(source) == raw:
            break
    raise problem


def read_content(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest alone, verified by its own checksum; the arrays are not looked at."""
    source = Path(folder)
    return unseal(_manifest_of(source), source / MANIFEST)[0]


def _read(source: Path, raw: bytes, left: Left | None, verify: bool) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    content, files = unseal(raw, source / MANIFEST)
    arrays: dict[str, NDArray[Any]] = {}
    try:
        for entry in files:
            with open(_sized(source / entry["file"], entry), "rb") as file:
                more = read_arrays(file, entry, left=left, verify=verify)
            if twice := arrays.keys() & more.keys():
                raise ModelFormatError(f"{source}: array {min(twice)!r} is stored twice.")
            arrays |= more
    except OSError as error:
        raise ModelFormatError(f"{source} cannot be read: {error}.") from error
    return content, arrays


def _manifest_of(source: Path) -> bytes:
    if not source.is_dir():
        raise ModelFormatError(f"{source} is not a folder, so no model can be read from it.")
    try:
        return read_manifest(source)
    except OSError as error:
        raise ModelFormatError(f"{source} cannot be read: {error}.") from error


def read_manifest(folder: Path) -> bytes:
    """Return the bytes of a folder's manifest, a plain file within the limit of size."""
    path = folder / MANIFEST
    size = _regular_size(path)
    if size > MAX_BYTES:
        raise ModelFormatError(f"{path} has {size:,} bytes, more than the {MAX_BYTES:,} allowed.")
    return path.read_bytes()


def _sized(path: Path, entry: dict[str, Any]) -> Path:
    size = _regular_size(path)
    if size != entry["size"]:
        raise ModelFormatError(f"{path} has {size:,} bytes instead of {entry['size']:,}; it is cut or altered.")
    return path


def _regular_size(path: Path) -> int:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        raise ModelFormatError(f"{path} is missing; the folder is no model, or only part of one.") from None
    if not stat.S_ISREG(status.st_mode):  # a link could lead anywhere, a pipe could wait for ever
        raise ModelFormatError(f"{path} is a link or a special file; a model is made of plain files.")
    return status.st_size
