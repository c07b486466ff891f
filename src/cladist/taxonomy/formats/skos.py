"""SKOS vocabularies as taxonomies, and taxonomies as SKOS: Turtle, RDF/XML and JSON-LD, by rdflib, an extra.

A concept is below its broader ones, so that a polyhierarchy makes a DAG. It is named by its notation where all concepts
have one of their own, or else by the end of its address where that is unique. ``skos:prefLabel`` is its title,
``skos:altLabel`` its synonyms, ``skos:definition`` (or a scope note) its description, each in one language.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from cladist.errors import TaxonomyError, TaxonomyWarning, quoted, shorten
from cladist.taxonomy.construction import Links
from cladist.taxonomy.formats.rdf import SERIALISERS, import_rdflib, parse_graph, quiet_rdflib
from cladist.taxonomy.taxonomy import Taxonomy

CORE, XL = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2008/05/skos-xl#"
MOST_SHOWN = 3
SCHEME = "urn:taxonomy"
_NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Vocabulary:
    """A graph, its concepts in order, their names, and the language of the texts that are read."""

    graph: Any
    concepts: list[Any]
    names: dict[Any, str]
    lang: str | None

    @classmethod
    def of(cls, graph: Any, *, scheme: str | None = None, lang: str | None = None) -> Vocabulary:
        """Return the concepts of a graph, or of one scheme in it."""
        concepts = find_concepts(graph, scheme)
        found = main_language(graph, concepts) if lang is None else lang
        return cls(graph, concepts, name_concepts(graph, concepts), found)

    def texts(self, concept: Any, *properties: str) -> list[str]:
        """Return the texts of some properties of a concept in the language, those without a language if it has none."""
        literals = [value for name in properties for value in self._literals(concept, name)]
        of_lang = [str(value) for value in literals if _is_of(value, self.lang)]
        chosen = of_lang or [str(value) for value in literals if not getattr(value, "language", None)]
        return list(dict.fromkeys(text for text in sorted(chosen) if text.strip()))

    def _literals(self, concept: Any, name: str) -> Iterator[Any]:
        rdflib = import_rdflib("Reading SKOS")
        yield from (v for v in self.graph.objects(concept, rdflib.URIRef(CORE + name)) if isinstance(v, rdflib.Literal))
        for label in self.graph.objects(concept, rdflib.URIRef(XL + name)):
            yield from self.graph.objects(label, rdflib.URIRef(XL + "literalForm"))


def _is_of(value: Any, lang: str | None) -> bool:
    """Tell whether a literal is of a language; en is also en-GB."""
    own = getattr(value, "language", None)
    if lang is None:
        return own is None
    return own is not None and (own.lower() == lang.lower() or own.lower().startswith(f"{lang.lower()}-"))


def find_concepts(graph: Any, scheme: str | None) -> list[Any]:
    """Return the concepts of a graph in the order of their addresses, or those of one scheme."""
    rdflib = import_rdflib("Reading SKOS")
    core = rdflib.Namespace(CORE)
    concepts = set(graph.subjects(rdflib.RDF.type, core.Concept))
    for term in (core.broader, core.narrower):
        for one, other in graph.subject_objects(term):
            concepts |= {one, other}
    concepts |= set(graph.subjects(core.topConceptOf, None)) | set(graph.objects(None, core.hasTopConcept))
    concepts = {concept for concept in concepts if not isinstance(concept, rdflib.Literal)}
    if not concepts:
        raise TaxonomyError("There is no skos:Concept.")
    if scheme is not None:
        chosen = _find_scheme(graph, scheme)
        concepts = {
            concept
            for concept in concepts
            if (concept, core.inScheme, chosen) in graph
            or (concept, core.topConceptOf, chosen) in graph
            or (chosen, core.hasTopConcept, concept) in graph
        }
        if not concepts:
            raise TaxonomyError(f"The scheme {quoted(scheme)} has no concepts.")
    return sorted(concepts, key=str)


def _find_scheme(graph: Any, scheme: str) -> Any:
    """Return the scheme with an address, with its end, or with a title."""
    rdflib = import_rdflib("Reading SKOS")
    core = rdflib.Namespace(CORE)
    schemes = {*graph.subjects(rdflib.RDF.type, core.ConceptScheme), *graph.objects(None, core.inScheme)}
    titles = (core.prefLabel, rdflib.RDFS.label, rdflib.DCTERMS.title, rdflib.DC.title)
    for one in sorted(schemes, key=str):
        own = {str(title) for term in titles for title in graph.objects(one, term)}
        if scheme in {str(one), local_name(str(one)), *own}:
            return one
    known = ", ".join(sorted(quoted(one) for one in schemes)[:10]) or "none"
    raise TaxonomyError(f"There is no scheme {quoted(scheme)}; there are {known}.")


def main_language(graph: Any, concepts: Iterable[Any]) -> str | None:
    """Return the language that most concepts have a title in, English before others; None: titles have none."""
    rdflib = import_rdflib("Reading SKOS")
    counts: Counter[str | None] = Counter()
    for concept in concepts:
        labels = list(graph.objects(concept, rdflib.URIRef(CORE + "prefLabel")))
        for label in graph.objects(concept, rdflib.URIRef(XL + "prefLabel")):
            labels += graph.objects(label, rdflib.URIRef(XL + "literalForm"))
        counts.update({(getattr(label, "language", None) or "").split("-")[0].lower() or None for label in labels})
    if not counts:
        return None
    return max(counts, key=lambda lang: (counts[lang], lang == "en", lang is None, lang or ""))


def local_name(address: str) -> str:
    """Return the end of an address, behind its last #, / or :."""
    plain = address.rstrip("/#")
    end = max(plain.rfind(mark) for mark in "#/:") + 1
    return unquote(plain[end:]) or address


def name_concepts(graph: Any, concepts: Sequence[Any]) -> dict[Any, str]:
    """Return the name of each concept: its notation, the end of its address, or the address."""
    rdflib = import_rdflib("Reading SKOS")
    notations = {c: sorted(map(str, graph.objects(c, rdflib.URIRef(CORE + "notation")))) for c in concepts}
    by_notation = {c: found[0] for c, found in notations.items() if found and found[0].strip()}
    if len(by_notation) == len(concepts) == len(set(by_notation.values())):
        return by_notation
    ends = {concept: local_name(str(concept)) for concept in concepts}
    return ends if len(set(ends.values())) == len(concepts) else {concept: str(concept) for concept in concepts}


def skos_taxonomy(
    text: str,
    format: str,  # noqa: A002
    *,
    on_cycle: str = "error",
    scheme: str | None = None,
    lang: str | None = None,
) -> Taxonomy:
    """Build a taxonomy from the text of a SKOS vocabulary."""
    rdflib = import_rdflib("Reading SKOS")
    vocabulary = Vocabulary.of(parse_graph(text, format), scheme=scheme, lang=lang)
    graph, names, core = vocabulary.graph, vocabulary.names, rdflib.Namespace(CORE)
    links = Links()
    order = sorted(vocabulary.concepts, key=lambda concept: names[concept])
    for concept in order:
        links.node(names[concept])
    for position, concept in enumerate(order, start=1):
        above = {*graph.objects(concept, core.broader), *graph.subjects(core.narrower, concept)}
        for parent in sorted(names[p] for p in above if p in names):
            links.link(parent, names[concept], position)
    draft = links.draft(on_cycle, lambda k: f"concept {quoted(names[order[k - 1]])}")
    titles, synonyms, descriptions = {}, {}, {}
    for concept in order:
        labels = vocabulary.texts(concept, "prefLabel")
        if labels:
            titles[names[concept]] = labels[0]
        synonyms[names[concept]] = [*labels[1:], *vocabulary.texts(concept, "altLabel")]
        for term in ("definition", "scopeNote"):
            if described := vocabulary.texts(concept, term):
                descriptions[names[concept]] = " ".join(described)
                break
    taxonomy = Taxonomy(draft.with_texts(titles, descriptions, synonyms))
    for sentence in find_faults(vocabulary, taxonomy):
        warnings.warn(sentence, TaxonomyWarning, stacklevel=3)
    return taxonomy


def find_faults(vocabulary: Vocabulary, taxonomy: Taxonomy) -> Iterator[str]:
    """Yield a sentence about each kind of fault that vocabularies of editors have."""
    rdflib = import_rdflib("Reading SKOS")
    graph, core = vocabulary.graph, rdflib.Namespace(CORE)
    tops = set(graph.subjects(core.topConceptOf, None)) | set(graph.objects(None, core.hasTopConcept))
    roots = {taxonomy.names[v] for v in taxonomy.roots}
    orphans = [vocabulary.names[c] for c in vocabulary.concepts if vocabulary.names[c] in roots and c not in tops]
    if tops and orphans:
        yield _sentence(orphans, "no broader concept and is no top concept of a scheme", "so it is a root of its own")
    declared = set(graph.subjects(rdflib.RDF.type, core.Concept))
    unknown = [vocabulary.names[c] for c in vocabulary.concepts if c not in declared]
    if declared and unknown:
        yield _sentence(unknown, "a place in the hierarchy, but is not declared as a concept", "so it may be misspelt")
    twice = [vocabulary.names[c] for c in vocabulary.concepts if len(vocabulary.texts(c, "prefLabel")) > 1]
    if twice:
        yield _sentence(twice, "several preferred labels in one language", "so the first is its title")


def _sentence(names: Sequence[str], what: str, so: str) -> str:
    shown = ", ".join(map(quoted, names[:MOST_SHOWN]))
    more = f" and {len(names) - MOST_SHOWN:,} more" if len(names) > MOST_SHOWN else ""
    return f"{len(names):,} concept{'s' * (len(names) != 1)}, each with {what}, {so}: {shown}{more}."


# ------------------------------------------------------------------ out


def format_skos(taxonomy: Taxonomy, format: str, *, lang: str | None = "en") -> str:  # noqa: A002
    """Return a taxonomy as the text of a SKOS vocabulary."""
    rdflib = import_rdflib("Writing SKOS")
    core, graph = rdflib.Namespace(CORE), rdflib.Graph()
    graph.bind("skos", core)
    scheme = rdflib.URIRef(SCHEME)
    graph.add((scheme, rdflib.RDF.type, core.ConceptScheme))
    address = {name: concept_address(rdflib, name) for name in taxonomy.names}
    titles, descriptions, synonyms = taxonomy.titles, taxonomy.descriptions, taxonomy.synonyms
    for name, concept in address.items():
        graph.add((concept, rdflib.RDF.type, core.Concept))
        graph.add((concept, core.inScheme, scheme))
        graph.add((concept, core.notation, rdflib.Literal(name)))
        if name in titles:
            graph.add((concept, core.prefLabel, rdflib.Literal(titles[name], lang=lang)))
        if name in descriptions:
            graph.add((concept, core.definition, rdflib.Literal(descriptions[name], lang=lang)))
        for synonym in synonyms.get(name, ()):
            graph.add((concept, core.altLabel, rdflib.Literal(synonym, lang=lang)))
    for v in taxonomy.roots:
        graph.add((address[taxonomy.names[v]], core.topConceptOf, scheme))
    for parent, child in taxonomy.edges():
        graph.add((address[child], core.broader, address[parent]))
    return serialise(graph, format)


def concept_address(rdflib: Any, name: str, side: str = "") -> Any:
    """Return the address of a concept of this name."""
    return rdflib.URIRef(f"{SCHEME}:{side}{quote(name, safe='')}")


def serialise(graph: Any, format: str) -> str:  # noqa: A002
    """Return the text of a graph; the same graph gives the same text."""
    if format == "rdfxml" and (bad := next((str(v) for v in graph.objects() if _NOT_IN_XML.search(str(v))), None)):
        raise TaxonomyError(f"RDF/XML cannot hold the text {quoted(bad)}; write .ttl or .jsonld instead.")
    with quiet_rdflib():
        settings: dict[str, Any] = {"sort_keys": True} if format == "jsonld" else {}
        try:
            text: str = graph.serialize(format=SERIALISERS[format], **settings)
        except Exception as problem:  # serialisers of rdflib raise errors of many kinds
            raise TaxonomyError(f"Cannot be written as {format} ({shorten(str(problem), 100)}).") from problem
    return text
