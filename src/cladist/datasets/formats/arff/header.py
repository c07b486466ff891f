"""The header of an ARFF-HMC file: attributes, their types, and the text of the one that holds the labels."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, NoReturn

from cladist.errors import DatasetError, ParameterError
from cladist.files import Source, shown_name, text_lines
from cladist.kernels.arff_tokens import IGNORED, LABELS, NOMINAL, NUMERIC

BLANKS = " \t\r\n\v\f"
MOST_COLUMNS = 2**20  # attributes and nominal values together; each costs some hundred bytes of names
MOST_NAME_CHARACTERS = 2**26  # of columns, or of nodes: short text can spell out names of quadratic length

# Possessive throughout: a line without its end must not be searched again from every position.
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_ATTRIBUTE = re.compile(
    rf"""@attribute\s++({_QUOTED}|[^\s{{'"][^\s{{]*+)\s*+(.*+)""", re.ASCII | re.IGNORECASE | re.DOTALL
)
_VALUE = re.compile(rf"""\s*+({_QUOTED}|[^\s,{{}}'"][^,{{}}]*+)\s*+([,}}])""", re.ASCII | re.DOTALL)
_KEYWORD = re.compile(r"\S*+", re.ASCII)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_KIND_OF = {
    "numeric": NUMERIC, "real": NUMERIC, "integer": NUMERIC,
    "string": IGNORED, "date": IGNORED, "key": IGNORED,
    "hierarchical": LABELS,
}  # fmt: skip


@dataclass
class Header:
    """The attributes in order; `values` are those of the nominal ones, by position."""

    names: dict[str, int] = field(default_factory=dict)  # name → position
    kinds: list[int] = field(default_factory=list)
    values: dict[int, list[str]] = field(default_factory=dict)
    hierarchy: str = ""
    hierarchy_line: int = 0
    n_lines: int = 0
    n_columns: int = 0

    @property
    def labels_at(self) -> int:
        """The position of the attribute with the labels."""
        return self.kinds.index(LABELS)

    def feature_names(self) -> list[str]:
        """Return the names of the columns of X; a nominal attribute has a column ``name=value`` for each value."""
        columns: list[str] = []
        for name, position in self.names.items():
            if self.kinds[position] == NUMERIC:
                columns.append(name)
            elif self.kinds[position] == NOMINAL:
                columns.extend(f"{name}={value}" for value in self.values[position])
        return columns


def unquoted(token: str) -> str:
    r"""Return what a token stands for.

    Examples
    --------
    >>> unquoted(r"'it\'s'"), unquoted("plain")
    ("it's", 'plain')
    """
    if token[:1] not in ("'", '"'):
        return token.rstrip(BLANKS)
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), token[1:-1])


def read_header(source: Source, stream: IO[bytes], id_columns: Sequence[str]) -> Header:
    """Read up to the line ``@data``; the attributes `id_columns` are ignored."""
    header = Header()
    for number, raw in text_lines(source, stream):
        line = raw.strip(BLANKS)
        keyword = _KEYWORD.match(line)[0].lower()  # type: ignore[index]
        if not keyword or keyword.startswith("%") or keyword == "@relation":
            continue
        if keyword == "@attribute":
            _add_attribute(_Place(source, number), header, line, id_columns)
        elif keyword == "@data":
            header.n_lines = number
            return _checked(source, header, id_columns)
        else:
            _Place(source, number).refuse(
                f"wanted @relation, @attribute, @data or a comment with %, got {line[:40]!r}; this is no ARFF header."
            )
    raise DatasetError(f"{shown_name(source)}: the file ends before a line @data; there are no rows.")


@dataclass(frozen=True)
class _Place:
    source: Source
    line: int

    def refuse(self, problem: str) -> NoReturn:
        raise DatasetError(f"{shown_name(self.source)}, line {self.line}: {problem}")


def _add_attribute(place: _Place, header: Header, line: str, id_columns: Sequence[str]) -> None:
    found = _ATTRIBUTE.match(line)
    if found is None:
        place.refuse(f"wanted @attribute NAME TYPE, got {line[:40]!r}; a name with blanks stands in quotes.")
    name, described = unquoted(found[1]), found[2]
    if header.names.setdefault(name, len(header.kinds)) != len(header.kinds):
        place.refuse(f"there are two attributes {name!r}; rename one.")
    is_id = name in id_columns
    if described.startswith("{"):
        kind = IGNORED if is_id else NOMINAL
        if not is_id:
            header.values[len(header.kinds)] = _nominal_values(place, name, described, MOST_COLUMNS - header.n_columns)
    else:
        kind = _kind_of_type(place, name, described)
        if kind == LABELS:
            _take_hierarchy(place, header, name, described, is_id)
        elif is_id:
            kind = IGNORED
    header.n_columns += len(header.values.get(len(header.kinds), "1"))
    header.kinds.append(kind)
    if header.n_columns >= MOST_COLUMNS:
        place.refuse(_too_wide())


def _kind_of_type(place: _Place, name: str, described: str) -> int:
    words = described.split(maxsplit=1)
    word, rest = (words[0].lower() if words else ""), (words[1] if len(words) > 1 else "")
    kind = _KIND_OF.get(word)
    if kind is None or (kind == NUMERIC and rest and not rest.startswith("%")):
        place.refuse(
            f"the attribute {name!r} has the type {described[:40]!r}; wanted numeric, real, integer, string, date, "
            "values in braces, or hierarchical."
        )
    return kind


def _take_hierarchy(place: _Place, header: Header, name: str, described: str, is_id: bool) -> None:
    if header.hierarchy_line:
        place.refuse(
            f"{name!r} is a second hierarchical attribute, after that of line {header.hierarchy_line}; one is wanted."
        )
    if is_id:
        raise ParameterError(f"read_arff_hmc: {name!r} holds the labels; it cannot be one of id_columns.")
    listed = described[len("hierarchical") :]
    header.hierarchy = re.split(r"\s%", listed, maxsplit=1, flags=re.ASCII)[0].strip(BLANKS)
    header.hierarchy_line = place.line


def _nominal_values(place: _Place, name: str, described: str, most: int) -> list[str]:
    values: dict[str, None] = {}
    for value in _each_value(place, name, described):
        if value in values:
            place.refuse(f"the attribute {name!r} has the value {value[:40]!r} twice.")
        values[value] = None
        if len(values) >= most or len(values) * (len(name) + 1) > MOST_NAME_CHARACTERS:
            place.refuse(_too_wide())
    return list(values)


def _each_value(place: _Place, name: str, described: str) -> Iterator[str]:
    position, end = 1, ","
    while end == ",":
        found = _VALUE.match(described, position)
        if found is None:
            place.refuse(
                f"the attribute {name!r} wants values as in {{red, green, 'dark blue'}}, "
                f"got {described[position : position + 40]!r}."
            )
        yield unquoted(found[1])
        position, end = found.end(), found[2]
    rest = described[position:].lstrip(BLANKS)
    if rest and not rest.startswith("%"):
        place.refuse(f"the attribute {name!r} has {rest[:40]!r} behind its values.")


def _too_wide() -> str:
    return (
        f"the header makes more than {MOST_COLUMNS:,} columns, or names too long for them; nominal attributes have a "
        "column for each value. Leave such attributes out with id_columns."
    )


def _checked(source: Source, header: Header, id_columns: Sequence[str]) -> Header:
    for name in id_columns:
        if name not in header.names:
            near = difflib.get_close_matches(name, list(header.names)[:20_000], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ParameterError(f"read_arff_hmc: {shown_name(source)} has no attribute {name!r} of id_columns{hint}")
    if not header.hierarchy_line:
        raise DatasetError(
            f"{shown_name(source)}: no attribute is hierarchical; wanted one such as "
            "'@attribute class hierarchical sport,sport/tennis', whose values are the labels."
        )
    header.n_columns = sum(
        len(header.values[k]) if kind == NOMINAL else kind == NUMERIC for k, kind in enumerate(header.kinds)
    )
    return header
