"""A folder that is read while another process saves to it: what is read is of one save."""

import numpy as np
import pytest

from cladist.errors import ModelFormatError
from cladist.storage import read_content, read_folder, reader, write_folder


def save(folder, number):
    """Write a model whose manifest and arrays tell the same number."""
    write_folder(folder, {"number": number}, {"numbers": np.full(5, number)})


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "model", 0)
    return tmp_path / "model"


@pytest.fixture
def saves(folder, monkeypatch):
    """Save another model after each of the next readings of the manifest, before its arrays are looked at."""
    pending, unseal = [], reader.unseal

    def unseal_then_save(raw, path):
        found = unseal(raw, path)
        if pending:
            save(folder, pending.pop())
        return found

    monkeypatch.setattr(reader, "unseal", unseal_then_save)
    return pending


@pytest.mark.parametrize("left", [None, lambda name: True], ids=["read", "mapped"])
@pytest.mark.parametrize("n_saves", [1, 2, 7])
def test_a_folder_that_changes_is_read_again(folder, saves, n_saves, left):
    saves += range(1, n_saves + 1)
    content, arrays = read_folder(folder, left=left)
    assert content == {"number": 1}
    assert arrays["numbers"].tolist() == [1] * 5
    assert read_content(folder) == content


def test_readings_have_an_end(folder, saves):
    saves += range(1, 10 * reader.MOST_READINGS)
    with pytest.raises(ModelFormatError, match="is missing"):
        read_folder(folder)
    assert len(saves) == 10 * reader.MOST_READINGS - 1 - reader.MOST_READINGS


def test_a_folder_that_is_damaged_is_read_once(folder, monkeypatch):
    next(folder.glob("arrays-*")).unlink()
    count, read = [], reader.read_manifest
    monkeypatch.setattr(reader, "read_manifest", lambda path: count.append(path) or read(path))
    with pytest.raises(ModelFormatError, match="is missing"):
        read_folder(folder)
    assert len(count) == 2  # once more, to see whether it changed


def test_a_file_that_is_replaced_while_it_is_read_stays_whole(folder, monkeypatch):
    """An open file is there until it is closed, whatever happens to its name."""
    read_arrays = reader.read_arrays

    def save_then_read(*args, **options):
        save(folder, 1)
        return read_arrays(*args, **options)

    monkeypatch.setattr(reader, "read_arrays", save_then_read)
    for left in (None, lambda name: True):
        save(folder, 0)
        content, arrays = read_folder(folder, left=left)
        assert content == {"number": 0}
        assert arrays["numbers"].tolist() == [0] * 5
