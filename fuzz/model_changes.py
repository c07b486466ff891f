"""How a saved model is changed: damaged, or forged with checksums that fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

WHOLE = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 5, 6, 12, 16, 255, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1]
REAL = [0.0, -0.0, 1.0, -1.5, 1e-300, 1e6, 1e300, np.nan, np.inf, -np.inf]
TYPES = ["i1", "i4", "i8", "u1", "u4", "u8", "f2", "f4", "f8", "?"]
JUNK = [
    None, True, False, -1, 0, 1, 2, 7, 2**31, 2**40, -(2**63), 10**30, 0.5, -0.5, 1e300, "", "x", "auto", "path",
    "int8", "sets", "filename", "precomputed", "rbf", [], [1], ["x"], {}, {"x": 1}, {"$float": "nan"},
    {"$float": "inf"}, {"$tuple": [1, 2]}, {"$array": "x"}, {"$type": "float"}, {"$numpy": ["int8", 3]}, [[[]]],
    "(a+)+$",
]  # fmt: skip


def _damage(source: Path, place: Path, random: np.random.Generator, damage: Any) -> tuple[str, bool]:
    """Copy a model with one of its files damaged; return the change, and whether it hit weights that stay unread."""
    shutil.copytree(source, place)
    manifest, arrays = place / "manifest.json", next(place.glob("arrays-*"))
    file = manifest if random.random() < 0.3 else arrays
    raw = file.read_bytes()
    at = int(random.integers(len(raw)))
    file.write_bytes(damage(raw, at, random))
    return f"{file.name} at {at}", file is arrays and _is_unread(raw, at)


def _is_unread(raw: bytes, at: int) -> bool:
    """Tell whether a byte of an array file belongs to weights that a mapped model leaves there."""
    from cladist.persistence.models import LARGE
    from cladist.storage.tensor_file import parse_header

    start = 8 + int.from_bytes(raw[:8], "little")
    places = parse_header(raw[:start], len(raw) - start, "")
    return any(LARGE.fullmatch(p.name) is not None and p.begin <= at - start < p.end for p in places)


def flip(source: Path, place: Path, random: np.random.Generator) -> tuple[str, bool]:
    """Flip some bits of one byte."""
    return _damage(
        source, place, random, lambda raw, at, r: raw[:at] + bytes([raw[at] ^ int(r.integers(1, 256))]) + raw[at + 1 :]
    )


def cut(source: Path, place: Path, random: np.random.Generator) -> tuple[str, bool]:
    """Cut a file short."""
    return _damage(source, place, random, lambda raw, at, r: raw[:at])


def forge_array(source: Path, place: Path, random: np.random.Generator) -> tuple[str, bool]:
    """Change an array or two, and write the model again with checksums that fit."""
    from cladist.storage import read_folder, write_folder

    content, arrays = read_folder(source)
    changes = []
    for name in random.choice(sorted(arrays), random.integers(1, 3)).tolist():
        if name in arrays and random.random() < 0.05:
            del arrays[name]
            changes.append(f"no {name}")
        elif name in arrays:
            with np.errstate(all="ignore"):
                how, arrays[name] = _change(arrays[name], random)
            changes.append(f"{how} {name}")
    write_folder(place, content, arrays)
    return ", ".join(changes), True


def _change(array: Any, random: np.random.Generator) -> tuple[str, Any]:
    """Return an array after a change of a number, of all, of the order, the length, the shape or the type."""
    how = str(random.choice(["number", "number", "number", "all", "order", "repeat", "cut", "grow", "shape", "type"]))
    new = np.atleast_1d(array).copy()
    at = int(random.integers(max(1, len(new))))
    if how in ("number", "all") and new.size:
        known = np.array(WHOLE, object) if new.dtype.kind in "iub" else np.array(REAL)
        value = known[random.integers(len(known))]
        if new.dtype.kind in "iu" and random.random() < 0.3:
            new = new.astype(np.int64)
        fits = new.dtype.kind not in "iu" or np.iinfo(new.dtype).min <= value <= np.iinfo(new.dtype).max
        value = value if fits else int(value) % 100
        new.reshape(-1)[slice(None) if how == "all" else int(random.integers(new.size))] = value
    elif how == "order":
        new = new[random.permutation(len(new))]
    elif how == "repeat":
        new = np.repeat(new[at : at + 1], len(new), axis=0)
    elif how == "shape":
        new = [new[None], new.reshape(-1), new.T, new.reshape(-1, 1)][random.integers(4)]
    elif how == "type":
        new = new.astype(TYPES[random.integers(len(TYPES))])
    elif how == "cut":
        new = new[:at]
    elif how == "grow":
        new = np.concatenate([new, new[: at + 1]])
    return how, np.ascontiguousarray(new)


def forge_value(source: Path, place: Path, random: np.random.Generator) -> tuple[str, bool]:
    """Change a value of the manifest or two, and write the model again with checksums that fit."""
    from cladist.errors import ModelFormatError
    from cladist.storage import read_folder, write_folder

    content, arrays = read_folder(source)
    changes = []
    for _ in range(random.integers(1, 3)):
        places = list(_places(content, ""))
        holder, key, path = places[random.integers(len(places))]
        if random.random() < 0.15:
            holder.pop(key)
            changes.append(f"no {path}")
        else:
            holder[key] = json.loads(json.dumps(JUNK[random.integers(len(JUNK))]))
            changes.append(f"{path} = {holder[key]!r}")
    try:
        write_folder(place, content, arrays)
    except ModelFormatError:  # not JSON any more: another
        return forge_value(source, place, random)
    return ", ".join(changes), True


def _places(value: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    """Yield the container, the key and the path of each value of a manifest."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key, f"{path}/{key}"
        yield from _places(inner, f"{path}/{key}")


CHANGES = {"flip": flip, "cut": cut, "array": forge_array, "value": forge_value}
