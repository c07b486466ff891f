"""An evaluation beside the folder of its model, so that a server need not predict the rows again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cladist.errors import ModelFormatError
from cladist.labels import LabelMatrix, TopK
from cladist.server.evaluation import Evaluation, LabelledRows, evaluate
from cladist.server.versions import version_of
from cladist.storage import pack_strings, read_folder, unpack_strings, write_folder
from cladist.storage.array_groups import group, prefixed
from cladist.taxonomy import Taxonomy

KIND = "evaluation"


def place_of(folder: Path) -> Path:
    """Return the folder of the evaluation of the model in a folder."""
    folder = folder.resolve()
    return folder.with_name(f"{folder.name}.evaluation")


def store_evaluation(evaluation: Evaluation, folder: Path, version: str) -> Path:
    """Write the evaluation of a version of the model in a folder beside it, and return where it is."""
    arrays: dict[str, Any] = {}
    for name in ("truth", "predicted"):
        labels: LabelMatrix = getattr(evaluation, name)
        arrays |= prefixed(name, {"indptr": labels.indptr, "indices": labels.indices})
    arrays |= prefixed("texts", pack_strings([str(text) for text in evaluation.texts]))
    if evaluation.probabilities is not None:
        arrays |= prefixed("probabilities", evaluation.probabilities._asdict())
    write_folder(place_of(folder), {"kind": KIND, "version": version}, arrays)
    return place_of(folder)


def store_rows(model: Any, rows: Any, folder: Path) -> Path:
    """Evaluate a model on a `Dataset`, and store that beside its folder; return where it is."""
    is_text = getattr(rows.X, "ndim", 1) == 1
    texts = rows.X if is_text else [f"row {k}" for k in range(1, len(rows.y) + 1)]
    evaluation = evaluate(model, LabelledRows(rows.X, rows.y, texts))
    return store_evaluation(evaluation, folder, version_of(folder))


def stored_evaluation(folder: Path, version: str, learner: Any) -> Evaluation | None:
    """Return the evaluation beside the folder of a model, None if there is none of this version of the learner."""
    place = place_of(folder)
    if not place.is_dir():
        return None
    content, arrays = read_folder(place)
    if content.get("kind") != KIND:
        raise ModelFormatError(f"{place} is no evaluation of a model.")
    if content.get("version") != version:
        return None
    try:
        truth, predicted = (_labels(group(name, arrays), learner.taxonomy_) for name in ("truth", "predicted"))
        texts = unpack_strings(**group("texts", arrays))
        listed = group("probabilities", arrays)
        P = TopK(**listed) if listed else None
    except (KeyError, TypeError, ValueError) as problem:
        raise ModelFormatError(f"{place}: this evaluation cannot be read ({problem}).") from problem
    is_within = P is None or (
        len(P) == len(truth) and bool(((P.columns >= -1) & (P.columns < len(learner.classes_))).all())
    )
    if not len(truth) == len(predicted) == len(texts) or not is_within:
        raise ModelFormatError(f"{place}: the parts of this evaluation do not fit together.")
    return Evaluation(truth, predicted, texts, P)


def _labels(arrays: dict[str, Any], taxonomy: Taxonomy) -> LabelMatrix:
    indptr, indices = (np.asarray(arrays[name], np.int64) for name in ("indptr", "indices"))
    is_sound = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(indices) and bool((np.diff(indptr) >= 0).all())
    if not is_sound:
        raise ValueError("its rows do not fit together")
    return LabelMatrix.from_ids(indptr, indices, taxonomy)
