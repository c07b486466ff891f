"""Mapped arrays: the same as those read, straight from the file; headers that could lead elsewhere are refused."""

import hashlib
import json
import struct

import numpy as np
import pytest

from cladist.errors import ModelFormatError
from cladist.storage import is_mapped, is_unread, read_folder, write_folder
from cladist.storage.tensor_file import LARGE_BYTES, read_arrays

ARRAYS = {
    "values": np.arange(6, dtype=np.float32).reshape(2, 3),
    "bytes": np.arange(5, dtype=np.uint8),
    "ids": np.arange(4),
    "none": np.zeros((0, 3), np.int32),
    "flag": np.array(True),
}


def every(name):
    return True


def read(path, keep_in_file=every):
    with open(path, "rb") as file:
        entry = {"sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        file.seek(0)
        return read_arrays(file, entry, keep_in_file=keep_in_file)


def test_mapped_arrays_are_those_read(tmp_path):
    write_folder(tmp_path / "model", {"C": 1.0}, ARRAYS)
    content, mapped = read_folder(tmp_path / "model", keep_in_file=every)
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
    mapped = read_folder(tmp_path / "model", keep_in_file=every)[1]
    write_folder(tmp_path / "model", {}, {"ids": np.zeros(4)})
    np.testing.assert_array_equal(mapped["ids"], ARRAYS["ids"])


def test_a_file_that_was_cut_is_refused_without_being_read(tmp_path):
    write_folder(tmp_path / "model", {}, ARRAYS)
    file = next((tmp_path / "model").glob("arrays-*"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ModelFormatError, match="truncated or altered"):
        read_folder(tmp_path / "model", keep_in_file=every)


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
        ({"a": entry("BF16")}, "array 'a' needs"),
        ({"a": entry(None)}, "array 'a' needs"),
        ({"a": 3}, "array 'a' needs"),
        ({"a": entry(shape=(3,))}, "array 'a' needs"),
        ({"a": entry(shape=(-2,))}, "array 'a' needs"),
        ({"a": entry(shape=(2.0,))}, "array 'a' needs"),
        ({"a": entry(shape=(2**40, 2**40), offsets=(0, 0))}, "array 'a' needs"),
        ({"a": entry(offsets=(0, 8, 8))}, "array 'a' needs"),
        ({"a": entry(shape=(0, 2**62), offsets=(0, 0))}, "array 'a' needs"),
        ({"a": entry(shape=(2**62, 0), offsets=(0, 0))}, "array 'a' needs"),
        ({"a": entry(shape=(1,) * 33, offsets=(0, 4))}, "array 'a' needs"),
        ({"a": entry(shape=(8,), offsets=(0, 32)), "__metadata__": {"a": 1}}, "not a sound"),
        ({"a": entry(shape=(8,), offsets=(0, 32)), "__metadata__": {"format": "pt"}}, "not a sound"),
        ({"a": {**entry(shape=(8,), offsets=(0, 32)), "more": 1}}, "array 'a' needs"),
        ({"a": entry()}, "leave gaps"),
        ({"a": entry(offsets=(24, 32))}, "leave gaps"),
        ({"a": entry(), "b": entry(shape=(5,), offsets=(12, 32))}, "leave gaps"),
        ({"a": entry(offsets=(28, 36))}, "within the file"),
        ({"a": entry(offsets=(8, 0))}, "array 'a' needs"),
        (
            {
                "a": entry("U8", offsets=(0, 2)),
                "b": entry(shape=(7,), offsets=(2, 30)),
                "c": entry("U8", offsets=(30, 32)),
            },
            "begins where its type may not",
        ),
        ({"a": entry(), "b": entry(offsets=(4, 12))}, "overlap"),
        ([1], "no object"),
        (b"{not json", "not a sound"),
        (b"\xff" * 8, "not a sound"),
    ],
)
def test_a_header_that_leads_elsewhere_is_refused(tmp_path, header, told):
    for left in (every, None):
        with pytest.raises(ModelFormatError, match=told):
            read(file_of(tmp_path / "file", header), left)


@pytest.mark.parametrize("length", [b"", b"\1", struct.pack("<Q", 0), struct.pack("<Q", 2**62)])
def test_a_length_that_is_none_is_refused(tmp_path, length):
    (tmp_path / "file").write_bytes(length)
    with pytest.raises(ModelFormatError, match="not a sound"):
        read(tmp_path / "file")


# ---------------------------------------------------------------- what is verified

PARTS = {
    "model/weights": np.arange(LARGE_BYTES, dtype=np.uint8),
    "model/more": np.arange(LARGE_BYTES // 4, dtype=np.float32),
    "model/names": np.arange(40, dtype=np.uint8),
    "model/few weights": np.arange(3, dtype=np.float32),
}


def weights(name):
    return name.endswith("weights")


def saved(tmp_path, *, parts=True):
    """The files of a model, with checksums of its parts or, as the first versions wrote it, without."""
    write_folder(tmp_path / "model", {"C": 1.0}, PARTS)
    manifest, (arrays,) = tmp_path / "model" / "manifest.json", (tmp_path / "model").glob("arrays-*")
    if not parts:
        found = json.loads(manifest.read_text())
        for key in ("header", "small", "large"):
            del found["arrays"][0][key]
        del found["checksum"]
        canonical = json.dumps(found, sort_keys=True, separators=(",", ":"))
        manifest.write_text(json.dumps({**found, "checksum": hashlib.sha256(canonical.encode()).hexdigest()}))
    return tmp_path / "model", arrays


def flipped(raw, at):
    return raw[:at] + bytes([raw[at] ^ 16]) + raw[at + 1 :]


@pytest.mark.parametrize("parts", [True, False], ids=["parts", "old"])
def test_everything_but_large_arrays_left_in_the_file_is_verified(tmp_path, parts):
    folder, file = saved(tmp_path, parts=parts)
    raw = file.read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:start])
    places = {0, 7, 8, start - 1}
    for name in PARTS:
        begin, end = header[name]["data_offsets"]
        places |= {start + begin, start + (begin + end) // 2, start + end - 1}
    begin, end = (start + at for at in header["model/weights"]["data_offsets"])
    for at in places:
        file.write_bytes(flipped(raw, at))
        for left, verify in ((None, False), (weights, True), (weights, False)):
            if parts and left and not verify and begin <= at < end:
                assert read_folder(folder, keep_in_file=left)[1].keys() == PARTS.keys()
                continue
            with pytest.raises(ModelFormatError, match=r"checksum|header would have"):
                read_folder(folder, keep_in_file=left, verify=verify)
    file.write_bytes(raw)
    for verify in (False, True):
        found = read_folder(folder, keep_in_file=weights, verify=verify)[1]
        for name, array in PARTS.items():
            np.testing.assert_array_equal(found[name], array)
            assert is_mapped(found[name]) == weights(name) == (not found[name].flags.writeable)
            assert is_unread(found[name]) == (weights(name) and parts and not verify)


def test_checksums_of_parts_that_are_none_are_refused(tmp_path):
    folder, _ = saved(tmp_path)
    manifest = folder / "manifest.json"
    whole = json.loads(manifest.read_text())
    for key, value in [("header", 3), ("small", None), ("large", []), ("large", {"a": "0"}), ("large", {})]:
        found = json.loads(json.dumps(whole))
        found["arrays"][0][key] = value
        del found["checksum"]
        canonical = json.dumps(found, sort_keys=True, separators=(",", ":"))
        manifest.write_text(json.dumps({**found, "checksum": hashlib.sha256(canonical.encode()).hexdigest()}))
        with pytest.raises(ModelFormatError, match="checksum"):
            read_folder(folder, keep_in_file=weights)


def test_truth_values_are_true_or_false(tmp_path):
    (tmp_path / "file").write_bytes(
        file_of(tmp_path / "file", {"a": entry("BOOL", offsets=(0, 2))}, b"\0\7").read_bytes()
    )
    with pytest.raises(ModelFormatError, match="neither"):
        read(tmp_path / "file")
