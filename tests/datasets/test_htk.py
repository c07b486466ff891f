"""HTK's parameter files: vectors as floats and as scaled integers, and headers that do not tell the truth."""

import io
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from cladist.datasets.corpora import phonemes
from cladist.datasets.corpora.phonemes import read_htk
from cladist.errors import CladistError, DatasetError

MFCC_E_D_A = 6 | 0o100 | 0o400 | 0o1000
PERIOD = 100_000


def as_htk(values: np.ndarray, kind: int = MFCC_E_D_A) -> bytes:
    return struct.pack(">iihH", len(values), PERIOD, 4 * values.shape[1], kind) + values.astype(">f4").tobytes()


def frames() -> np.ndarray:
    return np.arange(30, dtype=np.float32).reshape(10, 3)


@given(npst.arrays(np.float32, npst.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-1e6, 1e6, width=32)))
def test_what_is_written_in_htk_s_format_is_read(values: np.ndarray) -> None:
    for kind, end in ((6, b""), (9, b""), (MFCC_E_D_A | 0o10000, b"\x12\x34")):
        vectors, period = read_htk(io.BytesIO(as_htk(values, kind=kind) + end))
        assert np.array_equal(vectors, values)
        assert vectors.dtype == np.float32
        assert period == PERIOD


@given(npst.arrays(np.int16, npst.array_shapes(min_dims=2, max_dims=2)))
def test_compressed_vectors_are_scaled_back(shorts: np.ndarray) -> None:
    width = shorts.shape[1]
    A, B = np.linspace(2, 3, width), np.linspace(-5, 5, width)
    header = struct.pack(">iihH", len(shorts) + 4, PERIOD, 2 * width, MFCC_E_D_A | 0o2000)
    content = header + A.astype(">f4").tobytes() + B.astype(">f4").tobytes() + shorts.astype(">i2").tobytes()
    np.testing.assert_allclose(read_htk(io.BytesIO(content))[0], (shorts + B) / A, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has 0 bytes, fewer than the 12 of a header"),
        (b"\0" * 11, "it has 11 bytes"),
        (struct.pack(">iihH", 1, PERIOD, 2, 0) + b"ab", "of kind 0o0, .*; wanted are big-endian vectors of features"),
        (struct.pack(">iihH", 1, PERIOD, 2, 10) + b"ab", "of kind 0o12,"),
        (struct.pack(">iihH", 0, PERIOD, 4, 6), "its header says 0 samples of 4 bytes"),
        (struct.pack(">iihH", 1, 0, 4, 6) + b"abcd", "one every 0 · 100 ns"),
        (struct.pack(">iihH", -1, PERIOD, 4, 6), "its header says -1 samples"),
        (struct.pack(">iihH", 1, PERIOD, 0, 6), "samples of 0 bytes"),
        (struct.pack(">iihH", 1, PERIOD, -4, 6), "samples of -4 bytes"),
        (struct.pack(">iihH", 1, PERIOD, 6, 6) + b"abcdef", "1 samples of 6 bytes"),
        (
            struct.pack(">iihH", 2**31 - 1, PERIOD, 32764, 6),
            "its header says 2147483647 samples of 32764 bytes, .* but it has 12 bytes;",
        ),
        (
            struct.pack("<iihH", 1, PERIOD, 4, 6) + b"abcd",
            "its header says 16777216 samples of 1024 bytes, .* one every -1601830656 · 100 ns, .* big-endian",
        ),
        (as_htk(frames()) + b"x", "its header says 10 samples of 12 bytes, .* but it has 133 bytes"),
        (as_htk(frames())[:-1], "but it has 131"),
        (as_htk(np.array([[1.0], [np.nan]])), "the vector of frame 1 has an entry that is no finite number"),
        (as_htk(np.array([[np.inf]])), "the vector of frame 0"),
        (
            struct.pack(">iihH", 4, PERIOD, 4, 6 | 0o2000) + b"\0" * 16,
            "its header says 4 samples of 4 bytes, of kind 0o2006",
        ),
        (struct.pack(">iihH", 5, PERIOD, 4, 6 | 0o2000) + b"\0" * 20, "a scale of the compression is 0"),
        (
            struct.pack(">iihH", 5, PERIOD, 2, 6 | 0o2000)
            + bytes.fromhex("7fa00000 3f800000 0005"),  # a signalling NaN
            "a scale of the compression is 0 or no finite number",
        ),
        (
            struct.pack(">iihH", 5, PERIOD, 2, 6 | 0o2000) + struct.pack(">ffh", 1e-38, 3e38, 5),
            "the vector of frame 0 has an entry that is no finite number",
        ),
    ],
)
def test_what_is_no_htk_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "SA1.mfc").write_bytes(content)
    with pytest.raises(DatasetError, match=message) as caught:
        read_htk(tmp_path / "SA1.mfc")
    assert "SA1.mfc: not an HTK parameter file that can be read" in str(caught.value)


def test_a_header_that_promises_too_much_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.mfc"
    path.write_bytes(struct.pack(">iihH", 2**31 - 1, PERIOD, 32764, 6) + b"\0" * 1000)
    tracemalloc.start()
    with pytest.raises(DatasetError, match="but it has 1,012"):
        read_htk(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**22
    monkeypatch.setattr(phonemes, "LARGEST_FILE", 1000)
    with pytest.raises(DatasetError, match="longer than 1,000 bytes"):
        read_htk(path)


@given(st.binary(max_size=60), st.integers(0, 140), st.binary(max_size=6))
@settings(max_examples=150)
def test_whatever_features_come_in_only_our_error_comes_out(noise: bytes, position: int, put: bytes) -> None:
    good = as_htk(frames())
    for content in (noise, good[:position] + put + good[position + len(put) :]):
        with suppress(CladistError):
            vectors, _ = read_htk(io.BytesIO(content))
            assert np.isfinite(vectors).all()
