"""The page of results and its picture, made of the cells alone: ``cladist bench all`` writes them.

Between the two markers of docs/guides/results.md stands what this writes; a test compares the two.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import bench, cells, comparison, heat_map, probability_page, verdicts
from benchmarks.comparison import METHODS
from benchmarks.data_sets import DATA, NOT_TO_BE_HAD
from benchmarks.papers import published
from benchmarks.tables import HEADER, NOTHING, Part, in_markdown, line
from cladist.errors import DatasetError
from cladist.files import open_for_writing

ROOT = Path(__file__).parents[1]
PAGE, PICTURE = ROOT / "docs" / "guides" / "results.md", ROOT / "docs" / "_static" / "methods.svg"
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
FORMATS = {"micro": ".2f", "macro": ".2f", "tree": ".2f"}
COMPARED = (
    "Micro-F1 / macro-F1 in % / tree-induced error in edges; over leaves, and over all nodes where rows have sets of "
    "labels, for which the last figure is the number of wrong nodes of a row. Micro-F1 is the accuracy where rows have "
    "one leaf. Intervals: 95 % bootstrap over test rows. Parameters are chosen on the training part: C by 3-fold "
    "cross-validation, others one after the other on a quarter held out. Seconds: of the last fit, on one core. MiB: "
    "peak of the process."
)


def content() -> str:
    """Return all sections, from the cells as they are."""
    ranking = heat_map.rank()
    sections = ["## Which method where", f"![points behind the best method](../_static/{PICTURE.name})"]
    answers = [*heat_map.sentences(ranking), *stopped()]
    sections += ["\n".join(f"- {text}" for text in answers) or "Nothing is measured yet."]
    sections += ["## Papers"]
    sections += [in_markdown(part) for paper in published.names() for part in bench.runner(paper).parts()]
    sections += ["## Every method on every data set", in_markdown(comparison_part())]
    sections += ["## Does the hierarchy help?", in_markdown(verdicts.part())]
    return "\n\n".join([*sections, "## Decisions", in_markdown(probability_page.heuristics())])


def stopped() -> list[str]:
    """Return the sentence on cells that were stopped, which count nowhere above it."""
    limits = [cell["limit_s"] for cell in cells.read(comparison.NAME).values() if cell["status"] == cells.STOPPED]
    if not limits:
        return []
    return [
        f"Not counted: {len(limits)} pairs of a method and a data set that took longer than {min(limits)} CPU seconds, "
        "choosing parameters included."
    ]


def comparison_part() -> Part:
    """Return the comparison: a line for each data set and method, published figures being in the papers' tables."""
    found = cells.read(comparison.NAME)
    rows = []
    for d, m in comparison.pairs():
        if DATA[d].is_licensed and (d, m) not in found:
            continue
        name = f"{DATA[d].title}, {m}"
        if (d, m) not in found and not METHODS[m].learner:
            rows.append([name, cells.NO_METHOD, *[NOTHING] * 5])
        else:
            shown = line(name, "", found.get((d, m)), FORMATS)
            rows.append([shown[0], *shown[2:]])
    licensed = ", ".join(data_set.title for data_set in DATA.values() if data_set.is_licensed)
    header = [HEADER[0], *HEADER[2:]]
    return Part("Comparison", header, rows, [COMPARED, f"Data {NOT_TO_BE_HAD}: {licensed}."])


def filled(text: str) -> str:
    """Return the page with the sections between its markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise DatasetError(f"{PAGE.name}: results go between one line {BEGIN} and one line {END} below it.")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{content()}\n\n{END}{rest.partition(END)[2]}"


def write() -> None:
    """Write the page and its picture, each whole or not at all."""
    texts = {PAGE: filled(PAGE.read_text(encoding="utf-8")), PICTURE: heat_map.draw(heat_map.rank())}
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            with open_for_writing(path) as file:
                file.write(text.encode())
