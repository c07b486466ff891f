"""A taxonomy as plain values and arrays, for model files."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ModelFormatError, TaxonomyError
from cladist.storage import pack_strings, unpack_strings
from cladist.taxonomy.building import Draft
from cladist.taxonomy.taxonomy import Taxonomy

Arrays = dict[str, npt.NDArray[Any]]


def pack(taxonomy: Taxonomy) -> tuple[dict[str, Any], Arrays]:
    """Return what a manifest and an array file hold of a taxonomy."""
    arrays: Arrays = {"parent": np.asarray(taxonomy.parent)}
    titles = taxonomy.titles
    texts = {
        "names": list(taxonomy.names),
        "titles": [titles.get(name, "") for name in taxonomy.names] if titles else [],
        "parts": list(taxonomy._parts or ()),
    }
    for key, strings in texts.items():
        if strings:
            arrays.update((f"{key}/{part}", array) for part, array in pack_strings(strings).items())
    return {"sep": taxonomy._sep, "stop_leaves": taxonomy.stop_leaves}, arrays


def unpack(content: dict[str, Any], arrays: Arrays) -> Taxonomy:
    """Restore what `pack` gave."""

    def strings(key: str) -> list[str] | None:
        if f"{key}/utf8" not in arrays:
            return None
        return unpack_strings(arrays[f"{key}/utf8"], arrays[f"{key}/offsets"])

    names, parts, titles = strings("names"), strings("parts"), strings("titles")
    parent = np.array(arrays["parent"], dtype=np.int64)
    ids = np.arange(len(parent))
    if names is None or len(set(names)) != len(parent) or np.any((parent >= ids) | (parent < -1)):
        raise ModelFormatError("The taxonomy in this model is damaged: names and parents do not fit together.")
    try:
        taxonomy = Taxonomy(
            Draft(names, parent, parts, content.get("sep")),
            titles={n: t for n, t in zip(names, titles, strict=True) if t} if titles else None,
        )
    except (TaxonomyError, ValueError) as problem:
        raise ModelFormatError(f"The taxonomy in this model is damaged: {problem}") from problem
    if taxonomy.names != tuple(names):
        raise ModelFormatError("The taxonomy in this model is damaged: its nodes are not in order.")
    if content.get("stop_leaves"):
        taxonomy.__dict__["_stop_leaves"] = dict(content["stop_leaves"])
    return taxonomy
