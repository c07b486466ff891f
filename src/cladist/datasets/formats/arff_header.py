"""The header of an ARFF-HMC file: its attributes, and its hierarchy (paths or edges) ↔ a taxonomy."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from typing import IO, Literal, NamedTuple

from cladist.errors import DatasetError, ParameterError, TaxonomyError
from cladist.files import Source, display_name, iterate_text_lines, refuse
from cladist.taxonomy import Taxonomy, construction

Hierarchy = Literal["auto", "tree", "dag"]

MOST_COLUMNS = 2**20  # attributes and nominal values together; each costs some hundred bytes of names
MOST_ENTRIES = 2**20  # of a hierarchy
MOST_NAME_CHARACTERS = 2**26  # of columns, or of nodes: short text can spell out names of quadratic length
ROOT = "root"  # stands above the real roots in a list of edges, and is no node
BLANKS = " \t\r\n\v\f"
_SPECIAL = ",@%{}/"  # not in names that are written
_KINDS = {
    **dict.fromkeys(("numeric", "real", "integer"), "numeric"),
    **dict.fromkeys(("string", "date", "key"), "ignored"),
    "hierarchical": "labels",
}

# Possessive throughout: a line without its end must not be searched again from every position.
QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_ATTRIBUTE = re.compile(rf"""\S++\s++({QUOTED}|[^\s{{'"][^\s{{]*+)\s*+(.*+)""", re.ASCII | re.DOTALL)
_VALUE = rf"""\s*+({QUOTED}|[^\s,{{}}'"][^,{{}}]*+)\s*+"""
_NOMINAL = re.compile(rf"{_VALUE}(?:,|(\}})\s*+(?:%.*+)?+\Z)", re.ASCII | re.DOTALL)


class Attribute(NamedTuple):
    """An attribute of the kind "numeric", "nominal", "labels" or "ignored"; a nominal one has values."""

    name: str
    kind: str
    values: Sequence[str] = ()

    def columns(self) -> list[str]:
        """Return the names of its columns of X; those of a nominal attribute are ``name=value``."""
        return [self.name] if self.kind == "numeric" else [f"{self.name}={value}" for value in self.values]


class Header(NamedTuple):
    """The attributes of a file, the text of the hierarchical one, its line, and the line of ``@data``."""

    attributes: list[Attribute]
    hierarchy: str
    hierarchy_line: int
    n_lines: int

    def feature_names(self) -> list[str]:
        """Return the names of the columns of X."""
        return [name for attribute in self.attributes for name in attribute.columns()]


def read_header(source: Source, stream: IO[bytes], id_columns: Sequence[str] = ()) -> Header:
    """Read up to the line ``@data``; the attributes `id_columns` are ignored."""
    attributes: dict[str, Attribute] = {}
    hierarchy, hierarchy_line, n_left = "", 0, MOST_COLUMNS
    for number, raw in iterate_text_lines(source, stream):
        line = raw.strip(BLANKS)
        keyword = re.match(r"\S*+", line, re.ASCII)[0].lower()  # type: ignore[index]
        try:
            if keyword == "@data":
                _check_header(source, list(attributes), hierarchy_line, id_columns)
                return Header(list(attributes.values()), hierarchy, hierarchy_line, number)
            if keyword == "@attribute":
                attribute, definition = _parse_attribute(line, id_columns, n_left)
                if attribute.name in attributes:
                    raise TaxonomyError(f"there are two attributes {attribute.name!r}; rename one.")
                if attribute.kind == "labels" and hierarchy_line:
                    raise TaxonomyError(f"{attribute.name!r} is a second hierarchical attribute; one is wanted.")
                if attribute.kind == "labels":
                    hierarchy, hierarchy_line = definition, number
                attributes[attribute.name] = attribute
                n_left -= max(1, len(attribute.values))
            elif keyword and not keyword.startswith("%") and keyword != "@relation":
                wanted = "wanted @relation, @attribute, @data or a comment with %"
                raise TaxonomyError(f"{wanted}, got {line[:40]!r}; this is no ARFF header.")
        except TaxonomyError as problem:
            refuse(source, number, None, str(problem), kind="bad-header")
    reason = "the file ends before a line @data; there are no rows."
    raise DatasetError.at(display_name(source), None, None, reason, kind="bad-header")


def _parse_attribute(line: str, id_columns: Sequence[str], n_left: int) -> tuple[Attribute, str]:
    """Return an attribute and its definition behind the type; a `TaxonomyError` if it is malformed."""
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise TaxonomyError(f"wanted @attribute NAME TYPE, got {line[:40]!r}; a name with blanks stands in quotes.")
    name, definition = unquote(match[1]), match[2]
    word, rest = [*definition.split(maxsplit=1), "", ""][:2]
    is_nominal = definition.startswith("{")
    kind = "nominal" if is_nominal else _KINDS.get(word.lower())
    if kind is None or (kind == "numeric" and rest and not rest.startswith("%")):
        wanted = "numeric, real, integer, string, date, values in braces, or hierarchical"
        raise TaxonomyError(f"the attribute {name!r} has the type {definition[:40]!r}; wanted {wanted}.")
    if kind == "labels" and name in id_columns:
        raise ParameterError(f"read_arff_hmc: {name!r} holds the labels; it cannot be one of id_columns.")
    if name in id_columns:
        return Attribute(name, "ignored"), ""
    n_values = definition.count(",") + 1 if is_nominal else 1  # at most
    if n_values >= n_left or n_values * len(name) > MOST_NAME_CHARACTERS:
        problem = f"the header makes more than {MOST_COLUMNS:,} columns, or names too long for them"
        advice = "nominal attributes have a column for each value. Leave such attributes out with id_columns."
        raise TaxonomyError(f"{problem}; {advice}")
    if is_nominal:
        return Attribute(name, kind, _parse_nominal(name, definition)), ""
    return Attribute(name, kind), re.split(r"\s%", definition[len(word) :], maxsplit=1, flags=re.ASCII)[0]


def _parse_nominal(name: str, definition: str) -> list[str]:
    values, position, end = list[str](), 1, False
    while not end:
        match = _NOMINAL.match(definition, position)
        if match is None:
            got = definition[position : position + 40]
            raise TaxonomyError(f"the attribute {name!r} wants values as in {{red, green, 'dark blue'}}, got {got!r}.")
        values.append(unquote(match[1]))
        position, end = match.end(), match[2] is not None
    value, count = Counter(values).most_common(1)[0]
    if count > 1:
        raise TaxonomyError(f"the attribute {name!r} has the value {value[:40]!r} twice.")
    return values


def unquote(token: str) -> str:
    """Return the text that a token stands for."""
    if token[:1] not in ("'", '"'):
        return token.rstrip(BLANKS)
    escaped = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda escape: escaped.get(escape[1], escape[1]), token[1:-1], flags=re.DOTALL)


def _check_header(source: Source, names: Sequence[str], hierarchy_line: int, id_columns: Sequence[str]) -> None:
    for name in id_columns:
        if name not in names:
            problem = f"{display_name(source)} has no attribute {name!r} of id_columns{suggest(name, names)}"
            raise ParameterError(f"read_arff_hmc: {problem}")
    if not hierarchy_line:
        example = "'@attribute class hierarchical sport,sport/tennis', whose values are the labels."
        refuse(source, None, None, f"no attribute is hierarchical; wanted one such as {example}", kind="bad-header")


def suggest(name: str, names: Sequence[str]) -> str:
    """Return the end of an error about an unknown name: a near one, if there is one."""
    near = difflib.get_close_matches(name, names[:20_000], n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


# ---------------------------------------------------------------- hierarchy


def read_hierarchy(
    source: Source, header: Header, hierarchy: Hierarchy = "auto", on_cycle: Literal["error", "drop"] = "error"
) -> Taxonomy:
    """Build the taxonomy that a header lists as paths or edges; "auto": edges, if each has one ``/``, one from root."""
    try:
        if header.hierarchy.count(",") >= MOST_ENTRIES:
            raise TaxonomyError(f"the hierarchical attribute lists more than {MOST_ENTRIES:,} entries.")
        entries = [entry.strip(BLANKS) for entry in header.hierarchy.split(",")]
        for entry in entries:
            if not all(entry.split("/")):
                wanted = "paths such as 'a/b' or edges 'parent/child', joined by single commas, without empty parts"
                raise TaxonomyError(f"the hierarchical attribute lists {entry[:60]!r}; wanted {wanted}.")
        is_dag = all(entry.count("/") == 1 for entry in entries) and any(e.startswith(f"{ROOT}/") for e in entries)
        if hierarchy == "dag" or (hierarchy == "auto" and is_dag):
            return _from_edges(entries, on_cycle)
        return _from_paths(entries)
    except TaxonomyError as problem:
        refuse(source, header.hierarchy_line, None, str(problem), kind=problem.kind or "bad-hierarchy")


def _from_paths(entries: Sequence[str]) -> Taxonomy:
    """Name each node by its path, as the rows do."""
    parents: dict[str, str | None] = {}
    n_characters = 0
    for entry in entries:
        name: str | None = entry if entry != "?" else None
        while name is not None and name not in parents:
            n_characters += len(name)
            if n_characters > MOST_NAME_CHARACTERS:
                raise TaxonomyError("the paths are too deep; their inner nodes' names do not fit into memory.")
            parents[name] = name.rpartition("/")[0] or None
            name = parents[name]
    return Taxonomy.from_parents(parents)


def _from_edges(entries: Sequence[str], on_cycle: str) -> Taxonomy:
    links, edges = construction.Links(), []
    for entry in entries:
        parent, slash, child = entry.partition("/")
        if not slash or "/" in child:
            raise TaxonomyError(f"wanted edges 'parent/child', got {entry[:60]!r}; is this a tree of paths?")
        if child == ROOT:
            raise TaxonomyError(f"{entry[:60]!r} puts {ROOT!r} below a node; it stands above all of them.")
        if parent == ROOT:
            links.node(child)
        else:
            edges.append((parent, child))
    where = lambda k: f"edge {'/'.join(edges[k])!r}"  # noqa: E731
    return Taxonomy(construction.from_edges(edges, on_cycle=on_cycle, links=links, where=where))


def list_hierarchy(taxonomy: Taxonomy, hierarchy: Hierarchy) -> tuple[list[str], list[str]]:
    """Return the entries of a hierarchical attribute, paths or edges, and the label by which rows name each node."""
    is_dag, names = taxonomy.kind == "dag", list(taxonomy.names)
    if hierarchy == "tree" and is_dag:
        raise DatasetError("write_arff_hmc: a DAG has no paths to name its nodes by; write it with hierarchy='dag'.")
    has_slashes = any("/" in name for name in names)
    if is_dag or hierarchy == "dag" or (hierarchy == "auto" and taxonomy.depth[-1] > 0 and not has_slashes):
        return _list_edges(taxonomy), names
    heads = ["" if p < 0 else names[p] + "/" for p in taxonomy.parent.tolist()]
    if all(name.startswith(head) and "/" not in name[len(head) :] for name, head in zip(names, heads, strict=True)):
        paths = [head + _check_name(name[len(head) :]) for name, head in zip(names, heads, strict=True)]
    else:
        paths = ["/".join(map(_check_name, taxonomy.path_parts(v))) for v in range(taxonomy.n_nodes)]
    return paths, paths


def _list_edges(taxonomy: Taxonomy) -> list[str]:
    """Return ``parent/child`` for each edge, and ``root/child`` for each root; nodes come in order of their ids."""
    names = [_check_name(name) for name in taxonomy.names]
    if ROOT in taxonomy:
        raise DatasetError(
            f"write_arff_hmc: the node {ROOT!r} would be lost among edges, where that name stands above all nodes; "
            "rename it, or write a tree with hierarchy='tree'."
        )
    above = ([names[p] for p in taxonomy.parent_ids(v).tolist()] or [ROOT] for v in range(len(names)))
    return [f"{parent}/{name}" for name, parents in zip(names, above, strict=True) for parent in parents]


def _check_name(name: str) -> str:
    """Return a name if the format can hold it."""
    is_odd = any(c in _SPECIAL or c < " " or "\ud800" <= c <= "\udfff" for c in name)
    if is_odd or not name or name[0] in "'\"\ufeff" or name == "?" or name != name.strip(BLANKS):
        raise DatasetError(
            f"write_arff_hmc: the format cannot hold the name {name!r}: it is empty or '?', has one of "
            f"{' '.join(_SPECIAL)}, a control character or a blank at an end, or begins with a quote or a byte order "
            "mark."
        )
    return name
