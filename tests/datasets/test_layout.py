"""The list of data sets: each is found where it should lie, and what is missing is named."""

from __future__ import annotations

import ast
import gzip
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from cladist.datasets.corpora import paper_sets
from cladist.datasets.dataset import Dataset
from cladist.datasets.loaders import free_sets, official_codes
from cladist.datasets.loaders.catalogue import DATA_SETS, CatalogueEntry, available, path_of
from cladist.errors import DatasetError
from tests.datasets.number_folders import MADE

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "real-data.md"
LOADERS: dict[str, Any] = {
    name: loader
    for module in (free_sets, official_codes, paper_sets)
    for name, loader in vars(module).items()
    if name.startswith("load_") and name != "load_icd10cm"  # which a package ships
}


def called(name: str, **more: Any) -> Dataset:
    """Call the loader of an entry as the entry says."""
    call = ast.parse(DATA_SETS[name].loader, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    assert not call.args
    arguments = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    data: Dataset = LOADERS[call.func.id](**arguments, **more)
    return data


def test_each_is_listed_once_and_in_full() -> None:
    assert set(MADE) == set(DATA_SETS)
    for name, layout in DATA_SETS.items():
        assert layout.name == name
        assert layout.files
        assert all((layout.title, layout.folder, layout.source, layout.licence))
    assert {re.match(r"\w+", layout.loader)[0] for layout in DATA_SETS.values()} == set(LOADERS)  # type: ignore[index]
    assert len({layout.loader for layout in DATA_SETS.values()}) == len(DATA_SETS)


@pytest.mark.parametrize("layout", DATA_SETS.values(), ids=DATA_SETS)
def test_the_guide_tells_of_each(layout: CatalogueEntry) -> None:
    guide = GUIDE.read_text("utf-8")
    (line,) = (line for line in guide.splitlines() if line.startswith(f"| {layout.title} |"))
    assert f"`{layout.loader}`" in line
    assert f"`{layout.folder}/`" in line
    assert all(f"`{file}`" in line for file in (*layout.files, *layout.optional_files))
    for paper in layout.used_by:
        authors, rows = re.fullmatch(r"(.*) \((.*)\)", paper).groups()  # type: ignore[union-attr]
        assert authors in " ".join(guide.split())
        assert rows in line


@pytest.mark.parametrize("name", DATA_SETS)
def test_found_below_the_folder_that_the_variable_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    MADE[name](tmp_path / DATA_SETS[name].folder)
    monkeypatch.setenv("CLADIST_DATA", str(tmp_path))
    data = called(name)
    assert isinstance(data, Dataset)
    assert data.source == DATA_SETS[name].title
    assert data.taxonomy is not None
    assert name in available()
    assert {DATA_SETS[other].folder for other in available()} == {DATA_SETS[name].folder}


@pytest.mark.parametrize("name", DATA_SETS)
def test_each_missing_file_is_named(name: str, tmp_path: Path) -> None:
    layout = DATA_SETS[name]
    MADE[name](tmp_path)
    for file in layout.files:
        hidden = tmp_path / "hidden"
        shutil.move(tmp_path / file, hidden)
        with pytest.raises(DatasetError) as problem:
            called(name, folder=tmp_path)
        assert f"{layout.title}: {tmp_path} has no {file}; wanted: a folder with " in str(problem.value)
        assert f"Source: {layout.source}." in str(problem.value)
        shutil.move(hidden, tmp_path / file)
    assert isinstance(called(name, folder=tmp_path), Dataset)


def test_all_missing_files_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"has no data_full\.json, domains\.json; wanted"):
        free_sets.load_clinc150(folder=tmp_path)


def test_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", None):
        monkeypatch.setenv("CLADIST_DATA", value or "")
        if value is None:
            monkeypatch.delenv("CLADIST_DATA")
        with pytest.raises(DatasetError, match="CLINC150: no folder is given and CLADIST_DATA is not set; wanted: a f"):
            free_sets.load_clinc150()
        assert available() == ()
    monkeypatch.setenv("CLADIST_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=r"there is no folder .*clinc150; wanted"):
        free_sets.load_clinc150()
    for name in ("a\0b", "x" * 5000):
        with pytest.raises(DatasetError, match="there is no folder"):
            free_sets.load_clinc150(folder=name)


def test_available_in_a_folder_that_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLADIST_DATA", raising=False)
    MADE["clinc150"](tmp_path / "clinc150")
    MADE["naics2017"](tmp_path / "naics2017")
    assert available(tmp_path) == ("naics2017", "clinc150")


def test_a_file_may_be_packed(tmp_path: Path) -> None:
    MADE["lshtc_small_task2"](tmp_path)
    plain = called("lshtc_small_task2", folder=tmp_path)
    path = tmp_path / "Task2" / "train.txt"
    path.with_name("train.txt.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert path_of(tmp_path, "Task2/train.txt").name == "train.txt.gz"
    assert (called("lshtc_small_task2", folder=tmp_path).X != plain.X).nnz == 0
