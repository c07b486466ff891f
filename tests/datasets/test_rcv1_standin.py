"""The benchmarks' stand-in for RCV1, on a small archive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.rcv1_standin import load_rcv1_standin
from cladist.errors import CladistError, DatasetError

ARRAYS: dict[str, Any] = {
    "indptr": np.array([0, 2, 3, 4], np.int32),
    "indices": np.array([2, 0, 1, 1], np.int32),
    "shape": np.array([3, 4]),
    "Y_packed": np.packbits(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]], np.uint8), axis=1),
    "n_labels": np.int64(3),
    "names": np.array(["C15", "CCAT", "MCAT"]),
    "parent": np.array(["CCAT", "Root", "Root"]),
    "n_train": np.int64(2),
}


def archive(folder: Path, **changed: Any) -> Path:
    (folder / "topics.edges.tsv").write_text("parent\tchild\nRoot\tCCAT\nRoot\tMCAT\nCCAT\tC15\nCCAT\tC16\n")
    kept = {name: array for name, array in (ARRAYS | changed).items() if array is not None}
    np.savez_compressed(folder / "rcv1subset1_clean.npz", **kept)
    return folder


def test_the_stand_in(tmp_path: Path) -> None:
    data = load_rcv1_standin(folder=archive(tmp_path))
    assert repr(data) == "Dataset(2 + 1 rows, 4 features, 4 nodes, RCV1 stand-in (not the published split))"
    assert data.X.toarray().tolist() == [[1, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 0]]
    assert data.y == [["C15", "CCAT"], ["MCAT"], ["CCAT"]]
    assert data.taxonomy.path("C15") == ["CCAT", "C15"]
    assert "Root" not in data.taxonomy


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"indptr": None}, "not an .npz archive with the arrays indptr, "),
        ({"names": np.array(["C15", "CCAT", "XCAT"])}, "do not fit each other .*'XCAT' is not in the topic tree"),
        ({"indptr": np.array([0, 2, 3, 9], np.int32)}, "do not fit each other"),
        ({"indices": np.array([2, 0, 1, 7], np.int32)}, "do not fit each other"),
        ({"Y_packed": np.zeros((2, 1), np.uint8)}, "X has 3 rows but y has 2"),
        ({"names": np.array([{}], dtype=object)}, "not an .npz archive"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load_rcv1_standin(folder=archive(tmp_path, **changed))


def test_bytes_that_are_no_archive(tmp_path: Path) -> None:
    archive(tmp_path)
    content = (tmp_path / "rcv1subset1_clean.npz").read_bytes()
    for damaged in (b"", b"PK\x03\x04", content[:-40], content[5:]):
        (tmp_path / "rcv1subset1_clean.npz").write_bytes(damaged)
        with pytest.raises(CladistError, match=r"not an \.npz archive"):
            load_rcv1_standin(folder=tmp_path)
