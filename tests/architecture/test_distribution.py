"""The README of the distributions: pyproject.toml takes out what leads nowhere outside a checkout."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_readme_of_distributions_has_no_relative_links():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme
    for change in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        shown = re.sub(change["pattern"], change["replacement"], shown)
    targets = [re.findall(r"\]\(([^)\s]+)\)", text) for text in (readme, shown)]
    assert len(targets[0]) > 20
    assert [target for target in targets[1] if not target.startswith("https://")] == []
    assert "coming from HiClass" in shown  # the words of a link stay
    assert re.findall(r"```.*?```", shown, re.DOTALL) == re.findall(r"```.*?```", readme, re.DOTALL)
