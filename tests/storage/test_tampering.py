"""Reading believes nothing: every damaged, forged or foreign folder is a ModelFormatError."""

import hashlib
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.errors import ModelFormatError
from cladist.storage import read_folder, write_folder
from cladist.storage.values import MAX_BYTES, MAX_MARKS, parse_json

CONTENT = {"learner": "Hieron", "params": {"C": 0.5, "names": ["a", "b"]}, "deep": [[1, [2]]]}
ARRAYS = {"w": np.linspace(0, 1, 7, dtype=np.float32).reshape(7, 1), "flags": np.array([True, False])}


def files_of(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def put(folder, files):
    for path in folder.iterdir():
        path.unlink()
    for name, raw in files.items():
        (folder / name).write_bytes(raw)


def reseal(files, change):
    """Return the files with a changed manifest under a checksum that fits, as a forger would make them."""
    manifest = json.loads(files["manifest.json"])
    del manifest["checksum"]
    change(manifest)
    canonical = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    manifest["checksum"] = hashlib.sha256(canonical.encode()).hexdigest()
    return files | {"manifest.json": json.dumps(manifest).encode()}


def forge_arrays(files, raw):
    digest = hashlib.sha256(raw).hexdigest()
    name = f"arrays-{digest[:12]}.safetensors"
    entry = {"file": name, "sha256": digest, "size": len(raw)}
    return reseal(files, lambda manifest: manifest.update(arrays=[entry])) | {name: raw}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    write_folder(folder, CONTENT, ARRAYS)
    return files_of(folder)


@pytest.fixture
def folder(tmp_path, model):
    put(tmp_path, model)
    return tmp_path


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch")


def array_file(model):
    return next(name for name in model if name != "manifest.json")


@st.composite
def damage(draw):
    """Return a function that flips, cuts, inserts or removes bytes, always changing them."""
    place, many = draw(st.floats(0, 1)), draw(st.binary(min_size=1, max_size=9))
    how = draw(st.sampled_from(["flip", "cut", "insert", "remove", "append"]))

    def apply(raw):
        at = min(int(place * len(raw)), len(raw) - 1)
        if how == "flip":
            return raw[:at] + bytes([raw[at] ^ (many[0] or 1)]) + raw[at + 1 :]
        if how == "cut":
            return raw[:at]
        if how == "remove":
            return raw[:at] + raw[at + len(many) :]
        return raw[:at] + many + raw[at:] if how == "insert" else raw + many

    return apply


@given(damage=damage())
def test_a_damaged_manifest_is_refused_or_says_the_same(model, scratch, damage):
    put(scratch, model | {"manifest.json": damage(model["manifest.json"])})
    try:
        content, arrays = read_folder(scratch)
    except ModelFormatError:
        return
    assert json.dumps(content, sort_keys=True) == json.dumps(CONTENT, sort_keys=True)  # only blanks changed
    assert {name: array.tobytes() for name, array in arrays.items()} == {
        name: array.tobytes() for name, array in ARRAYS.items()
    }


@given(damage=damage())
def test_a_damaged_array_file_is_refused(model, scratch, damage):
    name = array_file(model)
    put(scratch, model | {name: damage(model[name])})
    with pytest.raises(ModelFormatError, match=r"bytes instead of|does not match its checksum"):
        read_folder(scratch)


def test_a_cut_array_file_is_told_by_its_size(folder, model):
    name = array_file(model)
    (folder / name).write_bytes(model[name][:-1])
    with pytest.raises(ModelFormatError, match=f"has {len(model[name]) - 1} bytes instead of {len(model[name])}"):
        read_folder(folder)


@given(damage=damage())
def test_a_forged_array_file_never_raises_anything_else(model, scratch, damage):
    put(scratch, forge_arrays(model, damage(model[array_file(model)])))
    try:
        _, arrays = read_folder(scratch)
    except ModelFormatError:
        return
    assert all(isinstance(array, np.ndarray) for array in arrays.values())


def tensors(header, data=b""):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff" * 8,
        tensors({"w": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}, b"ab"),
        tensors({"w": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [0, 1]}}, b"a"),
        tensors({"w": {"dtype": "F64", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}}),
        tensors({"w": {"dtype": "F64", "shape": [2**62, 0], "data_offsets": [0, 0]}}),
        tensors({"w": {"dtype": "U8", "shape": [1] * 70, "data_offsets": [0, 1]}}, b"a"),
        tensors({"w": {"dtype": "U8", "shape": [-1], "data_offsets": [0, 1]}}, b"a"),
        tensors({"w": {"dtype": "U8", "shape": [9], "data_offsets": [0, 9]}}, b"a"),
        tensors([1, 2]),
    ],
)
def test_forged_tensors_are_refused(folder, model, raw):
    put(folder, forge_arrays(model, raw))
    with pytest.raises(
        ModelFormatError, match=r"is not a sound safetensors file|never writes|array 'w'|arrays do not fill"
    ):
        read_folder(folder)


json_junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
entries = st.fixed_dictionaries({}, optional={"file": json_junk, "sha256": json_junk, "size": json_junk})


@given(key=st.sampled_from(["format", "format_version", "content", "arrays"]), junk=json_junk | st.lists(entries))
def test_a_forged_manifest_never_raises_anything_else(model, scratch, key, junk):
    put(scratch, reseal(model, lambda manifest: manifest.update({key: junk})))
    try:
        content, arrays = read_folder(scratch)
    except ModelFormatError:
        return
    assert (key, junk) in [("content", content), ("arrays", []), ("format_version", 1)]
    assert arrays.keys() == (set() if key == "arrays" else ARRAYS.keys())


@pytest.mark.parametrize(
    "name",
    [
        "../outside.safetensors",
        "/etc/passwd",
        "sub/arrays-0123456789ab.safetensors",
        "..\\arrays-0123456789ab.safetensors",
        "arrays-0123456789ab.safetensors\n",
        "arrays-0123456789AB.safetensors",
        "arrays-٠123456789ab.safetensors",
        "manifest.json",
        "",
        None,
        3,
    ],
)
def test_only_our_own_file_names_are_opened(folder, model, name):
    files = reseal(model, lambda manifest: manifest["arrays"][0].update(file=name))
    put(folder, files)
    with pytest.raises(ModelFormatError, match="must have a file arrays-"):
        read_folder(folder)


def test_a_name_that_hides_other_contents_is_refused(folder, model):
    put(folder, reseal(model, lambda manifest: manifest["arrays"][0].update(sha256="0" * 64)))
    with pytest.raises(ModelFormatError, match="named by its sha256"):
        read_folder(folder)


@pytest.mark.parametrize("which", ["manifest", "arrays"])
def test_links_are_not_followed(folder, model, which, tmp_path_factory):
    name = "manifest.json" if which == "manifest" else array_file(model)
    outside = tmp_path_factory.mktemp("outside") / "file"
    (folder / name).rename(outside)
    (folder / name).symlink_to(outside)
    with pytest.raises(ModelFormatError, match="is a link or a special file"):
        read_folder(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(folder):
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")
    with pytest.raises(ModelFormatError, match="special file"):
        read_folder(folder)


def test_missing_parts_are_named(folder, model, tmp_path):
    with pytest.raises(ModelFormatError, match="nowhere is not a folder"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(ModelFormatError, match="is not a folder"):
        read_folder(folder / "manifest.json")
    (folder / array_file(model)).unlink()
    with pytest.raises(ModelFormatError, match=rf"{array_file(model)} is missing"):
        read_folder(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(ModelFormatError, match=r"manifest\.json is missing"):
        read_folder(folder)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"1" * 5000, "is not JSON"),
        (b"[]", "it has no format 'cladist'"),
        (b'{"format": "pickle"}', "it has no format 'cladist'"),
        (b'{"format": "cladist"}', "format_version must be a whole number"),
        (b'{"format": "cladist", "format_version": true}', "format_version must be a whole number"),
        (b'{"format": "cladist", "format_version": 1.0}', "format_version must be a whole number"),
        (b'{"format": "cladist", "format_version": 2}', "written by a newer cladist .* upgrade"),
        (b'{"format": "cladist", "format_version": 1}', "do not match their checksum"),
        (b'{"format": "cladist", "format_version": 1, "content": 1e999}', "do not match their checksum"),
        (b'{"format": "cladist", "format_version": 1, "content": NaN}', "do not match their checksum"),
        (b'{"format": "cladist", "format_version": 1, "content": "\\ud800"}', "do not match their checksum"),
    ],
)
def test_wrong_manifests_are_told_apart(folder, raw, message):
    (folder / "manifest.json").write_bytes(raw)
    with pytest.raises(ModelFormatError, match=message):
        read_folder(folder)


def test_a_huge_manifest_is_not_read(folder):
    with open(folder / "manifest.json", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ModelFormatError, match="more than the 33,554,432 allowed"):
        read_folder(folder)


@pytest.mark.parametrize("unit", [b"[]", b"{}", b"0", b'""', b'{"a":0}', b"[[]]"])
def test_values_without_number_are_refused_before_any_is_made(folder, monkeypatch, unit):
    """Parsed, such a manifest would take a hundred times its size in memory."""
    monkeypatch.setattr(json, "loads", lambda *_: pytest.fail("parsed"))
    (folder / "manifest.json").write_bytes(b'{"format":"cladist","content":[' + b",".join([unit] * MAX_MARKS) + b"0]}")
    with pytest.raises(ModelFormatError, match=r"more than the .* allowed"):
        read_folder(folder)


def test_a_string_without_an_end_is_looked_at_once() -> None:
    """From each of its escaped quotes on it could be looked at anew, and would never be done."""
    hostile = b'{"a":"' + b'\\"' * 500_000 + b"," * (MAX_MARKS + 1)
    with pytest.raises(ValueError, match="Unterminated string"):
        parse_json(hostile)


def test_marks_in_texts_are_not_counted(tmp_path):
    texts = {"a": ',[{:"\\' * (MAX_MARKS // 2), "b": ["x"] * 100_000}
    write_folder(tmp_path / "model", texts, {})
    assert read_folder(tmp_path / "model")[0] == texts


def test_an_array_stored_twice_is_refused(folder, model):
    put(folder, reseal(model, lambda manifest: manifest["arrays"].append(manifest["arrays"][0])))
    with pytest.raises(ModelFormatError, match="stored twice"):
        read_folder(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_forbidden_file_is_a_refusal(folder):
    (folder / "manifest.json").chmod(0)
    with pytest.raises(ModelFormatError, match="cannot be read"):
        read_folder(folder)


def test_an_undone_change_is_no_change(folder, model):
    name = array_file(model)
    (folder / name).write_bytes(bytes([model[name][0] ^ 1]) + model[name][1:])
    with pytest.raises(ModelFormatError):
        read_folder(folder)
    (folder / name).write_bytes(model[name])
    assert read_folder(folder)[0] == CONTENT
