"""``cladist demo``: methods compared on ICD-10-CM, samples classified, a report written."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cladist.cli.options import Debug, Json, Quiet

EXAMPLE = "Example: [bold]cladist demo --html report.html[/bold]"
DEFAULT_PAGE = Path("cladist-demo", "report.html")


class Level(StrEnum):
    """How finely the demo classifies."""

    chapter = "chapter"
    block = "block"
    category = "category"
    code = "code"


def command(
    level: Annotated[Level, typer.Option("--level", help="How finely diagnoses are told apart.")] = Level.category,
    html: Annotated[
        Path, typer.Option("--html", metavar="FILE", help="Where to write the report, a web page.")
    ] = DEFAULT_PAGE,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="FILE",
            help="A document to write the table into, between <!-- demo:begin --> and <!-- demo:end -->.",
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Where to write a picture of what is printed.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train on the built-in diagnoses of ICD-10-CM, compare methods, classify samples, write a report.

    Takes about a minute on two cores and needs no network. At the level of codes,
    some 75,000 of them, one model is learnt, saved beside the report, opened again
    without being read, and asked in three ways; that takes many minutes.
    """
    from cladist import progress
    from cladist.cli import demo_output as showing
    from cladist.cli.demo_comparison import compare
    from cladist.cli.output_files import check_target, write_text
    from cladist.cli.terminal import Terminal
    from cladist.datasets import load_icd10cm

    if html != DEFAULT_PAGE:
        check_target(html)
    check_target(svg, outputs=[html])
    if markdown is not None:
        showing.check_markers(markdown)
        check_target(markdown, outputs=[html, svg])
    terminal = Terminal(json, quiet)
    if level == Level.code:
        _show_codes(terminal, html, svg, markdown)
        return
    with terminal.bars():
        with progress.task("Reading ICD-10-CM"):
            data = load_icd10cm(level=level.value)  # type: ignore[arg-type]
        comparison = compare(data)
    html.parent.mkdir(exist_ok=True)
    write_text(html, showing.page(comparison))
    shown = "cladist demo" if level == Level.category else f"cladist demo --level {level}"
    if markdown is not None:  # read again: it may have been edited meanwhile
        write_text(markdown, showing.with_comparison(showing.check_markers(markdown), comparison, shown))
    if svg is not None:
        write_text(svg, showing.picture(showing.drawn(comparison), title=shown))
    terminal.answer(showing.as_json(comparison) | {"html": str(html)})
    terminal.show(showing.drawn(comparison, quiet=quiet))
    terminal.remark(f"The report is in {html}")


def _show_codes(terminal: Any, html: Path, svg: Path | None, markdown: Path | None) -> None:
    """Do at the level of codes what can be done there."""
    from cladist import progress
    from cladist.cli import demo_icd_codes_output as showing
    from cladist.cli.demo_icd_codes import MODEL, show_codes
    from cladist.cli.demo_output import picture
    from cladist.cli.output_files import write_text
    from cladist.datasets import load_icd10cm
    from cladist.errors import ParameterError
    from cladist.storage import check_replaceable, lock_folder

    if markdown is not None:
        raise ParameterError(
            "--markdown writes a comparison of methods, and --level code has none; leave one of them out."
        )
    html.parent.mkdir(exist_ok=True)
    check_replaceable(html.parent / MODEL)
    with terminal.bars(), lock_folder(html.parent / MODEL):
        with progress.task("Reading ICD-10-CM"):
            data = load_icd10cm(level="code")
        found = show_codes(data, html.parent / MODEL)
    write_text(html, showing.page(found))
    if svg is not None:
        write_text(svg, picture(showing.drawn(found), title="cladist demo --level code"))
    terminal.answer(showing.as_json(found) | {"html": str(html)})
    terminal.show(showing.drawn(found, quiet=terminal.quiet))
    terminal.remark(f"The report is in {html}, the model in {found.model}")
