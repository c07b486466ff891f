"""(manifest, arrays) ↔ a folder: written all or nothing, verified when it is read.

A folder holds `manifest.json` and, named by their own hash, the array files it lists. Replacing the manifest is the one
step that turns the old model into the new: steps before it may be lost, steps after it may be repeated. One process
writes to a folder at a time; others are refused meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from cladist._version import __version__
from cladist.errors import ModelFormatError
from cladist.files import name_errors
from cladist.locks import LOCK, find_abandoned, lock_folder, make_temporary
from cladist.storage.array_groups import Arrays
from cladist.storage.tensor_file import ByName, read_arrays, write_tensors
from cladist.storage.values import MAX_BYTES, check_size, parse_json

FORMAT = "cladist"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
MAX_TEXT = 1 << 20  # bytes of a file beside the manifest
MOST_READINGS = 50  # a save takes far longer than opening its files: two readings nearly always suffice
_ARRAY_FILE = re.compile(r"arrays-([0-9a-f]{12})\.safetensors", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
# Names that nobody else chooses: such a file that the manifest does not list is left from an interrupted save.
_OURS = re.compile(rf"{_ARRAY_FILE.pattern}|\.(arrays|manifest)-[0-9a-f]{{16}}\.tmp", re.ASCII)

# -------------------------------------------------------------------- the manifest: content, array files, a checksum


def seal(content: dict[str, Any], files: list[dict[str, Any]]) -> bytes:
    """Return the bytes of a manifest for `content` and the array files beside it."""
    body: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "cladist_version": __version__}
    body |= {"content": content, "arrays": files}
    try:
        body["checksum"] = _checksum(body)
        raw = json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"
        is_lossless = json.loads(raw)["content"] == content
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFormatError(f"The manifest cannot be written as JSON: {error}.") from error
    try:
        check_size(raw)
    except ValueError as error:
        raise ModelFormatError(f"The manifest is too large: {error}; put long lists into arrays.") from error
    if not is_lossless or not isinstance(content, dict):
        raise ModelFormatError(
            "The manifest must be a dict of JSON values, but holds something JSON does not keep,"
            " such as a tuple or a key that is not a string; pass such values through to_json_value first."
        )
    return raw


def unseal(raw: bytes, path: object) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the content and the list of array files of a manifest, verified; `path` is for messages."""
    body = _parse(raw, path)
    version = body.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFormatError(
            f"{path}: format_version must be a whole number from 1, not {version!r}; the file is damaged."
        )
    if version > FORMAT_VERSION:
        raise ModelFormatError(
            f"{path} was written by a newer cladist (format version {version}, this one reads up to"
            f" {FORMAT_VERSION}); upgrade cladist."
        )
    checksum = body.pop("checksum", None)
    try:
        matches = _checksum(body) == checksum
    except (ValueError, RecursionError):  # an altered number may have become infinite
        matches = False
    if not matches:
        raise ModelFormatError(f"{path}: the contents do not match their checksum; the file was altered or damaged.")
    content, files = body.get("content"), body.get("arrays")
    if not isinstance(content, dict) or not isinstance(files, list):
        raise ModelFormatError(f"{path}: 'content' must be an object and 'arrays' a list.")
    for entry in files:
        _check_entry(entry, path)
    return content, files


def _parse(raw: bytes, path: object) -> dict[str, Any]:
    """Return the JSON object in `raw`, which must have the format of a cladist model; nothing else is verified."""
    try:
        body = parse_json(raw)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not JSON ({error}); the file is damaged or no model.") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ModelFormatError(f"{path} is not the manifest of a cladist model: it has no format {FORMAT!r}.")
    return body


def _checksum(body: dict[str, Any]) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _check_entry(entry: Any, path: object) -> None:
    """Raise a `ModelFormatError` unless an entry of 'arrays' names a file by its checksum, and has its size."""
    fields = entry if isinstance(entry, dict) else {}
    name, digests = str(fields.get("file")), [fields.get("sha256")]
    if "header" in fields:  # manifests of the first versions have no checksums of parts
        large = fields.get("large")
        digests += [fields["header"], fields.get("small"), *(large.values() if isinstance(large, dict) else [None])]
    match = _ARRAY_FILE.fullmatch(name)
    fits = all(isinstance(digest, str) and _SHA256.fullmatch(digest) for digest in digests)
    if match is None or not fits or match[1] != fields["sha256"][:12] or type(fields.get("size")) is not int:
        raise ModelFormatError(
            f"{path}: an entry of 'arrays' must have a file arrays-<12 hex digits>.safetensors, named by its sha256, "
            f"the file's size, and checksums of its parts; it is {repr(entry)[:120]}."
        )


def read_folder(
    folder: str | os.PathLike[str], *, keep_in_file: ByName | None = None, verify: bool = False
) -> tuple[dict[str, Any], Arrays]:
    """Return the manifest and the arrays of a folder, after verifying every byte of them.

    Another process may save to the folder meanwhile: manifest and arrays are of one save. If the arrays that a manifest
    lists are missing or others, and the manifest has changed too, the folder is read again.

    Arrays that `keep_in_file` selects by name stay in their file: mapped, and only type and shape of the large ones
    verified unless `verify` is true. A folder without checksums of single arrays, as the first versions wrote it, is
    still read once as a whole.
    """
    source = Path(folder)
    for _ in range(MOST_READINGS):
        raw = _manifest_of(source)
        try:
            return _read_once(source, raw, keep_in_file, verify)
        except ModelFormatError as error:
            problem = error
        if _manifest_of(source) == raw:
            break
    raise problem


def _read_once(source: Path, raw: bytes, keep_in_file: ByName | None, verify: bool) -> tuple[dict[str, Any], Arrays]:
    content, files = unseal(raw, source / MANIFEST)
    arrays: Arrays = {}
    try:
        for entry in files:
            path = source / entry["file"]
            if (size := _regular_size(path)) != entry["size"]:
                raise ModelFormatError(
                    f"{path} has {size:,} bytes instead of {entry['size']:,}; it is truncated or altered."
                )
            with open(path, "rb") as file:
                more = read_arrays(file, entry, keep_in_file=keep_in_file, verify=verify)
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


def _regular_size(path: Path) -> int:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        raise ModelFormatError(f"{path} is missing; the folder is no model, or only part of one.") from None
    if not stat.S_ISREG(status.st_mode):  # a link could lead anywhere, a pipe could wait for ever
        raise ModelFormatError(f"{path} is a link or a special file; a model is made of plain files.")
    return status.st_size


def write_folder(folder: str | os.PathLike[str], manifest: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a manifest of JSON values and arrays of booleans, integers or floats as a folder, all or nothing.

    The folder is new (its parents are made), empty, or a model to replace; anything else is refused.
    """
    target = Path(folder)
    seal(manifest, [])  # refuse a bad manifest before gigabytes are written
    existed = os.path.lexists(target)
    check_replaceable(target)  # before a lock is put into somebody else's folder
    target.parent.mkdir(parents=True, exist_ok=True)
    with lock_folder(target), name_errors(target):
        if os.path.lexists(target):
            if not existed:
                check_replaceable(target)
            _write_into(target, manifest, arrays)
        else:
            _write_new(target, manifest, arrays)


def check_replaceable(folder: str | os.PathLike[str]) -> None:
    """Raise a `ModelFormatError` if a path exists that is no model and no empty folder."""
    if not os.path.lexists(folder):
        return
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelFormatError(f"{folder} is a file, and a model is a folder; choose another name to save it under.")
    if all(name == LOCK or _OURS.fullmatch(name) for name in os.listdir(folder)):
        return  # empty, except for files that an interrupted save may have left
    try:
        _parse(read_manifest(folder), folder / MANIFEST)
    except ModelFormatError as error:
        raise ModelFormatError(
            f"{folder} contains files but no cladist model, and was not changed; choose a new or empty folder."
        ) from error


def _write_new(target: Path, manifest: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a folder beside its place, and move it there."""
    for abandoned in find_abandoned(target.parent, "model"):
        _sweep(abandoned, keep=set())
        with suppress(OSError):  # it may hold files of others
            (abandoned / MANIFEST).unlink(missing_ok=True)
            abandoned.rmdir()
    with make_temporary(target.parent, "model") as stage:
        _write_into(stage, manifest, arrays)
        try:
            os.rename(stage, target)
        except OSError:
            if not os.path.lexists(target):
                raise
            raise ModelFormatError(
                f"{target} was made by somebody else while the model was written, and was not changed; choose a new "
                "or empty folder."
            ) from None
    sync_folder(target.parent)


def _write_into(folder: Path, manifest: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    keep = set(os.listdir(folder))
    try:
        files = [_write_arrays(folder, arrays)] if arrays else []
        temporary = folder / f".manifest-{secrets.token_hex(8)}.tmp"
        with open(temporary, "xb") as file:
            file.write(seal(manifest, files))
            _sync(file)
        sync_folder(folder)  # the array file must be there before a manifest that names it
        os.replace(temporary, folder / MANIFEST)
        sync_folder(folder)
    finally:
        # Only the manifest tells whether the switch was reached: an interrupt may come right after it.
        with suppress(ModelFormatError, OSError):
            keep = {entry["file"] for entry in unseal(read_manifest(folder), folder / MANIFEST)[1]}
        _sweep(folder, keep=keep)


def _write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    temporary = folder / f".arrays-{secrets.token_hex(8)}.tmp"
    with open(temporary, "xb") as file:
        digest, size, parts = write_tensors(file, arrays)
        _sync(file)
    name = f"arrays-{digest[:12]}.safetensors"
    os.replace(temporary, folder / name)
    return {"file": name, "sha256": digest, "size": size, **parts}


def write_beside(folder: str | os.PathLike[str], name: str, text: str, *, replaces: Callable[[str], bool]) -> None:
    """Write a text file beside a manifest; a file of that name is only replaced if `replaces` accepts its text."""
    target = Path(folder) / name
    if os.path.lexists(target):
        try:
            if _regular_size(target) > MAX_TEXT or not replaces(target.read_text(encoding="utf-8")):
                return
        except (ModelFormatError, UnicodeDecodeError, OSError):
            return  # a link, or no text: somebody else's
    temporary = Path(folder) / f".manifest-{secrets.token_hex(8)}.tmp"  # the next save removes one that is left
    try:
        with name_errors(target), open(temporary, "xb") as file:
            file.write(text.encode("utf-8"))
            _sync(file)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _sweep(folder: Path, *, keep: set[str]) -> None:
    for name in set(os.listdir(folder)) - keep:
        if _OURS.fullmatch(name):
            with suppress(OSError):  # a file that cannot be removed now, the next save removes
                os.unlink(folder / name)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Put the names of a folder's files on the disk."""
    # Windows and some network file systems cannot do this; a rename there is as durable as they make it.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
