"""Phonemes of TIMIT: their tree, files of speech features, and frames stacked with their neighbours in time."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from itertools import groupby
from os import PathLike
from struct import Struct
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cladist import progress
from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.tables.records import check_column, read_records
from cladist.datasets.loaders.catalogue import files_below, parts_below, read_bytes
from cladist.errors import ParameterError, is_count, one_of, shorten
from cladist.files import Source, data_suffix, display_name, iterate_text_lines, open_for_reading, refuse
from cladist.taxonomy import Taxonomy, as_taxonomy

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]


# Each class with the symbols in it, in TIMIT's spelling; closures and pauses are silences. The flap dx is a plosive.
_CLASSES = {
    "obstruents/plosives": "b d g p t k dx q",
    "obstruents/fricatives": "f v th dh s z sh zh hh hv",
    "obstruents/affricates": "ch jh",
    "silences": "bcl dcl gcl pcl tcl kcl pau epi h#",
    "sonorants/nasals": "m n ng em en eng nx",
    "sonorants/liquids": "l r el",
    "sonorants/glides": "w y",
    "sonorants/vowels/front": "iy ih ey eh ae ix",
    "sonorants/vowels/centre": "aa ah er ay aw ax ax-h axr",
    "sonorants/vowels/back": "ao ow oy uh uw ux",
}
# Lee & Hon 1989: 61 → 48, then 48 → 39. The glottal stop q is left out of both.
_TO_48 = {
    "ax-h": "ax", "axr": "er", "em": "m", "eng": "ng", "hv": "hh", "nx": "n", "ux": "uw",
    "h#": "sil", "pau": "sil", "pcl": "cl", "tcl": "cl", "kcl": "cl", "bcl": "vcl", "dcl": "vcl", "gcl": "vcl",
}  # fmt: skip
_TO_39 = {
    "ao": "aa", "ax": "ah", "el": "l", "en": "n", "ix": "ih", "zh": "sh", "cl": "sil", "vcl": "sil", "epi": "sil",
}  # fmt: skip
# Our own: the phonemes of English dictionaries separate ao and zh, and have no flap.
_TO_40 = {"ax": "ah", "dx": "d", "el": "l", "en": "n", "ix": "ih", "cl": "sil", "vcl": "sil", "epi": "sil"}


def phoneme_folding(n_phonemes: int = 40) -> dict[str, str | None]:
    """Return the phoneme that each of TIMIT's 61 symbols is folded into; None: it is left out.

    Parameters
    ----------
    n_phonemes : {61, 48, 40, 39}
        61: nothing is folded. 48 and 39: Lee & Hon 1989. 40: as 39, but ``ao`` and ``zh`` are kept apart from ``aa``
        and ``sh``, and the flap ``dx`` is a ``d``; those are the 39 phonemes of English dictionaries and silence.

    Examples
    --------
    >>> folded = phoneme_folding(39)
    >>> folded["ax-h"], folded["h#"], folded["q"], folded["iy"]
    ('ah', 'sil', None, 'iy')
    """
    one_of("phoneme_folding", "n_phonemes", n_phonemes, (61, 48, 40, 39))
    symbols = " ".join(_CLASSES.values()).split()
    if n_phonemes == 61:
        return {symbol: symbol for symbol in symbols}
    further = {48: {}, 40: _TO_40, 39: _TO_39}[n_phonemes]
    folded: dict[str, str | None] = {}
    for symbol in [*symbols, "sil", "cl", "vcl"]:  # symbols that are folded already stay
        into = _TO_48.get(symbol, symbol)
        folded[symbol] = further.get(into, into)
    folded["q"] = None
    return folded


def phonetic_tree(*, n_phonemes: int = 40) -> Taxonomy:
    """Return a tree of phonemes: sonorants, obstruents and silences, divided by manner, the vowels by place.

    Dekel, Keshet & Singer 2004 give neither their 40 phonemes nor their tree; this one is ours. Diphthongs stand with
    the vowel they begin with.

    Parameters
    ----------
    n_phonemes : {61, 48, 40, 39}
        The number of phonemes; see `phoneme_folding`.

    Examples
    --------
    >>> tree = phonetic_tree()
    >>> tree
    Taxonomy(tree, 54 nodes, 40 leaves, depth 4)
    >>> tree.path("iy"), tree.distance("b", "d"), tree.distance("b", "ow")
    (['phonemes', 'sonorants', 'vowels', 'front', 'iy'], 2, 7)
    """
    folded = phoneme_folding(n_phonemes)
    # A symbol stands in the class of the symbol it is named after; sil, cl and vcl are named after none.
    class_of = {symbol: place for place, those in _CLASSES.items() for symbol in those.split()}
    phonemes = dict.fromkeys(name for name in folded.values() if name is not None)
    paths = [f"phonemes/{class_of.get(name, 'silences')}/{name}" for name in phonemes]
    return Taxonomy.from_paths(paths)


SAMPLES_PER_SECOND = 16_000  # of TIMIT, in which its label files count
MOST_SEGMENTS = 1_000_000  # of one utterance; TIMIT has some dozens
ID_COLUMNS = ("utterance", "phoneme")

_SEGMENT = re.compile(r"\s*([0-9]{1,15})\s+([0-9]{1,15})\s+(\S+)\s*", re.ASCII)
_LARGEST = float(np.finfo(np.float32).max)


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
    rows = _StackedFrames(int(stack))
    fields: dict[str, Any] = {"taxonomy": phonemes.tree, "source": display_name(path)}
    if isinstance(path, (str, PathLike)) and os.path.isdir(path):
        fields |= _read_folder(path, phonemes, rows)
        columns = []
    else:
        columns = _read_table(path, phonemes, rows)
    if not rows.n_rows:
        refuse(path, None, None, f"no utterance has {stack} frames with a phoneme in the middle.")
    if columns:
        places = [f"[{place:+d}]" for place in range(-(stack // 2), stack // 2 + 1)] if stack > 1 else [""]
        fields["feature_names"] = [f"{column}{place}" for place in places for column in columns]
    y = np.array(phonemes.names, dtype=object)[np.concatenate(rows.labels)]
    return Dataset(rows.matrix(), y, **fields)


class _Phonemes:
    """Symbols → numbers of the phonemes they are folded into, in order of first appearance; −1: left out."""

    def __init__(self, n_phonemes: int, tree: Taxonomy) -> None:
        self.folded, self.tree = phoneme_folding(n_phonemes), tree
        self.id_of_symbol: dict[str, int] = {}
        self.names: list[str] = []

    def id(self, path: Source, line: int, symbol: str) -> int:
        """Return the number of a symbol that stands on a line of a file."""
        if symbol in self.id_of_symbol:
            return self.id_of_symbol[symbol]
        name, number = self.folded.get(symbol, symbol), -1
        if name is not None:
            node = self.tree.find(name)
            if node is None:
                into = "" if name == symbol else f" (folded from {symbol!r})"
                problem = f"the phoneme {name[:80]!r}{into} is not in the tree{self.tree.suggestion(name[:80])}"
                refuse(path, line, None, problem, kind="unknown-label")
            phoneme = self.tree.names[node]
            if phoneme not in self.names:
                self.names.append(phoneme)
            number = self.names.index(phoneme)
        self.id_of_symbol[symbol] = number
        return number


class _StackedFrames:
    """Collects utterances; single frames are kept, and `size` of them, an odd number, stacked only in the end."""

    def __init__(self, size: int) -> None:
        self.size, self.n_rows = size, 0
        self.width: int | None = None
        self.utterances: list[tuple[Floats, npt.NDArray[np.intp]]] = []  # frames, and where windows begin
        self.labels: list[Ids] = []

    def add(self, source: Source, frames: Floats, labels: Ids) -> None:
        """Add the frames of one utterance; those labelled −1 are neighbours only."""
        self.width = self.width or frames.shape[1]
        if frames.shape[1] != self.width:
            problem = f"its vectors have {frames.shape[1]} entries, those before it {self.width}; give all one length."
            refuse(source, None, None, problem, kind="column-count")
        middles = labels[self.size // 2 :][: max(0, len(frames) - self.size + 1)]
        starts = np.flatnonzero(middles >= 0)
        if len(starts):
            self.utterances.append((frames, starts))
            self.labels.append(middles[starts])
            self.n_rows += len(starts)

    def matrix(self) -> Floats:
        """Return all rows."""
        width = self.width or 0
        X = np.empty((self.n_rows, self.size * width), np.float32)
        first = 0
        for frames, starts in self.utterances:
            last = first + len(starts)
            for place in range(self.size):
                X[first:last, place * width : (place + 1) * width] = frames[starts + place]
            first = last
        return X


def _read_folder(folder: str | PathLike[str], phonemes: _Phonemes, rows: _StackedFrames) -> dict[str, Any]:
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
    """Yield each label file below a folder with the feature file beside it; CDs spell names in letters of any case."""
    beside: dict[str, list[str]] = {}
    for path in files_below(folder, ".mfc", ".htk"):
        beside.setdefault(_stem(path), []).append(path)
    labelled = files_below(folder, ".phn")
    if not labelled:
        refuse(folder, None, None, "there are no .phn files.")
    for path in labelled:
        features = beside.get(_stem(path), [])
        if len(features) != 1:
            refuse(path, None, None, f"one feature file beside it is wanted, .mfc or .htk; there are {len(features)}.")
        yield path, features[0]


def _stem(path: str) -> str:
    return path.lower()[: path.lower().rindex(data_suffix(path))]


def _frame_labels(path: str, n_frames: int, period: int, phonemes: _Phonemes) -> Ids:
    """Label frames with the segment that holds the middle of their time step; −1 where there is none."""
    starts, ends, ids = array("q"), array("q"), array("i")
    with open_for_reading(path) as stream:
        for line, text in iterate_text_lines(path, stream):
            if not text.strip():
                continue
            segment = _SEGMENT.fullmatch(text)
            if segment is None:
                refuse(path, line, 1, f"a segment is 'start end phoneme'; got {text.strip()[:60]!r}.")
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


def _read_table(path: Source, phonemes: _Phonemes, rows: _StackedFrames) -> list[str]:
    """Add all utterances of a table; return the names of its feature columns."""
    columns: list[str] = []
    utterances: set[str] = set()
    for utterance, frames in groupby(_table_rows(path), lambda row: str(row[1]["utterance"]).strip()):
        values, labels = array("f"), array("i")
        for line, record in frames:
            if utterance in utterances:
                refuse(path, line, "utterance", f"{utterance[:80]!r} ended further up; its frames stand together.")
            columns = columns or [column for column in record if column not in ID_COLUMNS]
            labels.append(phonemes.id(path, line, str(record["phoneme"]).strip()))
            values.extend(_number(path, line, column, record[column]) for column in columns)
        utterances.add(utterance)
        frame_values = np.frombuffer(values, np.float32).reshape(len(labels), len(columns))
        rows.add(path, frame_values, np.frombuffer(labels, np.int32))
    return columns


def _table_rows(path: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a table: all have the columns of the first, an utterance, a phoneme and features."""
    header: set[str] = set()
    for line, record in read_records(path):
        for column in ID_COLUMNS:
            check_column(path, line, column, record)
            name = record[column]
            if isinstance(name, bool) or not isinstance(name, (str, int)) or str(name).strip() == "":
                refuse(path, line, column, f"wanted a name, got {shorten(name)}.")
        header = header or set(record)
        if len(header) == len(ID_COLUMNS):
            refuse(path, line, None, "there are no columns of features.", kind="column-count")
        if record.keys() != header:
            refuse(
                path,
                line,
                1,
                f"the row has the columns {shorten(sorted(record))}, the first {shorten(sorted(header))}.",
            )
        yield line, record


def _number(path: Source, line: int, column: str, value: Any) -> float:
    try:
        number = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not abs(number) <= _LARGEST:  # which NaN is not either
        refuse(path, line, column, f"wanted a finite number, got {shorten(value)}.")
    return number


# Parameter files of the Hidden Markov Model Toolkit have twelve bytes of header, big-endian: ``nSamples`` (4),
# ``sampPeriod`` in units of 100 ns (4), ``sampSize`` in bytes (2), ``parmKind`` (2); then the vectors, as 4-byte floats
# or, compressed (``_C``), as 2-byte integers behind two vectors of floats that scale them (The HTK Book, "HTK Format
# Parameter Files").

LARGEST_FILE = 2**28  # bytes; an hour of speech has a fifth of that

_HEADER = Struct(">iihH")
_NOT_VECTORS = (0, 5, 10)  # base kinds WAVEFORM, IREFC and DISCRETE
_COMPRESSED, _CHECKSUM = 0o2000, 0o10000
_SCALES = 4  # compressed vectors that the two scaling vectors take the room of; nSamples counts them


def read_htk(path: Source) -> tuple[Floats, int]:
    """Return the vectors of an utterance, one row per frame, and the time between two of them in units of 100 ns.

    The header is checked against the size of the file before any vector is made.
    """
    content = read_bytes(path, LARGEST_FILE)
    if len(content) < _HEADER.size:
        _refuse(path, f"it has {len(content)} bytes, fewer than the {_HEADER.size} of a header")
    n_samples, period, n_bytes, kind = _HEADER.unpack_from(content)
    is_compressed = bool(kind & _COMPRESSED)
    n_frames = n_samples - _SCALES if is_compressed else n_samples
    width, rest = divmod(n_bytes, 2 if is_compressed else 4)
    size = _HEADER.size + n_samples * n_bytes + (2 if kind & _CHECKSUM else 0)
    if kind & 0o77 in _NOT_VECTORS or n_frames < 1 or period < 1 or width < 1 or rest or len(content) != size:
        _refuse(
            path,
            f"its header says {n_samples} samples of {n_bytes} bytes, of kind {kind:#o}, one every {period} · 100 ns, "
            f"but it has {len(content):,} bytes; wanted are big-endian vectors of features such as MFCC",
        )
    if is_compressed:  # x_short = A x − B, for each entry of the vector
        with np.errstate(all="ignore"):  # what is not finite is refused below
            A, B = np.frombuffer(content, ">f4", 2 * width, _HEADER.size).reshape(2, width).astype(np.float64)
            if not (np.isfinite(A).all() and A.all()):
                _refuse(path, "a scale of the compression is 0 or no finite number")
            integers = np.frombuffer(content, ">i2", n_frames * width, _HEADER.size + 8 * width)
            values = ((integers.reshape(n_frames, width) + B) / A).astype(np.float32)
    else:
        values = np.frombuffer(content, ">f4", n_frames * width, _HEADER.size).reshape(n_frames, width)
        values = values.astype(np.float32)
    if not np.isfinite(values).all():
        frame = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        _refuse(path, f"the vector of frame {frame} has an entry that is no finite number")
    return values, period


def _refuse(path: Source, problem: str) -> NoReturn:
    refuse(path, None, None, f"not an HTK parameter file that can be read: {problem}.", kind="bad-htk")
