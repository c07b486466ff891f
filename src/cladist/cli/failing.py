"""How a command fails: one sentence on standard error, and an exit code that says whose fault it was."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import typer

from cladist.errors import CladistError

SUCCESS, FAULT, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

# The library under typer differs by version (click, or typer's own copy); its errors are found through this one.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[2]


def exit_code(run: Callable[[], Any], *, debug: bool) -> int:
    """Run a command and return its exit code; say what went wrong in one sentence, with `debug` after the traceback.

    Examples
    --------
    >>> exit_code(lambda: None, debug=False)
    0
    """
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            code = run()
        except (typer.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except Exception as problem:
            if debug:
                traceback.print_exc()
            code, sentence = _judged(problem)
            _complain("Error", sentence)
    if code == INTERRUPTED:
        _complain("Stopped", "the command was interrupted.")
    return code if isinstance(code, int) else SUCCESS


def _judged(problem: Exception) -> tuple[int, str]:
    """Return the exit code and the sentence for what was raised."""
    if isinstance(problem, _USAGE_ERROR):
        return BAD_INPUT, f"{problem.format_message().rstrip('.')}; {_usage_hint(problem)}."
    if isinstance(problem, CladistError):
        return BAD_INPUT, str(problem)
    if isinstance(problem, OSError):
        return BAD_INPUT, f"{problem.filename}: {problem.strerror}." if problem.filename else f"{problem}."
    hint = "this is a fault of cladist, not of yours; run it again with --debug to see where it happened."
    return FAULT, f"{type(problem).__name__}: {problem}; {hint}"


def _usage_hint(problem: Any) -> str:
    """Return what to do about bad usage; several columns after one ``--text`` are a likely slip."""
    context = getattr(problem, "ctx", None)
    if context is not None and context.params.get("text") and "unexpected extra argument" in problem.format_message():
        return "--text takes one column, so repeat it for each: --text title --text description"
    return "--help shows how the command is used"


def _complain(kind: str, sentence: str) -> None:
    typer.echo(f"{typer.style(kind, fg='red', bold=True)}: {' '.join(sentence.split())}", err=True)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    typer.echo(f"{typer.style('Warning', fg='yellow', bold=True)}: {' '.join(str(message).split())}", err=True)
