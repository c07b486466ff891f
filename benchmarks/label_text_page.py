"""The section of the guide on label text and embeddings that has measured figures, made from the results.

`python -m benchmarks.label_text_page` writes what stands below its heading.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "label-text-and-embeddings.md"
HEADING = "## What was measured\n"
TITLES = {
    "naics2017": "NAICS 2017",
    "clinc150": "CLINC150",
    "icd10cm": "ICD-10-CM, categories",
    "onet_titles": "O*NET titles",
    "news20": "20 Newsgroups",
}
KINDS = {"words": "words and characters", "both": "words, characters and embedding"}
COMPARED = ("naics2017", "clinc150", "news20", "icd10cm")
ANSWERS = {
    "most probable leaf": "most probable leaf",
    "leaf of least distance": "leaf of least expected distance",
    "node of least distance": "may stop",
}
USES = {None: "none", "rows": "rows", "prior": "prior"}


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file of results."""
    return list(json.loads((RESULTS / f"{name}.json").read_text())["rows"])


def table(header: list[str], rows: list[list[str]], n_texts: int) -> str:
    """Return a table; the first columns are texts, and the others numbers."""
    marks = ["---"] * n_texts + ["---:"] * (len(header) - n_texts)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, marks, *rows])


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def curves() -> str:
    """Return the learning curves: accuracy by features, label text and rows per leaf."""
    found = rows_of("label-text-curves")
    counts = sorted({row["rows_per_leaf"] for row in found})
    keys = list(dict.fromkeys((row["data"], row["features"], row["label_text"]) for row in found))
    lines = []
    for data, features, use in keys:
        of_key = {
            r["rows_per_leaf"]: r for r in found if (r["data"], r["features"], r["label_text"]) == (data, features, use)
        }
        cells = [percent(of_key[count]["accuracy"]) if count in of_key else "" for count in counts]
        lines.append([TITLES[data], features, USES[use], *cells])
    return table(["data", "features", "label text", *map(str, counts)], lines, 3)


def zero() -> str:
    """Return what becomes of leaves that lost their rows."""
    shares = ("leaf", "parent", "others")
    lines = [
        [TITLES[row["data"]], row["features"], row["method"], *(percent(row[key]) for key in shares)]
        for row in sorted(rows_of("label-text-zero"), key=lambda row: (row["data"], row["features"]))
    ]
    return table(["data", "features", "method", "right leaf", "right parent", "others right"], lines, 3)


def reach() -> str:
    """Return how much could be right at most about rows of leaves that lost theirs."""
    lines = [
        [TITLES[row["data"]], row["method"], *(percent(row[key]) for key in ("leaf", "parent", "others"))]
        for row in rows_of("label-text-reach")
    ]
    return table(["data", "RecursiveSVM, rows", "right leaf", "right parent", "others right"], lines, 2)


def features() -> str:
    """Return words, embedding and both."""
    found = rows_of("embeddings")
    lines = []
    for data, learner in dict.fromkeys((row["data"], row["learner"]) for row in found):
        of_kind = {row["features"]: row for row in found if (row["data"], row["learner"]) == (data, learner)}
        cells = [
            f"{percent(of_kind[kind]['accuracy'])} % / {of_kind[kind]['tree_induced_error']:.2f}"
            for kind in ("words", "embedding", "both")
        ]
        verdict = next(row for kind, row in of_kind.items() if kind.startswith("both against"))
        apart = f"{100 * verdict['difference']:+.2f} ± {100 * verdict['standard_error']:.2f}"
        lines.append([TITLES[data], learner, *cells, apart])
    return table(["data", "learner", "words", "embedding", "both", "both less the better one"], lines, 2)


def beside_results() -> str:
    """Return figures of words and an embedding, and of a blend, beside the best method of the comparison."""
    here = [
        (row["data"], f"{row['learner']}, {KINDS[row['features']]}", row)
        for row in rows_of("embeddings")
        if row["features"] in KINDS and row["data"] in COMPARED and "held_out" in row
    ]
    here += [
        (of["set"], f"blend, {ANSWERS[row['answer']]}", row)
        for of in rows_of("decisions-stopping")
        for row in of["answers"]
        if row["model"] == "blend"
    ]
    lines = []
    for data, answer, row in sorted(here, key=lambda one: COMPARED.index(one[0])):
        best, method = best_method(data)
        figures = f"{percent(row['accuracy'])} % / {row['tree_induced_error']:.2f}"
        held_out = percent(row["held_out"]) if "held_out" in row else ""
        lines.append([TITLES[data], f"{method}, {best:.1f} %", answer, held_out, figures])
    header = ["data", "best of the results", "here", "% of training rows held out", "test: accuracy / error"]
    return table(header, lines, 3)


def best_method(data: str) -> tuple[float, str]:
    """Return the highest accuracy of the comparison of methods on a data set, in percent, and the method."""
    files = (RESULTS / "cells" / "comparison").glob(f"{data}--*.json")
    cells = [json.loads(path.read_text()) for path in files]
    return max((cell["measured"]["micro"], cell["method"]) for cell in cells if cell.get("measured"))


def section() -> str:
    """Return the section."""
    alone = percent(rows_of("label-text-reach")[0]["rows_of_only_children"])
    return f"""
All on a machine with 2 cores; the embedding is wordllama's. A random quarter of NAICS 2017 and of O*NET titles is held
out to test on, the other sets have test rows of their own. C and the share of the embedding are chosen on training rows
(`python -m benchmarks.embeddings`): accuracy and [tree-induced error](losses-and-metrics.md), and by how many points of
accuracy both are better than the better one alone, with its standard error.

{features()}

Beside the most accurate method of [Results](results.md), where features are words and word pairs, on the same training
and test rows. All choices here are made on training rows, too: C, shares and, by the accuracy on rows held out of them,
whether there is an embedding; for ICD-10-CM, where no embedding
is used, C, the calibration and the shares of a blend of `TopDown` and `RecursiveSVM` (`python -m benchmarks.decisions
stopping`). One choice is older: that word pairs and words of one letter are features was made with test rows of
ICD-10-CM in view, see {{py:obj}}`cladist.datasets.load_icd10cm`. "May stop" is the node of least expected distance,
which need not be a leaf; all other answers are leaves.

{beside_results()}

Few rows (`python -m benchmarks.label_text curves`): accuracy in percent of `RecursiveSVM` with the squared hinge, by
the number of training rows per leaf. The text of a leaf is its title, in CLINC150 its name; weights are 1.

{curves()}

No rows (`python -m benchmarks.label_text zero`): a fifth of the leaves lost all training rows. In percent, the test
rows of these leaves that get the right leaf, and a leaf with the right parent; and the rows of the other leaves that
are right. "nearest text" is the leaf whose text is nearest by the cosine of the features. Weights are chosen on
training rows.

{zero()}

Of the test rows of these leaves in NAICS 2017, {alone} % belong to leaves that are the only child of their parent:
where such a leaf loses its rows its parent loses all of its own, and the right parent is the right leaf. What could be
right at most about these rows (`python -m benchmarks.label_text reach`), by a model that was trained on them, by one
that is told which rows belong to leaves without rows, and by one whose scores of these leaves are raised until the rows
of others lose some points of accuracy, as seen on the test rows:

{reach()}
"""


def main() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    before, heading, _ = text.partition(HEADING)
    assert heading, f"{GUIDE} has no heading {HEADING!r}"
    GUIDE.write_text(before + heading + section(), encoding="utf-8")


if __name__ == "__main__":
    main()
