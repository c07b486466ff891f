"""The gallery: every example is on its page, runs, and writes the file that it names."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from cladist import registry

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "gallery"
APART = {"dask_executor.py", "plot_regret.py"}  # a cluster, which has tests of its own, and matplotlib
EXAMPLES = {path.name: path for path in sorted((ROOT / "examples").glob("*.py")) if path.name not in APART}


def page_of(name: str) -> str:
    return name.removesuffix(".py").replace("_", "-")


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.delenv("CLADIST_DATA", raising=False)  # so that the examples make their rows themselves
    example = runpy.run_path(str(EXAMPLES[name]), run_name="example")
    for parameter in {"N_TRAIN", "N_TEST"} & example.keys():  # fewer rows, where they are many
        monkeypatch.setitem(example["main"].__globals__, parameter, example[parameter] // 4)
    if "BUDGET" in example:  # of seconds: a busy machine is given enough of them
        monkeypatch.setitem(example["main"].__globals__, "BUDGET", 3600.0)
    example["main"]()
    kept = (PAGES.parent / "_static" / "gallery" / f"{page_of(name)}.txt").read_text(encoding="utf-8")
    told = [text.splitlines() for text in (capsys.readouterr().out, kept)]
    assert len(told[0]) == len(told[1]) > 0
    assert [line.split()[0] for line in told[0][-1:]] == [line.split()[0] for line in told[1][-1:]]
    written = [path.name for path in tmp_path.iterdir()]
    defaults = example["main"].__defaults__ or ()
    assert written == list(defaults)
    for path in tmp_path.glob("*.svg"):
        assert path.read_text().startswith("<svg")


def test_the_page_lists_them_all():
    page = (ROOT / "docs" / "gallery.md").read_text()
    listed = set(re.findall(r"^\| `([\w/.-]+)`", page, re.MULTILINE))
    assert listed == {*APART, "nearest-centroid/"}
    pages = [page_of(name) for name in EXAMPLES]
    assert sorted(path.stem for path in PAGES.glob("*.md")) == sorted(pages)
    for path in (PAGES.parent / "gallery.md", *PAGES.glob("*.md")):
        for picture in re.findall(r"\]\(((?:\.\./)?_static/[\w./-]+)\)", path.read_text()):
            assert (path.parent / picture).is_file()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_shows_the_code_and_what_it_prints(name):
    page = (PAGES / f"{page_of(name)}.md").read_text()
    included = re.findall(r"^```\{literalinclude\} (\S+)$", page, re.MULTILINE)
    assert included == [f"../_static/gallery/{page_of(name)}.txt", f"../../examples/{name}"]
    assert f"](gallery/{page_of(name)}.md)**" in (ROOT / "docs" / "gallery.md").read_text()
    assert page_of(name) in re.findall(r"^gallery/(\S+)$", (ROOT / "docs" / "gallery.md").read_text(), re.MULTILINE)


def test_the_figures_of_the_front_page_are_those_of_the_demo():
    front, readme = ((ROOT / name).read_text() for name in ("docs/index.md", "README.md"))
    (claim,) = re.findall(r"\*\*Why a tree\?\*\*(.*?)`cladist demo`", front, re.DOTALL)
    (measured,) = re.findall(r"<!-- demo:begin -->(.*?)<!-- demo:end -->", readme, re.DOTALL)
    numbers = re.findall(r"\d[\d,.]*\d", claim)
    assert len(numbers) == 5
    assert [number for number in numbers if number not in measured] == []
