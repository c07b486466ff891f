"""A folder that is read while another process saves to it: what is read is of one save."""

import numpy as np
import pytest

from cladist.errors import ModelFormatError
from cladist.storage import folder as folder_module
from cladist.storage import read_folder, write_folder


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
    pending, saving, unseal = [], [], folder_module.unseal

    def unseal_then_save(raw, path):
        content = unseal(raw, path)
        if pending and not saving:  # a save reads the manifest, too
            saving.append(True)
            save(folder, pending.pop())
            saving.clear()
        return content

    monkeypatch.setattr(folder_module, "unseal", unseal_then_save)
    return pending


@pytest.mark.parametrize("left", [None, lambda name: True], ids=["read", "mapped"])
@pytest.mark.parametrize("n_saves", [1, 2, 7])
def test_a_folder_that_changes_is_read_again(folder, saves, n_saves, left):
    saves += range(1, n_saves + 1)
    content, arrays = read_folder(folder, keep_in_file=left)
    assert content == {"number": 1}
    assert arrays["numbers"].tolist() == [1] * 5
    assert read_folder(folder)[0] == content


def test_readings_have_an_end(folder, saves):
    saves += range(1, 10 * folder_module.MOST_READINGS)
    with pytest.raises(ModelFormatError, match="is missing"):
        read_folder(folder)
    assert len(saves) == 10 * folder_module.MOST_READINGS - 1 - folder_module.MOST_READINGS


def test_a_folder_that_is_damaged_is_read_once(folder, monkeypatch):
    next(folder.glob("arrays-*")).unlink()
    count, read = [], folder_module.read_manifest
    monkeypatch.setattr(folder_module, "read_manifest", lambda path: count.append(path) or read(path))
    with pytest.raises(ModelFormatError, match="is missing"):
        read_folder(folder)
    assert len(count) == 2  # once more, to see whether it changed


def test_a_file_that_is_replaced_while_it_is_read_stays_whole(folder, monkeypatch):
    """An open file is there until it is closed, whatever happens to its name."""
    read_arrays = folder_module.read_arrays

    def save_then_read(*args, **options):
        save(folder, 1)
        return read_arrays(*args, **options)

    monkeypatch.setattr(folder_module, "read_arrays", save_then_read)
    for left in (None, lambda name: True):
        save(folder, 0)
        content, arrays = read_folder(folder, keep_in_file=left)
        assert content == {"number": 0}
        assert arrays["numbers"].tolist() == [0] * 5
