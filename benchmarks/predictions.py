"""The test predictions of measured rows, kept in the user's cache: of real data, they are no part of a checkout."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from cladist.errors import DatasetError, LabelError
from cladist.files import open_for_writing
from cladist.labels import LabelMatrix


def folder() -> Path:
    """Return where predictions are kept: ``cladist/bench`` in the folder of caches that ``XDG_CACHE_HOME`` names."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cladist" / "bench"


def place(data_set: str, method: str, settings: dict[str, Any], C: float) -> Path:
    """Return the file for a row, named as on the command line: other settings or another C are another file."""
    return folder() / f"{data_set}-{method}-{digest([settings, C])}.npz"


def digest(content: Any) -> str:
    """Return a short hash of plain values; tuples and lists are the same, as in a file of results."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def make_folder() -> None:
    """Make the folder; called before hours of work whose predictions it shall hold."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DatasetError(
            f"Predictions cannot be kept in {folder()} ({problem}); let XDG_CACHE_HOME name another folder."
        ) from problem


def keep(path: Path, true: LabelMatrix, predicted: LabelMatrix) -> None:
    """Write true and predicted labels."""
    sides = {"true": true, "predicted": predicted}
    arrays = {
        f"{side}_{name}": getattr(labels, name) for side, labels in sides.items() for name in ("indptr", "indices")
    }
    with open_for_writing(path) as file:
        np.savez_compressed(file, **arrays)


def kept(path: Path, true: LabelMatrix) -> LabelMatrix | None:
    """Return the predictions in a file; None if there are none for these true labels."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        if not all(np.array_equal(found[f"true_{name}"], getattr(true, name)) for name in ("indptr", "indices")):
            return None
        indptr, indices = found["predicted_indptr"], found["predicted_indices"]
        if len(indptr) != len(true.indptr) or indptr[-1] != len(indices):
            return None
        return LabelMatrix.from_ids(indptr, indices, true.taxonomy)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, LabelError):
        return None
