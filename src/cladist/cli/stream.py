"""``cladist stream``: predict rows as they arrive, and train on those that have a label."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cladist.cli import output

EXAMPLE = (
    "Examples: [bold]cladist stream model new.jsonl --out answers.jsonl[/bold]"
    "\n\n[bold]tail -f -n +1 log.jsonl | cladist stream model - --save-every 1000[/bold]"
)


def command(
    terminal: output.Terminal,
    model: output.ModelFolder,
    data: Annotated[str, output.argument("FILE", "JSON lines, one object per row; - for standard input.")],
    out: Annotated[
        Path | None, output.option("--out -o FILE", "The file for predictions.", show_default="standard output")
    ] = None,
    save_every: Annotated[int, output.option("--save-every N", "Save the model after every N rows.", min=1)] = 10_000,
    grow: Annotated[
        bool, output.option("--grow", "Add labels that are not in the taxonomy, below their paths.")
    ] = False,
    new_input: Annotated[
        bool, output.option("--new-input", "This input differs from the one consumed before.")
    ] = False,
    id: Annotated[str, output.option("--id KEY", "The key of a row's id.", output.DATA)] = "id",  # noqa: A002
    text: output.Texts = None,
    label: Annotated[
        str | None, output.option("--label KEY", "The key of the label.", output.DATA, show_default="as in training")
    ] = None,
) -> None:
    """Predict rows as they arrive, and train on those that have a label.

    FILE holds one JSON object per line, with the text under the keys of
    training (a model trained on numbers takes them under x). Each row is
    answered by a line of JSON; if it has a label, the model is then trained
    on it. The model is saved every N rows, at the end, and on the signals to
    stop (SIGINT, SIGTERM) or to save (SIGHUP, SIGUSR1). Started again on the
    same input, also after it was killed, it continues from the last save:
    rows with an id are recognised by it, others by their position.
    """
    from cladist.cli.stream_loop import Stream

    output.check_target(out, data, model)
    start = time.perf_counter()
    options = {"label": label, "id_column": id, "save_every": save_every, "grow": grow, "new_input": new_input}
    with closing(Stream(model, data, out=out, text=text or (), **options)) as stream:  # type: ignore[arg-type]
        counts = stream.run()
    seconds = time.perf_counter() - start
    if out is not None:
        terminal.answer({**asdict(counts), "seconds": seconds, "model": str(model), "out": str(out)})
    terminal.note(
        f"Predicted {counts.rows:,} rows in {seconds:.1f} s, trained on {counts.trained:,}"
        + (f", {counts.right / counts.trained:.1%} of which were predicted correctly before" if counts.trained else "")
        + (f"; skipped {counts.skipped:,} consumed before" if counts.skipped else "")
        + f". The model is in {model}"
    )
