"""Ontologies as taxonomies: terms of OBO files, and classes of OWL files in RDF/XML, such as the Gene Ontology.

A term is below those that it is a kind of (``is_a``, ``rdfs:subClassOf``), which makes a DAG; its name is its title. In
OBO its definition is its description, and exact synonyms are its synonyms. Other relations are left out, and so are
obsolete terms.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from cladist.errors import TaxonomyError, quoted, shorten
from cladist.taxonomy.construction import Draft, Links
from cladist.taxonomy.formats.reader import iterate_lines, name_line
from cladist.taxonomy.taxonomy import Taxonomy

_STANZA = re.compile(r"\[(\w+)\]")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(\w*)')  # a text of OBO, and the scope of a synonym
_ESCAPES = {"n": "\n", "t": "\t", "W": " "}  # any other letter after a backslash is itself
_RDF, _RDFS = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}", "{http://www.w3.org/2000/01/rdf-schema#}"
_OWL = "{http://www.w3.org/2002/07/owl#}"
_NOTHING = frozenset({"http://www.w3.org/2002/07/owl#Thing"})


class _Term(NamedTuple):
    """A term or class, and the line or number by which messages name it."""

    number: int
    id: str
    title: str
    parents: list[str]
    description: str = ""
    synonyms: tuple[str, ...] = ()


def ontology_taxonomy(text: str, format: str, *, on_cycle: str = "error") -> Taxonomy:  # noqa: A002
    """Build a taxonomy from the text of an OBO or OWL file."""
    terms = list((_obo_terms if format == "obo" else _owl_classes)(text))
    links = Links()
    for term in terms:
        links.node(term.id)
        for parent in term.parents:
            links.link(parent, term.id, term.number)
    if not terms:
        kind = "term: a stanza [Term] with an id" if format == "obo" else "class: an owl:Class with rdf:about"
        raise TaxonomyError(f"There is no {kind}.")
    draft: Draft = links.draft(on_cycle, name_line if format == "obo" else _name_class)
    draft.titles = {term.id: term.title for term in terms if term.title}
    draft.descriptions = {term.id: term.description for term in terms if term.description}
    draft.synonyms = {term.id: term.synonyms for term in terms if term.synonyms}
    return Taxonomy(draft)


def _name_class(number: int) -> str:
    return f"class {number}"


def iterate_stanzas(text: str) -> Iterator[tuple[int, dict[str, list[str]]]]:
    """Yield line and fields of each stanza [Term] of an OBO file, obsolete ones too."""
    stanza, start = "", 0
    fields: dict[str, list[str]] = {}
    for number, line in (*iterate_lines(text), (0, "[End]")):
        match = _STANZA.fullmatch(line)
        if match is None:
            key, colon, value = line.partition(":")
            if stanza == "Term" and colon:
                value = value.strip()
                if not value.startswith('"'):  # in a text, these characters are its own
                    value = value.partition(" !")[0].partition(" {")[0].strip()
                fields.setdefault(key.strip(), []).append(value)
            continue
        if stanza == "Term":
            yield start, fields
        stanza, start, fields = match[1], number, {}


def _obo_terms(text: str) -> Iterator[_Term]:
    """Yield each term that is not obsolete."""
    for start, fields in iterate_stanzas(text):
        if fields.get("is_obsolete") == ["true"]:
            continue
        if len(fields.get("id", ())) != 1 or not all([*fields["id"], *fields.get("is_a", ())]):
            raise TaxonomyError(f"line {start}: a term has one id and ids of its parents; here are {shorten(fields)}.")
        synonyms = [_quoted_text(value) for value in fields.get("synonym", ())]
        yield _Term(
            start,
            fields["id"][0],
            fields.get("name", [""])[0],
            list(dict.fromkeys(fields.get("is_a", ()))),
            _quoted_text(fields.get("def", [""])[0])[0],
            tuple(dict.fromkeys(synonym for synonym, scope in synonyms if synonym and scope == "EXACT")),
        )


def _quoted_text(value: str) -> tuple[str, str]:
    """Return the text in quotes that a value begins with, and the word behind it; "" where there is none."""
    match = _QUOTED.match(value)
    if match is None:
        return "", ""
    text = re.sub(r"\\(.)", lambda escaped: _ESCAPES.get(escaped[1], escaped[1]), match[1])
    return " ".join(text.split()), match[2]


def _owl_classes(text: str) -> Iterator[_Term]:
    """Yield each class that is not deprecated; an id is the end of its address."""
    number, depth = 0, 0
    try:
        for event, element in ElementTree.iterparse(io.BytesIO(text.encode()), events=("start", "end")):
            depth += 1 if event == "start" else -1
            if event == "start" or depth != 1:  # classes are below the root
                continue
            address = element.get(f"{_RDF}about")
            if element.tag == f"{_OWL}Class" and address is not None:
                number += 1
                deprecated = (element.findtext(f"{_OWL}deprecated") or "").strip() == "true"
                above = (parent.get(f"{_RDF}resource") for parent in element.findall(f"{_RDFS}subClassOf"))
                parents = [_short_id(name) for name in above if name is not None and name not in _NOTHING]
                if not deprecated and address not in _NOTHING:
                    label = (element.findtext(f"{_RDFS}label") or "").strip()
                    yield _Term(number, _short_id(address), label, list(dict.fromkeys(parents)))
            element.clear()
    except (ElementTree.ParseError, ValueError, LookupError) as problem:
        if isinstance(problem, TaxonomyError):
            raise
        raise TaxonomyError(f"Not valid XML ({problem}).") from problem


def _short_id(address: str) -> str:
    """Return the end of an address; of OBO's, with a colon, as in GO:0008150."""
    name = address.rpartition("#")[2].rpartition("/")[2]
    if not name:
        raise TaxonomyError(f"The address {quoted(address)} of a class has no name at its end.")
    prefix, bar, local = name.partition("_")
    return f"{prefix}:{local}" if bar and local.isdigit() else name
