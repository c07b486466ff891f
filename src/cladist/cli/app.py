"""The application: its commands, its version, and how a command that fails ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cladist._version import __version__
from cladist.cli import bench, demo, evaluate, methods, predict, sample, stream, taxonomy, train
from cladist.cli.exit_codes import exit_code


class Commands(TyperGroup):
    """The group of commands; ends the process with the exit code that tells what happened."""

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **others: Any) -> Any:  # type: ignore[override]
        """Run a command; in standalone mode every failure becomes one sentence and an exit code."""
        given = list(sys.argv[1:] if args is None else args)
        run = partial(super().main, given, standalone_mode=False, **others)
        if not standalone_mode:
            return run()
        sys.exit(exit_code(run, debug="--debug" in given))


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Begin with [bold]cladist demo[/bold], or with [bold]cladist sample DIR[/bold] for files to try things on.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cladist {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Teach a machine to file things into a taxonomy."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (demo, sample, train, predict, stream, evaluate, taxonomy, methods, bench):
    app.command(command.__name__.rpartition(".")[2], epilog=command.EXAMPLE)(command.command)
