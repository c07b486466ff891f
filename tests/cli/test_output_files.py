"""Files that appear whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from cladist.cli.output import check_target, replacing, write_text


def test_a_failure_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def fail_half_way() -> None:
        with replacing(target) as file:
            file.write("new")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail_half_way()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_text() == "old"


def test_rights_are_kept_and_new_files_get_the_usual_ones(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    target.chmod(0o640)
    write_text(target, "new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.read_text() == "new"
    plain, ours = tmp_path / "plain.txt", tmp_path / "ours.txt"
    plain.touch()
    write_text(ours, "")
    assert plain.stat().st_mode == ours.stat().st_mode


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_device_is_written_to():
    write_text(os.devnull, "gone")
    assert not Path(os.devnull).is_file()


def test_no_target_is_fine():
    check_target(None)
