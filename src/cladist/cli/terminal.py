"""What a command prints, and where: results on standard output, progress and remarks on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO, cast

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Task as RichTask
from rich.segment import Segment
from rich.table import Table as DrawnTable
from rich.text import Text

from cladist import progress
from cladist.errors import visible

if TYPE_CHECKING:
    from cladist.report import Table

WIDEST = 10_000


@dataclass
class Terminal:
    """The two streams of a command, under its options ``--json`` and ``--quiet``."""

    json: bool = False
    quiet: bool = False

    def show(self, *renderables: Any) -> None:
        """Print part of the result for people; with ``--json`` they get none."""
        if not self.json:
            _console(width=_width_for(renderables)).print(*map(_shown, renderables), sep="\n")

    def plain(self, text: str) -> None:
        """Print part of the result for people as it stands; lines are not broken, so they can be copied."""
        if not self.json:
            print(visible(text))

    def remark(self, *renderables: Any) -> None:
        """Print something that is not the result but good to know, on standard error."""
        if not (self.json or self.quiet):
            _console(stderr=True).print(*map(_shown, renderables), sep="\n")

    def answer(self, content: Any) -> None:
        """Print the result for machines, if ``--json`` asks for it."""
        if self.json:
            standard_output().write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    @contextmanager
    def bars(self) -> Iterator[None]:
        """Draw the progress of everything called inside, on a terminal; a failure wipes the bars away."""
        console = _console(stderr=True)
        if self.json or self.quiet or not console.is_terminal:
            yield
            return
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), _Done(), TimeElapsedColumn())
        with Progress(*columns, console=console) as drawn, progress.report_to(Bars(drawn)):
            try:
                yield
            except BaseException:
                for row in drawn.task_ids:
                    drawn.remove_task(row)
                raise


def _shown(renderable: Any) -> Any:
    """Return a text as it will be shown, so that lines are broken where it is too long; other things are rendered."""
    return visible(renderable) if isinstance(renderable, str) else renderable


class _Screen:
    """Standard output that is a terminal: what a terminal would obey is shown."""

    def write(self, text: str) -> int:
        return sys.stdout.write(visible(text))


def standard_output() -> TextIO:
    """Return standard output for CSV or JSON that holds the text of others.

    A file or a pipe gets every character. A terminal gets those that it would obey as escapes, which inside the texts
    of JSON mean the same.
    """
    return cast("TextIO", _Screen()) if sys.stdout.isatty() else sys.stdout


class _Console(Console):
    """A console that shows what a terminal would obey, wherever it stands; only its own styles are obeyed."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render something in segments of text and style."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def _console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Return a console that prints texts as they are: brackets and colons in data are not markup."""
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def _width_for(renderables: tuple[Any, ...]) -> int | None:
    """Return how wide to print: in a file or a pipe tables are as wide as they are, unless COLUMNS says otherwise."""
    console = _console()
    tables = [found for found in renderables if isinstance(found, DrawnTable)]
    if console.is_terminal or not tables or os.environ.get("COLUMNS"):
        return None
    unlimited = console.options.update(max_width=WIDEST)
    return max(console.width, *(console.measure(found, options=unlimited).maximum for found in tables))


class _Done(ProgressColumn):
    """How many steps are done, of how many where that is known."""

    def render(self, task: RichTask) -> Text:
        if task.total is None:
            return Text(f"{task.completed:,.0f}" if task.completed else "")
        return Text(f"{task.completed:,.0f} / {task.total:,.0f}" if task.total > 1 else "")


@dataclass(eq=False)
class _Bar:
    """A piece of work that moves a row of the drawing, or, without one, is not shown."""

    drawn: Progress | None = None
    row: Any = None

    def advance(self, steps: int = 1) -> None:
        if self.drawn is not None:
            self.drawn.advance(self.row, steps)


class Bars:
    """A `cladist.progress.Reporter` that draws one bar for each outermost piece of work.

    Work of unknown length takes over the length of the work inside it, so that fitting under the name of a
    method shows how far the learner is; whatever lies deeper is not shown.
    """

    def __init__(self, drawn: Progress) -> None:
        self.drawn = drawn
        self.outer: _Bar | None = None
        self.mover: _Bar | None = None  # whose steps the bar shows

    def start(self, description: str, total: int | None) -> _Bar:
        """Begin to show a piece of work."""
        if self.outer is None:
            bar = self.outer = _Bar(self.drawn, self.drawn.add_task(visible(description), total=total))
            self.mover = bar if total is not None else None
            return bar
        if self.mover is None:
            self.drawn.update(self.outer.row, total=total, completed=0)
            self.mover = _Bar(self.drawn, self.outer.row)
            return self.mover
        return _Bar()

    def finish(self, task: Any) -> None:
        """Stop showing it; its bar stays, full."""
        if task is self.outer and self.outer is not None:
            row = self.drawn.tasks[self.drawn.task_ids.index(self.outer.row)]
            done = row.total or row.completed or 1
            self.drawn.update(self.outer.row, total=done, completed=done)
            self.outer = None
        if task is self.mover:
            self.mover = None


def table(found: Table) -> DrawnTable:
    """Return a table whose first column is aligned left and whose others are numbers, aligned right."""
    drawn = DrawnTable(box=SIMPLE_HEAD)
    for k, name in enumerate(found.header):
        drawn.add_column(visible(name), justify="right" if k else "left", no_wrap=k == 0)
    for k, row in enumerate(found.rows):
        styles = ("bold green" if (k, column) in found.best else "" for column in range(len(row)))
        drawn.add_row(*(Text(visible(cell), style=style) for cell, style in zip(row, styles, strict=True)))
    return drawn
