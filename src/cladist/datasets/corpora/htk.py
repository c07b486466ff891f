"""Parameter files of the Hidden Markov Model Toolkit (HTK): frames of speech features, one vector per time step.

Twelve bytes of header, big-endian: ``nSamples`` (4), ``sampPeriod`` in units of 100 ns (4), ``sampSize`` in bytes (2),
``parmKind`` (2); then the vectors, as 4-byte floats or, compressed (``_C``), as 2-byte integers behind two vectors of
floats that scale them (The HTK Book, "HTK Format Parameter Files").
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from cladist.files import Source, open_for_reading, refuse

LARGEST_FILE = 2**28  # bytes; an hour of speech has a fifth of that

_HEADER = Struct(">iihH")
_BASE_KIND = 0o77
_NOT_VECTORS = {0: "WAVEFORM", 5: "IREFC", 10: "DISCRETE"}
_COMPRESSED, _CHECKSUM = 0o2000, 0o10000
_SCALES = 4  # compressed vectors that the two scaling vectors take the room of; nSamples counts them
_ORDER = "HTK writes big-endian numbers"
_BLOCK = 1 << 20


class Frames(NamedTuple):
    """The vectors of one utterance, one row per frame, and the time from one to the next in units of 100 ns."""

    values: npt.NDArray[np.float32]
    period: int


def read_htk(path: Source) -> Frames:
    r"""Read an HTK parameter file; its header is checked against its size before any vector is made.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO(_HEADER.pack(2, 100_000, 8, 6) + np.array([[1, 2], [3, 4]], ">f4").tobytes())
    >>> read_htk(file)
    Frames(values=array([[1., 2.],
           [3., 4.]], dtype=float32), period=100000)
    """
    content = _content(path)
    if len(content) < _HEADER.size:
        _refuse(path, f"it has {len(content)} bytes, fewer than the {_HEADER.size} of a header")
    n_samples, period, n_bytes, kind = _HEADER.unpack_from(content)
    if n_samples < 1 or period < 1 or n_bytes < 2:
        _refuse(path, f"its header says {n_samples} vectors of {n_bytes} bytes, one every {period} · 100 ns; {_ORDER}")
    wanted = _HEADER.size + n_samples * n_bytes + (2 if kind & _CHECKSUM else 0)
    if len(content) != wanted:
        _refuse(path, f"its header says {wanted:,} bytes, but it has {len(content):,}; {_ORDER}")
    if kind & _BASE_KIND in _NOT_VECTORS:
        _refuse(path, f"it holds {_NOT_VECTORS[kind & _BASE_KIND]}, not vectors of features such as MFCC")
    width, rest = divmod(n_bytes, 2 if kind & _COMPRESSED else 4)
    if rest:
        _refuse(path, f"its vectors of {n_bytes} bytes are no whole number of entries")
    values = (_decompress if kind & _COMPRESSED else _read_floats)(path, content, n_samples, width)
    if not np.isfinite(values).all():
        frame = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        _refuse(path, f"the vector of frame {frame} has an entry that is no finite number")
    return Frames(values, period)


def _content(path: Source) -> bytes:
    """Read a file block by block: memory follows its true size, not the size that its header claims."""
    blocks, n_bytes = [], 0
    with open_for_reading(path) as stream:
        while block := stream.read(_BLOCK):
            blocks.append(block)
            n_bytes += len(block)
            if n_bytes > LARGEST_FILE:
                _refuse(path, f"it has more than {LARGEST_FILE:,} bytes, which is more than one utterance")
    return b"".join(blocks)


def _read_floats(path: Source, content: bytes, n_samples: int, width: int) -> npt.NDArray[np.float32]:
    values = np.frombuffer(content, ">f4", n_samples * width, _HEADER.size)
    return values.reshape(n_samples, width).astype(np.float32)


def _decompress(path: Source, content: bytes, n_samples: int, width: int) -> npt.NDArray[np.float32]:
    """Undo x_short = A x − B, for each entry of the vector."""
    n_frames = n_samples - _SCALES
    if n_frames < 1:
        _refuse(path, f"it is compressed and has {n_samples} vectors, of which {_SCALES} are the scales'")
    with np.errstate(invalid="ignore"):  # a signalling NaN is one NaN more to refuse
        A, B = np.frombuffer(content, ">f4", 2 * width, _HEADER.size).reshape(2, width).astype(np.float64)
    if not (np.isfinite(A).all() and np.isfinite(B).all() and A.all()):
        _refuse(path, "a scale of the compression is 0 or no finite number")
    integers = np.frombuffer(content, ">i2", n_frames * width, _HEADER.size + 8 * width).reshape(n_frames, width)
    with np.errstate(over="ignore"):  # an overflow is infinite, and refused as such
        return ((integers + B) / A).astype(np.float32)


def _refuse(path: Source, problem: str) -> NoReturn:
    refuse(path, None, None, f"not an HTK parameter file that can be read: {problem}.", kind="bad-htk")
