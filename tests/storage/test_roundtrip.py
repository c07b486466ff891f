"""What is written is what is read, bit for bit, whatever the arrays look like."""

import json
import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file

from cladist.errors import ModelFormatError
from cladist.storage import read_folder, write_folder
from cladist.storage.tensor_file import read_arrays, write_tensors
from cladist.storage.values import DTYPES, MAX_BYTES, MAX_MARKS

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
).filter(lambda value: "\\ud" not in json.dumps(value))  # half characters are not text
any_array = st.sampled_from(list(DTYPES)).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=4))
)


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("tensors") / "arrays"


@given(arrays=st.dictionaries(st.text(), any_array, max_size=4), data=st.data())
def test_arrays_come_back_bit_for_bit(scratch, arrays, data):
    arrays.pop("__metadata__", None)
    views = {}
    for name, array in arrays.items():
        view = data.draw(st.sampled_from([array, array.T, array[..., ::-1] if array.ndim else array]))
        views[name] = view
    with open(scratch, "wb") as file:
        digest, _, parts = write_tensors(file, views)
    with open(scratch, "rb") as file:
        restored = read_arrays(file, {"sha256": digest, **parts})
    assert load_file(scratch).keys() == restored.keys()
    assert restored.keys() == views.keys()
    for name, view in views.items():
        assert same_bits(restored[name], np.ascontiguousarray(view).reshape(view.shape))


@settings(max_examples=30)  # each writes through to the disk
@given(content=st.dictionaries(st.text(), json_values, max_size=4))
def test_manifest_comes_back(content, tmp_path_factory):
    content = json.loads(json.dumps(content))
    folder = tmp_path_factory.mktemp("model")
    write_folder(folder, content, {})
    assert read_folder(folder) == (content, {})


def test_layout_is_the_documented_one(tmp_path):
    write_folder(tmp_path / "model", {"C": 1.0, "name": "Ærø"}, {"w": np.arange(6.0).reshape(2, 3)})
    manifest = json.loads((tmp_path / "model/manifest.json").read_text(encoding="utf-8"))
    assert list(manifest) == ["format", "format_version", "cladist_version", "content", "arrays", "checksum"]
    assert (manifest["format"], manifest["format_version"]) == ("cladist", 1)
    assert manifest["content"] == {"C": 1.0, "name": "Ærø"}
    (entry,) = manifest["arrays"]
    assert entry["file"] == f"arrays-{entry['sha256'][:12]}.safetensors"
    assert sorted(os.listdir(tmp_path / "model")) == sorted([entry["file"], "manifest.json"])
    loaded = load_file(tmp_path / "model" / entry["file"])
    assert same_bits(loaded["w"], np.arange(6.0).reshape(2, 3))


def test_arrays_are_aligned_and_the_file_is_reproducible(tmp_path):
    arrays = {"flag": np.ones(3, bool), "half": np.ones(5, np.float16), "w": np.ones(2)}
    write_folder(tmp_path / "a", {}, arrays)
    write_folder(tmp_path / "b", {}, dict(reversed(arrays.items())))
    (a,), (b,) = (list((tmp_path / x).glob("arrays-*")) for x in "ab")
    assert a.name == b.name
    raw = a.read_bytes()
    header_length = int.from_bytes(raw[:8], "little")
    assert header_length % 8 == 0
    for name, entry in json.loads(raw[8 : 8 + header_length]).items():
        assert entry["data_offsets"][0] % arrays[name].itemsize == 0


def test_byte_order_is_normalised(tmp_path):
    write_folder(tmp_path / "model", {}, {"w": np.array([1.5, -2.0], dtype=">f8")})
    restored = read_folder(tmp_path / "model")[1]["w"]
    assert restored.dtype == np.float64
    assert restored.tolist() == [1.5, -2.0]


def test_restored_arrays_can_be_changed(tmp_path):
    write_folder(tmp_path / "model", {}, {"w": np.zeros(3)})
    restored = read_folder(tmp_path / "model")[1]["w"]
    restored += 1
    assert restored.tolist() == [1, 1, 1]


@pytest.mark.parametrize("order", ["C", "F"])
def test_writing_does_not_copy_a_big_array(tmp_path, order):
    array = np.zeros((1000, 16_000), order=order)  # 128 MB
    tracemalloc.start()
    try:
        write_folder(tmp_path / "model", {}, {"w": array})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (array.nbytes // 100 if order == "C" else array.nbytes // 3)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"w": np.zeros(2, complex)}, "Array 'w' is of type complex128, which cannot be saved"),
        ({"w": np.array(["a"])}, "is of type str"),
        ({"w": np.array([None])}, "is of type object"),
        ({"w": np.zeros(2, "M8[s]")}, "is of type datetime64"),
        ({"w": np.zeros(2, np.longdouble)}, "is of type float128|is of type longdouble"),
        ({"w": [1.0]}, "is of type list"),
        ({3: np.zeros(2)}, "under the name 3"),
        ({"__metadata__": np.zeros(2)}, "under the name '__metadata__'"),
        ({"\ud800": np.zeros(2)}, "not valid Unicode"),
    ],
)
def test_arrays_that_cannot_be_saved_are_named(tmp_path, arrays, message):
    with pytest.raises(ModelFormatError, match=message):
        write_folder(tmp_path / "model", {}, arrays)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"a": (1, 2)}, "does not keep"),
        ({1: "a"}, "does not keep"),
        ({"a": float("nan")}, "cannot be written as JSON"),
        ({"a": {1, 2}}, "cannot be written as JSON"),
        ({"a": "\ud800"}, "cannot be written as JSON"),
        ({"a": 10**5000}, "cannot be written as JSON"),
        ([1, 2], "must be a dict"),
        ({"a": "x" * MAX_BYTES}, "put long lists into arrays"),
        ({"a": [0] * MAX_MARKS}, "put long lists into arrays"),
    ],
)
def test_manifests_that_json_would_change_are_refused(tmp_path, manifest, message):
    with pytest.raises(ModelFormatError, match=message):
        write_folder(tmp_path / "model", manifest, {})
    assert os.listdir(tmp_path) == []


def test_a_manifest_nested_without_end_is_refused(tmp_path):
    endless: dict = {}
    endless["self"] = endless
    with pytest.raises(ModelFormatError, match="cannot be written as JSON"):
        write_folder(tmp_path / "model", endless, {})
