"""The explorer as one file: models with their numbers and the predictions of some rows, without a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np

from cladist._version import __version__
from cladist.errors import CladistError
from cladist.report.errors import find_errors
from cladist.report.static_files import content_policy, joined_script, packed, read_static, script_json
from cladist.server.evaluation import Evaluation, LabelledRows, automation_of, evaluate
from cladist.server.findings import Finding
from cladist.server.served import Question, ServedModel

STATIC = Path(__file__).with_name("static")
SHARED, OWN = ("tree.js", "icicle.js", "widgets.js"), ("source.js", "classify.js", "compare.js", "explorer.js")
STYLES = ("page.css", "icicle.css", "widgets.css")
N_CANDIDATES = 5
MOST_WORDS = 8  # of a node
MOST_LETTERS = 2000  # of a row
MOST_PAIRS = 50_000  # confusions, costliest first


def explorer_page(
    models: Mapping[str, ServedModel],
    data: LabelledRows | None = None,
    *,
    findings: Sequence[Finding] = (),
    n_rows: int = 200,
) -> str:
    """Return the explorer as a web page that needs no server and loads nothing.

    Parameters
    ----------
    models : mapping of str to ServedModel
        The models by name, the first one of which is shown; others can be compared with it.
    data : LabelledRows, optional
        Rows whose predictions the numbers of nodes are computed from, and some of which the page shows. A model after
        the first one that has other labels is shown without numbers.
    findings : sequence of Finding
        What ``cladist doctor`` has found.
    n_rows : int
        How many rows the page shows, half of them wrong ones where there are enough.
    """
    for k, model in enumerate(models.values()):
        if data is not None:
            with suppress(ValueError) if k else nullcontext():  # one to compare with may have other labels
                model.evaluation = evaluate(model.model, data)
    entries = [model_data(name, model, data, findings, n_rows) for name, model in models.items()]
    script, style = explorer_script(), "\n" + explorer_style()
    texts = "".join(
        f'<script type="application/json" id="texts-{k}">{script_json(texts_of(model))}</script>'
        for k, model in enumerate(models.values())
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>cladist</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{content_policy([script], style)}">'
        f'<meta name="generator" content="cladist {__version__}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>\n'
        '<body class="explorer"><div id="app"></div>'
        f'<script type="application/json" id="explorer-data">{script_json({"models": entries})}</script>'
        f"<script>{script}</script>{texts}</body></html>\n"
    )


def explorer_script() -> str:
    """Return the script of the explorer."""
    return joined_script(*map(read_static, SHARED), *(read_own(name) for name in OWN))


def explorer_style() -> str:
    """Return the style of the explorer."""
    return "".join([*map(read_static, STYLES), read_own("explorer.css")])


def read_own(name: str) -> str:
    """Return a script or a style of the explorer."""
    return (STATIC / name).read_text(encoding="utf-8")


def texts_of(model: ServedModel) -> dict[str, list[str]]:
    """Return the names and titles of all nodes."""
    names = list(model.nodes.taxonomy.names)
    return {"names": names, "titles": [] if model.nodes.titles == names else model.nodes.titles}


def model_data(
    name: str, model: ServedModel, data: LabelledRows | None, findings: Sequence[Finding], n_rows: int
) -> dict[str, Any]:
    """Return what the page tells of a model, as values for JSON."""
    evaluation, taxonomy = model.evaluation, model.nodes.taxonomy
    columns: dict[str, Any] = {} if evaluation is None else evaluation.columns
    numbers = {key: packed(_floats(columns[key]), "i4" if key == "support" else "f4") for key in columns}
    known = [finding._asdict() for finding in findings if all(node in taxonomy for node in finding.nodes)]
    content = {
        "name": name,
        **model.describe(),
        "features": [],
        "evaluation": evaluation and evaluation.summary(),
        "columns": {"parent": packed(model.nodes.parent, "i4"), **numbers},
        "automation": automation_of(model)["curve"],
        "findings": known,
        "samples": [],
        "pairs": None,
    }
    if evaluation is not None and data is not None:
        errors = find_errors(evaluation.truth, evaluation.predicted, taxonomy)
        sides = {"true": errors.true[:MOST_PAIRS], "pred": errors.pred[:MOST_PAIRS]}
        content["pairs"] = {key: packed(nodes, "i4") for key, nodes in sides.items()}
        content["pairs"]["count"] = packed(errors.count[:MOST_PAIRS], "f4")
        content["samples"] = sample_predictions(model, data, evaluation, chosen_rows(evaluation, n_rows))
    return content


def _floats(values: Any) -> Any:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def chosen_rows(evaluation: Evaluation, n_rows: int) -> list[int]:
    """Return some rows, spread over the data: up to half of them wrong ones."""
    wrong, right = np.flatnonzero(evaluation.errors > 0), np.flatnonzero(evaluation.errors == 0)
    n_wrong = min(len(wrong), max(n_rows // 2, n_rows - len(right)))
    parts = [_spread(wrong, n_wrong), _spread(right, n_rows - n_wrong)]
    return sorted(np.concatenate(parts).tolist())


def _spread(rows: Any, count: int) -> Any:
    places = np.linspace(0, len(rows) - 1, min(count, len(rows))) if len(rows) else np.zeros(0)
    return rows[np.unique(places.astype(np.int64))]


def sample_predictions(
    model: ServedModel, data: LabelledRows, evaluation: Evaluation, rows: list[int]
) -> list[dict[str, Any]]:
    """Return the predictions of some rows with their words, as values for JSON."""
    if not rows:
        return []
    X = data.X[rows]
    inputs = X if model.n_features is not None else np.array([str(text) for text in X], dtype=object)
    predictions = model.predict(inputs, Question(top_k=N_CANDIDATES, proba=model.has_probabilities))
    explanations = explained(model, inputs)
    indptr, truth = evaluation.truth.frontier
    return [
        {
            "text": str(data.texts[row])[:MOST_LETTERS],
            "truth": truth[indptr[row] : indptr[row + 1]].tolist(),
            "wrong": bool(evaluation.errors[row] > 0),
            "prediction": prediction,
            "explanation": why,
        }
        for row, prediction, why in zip(rows, predictions, explanations, strict=True)
    ]


def explained(model: ServedModel, inputs: Any) -> list[dict[str, Any] | None]:
    """Return the explanations of rows with the words that count most, None for a model that has none."""
    try:
        whys = model.explain(inputs, None)
    except CladistError:
        return [None] * int(inputs.shape[0])
    for why in whys:
        for part in why["nodes"]:
            if "words" in part:
                part["words"] = part["words"][:MOST_WORDS]
            else:
                part["features"] = dict(list(part["features"].items())[:MOST_WORDS])
        if why.get("runner_up"):
            why["runner_up"]["lead"] = why["runner_up"]["lead"][:MOST_WORDS]
        why.pop("text", None)
    return list(whys)
