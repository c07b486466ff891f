"""``cladist explore``: the explorer of a model as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cladist.cli import output
from cladist.errors import ParameterError

EXAMPLE = (
    "Examples: [bold]cladist explore model test.csv --html model.html[/bold]"
    "\n\n[bold]cladist explore new test.csv --against old --html changes.html[/bold]"
)
DATA_HELP = "Labelled rows, whose numbers are shown at each node, and some of which can be tried."
FINDINGS_HELP = "The findings that [bold]cladist doctor --json[/bold] wrote, to be shown at their nodes."


def command(
    terminal: output.Terminal,
    model: output.ModelFolder,
    data: Annotated[str | None, output.argument("[DATA]", DATA_HELP)] = None,
    html: Annotated[Path | None, output.option("--html FILE", "The web page to write.")] = None,
    against: Annotated[
        Path | None, output.option("--against MODEL", "Another model, or a version of this one, to compare with.")
    ] = None,
    findings: Annotated[Path | None, output.option("--findings FILE", FINDINGS_HELP)] = None,
    rows: Annotated[int, output.option("--rows N", "How many rows of DATA can be tried.", min=0, max=10_000)] = 200,
) -> None:
    """Write the explorer of a model as one web page, which needs no server.

    The page shows the taxonomy as a map that zooms, the numbers, confusions
    and wrong rows of each node, and what the model says of some rows: their
    paths with probabilities, the words behind them, and where it would stop
    at a level of confidence. To try other texts and to correct predictions,
    run cladist serve instead.
    """
    if html is None:
        raise ParameterError("Name the web page to write, such as --html model.html; cladist serve shows one at once.")
    output.check_inputs(data, findings, model=model)
    if against is not None:
        output.check_inputs(model=against)
    output.check_target(html, data, findings, model, against)
    from cladist.cli.serve import named_folders, read_rows
    from cladist.server.findings import read_findings
    from cladist.server.offline import explorer_page
    from cladist.server.served import ServedModel

    found = () if findings is None else read_findings(findings)
    folders = named_folders([str(folder) for folder in (model, against) if folder is not None])
    read = None if data is None else read_rows(model, data, terminal)
    models = {name: ServedModel.load(folder) for name, folder in folders.items()}
    output.write_text(html, explorer_page(models, read, findings=found, n_rows=rows))
    terminal.note(f"The explorer is in {html}")
    nodes = {name: served.nodes.taxonomy.n_nodes for name, served in models.items()}
    terminal.answer({"html": str(html), "models": nodes, "rows": 0 if read is None else len(read.texts)})
