"""Read crosswalks of every format, with names as the two taxonomies have them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cladist.errors import TaxonomyError
from cladist.files import Source, data_suffix, display_name, name_source, read_text
from cladist.taxonomy.formats.rdf import FORMATS
from cladist.taxonomy.revisions.entries import Entry
from cladist.taxonomy.revisions.tables import read_crosswalk

if TYPE_CHECKING:
    from cladist.taxonomy.taxonomy import Taxonomy


def read_entries(
    path: Source, old: Taxonomy | None, new: Taxonomy | None, *, columns: tuple[str, str] | None = None
) -> list[Entry]:
    """Return the entries of a file of any format."""
    ending = data_suffix(path)
    if ending == ".obo":
        from cladist.taxonomy.revisions.obsolete_terms import parse_obsolete

        if columns is not None:
            raise TaxonomyError(f"{display_name(path)}: columns are those of tables; an OBO file has none.")
        text = read_text(path, error=TaxonomyError)
        with name_source(path):
            return parse_obsolete(text)
    if ending in FORMATS:
        from cladist.taxonomy.revisions.mappings import parse_mappings

        text = read_text(path, error=TaxonomyError)
        with name_source(path):
            return parse_mappings(text, FORMATS[ending], old, new)
    entries = read_crosswalk(path, columns=columns)
    spell_old, spell_new = Spelling(old), Spelling(new)
    return [replace(entry, old=spell_old(entry.old), new=spell_new(entry.new)) for entry in entries]


class Spelling:
    """Finds the name of a taxonomy that a spreadsheet has written differently: without leading zeros or dots."""

    def __init__(self, taxonomy: Taxonomy | None) -> None:
        self.taxonomy = taxonomy
        self.without_dots: dict[str, str | None] = {}
        self.lengths: list[int] = []
        if taxonomy is None:
            return
        self.lengths = sorted({len(name) for name in taxonomy.names if name.isdecimal()})
        for name in taxonomy.names:
            plain = name.replace(".", "")
            self.without_dots[plain] = None if plain in self.without_dots else name

    def __call__(self, name: str | None) -> str | None:
        """Return the name in the taxonomy, or as it stands if there is none, or no single one."""
        if name is None or self.taxonomy is None or name in self.taxonomy:
            return name
        padded = {name.zfill(length) for length in self.lengths} if name.isdecimal() else set()
        found = [text for text in sorted(padded) if text in self.taxonomy]
        if "." not in name and (dotted := self.without_dots.get(name)) is not None:
            found.append(dotted)
        return found[0] if len(found) == 1 else name
