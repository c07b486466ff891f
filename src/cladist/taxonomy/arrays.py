"""A taxonomy ↔ plain values and arrays of a folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladist.errors import ModelFormatError, TaxonomyError
from cladist.storage import pack_strings, unpack_strings
from cladist.storage.array_groups import Arrays, are_row_ends, group, prefixed
from cladist.taxonomy.construction import Draft
from cladist.taxonomy.taxonomy import Taxonomy
from cladist.taxonomy.version import check_label


def pack_taxonomy(taxonomy: Taxonomy) -> tuple[dict[str, Any], Arrays]:
    """Return the manifest entry and the arrays of a taxonomy; only a DAG needs the matrix of parents."""
    above = taxonomy.parents
    arrays: Arrays = (
        {"parents/indptr": above.indptr.astype(np.int64), "parents/indices": above.indices.astype(np.int64)}
        if taxonomy.kind == "dag"
        else {"parent": np.asarray(taxonomy.parent)}
    )
    titles, descriptions, synonyms = taxonomy.titles, taxonomy.descriptions, taxonomy.synonyms
    texts = {
        "names": list(taxonomy.names),
        "titles": [titles.get(name, "") for name in taxonomy.names] if titles else [],
        "descriptions": [descriptions.get(name, "") for name in taxonomy.names] if descriptions else [],
        "synonyms": [text for name in taxonomy.names for text in synonyms.get(name, ())],
        "parts": list(taxonomy.parts or ()),
        "dropped_edges": [name for edge in taxonomy.dropped_edges for name in edge],
    }
    for key, strings in texts.items():
        if strings:
            arrays.update(prefixed(key, pack_strings(strings)))
    if synonyms:
        arrays["n_synonyms"] = np.array([len(synonyms.get(name, ())) for name in taxonomy.names], np.int64)
    version = {"name": taxonomy.version.name, "date": taxonomy.version.date, "digest": taxonomy.version.digest}
    return {"sep": taxonomy.sep, "stop_leaves": taxonomy.stop_leaves, "version": version}, arrays


def unpack_taxonomy(content: dict[str, Any], arrays: Arrays) -> Taxonomy:
    """Return the taxonomy that `pack_taxonomy` packed."""
    keys = ("names", "parts", "titles", "descriptions", "synonyms", "dropped_edges")
    texts = {key: group(key, arrays) for key in keys}
    names, parts, titles, descriptions, synonyms, dropped = (
        unpack_strings(**packed) if packed else None for packed in texts.values()
    )
    names, dropped = names or [], dropped or []
    sep, stops = content.get("sep"), content.get("stop_leaves") or {}
    fits = (sep is None or isinstance(sep, str)) and len(dropped) % 2 == 0 and (parts is None or sep is not None)
    fits = fits and all(listed is None or len(listed) == len(names) for listed in (parts, titles, descriptions))
    fits = fits and isinstance(stops, dict) and all(isinstance(node, str) for node in stops.values())
    if not names or not fits or not {*stops, *stops.values()} <= set(names):
        raise ModelFormatError("The taxonomy is damaged: its parts do not fit together.")
    try:
        draft = _build_draft(names, arrays)
        draft.parts, draft.sep = parts, sep
        draft.dropped_edges = list(zip(dropped[::2], dropped[1::2], strict=True))
        draft.titles = {name: title for name, title in zip(names, titles or (), strict=False) if title}
        draft.descriptions = dict(zip(names, descriptions or (), strict=False))
        draft.synonyms = _divide(names, synonyms or [], arrays)
        draft.stop_leaves = stops
        draft.version = _read_version(content.get("version"))
        taxonomy = Taxonomy(draft)
    except TaxonomyError as problem:
        raise ModelFormatError(f"The taxonomy is damaged: {problem}") from problem
    if taxonomy.names != tuple(draft.names):
        raise ModelFormatError("The taxonomy is damaged: its nodes are not in order.")
    return taxonomy


def _read_version(content: Any) -> tuple[str | None, str | None]:
    """Return name and date of a version; models of earlier versions of cladist have none."""
    if content is None:
        return None, None
    if not isinstance(content, dict):
        raise TaxonomyError("its version is no object.")
    return check_label(content.get("name"), "name"), check_label(content.get("date"), "date")


def _divide(names: list[str], synonyms: list[str], arrays: Arrays) -> dict[str, list[str]]:
    """Return the synonyms of each name, of which there are `n_synonyms`."""
    counts = np.array(arrays.get("n_synonyms", np.zeros(len(names))), dtype=np.int64)
    if len(counts) != len(names) or np.any((counts < 0) | (counts > len(synonyms))) or counts.sum() != len(synonyms):
        raise TaxonomyError("names and synonyms do not fit together.")
    ends = np.cumsum(counts).tolist()
    return {name: synonyms[end - n : end] for name, n, end in zip(names, counts.tolist(), ends, strict=True)}


def _build_draft(names: list[str], arrays: Arrays) -> Draft:
    """Return names and parents, after checking that parents come before their children."""
    ids = np.arange(len(names))
    if "parent" in arrays:
        parent = np.array(arrays["parent"], dtype=np.int64)
        fits = len(parent) == len(names) and bool(np.all((parent < ids) & (parent >= -1)))
        draft = Draft.of_forest(names, parent if fits else ids[:0])
    else:
        indptr, parents = (np.array(arrays[f"parents/{key}"], dtype=np.int64) for key in ("indptr", "indices"))
        fits = are_row_ends(indptr, len(names), len(parents)) and bool(np.all(parents >= 0))
        fits = fits and bool(np.all(parents < np.repeat(ids, np.diff(indptr))))
        draft = Draft(names, indptr, parents)
    if not fits or len(set(names)) != len(names):
        raise TaxonomyError("names and parents do not fit together.")
    return draft
