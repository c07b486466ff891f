"""One process writes to a folder at a time; one that has died keeps nobody out."""

import os
import signal
import stat
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from cladist import locks
from cladist.errors import ModelFormatError
from cladist.locks import LOCK
from cladist.storage import lock_folder, read_folder, write_folder

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]
OLD = ({"version": "old"}, {"w": np.arange(5.0)})
NEW = ({"version": "new"}, {"w": np.arange(9.0)})


def forked(work) -> int:
    """Run something in a child; return the child's id. It exits with 0, or with 2 where it is refused."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except ModelFormatError:
            code = 2
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def held_by_another(folder):
    """Let a child hold the lock of a folder until the block ends, or until it is killed; yields its id."""
    ours, theirs = os.pipe(), os.pipe()

    def hold():
        with lock_folder(folder):
            os.write(ours[1], b".")
            os.read(theirs[0], 1)

    child = forked(hold)
    os.read(ours[0], 1)
    try:
        yield child
    finally:
        os.write(theirs[1], b".")
        for fd in (*ours, *theirs):
            os.close(fd)
    ended(child)


@pytest.mark.parametrize("place", ["model", "absent", "absent/model"])
def test_a_second_writer_is_refused_by_a_sentence_that_names_the_first(tmp_path, place):
    folder = tmp_path / place
    if place == "model":
        write_folder(folder, *OLD)
    with held_by_another(folder) as child:
        sentence = rf"is in use: another process \(id {child}\) writes to it; .*\.$"
        with pytest.raises(ModelFormatError, match=sentence), lock_folder(folder):
            pass
        if place != "absent/model":  # where the folders above are yet to be made, who makes them first is first
            with pytest.raises(ModelFormatError, match="is in use"):
                write_folder(folder, *NEW)
        if place == "model":
            assert read_folder(folder)[0] == OLD[0], "reading goes on"
    write_folder(folder, *NEW)
    assert read_folder(folder)[0] == NEW[0]
    assert len(os.listdir(folder)) == 2
    assert os.listdir(tmp_path) == [place.partition("/")[0]]


@pytest.mark.parametrize("place", ["model", "absent"])
def test_a_writer_that_was_killed_keeps_nobody_out(tmp_path, place):
    folder = tmp_path / place
    if place == "model":
        write_folder(folder, *OLD)
    with held_by_another(folder) as child:
        os.kill(child, signal.SIGKILL)
        ended_by = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert ended_by.si_status == signal.SIGKILL
        lock = folder / LOCK if place == "model" else next(tmp_path.glob(".cladist-lock-*"))
        lock.write_text(f"{os.getppid()}\n")  # the number may belong to a living process by now
        write_folder(folder, *NEW)
        assert read_folder(folder)[0] == NEW[0]
    assert sorted(os.listdir(tmp_path)) == [place]
    assert len(os.listdir(folder)) == 2


def test_a_lock_left_behind_is_no_file_of_somebody_else(tmp_path):
    (tmp_path / LOCK).write_text("1\n")
    write_folder(tmp_path, *NEW)
    assert read_folder(tmp_path)[0] == NEW[0]


def test_a_process_that_has_the_lock_may_take_it_again_by_any_name(tmp_path):
    write_folder(tmp_path / "model", *OLD)
    (tmp_path / "link").symlink_to("model")
    with lock_folder(tmp_path / "model"), lock_folder(tmp_path / "link"):
        write_folder(tmp_path / "link", *NEW)
        assert (tmp_path / "model" / LOCK).exists(), "the inner block does not end the outer one"
        assert ended(forked(lambda: write_folder(tmp_path / "model", *OLD))) == 2
    assert read_folder(tmp_path / "model")[0] == NEW[0]
    assert len(os.listdir(tmp_path / "model")) == 2


def test_threads_take_turns(tmp_path):
    inside, most = [], []

    def work():
        with lock_folder(tmp_path):
            inside.append(1)
            most.append(len(inside))
            write_folder(tmp_path, *NEW)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


def test_a_forked_child_neither_has_nor_keeps_its_parents_lock(tmp_path):
    ours = os.pipe()
    try:
        with lock_folder(tmp_path):
            orphan = forked(lambda: os.read(ours[0], 1))
            assert ended(forked(lambda: write_folder(tmp_path, *NEW))) == 2
        assert ended(forked(lambda: write_folder(tmp_path, *NEW))) == 0
    finally:
        os.write(ours[1], b".")
    assert ended(orphan) == 0


def test_a_child_forked_inside_a_block_leaves_the_lock_alone_when_it_ends_it(tmp_path):
    with lock_folder(tmp_path):
        child = os.fork()
    if child == 0:  # it has left the block, as the parent has
        os._exit(0)
    assert ended(child) == 0
    with lock_folder(tmp_path):
        assert ended(forked(lambda: write_folder(tmp_path, *NEW))) == 2


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe"])
def test_a_lock_that_would_write_over_something_else_is_refused(tmp_path, kind):
    folder, mine = tmp_path / "model", tmp_path / "mine.txt"
    write_folder(folder, *OLD)
    mine.write_text("mine")
    if kind == "link":
        (folder / LOCK).symlink_to(mine)
    elif kind == "hard link":
        (folder / LOCK).hardlink_to(mine)
    else:
        os.mkfifo(folder / LOCK)
    with pytest.raises(ModelFormatError, match="remove it"):
        write_folder(folder, *NEW)
    assert mine.read_text() == "mine"
    assert read_folder(folder)[0] == OLD[0]


def test_where_no_file_can_be_made_the_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "model", *(["/proc/model"] if Path("/proc").is_dir() else [])):
        with pytest.raises(OSError, match="no file can be made in this folder") as caught, lock_folder(folder):
            pass
        assert caught.value.filename == os.path.dirname(folder)


# ------------------------------------------------------------------ two writers


def meanwhile(monkeypatch, name, work):
    """Do something else just before the first call of a function of `os`."""
    function, results = getattr(os, name), []

    def later(*args, **kwargs):
        if not results:
            results.append(None)
            results[0] = work()
        return function(*args, **kwargs)

    monkeypatch.setattr(os, name, later)
    return results


@pytest.mark.parametrize("name", ["fsync", "replace", "rename"])
@pytest.mark.parametrize("place", ["model", "empty", "absent"])
def test_of_two_writers_one_is_refused_whenever_the_second_comes(tmp_path, monkeypatch, place, name):
    folder = tmp_path / "model"
    if place == "model":
        write_folder(folder, *OLD)
    elif place == "empty":
        folder.mkdir()
    results = meanwhile(monkeypatch, name, lambda: ended(forked(lambda: write_folder(folder, *OLD))))
    write_folder(folder, *NEW)
    assert results in ([2], []), "rename is for new folders only"
    assert read_folder(folder)[0] == NEW[0]
    assert len(os.listdir(folder)) == 2
    assert os.listdir(tmp_path) == ["model"]


def test_a_folder_that_somebody_makes_meanwhile_is_left_untouched(tmp_path, monkeypatch):
    def make():
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "mine.txt").write_text("mine")

    meanwhile(monkeypatch, "rename", make)
    with pytest.raises(ModelFormatError, match="was not changed"):
        write_folder(tmp_path / "model", *NEW)
    assert os.listdir(tmp_path) == ["model"]
    assert os.listdir(tmp_path / "model") == ["mine.txt"]


def test_many_writers_at_once_leave_one_whole_model(tmp_path):
    for turn in range(5):
        folder = tmp_path / f"model{turn}"
        children = [forked(lambda folder=folder: write_folder(folder, *NEW)) for _ in range(4)]
        codes = [ended(child) for child in children]
        assert set(codes) <= {0, 2}
        assert 0 in codes
        assert read_folder(folder)[0] == NEW[0]
        assert len(os.listdir(folder)) == 2
    assert len(os.listdir(tmp_path)) == 5


@pytest.mark.skipif(sys.platform == "win32", reason="rights")
def test_the_lock_has_the_usual_rights(tmp_path):
    (tmp_path / "usual").touch()
    with lock_folder(tmp_path):
        assert stat.S_IMODE((tmp_path / LOCK).stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)
    assert not Path(tmp_path / LOCK).exists()


def test_a_lock_removed_just_before_it_was_taken_is_taken_anew(tmp_path, monkeypatch):
    """Its last owner removes the file; whoever has opened it before that would hold a lock that nobody else sees."""
    real, removed = locks.try_lock_if_supported, []

    def late(fd):
        if not removed:
            removed.append(True)
            (tmp_path / LOCK).unlink()
        return real(fd)

    monkeypatch.setattr(locks, "try_lock_if_supported", late)
    with lock_folder(tmp_path):
        assert ended(forked(lambda: write_folder(tmp_path, *NEW))) == 2
