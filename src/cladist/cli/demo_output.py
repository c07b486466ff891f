"""The demo's comparison as a terminal shows it, as JSON, as Markdown, as an SVG picture and as a page."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from cladist.cli.demo_comparison import Comparison
from cladist.cli.terminal import table
from cladist.errors import DatasetError
from cladist.report import Sample, Table, html_report, markdown_table

if TYPE_CHECKING:
    from cladist.datasets import Dataset

BEGIN, END = "<!-- demo:begin -->", "<!-- demo:end -->"
PICTURE_COLUMNS = 110
HEADER = ["method", "accuracy", "tree-induced error", "hierarchical F1", "seconds to fit"]


def comparison_table(comparison: Comparison) -> Table:
    """Return the table of methods; the best number of each column is marked."""
    columns = {"accuracy": max, "tree_induced_error": min, "hierarchical_f1": max, "seconds": min}
    found = [outcome.measures for outcome in comparison.outcomes]
    formats = ["{:.4f}", "{:.4f}", "{:.4f}", "{:.1f}"]
    rows = [
        [outcome.name, *(form.format(outcome.measures[name]) for name, form in zip(columns, formats, strict=True))]
        for outcome in comparison.outcomes
    ]
    best = {
        (k, column)
        for column, (name, better) in enumerate(columns.items(), start=1)
        for k, measures in enumerate(found)
        if measures[name] == better(other[name] for other in found)
    }
    return Table(HEADER, rows, frozenset(best))


def facts(comparison: Comparison) -> str:
    """Say what the methods were compared on."""
    return facts_of(comparison.data)


def facts_of(data: Dataset) -> str:
    """Say what there is to learn from, and to be tested on."""
    assert data.taxonomy is not None
    return (
        f"{data.source}: {len(data.y_train):,} descriptions to learn from, {len(data.y_test):,} other wordings to be "
        f"tested on, {data.taxonomy.n_nodes:,} nodes, {len(data.taxonomy.leaves):,} of them leaves"
    )


def circumstances_of(data: Dataset) -> dict[str, Any]:
    """Return the sizes of the data and of the machine as plain values."""
    assert data.taxonomy is not None
    sizes = {
        "source": data.source,
        "train_rows": len(data.y_train),
        "test_rows": len(data.y_test),
        "nodes": data.taxonomy.n_nodes,
        "leaves": len(data.taxonomy.leaves),
    }
    return {"data": sizes, "machine": machine()}


def machine() -> dict[str, Any]:
    """Return the number of cores and the memory of this machine, where it tells."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return {"cores": os.cpu_count(), "memory_gib": None}
    return {"cores": os.cpu_count(), "memory_gib": round(memory)}


def drawn(comparison: Comparison, *, quiet: bool = False) -> Group:
    """Return what the terminal shows."""
    methods = table(comparison_table(comparison))
    if quiet:
        return Group(methods)
    return Group(
        f"{facts(comparison)}.",
        methods,
        Text(comparison.verdict, style="bold"),
        f"\n{comparison.lead.name} files these texts, which nobody has labelled:\n",
        *map(drawn_sample, comparison.samples),
    )


def drawn_sample(sample: Sample) -> Group:
    """Return a text, and below it the path it was filed under."""
    *above, last = sample.titles
    path = Text.assemble(*((f"{part} › ", "dim") for part in above), (last, "green"), (f"  {sample.label}", "cyan"))
    return Group(Text(sample.text, style="bold"), Padding(path, (0, 0, 0, 3)))


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return everything as plain values."""
    return {
        **circumstances_of(comparison.data),
        "methods": [{"name": outcome.name, **outcome.measures} for outcome in comparison.outcomes],
        "lead": comparison.lead.name,
        "best": comparison.best.name,
        "tree_beats_flat": comparison.tree_beats_flat,
        "samples": [sample._asdict() for sample in comparison.samples],
    }


def page(comparison: Comparison) -> str:
    """Return the web page."""
    return html_report(
        comparison.lead.report,
        title=f"{comparison.lead.name} on {comparison.data.source}",
        subtitle=facts(comparison) + ".",
        comparison=comparison_table(comparison),
        verdict=comparison.verdict,
        samples=comparison.samples,
    )


def check_markers(path: Path) -> str:
    """Return the text of a file that has the two markers, each once and in order."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise DatasetError(f"{path} is not UTF-8 ({problem}).") from problem
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise DatasetError(f"{path}: the comparison goes between one line {BEGIN} and one line {END} below it.")
    return text


def with_comparison(text: str, comparison: Comparison, command: str) -> str:
    """Return a document with the comparison between its two markers."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    size = machine()
    memory = f" and {size['memory_gib']} GiB of memory" if size["memory_gib"] else ""
    cores = f"{size['cores']} core{'' if size['cores'] == 1 else 's'}"
    said = f"`{command}` on a machine with {cores}{memory}. {facts(comparison)}."
    content = "\n\n".join([said, markdown_table(comparison_table(comparison)), comparison.verdict])
    return f"{before}{BEGIN}\n{content}\n{END}{after}"


def picture(renderable: Any, *, title: str) -> str:
    """Return an SVG picture of a terminal that shows this; it asks no other host for anything."""
    console = Console(record=True, width=PICTURE_COLUMNS, file=io.StringIO(), highlight=False, markup=False)
    console.print(renderable)
    svg = console.export_svg(title=title)
    # The rules fetch a font, where the monospace one at hand will do; the comment names rich's home page.
    return re.sub(r"@font-face\s*\{[^}]*\}\s*|<!--.*?-->\s*", "", svg)
