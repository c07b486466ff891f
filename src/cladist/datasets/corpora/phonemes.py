"""Phonemes: frames of speech features, each labelled with a phoneme and stacked with its neighbours in time."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import groupby
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.datasets.corpora.htk import read_htk
from cladist.datasets.corpora.phonetics import phoneme_folding, phonetic_tree
from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.tables.records import check_column, read_records
from cladist.datasets.loaders.catalogue import files_below, parts_below
from cladist.errors import ParameterError, is_count
from cladist.files import Source, data_suffix, display_name, iterate_text_lines, open_for_reading, refuse
from cladist.taxonomy import Taxonomy, as_taxonomy

SAMPLES_PER_SECOND = 16_000  # of TIMIT, in which its label files count
MOST_SEGMENTS = 1_000_000  # of one utterance; TIMIT has some dozens
ID_COLUMNS = ("utterance", "phoneme")

_SEGMENT = re.compile(r"\s*([0-9]{1,15})\s+([0-9]{1,15})\s+(\S+)\s*", re.ASCII)
_LARGEST = float(np.finfo(np.float32).max)

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]


def read_phonemes(path: Source, *, tree: Any = None, stack: int = 5, n_phonemes: int = 40) -> Dataset[Taxonomy]:
    r"""Read frames of speech, from TIMIT's label files beside HTK's features, or from a table.

    Parameters
    ----------
    path : path or binary stream
        A folder with a feature file (``.mfc`` or ``.htk``) beside every label file (``.phn``), in folders of any depth;
        one that holds the folders ``train`` and ``test`` comes split. Or a table (CSV, TSV, JSON lines) with one row
        per frame: the columns ``utterance`` and ``phoneme``, and numbers in all others.
    tree : Taxonomy, or what one can be built from, optional
        Every phoneme must be in it. None: `phonetic_tree`.
    stack : int
        How many neighbouring frames, an odd number, make one row; it has the label of the one in the middle. Frames
        too near to an end of their utterance have too few neighbours and make none.
    n_phonemes : {61, 48, 40, 39}
        How many phonemes TIMIT's 61 are folded into (`phoneme_folding`). Frames of those that are left out, and
        frames in no segment, make no row.

    Returns
    -------
    Dataset
        `X` dense, float32, `stack` vectors side by side; `y` an array of phonemes.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO(b"utterance,phoneme,c1,c2\nsa1,h#,0,1\nsa1,iy,2,3\nsa1,iy,4,5\n")
    >>> data = read_phonemes(file, stack=3)
    >>> data.X, data.y
    (array([[0., 1., 2., 3., 4., 5.]], dtype=float32), array(['iy'], dtype=object))
    >>> data.feature_names
    ['c1[-1]', 'c2[-1]', 'c1[+0]', 'c2[+0]', 'c1[+1]', 'c2[+1]']
    """
    if not is_count(stack) or stack % 2 == 0:
        raise ParameterError(f"read_phonemes: stack must be an odd number, 1 or more; got {stack!r}.")
    phonemes = _Phonemes(n_phonemes, phonetic_tree(n_phonemes=n_phonemes) if tree is None else as_taxonomy(tree))
    rows = StackedFrames(int(stack))
    fields: dict[str, Any] = {"taxonomy": phonemes.tree, "source": display_name(path)}
    if isinstance(path, (str, PathLike)) and os.path.isdir(path):
        fields |= _read_folder(path, phonemes, rows)
        columns = None
    else:
        columns = _read_table(path, phonemes, rows)
    if not rows.n_rows:
        refuse(path, None, None, f"no utterance has {stack} frames with a phoneme in the middle.")
    if columns is not None:
        fields["feature_names"] = rows.names(columns)
    y = np.array(phonemes.names, dtype=object)[rows.labels()]
    return Dataset(rows.matrix(), y, **fields)


class _Phonemes:
    """Symbols → numbers of the phonemes they are folded into, in order of first appearance; −1: left out."""

    def __init__(self, n_phonemes: int, tree: Taxonomy) -> None:
        self.folded, self.tree = phoneme_folding(n_phonemes), tree
        self.ids: dict[str, int] = {}
        self.names: list[str] = []

    def id(self, path: Source, line: int, symbol: str) -> int:
        """Return the number of a symbol that stands on a line of a file."""
        known = self.ids.get(symbol)
        return self._new_id(path, line, symbol) if known is None else known

    def _new_id(self, path: Source, line: int, symbol: str) -> int:
        name = self.folded.get(symbol, symbol)
        node = None if name is None else self.tree.find(name)
        if name is not None and node is None:
            into = "" if name == symbol else f" (folded from {symbol!r})"
            problem = f"the phoneme {name[:80]!r}{into} is not in the tree{self.tree.suggestion(name[:80])}"
            refuse(path, line, None, problem, kind="unknown-label")
        if node is None:
            self.ids[symbol] = -1
        else:
            phoneme = self.tree.names[node]
            if phoneme not in self.names:
                self.names.append(phoneme)
            self.ids[symbol] = self.names.index(phoneme)
        return self.ids[symbol]


def _read_folder(folder: str | PathLike[str], phonemes: _Phonemes, rows: StackedFrames) -> dict[str, Any]:
    """Add all utterances below a folder; return the rows of its training and test part, if it has them."""
    parts = parts_below(folder)
    utterances = [list(_pairs(part)) for part in parts or [folder]]
    ends = [0]
    with progress.task("Reading phonemes", total=sum(map(len, utterances))) as task:
        for part in utterances:
            for labelled, features in part:
                values, period = read_htk(features)
                rows.add(features, values, _frame_labels(labelled, len(values), period, phonemes))
                task.advance()
            ends.append(rows.n_rows)
    return {"train_rows": slice(0, ends[1]), "test_rows": slice(ends[1], ends[2])} if parts else {}


def _pairs(folder: str | PathLike[str]) -> Iterator[tuple[str, str]]:
    """Yield each label file below a folder with the feature file beside it."""
    beside = {
        stem: list(those) for stem, those in groupby(sorted(files_below(folder, ".mfc", ".htk"), key=_stem), _stem)
    }
    labelled = files_below(folder, ".phn")
    if not labelled:
        refuse(folder, None, None, "there are no .phn files.")
    for path in labelled:
        features = beside.get(_stem(path), [])
        if len(features) != 1:
            refuse(path, None, None, f"one feature file beside it is wanted, .mfc or .htk; there are {len(features)}.")
        yield path, features[0]


def _stem(path: str) -> str:
    """Return a path without its ending, in small letters: CDs spell names in either."""
    return path.lower()[: path.lower().rindex(data_suffix(path))]


def _frame_labels(path: str, n_frames: int, period: int, phonemes: _Phonemes) -> Ids:
    """Label frames with the segment that holds the middle of their time step; −1 where there is none."""
    starts, ends, ids = array("q"), array("q"), array("i")
    with open_for_reading(path) as stream:
        for line, text in iterate_text_lines(path, stream):
            segment = _SEGMENT.fullmatch(text)
            if segment is None:
                if text.strip():
                    refuse(path, line, 1, f"a segment is 'start end phoneme'; got {text.strip()[:60]!r}.")
                continue
            start, end = int(segment[1]), int(segment[2])
            if end <= start or (starts and start <= starts[-1]):
                refuse(path, line, 1, f"segments follow each other in time; this one is {start} to {end}.")
            if len(starts) == MOST_SEGMENTS:
                refuse(path, line, 1, f"more than {MOST_SEGMENTS:,} segments.")
            starts.append(start)
            ends.append(end)
            ids.append(phonemes.id(path, line, segment[3]))
    if not starts:
        refuse(path, None, None, "there are no segments.")
    middle = (np.arange(n_frames) + 0.5) * (period * 1e-7 * SAMPLES_PER_SECOND)
    segment_of = np.searchsorted(np.array(starts), middle, side="right") - 1
    inside = (segment_of >= 0) & (middle < np.array(ends)[segment_of])
    return np.where(inside, np.array(ids, np.int32)[segment_of], np.int32(-1))


def _read_table(path: Source, phonemes: _Phonemes, rows: StackedFrames) -> list[str]:
    """Add all utterances of a table; return the names of its feature columns."""
    columns: list[str] = []
    seen: set[str] = set()
    for utterance, frames in groupby(read_records(path), lambda row: _text(path, row[0], row[1], ID_COLUMNS[0])):
        values, labels = array("f"), array("i")
        for line, record in frames:
            if utterance in seen:
                refuse(path, line, ID_COLUMNS[0], f"{utterance[:80]!r} ended further up; its frames stand together.")
            columns = columns or _feature_columns(path, line, record)
            if len(record) != len(columns) + len(ID_COLUMNS):
                refuse(path, line, 1, f"the row has {len(record)} columns, the first {len(columns) + len(ID_COLUMNS)}.")
            labels.append(phonemes.id(path, line, _text(path, line, record, ID_COLUMNS[1])))
            values.extend(_number(path, line, record, column) for column in columns)
        seen.add(utterance)
        frame_values = np.frombuffer(values, np.float32).reshape(len(labels), len(columns))
        rows.add(path, frame_values, np.frombuffer(labels, np.int32))
    return columns


def _feature_columns(path: Source, line: int, record: dict[str, Any]) -> list[str]:
    for column in ID_COLUMNS:
        check_column(path, line, column, record)
    columns = [column for column in record if column not in ID_COLUMNS]
    if not columns:
        refuse(path, line, None, "there are no columns of features.", kind="column-count")
    return columns


def _text(path: Source, line: int, record: dict[str, Any], column: str) -> str:
    check_column(path, line, column, record)
    value = record[column]
    if isinstance(value, bool) or not isinstance(value, (str, int)) or str(value).strip() == "":
        refuse(path, line, column, f"wanted a name, got {_show(value)}.")
    return str(value).strip()


def _number(path: Source, line: int, record: dict[str, Any], column: str) -> float:
    check_column(path, line, column, record)
    value = record[column]
    try:
        number = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not abs(number) <= _LARGEST:  # which NaN is not either
        refuse(path, line, column, f"wanted a finite number, got {_show(value)}.")
    return number


def _show(value: Any) -> str:
    """Return a value as a message shows it: a text or number by its beginning, anything else by its kind."""
    return repr(value)[:80] if isinstance(value, (str, int, float)) else type(value).__name__


class StackedFrames:
    """Collects utterances; single frames are kept, and stacked only in the end.

    Parameters
    ----------
    size : int
        How many frames make a row, an odd number.

    Examples
    --------
    >>> rows = StackedFrames(3)
    >>> rows.add("sa1", np.arange(5, dtype=np.float32)[:, None], np.array([0, 0, -1, 7, 7], np.int32))
    >>> rows.matrix(), rows.labels()
    (array([[0., 1., 2.],
           [2., 3., 4.]], dtype=float32), array([0, 7], dtype=int32))
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.n_rows = 0
        self.first: Source | None = None
        self.width = 0
        self.utterances: list[tuple[Floats, npt.NDArray[np.intp]]] = []
        self.middles: list[Ids] = []

    def add(self, source: Source, frames: Floats, labels: Ids) -> None:
        """Add the frames of one utterance; those labelled −1 are neighbours only."""
        if self.first is None:
            self.first, self.width = source, frames.shape[1]
        if frames.shape[1] != self.width:
            others = f"those of {display_name(self.first)} have {self.width}"
            problem = f"its vectors have {frames.shape[1]} entries, {others}; all must be of one kind."
            refuse(source, None, None, problem, kind="column-count")
        n_windows = max(0, len(frames) - self.size + 1)
        middles = labels[self.size // 2 :][:n_windows]
        kept = np.flatnonzero(middles >= 0)
        if len(kept):
            self.utterances.append((frames, kept))
            self.middles.append(middles[kept])
            self.n_rows += len(kept)

    def matrix(self) -> Floats:
        """Return all rows."""
        X = np.empty((self.n_rows, self.size * self.width), np.float32)
        start = 0
        for frames, kept in self.utterances:
            end = start + len(kept)
            for place in range(self.size):
                X[start:end, place * self.width : (place + 1) * self.width] = frames[kept + place]
            start = end
        return X

    def labels(self) -> Ids:
        """Return the label of each row."""
        return np.concatenate(self.middles)

    def names(self, columns: Sequence[str]) -> list[str]:
        """Return the names of the stacked columns.

        Examples
        --------
        >>> StackedFrames(3).names(["c1"]), StackedFrames(1).names(["c1"])
        (['c1[-1]', 'c1[+0]', 'c1[+1]'], ['c1'])
        """
        if self.size == 1:
            return list(columns)
        half = self.size // 2
        return [f"{column}[{place:+d}]" for place in range(-half, half + 1) for column in columns]
