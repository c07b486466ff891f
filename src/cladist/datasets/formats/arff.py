"""ARFF-HMC files: Weka's ARFF with the hierarchical class attribute of Clus (Vens et al. 2008).

A row is dense, ``1.5,?,red,a/b@c``, or sparse, ``{1 1.5, 4 a/b@c}``.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, chain, count, islice, zip_longest
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import LARGEST_NUMBER, MOST_LABELS, Dataset, as_objects, check_float, length, stack_rows
from cladist.errors import DatasetError, ParameterError, TaxonomyError, one_of, quoted
from cladist.files import Source, decode, display_name, iterate_byte_lines, open_for_reading, refuse
from cladist.taxonomy import Taxonomy, as_taxonomy, construction

Hierarchy = Literal["auto", "tree", "dag"]
Lines = Iterator[tuple[int, bytes]]

PARTS_OF_FILES = {1: (), 2: ("train", "test"), 3: ("train", "validation", "test")}  # by the number of files
MOST_VALUES = 2**20  # of nominal attributes together, or of a hierarchy; each costs some hundred bytes of names
MOST_NAME_CHARACTERS = 2**26  # of columns, or of nodes: short text can spell out names of quadratic length
LONGEST_PATH = 1_000  # characters of a label that is a path and not the name of a node
PIECE = 2**16  # values held as Python objects at a time
LOOKAHEAD, MOST_LOOKAHEAD = 1_000, 2**24  # sparse rows, and their bytes, that must tell whether indices begin at 0
LARGEST_X = 2**28  # bytes; more only where the text is long too, since nominal attributes have a column per value
X_PER_BYTE = 64  # bytes that a byte of text may become
ROOT = "root"  # stands above the real roots in a list of edges, and is no node
BLANKS = " \t\r\n\v\f"
NUMERIC, IGNORED = ("numeric", "real", "integer"), ("string", "date", "key")
KINDS = {**dict.fromkeys(NUMERIC, "numeric"), **dict.fromkeys(IGNORED, "ignored"), "hierarchical": "labels"}
FAULTS = {"numeric": "bad-number", "nominal": "unknown-value", "labels": "unknown-label"}

# Possessive throughout: a line without its end must not be searched again from every position.
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_ATTRIBUTE = re.compile(rf"""\S++\s++({_QUOTED}|[^\s{{'"][^\s{{]*+)\s*+(.*+)""", re.ASCII | re.DOTALL)


def _field_pattern(index: str, ends: str) -> re.Pattern[str]:
    """Return the pattern of the mark before a field, its index and its value, between blanks.

    A percent sign behind a blank or a value in quotes begins a comment, which is a mark; so is any wrong character.
    """
    plain = rf"""(?!['"]|(?<=\s)%)[^\s{ends}]*+(?:\s++(?!%)[^\s{ends}]++)*+"""
    return re.compile(rf"(\A\s*+\{{?+|%.*+|.)\s*+({index})\s*+({_QUOTED}|{plain}|)\s*+", re.ASCII | re.DOTALL)


_NOT_PLAIN = re.compile(r"""['"%{]""")  # in a dense row that cannot be split at commas
_NUMBER = re.compile(r"\s*+[-+.\deE]++\s*+|\?", re.ASCII)
_DENSE, _SPARSE, _NOMINAL = _field_pattern("", ","), _field_pattern(r"(?:\d++(?=\s))?+", ",}"), _field_pattern("", ",}")


def read_arff_hmc(
    path: Source,
    *others: Source,
    taxonomy: Any = None,
    hierarchy: Hierarchy = "auto",
    on_cycle: Literal["error", "drop"] = "error",
    multilabel: bool | Literal["auto"] = "auto",
    id_columns: str | Sequence[str] | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    dtype: npt.DTypeLike = np.float32,
) -> Dataset[Taxonomy]:
    r"""Read the ARFF files of a data set with a hierarchical attribute: features, labels and their taxonomy.

    Parameters
    ----------
    path : path or binary stream
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked.
    *others : paths or binary streams
        The test file, or the validation and the test file, if `path` is the training file. All files have the same
        attributes and the same hierarchy.
    taxonomy : Taxonomy, or what one can be built from, optional
        Replaces the one of the header; every label must be in it.
    hierarchy : {"auto", "tree", "dag"}
        The entries of the hierarchical attribute: paths of a tree, or edges ``parent/child`` where ``root`` stands
        above all. "auto": edges, if every entry has one ``/`` and some entry begins with ``root/``.
    on_cycle : {"error", "drop"}
        Whether edges that close cycles are refused or dropped; ``taxonomy.dropped_edges`` lists dropped ones.
    multilabel : bool or "auto"
        "auto": several labels per row if any row has two of which none implies the other. Then, and with True, a row
        may also have none.
    id_columns : str or sequence of str, optional
        Attributes to leave out of `X`; those of type string and date are always left out. ``a`` is every attribute of
        this name, ``a_2`` the second one.
    zero_based : bool or "auto"
        Whether indices of sparse rows begin at 0, as in Weka, or at 1, as in Clus; "auto": the first row that tells.
    dtype : float32 or float64
        The dtype of the features.

    Returns
    -------
    Dataset
        Split if there are several files. `X` is an array, or for sparse rows CSR with sorted indices. A missing value,
        ``?``, is NaN. A nominal attribute has a column ``name=value`` for each value. The second attribute of the name
        ``a`` is called ``a_2`` in `feature_names`, and so on. In a tree, a node's name is its path. `y` is an array of
        names or, with several labels per row, a list of lists of them as they are written.

    Notes
    -----
    In a sparse row, an attribute that is not named is 0, and a nominal one has its first value. Numbers are parsed as
    Python's ``float`` parses them, then rounded to `dtype`; they are finite.

    Examples
    --------
    >>> import io
    >>> data = read_arff_hmc(io.BytesIO(b'''@relation genes
    ... @attribute expression numeric
    ... @attribute strand {w, c}
    ... @attribute class hierarchical 1,1/1,1/2,2
    ... @data
    ... 0.5,w,1/1@2
    ... ?,c,1/2
    ... '''))
    >>> data.y, data.taxonomy.names
    ([['1/1', '2'], ['1/2']], ('1', '2', '1/1', '1/2'))
    >>> data.feature_names, data.X.tolist()
    (['expression', 'strand=w', 'strand=c'], [[0.5, 1.0, 0.0], [nan, 0.0, 1.0]])
    """
    one_of("read_arff_hmc", "hierarchy", hierarchy, ("auto", "tree", "dag"))
    one_of("read_arff_hmc", "on_cycle", on_cycle, ("error", "drop"))
    one_of("read_arff_hmc", "multilabel", multilabel, (True, False, "auto"))
    one_of("read_arff_hmc", "zero_based", zero_based, (True, False, "auto"))
    ids = (id_columns,) if isinstance(id_columns, str) else tuple(id_columns or ())
    kind = check_float("read_arff_hmc", dtype)
    tree = None if taxonomy is None else as_taxonomy(taxonomy)
    sources = path, *others
    if len(sources) not in PARTS_OF_FILES:
        problem = f"wanted a training, a validation and a test file at most; got {len(sources)} files"
        raise ParameterError(f"read_arff_hmc: {problem}.")
    files: list[RowParser] = []
    Xs = []
    for source in sources:
        with open_for_reading(source) as stream:
            lines = iterate_byte_lines(source, stream)
            attributes = read_header(source, lines, ids)
            if files:
                _check_header(source, attributes, files[0], has_taxonomy=taxonomy is not None)
            tree = read_hierarchy(source, attributes, hierarchy, on_cycle) if tree is None else tree
            files.append(RowParser(source, attributes, tree, kind))
            Xs.append(files[-1].read(lines, zero_based))
        zero_based = zero_based if files[0].base is None else files[0].base == 0
    assert tree is not None
    y, ends = as_y(files, tree, multilabel), [0, *accumulate(map(length, Xs))]
    parts: Any = {f"{part}_rows": slice(*ends[k : k + 2]) for k, part in enumerate(PARTS_OF_FILES[len(sources)])}
    return Dataset(stack_rows(Xs), y, tree, files[0].feature_names, display_name(path), **parts)


def _check_header(source: Source, attributes: list[Attribute], first: RowParser, *, has_taxonomy: bool) -> None:
    """Refuse a file with other attributes than the first, or with another hierarchy, unless a taxonomy replaces it."""
    where = display_name(first.source)
    for mine, theirs in zip_longest(attributes, first.attributes):
        if not mine or not theirs or (mine.name, mine.kind, mine.columns) != (theirs.name, theirs.kind, theirs.columns):
            problem = f"its attributes are not those of {where}; {(mine or theirs).name!r} is the first that differs."
            refuse(source, mine and mine.line, None, problem, kind="bad-header")
        if mine.kind == "labels" and not has_taxonomy and mine.values.keys() != theirs.values.keys():
            problem = f"its hierarchy is not that of {where}; say with taxonomy which one all files have."
            refuse(source, mine.line, None, problem, kind="bad-header")


def read_arff_rows(path: Source, *, zero_based: bool | Literal["auto"] = "auto") -> Iterator[tuple[Any, list[str]]]:
    """Yield rows of features, some megabytes at a time, with the columns' names; labels are checked and left out."""
    with open_for_reading(path) as stream:
        lines = iterate_byte_lines(path, stream)
        attributes = read_header(path, lines)
        rows = RowParser(path, attributes, read_hierarchy(path, attributes), np.dtype(np.float32))
        for X in rows.parse(lines, zero_based):
            rows.labels.clear()
            rows.lines.clear()
            yield X, rows.feature_names


def as_y(files: Sequence[RowParser], taxonomy: Taxonomy, multilabel: bool | str) -> Any:
    """Return y: the lists of labels, or an array if each row has one label that implies its others.

    Files may write ``2@2/1@2/1/3`` for ``2/1/3``. Ids are topological, so only the highest can imply the others.
    """
    lists = [labels for file in files for labels in file.labels]
    if multilabel is True:
        return lists
    lowest = []
    for labels in lists:
        nodes = {taxonomy.index(label) for label in labels}
        lowest.append(max(nodes, default=-1))
        if len(nodes) > 1 and not nodes <= {lowest[-1], *taxonomy.ids_above(lowest[-1]).tolist()}:
            if multilabel == "auto":
                return lists
            problem = "the row has several labels; read with multilabel=True."
            refuse(*_place(files, len(lowest) - 1), problem, kind="several-labels")
    if -1 in lowest:
        problem = "the row has no label; if that is meant, read with multilabel=True."
        refuse(*_place(files, lowest.index(-1)), problem, kind="no-label")
    return as_objects([taxonomy.names[node] for node in lowest])


def _place(files: Sequence[RowParser], row: int) -> tuple[Source, int, int]:
    """Return the file, the line and the column of a row of all files."""
    return next(islice(((file.source, line, 1) for file in files for line in file.lines), row, None))


# ---------------------------------------------------------------- header


class Attribute(NamedTuple):
    """An attribute and its line in the header."""

    name: str
    kind: str  # "numeric", "nominal", "labels" or "ignored"
    line: int
    values: dict[str, int]  # of a nominal attribute, with their numbers, or the entries of the hierarchy

    @property
    def n_columns(self) -> int:
        """The number of columns of X that it becomes."""
        return len(self.values) if self.kind == "nominal" else int(self.kind == "numeric")

    @property
    def columns(self) -> list[str]:
        """The names of these columns."""
        values = [f"={value}" for value in self.values] if self.kind == "nominal" else [""] * self.n_columns
        return [self.name + value for value in values]


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
            attribute = _parse_attribute(source, number, line, id_columns, n_left)
            name = attribute.name
            while name in attributes:
                name = f"{attribute.name}_{next(numbers[attribute.name])}"
            is_ignored = name in id_columns and attribute.kind != "labels"
            attributes[name] = Attribute(name, "ignored", number, {}) if is_ignored else attribute._replace(name=name)
            n_left -= max(1, attributes[name].n_columns)
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


def _parse_attribute(source: Source, number: int, line: str, id_columns: Sequence[str], n_left: int) -> Attribute:
    match = _ATTRIBUTE.match(line)
    name, definition = (unquote(match[1]), match[2]) if match else ("", "")
    word, rest = [*definition.split(maxsplit=1), "", ""][:2]
    kind = "nominal" if definition.startswith("{") else KINDS.get(word.lower(), "")
    if name in id_columns and kind not in ("", "labels"):
        return Attribute(name, "ignored", number, {})
    n_values = definition.count(",") + 1 if kind in ("nominal", "labels") else 1  # at most
    if n_values >= n_left or n_values * len(name) > MOST_NAME_CHARACTERS:
        problem = f"the header lists more than {MOST_VALUES:,} values, or its names are too long"
        advice = "nominal attributes have a column for each value. Leave such attributes out with id_columns."
        refuse(source, number, None, f"{problem}; {advice}", kind="bad-header")
    listed: list[str] = []
    if kind == "labels":
        definition = re.split(r"\s%", definition[len(word) :], maxsplit=1, flags=re.ASCII)[0]
        listed = [entry.strip(BLANKS) for entry in definition.split(",")]
    elif kind == "nominal":
        with suppress(_FaultError):
            listed = [unquote(field[3]) for field in split_fields(definition, _NOMINAL, n_values)]
    values = {value: k for k, value in enumerate(listed)}
    is_wrong = kind == "nominal" and ("" in values or not 0 < len(values) == len(listed))
    if not kind or is_wrong or (kind == "numeric" and rest and not rest.startswith("%")):
        wanted = "numeric, real, integer, string, date, different values as in {red, 'dark blue'}, or hierarchical"
        problem = f"wanted @attribute NAME TYPE, where TYPE is {wanted}, and a NAME with blanks is quoted"
        refuse(source, number, None, f"{problem}; got {quoted(line)}.", kind="bad-header")
    return Attribute(name, kind, number, values)


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
    parts = [entry.split("/") for entry in attribute.values]
    are_edges = all(len(path) == 2 for path in parts) and any(path[0] == ROOT for path in parts)
    is_dag = hierarchy == "dag" or (hierarchy == "auto" and are_edges)
    try:
        for path in parts:
            if not all(path) or (is_dag and (len(path) != 2 or path[1] == ROOT)):
                wanted = f"edges 'parent/child', none to {ROOT!r}" if is_dag else "paths such as 'a/b'"
                listed = f"the hierarchical attribute lists {quoted('/'.join(path))}"
                raise TaxonomyError(f"{listed}; wanted {wanted}, joined by commas, without empty parts.")
        return _from_edges(parts, on_cycle) if is_dag else _from_paths(attribute.values)
    except TaxonomyError as problem:
        refuse(source, attribute.line, None, str(problem), kind=problem.kind or "bad-hierarchy")


def _from_paths(entries: Iterable[str]) -> Taxonomy:
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


def _from_edges(listed: Sequence[Sequence[str]], on_cycle: str) -> Taxonomy:
    links, edges = construction.Links(), [(parent, child) for parent, child in listed if parent != ROOT]
    for child in (child for parent, child in listed if parent == ROOT):
        links.node(child)
    where = lambda k: f"edge {'/'.join(edges[k])!r}"  # noqa: E731
    return Taxonomy(construction.from_edges(edges, on_cycle=on_cycle, links=links, where=where))


# ---------------------------------------------------------------- rows


class _FaultError(Exception):
    """A fault on a line: the number of the field, the group of its match that is wrong, its kind and a sentence."""


def split_fields(text: str, pattern: re.Pattern[str], most: int) -> list[re.Match[str]]:
    """Return the fields of a row or of values in braces, a few more than `most` at most."""
    fields = list(islice(pattern.finditer(text), most + 3))  # one value too many, a brace and a comment
    if fields[-1][1].startswith("%"):
        fields.pop()
    in_braces = pattern is not _DENSE
    marks, wanted = [field[1] for field in fields], ["", *[","] * (len(fields) - 1)]
    marks[0] = marks[0].strip(BLANKS)
    if in_braces:
        wanted[0], wanted[-1] = "{", "}"
    if marks != wanted or (in_braces and fields[-1][3]):
        k = next((k for k, mark in enumerate(marks) if mark != wanted[k]), len(fields) - 1)
        shape = "values, commas between them, quotes around values with commas, and braces if the first row has them"
        problem = f"the row is malformed at {quoted(text[fields[k].start(1) :])}; wanted {shape}."
        raise _FaultError(k, 1, "bad-row", problem)
    return fields[:-1] if in_braces else fields


class RowParser:
    """Parses the rows of one file; `labels` and `lines` get the labels and the line of each."""

    def __init__(self, source: Source, attributes: list[Attribute], taxonomy: Taxonomy, dtype: np.dtype[Any]) -> None:
        self.source, self.attributes, self.taxonomy, self.dtype = source, attributes, taxonomy, dtype
        self.largest = LARGEST_NUMBER[dtype.name]
        self.kinds = [attribute.kind for attribute in attributes]
        self.nominal = [k for k, kind in enumerate(self.kinds) if kind == "nominal"]
        self.starts = [0, *accumulate(attribute.n_columns for attribute in attributes)]
        self.feature_names = [name for attribute in attributes for name in attribute.columns]
        self.name_of = {name: name for name in taxonomy.names}
        self.base: int | None = None  # index of the first attribute in sparse rows; None: rows are dense
        self.n_bytes = 0
        self.labels: list[list[str]] = []
        self.lines: list[int] = []

    def parse(self, lines: Lines, zero_based: bool | str) -> Iterator[Any]:
        """Yield the features of all rows as matrices of some megabytes; the first row says which kind they are."""
        rows = ((number, raw) for number, raw in lines if raw.strip()[:1] not in (b"", b"%"))
        head = list(islice(rows, 1))
        if not head:
            refuse(self.source, None, None, "there are no rows below @data.", kind="no-rows")
        if head[0][1].lstrip().startswith(b"{"):
            n_bytes = 0
            for row in islice(rows, LOOKAHEAD if zero_based == "auto" else 0):
                head.append(row)
                n_bytes += len(row[1])
                if n_bytes > MOST_LOOKAHEAD:
                    break
            self.base = self._find_base(head) if zero_based == "auto" else int(not zero_based)
        columns, values, ends = list[int](), list[float](), [0]
        for number, raw in chain(head, rows):
            self.n_bytes += len(raw)
            line = raw.decode("utf-8", "backslashreplace").rstrip(BLANKS)
            try:
                self._parse_row(line, columns, values)
            except _FaultError as fault:
                i, group, kind, problem = fault.args
                match = next(islice((_DENSE if self.base is None else _SPARSE).finditer(line), i, None), None)
                refuse(self.source, number, (match.start(group) if match else len(line)) + 1, problem, kind=kind)
            self.lines.append(number)
            ends.append(len(columns))
            if (len(values) if self.base is not None else len(ends) * self.starts[-1]) >= PIECE:
                yield self._matrix(columns, values, ends)
                columns, values, ends = [], [], [0]
        if len(ends) > 1:
            yield self._matrix(columns, values, ends)

    def read(self, lines: Lines, zero_based: bool | str) -> Any:
        """Return the features of all rows; more bytes than `LARGEST_X` are refused if their text is much shorter."""
        pieces, n_bytes = [], 0
        for X in self.parse(lines, zero_based):
            pieces.append(X)
            n_bytes += X.data.nbytes
            if n_bytes > max(LARGEST_X, X_PER_BYTE * self.n_bytes):
                widest = max(self.attributes, key=lambda attribute: attribute.n_columns)
                problem = f"X takes more than {LARGEST_X:,} bytes; nominal attributes have a column for each value."
                problem = f"{problem} Leave out the largest with id_columns=[{widest.name!r}]."
                refuse(self.source, None, None, problem, kind="too-large")
        return stack_rows(pieces)

    def _find_base(self, rows: list[tuple[int, bytes]]) -> int:
        """Return the index of the first attribute: 0, or 1 as in Clus; by the first row that tells.

        A row tells if it has index 0, the index one past the last, or labels under only one of the two readings.
        """
        at, n = self.kinds.index("labels"), len(self.attributes)
        for _, raw in rows:
            indices = {int(index) for index in re.findall(rb"[{,]\s*+(\d{1,18})\s", raw)} & {0, at, at + 1, n}
            if 0 in indices or n in indices or len(indices) == 1:
                return 0 if 0 in indices or (at in indices and n not in indices) else 1
        problem = "no row tells whether indices begin at 0 or at 1; say it with zero_based."
        raise DatasetError.at(display_name(self.source), None, None, problem, kind="index-base")

    def _matrix(self, columns: list[int], values: list[float], ends: list[int]) -> Any:
        shape = len(ends) - 1, self.starts[-1]
        if self.base is None:
            X = np.zeros(shape, self.dtype)
            X[np.repeat(np.arange(shape[0]), np.diff(ends)), np.array(columns, int)] = values
            return X
        matrix = sparse.csr_matrix((np.array(values, self.dtype), np.array(columns, np.int32), ends), shape=shape)
        matrix.sort_indices()
        return matrix

    def _parse_row(self, line: str, columns: list[int], values: list[float]) -> None:
        """Append the columns and values of a line, and keep its labels."""
        labels, fields = list[str](), self._split_row(line)
        is_odd = not line.isascii() or "_" in line or "nan" in line.lower()  # which float reads, and ARFF has not
        for k, token in fields.items():
            kind, column = self.kinds[k], self.starts[k]
            try:
                if kind == "numeric":
                    number = math.nan if token == "?" else float(token)
                    if abs(number) > self.largest or (is_odd and not _NUMBER.fullmatch(token)):
                        raise ValueError
                    columns.append(column)
                    values.append(number)
                elif kind == "labels":
                    labels = self._parse_labels(token)
                elif kind == "nominal" and token == "?":
                    columns.extend(range(column, self.starts[k + 1]))
                    values.extend([math.nan] * (self.starts[k + 1] - column))
                elif kind == "nominal":
                    columns.append(column + self.attributes[k].values[unquote(token)])
                    values.append(1.0)
            except (KeyError, ValueError) as fault:
                wanted = "one of its values" if kind == "nominal" else f"a number of {self.dtype}"
                problem = f"wanted {wanted} or ? for {self.attributes[k].name!r}, got {quoted(token)}."
                problem = str(fault) if kind == "labels" else problem
                raise _FaultError(list(fields).index(k), 3, FAULTS[kind], problem) from None
        if self.base is not None:  # a nominal attribute that a sparse row does not name has its first value
            defaults = [self.starts[k] for k in self.nominal if k not in fields]
            columns.extend(defaults)
            values.extend([1.0] * len(defaults))
        self.labels.append(labels)

    def _split_row(self, line: str) -> dict[int, str]:
        """Return the text of each attribute that a line gives a value, in the order of the line."""
        n = len(self.attributes)
        if self.base is None:
            is_plain = not _NOT_PLAIN.search(line)
            tokens = line.split(",", n) if is_plain else [field[3] for field in split_fields(line, _DENSE, n)]
            if len(tokens) != n:
                problem = f"the row has {'more' if len(tokens) > n else 'fewer'} values than the {n} attributes."
                raise _FaultError(min(len(tokens), n), 1, "column-count", problem)
            return {k: token.strip(BLANKS) for k, token in enumerate(tokens)}
        fields: dict[int, str] = {}
        matches = split_fields(line, _SPARSE, n)
        for i, match in enumerate(matches if len(matches) > 1 or matches[0][3] else ()):
            _, index, token = match.groups()
            k = int(index[:18] or -1) - self.base
            if not 0 <= k < n or len(index) > 18 or k in fields:
                wanted = f"an index in {self.base} … {n - 1 + self.base}, once in a row, and a value"
                raise _FaultError(i, 2, "bad-index", f"wanted {wanted}; got {quoted(f'{index} {token}'.strip())}.")
            fields[k] = token
        return fields

    def _parse_labels(self, token: str) -> list[str]:
        """Return the names of the nodes of ``label@label…``, in quotes or not; none for ``?``."""
        text, names = token[1:-1] if token[:1] in ("'", '"') else token, list[str]()
        if text.count("@") >= MOST_LABELS:
            raise ValueError(f"the row has more than {MOST_LABELS:,} labels.")
        for label in text.split("@") if text != "?" else ():
            if label not in self.name_of:  # a path, where the taxonomy takes them, or blanks around a name
                name = label.strip(BLANKS)
                node = self.taxonomy.find(name) if 0 < len(name) <= LONGEST_PATH else None
                if node is None:
                    hint = self.taxonomy.suggestion(name[:LONGEST_PATH])
                    raise ValueError(f"the label {quoted(name)} is not in the hierarchy{hint}")
                self.name_of[label] = self.taxonomy.names[node]
            names.append(self.name_of[label])
        return names
