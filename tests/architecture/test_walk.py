"""How much of the package a reader passes through: files executed by a command or a fit, calls from one learner file to
another, lines, names, inheritance.

``python -m tests.architecture.test_walk`` prints the present numbers.
"""

from __future__ import annotations

import ast
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from cladist import RecursiveSVM, Taxonomy, registry
from tests.cli.conftest import COLUMNS, call

SOURCE = Path(__file__).parents[2] / "src" / "cladist"

MAX_FILES_OF_COMMANDS = 74  # executed by train with one method, predict and evaluate together
MAX_FILES_OF_ONE_COMMAND = 4  # of `cli`, executed by one of these commands: its own and shared ones
MAX_FILES_OF_FIT = 32  # executed by RecursiveSVM.fit
MAX_HOPS_OF_FIT = 6  # calls in RecursiveSVM.fit from one file of learners to another
MAX_LINES = 73_711  # in src, where the code stands, so that it grows no further; 36,000 are wanted
LONG_FUNCTION, MAX_LONG_FUNCTIONS = 60, 0  # lines without signature and docstring
MAX_CLASSES_ABOVE_A_LEARNER = 2
NOUNS_IN_ING = {"coupling", "drawing", "embedding", "labelling", "matching", "ranking", "rounding", "sampling"}

TAXONOMY = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/film", "art/dance"])
COMMANDS = {
    "train": ("train", "train.csv", "--taxonomy", "taxonomy.csv", *COLUMNS, "--method", "top-down", "--out", "model"),
    "predict": ("predict", "model", "test.csv", "--out", "answers.csv"),
    "evaluate": ("evaluate", "model", "test.csv"),
}


# ------------------------------------------------------------------ files executed


@contextmanager
def record_files() -> Iterator[set[str]]:
    """Collect the files of the package, relative to it, in which a function is called inside the block."""
    files: set[str] = set()

    def record(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    names: set[str] = set()
    sys.setprofile(record)
    threading.setprofile(record)
    try:
        yield names
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        paths = (Path(file) for file in files if not file.startswith("<"))
        names |= {path.relative_to(SOURCE).as_posix() for path in paths if path.is_relative_to(SOURCE)}


def files_of(work: Callable[[], object]) -> set[str]:
    """Return the files that some work executes; it runs once before, so that imports and compilation do not count."""
    work()
    with record_files() as files:
        work()
    return files


def files_of_commands() -> dict[str, set[str]]:
    """Return the files that each command executes on the files of ``cladist sample``."""

    def run(name: str) -> None:
        result = call(*COMMANDS[name], "--quiet")
        assert result.exit_code == 0, result.stderr

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        assert call("sample", ".").exit_code == 0
        return {name: files_of(lambda name=name: run(name)) for name in COMMANDS}  # type: ignore[misc]


def fit_small() -> None:
    """Fit `RecursiveSVM` to a small sparse problem."""
    X = sparse.random(40, 30, density=0.2, format="csr", random_state=0)
    y = np.array(["tennis", "chess", "film", "dance"] * 10)
    RecursiveSVM(TAXONOMY, sharing=1).fit(X, y)  # the method itself, without a search


def files_of_fit() -> set[str]:
    """Return the files that `RecursiveSVM.fit` executes."""
    return files_of(fit_small)


def hops_of_fit() -> list[str]:
    """Return the calls that `RecursiveSVM.fit` makes from one file of learners to another."""
    hops: list[str] = []

    def record(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_back is not None:
            caller, called = learner_file(frame.f_back), learner_file(frame)
            if caller and called and caller != called:
                hops.append(f"{caller} {frame.f_back.f_code.co_name} → {called} {frame.f_code.co_name}")

    fit_small()
    sys.setprofile(record)
    try:
        fit_small()
    finally:
        sys.setprofile(None)
    return hops


def learner_file(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    learners = SOURCE / "learners"
    return path.relative_to(learners).as_posix() if path.is_relative_to(learners) else None


# ------------------------------------------------------------------ lines, names, inheritance


def sources() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def n_lines() -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources())


def modules_in_ing() -> list[str]:
    """Return the modules whose last word ends in -ing and is not a known noun."""
    words = {path: path.stem.rpartition("_")[2] for path in sources()}
    return [
        path.relative_to(SOURCE).as_posix()
        for path, word in words.items()
        if word.endswith("ing") and word not in NOUNS_IN_ING
    ]


def long_functions() -> list[str]:
    """Return file, name and length of every long function, by the lines of its body after the docstring."""
    functions = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                if length > LONG_FUNCTION:
                    functions.append(f"{path.relative_to(SOURCE).as_posix()}: {node.name} ({length})")
    return functions


def classes_above(kind: type) -> int:
    """Return the length of the longest chain of our own base classes."""
    bases = [base for base in kind.__bases__ if base.__module__.startswith("cladist")]
    return max((1 + classes_above(base) for base in bases), default=0)


def learners() -> dict[str, int]:
    return {method.class_name: classes_above(method.load()) for method in registry.METHODS}


# ------------------------------------------------------------------ the limits


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    return files_of_commands()


def test_files_of_the_commands(commands: dict[str, set[str]]) -> None:
    files = set().union(*commands.values())
    assert len(files) <= MAX_FILES_OF_COMMANDS, sorted(files)


@pytest.mark.parametrize("name", COMMANDS)
def test_files_of_one_command_in_cli(commands: dict[str, set[str]], name: str) -> None:
    files = [file for file in commands[name] if file.startswith("cli/")]
    assert f"cli/{name}.py" in files
    assert len(files) <= MAX_FILES_OF_ONE_COMMAND, sorted(files)


def test_files_of_a_fit() -> None:
    files = files_of_fit()
    assert len(files) <= MAX_FILES_OF_FIT, sorted(files)


def test_hops_of_a_fit() -> None:
    hops = hops_of_fit()
    assert 0 < len(hops) <= MAX_HOPS_OF_FIT, hops


def test_lines() -> None:
    assert n_lines() <= MAX_LINES


def test_modules_are_nouns() -> None:
    assert modules_in_ing() == []


def test_functions_are_short() -> None:
    assert len(long_functions()) <= MAX_LONG_FUNCTIONS, long_functions()


def test_inheritance_is_shallow() -> None:
    assert max(learners().values()) <= MAX_CLASSES_ABOVE_A_LEARNER, learners()


def main() -> None:
    """Print all numbers."""
    commands = files_of_commands()
    files = set().union(*commands.values())
    print(f"files executed by train, predict, evaluate: {len(files)} (at most {MAX_FILES_OF_COMMANDS})")
    for name, own in commands.items():
        print(f"  {name}: {len(own)}, of cli: {sorted(file for file in own if file.startswith('cli/'))}")
    print(*sorted(files), sep="\n    ")
    fit = files_of_fit()
    print(f"files executed by RecursiveSVM.fit: {len(fit)} (at most {MAX_FILES_OF_FIT})")
    print(*sorted(fit), sep="\n    ")
    hops = hops_of_fit()
    print(f"calls among learner files in RecursiveSVM.fit: {len(hops)} (at most {MAX_HOPS_OF_FIT})")
    print(*hops, sep="\n    ")
    print(f"lines: {n_lines():,} (at most {MAX_LINES:,})")
    print(f"modules in -ing: {modules_in_ing()}")
    print(f"functions over {LONG_FUNCTION} lines: {len(long_functions())} (at most {MAX_LONG_FUNCTIONS})")
    print(*long_functions(), sep="\n    ")
    print(f"classes above learners (at most {MAX_CLASSES_ABOVE_A_LEARNER}): {learners()}")


if __name__ == "__main__":
    main()
