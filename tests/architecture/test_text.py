"""What the project's files say holds on every machine: no paths of one machine, no package hosts."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Made by tools or by the reader, never part of the project.
NOT_OURS = {
    ".git", ".venv", "venv", "env", "node_modules", "__pycache__",
    ".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache",
    "build", "dist", "_build", "generated", "cladist-demo",
}  # fmt: skip

FORBIDDEN = {
    "an absolute path of a machine": re.compile(
        r"(?<![\w.:/])/(?:home|root|work|farm|mnt|opt|Users)/|\b[A-Z]:\\Users\\"
    ),
    "a package host": re.compile(r"\b(?:pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|anaconda\.org)\b"),
    "a package index": re.compile(r"--(?:extra-)?index[-]url|https?://\S+\.(?:whl|tgz|tar\.gz|deb)\b"),
}


def text_files(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file of the project that is text, with its text."""
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(s for s in subfolders if s not in NOT_OURS and not s.endswith(".egg-info"))
        for name in sorted(files):
            path = Path(folder, name)
            try:
                yield path, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def problems(root: Path) -> list[str]:
    """Return file, line and kind of everything forbidden under `root`."""
    return [
        f"{path.relative_to(root)}:{number}: {kind}"
        for path, text in text_files(root)
        for number, line in enumerate(text.splitlines(), 1)
        for kind, pattern in FORBIDDEN.items()
        if pattern.search(line)
    ]


def test_no_file_names_a_machine_or_a_package_host() -> None:
    assert (ROOT / "pyproject.toml") in dict(text_files(ROOT))
    assert problems(ROOT) == []


# Put together here, so that this file does not hold what it forbids.
@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("cd /" + "home/ada/cladist", "an absolute path of a machine"),
        ("open('/" + "work/data.csv')", "an absolute path of a machine"),
        ("C:" + r"\Users\ada", "an absolute path of a machine"),
        ("https://" + "pypi" + ".org/project/cladist", "a package host"),
        ("pip install --" + "index-" + "url x", "a package index"),
        ("https://example.org/cladist-1.0" + ".whl", "a package index"),
    ],
)
def test_a_forbidden_line_is_found(tmp_path: Path, line: str, kind: str) -> None:
    (tmp_path / "notes.md").write_text(f"fine\n{line}\n", encoding="utf-8")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "ours.md").write_text(line, encoding="utf-8")
    (tmp_path / "model.bin").write_bytes(b"\xff\xfe" + line.encode())
    assert problems(tmp_path) == [f"notes.md:2: {kind}"]


@pytest.mark.parametrize("line", ["https://example.org/home/x", "../shared/data", "src/work/x", "#!/usr/bin/env bash"])
def test_an_innocent_line_is_left_alone(tmp_path: Path, line: str) -> None:
    (tmp_path / "notes.md").write_text(line, encoding="utf-8")
    assert problems(tmp_path) == []
