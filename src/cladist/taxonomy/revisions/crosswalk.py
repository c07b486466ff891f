"""`Crosswalk`: which nodes of a new taxonomy hold what a node of an old one held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from cladist.errors import TaxonomyError, quoted
from cladist.files import Source
from cladist.taxonomy.revisions.entries import KINDS, Entry, Kind, as_entries, own_kind

if TYPE_CHECKING:
    from cladist.taxonomy.revisions.faults import Fault
    from cladist.taxonomy.taxonomy import Taxonomy

MOST_LINES = 40  # of a drawing, about a screen


class Crosswalk:
    """A relation between the nodes of an old and of a new taxonomy, many to many.

    It is frozen and equal by its entries. The kinds split, merge, retire and new follow from the entries themselves; a
    pair that stands alone is one-to-one, a move (to another parent) or a rename (of its name or title).

    Parameters
    ----------
    entries : iterable of Entry, of pairs (old, new), or mapping of old to new
        The pairs of nodes; a node without a counterpart is paired with None. A pair may go on with kind, confidence
        (from 0 to 1) and evidence. A mapping may have lists of new nodes.
    old, new : Taxonomy, optional
        The two taxonomies; `candidates`, `completed` and all of `check` need them.

    Attributes
    ----------
    entries : tuple of Entry
        The entries, in their order.
    old, new : Taxonomy or None
        The two taxonomies.

    Examples
    --------
    >>> crosswalk = Crosswalk({"tennis": "tennis", "film": ["film", "series"], "fax": None})
    >>> crosswalk
    Crosswalk(3 old nodes → 3 new nodes: 1 one-to-one, 2 split, 1 retire)
    >>> crosswalk.targets("film"), crosswalk.kind("film")
    (('film', 'series'), 'split')
    >>> print(crosswalk)
    split   film → film
                 → series
    retire  fax → nothing
    1 node of 3 is unchanged
    """

    entries: tuple[Entry, ...]
    old: Taxonomy | None
    new: Taxonomy | None

    def __init__(self, entries: Iterable[Any], *, old: Taxonomy | None = None, new: Taxonomy | None = None) -> None:
        self.__dict__.update(entries=as_entries(entries), old=old, new=new)

    @classmethod
    def read(
        cls,
        path: Source,
        *,
        old: Taxonomy | None = None,
        new: Taxonomy | None = None,
        columns: tuple[str, str] | None = None,
    ) -> Crosswalk:
        r"""Read a crosswalk from a file.

        Parameters
        ----------
        path : path or binary stream
            CSV, TSV or a workbook: our columns ``old`` and ``new``, and perhaps ``kind``, ``confidence`` and
            ``evidence``, or a correspondence table as offices publish them (NACE, ISIC, ISCO, NAICS, SOC, ICD-10-CM).
            A SKOS file (.ttl, .rdf, .jsonld) gives its mappings, an OBO file what became of obsolete terms.
        old, new : Taxonomy, optional
            The two taxonomies. With them, codes that a spreadsheet has written differently are found: without leading
            zeros, or without dots.
        columns : pair of str, optional
            The columns of the old and of the new codes, where the header does not tell.

        Examples
        --------
        >>> import io
        >>> Crosswalk.read(io.BytesIO(b"old,new\nfilm,film\nfilm,series\n")).targets("film")
        ('film', 'series')
        """
        from cladist.taxonomy.revisions.reader import read_entries

        return cls(read_entries(path, old, new, columns=columns), old=old, new=new)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the entries as CSV, as TSV or as SKOS mappings (.ttl, .rdf, .jsonld), as the name ends.

        An ending .gz, .xz or .bz2 compresses the file. SKOS has no word for new nodes, and does not keep evidence.
        """
        from cladist.taxonomy.revisions.tables import write_crosswalk

        write_crosswalk(self.entries, path)

    # ------------------------------------------------------------------ questions

    def targets(self, old_name: str) -> tuple[str, ...]:
        """Return the new nodes that hold what an old node held; none if it is retired."""
        return tuple(entry.new for entry in self.entries_of(old_name) if entry.new is not None)

    def sources(self, new_name: str) -> tuple[str, ...]:
        """Return the old nodes whose content a new node holds; none if it is new."""
        if new_name not in self._by_new:
            raise TaxonomyError(f"The crosswalk has no new node {quoted(new_name)}.")
        return tuple(entry.old for entry in self._by_new[new_name] if entry.old is not None)

    def entries_of(self, old_name: str) -> tuple[Entry, ...]:
        """Return the entries of an old node."""
        if old_name not in self._by_old:
            raise TaxonomyError(f"The crosswalk has no old node {quoted(old_name)}.")
        return self._by_old[old_name]

    def kind(self, old_name: str | None = None, new_name: str | None = None) -> Kind:
        """Return what became of an old node, how a new node came about, or the kind of the entry between two nodes.

        Examples
        --------
        >>> crosswalk = Crosswalk([("a", "c"), ("b", "c"), (None, "d")])
        >>> crosswalk.kind("a"), crosswalk.kind(new_name="d"), crosswalk.kind("b", "c")
        ('merge', 'new', 'merge')
        """
        if old_name is None and new_name is None:
            raise TaxonomyError("Crosswalk.kind needs an old node, a new node or both.")
        if old_name is None:
            self.sources(str(new_name))
            return self._by_new[str(new_name)][0].kind
        entries = self.entries_of(old_name)
        if new_name is None:
            return entries[0].kind
        found = next((entry for entry in entries if entry.new == new_name), None)
        if found is None:
            raise TaxonomyError(f"The crosswalk has no entry from {quoted(old_name)} to {quoted(new_name)}.")
        return found.kind

    def candidates(self, old_name: str) -> tuple[str, ...]:
        """Return the leaves of the new taxonomy that a row of an old node may belong to.

        An inner node among the targets stands for the leaves below it.
        """
        if self.new is None:
            raise TaxonomyError("Crosswalk.candidates needs the new taxonomy; give it as Crosswalk(…, new=taxonomy).")
        if old_name not in self._candidates:
            leaves: dict[str, None] = {}
            for target in self.targets(old_name):
                v = self.new.index(target)
                below = [v] if self.new.is_leaf[v] else [u for u in self.new.ids_below(v) if self.new.is_leaf[u]]
                leaves.update(dict.fromkeys(self.new.names[u] for u in below))
            self._candidates[old_name] = tuple(leaves)
        return self._candidates[old_name]

    @cached_property
    def _candidates(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def _by_old(self) -> dict[str, tuple[Entry, ...]]:
        return _group((entry.old, entry) for entry in self.entries)

    @cached_property
    def _by_new(self) -> dict[str, tuple[Entry, ...]]:
        return _group((entry.new, entry) for entry in self.entries)

    @property
    def old_names(self) -> tuple[str, ...]:
        """The old nodes of the entries, each once."""
        return tuple(self._by_old)

    @property
    def new_names(self) -> tuple[str, ...]:
        """The new nodes of the entries, each once."""
        return tuple(self._by_new)

    @cached_property
    def counts(self) -> dict[Kind, int]:
        """The number of entries of each kind that occurs."""
        counts = Counter(entry.kind for entry in self.entries)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}

    # ------------------------------------------------------------------ other crosswalks

    def compose(self, after: Crosswalk) -> Crosswalk:
        """Return the crosswalk over two revisions: this one, then another from its new taxonomy on.

        The confidence of a pair is the product along its best way. A node that the other crosswalk does not name is an
        error; `completed` adds those that it leaves out because they did not change.

        Examples
        --------
        >>> first, second = Crosswalk({"a": ["b", "c"]}), Crosswalk({"b": "b", "c": "d"})
        >>> first.compose(second).targets("a")
        ('b', 'd')
        """
        from cladist.taxonomy.revisions.composition import compose

        return Crosswalk(compose(self, after), old=self.old, new=after.new)

    def invert(self) -> Crosswalk:
        """Return the crosswalk from the new taxonomy back to the old one.

        Examples
        --------
        >>> Crosswalk({"film": ["film", "series"]}).invert()
        Crosswalk(2 old nodes → 1 new node: 2 merge)
        """
        turned = [Entry(e.new, e.old, own_kind(e), e.confidence, e.evidence) for e in self.entries]
        return Crosswalk(turned, old=self.new, new=self.old)

    def completed(self) -> Crosswalk:
        """Return the crosswalk with the nodes it does not name: one-to-one where both taxonomies have the name.

        A table of changes names only nodes that changed. Other old nodes are added as retired, and other new nodes as
        new, unless nodes below them have entries.
        """
        from cladist.taxonomy.revisions.composition import missing_entries

        return Crosswalk([*self.entries, *missing_entries(self)], old=self.old, new=self.new)

    def check(self) -> tuple[Fault, ...]:
        """Return what is wrong or doubtful: names that a taxonomy does not have, nodes without an entry, doubts.

        Examples
        --------
        >>> from cladist import Taxonomy
        >>> tree = Taxonomy.from_parents({"a": None, "b": "a"})
        >>> for fault in Crosswalk({"a": "a", "b": "c"}, old=tree, new=tree).check():
        ...     print(fault)
        unknown-new: 1 new node of the crosswalk is not in the new taxonomy: 'c'.
        missing-new: 1 leaf of the new taxonomy has no entry, so no row can reach it: 'b'.
        """
        from cladist.taxonomy.revisions.faults import find_faults

        return find_faults(self)

    # ------------------------------------------------------------------ as a Python object

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, old_name: object) -> bool:
        return old_name in self._by_old

    def __eq__(self, other: object) -> bool:
        return self.entries == other.entries if isinstance(other, Crosswalk) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.entries)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A Crosswalk is frozen: {name!r} cannot be set; build another one.")

    def __repr__(self) -> str:
        n_old, n_new = len(self._by_old), len(self._by_new)
        counts = ", ".join(f"{count:,} {kind}" for kind, count in self.counts.items())
        sizes = f"{n_old:,} old node{'s' * (n_old != 1)} → {n_new:,} new node{'s' * (n_new != 1)}"
        return f"Crosswalk({sizes}: {counts or 'no entries'})"

    def __str__(self) -> str:
        return self.draw()

    def draw(self, *, most_lines: int = MOST_LINES) -> str:
        """Return the entries that change something as text, an entry per line, cut where it is long."""
        from cladist.taxonomy.revisions.sketch import draw

        return draw(self, most_lines=most_lines)


def _group(pairs: Iterable[tuple[str | None, Entry]]) -> dict[str, tuple[Entry, ...]]:
    groups: dict[str, list[Entry]] = {}
    for name, entry in pairs:
        if name is not None:
            groups.setdefault(name, []).append(entry)
    return {name: tuple(entries) for name, entries in groups.items()}
