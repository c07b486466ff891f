"""Tables of measured probabilities and decisions, written between the markers of two guides.

`python -m benchmarks.probability_page` reads benchmarks/results/calibration.json and decisions-*.json and fills
docs/guides/probabilities.md and docs/guides/decisions.md. The results page has the table of `heuristics`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS
from benchmarks.tables import Part
from cladist.files import open_for_writing

GUIDES = Path(__file__).parents[1] / "docs" / "guides"
MOST_RATIO = 1e6  # more is a ratio to nothing
BEGIN, END = "<!-- measured:begin -->", "<!-- measured:end -->"


def read(name: str) -> list[dict[str, Any]]:
    """Return the rows of a result file; none if there is none."""
    path = RESULTS / f"{name}.json"
    return list(json.loads(path.read_text())["rows"]) if path.exists() else []


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def named(row: dict[str, Any]) -> str:
    """Return the name of a set, and of its test part."""
    return f"{row['set']}, test part" if row.get("part") == "test" else row["set"]


def by_level(figures: dict[str, Any]) -> list[str]:
    """Return the errors of all levels, their noise, and how far answers are too sure."""
    levels, noise = (figures[key][:-1] for key in ("ece_by_level", "noise_by_level"))
    shown = [" ".join(f"{value:.3f}" for value in values) for values in (levels, noise)]
    return [*shown, " ".join(f"{v:+.3f}" for v in figures["confidence_less_accuracy_by_level"][:-1])]


def calibration() -> str:
    """Return the tables of calibration errors and of blends."""
    errors, blends = [], []
    for row in read("calibration"):
        for learner, figures in row["learners"].items():
            for kind, name in (("held_out", row["set"]), ("test_part", f"{row['set']}, test part")):
                for of in figures.values():
                    if kind in of and of is figures.get("temperature, levels"):
                        rows, accuracy = f"{of[kind]['rows']:,}", f"{of[kind]['accuracy']:.3f}"
                        errors.append([name, learner, rows, accuracy, *by_level(of[kind])])
        for kind, name in (("held_out", row["set"]), ("test_part", f"{row['set']}, test part")):
            if kind in row["blend"]:
                of = row["blend"][kind]
                gain = f"{of['gain']:+.4f} ± {of['standard_error_of_gain']:.4f}"
                best = f"{of['best_learner']} {of['accuracy_of_best']:.4f}"
                blends.append([name, f"{of['accuracy']:.4f}", best, gain])
    drifts = [
        [row["set"], learner, kind.replace("_", " "), f"{of['rows']:,}", *by_level(of)]
        for row in read("calibration-drift")
        for learner, kinds in row["learners"].items()
        for kind, of in kinds.items()
    ]
    parts = [
        "Expected calibration error of every level, roots first, with the defaults of `CalibratedClassifier` on rows "
        "that are drawn like the training rows, and on test parts whose rows come from elsewhere. Noise is the error "
        "that the same probabilities would have on as many rows if they held exactly: no model has less on average. "
        "The last column is the mean probability of the answers less their accuracy, which on a test part is how far "
        "the calibration drifts. C is chosen on training rows.",
        table(["set", "learner", "rows", "accuracy", "error by level", "noise by level", "too sure by"], errors),
        "How far test parts drift whose rows come from elsewhere, such as other wordings of the same codes in "
        "ICD-10-CM: the error there, beside that of the same calibration on training rows that it is not fitted to, "
        "scored out of fold. Probabilities of a test part are too high by the last column.",
        table(["set", "learner", "rows of", "rows", "error by level", "noise by level", "too sure by"], drifts),
        "`BlendedClassifier` of these learners, with the standard error of the difference to the best of them.",
        table(["set", "accuracy of the blend", "best learner", "difference"], blends),
        *oracle(),
    ]
    return "\n\n".join(parts)


def oracle() -> list[str]:
    """Return the table of what Venn–ABERS calibration adds; nothing before it is measured."""
    rows = [
        [row["set"], row["learner"], str(row["level"]), f"{row['rows']:,}",
         f"{row['ece']:.3f}", f"{row['ece, Venn–ABERS']:.3f}",
         f"{row['log loss']:.4f}", f"{row['log loss, Venn–ABERS']:.4f} ± {row['standard error']:.4f}"]
        for row in read("calibration-oracle")
    ]  # fmt: skip
    text = (
        "Half of the rows held out, on which a Venn–ABERS calibrator, fitted to the other half, has mended the "
        "probabilities of each level once more: the errors and log losses before and after. Where it lowers neither, "
        "there was nothing left to mend. The standard error is that of the difference."
    )
    header = ["set", "learner", "level", "rows", "error", "error, mended", "log loss", "log loss, mended"]
    return [text, table(header, rows)] if rows else []


def ratio(answers: dict[str, Any]) -> str:
    """Return how much more is kept than by the flat classifier, which may keep nothing."""
    return f"{answers['ratio']:.2f}" if answers["ratio"] < MOST_RATIO else "nothing is filed there"


def stopping() -> list[str]:
    """Return the table of stopping."""
    rows = [
        [of["model"], of["answer"], f"{of['accuracy']:.4f}", f"{of['tree_induced_error']:.3f}"]
        for row in read("decisions-stopping")
        for of in row["answers"]
    ]
    text = (
        "ICD-10-CM's categories, trained on the descriptions, tested on other wordings. Everything is chosen on "
        "training rows. The tree-induced error is in edges, its standard error 0.02."
    )
    return ["### Stopping", text, table(["model", "answer", "accuracy", "tree-induced error"], rows)]


def guarantees() -> list[str]:
    """Return the table of what is kept at a guaranteed error."""
    rows = [
        [named(row), of, one["answers"], f"{one['depth_kept']:.3f}", ratio(one),
         f"{one['error' if of == 'rows' else 'error_of_answers']:.3f}", f"{one['splits_over_the_bound']:.2f}"]
        for row in read("decisions-guarantees")
        for of, answers in row["of"].items()
        for one in answers
    ]  # fmt: skip
    text = (
        "The share of the labels' depth that right answers keep, where at most 5 % errors are guaranteed with "
        "probability 0.9, of all rows or of the answers: means of 20 random halves to calibrate on. The ratio is to "
        "leaves filed over a threshold of the flat classifier's highest probability, chosen by the same test; where "
        "that files nothing, there is no ratio. Deepest node and greatest gain are ways to answer of `RiskControl`. "
        "The last column is the share of splits whose error on all rows is over the bound; 0.1 is allowed."
    )
    header = ["set", "error of", "answers", "depth kept", "ratio", "error", "over"]
    return ["### At a guaranteed error", text, table(header, rows)]


def sets() -> list[str]:
    """Return the table of conformal sets."""
    rows = [
        [named(row), one["sets"], f"{one['alpha']:g}", f"{one['coverage']:.4f} ± {one['standard_error']:.4f}",
         f"{one['mean_size']:.1f}"]
        for row in read("decisions-conformal")
        for one in row["sets"]
    ]  # fmt: skip
    text = (
        "Coverage over 100 random halves (MAPIE: 20), with the standard error of its mean, and the classes in or below "
        "a set. Sets of enron are whole sets of labels, and their size is in nodes. MAPIE's sets are those of the flat "
        "classifier on the same rows."
    )
    return ["### Coverage of sets", text, table(["set", "kind", "alpha", "coverage", "classes in a set"], rows)]


def heuristics() -> Part:
    """Return the table of the results page: for each set and metric, rules beside the best heuristic."""
    rows = []
    for row in read("decisions-heuristics"):
        for metric in dict.fromkeys(one["metric"] for one in row["comparisons"]):
            of = [one for one in row["comparisons"] if one["metric"] == metric]
            best = min(of, key=lambda one: one["its_loss"])
            worst = max(of, key=lambda one: one["errors_worse"])
            difference = f"{best['difference']:+.4f} ± {best['standard_error']:.4f}"
            nearest = f"{best['heuristic']} {best['its_loss']:.4f}"
            name, behind = f"{named(row)}: {metric}", f"{worst['errors_worse']:.1f}"
            rows.append([name, f"{best['rule']:.4f}", nearest, difference, behind])
    text = (
        "The mean loss of `MinimumRisk` of each metric beside the best of climbing, DARTS, expected loss over leaves "
        "and a threshold for leaves, whose settings are chosen by that metric on calibration rows. The last column is "
        "how many standard errors the rule is behind the heuristic that comes nearest; below 0 it is ahead of all."
    )
    header = ["set: metric", "rule", "best heuristic", "difference", "errors behind"]
    return Part("Rules beside published heuristics", header, rows, [text])


def filled(text: str, content: str) -> str:
    """Return a guide with content between its markers."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{content}\n\n{END}{rest.partition(END)[2]}"


def contents() -> dict[str, str]:
    """Return what each guide has between its markers."""
    return {
        "probabilities.md": calibration(),
        "decisions.md": "\n\n".join([*stopping(), *guarantees(), *sets()]),
    }


def write_guides(contents: dict[str, str]) -> None:
    """Write what each guide has between its markers."""
    for name, content in contents.items():
        text = filled((GUIDES / name).read_text(encoding="utf-8"), content)
        with open_for_writing(GUIDES / name) as file:
            file.write(text.encode())


if __name__ == "__main__":
    write_guides(contents())
