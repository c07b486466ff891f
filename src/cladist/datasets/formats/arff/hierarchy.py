"""The entries of a hierarchical attribute, paths of a tree or edges of a DAG ↔ a taxonomy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cladist.datasets.formats.arff.header import BLANKS, MOST_NAME_CHARACTERS, Header
from cladist.errors import DatasetError, TaxonomyError
from cladist.files import Source, display_name
from cladist.taxonomy import Taxonomy, construction

Hierarchy = Literal["auto", "tree", "dag"]

ROOT = "root"  # stands above the real roots in a list of edges, and is no node
NO_LABELS = "?"
MOST_ENTRIES = 2**20
_SPECIAL = ",@%{}/"


def read_hierarchy(
    source: Source, header: Header, hierarchy: Hierarchy = "auto", on_cycle: Literal["error", "drop"] = "error"
) -> Taxonomy:
    """Build the taxonomy that a header lists as paths or edges; see `parse_hierarchy`."""
    try:
        return parse_hierarchy(header.hierarchy, hierarchy, on_cycle)
    except TaxonomyError as problem:
        name, line = display_name(source), header.hierarchy_line
        raise DatasetError.at(name, line, None, str(problem), kind=problem.kind or "bad-hierarchy") from problem


def parse_hierarchy(text: str, hierarchy: Hierarchy = "auto", on_cycle: Literal["error", "drop"] = "error") -> Taxonomy:
    """Build the taxonomy of a list of paths or edges; "auto": edges, if each has one ``/`` and one begins at root.

    Examples
    --------
    >>> parse_hierarchy("1,1/2,3/4").names
    ('1', '3', '1/2', '3/4')
    >>> parse_hierarchy("root/a,root/b,a/c").names
    ('a', 'b', 'c')
    """
    if text.count(",") >= MOST_ENTRIES:
        raise TaxonomyError(f"the hierarchical attribute lists more than {MOST_ENTRIES:,} entries.")
    entries = [entry.strip(BLANKS) for entry in text.split(",")]
    for entry in entries:
        if not all(entry.split("/")):
            raise TaxonomyError(
                f"the hierarchical attribute lists {entry[:60]!r}; wanted paths such as 'a/b' or edges "
                "'parent/child', joined by single commas, without empty parts."
            )
    look_like_edges = all(entry.count("/") == 1 for entry in entries) and any(e.startswith(f"{ROOT}/") for e in entries)
    if hierarchy == "dag" or (hierarchy == "auto" and look_like_edges):
        return _from_edges(entries, on_cycle)
    return _from_paths(entries)


def _from_paths(entries: Sequence[str]) -> Taxonomy:
    """Name each node by its path, as the rows do."""
    parents: dict[str, str | None] = {}
    n_characters = 0
    for entry in entries:
        name: str | None = entry if entry != NO_LABELS else None
        while name is not None and name not in parents:
            n_characters += len(name)
            if n_characters > MOST_NAME_CHARACTERS:
                raise TaxonomyError("the paths are too deep; their inner nodes' names do not fit into memory.")
            parents[name] = name.rpartition("/")[0] or None
            name = parents[name]
    return Taxonomy.from_parents(parents)


def _from_edges(entries: Sequence[str], on_cycle: str) -> Taxonomy:
    links = construction.Links()
    edges = []
    for entry in entries:
        parent, slash, child = entry.partition("/")
        if not slash or "/" in child:
            raise TaxonomyError(f"wanted edges 'parent/child', got {entry[:60]!r}; is this a tree of paths?")
        if child == ROOT:
            raise TaxonomyError(f"{entry[:60]!r} puts {ROOT!r} below a node; it stands above all of them.")
        if parent == ROOT:
            links.node(child)
        else:
            edges.append((parent, child))
    where = lambda k: f"edge {'/'.join(edges[k])!r}"  # noqa: E731
    return Taxonomy(construction.from_edges(edges, on_cycle=on_cycle, links=links, where=where))


def list_hierarchy(taxonomy: Taxonomy, hierarchy: Hierarchy) -> tuple[list[str], list[str]]:
    """Return the entries of a hierarchical attribute, and the label by which rows name each node.

    Examples
    --------
    >>> list_hierarchy(Taxonomy.from_paths(["a/b"]), "auto")
    (['root/a', 'a/b'], ['a', 'b'])
    >>> list_hierarchy(Taxonomy.from_paths(["a/b"]), "tree")
    (['a', 'a/b'], ['a', 'a/b'])
    """
    is_dag, names = taxonomy.kind == "dag", taxonomy.names
    if hierarchy == "tree" and is_dag:
        raise DatasetError("write_arff_hmc: a DAG has no paths to name its nodes by; write it with hierarchy='dag'.")
    has_slashes = any("/" in name for name in names)
    if is_dag or hierarchy == "dag" or (hierarchy == "auto" and taxonomy.depth[-1] > 0 and not has_slashes):
        return _list_edges(taxonomy), list(names)
    heads = ["" if p < 0 else names[p] + "/" for p in taxonomy.parent.tolist()]
    if all(name.startswith(head) and "/" not in name[len(head) :] for name, head in zip(names, heads, strict=True)):
        paths = [head + _check_name(name[len(head) :]) for name, head in zip(names, heads, strict=True)]
    else:
        paths = ["/".join(map(_check_name, taxonomy.path_parts(v))) for v in range(taxonomy.n_nodes)]
    return paths, paths


def _list_edges(taxonomy: Taxonomy) -> list[str]:
    """Return ``parent/child`` for each edge, and ``root/child`` for each root; nodes come in order of their ids."""
    names = [_check_name(name) for name in taxonomy.names]
    if ROOT in taxonomy:
        raise DatasetError(
            f"write_arff_hmc: the node {ROOT!r} would be lost among edges, where that name stands above all nodes; "
            "rename it, or write a tree with hierarchy='tree'."
        )
    parents = taxonomy.parents
    entries: list[str] = []
    for v, name in enumerate(names):
        above = [names[p] for p in parents.indices[parents.indptr[v] : parents.indptr[v + 1]].tolist()]
        entries.extend(f"{parent}/{name}" for parent in above or [ROOT])
    return entries


def _check_name(name: str) -> str:
    """Return a name if the format can hold it."""
    is_odd = any(c in _SPECIAL or c < " " or "\ud800" <= c <= "\udfff" for c in name)
    if is_odd or not name or name[0] in "'\"\ufeff" or name == NO_LABELS or name != name.strip(BLANKS):
        raise DatasetError(
            f"write_arff_hmc: the format cannot hold the name {name!r}: it is empty or '?', has one of "
            f"{' '.join(_SPECIAL)}, a control character or a blank at an end, or begins with a quote or a byte order "
            "mark."
        )
    return name
