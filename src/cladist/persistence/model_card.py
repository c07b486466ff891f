"""The model card: a README.md beside a saved model, whose front matter the tools of the Hugging Face Hub read."""

from __future__ import annotations

import json
from typing import Any

from cladist._version import __version__

NAME = "README.md"
# A card without this line is somebody's own, and is not replaced.
MARK = "<!-- Written by cladist with the model. Remove this line, and the text below stays as you write it. -->"
MOST_LETTERS = 2000  # of the parameters
FENCE = "```"


def model_card(content: dict[str, Any], model: Any) -> str:
    """Return the card of a model, by its manifest entries and the learner in it.

    No name of a label or a feature is in it: they may be anything, and a card is shown as a web page.
    """
    entry, learner = content["model"], model[-1] if hasattr(model, "steps") else model
    takes_texts = content["features"] is not None and not hasattr(model, "n_features_in_")
    names = _classes(learner)
    front = {
        "library_name": "cladist",
        "pipeline_tag": "text-classification" if takes_texts else "tabular-classification",
        "tags": ["hierarchical-classification", "taxonomy", *names],
    }
    facts = {"method": " around ".join(names), "input": "texts" if takes_texts else "rows of numbers"}
    if hasattr(learner, "taxonomy_"):
        taxonomy = learner.taxonomy_
        facts["taxonomy"] = f"a {taxonomy.kind} of {taxonomy.n_nodes:,} nodes in {len(taxonomy.levels)} levels"
        facts["labels"] = (
            f"{len(learner.classes_):,} of them{', in sets' if getattr(learner, 'decodes_sets', True) else ''}"
        )
    facts["written by"] = f"cladist {__version__}"
    rows = "\n".join(f"| {name} | {value} |" for name, value in facts.items())
    return f"""---
{_yaml(front)}---
{MARK}

# A hierarchical classifier

This model assigns {facts["input"]} to the nodes of a taxonomy.

| | |
|---|---|
{rows}

It is a folder of JSON and arrays, and loading it runs no code:

{FENCE}python
import cladist

model = cladist.load("path/to/this/folder")
{FENCE}

`cladist predict`, `cladist evaluate` and `cladist serve` take the folder as it is.

## Parameters

{FENCE}json
{_parameters(entry)}
{FENCE}

## Intended use, data and limitations

To be written by those who trained it: what the model is for, which rows it was trained and evaluated on, and where it
fails. `cladist evaluate --html report.html` measures it, and `cladist doctor` finds doubtful labels.
"""


def is_ours(text: str) -> bool:
    """Tell whether a card was written with a model, and not by somebody."""
    return MARK in text


def _classes(learner: Any) -> list[str]:
    """Return the names of the class of a learner and of those inside it, if it is a wrapper."""
    names: list[str] = []
    while learner is not None and not isinstance(learner, (dict, str)) and type(learner).__name__ not in names:
        learner = learner[-1] if hasattr(learner, "steps") else learner
        names.append(type(learner).__name__)
        learner = getattr(learner, "estimator", None)
    return names


def _yaml(front: dict[str, Any]) -> str:
    """Return names and texts as YAML, whose strings in double quotes are those of JSON."""
    lines = []
    for name, value in front.items():
        if isinstance(value, list):
            lines += [f"{name}:", *(f"- {json.dumps(item)}" for item in value)]
        else:
            lines.append(f"{name}: {value}")
    return "\n".join(lines) + "\n"


def _parameters(entry: dict[str, Any]) -> str:
    """Return the parameters as JSON that cannot end its block."""
    text = json.dumps(entry.get("parameters", {}), indent=2, sort_keys=True).replace("`", "\\u0060")
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]} …"
