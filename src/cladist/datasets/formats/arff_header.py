"""The header of an ARFF-HMC file: attributes and hierarchy; and how a line is split into fields."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, count, islice
from types import MappingProxyType
from typing import Literal, NamedTuple

from cladist.errors import ParameterError, TaxonomyError, quoted
from cladist.files import Source, decode, display_name, refuse
from cladist.taxonomy import Taxonomy, construction

Hierarchy = Literal["auto", "tree", "dag"]
Lines = Iterator[tuple[int, bytes]]

MOST_VALUES = 2**20  # of nominal attributes together, or of a hierarchy; each costs some hundred bytes of names
MOST_NAME_CHARACTERS = 2**26  # of columns, or of nodes: short text can spell out names of quadratic length
ROOT = "root"  # stands above the real roots in a list of edges, and is no node
BLANKS = " \t\r\n\v\f"
KINDS = dict.fromkeys(("numeric", "real", "integer"), "numeric") | dict.fromkeys(("string", "date", "key"), "ignored")
KINDS["hierarchical"] = "labels"

# Possessive throughout: a line without its end must not be searched again from every position.
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_ATTRIBUTE = re.compile(rf"""\S++\s++({_QUOTED}|[^\s{{'"][^\s{{]*+)\s*+(.*+)""", re.ASCII | re.DOTALL)


def _field_pattern(index: str, ends: str) -> re.Pattern[str]:
    """Return the pattern of the mark before a field, its index and its value, between blanks.

    A percent sign behind a blank or a value in quotes begins a comment, which is a mark; so is any wrong character.
    """
    plain = rf"""(?!['"]|(?<=\s)%)[^\s{ends}]*+(?:\s++(?!%)[^\s{ends}]++)*+"""
    return re.compile(rf"(\A\s*+\{{?+|%.*+|.)\s*+({index})\s*+({_QUOTED}|{plain}|)\s*+", re.ASCII | re.DOTALL)


DENSE, SPARSE, NOMINAL = _field_pattern("", ","), _field_pattern(r"(?:\d++(?=\s))?+", ",}"), _field_pattern("", ",}")


class FaultError(Exception):
    """A fault on a line: the number of the field, the group of its match that is wrong, its kind and a sentence."""


def split_fields(text: str, pattern: re.Pattern[str], most: int) -> list[re.Match[str]]:
    """Return the fields of a row or of values in braces, a few more than `most` at most."""
    fields = list(islice(pattern.finditer(text), most + 3))  # one value too many, a brace and a comment
    if fields[-1][1].startswith("%"):
        fields.pop()
    in_braces = pattern is not DENSE
    marks, wanted = [field[1] for field in fields], ["", *[","] * (len(fields) - 1)]
    marks[0] = marks[0].strip(BLANKS)
    if in_braces:
        wanted[0], wanted[-1] = "{", "}"
    if marks != wanted or (in_braces and fields[-1][3]):
        k = next((k for k, mark in enumerate(marks) if mark != wanted[k]), len(fields) - 1)
        shape = "values, commas between them, quotes around values with commas, and braces if the first row has them"
        problem = f"the row is malformed at {quoted(text[fields[k].start(1) :])}; wanted {shape}."
        raise FaultError(k, 1, "bad-row", problem)
    return fields[:-1] if in_braces else fields


class Attribute(NamedTuple):
    """An attribute, its line in the header, and the names of the columns of X that it becomes."""

    name: str
    kind: str  # "numeric", "nominal", "labels" or "ignored"
    line: int
    columns: Sequence[str] = ()
    values: Mapping[str, int] = MappingProxyType({})  # of a nominal attribute, numbered, or entries of the hierarchy


def read_header(source: Source, lines: Lines, id_columns: Sequence[str] = ()) -> list[Attribute]:
    """Return the attributes above the line ``@data``; those in `id_columns` are ignored.

    In published files, different attributes have the same name: the second ``a`` is called ``a_2``.
    """
    attributes: dict[str, Attribute] = {}
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(2))
    keyword, n_left = "", MOST_VALUES
    for number, raw in lines:
        line = decode(source, raw, number).strip(BLANKS)
        keyword = re.split(r"\s", line, maxsplit=1, flags=re.ASCII)[0].lower()
        if keyword == "@data":
            break
        if keyword == "@attribute":
            match = _ATTRIBUTE.match(line)
            name = listed_name = unquote(match[1]) if match else ""
            while name in attributes:
                name = f"{listed_name}_{next(numbers[listed_name])}"
            is_id = listed_name in id_columns or name in id_columns
            try:
                attributes[name] = _parse_attribute(name, match[2] if match else "", number, n_left, is_id=is_id)
            except ValueError as fault:
                refuse(source, number, None, f"{fault}; got {quoted(line)}.", kind="bad-header")
            n_left -= max(1, len(attributes[name].columns))
        elif keyword and not keyword.startswith("%") and keyword != "@relation":
            problem = f"wanted @relation, @attribute, @data or a comment with %, got {line[:40]!r}; is it ARFF?"
            refuse(source, number, None, problem, kind="bad-header")
    if keyword != "@data" or sum(attribute.kind == "labels" for attribute in attributes.values()) != 1:
        problem = "wanted a header that ends with a line @data and has one attribute such as"
        problem = f"{problem} '@attribute class hierarchical sport,sport/tennis', whose values are the labels."
        refuse(source, None, None, problem, kind="bad-header")
    for name in id_columns:
        if name not in attributes or attributes[name].kind == "labels":
            problem = f"{display_name(source)} has no attribute {name!r}, or it holds the labels"
            raise ParameterError(f"read_arff_hmc: id_columns must name attributes to leave out; {problem}.")
    return list(attributes.values())


def _parse_attribute(name: str, definition: str, line: int, n_left: int, *, is_id: bool) -> Attribute:
    """Return an attribute whose values are at most `n_left`; a ValueError tells what was wanted."""
    word, rest = [*definition.split(maxsplit=1), "", ""][:2]
    kind = "nominal" if definition.startswith("{") else KINDS.get(word.lower(), "")
    if (is_id and kind not in ("", "labels")) or kind == "ignored":
        return Attribute(name, "ignored", line)
    n_values = definition.count(",") + 1 if kind in ("nominal", "labels") else 1  # at most
    if n_values >= n_left or n_values * len(name) > MOST_NAME_CHARACTERS:
        problem = f"the header lists more than {MOST_VALUES:,} values, or its names are too long; nominal attributes"
        raise ValueError(f"{problem} have a column for each value. Leave such attributes out with id_columns")
    if kind == "labels":
        entries = re.split(r"\s%", definition[len(word) :], maxsplit=1, flags=re.ASCII)[0].split(",")
        return Attribute(name, kind, line, values={entry.strip(BLANKS): k for k, entry in enumerate(entries)})
    if kind == "numeric" and (not rest or rest.startswith("%")):
        return Attribute(name, kind, line, [name])
    with suppress(FaultError):
        listed = [unquote(field[3]) for field in split_fields(definition, NOMINAL, n_values)]
        values = {value: k for k, value in enumerate(listed) if value}
        if kind == "nominal" and 0 < len(values) == len(listed):
            return Attribute(name, kind, line, [f"{name}={value}" for value in values], values)
    types = "numeric, real, integer, string, date, different values as in {red, 'dark blue'}, or hierarchical"
    raise ValueError(f"wanted @attribute NAME TYPE, where TYPE is {types}, and a NAME with blanks is quoted")


def unquote(token: str) -> str:
    """Return the text that a token stands for."""
    if token[:1] not in ("'", '"'):
        return token.strip(BLANKS)
    escaped = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda escape: escaped.get(escape[1], escape[1]), token[1:-1], flags=re.DOTALL)


def read_hierarchy(
    source: Source, attributes: Sequence[Attribute], hierarchy: Hierarchy = "auto", on_cycle: str = "error"
) -> Taxonomy:
    """Build the taxonomy that a header lists as paths or edges; "auto": edges, if each has one ``/``, one from root."""
    attribute = next(attribute for attribute in attributes if attribute.kind == "labels")
    paths = [entry.split("/") for entry in attribute.values]
    are_edges = all(len(path) == 2 for path in paths) and any(path[0] == ROOT for path in paths)
    is_dag = hierarchy == "dag" or (hierarchy == "auto" and are_edges)
    try:
        for path in paths:
            if not all(path) or (is_dag and (len(path) != 2 or path[1] == ROOT)):
                wanted = f"edges 'parent/child', none to {ROOT!r}" if is_dag else "paths such as 'a/b'"
                listed = f"the hierarchical attribute lists {quoted('/'.join(path))}"
                raise TaxonomyError(f"{listed}; wanted {wanted}, joined by commas, without empty parts.")
        if not is_dag:
            return Taxonomy.from_parents(_name_by_paths(paths))
        links, edges = construction.Links(), [path for path in paths if path[0] != ROOT]
        for child in (path[1] for path in paths if path[0] == ROOT):
            links.node(child)
        where = lambda k: f"edge {'/'.join(edges[k])!r}"  # noqa: E731
        return Taxonomy(construction.from_edges(edges, on_cycle=on_cycle, links=links, where=where))
    except TaxonomyError as problem:
        refuse(source, attribute.line, None, str(problem), kind=problem.kind or "bad-hierarchy")


def _name_by_paths(paths: list[list[str]]) -> dict[str, str | None]:
    """Return the parent of each node, which is named by its path, as the rows do."""
    parents: dict[str, str | None] = {}
    n_characters = 0
    for path in paths:
        parent = None
        for name in accumulate(path, "{}/{}".format) if path != ["?"] else ():
            n_characters += 0 if name in parents else len(name)
            if n_characters > MOST_NAME_CHARACTERS:
                raise TaxonomyError("the paths are too deep; their inner nodes' names do not fit into memory.")
            parents.setdefault(name, parent)
            parent = name
    return parents
