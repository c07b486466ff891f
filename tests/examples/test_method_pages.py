"""Every page on a method opens with when to use it and an example; mathematics comes below."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "methods"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "index.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_opens_with_use_and_example(page):
    opening, *sections = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    use, example = (section.partition("\n") for section in sections[:2])
    assert (use[0] in ("When to use it", "When to use them"), example[0]) == (True, "Example")
    assert "```python\n" in example[2]
    assert "$$" not in opening + use[2] + example[2]


def test_the_list_of_methods_opens_with_a_choice():
    sections = re.split(r"^## ", (FOLDER / "index.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sections[1].startswith("Where to begin\n\n| what you have | begin with |")
