"""SKOS mappings between two vocabularies as a crosswalk, and a crosswalk as SKOS mappings.

An exact or a close match is one node, a narrower match is part of the old node, and a broader match holds the old node
and more. Related concepts are no counterparts; they count only for a concept that has no other mapping.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cladist.errors import TaxonomyError
from cladist.taxonomy.formats.rdf import import_rdflib, parse_graph
from cladist.taxonomy.formats.skos import CORE, concept_address, local_name, serialise
from cladist.taxonomy.revisions.entries import Entry, without_contradictions

if TYPE_CHECKING:
    from cladist.taxonomy.taxonomy import Taxonomy

# Confidences: SKOS says that a close match is good for some applications, and that a related one is no match at all.
CONFIDENCE = {"exactMatch": 1.0, "closeMatch": 0.9, "narrowMatch": 1.0, "broadMatch": 1.0, "relatedMatch": 0.3}


def parse_mappings(text: str, format: str, old: Taxonomy | None, new: Taxonomy | None) -> list[Entry]:  # noqa: A002
    """Return the mappings of a file; they lead from the old taxonomy to the new one, whichever way they are written."""
    rdflib = import_rdflib("Reading SKOS mappings")
    graph = parse_graph(text, format)
    found: dict[tuple[str, str], Entry] = {}
    for match, sure in CONFIDENCE.items():
        for one, other in sorted(graph.subject_objects(rdflib.URIRef(CORE + match))):
            if isinstance(other, rdflib.Literal):
                continue
            pair = _name(graph, rdflib, one), _name(graph, rdflib, other)
            turned = _is_turned(pair, old, new)
            start, end = reversed(pair) if turned else pair
            if match == "relatedMatch" and any(start == entry.old for entry in found.values()):
                continue
            evidence = f"skos:{match}" + (" of the new concept" if turned else "")
            found.setdefault((start, end), Entry(start, end, "one-to-one", sure, evidence))
    gone = graph.subjects(rdflib.OWL.deprecated, None)
    retired = [Entry(_name(graph, rdflib, one), None, "retire", 1.0, "owl:deprecated") for one in sorted(gone)]
    if not found and not retired:
        raise TaxonomyError("There are no mappings such as skos:exactMatch.")
    return without_contradictions([*found.values(), *{entry.old: entry for entry in retired}.values()])


def _name(graph: Any, rdflib: Any, concept: Any) -> str:
    """Return the notation of a concept, or the end of its address."""
    notations = sorted(map(str, graph.objects(concept, rdflib.URIRef(CORE + "notation"))))
    return next((text for text in notations if text.strip()), None) or local_name(str(concept))


def _is_turned(pair: tuple[str, str], old: Taxonomy | None, new: Taxonomy | None) -> bool:
    """Tell whether a mapping leads from the new taxonomy to the old one."""
    one, other = pair
    fits = (old is None or one in old) and (new is None or other in new)
    return not fits and (old is None or other in old) and (new is None or one in new)


def format_mappings(entries: Iterable[Entry], format: str) -> str:  # noqa: A002
    """Return entries as SKOS mappings; nodes that are new have none, and those that are retired are deprecated."""
    rdflib = import_rdflib("Writing SKOS mappings")
    core, graph = rdflib.Namespace(CORE), rdflib.Graph()
    graph.bind("skos", core)
    named: dict[tuple[str, str], Any] = {}

    def concept(side: str, name: str) -> Any:
        if (side, name) not in named:
            address = named[side, name] = concept_address(rdflib, name, f"{side}:")
            graph.add((address, core.notation, rdflib.Literal(name)))
        return named[side, name]

    for entry in entries:
        if entry.old is None:
            continue
        start = concept("old", entry.old)
        if entry.new is None:
            graph.add((start, rdflib.OWL.deprecated, rdflib.Literal(True)))
            continue
        match = {"split": "narrowMatch", "merge": "broadMatch"}.get(entry.kind, "exactMatch")
        graph.add((start, core["closeMatch" if entry.confidence < 1 and match == "exactMatch" else match],
                   concept("new", entry.new)))  # fmt: skip
    return serialise(graph, format)
