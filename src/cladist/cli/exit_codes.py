"""How a command fails: one sentence on standard error, and an exit code that says whose fault it was."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import typer

from cladist.errors import CladistError, visible

SUCCESS, FAULT, BAD_INPUT, OUT_OF_MEMORY, INTERRUPTED = 0, 1, 2, 3, 130
NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))

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
            _flush()
        except BrokenPipeError:  # whoever read the output has left, and nothing is to be told to anybody
            code = FAULT
        except (typer.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except Exception as problem:
            if debug:
                typer.echo(visible(traceback.format_exc()), err=True, nl=False)
            with suppress(OSError):
                _flush()
            code, sentence = _judged(problem)
            _complain("Error", " ".join([sentence, *getattr(problem, "__notes__", ())]))
    if code == INTERRUPTED:
        _complain("Stopped", "the command was interrupted.")
    return code if isinstance(code, int) else SUCCESS


def _flush() -> None:
    """Write out what standard output holds, so that a full disk is told of as any other error."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):  # the rest would fail once more when the process ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _judged(problem: Exception) -> tuple[int, str]:
    """Return the exit code and the sentence for what was raised."""
    if isinstance(problem, _USAGE_ERROR):
        return BAD_INPUT, f"{problem.format_message().rstrip('.')}; {_usage_hint(problem)}."
    if isinstance(problem, CladistError):
        return BAD_INPUT, str(problem)
    if isinstance(problem, OSError):
        return BAD_INPUT, _about_file(problem)
    if isinstance(problem, MemoryError):
        return OUT_OF_MEMORY, _about_memory(problem)
    hint = "this is a fault of cladist, not of yours; run it again with --debug to see where it happened."
    return FAULT, f"{type(problem).__name__}: {problem}; {hint}"


def _about_file(problem: OSError) -> str:
    """Say which file it is and what is wrong with it; writers name theirs, so one without a name is none of them."""
    name, said = problem.filename, problem.strerror or str(problem)
    if problem.errno in NO_ROOM:
        name = name or f"standard output or {tempfile.gettempdir()}, the folder for temporary files"
        said += "; make room there, or write elsewhere"
    return f"{name}: {said}." if name else f"{said}."


def _about_memory(problem: MemoryError) -> str:
    detail = f" ({str(problem).rstrip('.')})" if str(problem) else ""
    return (
        f"The memory does not suffice{detail}; use fewer rows or features, --hashing for texts, or --param "
        "weights=sparse where the method has it, or a machine with more memory."
    )


def _usage_hint(problem: Any) -> str:
    """Return what to do about bad usage; several columns after one ``--text`` are a likely slip."""
    context = getattr(problem, "ctx", None)
    if context is not None and context.params.get("text") and "unexpected extra argument" in problem.format_message():
        return "--text takes one column, so repeat it for each: --text title --text description"
    return "--help shows how the command is used"


def _complain(kind: str, sentence: str) -> None:
    typer.echo(f"{typer.style(kind, fg='red', bold=True)}: {_line(sentence)}", err=True)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    typer.echo(f"{typer.style('Warning', fg='yellow', bold=True)}: {_line(str(message))}", err=True)


def _line(sentence: str) -> str:
    """Return a sentence in one line, with names of others in it that a terminal might obey."""
    return visible(" ".join(sentence.split()))
