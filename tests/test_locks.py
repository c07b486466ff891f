"""Temporary files of dead processes are swept; those of living ones, and of strangers, are not."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from cladist import files
from cladist.locks import find_abandoned, make_temporary, sweep, temporary_path
from cladist.storage import write_folder

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]


def killed_inside(block) -> None:
    """Enter a block in a child that is killed there."""
    child = os.fork()
    if child == 0:
        with block():
            os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def test_a_file_is_written_and_what_the_dead_left_is_swept(tmp_path):
    for _ in range(2):
        killed_inside(lambda: files.open_for_writing(tmp_path / "a.txt"))
        assert len(os.listdir(tmp_path)) == 1, "the second writer has swept what the first left"
    with files.open_for_writing(tmp_path / "c.txt") as stream:
        stream.write(b"c")
    assert os.listdir(tmp_path) == ["c.txt"]


@pytest.mark.parametrize("stranger", [False, True], ids=["ours", "with a stranger's file"])
def test_a_model_is_saved_and_what_the_dead_left_is_swept(tmp_path, stranger):
    killed_inside(lambda: make_temporary(tmp_path, "model"))
    (left,) = tmp_path.iterdir()
    for name in ("manifest.json", "arrays-0123456789ab.safetensors", ".arrays-0123456789abcdef.tmp"):
        (left / name).write_text("half")
    if stranger:
        (left / "mine.txt").write_text("mine")
    write_folder(tmp_path / "model", {"version": 1}, {"w": np.arange(3.0)})
    kept = [path.name for path in tmp_path.rglob("*") if path.parent == left]
    assert left.exists() == stranger
    assert kept == (["mine.txt"] if stranger else [])


@pytest.mark.parametrize("kind", ["file", "model"])
def test_what_is_in_use_stays(tmp_path, kind):
    with make_temporary(tmp_path, kind) as path:
        child = os.fork()
        if child == 0:
            sweep(tmp_path, kind)
            os._exit(len(list(find_abandoned(tmp_path, kind))))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert path.exists()
        with files.open_for_writing(tmp_path / "c.txt"):
            pass
        write_folder(tmp_path / "c", {}, {})
        assert path.exists()
    assert sorted(os.listdir(tmp_path)) == ["c", "c.txt"]


def test_what_bears_no_name_of_ours_stays(tmp_path):
    names = [".0123456789abcdef.tmp", ".cladist-0123456789abcdef.tmp", "cladist-file-0123456789abcdef.tmp", "a.tmp"]
    for name in names:
        (tmp_path / name).write_text("mine")
    target = temporary_path(tmp_path, "file")
    (tmp_path / "mine.txt").write_text("mine")
    target.symlink_to(tmp_path / "mine.txt")
    os.mkfifo(temporary_path(tmp_path, "file"))
    with files.open_for_writing(tmp_path / "c.txt"):
        pass
    assert {*names, target.name, "mine.txt"} <= set(os.listdir(tmp_path))
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_file_swept_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    made, first = os.open, []

    def swept(path, flags, *rest, **others):
        fd = made(path, flags, *rest, **others)
        if flags & os.O_EXCL and not first:
            first.append(Path(path))
            first[0].unlink()
        return fd

    monkeypatch.setattr(os, "open", swept)
    with files.open_for_writing(tmp_path / "c.txt") as stream:
        stream.write(b"c")
        assert list(find_abandoned(tmp_path, "file")) == [], "nobody takes it for a file of the dead"
    assert first
    assert os.listdir(tmp_path) == ["c.txt"]
    assert (tmp_path / "c.txt").read_bytes() == b"c"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_the_disks_complaint_names_the_file(tmp_path):
    with pytest.raises(OSError, match="No space left") as caught, files.open_replacement("/dev/full") as stream:
        stream.write(b"a")
    assert caught.value.filename == "/dev/full"
