"""A save happens wholly or not at all, and touches nothing that is not a model."""

import builtins
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from cladist.errors import ModelFormatError
from cladist.storage import folder as folder_module
from cladist.storage import read_folder, write_folder

OLD = ({"version": "old"}, {"w": np.arange(5.0)})
NEW = ({"version": "new"}, {"w": np.arange(9.0)})
STEPS = 12  # at least as many as a save has


def version_in(folder):
    manifest, arrays = read_folder(folder)
    wanted = {"old": OLD, "new": NEW}[manifest["version"]]
    assert np.array_equal(arrays["w"], wanted[1]["w"])
    return manifest["version"]


def fail_at(monkeypatch, step, error):
    """Make the `step`-th call that changes the disk raise `error`; return the list of calls made."""
    calls = []

    def failing(name, function):
        def wrapper(*args, **kwargs):
            calls.append(name)
            if len(calls) - 1 == step:
                raise error
            return function(*args, **kwargs)

        return wrapper

    for name in ("replace", "rename", "fsync"):
        monkeypatch.setattr(os, name, failing(name, getattr(os, name)))
    monkeypatch.setattr(folder_module, "write_tensors", failing("write", folder_module.write_tensors))
    monkeypatch.setattr(builtins, "open", failing("open", open))
    return calls


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["OSError", "interrupt"])
@pytest.mark.parametrize("step", range(STEPS))
def test_overwriting_that_fails_leaves_one_whole_model(tmp_path, monkeypatch, step, error):
    folder = tmp_path / "model"
    write_folder(folder, *OLD)
    (folder / "README.md").write_text("mine")
    with monkeypatch.context() as patch:
        calls = fail_at(patch, step, error)
        try:
            write_folder(folder, *NEW)
            failed = False
        except type(error):
            failed = True
    switched = calls.count("replace") == 2 and calls[step : step + 1] != ["replace"]
    assert version_in(folder) == ("new" if switched else "old")
    assert failed or switched
    assert len(os.listdir(folder)) == 3
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["OSError", "interrupt"])
@pytest.mark.parametrize("step", range(STEPS))
def test_a_new_folder_appears_whole_or_not_at_all(tmp_path, monkeypatch, step, error):
    with monkeypatch.context() as patch:
        fail_at(patch, step, error)
        try:
            write_folder(tmp_path / "model", *NEW)
        except type(error):
            pass
    if os.listdir(tmp_path):
        assert os.listdir(tmp_path) == ["model"]
        assert version_in(tmp_path / "model") == "new"


def test_the_steps_above_cover_a_save(tmp_path, monkeypatch):
    calls = fail_at(monkeypatch, -1, None)
    write_folder(tmp_path / "model", *NEW)
    assert {"open", "write", "fsync", "replace", "rename"} == set(calls)
    assert len(calls) < STEPS


def test_an_interrupt_just_after_the_switch_keeps_the_new_model(tmp_path, monkeypatch):
    write_folder(tmp_path / "model", *OLD)
    replace = os.replace

    def late(source, target):
        replace(source, target)
        if str(target).endswith("manifest.json"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", late)
        with pytest.raises(KeyboardInterrupt):
            write_folder(tmp_path / "model", *NEW)
    assert version_in(tmp_path / "model") == "new"


KILLED = textwrap.dedent("""
    import os, sys
    import numpy as np
    from cladist.storage import write_folder

    folder, name, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
    function = getattr(os, name)

    def dying(*args, **kwargs):
        global left
        if left == 0:
            os._exit(9)
        left -= 1
        return function(*args, **kwargs)

    setattr(os, name, dying)
    write_folder(folder, {"version": "new"}, {"w": np.arange(9.0)})
""")


@pytest.mark.parametrize("place", ["model", "empty", "absent"])
@pytest.mark.parametrize(("name", "left"), [("fsync", 0), ("replace", 1)])
def test_a_killed_process_does_no_harm(tmp_path, place, name, left):
    folder = tmp_path / "model"
    if place == "model":
        write_folder(folder, *OLD)
    elif place == "empty":
        folder.mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), name, str(left)], check=False)
    assert done.returncode == 9
    if place == "model":
        assert version_in(folder) == "old"
    else:
        with pytest.raises(ModelFormatError):
            read_folder(folder)
    assert folder.exists() == (place != "absent")
    write_folder(folder, *NEW)  # the next save works, and sweeps what was left in the folder
    assert version_in(folder) == "new"
    assert len(os.listdir(folder)) == 2


def test_overwriting_removes_old_arrays_and_nothing_else(tmp_path):
    folder = tmp_path / "model"
    write_folder(folder, *OLD)
    (folder / "README.md").write_text("mine")
    (folder / "arrays.safetensors").write_text("mine too")
    write_folder(folder, *NEW)
    assert version_in(folder) == "new"
    assert len(os.listdir(folder)) == 4
    write_folder(folder, {"version": "none"}, {})
    assert sorted(os.listdir(folder)) == ["README.md", "arrays.safetensors", "manifest.json"]


def test_saving_the_same_again_keeps_it(tmp_path):
    write_folder(tmp_path / "model", *NEW)
    before = sorted(os.listdir(tmp_path / "model"))
    write_folder(tmp_path / "model", *NEW)
    assert sorted(os.listdir(tmp_path / "model")) == before
    assert version_in(tmp_path / "model") == "new"


def test_a_damaged_model_can_be_saved_over(tmp_path):
    write_folder(tmp_path / "model", *OLD)
    manifest = tmp_path / "model/manifest.json"
    manifest.write_text(manifest.read_text().replace('"old"', '"odd"'))
    write_folder(tmp_path / "model", *NEW)
    assert version_in(tmp_path / "model") == "new"
    assert len(os.listdir(tmp_path / "model")) == 2


def test_a_damaged_model_survives_a_save_that_fails(tmp_path, monkeypatch):
    write_folder(tmp_path / "model", *OLD)
    manifest = tmp_path / "model/manifest.json"
    manifest.write_text(manifest.read_text().replace('"old"', '"odd"'))
    before = sorted(os.listdir(tmp_path / "model"))
    fail_at(monkeypatch, 3, OSError("disk full"))
    with pytest.raises(OSError, match="disk full"):
        write_folder(tmp_path / "model", *NEW)
    assert sorted(os.listdir(tmp_path / "model")) == before


@pytest.mark.parametrize("name", ["notes.txt", "manifest.json"])
@pytest.mark.parametrize("text", ["", "{}", '{"format": "other"}'])
def test_a_folder_of_something_else_is_left_untouched(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(ModelFormatError, match="contains files but no cladist model"):
        write_folder(tmp_path, *NEW)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == text


def test_a_file_is_left_untouched(tmp_path):
    (tmp_path / "model").write_text("mine")
    with pytest.raises(ModelFormatError, match="is a file, and a model is a folder"):
        write_folder(tmp_path / "model", *NEW)
    assert (tmp_path / "model").read_text() == "mine"


def test_parents_are_made_and_a_linked_folder_is_followed(tmp_path):
    write_folder(tmp_path / "a/b/model", *OLD)
    (tmp_path / "link").symlink_to(tmp_path / "a/b/model")
    write_folder(tmp_path / "link", *NEW)
    assert version_in(tmp_path / "a/b/model") == "new"
    assert (tmp_path / "link").is_symlink()
