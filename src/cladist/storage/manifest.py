"""The text of `manifest.json`: the caller's content, its array files, and a checksum over both."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from cladist._version import __version__
from cladist.errors import ModelFormatError
from cladist.storage.json_text import check_size, parse_json

FORMAT = "cladist"
FORMAT_VERSION = 1
ARRAY_FILE = re.compile(r"arrays-([0-9a-f]{12})\.safetensors", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


def seal(content: dict[str, Any], files: list[dict[str, Any]]) -> bytes:
    """Return the bytes of a manifest for `content` and the array files beside it.

    Examples
    --------
    >>> unseal(seal({"C": 1.0}, []), "manifest.json")
    ({'C': 1.0}, [])
    """
    body: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "cladist_version": __version__,
    }
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
    body = parse(raw, path)
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
    if not _matches(body, checksum):
        raise ModelFormatError(f"{path}: the contents do not match their checksum; the file was altered or damaged.")
    content, files = body.get("content"), body.get("arrays")
    if not isinstance(content, dict) or not isinstance(files, list):
        raise ModelFormatError(f"{path}: 'content' must be an object and 'arrays' a list.")
    for entry in files:
        _check_entry(entry, path)
    return content, files


def parse(raw: bytes, path: object) -> dict[str, Any]:
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


def _matches(body: dict[str, Any], checksum: object) -> bool:
    try:
        return _checksum(body) == checksum
    except (ValueError, RecursionError):  # an altered number may have become infinite
        return False


def _check_entry(entry: Any, path: object) -> None:
    if not isinstance(entry, dict):
        raise ModelFormatError(f"{path}: each entry of 'arrays' must be an object, not {entry!r}.")
    name, digest, size = entry.get("file"), entry.get("sha256"), entry.get("size")
    match = ARRAY_FILE.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise ModelFormatError(
            f"{path}: {name!r} is no name of an array file; one is called arrays-<12 hex digits>.safetensors."
        )
    if not isinstance(digest, str) or not _SHA256.fullmatch(digest) or match[1] != digest[:12]:
        raise ModelFormatError(f"{path}: the sha256 of {name} is {digest!r}, which does not fit its name.")
    if type(size) is not int:
        raise ModelFormatError(f"{path}: the size of {name} must be a whole number, not {size!r}.")
    if "header" in entry:
        _check_parts(entry, name, path)


def _check_parts(entry: dict[str, Any], name: object, path: object) -> None:
    """Refuse malformed checksums of parts; manifests of the first versions have none."""
    large = entry.get("large")
    digests = [entry["header"], entry.get("small"), *(large.values() if isinstance(large, dict) else [None])]
    if not all(isinstance(digest, str) and _SHA256.fullmatch(digest) for digest in digests):
        raise ModelFormatError(f"{path}: the checksums of the parts of {name} are not as cladist writes them.")
