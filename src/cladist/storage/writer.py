"""(manifest, arrays) → a folder, all or nothing.

A folder holds `manifest.json` and, named by their own hash, the array files it lists. Replacing the manifest
is the one step that turns the old model into the new: what comes before it may be lost, what comes after it
may be repeated. One process writes to a folder at a time; another is refused meanwhile.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from cladist.errors import ModelFormatError
from cladist.files import naming
from cladist.locks import left_over, temporary
from cladist.storage.lock import LOCK, locked
from cladist.storage.manifest import ARRAY_FILE, parse, seal, unseal
from cladist.storage.reader import MANIFEST, read_manifest
from cladist.storage.tensors import write_tensors

# Names nobody else chooses: what bears one, and is not listed in the manifest, an interrupted save has left.
_OURS = re.compile(rf"{ARRAY_FILE.pattern}|\.(arrays|manifest)-[0-9a-f]{{16}}\.tmp", re.ASCII)


def write_folder(folder: str | os.PathLike[str], manifest: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a manifest and arrays as a folder, all or nothing.

    Parameters
    ----------
    folder : path
        A new folder (its parents are made), an empty one, or a model to replace; anything else is refused.
    manifest : dict
        JSON values only; see `to_json_value`.
    arrays : mapping of str to ndarray
        Arrays of booleans, integers or floats, in any memory order.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from cladist.storage import read_folder
    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_folder(f"{place}/model", {"C": 1.0}, {"bias": np.arange(3)})
    ...     read_folder(f"{place}/model")
    ({'C': 1.0}, {'bias': array([0, 1, 2])})
    """
    target = Path(folder)
    seal(manifest, [])  # refuse a bad manifest before gigabytes are written
    is_there = os.path.lexists(target)
    check_replaceable(target)  # before a lock is put into a folder of somebody else
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target), naming(target):
        if os.path.lexists(target):
            if not is_there:
                check_replaceable(target)
            _write_into(target, manifest, arrays)
        else:
            _write_new(target, manifest, arrays)


def check_replaceable(folder: str | os.PathLike[str]) -> None:
    """Raise a `ModelFormatError` if something is there that is no model and no empty folder.

    Examples
    --------
    >>> import tempfile
    >>> check_replaceable("no-such-model"), check_replaceable(tempfile.mkdtemp())
    (None, None)
    """
    if not os.path.lexists(folder):
        return
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelFormatError(f"{folder} is a file, and a model is a folder; choose another name to save it under.")
    if all(name == LOCK or _OURS.fullmatch(name) for name in os.listdir(folder)):
        return  # empty, but for what an interrupted save may have left
    try:
        parse(read_manifest(folder), folder / MANIFEST)
    except ModelFormatError as error:
        raise ModelFormatError(
            f"{folder} holds files but no cladist model, and is left untouched; choose a new or empty folder."
        ) from error


def _write_new(target: Path, manifest: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a folder beside its place, and move it there."""
    for dead in left_over(target.parent, "model"):
        _sweep(dead, keep=set())
        with suppress(OSError):  # it may hold files of others
            (dead / MANIFEST).unlink(missing_ok=True)
            dead.rmdir()
    with temporary(target.parent, "model") as stage:
        _write_into(stage, manifest, arrays)
        try:
            os.rename(stage, target)
        except OSError:
            if not os.path.lexists(target):
                raise
            raise ModelFormatError(
                f"{target} was made by somebody else while the model was written, and is left untouched; choose a new "
                "or empty folder."
            ) from None
    _sync_folder(target.parent)


def _write_into(folder: Path, manifest: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    before = set(os.listdir(folder))
    try:
        files = [_write_arrays(folder, arrays)] if arrays else []
        temporary = folder / f".manifest-{secrets.token_hex(8)}.tmp"
        with open(temporary, "xb") as file:
            file.write(seal(manifest, files))
            _sync(file)
        _sync_folder(folder)  # the array file must be there before a manifest that names it
        os.replace(temporary, folder / MANIFEST)
        _sync_folder(folder)
    finally:
        # Whether the switch was reached, only the manifest knows: an interrupt may come right after it.
        listed = _listed(folder)
        _sweep(folder, keep=before if listed is None else listed)


def _write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    temporary = folder / f".arrays-{secrets.token_hex(8)}.tmp"
    with open(temporary, "xb") as file:
        digest, size, parts = write_tensors(file, arrays)
        _sync(file)
    name = f"arrays-{digest[:12]}.safetensors"
    os.replace(temporary, folder / name)
    return {"file": name, "sha256": digest, "size": size, **parts}


def _sweep(folder: Path, *, keep: set[str]) -> None:
    for name in set(os.listdir(folder)) - keep:
        if _OURS.fullmatch(name):
            with suppress(OSError):  # what cannot be removed now, the next save removes
                os.unlink(folder / name)


def _listed(folder: Path) -> set[str] | None:
    try:
        return {entry["file"] for entry in unseal(read_manifest(folder), folder / MANIFEST)[1]}
    except (ModelFormatError, OSError):
        return None


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    # Windows and some network file systems cannot do this; a rename there is as durable as they make it.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
