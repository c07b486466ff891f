"""Types at the front door: type checkers see the classes that ``from cladist import ...`` gives, not Any."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import cladist

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
PROMPT = re.compile(r"^(?:>>>|\.\.\.) ?(.*)$", re.M)


def code_of(document: Path) -> str:
    """Return all Python of a document as one script, prompts and outputs left out."""
    blocks = BLOCK.findall(document.read_text(encoding="utf-8"))
    return "\n".join("\n".join(PROMPT.findall(block)) if ">>>" in block else block for block in blocks)


def check(folder: Path, code: str, *options: str) -> str:
    """Return what mypy says of a script that uses the package."""
    script = folder / "script.py"
    script.write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *options, str(script)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False).stdout


def test_public_names_have_types(tmp_path):
    names = [name for name in cladist.__all__ if name[0].isupper()]
    code = "import cladist\n" + "".join(f"reveal_type(cladist.{name})\n" for name in names)
    revealed = re.findall(r'Revealed type is "(.*?)"', check(tmp_path, code))
    assert len(revealed) == len(names) > 15
    assert [name for name, kind in zip(names, revealed, strict=True) if kind == "Any" or "Any]" in kind] == []


@pytest.mark.parametrize("document", ["README.md", "docs/quickstart.md"])
def test_code_of_the_first_pages_passes_the_type_checker(tmp_path, document):
    code = code_of(ROOT / document)
    assert "from cladist" in code
    assert check(tmp_path, code).startswith("Success"), check(tmp_path, code)
