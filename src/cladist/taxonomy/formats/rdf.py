"""RDF files as graphs of rdflib, an extra; nothing is fetched while they are read."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from cladist.errors import TaxonomyError, shorten

FORMATS = {".ttl": "turtle", ".rdf": "rdfxml", ".jsonld": "jsonld"}
PARSERS = {"turtle": "turtle", "rdfxml": "xml", "jsonld": "json-ld"}
SERIALISERS = {"turtle": "turtle", "rdfxml": "pretty-xml", "jsonld": "json-ld"}
LARGEST = 2**27  # characters; a graph in memory takes about twenty times its file
MOST_ENTITIES, LONGEST_ENTITY = 200, 500
BASE = "urn:x-base:"  # of relative addresses
_DOCTYPE = re.compile(r"<!DOCTYPE\s+[^\s>\[]+\s*([^>\[]*)(?:\[(.*?)\]\s*)?>", re.DOTALL)
_ENTITY = re.compile(r"<!ENTITY\s+(\S+)\s+(\"[^\"]*\"|'[^']*'|[^\"'>]*)", re.DOTALL)


def import_rdflib(who: str) -> Any:
    """Return the package rdflib, or raise a `TaxonomyError` that says who needs it."""
    try:
        return import_module("rdflib")
    except ImportError:
        raise TaxonomyError(f"{who} needs the package rdflib; install it with: pip install 'cladist[skos]'") from None


def parse_graph(text: str, format: str) -> Any:  # noqa: A002
    """Return the graph of a text in Turtle, RDF/XML or JSON-LD."""
    rdflib = import_rdflib("Reading RDF")
    if len(text) > LARGEST:
        raise TaxonomyError(f"longer than {LARGEST:,} characters, the most of an RDF file that is read.")
    {"turtle": _check_nothing, "rdfxml": check_xml, "jsonld": check_json}[format](text)
    graph = rdflib.Graph()
    with quiet_rdflib():
        try:
            graph.parse(data=text, format=PARSERS[format], publicID=BASE)
        except Exception as problem:  # parsers of rdflib raise errors of many kinds, also of Python's own
            if isinstance(problem, MemoryError):
                raise
            detail = " ".join(str(problem).split()) or type(problem).__name__
            raise TaxonomyError(f"Not valid {format} ({shorten(detail, 150)}).") from None
    return graph


@contextmanager
def quiet_rdflib() -> Iterator[None]:
    """Keep rdflib from reporting what it thinks of addresses, literals and its own classes."""
    logger = logging.getLogger("rdflib")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of classes that rdflib itself uses
            yield
    finally:
        logger.setLevel(before)


def _check_nothing(text: str) -> None:
    """Turtle has nothing that is fetched or expanded."""


def check_xml(text: str) -> None:
    """Refuse XML that names other files, or entities that contain others and would grow."""
    for doctype in _DOCTYPE.finditer(text):
        outside, inside = doctype[1], doctype[2] or ""
        entities = _ENTITY.findall(inside)
        grows = any("&" in value or "%" in (name + value) or len(value) > LONGEST_ENTITY for name, value in entities)
        fetches = any(not value.startswith(('"', "'")) for _, value in entities)
        if re.search(r"SYSTEM|PUBLIC", outside) or fetches or grows or len(entities) > MOST_ENTITIES:
            raise TaxonomyError(
                "The document type names another file, or entities that contain others; nothing is fetched or "
                "expanded so: save the file without a document type."
            )
    if "<!ENTITY" in _DOCTYPE.sub("", text):
        raise TaxonomyError("An entity is declared outside of a document type that can be read; save the file anew.")


def check_json(text: str) -> None:
    """Refuse JSON-LD whose contexts lie elsewhere."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise TaxonomyError(f"Not valid JSON ({shorten(str(problem), 100)}).") from None
    if not isinstance(content, (dict, list)):
        raise TaxonomyError(f"JSON-LD is an object or a list; got {type(content).__name__}.")
    stack: list[Any] = [content]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += value
        elif isinstance(value, dict):
            contexts = value.get("@context", [])
            listed = contexts if isinstance(contexts, list) else [contexts]
            elsewhere = [one for one in (*listed, value.get("@import")) if isinstance(one, str)]
            if elsewhere:
                raise TaxonomyError(
                    f"The context {shorten(elsewhere[0], 100)} lies elsewhere, and nothing is fetched; write the "
                    "context itself into the file."
                )
            stack += list(value.values())


def recognise_rdf(text: str, ending: str) -> str | None:
    """Return the format of an RDF file by its ending, or of a SKOS vocabulary by its content; None for others."""
    if ending in (".ttl", ".jsonld"):
        return FORMATS[ending]
    head = text[:20_000]
    if "skos/core#" not in head:
        return None
    if "<rdf:RDF" in head:
        return None if "<owl:Class" in text else "rdfxml"  # ontologies also have labels of SKOS
    return "turtle" if re.search(r"^\s*(@prefix|PREFIX)\s", head, re.MULTILINE) else None
