"""A taxonomy as the list of a hierarchical attribute, and labels as rows spell them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cladist.datasets.formats.arff.header import BLANKS
from cladist.datasets.formats.arff.hierarchy import NO_LABELS, ROOT, Hierarchy
from cladist.errors import DatasetError
from cladist.taxonomy import Taxonomy

_MEANS_SOMETHING = ",@%{}/"


def listed_hierarchy(taxonomy: Taxonomy, hierarchy: Hierarchy) -> tuple[list[str], list[str]]:
    """Return the entries of a hierarchical attribute, and how rows spell each node.

    Examples
    --------
    >>> listed_hierarchy(Taxonomy.from_paths(["a/b"]), "auto")
    (['root/a', 'a/b'], ['a', 'b'])
    >>> listed_hierarchy(Taxonomy.from_paths(["a/b"]), "tree")
    (['a', 'a/b'], ['a', 'a/b'])
    """
    is_dag = taxonomy.kind == "dag"
    if hierarchy == "tree" and is_dag:
        raise DatasetError("write_arff_hmc: a DAG has no paths to name its nodes by; write it with hierarchy='dag'.")
    has_slashes = any("/" in name for name in taxonomy.names)
    if is_dag or hierarchy == "dag" or (hierarchy == "auto" and taxonomy.depth[-1] > 0 and not has_slashes):
        return _edges(taxonomy), list(taxonomy.names)
    paths = _paths(taxonomy)
    return paths, paths


def _edges(taxonomy: Taxonomy) -> list[str]:
    """Return ``parent/child`` for each edge, and ``root/child`` for each root; nodes come in order of their ids."""
    names = [_plain(name) for name in taxonomy.names]
    if ROOT in taxonomy:
        raise DatasetError(
            f"write_arff_hmc: the node {ROOT!r} would be lost among edges, where that name stands above all nodes; "
            "rename it, or write a tree with hierarchy='tree'."
        )
    parents = taxonomy.parents
    entries: list[str] = []
    for v, name in enumerate(names):
        above = parents.indices[parents.indptr[v] : parents.indptr[v + 1]].tolist()
        entries.extend(f"{names[p]}/{name}" for p in above)
        if not above:
            entries.append(f"{ROOT}/{name}")
    return entries


def _paths(taxonomy: Taxonomy) -> list[str]:
    """Return the nodes' names if those are paths, else paths made of the names."""
    names = taxonomy.names
    heads = ["" if p < 0 else names[p] + "/" for p in taxonomy.parent.tolist()]
    if all(name.startswith(head) and "/" not in name[len(head) :] for name, head in zip(names, heads, strict=True)):
        for name, head in zip(names, heads, strict=True):
            _plain(name[len(head) :])
        return list(names)
    return ["/".join(_plain(part) for part in taxonomy.path_parts(v)) for v in range(taxonomy.n_nodes)]


def _plain(name: str) -> str:
    """Return a name if the format can hold it."""
    is_odd = any(c in _MEANS_SOMETHING or c < " " or "\ud800" <= c <= "\udfff" for c in name)
    if is_odd or not name or name[0] in "'\"\ufeff" or name == NO_LABELS or name != name.strip(BLANKS):
        raise DatasetError(
            f"write_arff_hmc: the format cannot hold the name {name!r}: it is empty or '?', has one of "
            f"{' '.join(_MEANS_SOMETHING)}, a control character or a blank at an end, or begins with a quote or a byte "
            "order mark."
        )
    return name


def spelled_labels(y: Any, taxonomy: Taxonomy, spelled: Sequence[str]) -> list[str]:
    """Return what each row has in place of its labels.

    Examples
    --------
    >>> spelled_labels([["a", "b"], []], Taxonomy.from_parents({"a": None, "b": None}), ["a", "b"])
    ['a@b', '?']
    """
    if getattr(y, "ndim", 1) != 1:
        raise DatasetError("write_arff_hmc: y must be names of nodes, or lists of them; got a matrix.")
    written = []
    for row, labels in enumerate(y):
        if isinstance(labels, (set, frozenset)):
            nodes = sorted(_node(label, taxonomy, row) for label in labels)
        elif isinstance(labels, (list, tuple, np.ndarray)):
            nodes = [_node(label, taxonomy, row) for label in labels]
        else:
            nodes = [_node(labels, taxonomy, row)]
        written.append("@".join(spelled[v] for v in nodes) or NO_LABELS)
    return written


def _node(label: Any, taxonomy: Taxonomy, row: int) -> int:
    found = taxonomy.find(label)
    if found is None:
        hint = taxonomy.suggestion(label)
        raise DatasetError(f"write_arff_hmc: row {row}: the label {label!r} is not in the taxonomy{hint}")
    return found
