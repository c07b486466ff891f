"""Every command that writes, and everything that can befall it: nothing is lost.

What a command writes is there whole, as it was before or as it is to be, and what it reads is there unchanged, if the
process is killed at any step, if the disk is full, if two run at once, and if it is told to write to its own input.
Commands run in children of a server that has loaded everything and computed nothing, so that a child costs little.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import cladist
from cladist import files as file_access
from cladist.cli import demo
from cladist.cli.stream_files import Consumed
from cladist.persistence.models import load_noted
from tests.cli.conftest import NUMBERS, call

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs children that are quickly started")

ROWS = [{"x": [1.0, 0.0, float(k), 0.0], "label": "abc"[k % 3]} for k in range(6)]
DOCUMENT = f"mine\n{demo.BEGIN}\nold\n{demo.END}\nmine too\n"


# ------------------------------------------------------------------ what commands write


def _file(folder: Path, name: str) -> bytes | None:
    path = folder / name
    return path.read_bytes() if path.exists() else None


def _model(folder: Path, name: str) -> Any:
    if not (folder / name).exists():
        return None
    model = cladist.load(folder / name)
    return type(model).__name__, model.node_coef_.tolist()


def _stream(folder: Path, _: str) -> Any:
    """A model is worth what it has learnt; answers, what it has noted of them, for the rest is written anew."""
    model, notes, arrays = load_noted(folder / "numbers")
    consumed = Consumed.from_notes(notes.get("stream"), arrays, folder)
    assert model.rows_seen_ == len(NUMBERS.splitlines()) + consumed.rows
    answers = _file(folder, "answers.jsonl") or b""
    assert len(answers) >= consumed.out_bytes
    return consumed.rows, answers[: consumed.out_bytes]


def _sample(folder: Path, name: str) -> Any:
    """Files of a folder that was empty: each whole, if it is there."""
    return sorted((path.name, path.read_bytes()) for path in (folder / name).glob("[!.]*"))


@dataclass(frozen=True)
class Command:
    """A command, what it writes, and how to tell what is there."""

    name: str
    line: str
    out: str
    state: Callable[[Path, str], Any] = _file
    inputs: str = ""  # what must not be written to
    piecemeal: bool = False  # whether several files appear one after the other, each whole


SVM = "numbers.svm --taxonomy numbers.paths --method hieron --param random_state=0 --quiet --out"
COMMANDS = [
    Command("train", f"train {SVM} old", "old", _model),
    Command("train new", f"train {SVM} new", "new", _model),
    Command("predict", "predict numbers numbers.svm --quiet --out answers.csv", "answers.csv", inputs="numbers.svm"),
    Command("predict jsonl", "predict numbers numbers.svm --quiet --out new.jsonl", "new.jsonl", inputs="numbers.svm"),
    Command(
        "stream", "stream numbers rows.jsonl --save-every 2 --quiet --out answers.jsonl", "answers.jsonl", _stream,
        inputs="rows.jsonl", piecemeal=True,
    ),
    Command("evaluate", "evaluate numbers numbers.svm --quiet --html page.html", "page.html", inputs="numbers.svm"),
    Command("taxonomy", "taxonomy numbers.paths --quiet --convert tree.csv", "tree.csv", inputs="numbers.paths"),
    Command("drawing", "taxonomy numbers.paths --quiet --svg tree.svg", "tree.svg", inputs="numbers.paths"),
    Command("sample", "sample shop --quiet", "shop", _sample, piecemeal=True),
    Command("demo", "demo --quiet --html page.html", "page.html"),
    Command("demo markdown", "demo --quiet --html new.html --markdown mine.md", "mine.md"),
]  # fmt: skip
COMMAND = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    (folder / "numbers.svm").write_text(NUMBERS)
    (folder / "numbers.paths").write_text("x/a\nx/b\ny/c\n")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "mine.md").write_text(DOCUMENT)
    for name in ("answers.csv", "page.html", "tree.csv", "tree.svg"):
        (folder / name).write_text("old\n")
    with chdir(folder):
        for line in (f"train {SVM} numbers", f"train {SVM} old --param max_iter=2"):
            assert call(*line.split()).exit_code == 0
    return folder


@pytest.fixture
def place(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "place"))


def contents(folder: Path, *without: str) -> dict[str, bytes]:
    """Return all files but what a command writes, and what a process that died may leave until the next one comes."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    passing = (*without, ".cladist", "numbers/.", "old/.", "new.html")
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(passing)}


def contents_beside(command: Command, folder: Path) -> dict[str, bytes]:
    """Return all files that a command has no business with."""
    return contents(folder, command.out, *(["numbers/"] if command.state is _stream else []))


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*")]


# ------------------------------------------------------------------ children

_server = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
LOADED = ("input", "output", "predict", "stream_loop", "taxonomy_report")
_server.set_forkserver_preload(
    [
        __name__,
        *(f"cladist.cli.{name}" for name in LOADED),
        "cladist.learners.online.hieron",
        "cladist.metrics",
        "cladist.report",
        "cladist.report.taxonomy_drawing",
        "cladist.taxonomy.inspection",
    ]
)

# Whatever changes the disk, and where it is called from.
STEPS = [
    (os, "replace"), (os, "rename"), (os, "fsync"), (os, "unlink"), (os, "mkdir"),
    (os, "open"), (io, "open"), (file_access, "replace"), (file_access.NamedFile, "write"),
]  # fmt: skip


@contextmanager
def quick_demo() -> Iterator[None]:
    """Let the demo compare nothing, and write as ever."""
    written = {"page": "page" * 20, "with_comparison": DOCUMENT.replace("old", "new"), "to_dict": {}, "render": "drawn"}
    with ExitStack() as stack:
        for name, value in written.items():
            stack.enter_context(mock.patch.object(demo, name, return_value=value))
        stack.enter_context(mock.patch("cladist.cli.demo_methods.compare"))
        stack.enter_context(mock.patch("cladist.datasets.load_icd10cm"))
        yield


def run_in(folder: Path, line: str) -> tuple[int, str]:
    with chdir(folder), quick_demo():
        result = call(*line.split())
    return result.exit_code, result.stderr


@pytest.fixture(scope="module", autouse=True)
def _path_of_the_server() -> Iterator[None]:
    """Let the server find the tests, which it loads once for all children."""
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(sys.path)}):
        yield


def _child(folder: Path, line: str, channel: Any, prepare: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with ExitStack() as stack:
        prepare(stack, channel, *arguments)
        result = run_in(folder, line)
    channel.send(result)


class Child:
    """A command in a process of its own."""

    def __init__(self, folder: Path, line: str, prepare: Callable[..., Any], *arguments: Any) -> None:
        self.channel, theirs = _server.Pipe()
        self.process = _server.Process(target=_child, args=(folder, line, theirs, prepare, arguments))
        self.process.start()
        theirs.close()

    def end(self) -> tuple[int, str]:
        """Wait for it; return its exit code and what it said, or the signal that ended it."""
        try:
            found: tuple[int, str] = self.channel.recv()
        except EOFError:
            found = (0, "")
        self.process.join()
        self.channel.close()
        code = self.process.exitcode
        return (code, "") if code else found


def at_every_step(stack: ExitStack, on_step: Callable[[str], None]) -> None:
    """Call something before every step that changes the disk, and when a file was opened."""
    for where, name in STEPS:
        function = getattr(where, name)

        def wrapper(*args: Any, _function: Any = function, _name: str = name, **kwargs: Any) -> Any:
            on_step(_name)
            result = _function(*args, **kwargs)
            if _name == "open":
                on_step("opened")  # what was there may be gone now
            return result

        stack.enter_context(mock.patch.object(where, name, wrapper))


# ------------------------------------------------------------------ killed


def idle(stack: ExitStack, channel: Any) -> None:
    """Prepare nothing."""


def counted(stack: ExitStack, channel: Any) -> None:
    steps: list[str] = []
    at_every_step(stack, steps.append)
    stack.callback(lambda: channel.send(steps))


def killed(stack: ExitStack, _: Any, step: int) -> None:
    done: list[str] = []

    def kill(name: str) -> None:
        if len(done) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        done.append(name)

    at_every_step(stack, kill)


def chosen(steps: list[str]) -> list[int]:
    """Return the first write, and the last step of each kind."""
    return sorted(
        {steps.index("write") if "write" in steps else 0, *{name: k for k, name in enumerate(steps)}.values()}
    )


@COMMAND
def test_killed(command: Command, original: Path, place: Path) -> None:
    before, others = command.state(place, command.out), contents_beside(command, place)
    assert Child(place, command.line, idle).end() == (0, "")  # compiles kernels, whose files would be steps too
    shutil.rmtree(place)
    shutil.copytree(original, place)
    child = Child(place, command.line, counted)
    steps = child.channel.recv()
    assert child.end() == (0, "")
    after = command.state(place, command.out)
    assert after != before
    for step in chosen(steps):
        shutil.rmtree(place)
        shutil.copytree(original, place)
        assert Child(place, command.line, killed, step).end() == (-signal.SIGKILL, "")
        found = command.state(place, command.out)
        assert found in (before, after) or command.piecemeal
        assert contents_beside(command, place) == others
        if command.name == "sample":  # what is there is whole, and a folder that is not empty is not written to
            assert set(found) <= set(after)
            continue
        assert run_in(place, command.line)[0] == 0
        assert command.state(place, command.out) == after
        assert hidden(place) == [], steps[step]


# ------------------------------------------------------------------ a full disk


def full(stack: ExitStack, _: Any, limit: int) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    stack.callback(resource.setrlimit, resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("command", "limit"),
    [*((command, 20) for command in COMMANDS), *((command, 0) for command in COMMANDS if command.state is not _file)],
    ids=lambda value: f"{value} bytes" if isinstance(value, int) else value.name,
)
def test_full_disk(command: Command, place: Path, limit: int) -> None:
    before, others = command.state(place, command.out), contents_beside(command, place)
    code, said = Child(place, command.line, full, limit).end()
    assert code == 2, said
    assert said.count("\n") == 1
    assert "bug in cladist" not in said
    named = {"stream": "numbers", "sample": "shop", "demo markdown": "new.html"}.get(command.name, command.out)
    assert f"Error: {named}" in said
    assert "File too large" in said
    assert command.state(place, command.out) == before
    assert contents_beside(command, place) == others
    assert hidden(place) == []


# ------------------------------------------------------------------ two at once


def paused(stack: ExitStack, channel: Any, name: str) -> None:
    """Stop before the first step of a kind, say so, and go on when told to."""
    waited: list[bool] = []

    def wait(found: str) -> None:
        if found == name and not waited:
            waited.append(True)
            channel.send("waiting")
            channel.recv()

    at_every_step(stack, wait)


def _steps_of(command: Command) -> tuple[str, ...]:
    """Return the steps to stop at: where files are written one after the other, and where they take their place."""
    if command.state in (_model, _stream):
        return ("fsync", "rename" if command.name == "train new" else "replace")
    return ("write", "replace")


@pytest.mark.parametrize(
    ("command", "step"),
    [(command, step) for command in COMMANDS for step in _steps_of(command)],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_two_at_once(command: Command, original: Path, place: Path, step: str) -> None:
    others = contents_beside(command, place)
    child = Child(place, command.line, paused, step)
    assert child.channel.recv() == "waiting"
    other = command.line.replace("answers.jsonl", "other.jsonl")  # the model is what two streams must not share
    code, said = run_in(place, other if command.state is _stream else command.line)
    child.channel.send("go on")
    assert child.end() == (0, ""), "who comes second disturbs nobody"
    if command.state in (_model, _stream):
        assert code == 2
        assert f"is in use: another process (id {child.process.pid}) writes to it" in said
    elif command.name != "sample":  # which finds the folder no longer empty
        assert (code, said) == (0, "")
    found = command.state(place, command.out)
    assert contents_beside(command, place) == others
    assert hidden(place) == []
    if command.state is _stream:
        assert found[0] == len(ROWS), "every row is learnt once"
        return
    shutil.rmtree(place)
    shutil.copytree(original, place)
    assert run_in(place, command.line)[0] == 0
    assert found == command.state(place, command.out), "what is there is what one of them wrote"


# ------------------------------------------------------------------ its own input


@COMMAND
def test_own_input_as_output(command: Command, place: Path) -> None:
    with chdir(place):
        for target in _targets(command):
            before = contents(place)
            result = call(*command.line.replace(f" {command.out}", f" {target}").split())
            assert result.exit_code == 2, result.stderr
            assert result.stderr.count("\n") == 1
            assert contents(place) == before


def _targets(command: Command) -> Iterator[str]:
    """Yield names of what a command reads, spelt in every way, where its output is to go."""
    if command.state is _model:
        yield from ("numbers.svm", "numbers.paths", ".", "numbers.svm/model")
    if not command.inputs:
        return
    ending = Path(command.out).suffix
    yield from (command.inputs, f"./{command.inputs}", str(Path(command.inputs).absolute()))
    Path(f"link{ending}").symlink_to(command.inputs)
    Path(f"twin{ending}").hardlink_to(command.inputs)
    yield from (f"link{ending}", f"twin{ending}")
    if " numbers " in command.line:
        yield from (f"numbers/new{ending}", str(next(Path("numbers").absolute().iterdir())))
