"""Training's work: everything checked first, then the rows read, the model fitted and saved."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from cladist import progress
from cladist.cli.model_input import DataSource, learner_of, read_labelled
from cladist.cli.model_metadata import notes_of
from cladist.cli.numeric_input import missing, with_imputer
from cladist.cli.parameters import new_learner
from cladist.cli.taxonomy_input import read_taxonomy
from cladist.errors import DatasetError
from cladist.features import text_features
from cladist.persistence.models import save
from cladist.storage import check_replaceable, lock_folder
from cladist.taxonomy import Taxonomy

HOW_TO_DROP = "write the file without {} by `cladist taxonomy FILE --drop-cycles --convert OUT`"


@dataclass(frozen=True)
class Trained:
    """What was trained, for the summary."""

    method: str
    rows: int
    features: int
    nodes: int
    classes: int
    seconds: float
    model: str
    C: float | None = None  # where it was chosen by cross-validation

    def as_answer(self) -> dict[str, Any]:
        """Return what ``--json`` prints: C only where it was chosen."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def train(
    source: DataSource,
    out: Path,
    *,
    taxonomy: Path | None = None,
    method: str = "top-down",
    parameters: dict[str, Any] | None = None,
    hashing: bool = False,
    remark: Callable[[str], None] = lambda _: None,
) -> Trained:
    """Train a model and write it to a folder; everything that can be checked first is.

    Nobody else can write to the folder meanwhile. `remark` is told what may not be as meant, without being wrong.
    """
    check_replaceable(out)
    with lock_folder(out):  # makes a file there: that it cannot is known before hours of training, not after them
        return _trained(source, out, taxonomy, method, parameters or {}, hashing, remark)


def _trained(
    source: DataSource,
    out: Path,
    taxonomy: Path | None,
    method: str,
    parameters: dict[str, Any],
    hashing: bool,
    remark: Callable[[str], None],
) -> Trained:
    source.check_ending()
    source.check_columns()
    tree = None if taxonomy is None else _read_taxonomy(taxonomy, source)
    model = new_model(method, parameters, text=not source.is_numbers, hashing=hashing)
    data = read_labelled(source, taxonomy=tree)
    if source.kind == "arff":
        model = _filling(model, data.X, remark)
    learner = learner_of(model).set_params(taxonomy=data.taxonomy)
    started = time.perf_counter()
    with progress.task(f"Training {method}"):
        _fit(model, data)
    seconds = time.perf_counter() - started
    with progress.task("Saving"):
        save(model, out, notes=notes_of(source, data.feature_names))
    return Trained(
        method=method,
        rows=len(data.y),
        features=learner.n_features_in_,
        nodes=learner.taxonomy_.n_nodes,
        classes=len(learner.classes_),
        seconds=seconds,
        model=str(out),
        C=getattr(learner, "C_", None),
    )


def new_model(method: str, parameters: dict[str, Any], *, text: bool, hashing: bool = False) -> Any:
    """Return an unfitted learner, behind text features if it is to learn from texts.

    Examples
    --------
    >>> new_model("hieron", {"max_iter": 3}, text=False)
    Hieron(max_iter=3)
    """
    if hashing and not text:
        raise DatasetError("--hashing is for texts, and this data is numbers; leave it out.")
    learner = new_learner(method, parameters)
    return Pipeline([("features", text_features(hashing=hashing)), ("model", learner)]) if text else learner


def _read_taxonomy(path: Path, source: DataSource) -> Taxonomy:
    # The hierarchies of LSHTC have paths whose nodes are numbers: the same number is the same node.
    kind = "lshtc" if source.kind == "lshtc" else None
    tree = read_taxonomy(path, format=kind, sep=source.path_sep or "/", advice=HOW_TO_DROP)
    return tree if source.path_sep is None else tree.with_separator(source.path_sep)


def _filling(learner: Any, X: Any, remark: Callable[[str], None]) -> Any:
    """Return a learner that can learn from these rows though values may be missing in them."""
    n_missing = int(np.count_nonzero(missing(X)))
    if not n_missing:
        return learner
    are = "value is missing; it" if n_missing == 1 else "values are missing; each"
    remark(f"{n_missing:,} {are} is replaced by the mean of its column, in training and later.")
    return with_imputer(learner)


def _fit(model: Any, data: Any) -> None:
    """Fit, and put into words what other libraries complain about when it is the data."""
    try:
        model.fit(data.X, data.y)
    except ValueError as problem:
        if "empty vocabulary" not in str(problem):
            raise
        raise DatasetError(f"{data.source}: none of the texts has a word in it.") from problem
