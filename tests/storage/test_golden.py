"""Folders written once by format version 1 must be readable for ever.

They are never written again: a new format version gets a folder of its own beside them.
"""

from pathlib import Path

import numpy as np
import pytest

from cladist.storage import from_json_value, read_folder, to_json_value, unpack_strings, write_folder
from cladist.storage.values import DTYPES

GOLDEN = Path(__file__).parent / "golden" / "values-1"
VALUES = {
    "plain": [None, True, 1, 0.1, "Ærø"],
    "numbers": [float("inf"), float("-inf"), np.float32(0.1), np.int64(7), np.bool_(False)],
    "types": [np.float32, float, np.dtype("int8")],
    "containers": ((1, 2), {"$tuple": []}, {}),
}
STRINGS = ["", "né", "b"]


def arrays():
    made = {f"{name}s": np.arange(6).reshape(2, 3).astype(name) for name in DTYPES}
    return made | {"empty": np.zeros((0, 2)), "number": np.array(0.5)}


def test_the_values_are_read():
    content, found = read_folder(GOLDEN)
    assert repr(from_json_value(content["values"])) == repr(VALUES)
    assert unpack_strings(found.pop("utf8"), found.pop("offsets")) == STRINGS
    assert found.keys() == arrays().keys()
    for name, array in arrays().items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("name", ["values-1", "tfidf-1"])
def test_the_same_is_still_written(tmp_path, name):
    content, found = read_folder(GOLDEN.parent / name)
    write_folder(tmp_path / "model", content, found)
    (old,), (new,) = (list(folder.glob("arrays-*")) for folder in (GOLDEN.parent / name, tmp_path / "model"))
    assert new.name == old.name
    assert new.read_bytes() == old.read_bytes()


def test_the_values_are_still_written_so():
    assert to_json_value(VALUES, "values") == read_folder(GOLDEN)[0]["values"]
