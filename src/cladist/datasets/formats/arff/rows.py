"""The rows of an ARFF-HMC file: chunks of text, parsed piece by piece or refused at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from cladist.datasets.formats.arff.header import Header, unquoted
from cladist.datasets.formats.arff.matrix import DenseRows, SparseRows
from cladist.datasets.formats.arff.names import LONGEST_PATH, name_table, spellings
from cladist.datasets.formats.arff.problems import problem_of
from cladist.datasets.formats.text_blocks import Block
from cladist.errors import DatasetError
from cladist.files import Source, shown_name, whole_lines
from cladist.kernels import arff_tokens as tokens
from cladist.taxonomy import Taxonomy

LARGEST_ONE_HOT = 2**28  # bytes for nominal attributes; more only where the text is long too
ONE_HOT_A_BYTE = 64  # bytes for nominal attributes that a byte of text may become
NEAR = 4 * LONGEST_PATH + 4  # bytes that a message may be about

_FIRST_BYTE = re.compile(rb"^[ \t\r\v\f]*+([^ \t\r\v\f\n%])", re.MULTILINE)
_SPARSE_ROW = re.compile(rb"^[ \t\r\v\f]*+(\{.*+)$", re.MULTILINE)
_INDEX = re.compile(rb"[{,][ \t]*+(\d{1,18})[ \t]")


@dataclass
class LabelledRows:
    """Labels of some rows, good until the next are read: node ids, how many up to each row's end, each row's start."""

    chunk: Block
    ids: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]


class Parser:
    """Parses the rows of one file: yields their labels, keeps their features in `rows`."""

    def __init__(
        self, source: Source, header: Header, taxonomy: Taxonomy, dtype: np.dtype[Any], *, by_path: bool
    ) -> None:
        self.source, self.header, self.taxonomy, self.dtype = source, header, taxonomy, dtype
        self.by_path = by_path  # rows may name nodes by their paths where those are not the names
        self.rows: DenseRows | SparseRows | None = None
        self.n_bytes = 0
        self.codes: dict[int, dict[str, int]] = {}

    def parse(self, stream: IO[bytes], zero_based: bool | str) -> Iterator[LabelledRows]:
        """Yield the labels of all rows, some at a time; the first row says which kind they are."""
        lines_before = self.header.n_lines
        for block in whole_lines(self.source, stream, first_line=lines_before + 1):
            if self.rows is None and (first := _FIRST_BYTE.search(block)):
                names = ((name, v) for v, name in enumerate(self.taxonomy.names))
                table = name_table(self.header, list(spellings(self.taxonomy) if self.by_path else names))
                if first[1] == b"{":
                    first_index = self._first_index(block, zero_based)
                    self.rows = SparseRows(self.header, table, self.dtype, first_index)
                else:
                    self.rows = DenseRows(self.header, table, self.dtype)
            self.n_bytes += len(block)
            if self.rows is not None:
                yield from self._pieces(Block(self.source, np.frombuffer(block, np.uint8), lines_before), self.rows)
            lines_before += block.count(b"\n")
            del block  # before the next is read

    def _first_index(self, block: bytes, zero_based: bool | str) -> int:
        """Return the index of the first attribute: 0, or 1 as in Clus; "auto": the first row that tells.

        A row tells if it has index 0, the index one past the last, or labels under only one of the two readings.
        """
        if zero_based != "auto":
            return 0 if zero_based else 1
        at, n = self.header.labels_at, len(self.header.kinds)
        telling = {0, at, at + 1, n}
        for row in _SPARSE_ROW.finditer(block):
            told = {index for found in _INDEX.finditer(row[1]) if (index := int(found[1])) in telling}
            if 0 in told or n in told or len(told) == 1:
                return 0 if 0 in told or (at in told and n not in told) else 1
        raise DatasetError(
            f"{shown_name(self.source)}: no row tells whether indices begin at 0 or at 1; say it with zero_based."
        )

    def _pieces(self, chunk: Block, rows: DenseRows | SparseRows) -> Iterator[LabelledRows]:
        position = 0
        while position < len(chunk.text):
            position, n_rows, n_labels, n_unsure, error, attribute = rows.parse(chunk.text, position)
            if error != tokens.FINE:
                self._refuse(chunk, rows, position, error, attribute)
            for where, of, start, end in rows.unsure[:n_unsure].tolist():
                rows.settle(where, of, self._read_value(chunk, rows, of, start, end))
            rows.keep(n_rows)
            if rows.n_one_hot_bytes > max(LARGEST_ONE_HOT, ONE_HOT_A_BYTE * self.n_bytes):
                self._refuse_one_hot()
            ids, ends, starts = rows.labels
            yield LabelledRows(chunk, ids[:n_labels], ends[:n_rows], starts[:n_rows])

    def _read_value(self, chunk: Block, rows: DenseRows | SparseRows, attribute: int, start: int, end: int) -> float:
        """Read what the kernel left to Python: a number whose last bit it could not prove, a value with escapes."""
        data = chunk.text[start:end].tobytes()
        if rows.is_numeric(attribute):
            number = float(data)
            if not abs(number) <= rows.largest:
                self._refuse(chunk, rows, start, tokens.BAD_NUMBER, attribute)
            return number
        if attribute not in self.codes:
            self.codes[attribute] = {value: code for code, value in enumerate(self.header.values[attribute])}
        code = self.codes[attribute].get(unquoted(data.decode("utf-8", "backslashreplace")))
        if code is None:
            self._refuse(chunk, rows, start, tokens.UNKNOWN_VALUE, attribute)
        return code

    def _refuse(
        self, chunk: Block, rows: DenseRows | SparseRows, position: int, error: int, attribute: int
    ) -> NoReturn:
        first_index = rows.first_index if isinstance(rows, SparseRows) else None
        near = chunk.text[position : position + NEAR].tobytes()
        chunk.refuse(position, problem_of(error, near, attribute, self.header, self.taxonomy, first_index))

    def _refuse_one_hot(self) -> NoReturn:
        values = self.header.values
        widest = max(values, key=lambda k: len(values[k]))
        name = list(self.header.names)[widest]
        raise DatasetError(
            f"{shown_name(self.source)}: the columns of nominal attributes take more than {LARGEST_ONE_HOT:,} bytes; "
            f"{name!r} alone has {len(values[widest]):,} values. Leave it out with id_columns=[{name!r}]."
        )
