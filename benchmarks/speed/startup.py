"""CPU seconds before work begins: imports, help, mistakes, and commands on ten rows. Target: 1 s with cached kernels.

    python benchmarks/speed/startup.py [SRC]

SRC is the folder ``src`` of another checkout, which is measured beside this one.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import print_rows, write_results

SOURCE = Path(__file__).parents[2] / "src"
TABLE = "title,category\n" + "rain coat,wear/coats\ntea cup,home/kitchen/cups\n" * 5
TRAIN = ["train", "ten.csv", "--text", "title", "--label", "category", "--path-sep", "/", "--out", "model"]
PROGRAMS = {
    "python -c pass": "pass",
    "import cladist": "import cladist",
    "import sklearn": "import sklearn",
    "import numba": "import numba",
    "first kernel": "from cladist import Taxonomy; Taxonomy.from_paths(['a/b']).depth",
}
COMMANDS = {
    "cladist --help": ["--help"],
    "a bad option": ["train", "--nope"],
    "a missing file": ["predict", "model", "nowhere.csv"],
    "train on 10 rows": TRAIN,
    "predict 10 rows": ["predict", "model", "ten.csv"],
    "evaluate 10 rows": ["evaluate", "model", "ten.csv"],
}


def cpu_seconds(arguments: list[str], folder: Path, source: Path, cache: str) -> float:
    """Return the user and system time of a new process, which has its bytecode cached but for its first run."""
    environment = {**os.environ, "PYTHONPATH": str(source), "CLADIST_CACHE_DIR": str(folder / cache)}
    environment |= {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 2):
        raise RuntimeError(f"{arguments}: {done.stderr.decode()}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(source: Path) -> dict[str, float]:
    """Return the least CPU seconds of each program and command over five runs, those that compile run once."""
    programs = {name: ["-c", code] for name, code in PROGRAMS.items()}
    programs |= {name: ["-m", "cladist.cli", *arguments] for name, arguments in COMMANDS.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ten.csv").write_text(TABLE)
        for arguments in programs.values():  # bytecode, kernels and the model
            cpu_seconds(arguments, folder, source, "kernels")
        seconds = {
            name: min(cpu_seconds(arguments, folder, source, "kernels") for _ in range(5))
            for name, arguments in programs.items()
        }
        first = cpu_seconds(programs["train on 10 rows"], folder, source, "no kernels yet")
    return seconds | {"train on 10 rows, no kernel compiled yet": first}


def main() -> None:
    sources = {"cpu_seconds": SOURCE}
    if len(sys.argv) > 1:
        sources["cpu_seconds_of_other"] = Path(sys.argv[1]).absolute()
    measured = {column: measure(source) for column, source in sources.items()}
    rows = [
        {"command": name, **{column: seconds[name] for column, seconds in measured.items()}}
        for name in measured["cpu_seconds"]
    ]
    print_rows(rows)
    write_results("startup", rows)


if __name__ == "__main__":
    main()
