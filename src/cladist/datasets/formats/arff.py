"""ARFF-HMC files: Weka's ARFF with the hierarchical class attribute of Clus (Vens et al. 2008).

A row is dense, ``1.5,?,red,a/b@c``, or sparse, ``{1 1.5, 4 a/b@c}``.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, chain, islice
from typing import IO, Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import LARGEST_NUMBER, MOST_LABELS, Dataset, as_objects, check_float, stack_rows
from cladist.datasets.formats.arff_header import (
    BLANKS,
    QUOTED,
    Header,
    Hierarchy,
    read_header,
    read_hierarchy,
    suggest,
    unquote,
)
from cladist.errors import DatasetError, one_of
from cladist.files import Source, display_name, iterate_chunks, open_for_reading, refuse
from cladist.taxonomy import Taxonomy, as_taxonomy

LONGEST_PATH = 1_000  # characters of a label that is a path and not the name of a node
PIECE = 2**18  # values held as Python objects at a time
LARGEST_X = 2**28  # bytes; more only where the text is long too, since nominal attributes have a column per value
X_PER_BYTE = 64  # bytes that a byte of text may become
MISSING = b"?"

# Possessive throughout: a line without its end must not be searched again from every position.
_BLANK, _BLANKS = rb"[ \t\r\v\f]", b" \t\r\v\f"
_NOT_PLAIN = re.compile(rb"""['"%_{]|nan""", re.IGNORECASE)  # what `split` and `float` would read otherwise
_FIRST_BYTE = re.compile(rb"^%b*+([^ \t\r\v\f\n%%])" % _BLANK, re.MULTILINE)
_SPARSE_INDEX = re.compile(rb"[{,][ \t]*+(\d{1,18})[ \t]")


def _field_pattern(index: bytes, ends: bytes) -> re.Pattern[bytes]:
    """Return the pattern of the mark before a field, its index and its value, between blanks.

    A percent sign behind a blank or a value in quotes begins a comment, which is a mark; so is any wrong byte.
    """
    letter = rb"[^ \t\r\v\f" + ends + rb"]"
    plain = rb"""(?!['"])%b*+(?:%b++(?!%%)%b++)*+""" % (letter, _BLANK, letter)
    value = rb"""%b|['"].*+|%b""" % (QUOTED.encode(), plain)
    return re.compile(rb"(\A\{?+|%%.*+|.)%b*+(%b)%b*+(%b)%b*+" % (_BLANK, index, _BLANK, value, _BLANK), re.DOTALL)


_DENSE, _SPARSE = _field_pattern(b"", b","), _field_pattern(rb"(?:\d++(?=[ \t\r\v\f]))?+", b",}")


def read_arff_hmc(
    path: Source,
    *,
    taxonomy: Any = None,
    hierarchy: Hierarchy = "auto",
    on_cycle: Literal["error", "drop"] = "error",
    multilabel: bool | Literal["auto"] = "auto",
    id_columns: str | Sequence[str] | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    dtype: npt.DTypeLike = np.float32,
) -> Dataset[Taxonomy]:
    r"""Read an ARFF file with a hierarchical attribute: features, labels and their taxonomy.

    Parameters
    ----------
    path : path or binary stream
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked.
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
        Attributes to leave out of `X`; those of type string and date are always left out.
    zero_based : bool or "auto"
        Whether indices of sparse rows begin at 0, as in Weka, or at 1, as in Clus; "auto": the first row that tells.
    dtype : float32 or float64
        The dtype of the features.

    Returns
    -------
    Dataset
        `X` is an array, or for sparse rows CSR with sorted indices. A missing value, ``?``, is NaN. A nominal
        attribute has a column ``name=value`` for each value. In a tree, a node's name is its path. `y` is an array of
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
    pieces, n_bytes = [], 0
    with open_for_reading(path) as stream:
        header = read_header(path, stream, ids)
        tree = read_hierarchy(path, header, hierarchy, on_cycle) if tree is None else tree
        header = header._replace(hierarchy="")  # it may be as long as the rest of the file
        rows = RowParser(path, header, tree, kind)
        for X in rows.parse(stream, zero_based):
            pieces.append(X)
            n_bytes += X.data.nbytes
            if n_bytes > max(LARGEST_X, X_PER_BYTE * rows.n_bytes):
                widest = max(header.attributes, key=lambda attribute: len(attribute.values))
                problem = f"the columns of nominal attributes take more than {LARGEST_X:,} bytes"
                advice = f"Leave it out with id_columns=[{widest.name!r}]."
                problem = f"{problem}; {widest.name!r} alone has {len(widest.values):,} values. {advice}"
                refuse(path, None, None, problem, kind="too-large")
    y = as_y(path, tree, rows.labels, rows.lines, multilabel)
    return Dataset(stack_rows(pieces), y, tree, feature_names=header.feature_names(), source=display_name(path))


def read_arff_rows(path: Source, *, zero_based: bool | Literal["auto"] = "auto") -> Iterator[tuple[Any, list[str]]]:
    """Yield rows of features, some megabytes at a time, with the columns' names; labels are checked and left out."""
    with open_for_reading(path) as stream:
        header = read_header(path, stream)
        rows = RowParser(path, header, read_hierarchy(path, header), np.dtype(np.float32))
        names = header.feature_names()
        for X in rows.parse(stream, zero_based):
            rows.labels.clear()
            rows.lines.clear()
            yield X, names


def as_y(source: Source, taxonomy: Taxonomy, rows: list[list[str]], lines: list[int], multilabel: bool | str) -> Any:
    """Return y: the lists of labels, or an array if each row has one label that implies its others.

    Files may write ``2@2/1@2/1/3`` for ``2/1/3``. Ids are topological, so only the highest can imply the others.
    """
    only: list[str | None] = []
    for labels, line in zip(rows, lines, strict=True) if multilabel is not True else ():
        nodes = {taxonomy.index(label) for label in labels}
        lowest = max(nodes, default=-1)
        if len(nodes) > 1 and not nodes <= {lowest, *taxonomy.ids_above(lowest).tolist()}:
            if multilabel == "auto":
                return rows
            shown = ", ".join(map(repr, labels[:3]))
            problem = f"the row has several labels ({shown} …); read the file with multilabel=True."
            refuse(source, line, 1, problem, kind="several-labels")
        only.append(taxonomy.names[lowest] if nodes else None)
    if None in only:
        problem = "the row has no label; if that is meant, read with multilabel=True."
        refuse(source, lines[only.index(None)], 1, problem, kind="no-label")
    return as_objects(only) if only else rows


class RowParser:
    """Parses the rows of one file; `labels` and `lines` get the labels and the line of each."""

    def __init__(self, source: Source, header: Header, taxonomy: Taxonomy, dtype: np.dtype[Any]) -> None:
        self.source, self.attributes, self.taxonomy, self.dtype = source, header.attributes, taxonomy, dtype
        self.largest = LARGEST_NUMBER[dtype.name]
        self.kinds = [attribute.kind for attribute in self.attributes]
        self.starts = [0, *accumulate(len(attribute.columns()) for attribute in self.attributes)]
        self.labels_at = self.kinds.index("labels")
        self.numeric = [k for k, kind in enumerate(self.kinds) if kind == "numeric"]
        self.numeric_columns = [self.starts[k] for k in self.numeric]
        self.columns_of = {
            k: {value: column for column, value in enumerate(attribute.values, self.starts[k])}
            for k, attribute in enumerate(self.attributes)
            if attribute.kind == "nominal"
        }
        self.name_of = {name.encode("utf-8", "surrogatepass"): name for name in taxonomy.names}
        self.base: int | None = None  # index of the first attribute in sparse rows; None: rows are dense
        self.line, self.indent, self.number, self.n_bytes = b"", 0, header.n_lines, 0
        self.labels: list[list[str]] = []
        self.lines: list[int] = []

    def parse(self, stream: IO[bytes], zero_based: bool | str) -> Iterator[Any]:
        """Yield the features of all rows as matrices of some megabytes; the first row says which kind they are."""
        first = None
        for block in iterate_chunks(self.source, stream, first_line=self.number + 1):
            if first is None and (first := _FIRST_BYTE.search(block)) and first[1] == b"{":
                self.base = self._find_base(block, zero_based)
            self.n_bytes += len(block)
            rows, n_values = list[Any](), 0
            for raw in io.BytesIO(block):
                self.line, self.number = raw.strip(_BLANKS + b"\n"), self.number + 1
                self.indent = len(raw) - len(raw.lstrip(_BLANKS))
                if self.line[:1] in (b"", b"%"):
                    continue
                rows.append(self._parse_row())
                self.lines.append(self.number)
                n_values += len(rows[-1]) if self.base is None else len(rows[-1][0])
                if n_values >= PIECE:
                    yield self._matrix(rows)
                    rows, n_values = [], 0
            if rows:
                yield self._matrix(rows)
        if first is None:
            refuse(self.source, None, None, "there are no rows below @data.", kind="no-rows")

    def _find_base(self, block: bytes, zero_based: bool | str) -> int:
        """Return the index of the first attribute: 0, or 1 as in Clus; "auto": by the first row that tells.

        A row tells if it has index 0, the index one past the last, or labels under only one of the two readings.
        """
        if zero_based != "auto":
            return 0 if zero_based else 1
        at, n = self.labels_at, len(self.attributes)
        for line in io.BytesIO(block):
            if line.lstrip(_BLANKS).startswith(b"{"):
                indices = {int(match[1]) for match in _SPARSE_INDEX.finditer(line)} & {0, at, at + 1, n}
                if 0 in indices or n in indices or len(indices) == 1:
                    return 0 if 0 in indices or (at in indices and n not in indices) else 1
        problem = "no row tells whether indices begin at 0 or at 1; say it with zero_based."
        raise DatasetError.at(display_name(self.source), None, None, problem, kind="index-base")

    def _matrix(self, rows: list[Any]) -> Any:
        if self.base is None:
            return np.array(rows).astype(self.dtype)
        indptr = np.cumsum([0, *(len(columns) for columns, _ in rows)])
        indices = np.fromiter(chain.from_iterable(columns for columns, _ in rows), np.int32, int(indptr[-1]))
        values = np.fromiter(chain.from_iterable(values for _, values in rows), self.dtype, int(indptr[-1]))
        X = sparse.csr_matrix((values, indices, indptr), shape=(len(rows), self.starts[-1]))
        X.sort_indices()
        return X

    def _parse_row(self) -> Any:
        """Return the features of the current line, an array or lists of columns and values; keep its labels."""
        if self.base is None and not _NOT_PLAIN.search(self.line):
            with suppress(LookupError, ValueError):  # missing nominal values, paths and errors take the longer way
                return self._parse_plain()
        columns, values, labels, fields = list[int](), list[float](), list[str](), self._split_line()
        for i, (k, token) in enumerate(fields.items()):
            kind, column = self.kinds[k], self.starts[k]
            if kind == "numeric":
                columns.append(column)
                values.append(math.nan if token == MISSING else self._parse_number(i, k, token))
            elif kind == "labels":
                labels = self._parse_labels(i, token)
            elif kind == "nominal" and token == MISSING:
                columns.extend(range(column, self.starts[k + 1]))
                values.extend([math.nan] * (self.starts[k + 1] - column))
            elif kind == "nominal":
                columns.append(self._find_column(i, k, token))
                values.append(1.0)
        self.labels.append(labels)
        if self.base is not None:  # a nominal attribute that a sparse row does not name has its first value
            defaults = [self.starts[k] for k in self.columns_of if k not in fields]
            return columns + defaults, values + [1.0] * len(defaults)
        row = np.zeros(self.starts[-1])
        row[columns] = values
        return row

    def _parse_plain(self) -> npt.NDArray[np.float64]:
        """Parse a dense row without quotes and comments; a LookupError or ValueError if anything is unusual."""
        fields = self.line.split(b",", len(self.attributes))
        labels = fields[self.labels_at].strip(_BLANKS)
        names = [] if labels == MISSING else [self.name_of[label] for label in labels.split(b"@", MOST_LABELS)]
        numbers = [math.nan if (field := fields[k]) == MISSING else float(field) for k in self.numeric]
        if len(fields) != len(self.attributes) or any(abs(number) > self.largest for number in numbers):
            raise ValueError
        row = np.zeros(self.starts[-1])
        row[self.numeric_columns] = numbers
        row[[columns[fields[k].strip(_BLANKS).decode()] for k, columns in self.columns_of.items()]] = 1.0
        self.labels.append(names)
        return row

    def _split_line(self) -> dict[int, bytes]:
        """Return the text of each attribute that the current line gives a value, in the order of the line."""
        n, is_sparse, fields = len(self.attributes), self.base is not None, dict[int, bytes]()
        if self.line.startswith(b"{") != is_sparse:
            kind = "sparse" if is_sparse else "dense"
            problem = f"dense rows and sparse rows in braces do not mix in a file; the first row is {kind}."
            self._refuse(0, problem, "mixed-rows", group=1)
        most = n + 3  # a value more than there are attributes, a brace and a comment
        pattern = _SPARSE if is_sparse else _DENSE
        matches = [match.groups() for match in islice(pattern.finditer(self.line), most)]
        mark, _, last = matches[-1]
        if last[:1] in (b"'", b'"') and not re.fullmatch(QUOTED.encode(), last, re.DOTALL):
            problem = f"the quote of {_show(last)!r} is not closed on its line."
            self._refuse(len(matches) - 1, problem, "unclosed-quote")
        if mark.startswith(b"%"):
            matches.pop()
        if is_sparse and len(matches) < most and matches.pop() != (b"}", b"", b""):
            self._refuse(len(matches) + 1, "the row is not closed with a brace at its end.", "unclosed-row")
        for i, (mark, index, token) in enumerate(matches if matches != [(b"{", b"", b"")] else ()):
            if i and mark != b",":
                problem = f"wanted a comma, got {_show(mark + token)!r}; quote values with blanks."
                self._refuse(i, problem, "missing-comma", group=1)
            k = self._parse_index(i, index, token, fields) if is_sparse else i
            fields[k] = token
            if not is_sparse and k == n - 1 and self.kinds[k] == "numeric" and b"%" in token:
                fields[k] = token.partition(b"%")[0]  # a comment needs no blank behind a number
                break
        if not is_sparse and len(fields) != n:
            problem = f"the row has {'more' if len(fields) > n else 'fewer'} values than the {n} attributes."
            self._refuse(min(len(fields), n), problem, "column-count", group=1)
        return fields

    def _parse_index(self, i: int, index: bytes, token: bytes, fields: Container[int]) -> int:
        """Return the attribute of an index of a sparse row that has values for the attributes `fields` already."""
        base, highest = self.base or 0, len(self.attributes) - 1
        k = int(index[:18] or b"-1") - base
        if len(index) > 18 or not 0 <= k <= highest or k in fields:
            wanted = f"an index in {base} … {highest + base}, once in a row, and a value as in {{1 0.5, 3 2}}"
            got = _show(index + b" " + token if index else token)
            self._refuse(i, f"wanted {wanted}; got {got!r}.", "bad-index", group=2)
        return k

    def _parse_number(self, i: int, k: int, token: bytes) -> float:
        try:
            number = float(token)
        except ValueError:
            number = math.nan
        if not abs(number) <= self.largest or b"_" in token:  # which Python's numbers may have
            if self.largest < abs(number) < math.inf:
                problem = f"{_show(token)!r} does not fit into this dtype; read the file with dtype=np.float64."
                self._refuse(i, problem, "number-range")
            wanted = f"wanted a number or ? for {self.attributes[k].name!r}"
            self._refuse(i, f"{wanted}, got {_show(token)!r}.", "bad-number")
        return number

    def _find_column(self, i: int, k: int, token: bytes) -> int:
        """Return the column of a value of a nominal attribute."""
        value = unquote(token.decode("utf-8", "backslashreplace"))
        column = self.columns_of[k].get(value)
        if column is None:
            name, values = self.attributes[k].name, self.attributes[k].values
            problem = f"{_show(token)!r} is not among the values of {name!r}{suggest(value, values)}"
            self._refuse(i, problem, "unknown-value")
        return column

    def _parse_labels(self, i: int, token: bytes) -> list[str]:
        """Return the names of the nodes of ``label@label…``, in quotes or not; none for ``?``."""
        offset = int(token[:1] in (b"'", b'"'))
        text, names = token[offset : len(token) - offset], list[str]()
        for label in text.split(b"@", MOST_LABELS) if text != MISSING else ():
            if len(names) == MOST_LABELS:
                self._refuse(i, f"the row has more than {MOST_LABELS:,} labels.", "label-count", offset)
            start = offset + len(label) - len(label.lstrip(_BLANKS))
            names.append(self.name_of.get(label) or self._find_name(i, start, label.strip(_BLANKS)))
            offset += len(label) + 1
        return names

    def _find_name(self, i: int, offset: int, label: bytes) -> str:
        """Return the name of the node that a label names or, where the taxonomy takes paths, whose path it is."""
        name = label.decode("utf-8", "backslashreplace")
        node = self.taxonomy.find(name) if len(name) <= LONGEST_PATH else None
        if not label:
            self._refuse(i, "a label is empty; single @ join labels, and ? stands for none.", "empty-label", offset)
        if node is None:
            hint = f"is not in the hierarchy{self.taxonomy.suggestion(_show(label))}"
            if len(name) > LONGEST_PATH:
                hint = f"is no node's name, and has more than {LONGEST_PATH:,} characters, the most of a path."
            self._refuse(i, f"the label {_show(label)!r} {hint}", "unknown-label", offset)
        return self.taxonomy.names[node]

    def _refuse(self, i: int, problem: str, kind: str, offset: int = 0, *, group: int = 3) -> NoReturn:
        """Raise an error about the mark, the index or the value (`group`) of field i of the current line."""
        matches = (_DENSE if self.base is None else _SPARSE).finditer(self.line)
        match = next(islice(matches, i, None), None)
        position = len(self.line) if match is None else match.start(group)
        refuse(self.source, self.number, self.indent + position + offset + 1, problem, kind=kind)


def _show(text: bytes) -> str:
    """Return a value for a message, cut where it is long."""
    shown = text[:244].decode("utf-8", "backslashreplace").strip(BLANKS)
    return shown if len(shown) <= 60 else shown[:60] + "…"
