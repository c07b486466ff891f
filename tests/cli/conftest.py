"""A command line to call, and a shop with models to call it on."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cladist.cli.app import app
from cladist.cli.sample import write_sample

Run = Callable[..., Any]
COLUMNS = ("--text", "title", "--text", "description", "--label", "category")
NUMBERS = "a 1:1 3:0.5\nb 2:1\na 1:0.5 3:1\nc 2:0.5 4:2\nb 2:2\nc 4:1\n"


def runner() -> CliRunner:
    try:
        return CliRunner(mix_stderr=False)  # type: ignore[call-arg]
    except TypeError:  # newer versions keep the streams apart of themselves
        return CliRunner()


def call(*arguments: object, **options: Any) -> Any:
    return runner().invoke(app, [str(argument) for argument in arguments], **options)


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture(scope="session")
def original_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's files with a text model and a model of numbers trained on them; not to be changed."""
    folder = tmp_path_factory.mktemp("shop")
    write_sample(folder)
    (folder / "numbers.svm").write_text(NUMBERS)
    (folder / "numbers.paths").write_text("x/a\nx/b\ny/c\n")
    with chdir(folder):
        for arguments in (
            ("train.csv", "--taxonomy", "taxonomy.csv", *COLUMNS, "--out", "model"),
            ("numbers.svm", "--taxonomy", "numbers.paths", "--method", "hieron", "--out", "numbers"),
        ):
            result = call("train", *arguments, "--quiet")
            assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture
def shop(original_shop: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of the shop, which is the current folder."""
    folder = tmp_path / "shop"
    shutil.copytree(original_shop, folder)
    with chdir(folder):
        yield folder


@pytest.fixture
def run() -> Run:
    """Call the command line; the call must succeed."""

    def succeed(*arguments: object, **options: Any) -> Any:
        result = call(*arguments, **options)
        assert result.exit_code == 0, result.stderr
        return result

    return succeed


@pytest.fixture
def refused(tmp_path: Path) -> Run:
    """Call the command line; it must refuse with one sentence and leave every file as it was."""

    def refuse(*arguments: object, **options: Any) -> str:
        before = contents(tmp_path)
        result = call(*arguments, **options)
        assert result.exit_code == 2, (result.stdout, result.stderr)
        assert result.stdout == ""
        (line,) = result.stderr.splitlines()
        assert line.startswith("Error: ")
        assert line.endswith((".", "?"))
        assert contents(tmp_path) == before
        return str(line.removeprefix("Error: "))

    return refuse
