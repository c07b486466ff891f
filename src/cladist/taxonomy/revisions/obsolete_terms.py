"""The obsolete terms of an OBO file as a crosswalk: ``replaced_by``, ``consider`` and ``alt_id``."""

from __future__ import annotations

from cladist.errors import TaxonomyError
from cladist.taxonomy.formats.ontology import iterate_stanzas
from cladist.taxonomy.revisions.entries import Entry

CONSIDERED = 0.5  # confidence in a term that the editors only suggest to consider


def parse_obsolete(text: str) -> list[Entry]:
    """Return what became of obsolete and of merged terms; the other terms did not change and have no entry."""
    entries: dict[tuple[str, str | None], Entry] = {}

    def add(old: str, new: str | None, confidence: float, evidence: str) -> None:
        if old != new:
            entries.setdefault((old, new), Entry(old, new, "one-to-one", confidence, evidence))

    n_terms = 0
    for start, fields in iterate_stanzas(text):
        n_terms += 1
        (term,) = fields.get("id", ("",))[:1]
        if not term or not all(fields.get("replaced_by", ()) or ("x",)):
            raise TaxonomyError(f"line {start}: a term has one id, and its replacements have ids.", line=start)
        for merged in filter(None, fields.get("alt_id", ())):
            add(merged, term, 1.0, "alt_id")
        if fields.get("is_obsolete") == ["true"]:
            replaced = fields.get("replaced_by", [])
            considered = [] if replaced else [name for name in fields.get("consider", []) if name]
            for name in replaced:
                add(term, name, 1.0, "replaced_by")
            for name in considered:
                add(term, name, CONSIDERED, "consider")
            if not replaced and not considered:
                add(term, None, 1.0, "is_obsolete")
    if not n_terms:
        raise TaxonomyError("There is no term: a stanza [Term] with an id.")
    with_new = {old for old, new in entries if new is not None}
    return [entry for (old, new), entry in entries.items() if new is not None or old not in with_new]
