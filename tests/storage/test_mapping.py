"""Mapped arrays: the same as those read, straight from the file; headers that could lead elsewhere are refused."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.errors import ModelFormatError
from cladist.storage import Spool, is_mapped, read_folder, write_folder
from cladist.storage.mapping import map_tensors

ARRAYS = {
    "values": np.arange(6, dtype=np.float32).reshape(2, 3),
    "bytes": np.arange(5, dtype=np.uint8),
    "ids": np.arange(4),
    "none": np.zeros((0, 3), np.int32),
    "flag": np.array(True),
}


def test_mapped_arrays_are_those_read(tmp_path):
    write_folder(tmp_path / "model", {"C": 1.0}, ARRAYS)
    content, mapped = read_folder(tmp_path / "model", mmap=True)
    assert content == {"C": 1.0}
    assert mapped.keys() == ARRAYS.keys()
    for name, array in read_folder(tmp_path / "model")[1].items():
        np.testing.assert_array_equal(mapped[name], array)
        assert mapped[name].dtype == array.dtype
        assert mapped[name].shape == array.shape
        assert not is_mapped(array)
        if array.size:
            assert is_mapped(mapped[name])
            assert is_mapped(mapped[name][...])
            assert not mapped[name].flags.writeable


def test_a_model_saved_over_a_mapped_one_leaves_it_as_it_was(tmp_path):
    write_folder(tmp_path / "model", {}, ARRAYS)
    mapped = read_folder(tmp_path / "model", mmap=True)[1]
    write_folder(tmp_path / "model", {}, {"ids": np.zeros(4)})
    np.testing.assert_array_equal(mapped["ids"], ARRAYS["ids"])


def test_a_file_that_was_cut_is_refused_without_being_read(tmp_path):
    write_folder(tmp_path / "model", {}, ARRAYS)
    file = next((tmp_path / "model").glob("arrays-*"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ModelFormatError, match="cut or altered"):
        read_folder(tmp_path / "model", mmap=True)


def file_of(path, header, content=b"\0" * 32):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)
    return path


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ({"a": entry("BF16")}, "never writes"),
        ({"a": entry(None)}, "never writes"),
        ({"a": 3}, "never writes"),
        ({"a": entry(shape=(3,))}, "does not fit its bytes"),
        ({"a": entry(shape=(-2,))}, "whole numbers"),
        ({"a": entry(shape=(2.0,))}, "whole numbers"),
        ({"a": entry(shape=(2**40, 2**40), offsets=(0, 0))}, "does not fit its bytes"),
        ({"a": entry(offsets=(0, 8, 8))}, "within the file"),
        ({"a": entry(offsets=(28, 36))}, "within the file"),
        ({"a": entry(offsets=(8, 0))}, "within the file"),
        ({"a": entry(offsets=(2, 10))}, "begins where its type may not"),
        ({"a": entry(), "b": entry(offsets=(4, 12))}, "overlap"),
        ([1], "no object"),
        (b"{not json", "not a sound"),
        (b"\xff" * 8, "not a sound"),
    ],
)
def test_a_header_that_leads_elsewhere_is_refused(tmp_path, header, told):
    with pytest.raises(ModelFormatError, match=told):
        map_tensors(file_of(tmp_path / "file", header))


@pytest.mark.parametrize("length", [b"", b"\1", struct.pack("<Q", 0), struct.pack("<Q", 2**62)])
def test_a_length_that_is_none_is_refused(tmp_path, length):
    (tmp_path / "file").write_bytes(length)
    with pytest.raises(ModelFormatError, match="not a sound"):
        map_tensors(tmp_path / "file")


@given(st.lists(st.integers(0, 5), max_size=6), st.sampled_from([0, 12, 2**20]))
def test_pieces_become_one_array_in_memory_or_in_a_file(lengths, in_memory):
    spool, pieces = Spool(np.float32, in_memory=in_memory), []
    for k, length in enumerate(lengths):
        pieces.append(np.full(length, k))
        assert spool.append(pieces[-1]) == sum(lengths[:k])
    whole = spool.array()
    np.testing.assert_array_equal(whole, np.concatenate([np.zeros(0), *pieces]))
    assert whole.dtype == np.float32
    assert is_mapped(whole) == (4 * sum(lengths) > in_memory)
