"""``cladist stream``: learn from rows as they come, and answer each before it is learnt."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cladist.cli.options import DATA, Debug, Json, ModelArgument, Quiet, Text

EXAMPLE = (
    "Examples: [bold]cladist stream model new.jsonl --out answers.jsonl[/bold]"
    "\n\n[bold]tail -f -n +1 log.jsonl | cladist stream model - --save-every 1000[/bold]"
)


def command(
    model: ModelArgument,
    data: Annotated[str, typer.Argument(metavar="FILE", help="JSON lines, one object a row; - for standard input.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write answers.", show_default="standard output"),
    ] = None,
    save_every: Annotated[
        int, typer.Option("--save-every", metavar="N", min=1, help="Save the model after every N rows.")
    ] = 10_000,
    grow: Annotated[
        bool, typer.Option("--grow", help="Add labels that are not in the taxonomy; paths say where.")
    ] = False,
    new_input: Annotated[
        bool, typer.Option("--new-input", help="This is not the input that the model has consumed before.")
    ] = False,
    id: Annotated[  # noqa: A002
        str, typer.Option("--id", metavar="KEY", help="The key of a row's id.", rich_help_panel=DATA)
    ] = "id",
    text: Text = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label", metavar="KEY", help="The key of the label.", rich_help_panel=DATA, show_default="as in training"
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict rows as they come, and learn those that have a label.

    FILE holds one JSON object a line, with the text under the keys of training
    (a model that learnt from numbers takes them under x). Every row is
    answered by a line of JSON; if it has a label, it is learnt right after.
    The model is saved every N rows, at the end, and when the process is told
    to stop (SIGINT, SIGTERM) or to save (SIGHUP, SIGUSR1). Started again on the
    same input, also after it was killed, it goes on where the last save was:
    rows that carry an id are known by it, others by their place.
    """
    from cladist.cli.output_files import check_target
    from cladist.cli.stream_loop import Stream
    from cladist.cli.terminal import Terminal

    check_target(out, inputs=[data, model])
    terminal = Terminal(json, quiet)
    started = time.perf_counter()
    name = "standard input" if data == "-" else data
    fd = 0 if data == "-" else os.open(data, os.O_RDONLY)
    try:
        stream = Stream(
            model,
            out=out,
            text=tuple(text or ()),
            label=label,
            id_column=id,
            save_every=save_every,
            grow=grow,
            new_input=new_input,
            name=name,
        )
        try:
            done = stream.run(fd)
        finally:
            stream.close()
    finally:
        if fd:
            os.close(fd)
    seconds = time.perf_counter() - started
    if out is not None:
        terminal.answer({**asdict(done), "seconds": seconds, "model": str(model), "out": str(out)})
    terminal.remark(
        f"Answered {done.rows:,} rows in {seconds:.1f} s, learnt {done.learnt:,}"
        + (f", {done.right / done.learnt:.1%} of which were answered rightly before" if done.learnt else "")
        + (f"; skipped {done.skipped:,} consumed before" if done.skipped else "")
        + f". The model is in {model}"
    )
