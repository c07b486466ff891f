"""``cladist evaluate --taxonomy``: a model evaluated on labels of another version of its taxonomy."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cladist import progress
from cladist.errors import ParameterError, TaxonomyError

if TYPE_CHECKING:
    from cladist.cli.input import DataSource
    from cladist.metrics import Report
    from cladist.taxonomy import Crosswalk, Taxonomy


def evaluate_across(
    model: Any, source: DataSource, taxonomy: Path, crosswalk: Path | None, notify: Callable[[str], None]
) -> Report:
    """Return the report of predictions, mapped to the taxonomy of the labels; what has changed is noted."""
    from cladist.cli.input import learner_of, read_labelled, read_tree
    from cladist.taxonomy import describe_changes

    old, new = learner_of(model).taxonomy_, read_tree(taxonomy, source)
    walk = mapping(old, new, crosswalk)
    changes = describe_changes(old, new)
    if changes:
        by = f"by {crosswalk}" if crosswalk is not None else "by name; --crosswalk FILE would map the others"
        notify(f"The model was trained on version {old.version}, and {taxonomy} is {new.version}: {changes}.")
        notify(f"Predictions are mapped {by}.")
    data = read_labelled(source, taxonomy=new, model=model, notify=notify)
    return count_mapped(model, data, walk, new)


def mapping(
    old: Taxonomy, new: Taxonomy, crosswalk: Path | None, columns: tuple[str | None, str | None] = (None, None)
) -> Crosswalk:
    """Return the crosswalk of a file, completed; or that of the names that persist, the others retired."""
    from cladist.cli.migrate import both
    from cladist.taxonomy import Crosswalk

    if crosswalk is None:
        return Crosswalk([], old=old, new=new).completed()
    walk = Crosswalk.read(crosswalk, old=old, new=new, columns=both(columns))
    unknown = [fault for fault in walk.check() if fault.kind.startswith("unknown")]
    if unknown:
        raise TaxonomyError(f"{crosswalk}: {unknown[0].sentence}")
    return walk.completed()


def count_mapped(model: Any, data: Any, walk: Crosswalk, new: Taxonomy) -> Report:
    """Return the report of predictions that are mapped in batches."""
    from cladist.cli.input import learner_of, slices
    from cladist.labels import LabelMatrix, encode
    from cladist.metrics import Report, count

    old = learner_of(model).taxonomy_
    if not data.X.shape[0]:
        raise ParameterError("There are no rows to evaluate on.")
    counts = []
    with progress.task("Predicting", len(data.y), unit="rows") as task:
        for X, y in zip(slices(data.X), slices(data.y), strict=True):
            predicted = encode(model.predict(X), old).labels.frontier_names()
            mapped = [{name for name in walk.translate(names) if name is not None} for names in predicted]
            ids = [[new.index(name) for name in sorted(names)] for names in mapped]
            counts.append(count(y, LabelMatrix.from_ids(*_rows(ids), new), new))
            task.advance(len(y))
    return Report(reduce(add, counts))


def _rows(ids: list[list[int]]) -> tuple[Any, Any]:
    """Return lists of nodes as CSR."""
    import numpy as np

    return np.cumsum([0, *map(len, ids)]), np.array([v for row in ids for v in row], np.int64)
