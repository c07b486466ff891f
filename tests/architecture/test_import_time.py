"""Starting is quick: the package and its help load nothing heavy."""

import subprocess
import sys
import time
from pathlib import Path

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pandas", "rich", "typer")
ATTEMPTS = 3  # a busy machine makes single runs slow; the best of a few tells what the code costs


def best_seconds(command: list[str], *, folder: Path) -> float:
    """Run a command a few times in fresh processes and return the shortest time one took."""
    seconds = []
    for _ in range(ATTEMPTS):
        start = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, cladist; print(*[m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_importing_the_package_is_quick(tmp_path: Path) -> None:
    assert best_seconds([sys.executable, "-c", "import cladist"], folder=tmp_path) < 0.5


def test_the_help_is_quick(tmp_path: Path) -> None:
    assert best_seconds([sys.executable, "-m", "cladist.cli", "--help"], folder=tmp_path) < 0.7
