"""The rows of an ARFF-HMC file: lines of text → features and label ids; a malformed value is refused at its place.

A row is dense, ``1.5,?,red,a/b@c``, or sparse, ``{1 1.5, 4 a/b@c}``.
"""

from __future__ import annotations

import difflib
import io
import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import accumulate, chain
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import LARGEST_NUMBER, MOST_LABELS
from cladist.datasets.formats.arff.header import BLANKS, LABELS, NOMINAL, NUMERIC, Header, unquote
from cladist.errors import DatasetError
from cladist.files import Source, display_name, iterate_chunks, refuse
from cladist.taxonomy import Taxonomy

LONGEST_SHOWN = 60  # characters of a value in a message
LONGEST_PATH = 1_000  # characters of a label that is a path and not the name of a node
PIECE = 2**18  # values held as Python objects at a time
LARGEST_ONE_HOT = 2**28  # bytes for nominal attributes; more only where the text is long too
ONE_HOT_PER_BYTE = 64  # bytes for nominal attributes that a byte of text may become
MISSING = b"?"

_BLANK, _BLANKS = rb"[ \t\r\v\f]", BLANKS.replace("\n", "").encode()
_QUOTED = rb"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""


def _value_pattern(ends: bytes) -> re.Pattern[bytes]:
    """Return the pattern of a value between blanks; a percent sign behind a blank begins a comment."""
    letter = rb"[^ \t\r\v\f" + ends + rb"]"
    plain = rb"""(?!['"])%b*+(?:%b++(?!%%)%b++)*+""" % (letter, _BLANK, letter)
    return re.compile(rb"%b*+(%b|%b)%b*+" % (_BLANK, _QUOTED, plain, _BLANK), re.DOTALL)


_DENSE_VALUE, _SPARSE_VALUE = _value_pattern(b","), _value_pattern(b",}")
_BLANK_RUN = re.compile(_BLANK + rb"*+")
_INDEX = re.compile(rb"(\d++)%b++" % _BLANK)
_NUMBER = re.compile(rb"[+-]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?+\d++)?+")
_NOT_PLAIN = re.compile(rb"""['"%_{}]|nan""", re.IGNORECASE)  # what `split` and `float` would read otherwise
_FIRST_BYTE = re.compile(rb"^[ \t\r\v\f]*+([^ \t\r\v\f\n%])", re.MULTILINE)
_SPARSE_ROW = re.compile(rb"^[ \t\r\v\f]*+(\{.*+)$", re.MULTILINE)
_SPARSE_INDEX = re.compile(rb"[{,][ \t]*+(\d{1,18})[ \t]")
_FIELD = re.compile(r"""'(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?|[^,}]*+""")


class RowParser:
    """Parses the rows of one file; `add_labels` is called with line, column and label ids of each row."""

    def __init__(
        self, source: Source, header: Header, taxonomy: Taxonomy, dtype: np.dtype[Any], *, keeps_all: bool = True
    ) -> None:
        self.keeps_all = keeps_all  # whether the caller holds all matrices, which bounds their size
        self.source, self.header, self.taxonomy, self.dtype = source, header, taxonomy, dtype
        self.largest = LARGEST_NUMBER[dtype.name]
        self.widths = header.widths()
        self.first_columns = [0, *accumulate(self.widths)]
        self.numeric = [k for k, kind in enumerate(header.kinds) if kind == NUMERIC]
        self.numeric_columns = [self.first_columns[k] for k in self.numeric]
        self.labels_at = header.kinds.index(LABELS)
        self.codes = {k: {v.encode(): code for code, v in enumerate(values)} for k, values in header.values.items()}
        self.nodes = {name.encode("utf-8", "surrogatepass"): v for v, name in enumerate(taxonomy.names)}
        self.first_index: int | None = None  # of sparse rows; None: rows are dense
        self.line, self.number = b"", header.n_lines
        self.is_nominal = np.repeat(np.array(header.kinds) == NOMINAL, self.widths)
        self.n_bytes = self.n_one_hot = 0  # of text read, and of nominal attributes held by the caller

    def parse(
        self, stream: IO[bytes], zero_based: bool | str, add_labels: Callable[[int, int, list[int]], None]
    ) -> Iterator[Any]:
        """Yield the features of all rows as matrices of some megabytes; the first row says which kind they are."""
        first = None
        for block in iterate_chunks(self.source, stream, first_line=self.number + 1):
            if first is None and (first := _FIRST_BYTE.search(block)) and first[1] == b"{":
                self.first_index = self._find_first_index(block, zero_based)
            self.n_bytes += len(block)
            rows: list[Any] = []
            n_values = 0
            for line in io.BytesIO(block):
                self.line, self.number = line.rstrip(b"\n"), self.number + 1
                start = len(self.line) - len(self.line.lstrip(_BLANKS))
                if self.line[start : start + 1] in (b"", b"%"):
                    continue
                row, labels = self._parse_row(start)
                add_labels(self.number, start + 1, labels)
                rows.append(row)
                n_values += len(row) if self.first_index is None else len(row[0])
                if n_values >= PIECE:
                    yield self._matrix(rows)
                    rows, n_values = [], 0
            if rows:
                yield self._matrix(rows)
        if first is None:
            refuse(self.source, None, None, "there are no rows below @data.", kind="no-rows")

    def _find_first_index(self, block: bytes, zero_based: bool | str) -> int:
        """Return the index of the first attribute: 0, or 1 as in Clus; "auto": by the first row that tells.

        A row tells if it has index 0, the index one past the last, or labels under only one of the two readings.
        """
        if zero_based != "auto":
            return 0 if zero_based else 1
        at, n = self.labels_at, len(self.header.kinds)
        for row in _SPARSE_ROW.finditer(block):
            indices = {int(match[1]) for match in _SPARSE_INDEX.finditer(row[1])} & {0, at, at + 1, n}
            if 0 in indices or n in indices or len(indices) == 1:
                return 0 if 0 in indices or (at in indices and n not in indices) else 1
        problem = "no row tells whether indices begin at 0 or at 1; say it with zero_based."
        raise DatasetError.at(display_name(self.source), None, None, problem, kind="index-base")

    def _matrix(self, rows: list[Any]) -> Any:
        if self.first_index is None:
            X = np.array(rows).astype(self.dtype)
            self._count_one_hot(len(rows) * int(self.is_nominal.sum()) * X.itemsize)
            return X
        indptr = np.cumsum([0, *(len(columns) for columns, _ in rows)])
        indices = np.fromiter(chain.from_iterable(columns for columns, _ in rows), np.int32, int(indptr[-1]))
        values = np.fromiter(chain.from_iterable(values for _, values in rows), self.dtype, int(indptr[-1]))
        self._count_one_hot(int(self.is_nominal[indices].sum()) * (values.itemsize + indices.itemsize))
        X = sparse.csr_matrix((values, indices, indptr), shape=(len(rows), self.first_columns[-1]))
        X.sort_indices()
        return X

    def _count_one_hot(self, n_bytes: int) -> None:
        self.n_one_hot = n_bytes + (self.n_one_hot if self.keeps_all else 0)
        if self.n_one_hot > max(LARGEST_ONE_HOT, ONE_HOT_PER_BYTE * self.n_bytes):
            k = max(self.header.values, key=lambda k: len(self.header.values[k]))
            name, n_values = self.header.names[k], len(self.header.values[k])
            problem = f"the columns of nominal attributes take more than {LARGEST_ONE_HOT:,} bytes"
            advice = f"{name!r} alone has {n_values:,} values. Leave it out with id_columns=[{name!r}]."
            refuse(self.source, None, None, f"{problem}; {advice}", kind="too-large")

    # ---------------------------------------------------------------- rows

    def _parse_row(self, start: int) -> tuple[Any, list[int]]:
        """Return the features of the current line, an array or lists of columns and values, and its label ids."""
        is_sparse = self.line[start : start + 1] == b"{"
        if is_sparse != (self.first_index is not None):
            problem = "dense rows and sparse rows in braces do not mix in a file; the first row is"
            self._refuse(start, f"{problem} {'dense' if is_sparse else 'sparse'}.", "mixed-rows")
        text = self.line.strip(_BLANKS)
        is_closed = is_sparse and text.endswith(b"}")
        text = text[1:-1] if is_closed else text
        if (is_closed or not is_sparse) and not _NOT_PLAIN.search(text):
            with suppress(KeyError, ValueError):  # missing nominal values and errors take the longer way
                return self._parse_plain_sparse(text) if is_sparse else self._parse_plain(text)
        columns, values, labels = list[int](), list[float](), list[int]()
        tokens = self._sparse_tokens(start + 1) if is_sparse else self._dense_tokens()
        seen = set[int]()
        for k, position, token in tokens:
            seen.add(k)
            kind, column = self.header.kinds[k], self.first_columns[k]
            if kind == LABELS:
                labels = self._parse_labels(position, token)
            elif kind == NOMINAL and token == MISSING:
                columns.extend(range(column, column + self.widths[k]))
                values.extend([math.nan] * self.widths[k])
            elif kind == NOMINAL:
                columns.append(column + self._parse_nominal(k, position, token))
                values.append(1.0)
            elif kind == NUMERIC:
                columns.append(column)
                values.append(self._parse_number(k, position, token))
        if is_sparse:
            return self._with_defaults(columns, values, seen), labels
        row = np.zeros(self.first_columns[-1])
        row[columns] = values
        return row, labels

    def _parse_plain(self, text: bytes) -> tuple[npt.NDArray[np.float64], list[int]]:
        """Parse a dense row without quotes and comments; a KeyError or ValueError if anything is unusual."""
        fields = text.split(b",", len(self.widths))
        if len(fields) != len(self.widths):
            raise ValueError
        row = np.zeros(self.first_columns[-1])
        row[self.numeric_columns] = [math.nan if (f := fields[k]) == MISSING else float(f) for k in self.numeric]
        if (np.abs(row) > self.largest).any():
            raise ValueError
        for k, codes in self.codes.items():
            row[self.first_columns[k] + codes[fields[k].strip(_BLANKS)]] = 1.0
        return row, self._plain_labels(fields[self.labels_at].strip(_BLANKS))

    def _parse_plain_sparse(self, text: bytes) -> tuple[tuple[list[int], list[float]], list[int]]:
        """Parse the inside of the braces of a sparse row, as `_parse_plain` does a dense one."""
        columns, values, labels, seen = list[int](), list[float](), list[int](), set[int]()
        for pair in text.split(b",", len(self.widths)):
            index, token = pair.split()
            if not index.isdigit():
                raise ValueError
            k = int(index) - (self.first_index or 0)
            if k < 0 or k in seen or k >= len(self.widths):
                raise ValueError
            seen.add(k)
            kind = self.header.kinds[k]
            if kind == LABELS:
                labels = self._plain_labels(token)
            elif kind == NUMERIC:
                columns.append(self.first_columns[k])
                values.append(math.nan if token == MISSING else float(token))
            elif kind == NOMINAL:
                columns.append(self.first_columns[k] + self.codes[k][token])
                values.append(1.0)
        if any(abs(value) > self.largest for value in values):
            raise ValueError
        return self._with_defaults(columns, values, seen), labels

    def _plain_labels(self, text: bytes) -> list[int]:
        if text.count(b"@") >= MOST_LABELS:
            raise ValueError
        return [] if text == MISSING else [self.nodes[label] for label in text.split(b"@")]

    def _with_defaults(self, columns: list[int], values: list[float], seen: set[int]) -> tuple[list[int], list[float]]:
        """Return the entries of a sparse row; a nominal attribute that it does not name has its first value."""
        defaults = [self.first_columns[k] for k in self.codes if k not in seen]
        return columns + defaults, values + [1.0] * len(defaults)

    def _dense_tokens(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield attribute, position and text of each value."""
        position, names = 0, self.header.names
        for k, name in enumerate(names):
            if k and self.line[position : position + 1] in (b"", b"%"):
                problem = f"the row ends after {k} of {len(names)} values; {name!r} is missing."
                self._refuse(position, problem, "column-count")
            if k and self.line[position : position + 1] != b",":
                self._refuse_comma(k - 1, position)
            start, token, position = self._token(k, _DENSE_VALUE, position + (k > 0))
            yield k, start, token
        self._check_row_end(len(names) - 1, position)

    def _sparse_tokens(self, position: int) -> Iterator[tuple[int, int, bytes]]:
        """Yield attribute, position and text of each value of a row whose brace is before `position`."""
        seen, k, names, base = set[int](), 0, self.header.names, self.first_index or 0
        position = _skip_blanks(self.line, position)
        is_open = self.line[position : position + 1] != b"}"
        while is_open:
            position = _skip_blanks(self.line, position)
            match = _INDEX.match(self.line, position)
            if match is None:
                self._refuse_pair(position)
            k = int(match[1][:18]) - base
            if len(match[1]) > 18 or not 0 <= k < len(names):
                problem = f"the index of {self._show_field(position)!r} is not in {base} … {len(names) - 1 + base}."
                self._refuse(position, problem, "index-range")
            if k in seen:
                problem = f"the row has a second value for {names[k]!r}: {self._show_field(position)!r}."
                self._refuse(position, problem, "repeated-index")
            seen.add(k)
            start, token, position = self._token(k, _SPARSE_VALUE, match.end())
            yield k, start, token
            is_open = self.line[position : position + 1] == b","
            if position == len(self.line):
                self._refuse_pair(position)
            if not is_open and self.line[position : position + 1] != b"}":
                self._refuse_comma(k, position)
            position += is_open
        self._check_row_end(k, _skip_blanks(self.line, position + 1))

    def _token(self, k: int, pattern: re.Pattern[bytes], position: int) -> tuple[int, bytes, int]:
        """Return start and text of the value at this position, and the position after it and its blanks."""
        match = pattern.match(self.line, position)
        if match is None:
            start = _skip_blanks(self.line, position)
            problem = f"the quote of {self._show_field(start)!r} is not closed on its line."
            self._refuse(start, problem, "unclosed-quote")
        if self.header.kinds[k] == NUMERIC and b"%" in match[1]:  # a comment may follow a number without a blank
            number = match[1].partition(b"%")[0]
            return match.start(1), number.rstrip(_BLANKS), match.start(1) + len(number)
        return match.start(1), match[1], match.end()

    def _check_row_end(self, k: int, position: int) -> None:
        """Refuse a line on which more stands behind the row than a comment."""
        rest = self.line[position : position + 1]
        if rest in (b"", b"%"):
            return
        if rest == b"{" or (rest == b"," and self.line[position + 1 :].lstrip(_BLANKS).startswith(b"{")):
            self._refuse(position, "the row has a weight in braces; weights are not read, remove them.", "row-weight")
        if rest == b",":
            problem = f"the row has more values than the {len(self.widths)} attributes of the header."
            self._refuse(position, problem, "column-count")
        self._refuse_comma(k, position)

    # ---------------------------------------------------------------- values

    def _parse_number(self, k: int, position: int, token: bytes) -> float:
        if token == MISSING:
            return math.nan
        match = _NUMBER.match(token)
        if match is not None and token[match.end() : match.end() + 1] in (b" ", b"\t", b"\r", b"\v", b"\f"):
            end = position + _skip_blanks(token, match.end())
            if k + 1 == len(self.widths):
                self._check_row_end(k, end)
            self._refuse_comma(k, end)
        number = float(token) if match is not None and match.end() == len(token) else math.nan
        if self.largest < abs(number) < math.inf:
            advice = "does not fit into this dtype; read the file with dtype=np.float64."
            self._refuse(position, f"{self._show_field(position)!r} {advice}", "number-range")
        if not math.isfinite(number):
            wanted, got = f"wanted a number or ? for {self.header.names[k]!r}", self._show_field(position)
            self._refuse(position, f"{wanted}, got {got!r}.", "bad-number")
        return number

    def _parse_nominal(self, k: int, position: int, token: bytes) -> int:
        value = unquote(token.decode("utf-8", "backslashreplace")) if token[:1] in (b"'", b'"') else None
        code = self.codes[k].get(token if value is None else value.encode())
        if code is None:
            shown, values = self._show_field(position), self.header.values[k]
            near = difflib.get_close_matches(shown, values[:20_000], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; missing is written ?."
            problem = f"{shown!r} is not among the values of {self.header.names[k]!r}{hint}"
            self._refuse(position, problem, "unknown-value")
        return code

    def _parse_labels(self, position: int, token: bytes) -> list[int]:
        """Return the nodes of ``label@label…``, in quotes or not; none for ``?``."""
        if token[:1] in (b"'", b'"'):
            position, token = position + 1, token[1:-1]
        labels: list[int] = []
        for label in token.split(b"@", MOST_LABELS) if token != MISSING else ():
            start = position + len(label) - len(label.lstrip(_BLANKS))
            name = label.strip(_BLANKS)
            if not name:
                self._refuse(start, "a label is empty; single @ join labels, and ? stands for none.", "empty-label")
            if len(labels) == MOST_LABELS:
                self._refuse(start, f"the row has more than {MOST_LABELS:,} labels.", "label-count")
            labels.append(self._find_node(start, name))
            position += len(label) + 1
        return labels

    def _find_node(self, position: int, label: bytes) -> int:
        """Return the node that a label names or, where the taxonomy takes paths, the one at the end of its path."""
        node = self.nodes.get(label)
        name = label.decode("utf-8", "backslashreplace") if node is None else ""
        if node is None and len(name) <= LONGEST_PATH:
            node = self.taxonomy.find(name)
        if node is None:
            shown = name if len(name) <= LONGEST_SHOWN else name[:LONGEST_SHOWN] + "…"
            hint = f"is not in the hierarchy{self.taxonomy.suggestion(shown)}"
            if len(name) > LONGEST_PATH:
                most = f"{LONGEST_PATH:,} characters, the most of a label that is a path"
                hint = f"is no node's name, and has more than {most}."
            self._refuse(position, f"the label {shown!r} {hint}", "unknown-label")
        return node

    # ---------------------------------------------------------------- errors

    def _refuse(self, position: int, problem: str, kind: str) -> NoReturn:
        refuse(self.source, self.number, position + 1, problem, kind=kind)

    def _refuse_comma(self, k: int, position: int) -> NoReturn:
        wanted, got = f"wanted a comma behind the value of {self.header.names[k]!r}", self._show_field(position)
        self._refuse(position, f"{wanted}, got {got!r}; quote values with blanks.", "missing-comma")

    def _refuse_pair(self, position: int) -> NoReturn:
        if position == len(self.line):
            self._refuse(position, "the row is not closed with a brace on its line.", "unclosed-row")
        problem = f"wanted an index and a value as in {{1 0.5, 3 2}}, got {self._show_field(position)!r}."
        self._refuse(position, problem, "bad-index")

    def _show_field(self, position: int) -> str:
        """Return the value at this position, cut where it is long."""
        text = self.line[position : position + 4 * LONGEST_SHOWN + 4].decode("utf-8", "backslashreplace")
        field = _FIELD.match(text)[0].strip(BLANKS)  # type: ignore[index]
        return field if len(field) <= LONGEST_SHOWN else field[:LONGEST_SHOWN] + "…"


def _skip_blanks(text: bytes, position: int) -> int:
    return _BLANK_RUN.match(text, position).end()  # type: ignore[union-attr]
