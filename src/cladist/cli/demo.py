"""``cladist demo``: compare methods on ICD-10-CM, classify sample texts, and write a report."""

from __future__ import annotations

import io
import os
import re
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from cladist import progress
from cladist.cli.output import Terminal, check_target, option, table, write_text
from cladist.errors import DatasetError, ParameterError

if TYPE_CHECKING:
    from cladist.cli.demo_methods import Result
    from cladist.datasets import Dataset
    from cladist.report import Sample

EXAMPLE = "Example: [bold]cladist demo --html report.html[/bold]"
DEFAULT_PAGE = Path("cladist-demo", "report.html")
MODEL = "icd10cm-codes"  # the folder beside the page
BEGIN, END = "<!-- demo:begin -->", "<!-- demo:end -->"
EMBEDDING_HELP = (
    "Whether to lead with a model on an embedding of the texts, too; where the package wordllama is installed, it does."
)
MARKDOWN_HELP = f"Write the table into this document, between {BEGIN} and {END}."
PICTURE_COLUMNS = 110

Level = StrEnum("Level", "chapter block category code")


def command(
    terminal: Terminal,
    level: Annotated[Level, option("--level", "The level of ICD-10-CM whose nodes are the labels.")] = Level.category,
    html: Annotated[Path, option("--html FILE", "The report to write, a web page.")] = DEFAULT_PAGE,
    markdown: Annotated[Path | None, option("--markdown FILE", MARKDOWN_HELP)] = None,
    embedding: Annotated[bool | None, option("--embedding/--no-embedding", EMBEDDING_HELP, show_default=False)] = None,
    svg: Annotated[Path | None, option("--svg FILE", "Write a picture of the printed result to this file.")] = None,
) -> None:
    """Compare methods on the built-in diagnoses of ICD-10-CM, classify sample texts, and write a report.

    Takes about a minute on two cores and needs no network. At the level of codes,
    about 75,000 of them, one model is trained, saved beside the report, opened
    memory-mapped, and used to predict in three ways; that takes many minutes.
    """
    if html != DEFAULT_PAGE:
        check_target(html)
    check_target(svg, html)
    if markdown is not None:
        check_markers(markdown)
        check_target(markdown, html, svg)
        if level == Level.code:
            raise ParameterError(
                "--markdown writes a comparison of methods, and --level code has none; leave one of them out."
            )
    with terminal.bars():
        result = run_demo(level.value, html.parent, embedding=embedding)
    html.parent.mkdir(exist_ok=True)
    write_text(html, page(result))
    usage = "cladist demo" if level == Level.category else f"cladist demo --level {level}"
    usage += " --no-embedding" * (embedding is False)
    if markdown is not None:  # read again, as it may have been edited meanwhile
        write_text(markdown, with_comparison(check_markers(markdown), result, usage))
    if svg is not None:
        write_text(svg, picture(render(result), title=usage))
    terminal.answer(to_dict(result) | {"html": str(html)})
    terminal.show(render(result, quiet=terminal.quiet))
    terminal.note(f"The report is in {html}" + (f", the model in {html.parent / MODEL}" * (level == Level.code)))


def run_demo(level: str, folder: Path, *, embedding: bool | None = None) -> Result:
    """Return the comparison of methods at a level; for codes, the result of one model that is saved in `folder`.

    With `embedding`, the comparison is led by a model on an embedding, too; None: if its packages are installed.
    """
    from cladist.cli import demo_methods
    from cladist.datasets import load_icd10cm
    from cladist.storage import check_replaceable, lock_folder

    if embedding and level == "code":
        raise ParameterError("--embedding is for the comparison of methods, and --level code has none; leave it out.")
    if embedding and not demo_methods.has_embedding():
        raise ParameterError(
            "--embedding needs the package wordllama; install it with: pip install 'cladist[wordllama]'."
        )
    model = folder / MODEL
    if level == "code":
        folder.mkdir(exist_ok=True)
        check_replaceable(model)
    with lock_folder(model) if level == "code" else nullcontext():
        with progress.task("Reading ICD-10-CM"):
            data = load_icd10cm(level=level)  # type: ignore[arg-type]
        return demo_methods.train_codes(data, model) if level == "code" else _compared(data, embedding)


def _compared(data: Dataset, embedding: bool | None) -> Result:
    """Return the comparison of methods, led by a model on an embedding if that is wanted, or can be had."""
    from cladist.cli import demo_methods

    return demo_methods.compare(data, embedding=demo_methods.has_embedding() if embedding is None else embedding)


def render(result: Result, *, quiet: bool = False) -> Group:
    """Return the text of the terminal; with `quiet`, the table alone."""
    if quiet:
        return Group(table(*result.table))
    return Group(
        f"{describe_data(result.data)}.",
        table(*result.table),
        Text(result.verdict, style="bold"),
        f"\n{result.name} classifies these new texts, as deep as it is more sure than not:\n"
        if result.samples and result.samples[0].confidence is not None
        else f"\n{result.name} classifies these new texts:\n",
        *map(_render_sample, result.samples),
    )


def _render_sample(sample: Sample) -> Group:
    """Return a text with the predicted path below it, and how sure that is."""
    *above, last = sample.titles
    end = (last, "green"), (f"  {sample.label}", "cyan"), (f"  {sample.remark}", "dim")
    if not sample.is_sure:
        end = (last, "dim"), (f"  {sample.label}", "dim"), (f"  {sample.remark}", "yellow")
    path = Text.assemble(*((f"{part} › ", "dim") for part in above), *end)
    return Group(Text(sample.text, style="bold"), Padding(path, (0, 0, 0, 3)))


def describe_data(data: Dataset) -> str:
    """Return the sizes of the data as a sentence without a full stop."""
    assert data.taxonomy is not None
    return (
        f"{data.source}: {len(data.y_train):,} descriptions for training, {len(data.y_test):,} other wordings for "
        f"testing, {data.taxonomy.n_nodes:,} nodes, {len(data.taxonomy.leaves):,} of them leaves"
    )


def to_dict(result: Result) -> dict[str, Any]:
    """Return the result, the sizes of the data and those of the machine as values for JSON."""
    data = result.data
    assert data.taxonomy is not None
    sizes = {
        "source": data.source,
        "train_rows": len(data.y_train),
        "test_rows": len(data.y_test),
        "nodes": data.taxonomy.n_nodes,
        "leaves": len(data.taxonomy.leaves),
    }
    samples = [sample._asdict() for sample in result.samples]
    return {"data": sizes, "machine": machine(), **result.values, "samples": samples}


def machine() -> dict[str, Any]:
    """Return the number of cores and the memory of this machine, None if unknown."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return {"cores": os.cpu_count(), "memory_gib": None}
    return {"cores": os.cpu_count(), "memory_gib": round(memory)}


def page(result: Result) -> str:
    """Return the web page."""
    from cladist.report import find_errors, html_report

    data, errors = result.data, None
    if result.predicted is not None and data.taxonomy is not None:
        errors = find_errors(data.y_test, result.predicted, data.taxonomy)
    return html_report(
        result.report,
        title=f"{result.name} on {result.data.source}",
        subtitle=describe_data(result.data) + ".",
        comparison=result.table,
        verdict=result.verdict,
        samples=result.samples,
        errors=errors,
    )


def check_markers(path: Path) -> str:
    """Return the text of a document that has the two markers, each once and in order."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8 ({error}).") from error
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise DatasetError(f"{path}: the comparison goes between one line {BEGIN} and one line {END} below it.")
    return text


def with_comparison(text: str, result: Result, usage: str) -> str:
    """Return a document with the comparison between its two markers; `usage` is the command that made it."""
    from cladist.report import markdown_table

    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    size = machine()
    memory = f" and {size['memory_gib']} GiB of memory" if size["memory_gib"] else ""
    cores = f"{size['cores']} core{'' if size['cores'] == 1 else 's'}"
    setup = f"`{usage}` on a machine with {cores}{memory}. {describe_data(result.data)}."
    content = "\n\n".join([setup, markdown_table(result.table), result.verdict])
    return f"{before}{BEGIN}\n{content}\n{END}{after}"


def picture(renderable: Any, *, title: str) -> str:
    """Return an SVG picture of a terminal that shows something; it loads nothing from other hosts."""
    console = Console(record=True, width=PICTURE_COLUMNS, file=io.StringIO(), highlight=False, markup=False)
    console.print(renderable)
    svg = console.export_svg(title=title)
    # The removed rules load a font, for which the local monospace font suffices; the comment names rich's home page.
    return re.sub(r"@font-face\s*\{[^}]*\}\s*|<!--.*?-->\s*", "", svg)
