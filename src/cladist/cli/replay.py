"""``cladist replay``: a model learns the corrections that a server has kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cladist.cli import output
from cladist.errors import DatasetError, ModelFormatError

EXAMPLE = "Example: [bold]cladist replay model --out model[/bold]"


def command(
    terminal: output.Terminal,
    model: output.ModelFolder,
    log: Annotated[
        Path | None,
        output.argument(
            "LOG", "The file of corrections that [bold]cladist serve[/bold] wrote; by default MODEL.feedback."
        ),
    ] = None,
    out: Annotated[
        Path | None, output.option("--out -o FOLDER", "The folder for the model, which may be the same one.")
    ] = None,
) -> None:
    """Learn the corrections of a log, and save the model.

    The model is then the one that learnt them while it was served. Those that
    it has learnt before are left out, so that none is learnt twice. Without
    --out, the log is only checked.
    """
    output.check_inputs(log, model=model)
    path = log or model.resolve().with_name(f"{model.resolve().name}.feedback")
    if not path.is_file():
        raise DatasetError(f"{path}: there is no such log; name the file that cladist serve wrote.")
    from cladist.persistence.models import load_noted, save
    from cladist.server.feedback_log import FeedbackLog
    from cladist.server.learner import Learning
    from cladist.server.served import ServedModel

    fitted, notes, arrays = load_noted(model)
    corrections = FeedbackLog(path)
    learning = Learning(ServedModel(fitted, notes), corrections)
    n_kept = sum(1 for _ in corrections.read())
    if out is not None:
        if not learning.is_online:
            raise ModelFormatError(
                f"{model} holds a {type(learning.model.learner).__name__}, which cannot learn row by row; add the "
                "corrections to its training data, or train a model with --method hieron, h-rls or h-perc."
            )
        learning.catch_up()
        save(fitted, out, notes=learning.notes(), note_arrays=arrays)
    terminal.answer(
        {
            "corrections": n_kept,
            "learnt": learning.n_learnt,
            "refused": sorted(learning.refused),
            "out": None if out is None else str(out),
        }
    )
    refused = f"; {learning.n_refused:,} do not fit the model" if learning.n_refused else ""
    saved = f"; {learning.n_learnt:,} are new to the model, which is in {out}{refused}" if out is not None else ""
    terminal.show(f"{path}: {n_kept:,} corrections, all of them whole{saved}.")
