"""The demo's result in a terminal, as JSON, as Markdown, as an SVG picture and as a web page."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from cladist.cli.output import table
from cladist.errors import DatasetError
from cladist.report import Sample, html_report, markdown_table

if TYPE_CHECKING:
    from cladist.cli.demo_codes import CodeModel
    from cladist.cli.demo_comparison import Comparison
    from cladist.datasets import Dataset

    Result = Comparison | CodeModel

BEGIN, END = "<!-- demo:begin -->", "<!-- demo:end -->"
PICTURE_COLUMNS = 110


def render(result: Result, *, quiet: bool = False) -> Group:
    """Return the text of the terminal; with `quiet`, the table alone."""
    if quiet:
        return Group(table(result.table))
    return Group(
        f"{describe_data(result.data)}.",
        table(result.table),
        Text(result.verdict, style="bold"),
        f"\n{result.name} classifies these new texts:\n",
        *map(_render_sample, result.samples),
    )


def _render_sample(sample: Sample) -> Group:
    """Return a text with the predicted path below it."""
    *above, last = sample.titles
    path = Text.assemble(*((f"{part} › ", "dim") for part in above), (last, "green"), (f"  {sample.label}", "cyan"))
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
    return {"data": sizes, "machine": machine(), **result.to_dict(), "samples": samples}


def machine() -> dict[str, Any]:
    """Return the number of cores and the memory of this machine, None if unknown."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return {"cores": os.cpu_count(), "memory_gib": None}
    return {"cores": os.cpu_count(), "memory_gib": round(memory)}


def page(result: Result) -> str:
    """Return the web page."""
    return html_report(
        result.report,
        title=f"{result.name} on {result.data.source}",
        subtitle=describe_data(result.data) + ".",
        comparison=result.table,
        verdict=result.verdict,
        samples=result.samples,
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
