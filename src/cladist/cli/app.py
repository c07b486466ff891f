"""The ``cladist`` application: its commands, its version, and the exit code and message of a failure."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from inspect import Signature, signature
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cladist import progress
from cladist._version import __version__
from cladist.cli import (
    apply,
    bench,
    compare,
    demo,
    doctor,
    evaluate,
    explain,
    methods,
    migrate,
    pack,
    predict,
    sample,
    split,
    stream,
    suggest,
    taxonomy,
    train,
)
from cladist.cli.output import Terminal, option
from cladist.errors import CladistError, visible

SUCCESS, FAULT, BAD_INPUT, OUT_OF_MEMORY, INTERRUPTED = 0, 1, 2, 3, 130
DISK_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))

Json = Annotated[bool, option("--json", "Print the result as JSON, and nothing else.", "Output")]
Quiet = Annotated[bool, option("--quiet -q", "Print no progress bars and no notes.", "Output")]
Debug = Annotated[bool, option("--debug", "Show the traceback of a failure.", "Output")]

# Depending on its version, typer uses click or its own copy of it; these base classes are found either way.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
_COMMAND_ERROR: Any = typer.BadParameter.__mro__[2]


class Commands(TyperGroup):
    """The group of commands; it ends the process with the exit code of the command."""

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **settings: Any) -> Any:  # type: ignore[override]
        """Run a command; in standalone mode a failure becomes one sentence and an exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        run = partial(super().main, arguments, standalone_mode=False, **settings)
        if not standalone_mode:
            return run()
        sys.exit(exit_code(run, debug="--debug" in arguments))


def exit_code(run: Callable[[], Any], *, debug: bool) -> int:
    """Run a command and return its exit code; print a failure as one sentence, with `debug` after the traceback."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _print_sentence("Warning", str(message), "yellow")
        try:
            code = run()
            _flush()
        except BrokenPipeError:  # the reader of the output has closed it, so there is nobody to report to
            code = FAULT
        except (typer.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except Exception as error:
            if debug:
                typer.echo(visible(traceback.format_exc()), err=True, nl=False)
            with suppress(OSError):
                _flush()
            code, sentence = _describe(error)
            _print_sentence("Error", " ".join([sentence, *getattr(error, "__notes__", ())]))
    if code == INTERRUPTED:
        _print_sentence("Stopped", "the command was interrupted.")
    return code if isinstance(code, int) else SUCCESS


def _flush() -> None:
    """Flush standard output, so that a full disk is reported like any other error."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):  # the rest of the buffer would fail again when the process ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _describe(error: Exception) -> tuple[int, str]:
    """Return the exit code and the sentence for an exception."""
    if isinstance(error, _COMMAND_ERROR):
        return BAD_INPUT, f"{error.format_message().rstrip('.')}; {_usage_hint(error)}."
    if isinstance(error, CladistError):
        return BAD_INPUT, str(error)
    if isinstance(error, OSError):
        return BAD_INPUT, _describe_file_error(error)
    if isinstance(error, MemoryError):
        detail = f" ({str(error).rstrip('.')})" if str(error) else ""
        return OUT_OF_MEMORY, (
            f"Out of memory{detail}; use fewer rows or features, --hashing for texts, or --param weights=sparse "
            "where the method has it, or a machine with more memory."
        )
    hint = "this is a bug in cladist, not a mistake of yours; run it again with --debug to see where it happened."
    return FAULT, f"{type(error).__name__}: {error}; {hint}"


def _describe_file_error(error: OSError) -> str:
    """Return which file failed and why; our writers name their file, so an error without a name is of another one."""
    name, reason = error.filename, error.strerror or str(error)
    if error.errno in DISK_FULL:
        name = name or f"standard output or {tempfile.gettempdir()}, the folder for temporary files"
        reason += "; make room there, or write elsewhere"
    return f"{name}: {reason}." if name else f"{reason}."


def _usage_hint(error: Any) -> str:
    """Return advice about bad usage; several columns after one ``--text`` are a frequent mistake."""
    # Missing and unknown options have classes of their own; extra arguments have the base class.
    context = getattr(error, "ctx", None)
    if type(error) is _USAGE_ERROR and context is not None and context.params.get("text"):
        return "--text takes one column, so repeat it for each: --text title --text description"
    return "--help shows how the command is used"


def _print_sentence(kind: str, sentence: str, colour: str = "red") -> None:
    """Print a sentence on one line, with terminal control characters of foreign names escaped."""
    typer.echo(f"{typer.style(kind, fg=colour, bold=True)}: {visible(' '.join(sentence.split()))}", err=True)


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Start with [bold]cladist demo[/bold], or with [bold]cladist sample DIR[/bold] for files to try things on.",
)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"cladist {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train and evaluate hierarchical classifiers."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def with_output_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of all commands in place of its first parameter, the terminal."""

    def run(json: Json = False, quiet: Quiet = False, debug: Debug = False, **options: Any) -> None:
        with progress.hide() if json or quiet else nullcontext():
            command(Terminal(json, quiet), **options)

    own, shared = (list(signature(function, eval_str=True).parameters.values()) for function in (command, run))
    run.__signature__ = Signature([*own[1:], *shared[:-1]])  # type: ignore[attr-defined]
    run.__doc__ = command.__doc__
    return run


COMMANDS = (
    demo, sample, split, pack, doctor, apply, migrate, compare, train, predict, stream, evaluate, explain, suggest,
    taxonomy, methods, bench,
)  # fmt: skip
for command in COMMANDS:
    app.command(command.__name__.rpartition(".")[2], epilog=command.EXAMPLE)(with_output_options(command.command))
