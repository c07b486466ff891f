"""The header of an ARFF-HMC file: its attributes, and the text of the hierarchical one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, NoReturn

from cladist.errors import DatasetError, ParameterError
from cladist.files import Source, display_name, iterate_text_lines, refuse

Place = tuple[Source, int, None]

BLANKS = " \t\r\n\v\f"
MOST_COLUMNS = 2**20  # attributes and nominal values together; each costs some hundred bytes of names
MOST_NAME_CHARACTERS = 2**26  # of columns, or of nodes: short text can spell out names of quadratic length
IGNORED, NUMERIC, NOMINAL, LABELS = range(4)  # kinds of attributes

# Possessive throughout: a line without its end must not be searched again from every position.
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_ATTRIBUTE = re.compile(
    rf"""@attribute\s++({_QUOTED}|[^\s{{'"][^\s{{]*+)\s*+(.*+)""", re.ASCII | re.IGNORECASE | re.DOTALL
)
_VALUE = re.compile(rf"""\s*+({_QUOTED}|[^\s,{{}}'"][^,{{}}]*+)\s*+([,}}])""", re.ASCII | re.DOTALL)
_KEYWORD = re.compile(r"\S*+", re.ASCII)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_KIND_OF_TYPE = {
    **dict.fromkeys(("numeric", "real", "integer"), NUMERIC),
    **dict.fromkeys(("string", "date", "key"), IGNORED),
    "hierarchical": LABELS,
}


@dataclass
class Header:
    """Attributes in order: their names, kinds and, for the nominal ones by position, their values."""

    names: list[str] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    values: dict[int, list[str]] = field(default_factory=dict)
    hierarchy: str = ""
    hierarchy_line: int = 0
    n_lines: int = 0

    def widths(self) -> list[int]:
        """Return how many columns of X each attribute has; a nominal one has a column per value."""
        return [len(self.values.get(k, ())) or int(kind == NUMERIC) for k, kind in enumerate(self.kinds)]

    def feature_names(self) -> list[str]:
        """Return the names of the columns of X; those of a nominal attribute are ``name=value``."""
        columns: list[str] = []
        for k, name in enumerate(self.names):
            columns.extend(f"{name}={value}" for value in self.values.get(k, ()))
            if self.kinds[k] == NUMERIC:
                columns.append(name)
        return columns


def unquote(token: str) -> str:
    r"""Return the text that a token stands for.

    Examples
    --------
    >>> unquote(r"'it\'s'"), unquote("plain")
    ("it's", 'plain')
    """
    if token[:1] not in ("'", '"'):
        return token.rstrip(BLANKS)
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), token[1:-1])


def read_header(source: Source, stream: IO[bytes], id_columns: Sequence[str] = ()) -> Header:
    """Read up to the line ``@data``; the attributes `id_columns` are ignored."""
    header, seen, n_slots = Header(), set[str](), 0
    for number, raw in iterate_text_lines(source, stream):
        line, place = raw.strip(BLANKS), (source, number, None)
        keyword = _KEYWORD.match(line)[0].lower()  # type: ignore[index]
        if keyword == "@attribute":
            _add_attribute(place, header, line, id_columns, MOST_COLUMNS - n_slots)
            if header.names[-1] in seen:
                _refuse(place, f"there are two attributes {header.names[-1]!r}; rename one.")
            seen.add(header.names[-1])
            n_slots += len(header.values.get(len(header.names) - 1, "1"))
            if n_slots >= MOST_COLUMNS:
                _refuse_wide(place)
        elif keyword == "@data":
            header.n_lines = number
            _check_header(source, header, id_columns)
            return header
        elif keyword and not keyword.startswith("%") and keyword != "@relation":
            wanted = "wanted @relation, @attribute, @data or a comment with %"
            _refuse(place, f"{wanted}, got {line[:40]!r}; this is no ARFF header.")
    problem = "the file ends before a line @data; there are no rows."
    raise DatasetError.at(display_name(source), None, None, problem, kind="bad-header")


def _refuse(place: Place, problem: str) -> NoReturn:
    refuse(*place, problem, kind="bad-header")


def _refuse_wide(place: Place) -> NoReturn:
    problem = f"the header makes more than {MOST_COLUMNS:,} columns, or names too long for them"
    advice = "nominal attributes have a column for each value. Leave such attributes out with id_columns."
    _refuse(place, f"{problem}; {advice}")


def _add_attribute(place: Place, header: Header, line: str, id_columns: Sequence[str], most_values: int) -> None:
    match = _ATTRIBUTE.match(line)
    if match is None:
        _refuse(place, f"wanted @attribute NAME TYPE, got {line[:40]!r}; a name with blanks stands in quotes.")
    name, definition = unquote(match[1]), match[2]
    is_id = name in id_columns
    kind = NOMINAL if definition.startswith("{") else _kind_of_type(place, name, definition)
    if kind == LABELS and header.hierarchy_line:
        first = header.hierarchy_line
        _refuse(place, f"{name!r} is a second hierarchical attribute, after that of line {first}; one is wanted.")
    if kind == LABELS and is_id:
        raise ParameterError(f"read_arff_hmc: {name!r} holds the labels; it cannot be one of id_columns.")
    if kind == LABELS:
        entries = re.split(r"\s%", definition[len("hierarchical") :], maxsplit=1, flags=re.ASCII)[0]
        header.hierarchy, header.hierarchy_line = entries.strip(BLANKS), place[1]
    elif is_id:
        kind = IGNORED
    elif kind == NOMINAL:
        header.values[len(header.names)] = _nominal_values(place, name, definition, most_values)
    header.names.append(name)
    header.kinds.append(kind)


def _kind_of_type(place: Place, name: str, definition: str) -> int:
    word, rest = [*definition.split(maxsplit=1), "", ""][:2]
    kind = _KIND_OF_TYPE.get(word.lower())
    if kind is None or (kind == NUMERIC and rest and not rest.startswith("%")):
        wanted = "numeric, real, integer, string, date, values in braces, or hierarchical"
        _refuse(place, f"the attribute {name!r} has the type {definition[:40]!r}; wanted {wanted}.")
    return kind


def _nominal_values(place: Place, name: str, definition: str, most: int) -> list[str]:
    values: dict[str, None] = {}
    position, end = 1, ","
    while end == ",":
        match = _VALUE.match(definition, position)
        if match is None:
            wanted = f"the attribute {name!r} wants values as in {{red, green, 'dark blue'}}"
            _refuse(place, f"{wanted}, got {definition[position : position + 40]!r}.")
        value, position, end = unquote(match[1]), match.end(), match[2]
        if value in values:
            _refuse(place, f"the attribute {name!r} has the value {value[:40]!r} twice.")
        values[value] = None
        if len(values) >= most or len(values) * (len(name) + 1) > MOST_NAME_CHARACTERS:
            _refuse_wide(place)
    rest = definition[position:].lstrip(BLANKS)
    if rest and not rest.startswith("%"):
        _refuse(place, f"the attribute {name!r} has {rest[:40]!r} behind its values.")
    return list(values)


def _check_header(source: Source, header: Header, id_columns: Sequence[str]) -> None:
    for name in id_columns:
        if name not in header.names:
            near = difflib.get_close_matches(name, header.names[:20_000], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ParameterError(f"read_arff_hmc: {display_name(source)} has no attribute {name!r} of id_columns{hint}")
    if not header.hierarchy_line:
        example = "'@attribute class hierarchical sport,sport/tennis', whose values are the labels."
        refuse(source, None, None, f"no attribute is hierarchical; wanted one such as {example}", kind="bad-header")
