"""Read tree files of the Medical Subject Headings (MeSH) as a taxonomy of tree numbers or of descriptors."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from cladist.errors import TaxonomyError, one_of
from cladist.taxonomy import construction
from cladist.taxonomy.formats.reader import all_lines, iterate_lines
from cladist.taxonomy.taxonomy import Taxonomy

NODES = ("descriptors", "numbers", "first-number")
Nodes = Literal["descriptors", "numbers", "first-number"]

_NUMBER = re.compile(r"[A-Z][0-9]{1,3}(?:\.[0-9]{1,4}){0,63}")  # MeSH has had up to thirteen levels


def mesh_taxonomy(
    text: str,
    *,
    nodes: Nodes = "descriptors",
    below: str | None = None,
    on_cycle: Literal["error", "drop"] = "error",
) -> Taxonomy:
    r"""Build a taxonomy from the text of a MeSH tree file, ``descriptor;tree number`` per line.

    A descriptor may have several tree numbers, each a place in the hierarchy.

    Parameters
    ----------
    text : str
        The content of a file such as ``mtrees2005.bin``.
    nodes : {"descriptors", "numbers", "first-number"}
        "descriptors": a descriptor is one node below all its parents, which makes a DAG.
        "numbers": a tree number is a node, its descriptor the node's title; a forest.
        "first-number": a descriptor is one node, where its lowest tree number puts it; a forest.
    below : str, optional
        A descriptor or a tree number: only this node and the nodes below it. Of a descriptor with several numbers, the
        nodes below any of them; with "descriptors", the nodes that any path reaches.
    on_cycle : {"error", "drop"}
        Descriptors may form cycles. "drop" leaves out each edge that closes one, level by level from the roots, and
        lists it in `dropped_edges`.

    Examples
    --------
    >>> text = "Health Care;N01\nQuality;N01.1\nAudit;N01.1.5\nMethods;N02\nAudit;N02.7\n"
    >>> mesh_taxonomy(text, nodes="numbers").names
    ('N01', 'N02', 'N01.1', 'N02.7', 'N01.1.5')
    >>> mesh_taxonomy(text, nodes="first-number").path("Audit")
    ['Health Care', 'Quality', 'Audit']
    >>> mesh_taxonomy(text, below="Quality").names
    ('Quality', 'Audit')
    """
    one_of("mesh_taxonomy", "nodes", nodes, NODES)
    one_of("mesh_taxonomy", "on_cycle", on_cycle, ("error", "drop"))
    mesh = _Mesh.parse(text)
    if nodes == "descriptors":
        return mesh.build_dag(below, on_cycle)
    if nodes == "first-number":
        return mesh.build_forest(below)
    return Taxonomy.from_parents(mesh.choose_numbers(below), titles=mesh.descriptor)


def are_mesh_lines(text: str) -> bool:
    """Tell whether every line is a descriptor and a tree number."""
    return ";" in text and all_lines(text, lambda line: bool(_NUMBER.fullmatch(line.rpartition(";")[2])))


@dataclass
class _Mesh:
    """The lines of a tree file by tree number: its descriptor, its line and the numbers below it.

    Numbers are in order, a parent before its children; so are the `places` of a descriptor.
    """

    descriptor: dict[str, str] = field(default_factory=dict)
    line: dict[str, int] = field(default_factory=dict)
    below: dict[str, list[str]] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> _Mesh:
        """Read the text of a tree file."""
        entries: dict[str, tuple[str, int]] = {}
        for line, content in iterate_lines(text.removeprefix("\ufeff")):
            descriptor, number = (part.strip() for part in content.rpartition(";")[::2])
            if not descriptor or not _NUMBER.fullmatch(number):
                shown = repr(content) if len(content) < 80 else repr(content[:76]) + "…"
                raise TaxonomyError(
                    f"line {line}: 'descriptor;tree number' is wanted, as 'Abdomen;A01.047'; got {shown}."
                )
            if number in entries:
                before = entries[number][1]
                raise TaxonomyError(f"line {line}: the tree number {number} stands on line {before} already.")
            entries[number] = descriptor, line
        if not entries:
            raise TaxonomyError("A MeSH tree file has lines 'descriptor;tree number'; there are none.")
        mesh = cls()
        for number in sorted(entries, key=lambda number: number.split(".")):
            mesh._add(number, *entries[number])
        return mesh

    def _add(self, number: str, descriptor: str, line: int) -> None:
        parent = above = _parent_number(number)
        while above and above not in self.descriptor:
            above = _parent_number(above)
        if above and above != parent:  # a part of a file may start anywhere, but is complete below
            raise TaxonomyError(f"line {line}: {number} is below {above}, but {parent} between them is missing.")
        self.descriptor[number], self.line[number] = descriptor, line
        self.below.setdefault(above, []).append(number)
        self.places.setdefault(descriptor, []).append(number)

    def find_tops(self, below: str | None) -> list[str]:
        """Return the topmost tree numbers: those of a descriptor, the number itself, or all roots of the file."""
        if below is None:
            return self.below[""]
        if below not in self.places and below not in self.descriptor:
            raise TaxonomyError(f"below={below!r}: there is no such descriptor or tree number in the MeSH tree file.")
        return self.places.get(below, [below])

    def choose_numbers(self, below: str | None) -> dict[str, str | None]:
        """Return the chosen tree numbers in order, each with its parent if that is chosen too."""
        tops = set(self.find_tops(below))
        parents: dict[str, str | None] = {}
        for number in self.descriptor:
            parent = _parent_number(number)
            if parent in parents or number in tops:
                parents[number] = parent if parent in parents else None
        return parents

    def build_forest(self, below: str | None) -> Taxonomy:
        """Place each descriptor at the lowest of its chosen numbers; the lowest number of its parent is lower still."""
        parents: dict[str, str | None] = {}
        for number, parent in self.choose_numbers(below).items():
            parents.setdefault(self.descriptor[number], None if parent is None else self.descriptor[parent])
        return Taxonomy.from_parents(parents)

    def build_dag(self, below: str | None, on_cycle: str) -> Taxonomy:
        """Make each descriptor one node.

        Edges are added level by level from the roots, so that the first edge to a descriptor never closes a cycle:
        whatever is dropped, every node stays below a root.
        """
        order = dict.fromkeys(self.descriptor[top] for top in self.find_tops(below))
        queue, links = deque(order), construction.Links()
        edges: list[tuple[str, str]] = []
        lines: list[int] = []
        while queue:
            parent = queue.popleft()
            links.node(parent)
            for number in [child for place in self.places[parent] for child in self.below.get(place, ())]:
                child = self.descriptor[number]
                edges.append((parent, child))
                lines.append(self.line[number])
                if child not in order:
                    order[child] = None
                    queue.append(child)
        return Taxonomy(
            construction.from_edges(edges, on_cycle=on_cycle, links=links, where=lambda k: f"line {lines[k]}")
        )


def _parent_number(number: str) -> str:
    return number.rpartition(".")[0]
