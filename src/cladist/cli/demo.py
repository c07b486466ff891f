"""``cladist demo``: compare methods on ICD-10-CM, classify sample texts, and write a report."""

from __future__ import annotations

from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from cladist.cli.options import Debug, Json, Quiet, option
from cladist.errors import ParameterError

EXAMPLE = "Example: [bold]cladist demo --html report.html[/bold]"
DEFAULT_PAGE = Path("cladist-demo", "report.html")
MARKDOWN_HELP = "Write the table into this document, between <!-- demo:begin --> and <!-- demo:end -->."

Level = StrEnum("Level", "chapter block category code")


def command(
    level: Annotated[Level, option("--level", "The level of ICD-10-CM whose nodes are the labels.")] = Level.category,
    html: Annotated[Path, option("--html FILE", "The report to write, a web page.")] = DEFAULT_PAGE,
    markdown: Annotated[Path | None, option("--markdown FILE", MARKDOWN_HELP)] = None,
    svg: Annotated[Path | None, option("--svg FILE", "Write a picture of the printed result to this file.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare methods on the built-in diagnoses of ICD-10-CM, classify sample texts, and write a report.

    Takes about a minute on two cores and needs no network. At the level of codes,
    about 75,000 of them, one model is trained, saved beside the report, opened
    memory-mapped, and used to predict in three ways; that takes many minutes.
    """
    from cladist.cli import demo_output
    from cladist.cli.output import Terminal, check_target, write_text

    if html != DEFAULT_PAGE:
        check_target(html)
    check_target(svg, outputs=[html])
    if markdown is not None:
        demo_output.check_markers(markdown)
        check_target(markdown, outputs=[html, svg])
        if level == Level.code:
            raise ParameterError(
                "--markdown writes a comparison of methods, and --level code has none; leave one of them out."
            )
    terminal = Terminal(json, quiet)
    with terminal.bars():
        result = run_demo(level.value, html.parent)
    html.parent.mkdir(exist_ok=True)
    write_text(html, demo_output.page(result))
    usage = "cladist demo" if level == Level.category else f"cladist demo --level {level}"
    if markdown is not None:  # read again, as it may have been edited meanwhile
        write_text(markdown, demo_output.with_comparison(demo_output.check_markers(markdown), result, usage))
    if svg is not None:
        write_text(svg, demo_output.picture(demo_output.render(result), title=usage))
    terminal.answer(demo_output.to_dict(result) | {"html": str(html)})
    terminal.show(demo_output.render(result, quiet=quiet))
    terminal.note(f"The report is in {html}" + (f", the model in {result.model}" if level == Level.code else ""))


def run_demo(level: str, folder: Path) -> Any:
    """Return the comparison of methods at a level; for codes, the result of one model that is saved in `folder`."""
    from cladist import progress
    from cladist.cli import demo_codes, demo_comparison
    from cladist.datasets import load_icd10cm
    from cladist.storage import check_replaceable, lock_folder

    model = folder / demo_codes.MODEL
    if level == "code":
        folder.mkdir(exist_ok=True)
        check_replaceable(model)
    with lock_folder(model) if level == "code" else nullcontext():
        with progress.task("Reading ICD-10-CM"):
            data = load_icd10cm(level=level)  # type: ignore[arg-type]
        return demo_codes.train_codes(data, model) if level == "code" else demo_comparison.compare(data)
