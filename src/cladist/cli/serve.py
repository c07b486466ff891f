"""``cladist serve``: models behind HTTP, with a page to explore them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cladist.cli import output
from cladist.errors import ParameterError

EXAMPLE = (
    "Examples: [bold]cladist serve model --data test.csv[/bold]"
    '\n\n[bold]curl -s localhost:8000/predict --json \'{"texts": ["acute bronchitis"], "top_k": 3}\'[/bold]'
)


def command(
    terminal: output.Terminal,
    models: Annotated[
        list[str], output.argument("MODEL…", "Model folders, or NAME=FOLDER; the first one is the default.")
    ],
    data: Annotated[
        str | None, output.option("--data FILE", "Labelled rows, to show the numbers of each node.", output.DATA)
    ] = None,
    host: Annotated[str, output.option("--host ADDRESS", "The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, output.option("--port N", "The port; 0: a free one.", min=0, max=65535)] = 8000,
) -> None:
    """Answer requests over HTTP, and show the model in a browser.

    POST /predict takes texts or rows of values and answers labels with their
    paths; POST /explain says why; GET /taxonomy, /nodes/ID and /model show
    the model. /openapi.json describes all of them.
    """
    named = named_folders(models)
    output.check_inputs(*([data] if data else []))
    for folder in named.values():
        output.check_inputs(model=folder)
    from cladist.server import create_app
    from cladist.server.process import run

    evaluations = {} if data is None else {next(iter(named)): evaluate(next(iter(named.values())), data, terminal)}
    app = create_app(named, evaluations=evaluations)
    terminal.note(f"The server listens at http://{host}:{port}; Ctrl+C stops it.")
    run(app, host, port)


def named_folders(models: list[str]) -> dict[str, Path]:
    """Return the folders of models by name, which is that of the folder unless it is given as NAME=FOLDER."""
    named: dict[str, Path] = {}
    for text in models:
        name, equals, path = text.partition("=")
        folder = Path(path if equals and not Path(text).exists() else text)
        name = name if equals and not Path(text).exists() else folder.resolve().name
        if name in named:
            raise ParameterError(f"Two models are called {name!r}; give one of them another name, as NAME=FOLDER.")
        named[name] = folder
    return named


def evaluate(folder: Path, data: str, terminal: output.Terminal) -> Any:
    """Return the predictions of a model for labelled rows."""
    from cladist.cli.evaluate import read_rows
    from cladist.cli.input import DataSource, open_model, resolve, slices
    from cladist.labels import LabelMatrix, encode
    from cladist.learners.out_of_fold import last_step
    from cladist.server import Evaluation

    model, notes = open_model(folder)
    source = resolve(DataSource(data, labelled=True), model, notes, folder)
    with terminal.bars():
        rows = read_rows(model, source, notify=terminal.note)
        taxonomy = last_step(model).taxonomy_
        parts = [encode(model.predict(X), taxonomy).labels for X in slices(rows.X)]
    predicted = LabelMatrix.from_parts(parts, taxonomy)
    texts = list(map(str, rows.X)) if getattr(rows.X, "ndim", 1) == 1 else [f"row {k + 1}" for k in range(len(rows.y))]
    return Evaluation(encode(rows.y, taxonomy).labels, predicted, texts)
