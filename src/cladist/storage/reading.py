"""A folder → (manifest, arrays), every byte verified before it is believed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cladist.errors import ModelFormatError
from cladist.storage.manifest import MAX_MANIFEST_BYTES, unseal
from cladist.storage.mapping import map_tensors
from cladist.storage.tensors import read_tensors

MANIFEST = "manifest.json"


def read_folder(
    folder: str | os.PathLike[str], *, mmap: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the manifest and the arrays of a folder, after verifying every byte of them.

    Parameters
    ----------
    folder : path
    mmap : bool
        Map the arrays instead of reading them. The manifest is verified by its checksum, array files by their size and
        header; what the arrays hold is not, and who asks for this must expect anything there.

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
    content, files = _unsealed(source)
    try:
        arrays: dict[str, NDArray[Any]] = {}
        for entry in files:
            path = source / entry["file"]
            more = map_tensors(_sized(path, entry)) if mmap else read_tensors(_verified(path, entry))
            if twice := arrays.keys() & more.keys():
                raise ModelFormatError(f"{source}: array {min(twice)!r} is stored twice.")
            arrays |= more
    except OSError as error:
        raise ModelFormatError(f"{source} cannot be read: {error}.") from error
    return content, arrays


def read_content(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest alone, verified by its own checksum; the arrays are not looked at."""
    return _unsealed(Path(folder))[0]


def _unsealed(source: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if not source.is_dir():
        raise ModelFormatError(f"{source} is not a folder, so no model can be read from it.")
    try:
        return unseal(read_manifest(source), source / MANIFEST)
    except OSError as error:
        raise ModelFormatError(f"{source} cannot be read: {error}.") from error


def read_manifest(folder: Path) -> bytes:
    """Return the bytes of a folder's manifest, a plain file within the limit of size."""
    path = folder / MANIFEST
    size = _regular_size(path)
    if size > MAX_MANIFEST_BYTES:
        raise ModelFormatError(f"{path} has {size:,} bytes, more than the {MAX_MANIFEST_BYTES:,} allowed.")
    return path.read_bytes()


def _sized(path: Path, entry: dict[str, Any]) -> Path:
    size = _regular_size(path)
    if size != entry["size"]:
        raise ModelFormatError(f"{path} has {size:,} bytes instead of {entry['size']:,}; it is cut or altered.")
    return path


def _verified(path: Path, entry: dict[str, Any]) -> Path:
    with open(_sized(path, entry), "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != entry["sha256"]:
        raise ModelFormatError(f"{path} does not match its checksum; the file was altered or damaged.")
    return path


def _regular_size(path: Path) -> int:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        raise ModelFormatError(f"{path} is missing; the folder is no model, or only part of one.") from None
    if not stat.S_ISREG(status.st_mode):  # a link could lead anywhere, a pipe could wait for ever
        raise ModelFormatError(f"{path} is a link or a special file; a model is made of plain files.")
    return status.st_size
