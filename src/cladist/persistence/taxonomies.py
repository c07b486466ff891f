"""A taxonomy, or a label graph, as plain values and arrays, for model files."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError, TaxonomyError
from cladist.storage import pack_strings, unpack_strings
from cladist.taxonomy.construction import Draft
from cladist.taxonomy.relations import RelationGraph
from cladist.taxonomy.taxonomy import Taxonomy

Arrays = dict[str, npt.NDArray[Any]]


def pack(taxonomy: Taxonomy) -> tuple[dict[str, Any], Arrays]:
    """Return what a manifest and an array file hold of a taxonomy."""
    # A tree or forest is one number a node; a DAG wants the rows of the whole matrix.
    above = taxonomy.parents
    arrays: Arrays = (
        {"parents/indptr": above.indptr.astype(np.int64), "parents/indices": above.indices.astype(np.int64)}
        if taxonomy.kind == "dag"
        else {"parent": np.asarray(taxonomy.parent)}
    )
    titles = taxonomy.titles
    texts = {
        "names": list(taxonomy.names),
        "titles": [titles.get(name, "") for name in taxonomy.names] if titles else [],
        "parts": list(taxonomy.parts or ()),
        "dropped_edges": [name for edge in taxonomy.dropped_edges for name in edge],
    }
    for key, strings in texts.items():
        if strings:
            arrays.update((f"{key}/{part}", array) for part, array in pack_strings(strings).items())
    return {"sep": taxonomy.sep, "stop_leaves": taxonomy.stop_leaves}, arrays


def unpack(content: dict[str, Any], arrays: Arrays) -> Taxonomy:
    """Restore what `pack` gave."""

    def strings(key: str) -> list[str] | None:
        if f"{key}/utf8" not in arrays:
            return None
        return unpack_strings(arrays[f"{key}/utf8"], arrays[f"{key}/offsets"])

    names, parts, titles = strings("names"), strings("parts"), strings("titles")
    dropped = strings("dropped_edges") or []
    sep, stops = content.get("sep"), content.get("stop_leaves") or {}
    lists = [texts for texts in (names, parts, titles) if texts is not None]
    fits = (sep is None or isinstance(sep, str)) and len({len(texts) for texts in lists}) == 1 and len(dropped) % 2 == 0
    if not fits or (parts is not None and sep is None) or not _are_stops(stops, set(names or ())):
        raise ModelFormatError("The taxonomy in this model is damaged: its parts do not fit together.")
    try:
        draft = _draft(names or [], arrays)
        draft.parts, draft.sep = parts, sep
        draft.dropped_edges = list(zip(dropped[::2], dropped[1::2], strict=True))
        draft.titles = {name: title for name, title in zip(draft.names, titles or (), strict=False) if title}
        draft.stop_leaves = stops
        taxonomy = Taxonomy(draft)
    except TaxonomyError as problem:
        raise ModelFormatError(f"The taxonomy in this model is damaged: {problem}") from problem
    if taxonomy.names != tuple(draft.names):
        raise ModelFormatError("The taxonomy in this model is damaged: its nodes are not in order.")
    return taxonomy


def _are_stops(stops: Any, names: set[str]) -> bool:
    return (
        isinstance(stops, dict)
        and all(isinstance(node, str) for node in stops.values())
        and {
            *stops,
            *stops.values(),
        }
        <= names
    )


def _draft(names: list[str], arrays: Arrays) -> Draft:
    """Return names and parents, checked so far that nothing reads beyond an array."""
    ids = np.arange(len(names))
    if "parent" in arrays:
        parent = np.array(arrays["parent"], dtype=np.int64)
        fits = len(parent) == len(names) and bool(np.all((parent < ids) & (parent >= -1)))
        draft = Draft.of_forest(names, parent if fits else ids[:0])
    else:
        indptr, parents = (np.array(arrays[f"parents/{key}"], dtype=np.int64) for key in ("indptr", "indices"))
        rows = len(indptr) == len(names) + 1 and indptr[0] == 0 and indptr[-1] == len(parents)
        fits = rows and bool(np.all(np.diff(indptr) >= 0)) and bool(np.all(parents >= 0))
        fits = fits and bool(np.all(parents < np.repeat(ids, np.diff(indptr))))
        draft = Draft(names, indptr, parents)
    if not fits or len(set(names)) != len(names):
        raise TaxonomyError("names and parents do not fit together.")
    return draft


# -------------------------------------------------------------------- label graphs


def pack_relations(relations: RelationGraph | None) -> Arrays:
    """Return what an array file holds of a label graph; nothing of none."""
    if relations is None:
        return {}
    adjacency = relations.adjacency
    names = {f"names/{part}": array for part, array in pack_strings(list(relations.names)).items()}
    indptr, indices = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)
    return {**names, "indptr": indptr, "indices": indices, "weights": adjacency.data.astype(np.float64)}


def unpack_relations(arrays: Arrays) -> RelationGraph | None:
    """Restore what `pack_relations` gave, checked to be an undirected graph with positive weights."""
    if not arrays:
        return None
    names = unpack_strings(arrays["names/utf8"], arrays["names/offsets"])
    indptr, indices, weights = arrays["indptr"].astype(np.int64), arrays["indices"].astype(np.int64), arrays["weights"]
    fits = len(indptr) == len(names) + 1 and indptr[0] == 0 and indptr[-1] == len(indices) == len(weights)
    fits = fits and bool(np.all(np.diff(indptr) >= 0)) and bool(np.all((indices >= 0) & (indices < len(names))))
    fits = fits and bool(np.all((weights > 0) & (weights < np.inf))) and len(set(names)) == len(names)
    if fits:
        adjacency = sparse.csr_array((weights.astype(np.float64), indices, indptr), shape=(len(names),) * 2)
        adjacency.sort_indices()
        doubled = bool(np.any(np.diff(adjacency.indices)[_within_rows(adjacency)] == 0))
        if not doubled and not adjacency.diagonal().any() and (adjacency != adjacency.T).nnz == 0:
            return RelationGraph(names, adjacency)
    raise ModelFormatError("The label graph in this model is damaged.")


def _within_rows(matrix: sparse.csr_array) -> npt.NDArray[np.bool_]:
    """Tell which neighbouring entries of a CSR matrix belong to the same row."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(row[1:] == row[:-1])
