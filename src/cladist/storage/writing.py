"""(manifest, arrays) → a folder, all or nothing.

A folder holds `manifest.json` and, named by their own hash, the array files it lists. Replacing the manifest
is the one step that turns the old model into the new: what comes before it may be lost, what comes after it
may be repeated. One process may write to a folder at a time.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from cladist.errors import ModelFormatError
from cladist.storage.manifest import ARRAY_FILE, parse, seal, unseal
from cladist.storage.reading import MANIFEST, read_manifest
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
    if os.path.lexists(target):
        _check_replaceable(target)
        _write_into(target, manifest, arrays)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    stage = target.parent / f".cladist-{secrets.token_hex(8)}.tmp"
    try:
        stage.mkdir()
        _write_into(stage, manifest, arrays)
        os.rename(stage, target)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    _sync_folder(target.parent)


def _check_replaceable(folder: Path) -> None:
    if not folder.is_dir():
        raise ModelFormatError(f"{folder} is a file, and a model is a folder; choose another name to save it under.")
    if all(_OURS.fullmatch(name) for name in os.listdir(folder)):
        return  # empty, but for what an interrupted save may have left
    try:
        parse(read_manifest(folder), folder / MANIFEST)
    except ModelFormatError as error:
        raise ModelFormatError(
            f"{folder} holds files but no cladist model, and is left untouched; choose a new or empty folder."
        ) from error


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
