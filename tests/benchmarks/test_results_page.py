"""The page of results says what the files of results say."""

import pytest

from benchmarks.papers.hr import measuring, page, run, verdicts
from cladist.errors import DatasetError


def test_the_page_is_what_the_files_say():
    text = page.PAGE.read_text(encoding="utf-8")
    assert text == page.filled(text), "run: python benchmarks/papers/hr/page.py"


def test_rows_reach_the_page(toy_table):
    assert page.content().count(page.NOTHING_YET) == 5
    run.bench(data=["other", "near", "missing"], methods=["lr", "hr-lr"], measure=measuring.measure)
    verdicts.bench(data=["other"], methods=["hr-lr"], judge=verdicts.judge_pair)
    text = page.content()
    assert text.count(page.NOTHING_YET) == 2
    assert "| LSHTC-small, HR-LR | 45.11 / 28.48 | " in text
    assert "| LSHTC-small, HR-LR / LR | 3.73 / 1.93 = 1.93 | " in text
    assert "| toy, HR-LR − LR | " in text
    assert "SWIKI-2011" not in text  # its data were not found


def test_what_the_package_has_become_since_does_not_change_the_page(toy_table, monkeypatch):
    run.bench(data=["other"], methods=["lr"], measure=measuring.measure)
    before = page.content()
    monkeypatch.setattr("benchmarks.papers.hr.showing.sources", lambda: "changed")
    assert page.content() == before


@pytest.mark.parametrize("text", ["", page.BEGIN, f"{page.END}\n{page.BEGIN}", f"{page.BEGIN}{page.END}" * 2])
def test_a_page_without_its_markers_is_refused(text):
    with pytest.raises(DatasetError, match="results go between one line"):
        page.filled(text)


def test_the_script_writes_the_page(toy_table, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(page, "PAGE", tmp_path / "results.md")
    page.PAGE.write_text(f"# Title\n\n{page.BEGIN}\nold\n{page.END}\n\nafter\n", encoding="utf-8")
    page.main()
    text = page.PAGE.read_text(encoding="utf-8")
    assert text.startswith(f"# Title\n\n{page.BEGIN}\n\n## Gopal & Yang 2013, Table 3")
    assert text.endswith(f"{page.END}\n\nafter\n")
    assert "old" not in text
    assert "written: docs/guides/results.md" in capsys.readouterr().out
