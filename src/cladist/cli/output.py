"""What commands share: their options, results on standard output, notes on standard error, files that appear whole."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from stat import S_ISREG
from typing import Annotated, Any, TextIO, cast

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Task as RichTask
from rich.segment import Segment
from rich.table import Column as RichColumn
from rich.table import Table as RichTable
from rich.text import Text

from cladist import files, progress
from cladist.errors import DatasetError, ModelFormatError, ParameterError, visible
from cladist.locks import make_temporary

PathLike = str | os.PathLike[str]
UNLIMITED_WIDTH = 10_000
MAX_SHOWN = 10  # names in one list
_WORD = re.compile(r"[^\W\d_]{3}")  # in a cell; units of numbers are shorter


DATA = "Data"  # a panel of the help
DATA_HELP = (
    "A table (.csv, .tsv, .jsonl, .parquet, .arrow, .xlsx, .ods; sqlite:///FILE or duckdb:///FILE with --query), or "
    "numbers in svmlight (.svm), ARFF (.arff) or LSHTC."
)

DataFormat = StrEnum("DataFormat", "csv tsv jsonl parquet arrow xlsx ods svmlight arff lshtc")


def argument(metavar: str, text: str) -> Any:
    """Return a positional argument for a command's signature."""
    return typer.Argument(metavar=metavar, help=text)


def option(usage: str, text: str, panel: str | None = None, **settings: Any) -> Any:
    """Return an option for a command's signature; `usage` holds its flags and its value, as in "--out -o FILE"."""
    flags = [word for word in usage.split() if word.startswith("-")]
    value = usage.split()[-1]
    metavar = None if value in flags else value
    return typer.Option(*flags, metavar=metavar, help=text, rich_help_panel=panel, **settings)


TEXT_HELP = "The column with the text; repeat it to join the texts of several columns."
FORMAT_HELP = "The format of the data, if not inferable from the file extension."
BASE_HELP = "Whether the feature indices of an svmlight or ARFF file start at 0 or at 1."
Texts = Annotated[list[str] | None, option("--text COLUMN", TEXT_HELP, DATA)]
Label = Annotated[str | None, option("--label COLUMN", "The column with the label.", DATA)]
LabelSep = Annotated[str | None, option("--label-sep TEXT", "The separator of several labels in one field.", DATA)]
PathSep = Annotated[str | None, option("--path-sep TEXT", "The separator of path parts, if labels are paths.", DATA)]
Format = Annotated[DataFormat | None, option("--format", FORMAT_HELP, DATA)]
ZeroBased = Annotated[bool | None, option("--zero-based/--one-based", BASE_HELP, DATA, show_default=False)]
ModelFolder = Annotated[Path, argument("MODEL", "The model folder written by [bold]cladist train[/bold].")]
DataFile = Annotated[str, argument("DATA", DATA_HELP)]
QUERY_HELP = "The query whose answer is the table, if DATA is a database."
Query = Annotated[str | None, option("--query SQL", QUERY_HELP, DATA)]


@dataclass
class Terminal:
    """The output streams of a command with the options ``--json`` and ``--quiet``."""

    json: bool = False
    quiet: bool = False

    def show(self, *renderables: Any) -> None:
        """Print part of the result for people; with ``--json``, nothing."""
        if not self.json:
            _console(width=_width_of(renderables)).print(*map(_escape, renderables), sep="\n")

    def plain(self, text: str) -> None:
        """Print part of the result for people without wrapping lines, so that they can be copied."""
        if not self.json:
            print(visible(text))

    def note(self, *renderables: Any) -> None:
        """Print information beside the result on standard error, unless ``--json`` or ``--quiet`` is set."""
        if not (self.json or self.quiet):
            _console(stderr=True).print(*map(_escape, renderables), sep="\n")

    def answer(self, content: Any) -> None:
        """Print the result as JSON, if ``--json`` is set."""
        if self.json:
            standard_output().write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    @contextmanager
    def bars(self) -> Iterator[None]:
        """Draw progress bars of the work inside the block, on a terminal; a failure removes them."""
        console = _console(stderr=True)
        if self.json or self.quiet or not console.is_terminal:
            yield
            return
        description = TextColumn("{task.description}", markup=False, table_column=RichColumn(no_wrap=True))
        columns = (description, BarColumn(30), _StepCount(), _Times())
        with Progress(*columns, console=console) as drawing, progress.report_to(Bars(drawing)):
            try:
                yield
            except BaseException:
                for row in drawing.task_ids:
                    drawing.remove_task(row)
                raise


def _escape(renderable: Any) -> Any:
    """Escape a text before it is wrapped, as escapes change its length; other things are escaped when rendered."""
    return visible(renderable) if isinstance(renderable, str) else renderable


class _Escaped:
    """Standard output that is a terminal: control characters are written as escapes."""

    def write(self, text: str) -> int:
        return sys.stdout.write(visible(text))


def standard_output() -> TextIO:
    """Return standard output for CSV or JSON; a terminal gets control characters as escapes, which JSON allows."""
    return cast("TextIO", _Escaped()) if sys.stdout.isatty() else sys.stdout


class _Console(Console):
    """A console that escapes control characters wherever they occur; only its own styles take effect."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def _console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Return a console that prints texts literally: brackets and colons in data are not markup."""
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def _width_of(renderables: tuple[Any, ...]) -> int | None:
    """Return the width to print with: tables in a file or a pipe are not cut, unless COLUMNS is set."""
    console = _console()
    tables = [renderable for renderable in renderables if isinstance(renderable, RichTable)]
    if console.is_terminal or not tables or os.environ.get("COLUMNS"):
        return None
    unlimited = console.options.update(max_width=UNLIMITED_WIDTH)
    return max(console.width, *(console.measure(table, options=unlimited).maximum for table in tables))


def table(header: list[str], rows: list[list[str]], best: Collection[tuple[int, int]] = ()) -> RichTable:
    """Return a table, as `cladist.report.Table` holds it: the first column and those of words are aligned left."""
    drawing = RichTable(box=SIMPLE_HEAD)
    for k, name in enumerate(header):
        is_text = k == 0 or any(_WORD.search(row[k]) for row in rows)
        drawing.add_column(visible(name), justify="left" if is_text else "right", no_wrap=k == 0)
    for k, row in enumerate(rows):
        styles = ("bold green" if (k, column) in best else "" for column in range(len(row)))
        drawing.add_row(*(Text(visible(cell), style=style) for cell, style in zip(row, styles, strict=True)))
    return drawing


def join_path(names: Sequence[str]) -> str:
    """Return the names on a path, with a gap if it is long."""
    return " → ".join(names if len(names) <= MAX_SHOWN else (*names[: MAX_SHOWN - 2], "…", names[-1]))


def join_names(names: Sequence[str]) -> str:
    """Return the first names, and the number of others."""
    more = f" and {len(names) - MAX_SHOWN:,} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more


class _StepCount(ProgressColumn):
    """The number of steps done, and of all steps if known, with their unit."""

    def get_table_column(self) -> RichColumn:
        return RichColumn(no_wrap=True)

    def render(self, task: RichTask) -> Text:
        unit, size = task.fields.get("unit") or "", 1.0
        if unit == "bytes" and (task.total or task.completed) >= 10_000:
            unit, size = ("MB", 1e6) if (task.total or task.completed) >= 1e6 else ("kB", 1e3)
        shown = f"{task.completed / size:,.0f}" if task.total is None else f"{task.completed / size:,.0f} / "
        shown += "" if task.total is None else f"{task.total / size:,.0f}"
        is_shown = task.completed if task.total is None else task.total > 1
        return Text(f"{shown} {unit}".rstrip() if is_shown else "")


class _Times(ProgressColumn):
    """The time since the start, and the time left while it can be told from the steps done."""

    max_refresh = 0.5

    def __init__(self) -> None:
        super().__init__(table_column=RichColumn(no_wrap=True))
        self.elapsed, self.remaining = TimeElapsedColumn(), TimeRemainingColumn(compact=True)

    def render(self, task: RichTask) -> Text:
        left = self.remaining.render(task) if task.total and task.completed and not task.finished else Text("-")
        return self.elapsed.render(task) + (f", {left.plain} left" if left.plain[:1].isdigit() else "")


@dataclass(eq=False)
class _Bar:
    """A task that advances a row of the drawing, or is not shown if it has none."""

    drawing: Progress | None = None
    row: Any = None

    def advance(self, steps: int = 1) -> None:
        if self.drawing is not None:
            self.drawing.advance(self.row, steps)

    def describe(self, description: str) -> None:
        if self.drawing is not None:
            self.drawing.update(self.row, description=visible(description))

    def count_in(self, unit: str) -> None:
        if self.drawing is not None:
            self.drawing.update(self.row, unit=unit)


class Bars:
    """A `cladist.progress.Reporter` that draws one bar per outermost task.

    A task of unknown length shows the steps of the first task inside it, so that the bar of a method shows the
    progress of its learner. Tasks nested deeper are not shown.
    """

    def __init__(self, drawing: Progress) -> None:
        self.drawing = drawing
        self.outer: _Bar | None = None
        self.counted: _Bar | None = None  # the task whose steps the bar shows

    def start(self, description: str, total: int | None) -> _Bar:
        """Show a new task."""
        if self.outer is None:
            bar = self.outer = _Bar(self.drawing, self.drawing.add_task(visible(description), total=total))
            self.counted = bar if total is not None else None
            return bar
        if self.counted is None:
            self.drawing.update(self.outer.row, total=total, completed=0, unit="")
            self.counted = _Bar(self.drawing, self.outer.row)
            return self.counted
        return _Bar()

    def announce(self, message: str) -> None:
        """Print a message above the bars."""
        self.drawing.console.print(message)

    def finish(self, task: Any) -> None:
        """End a task; its bar stays, full."""
        if task is self.outer and self.outer is not None:
            row = self.drawing.tasks[self.drawing.task_ids.index(self.outer.row)]
            total = row.total or row.completed or 1
            self.drawing.update(self.outer.row, total=total, completed=total)
            self.outer = None
        if task is self.counted:
            self.counted = None


def check_inputs(*paths: PathLike | None, model: Path | None = None) -> None:
    """Raise an error at once if a file or the model folder does not exist: the imports that read them take longer."""
    if model is not None and not model.is_dir():
        raise ModelFormatError(f"{model} is not a folder, so no model can be read from it.")
    for path in paths:
        if path is not None and str(path) != "-" and "://" not in str(path) and not os.path.lexists(path):
            raise DatasetError(f"{path}: there is no such file.")


def named_file(out: Path | None) -> Path | None:
    """Return the file to write, or None for standard output, which "-" names as well."""
    return None if out is None or str(out) == "-" else out


def check_executor(executor: str | None) -> None:
    """Refuse an engine that there is not."""
    if executor not in (None, "ray"):
        raise ParameterError(f"--executor must be ray; got {executor!r}.")


def check_target(path: PathLike | None, *others: PathLike | None) -> None:
    """Raise an error if `path` cannot be written, before work is done whose result would be lost.

    `others` are the other files ("-": standard input) and model folders that the command reads or writes. The path
    must be none of them, by any name or link, and must not lie in these folders.
    """
    if path is None:
        return
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, and a file is to be written", str(target))
    for other in others:
        if other is not None and _is_in(target, other):
            if os.path.isdir(other):
                raise ParameterError(f"{target} lies in the folder of a model; write to a file outside of it.")
            raise ParameterError(f"{target} is also read, or written for another option; write to another file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    if target.exists() and not target.is_file():
        return  # a device or a pipe
    try:
        with make_temporary(target.resolve().parent, "file"):  # permissions do not tell everything: try it
            pass
    except OSError as error:
        reason = f"no file can be made in this folder ({error.strerror})"
        raise OSError(error.errno, reason, str(target.parent)) from error


def _is_in(target: Path, other: PathLike) -> bool:
    """Return whether a file is the other one, by any name, or lies in it if that is a folder."""
    if os.fspath(other) == "-":
        with suppress(OSError, ValueError):  # a stream in memory has no file
            status = os.fstat(sys.stdin.fileno())
            return S_ISREG(status.st_mode) and target.exists() and os.path.samestat(status, target.stat())
        return False
    path = Path(other)
    if path.is_dir():
        return target.resolve().is_relative_to(path.resolve())
    if target.exists() and not target.is_file():
        return False  # a device or a pipe
    return target.resolve() == path.resolve() or (target.exists() and path.exists() and target.samefile(path))


@contextmanager
def replacing(path: PathLike) -> Iterator[TextIO]:
    """Open a text that replaces the file `path` if the block ends without an error; devices are written to directly."""
    check_target(path)
    with files.open_replacement(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
        yield file


def write_text(path: PathLike, text: str) -> None:
    """Write a whole text file at once."""
    with replacing(path) as file:
        file.write(text)
