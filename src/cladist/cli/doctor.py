"""``cladist doctor``: labels, rows and nodes that are probably wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cladist.cli import output
from cladist.cli.train import TAXONOMY_HELP

EXAMPLE = (
    "Examples: [bold]cladist doctor shop.csv --text title --label category --path-sep / --fix edits.csv[/bold]"
    "\n\n[bold]cladist apply edits.csv shop.csv --text title --label category --path-sep / --out fixed.csv[/bold]"
)
FIX_HELP = "Write the suggested edits, to be reviewed: put yes into their first column, then cladist apply."
TEST_HELP = "Test data of the same form, whose rows should not be in DATA."
MOST_SHOWN = 10  # of the most suspicious rows


def command(
    terminal: output.Terminal,
    data: output.DataFile,
    taxonomy: Annotated[Path | None, output.option("--taxonomy FILE", TAXONOMY_HELP)] = None,
    test: Annotated[str | None, output.option("--test FILE", TEST_HELP)] = None,
    fix: Annotated[Path | None, output.option("--fix FILE", FIX_HELP)] = None,
    html: Annotated[Path | None, output.option("--html FILE", "Also write all findings as a web page.")] = None,
    text: output.Texts = None,
    label: output.Label = None,
    label_sep: output.LabelSep = None,
    path_sep: output.PathSep = None,
    format: output.Format = None,  # noqa: A002
    zero_based: output.ZeroBased = None,
    query: output.Query = None,
) -> None:
    """Find labels, rows and nodes that are probably wrong, with evidence and suggested edits.

    Rows are predicted by models that were not trained on them. Findings are
    wrong labels, duplicates with other labels, rows without content, nodes that
    are misplaced, alike, two in one, empty, spelt in two ways, or in chains.
    """
    output.check_inputs(data, taxonomy, test)
    from cladist.cli.input import DataSource
    from cladist.cli.training_data import model_rows, read_training_data
    from cladist.evaluation import diagnose
    from cladist.evaluation.edits import write_edits

    columns = (tuple(text or ()), label, label_sep, path_sep)
    source = DataSource(str(data), format and format.value, *columns, zero_based, labelled=True, query=query)
    output.check_target(fix, data, taxonomy, test)
    output.check_target(html, data, taxonomy, test, fix)
    held_out: Any = None
    with terminal.bars():
        rows = read_training_data(source, taxonomy)
        if test is not None:
            from dataclasses import replace

            other = read_training_data(replace(source, path=test), taxonomy)
            held_out = model_rows(other), other.y
        result = diagnose(model_rows(rows), rows.y, rows.taxonomy, test=held_out)
    if fix is not None:
        write_edits(fix, result.edits)
        terminal.note(
            f"{len(result.edits):,} suggested edits are in {fix}; write yes into the first column of right ones."
        )
    if html is not None:
        output.write_text(html, result.to_html(title=f"Diagnosis of {Path(source.name).name}"))
        terminal.note(f"The diagnosis is in {html}")
    terminal.answer(result.to_dict())
    if not result.findings:
        terminal.plain("Nothing was found.")
        return
    terminal.show(output.table(*result.table))
    suspicious = [finding for finding in result.findings if finding.kind == "label error"][:MOST_SHOWN]
    for finding in suspicious:
        terminal.plain(finding.evidence)
