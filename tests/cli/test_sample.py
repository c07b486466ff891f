"""``cladist sample``: the files fit together, and the commands it names work."""

import csv
import json
import shlex
from contextlib import chdir
from pathlib import Path

from cladist.cli.sample import COMMANDS, sample_files
from cladist.datasets import read_table
from cladist.taxonomy import Taxonomy


def test_it_is_always_the_same():
    assert sample_files() == sample_files()


def test_the_tables_fit_the_tree(run, tmp_path):
    run("sample", tmp_path / "shop")
    tree = Taxonomy.read(tmp_path / "shop" / "taxonomy.csv")
    leaves = {tree.names[v] for v in tree.leaves}
    texts = []
    for name, n_rows in (("train.csv", 252), ("test.csv", 108)):
        data = read_table(tmp_path / "shop" / name, text=["title", "description"], label="category", taxonomy=tree)
        assert len(data.y) == n_rows
        assert set(data.y) == leaves
        texts.append(set(data.X))
    assert len(texts[0] & texts[1]) < 5


def test_the_commands_work_as_printed(run, tmp_path):
    printed = run("sample", tmp_path / "shop").stdout.splitlines()[-len(COMMANDS) :]
    assert printed == list(COMMANDS)
    assert all(command in (tmp_path / "shop" / "README.md").read_text() for command in COMMANDS)
    with chdir(tmp_path / "shop"):
        for command in printed:
            text, _, call = command.rpartition(" | ")
            words = shlex.split(call)
            result = run(*words[1:], input=shlex.split(text)[1] if text else None)
        assert result.stdout.splitlines()[1].startswith("Sleeping bags,")
        with open("answers.csv", newline="") as file:
            assert len(list(csv.DictReader(file))) == 108
        assert Path("report.html").is_file()


def test_an_empty_folder_will_do(run, tmp_path):
    (tmp_path / "shop").mkdir()
    result = run("sample", tmp_path / "shop", "--json")
    assert set(json.loads(result.stdout)["files"]) == {path.name for path in (tmp_path / "shop").iterdir()}


def test_quiet_prints_nothing(run, tmp_path):
    result = run("sample", tmp_path / "shop", "--quiet")
    assert result.stdout + result.stderr == ""


def test_a_folder_with_files_is_refused(refused, tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    assert "is not an empty folder" in refused("sample", tmp_path)
    assert "is not an empty folder" in refused("sample", tmp_path / "mine.txt")
