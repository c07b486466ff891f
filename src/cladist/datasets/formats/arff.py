"""ARFF-HMC files: Weka's ARFF with the hierarchical class attribute of Clus (Vens et al. 2008).

A row is dense, ``1.5,?,red,a/b@c``, or sparse, ``{1 1.5, 4 a/b@c}``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, islice, zip_longest
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import LARGEST_NUMBER, MOST_LABELS, Dataset, as_objects, check_float, stack_rows
from cladist.datasets.formats import arff_header
from cladist.datasets.formats.arff_header import BLANKS, DENSE, SPARSE, Attribute, FaultError, Hierarchy, Lines
from cladist.errors import ParameterError, one_of, quoted
from cladist.files import Source, display_name, iterate_byte_lines, open_for_reading, refuse
from cladist.taxonomy import Taxonomy, as_taxonomy

Rows = tuple[Any, list[list[str]], list[int]]  # features, labels and line numbers
Place = tuple[Source, int, int]  # file, line and column

PARTS_OF_FILES = {1: (), 2: ("train", "test"), 3: ("train", "validation", "test")}  # by the number of files
LONGEST_PATH = 1_000  # characters of a label that is a path and not the name of a node
PIECE = 2**16  # values held as Python objects at a time
LOOKAHEAD, MOST_LOOKAHEAD = 1_000, 2**24  # sparse rows, and their bytes, that must tell whether indices begin at 0
LARGEST_X = 2**28  # bytes; more only where the text is long too, since nominal attributes have a column per value
X_PER_BYTE = 64  # bytes that a byte of text may become
FAULTS = {"numeric": "bad-number", "nominal": "unknown-value", "labels": "unknown-label"}
_NOT_PLAIN = re.compile(r"""['"%{]""")  # in a dense row that cannot be split at commas
_NUMBER = re.compile(r"\s*+[-+.\deE]++\s*+|\?", re.ASCII)


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
    first: RowParser | None = None
    Xs, labels, places, ends = list[Any](), list[list[str]](), list[Place](), [0]
    for source in sources:
        with open_for_reading(source) as stream:
            lines = iterate_byte_lines(source, stream)
            attributes = arff_header.read_header(source, lines, ids)
            if first:
                _check_header(source, attributes, first, has_taxonomy=taxonomy is not None)
            tree = arff_header.read_hierarchy(source, attributes, hierarchy, on_cycle) if tree is None else tree
            parser = RowParser(source, attributes, tree, kind)
            for X, row_labels, numbers in parser.parse(lines, zero_based):
                Xs.append(X)
                labels += row_labels
                places += [(source, number, 1) for number in numbers]
                parser.check_size(X)
        ends.append(len(labels))
        first = first or parser
        zero_based = zero_based if first.base is None else first.base == 0
    assert tree is not None
    assert first is not None
    y = as_y(labels, places, tree, multilabel)
    parts: Any = {f"{part}_rows": slice(*ends[k : k + 2]) for k, part in enumerate(PARTS_OF_FILES[len(sources)])}
    return Dataset(stack_rows(Xs), y, tree, first.feature_names, display_name(path), **parts)


def read_arff_rows(path: Source, *, zero_based: bool | Literal["auto"] = "auto") -> Iterator[tuple[Any, list[str]]]:
    """Yield rows of features, some megabytes at a time, with the columns' names; labels are checked and left out."""
    for parser, (X, _, _) in read_parsed(path, None, zero_based):
        yield X, parser.feature_names


def read_parsed(path: Source, taxonomy: Taxonomy | None, zero_based: Any) -> Iterator[tuple[RowParser, Rows]]:
    """Yield the rows of a file, some megabytes at a time, with their parser; None: the taxonomy of the header."""
    with open_for_reading(path) as stream:
        lines = iterate_byte_lines(path, stream)
        attributes = arff_header.read_header(path, lines)
        tree = arff_header.read_hierarchy(path, attributes) if taxonomy is None else taxonomy
        parser = RowParser(path, attributes, tree, np.dtype(np.float32))
        for rows in parser.parse(lines, zero_based):
            yield parser, rows


def as_y(labels: list[list[str]], places: list[Place], taxonomy: Taxonomy, multilabel: bool | str) -> Any:
    """Return y: the lists of labels, or an array if each row has one label that implies its others.

    Files may write ``2@2/1@2/1/3`` for ``2/1/3``. Ids are topological, so only the highest can imply the others.
    """
    lowest = []
    for names, place in zip(labels, places, strict=True) if multilabel is not True else ():
        nodes = {taxonomy.index(name) for name in names}
        lowest.append(max(nodes, default=-1))
        if len(nodes) > 1 and not nodes <= {lowest[-1], *taxonomy.ids_above(lowest[-1]).tolist()}:
            if multilabel == "auto":
                return labels
            refuse(*place, "the row has several labels; read with multilabel=True.", kind="several-labels")
    if -1 in lowest:
        problem = "the row has no label; if that is meant, read with multilabel=True."
        refuse(*places[lowest.index(-1)], problem, kind="no-label")
    return labels if multilabel is True else as_objects([taxonomy.names[node] for node in lowest])


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


class RowParser:
    """Parses the rows of one file."""

    def __init__(self, source: Source, attributes: list[Attribute], taxonomy: Taxonomy, dtype: np.dtype[Any]) -> None:
        self.source, self.attributes, self.taxonomy, self.dtype = source, attributes, taxonomy, dtype
        self.largest = LARGEST_NUMBER[dtype.name]
        self.kinds = [attribute.kind for attribute in attributes]
        self.nominal = [k for k, kind in enumerate(self.kinds) if kind == "nominal"]
        self.starts = [0, *accumulate(len(attribute.columns) for attribute in attributes)]
        self.feature_names = [name for attribute in attributes for name in attribute.columns]
        self.name_of = {name: name for name in taxonomy.names}
        self.base: int | None = None  # index of the first attribute in sparse rows; None: rows are dense
        self.n_text = self.n_parsed = 0  # bytes

    def parse(self, lines: Lines, zero_based: bool | str) -> Iterator[Rows]:
        """Yield all rows, some megabytes at a time; the first one says whether they are dense or sparse."""
        rows: Lines = ((number, raw) for number, raw in lines if raw.strip()[:1] not in (b"", b"%"))
        first = next(rows, None)
        if first is None:
            refuse(self.source, None, None, "there are no rows below @data.", kind="no-rows")
        rows = chain([first], rows)
        if first[1].lstrip().startswith(b"{"):
            head = list[tuple[int, bytes]]()
            self.base = self._find_base(rows, head) if zero_based == "auto" else int(not zero_based)
            rows = chain(head, rows)
        columns, values, ends, labels, numbers = list[int](), list[float](), [0], list[list[str]](), list[int]()
        for number, raw in rows:
            self.n_text += len(raw)
            line = raw.decode("utf-8", "backslashreplace").rstrip(BLANKS)
            try:
                labels.append(self._parse_row(line, columns, values))
            except FaultError as fault:
                i, group, kind, problem = fault.args
                match = next(islice((DENSE if self.base is None else SPARSE).finditer(line), i, None), None)
                refuse(self.source, number, (match.start(group) if match else len(line)) + 1, problem, kind=kind)
            numbers.append(number)
            ends.append(len(columns))
            if (len(values) if self.base is not None else len(ends) * self.starts[-1]) >= PIECE:
                yield self._matrix(columns, values, ends), labels, numbers
                columns, values, ends, labels, numbers = [], [], [0], [], []
        if numbers:
            yield self._matrix(columns, values, ends), labels, numbers

    def check_size(self, X: Any) -> None:
        """Refuse more bytes of features than `LARGEST_X` if their text is much shorter."""
        self.n_parsed += X.data.nbytes
        if self.n_parsed > max(LARGEST_X, X_PER_BYTE * self.n_text):
            widest = max(self.attributes, key=lambda attribute: len(attribute.columns))
            problem = f"X takes more than {LARGEST_X:,} bytes; nominal attributes have a column for each value."
            problem = f"{problem} Leave out the largest with id_columns=[{widest.name!r}]."
            refuse(self.source, None, None, problem, kind="too-large")

    def _find_base(self, rows: Lines, head: list[tuple[int, bytes]]) -> int:  # noqa: RET503 - `refuse` does not return
        """Return the index of the first attribute: 0, or 1 as in Clus; by the first row that tells, read into `head`.

        A row tells if it has index 0, the index one past the last, or labels under only one of the two readings.
        """
        at, n, n_bytes = self.kinds.index("labels"), len(self.attributes), 0
        for number, raw in islice(rows, LOOKAHEAD):
            head.append((number, raw))
            indices = {int(index) for index in re.findall(rb"[{,]\s*+(\d{1,18})\s", raw)} & {0, at, at + 1, n}
            if 0 in indices or n in indices or len(indices) == 1:
                return 0 if 0 in indices or (at in indices and n not in indices) else 1
            n_bytes += len(raw)
            if n_bytes > MOST_LOOKAHEAD:
                break
        problem = "no row tells whether indices begin at 0 or at 1; say it with zero_based."
        refuse(self.source, None, None, problem, kind="index-base")

    def _matrix(self, columns: list[int], values: list[float], ends: list[int]) -> Any:
        shape = len(ends) - 1, self.starts[-1]
        if self.base is None:
            X = np.zeros(shape, self.dtype)
            X[np.repeat(np.arange(shape[0]), np.diff(ends)), np.array(columns, int)] = values
            return X
        matrix = sparse.csr_matrix((np.array(values, self.dtype), np.array(columns, np.int32), ends), shape=shape)
        matrix.sort_indices()
        return matrix

    def _parse_row(self, line: str, columns: list[int], values: list[float]) -> list[str]:
        """Append the columns and values of a line, and return its labels."""
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
                    columns.append(column + self.attributes[k].values[arff_header.unquote(token)])
                    values.append(1.0)
            except (KeyError, ValueError) as fault:
                wanted = "one of its values" if kind == "nominal" else f"a number of {self.dtype}"
                problem = f"wanted {wanted} or ? for {self.attributes[k].name!r}, got {quoted(token)}."
                problem = str(fault) if kind == "labels" else problem
                raise FaultError(list(fields).index(k), 3, FAULTS[kind], problem) from None
        if self.base is not None:  # a nominal attribute that a sparse row does not name has its first value
            defaults = [self.starts[k] for k in self.nominal if k not in fields]
            columns.extend(defaults)
            values.extend([1.0] * len(defaults))
        return labels

    def _split_row(self, line: str) -> dict[int, str]:
        """Return the text of each attribute that a line gives a value, in the order of the line."""
        n = len(self.attributes)
        if self.base is None:
            is_plain = not _NOT_PLAIN.search(line)
            tokens = (
                line.split(",", n) if is_plain else [field[3] for field in arff_header.split_fields(line, DENSE, n)]
            )
            if len(tokens) != n:
                problem = f"the row has {'more' if len(tokens) > n else 'fewer'} values than the {n} attributes."
                raise FaultError(min(len(tokens), n), 1, "column-count", problem)
            return {k: token.strip(BLANKS) for k, token in enumerate(tokens)}
        fields: dict[int, str] = {}
        matches = arff_header.split_fields(line, SPARSE, n)
        for i, match in enumerate(matches if len(matches) > 1 or matches[0][3] else ()):
            _, index, token = match.groups()
            k = int(index[:18] or -1) - self.base
            if not 0 <= k < n or len(index) > 18 or k in fields:
                wanted = f"an index in {self.base} … {n - 1 + self.base}, once in a row, and a value"
                raise FaultError(i, 2, "bad-index", f"wanted {wanted}; got {quoted(f'{index} {token}'.strip())}.")
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
