"""What a hierarchical attribute lists, paths of a tree or edges of a DAG, made a taxonomy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cladist.datasets.formats.arff.header import BLANKS, MOST_NAME_CHARACTERS
from cladist.errors import DatasetError, TaxonomyError
from cladist.taxonomy import Taxonomy, construction

Hierarchy = Literal["auto", "tree", "dag"]

ROOT = "root"  # in a list of edges: what stands above the real roots, and is no node
NO_LABELS = "?"
MOST_ENTRIES = 2**20


def read_hierarchy(listed: str, hierarchy: Hierarchy, on_cycle: str, place: str) -> Taxonomy:
    """Build the taxonomy that a list of paths or edges describes.

    "auto": edges, if each entry has one ``/`` and one of them has the parent ``root``.

    Examples
    --------
    >>> read_hierarchy("1,1/2,3/4", "auto", "error", "a.arff, line 3").names
    ('1', '3', '1/2', '3/4')
    >>> read_hierarchy("root/a,root/b,a/c", "auto", "error", "a.arff, line 3").names
    ('a', 'b', 'c')
    """
    if listed.count(",") >= MOST_ENTRIES:
        raise DatasetError(f"{place}: the hierarchical attribute lists more than {MOST_ENTRIES:,} entries.")
    entries = [entry.strip(BLANKS) for entry in listed.split(",")]
    for entry in entries:
        if not entry or entry.startswith("/") or entry.endswith("/") or "//" in entry:
            raise DatasetError(
                f"{place}: the hierarchical attribute lists {entry[:60]!r}; wanted paths such as 'a/b' or edges "
                "'parent/child', joined by single commas, without empty parts."
            )
    are_edges = hierarchy == "dag" or (
        hierarchy == "auto"
        and all(entry.count("/") == 1 for entry in entries)
        and any(entry.startswith(f"{ROOT}/") for entry in entries)
    )
    try:
        return _from_edges(entries, on_cycle, place) if are_edges else _from_paths(entries, place)
    except TaxonomyError as problem:
        raise DatasetError(f"{place}: {problem}") from problem


def _from_paths(entries: Sequence[str], place: str) -> Taxonomy:
    """Name each node by its path, as the rows do."""
    parents: dict[str, str | None] = {}
    n_characters = 0
    for entry in entries:
        name: str | None = entry if entry != NO_LABELS else None
        while name is not None and name not in parents:
            n_characters += len(name)
            if n_characters > MOST_NAME_CHARACTERS:
                raise DatasetError(f"{place}: the paths are too deep; their inner nodes' names do not fit into memory.")
            above, slash, _ = name.rpartition("/")
            parents[name] = above if slash else None
            name = parents[name]
    return Taxonomy.from_parents(parents)


def _from_edges(entries: Sequence[str], on_cycle: str, place: str) -> Taxonomy:
    links = construction.Links()
    edges = []
    for entry in entries:
        parent, slash, child = entry.partition("/")
        if not slash or "/" in child:
            raise DatasetError(f"{place}: wanted edges 'parent/child', got {entry[:60]!r}; is this a tree of paths?")
        if child == ROOT:
            raise DatasetError(f"{place}: {entry[:60]!r} puts {ROOT!r} below a node; it stands above all of them.")
        if parent == ROOT:
            links.node(child)
        else:
            edges.append((parent, child))
    where = lambda k: f"edge {'/'.join(edges[k])!r}"  # noqa: E731
    return Taxonomy(construction.from_edges(edges, on_cycle=on_cycle, links=links, where=where))
