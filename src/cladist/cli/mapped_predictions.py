"""``cladist predict --crosswalk``: predictions of a model of an old taxonomy, in labels of a new one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cladist.errors import ParameterError, TaxonomyError, quoted
from cladist.learners.predictions import Prediction
from cladist.learners.row_decisions import DecidedRow

if TYPE_CHECKING:
    from cladist.cli.predict import Layout
    from cladist.taxonomy import Crosswalk, Taxonomy

LEAF, INNER, SET, ABSTAINED = "leaf", "inner node", "set", "abstained"


class Target(NamedTuple):
    """What an old label is now: a label or None, its path, where that is, and why it is no leaf of its own."""

    label: str | None
    path: list[str]
    place: str
    reason: str = ""


class MappedRow(NamedTuple):
    """The predictions of a row in new labels, where it is decided, and why there."""

    predictions: list[Prediction]
    decided_at: str
    reason: str


def read_crosswalk(learner: Any, crosswalk: Path, taxonomy: Path | None, sep: str | None) -> Crosswalk:
    """Return the crosswalk of a file, from the taxonomy of a model on; with the new taxonomy it is completed."""
    from cladist.cli.input import DataSource, read_tree
    from cladist.cli.other_version import mapping
    from cladist.taxonomy import Crosswalk

    old = learner.taxonomy_
    if taxonomy is not None:
        return mapping(old, read_tree(taxonomy, DataSource(str(taxonomy), path_sep=sep)), crosswalk)
    walk = Crosswalk.read(crosswalk, old=old)
    if not any(name in old for name in walk.old_names):
        raise TaxonomyError(f"{crosswalk} names no node of the model's taxonomy; is it for another one, or inverted?")
    return walk


class Mapper:
    """Carries predictions over to new labels.

    A label with one counterpart becomes that. One that was split becomes the nearest node above its parts, and in a set
    that holds the true label with some probability (`whole`), all its parts; without the new taxonomy such a row has no
    label. A retired label has none.
    """

    def __init__(self, learner: Any, walk: Crosswalk, *, whole: bool = False) -> None:
        self.old: Taxonomy = learner.taxonomy_
        self.form, self.walk, self.whole = learner.label_form_, walk, whole
        self.targets = cache(self._targets)

    def __call__(self, rows: Iterable[Any]) -> Iterator[Any]:
        """Yield the rows that `cladist predict` writes, in new labels."""
        for row in rows:
            yield self._decided(row) if isinstance(row, DecidedRow) else self._predicted(row)

    def names(self) -> Iterator[str]:
        """Yield all labels, and names on paths to them, that may be written."""
        new = self.walk.new
        if new is None:
            yield from (name for name in self.walk.new_names if name is not None)
            yield from self.old.names
        else:
            yield from new.names
            yield from (self.form.spell(v, new) for v in range(new.n_nodes))

    def _targets(self, path: tuple[str, ...]) -> tuple[Target, ...]:
        """Return what the label at the end of a path in the old taxonomy is now: one, or of `whole` sets several."""
        v = self.old.find_path(list(path))
        assert v is not None
        name, new = self.old.names[v], self.walk.new
        place = LEAF if self.old.is_leaf[v] else INNER
        if name not in self.walk:  # a table of changes, without the new taxonomy
            return (Target(self.form.spell(v, self.old), [], place),)
        found = self.walk.targets(name)
        if not found:
            return (Target(None, [], ABSTAINED, f"{quoted(name)} was retired"),)
        split = f"{quoted(name)} was split into {', '.join(map(quoted, found))}" if len(found) > 1 else ""
        if not split and place == LEAF and new is not None and not new.is_leaf[new.index(found[0])]:
            return (self._named(found[0], INNER, f"{quoted(name)} is an inner node now"),)
        if self.whole and split:
            return tuple(self._named(one, SET, split) for one in found)
        above = found[0] if not split else None if new is None else self.walk.translate([name])[0]
        return (Target(None, [], ABSTAINED, split) if above is None else self._named(above, place, split),)

    def _named(self, name: str, place: str, reason: str) -> Target:
        new = self.walk.new
        if new is None:
            return Target(name, [], place, reason)
        v = new.index(name)
        is_leaf = bool(new.is_leaf[v])
        path = list(new.shortest_path_parts(v))
        return Target(self.form.spell(v, new), path, LEAF if is_leaf else INNER, reason)

    def _of_row(self, paths: Iterable[list[str]]) -> Iterator[tuple[int, Target]]:
        """Yield the place of each old label in its row with what it is now."""
        for k, path in enumerate(paths):
            yield from ((k, target) for target in self.targets(tuple(path)))

    def _decided(self, row: DecidedRow) -> DecidedRow:
        found = [target for _, target in self._of_row(row.paths)]
        kept = {target.label: target.path for target in found if target.label is not None}
        labels = [str(label) for label in kept]
        reason = _joined([row.reason, *(target.reason for target in found)])
        place = row.decided_at if row.decided_at in (SET, ABSTAINED) else found[0].place
        return DecidedRow(
            labels, list(kept.values()), row.confidence, place if kept or not found else ABSTAINED, reason
        )

    def _predicted(self, row: list[Prediction]) -> MappedRow:
        found = list(self._of_row(prediction.path for prediction in row))
        best: dict[Any, Prediction] = {}
        for k, target in found:  # best score first
            if target.label is not None:
                best.setdefault(target.label, Prediction(target.label, target.path, row[k].score))
        place = found[0][1].place if len(found) == 1 else SET
        reason = _joined(target.reason for _, target in found)
        return MappedRow(list(best.values()), place if best or not found else ABSTAINED, reason)


def _joined(reasons: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


@dataclass(frozen=True)
class MappedLayout:
    """The layout of predictions, with the columns `decided_at` and `reason` behind."""

    layout: Layout

    def header(self) -> list[str]:
        """Return the column names of a table."""
        return [*self.layout.header(), "decided_at", "reason"]

    def cells(self, row: MappedRow) -> list[str]:
        """Return a row of a table."""
        from cladist.cli.predict import escape_formula

        cells = self.layout.cells(row.predictions) or [""] * 3
        return [*cells, row.decided_at, escape_formula(row.reason)]

    def to_dict(self, row: MappedRow) -> dict[str, Any]:
        """Return a row as a JSON object."""
        empty = {"label": None, "path": None, "score": None}
        shown = empty if self.layout.separator is None and not row.predictions else self.layout.to_dict(row.predictions)
        return {**shown, "decided_at": row.decided_at, "reason": row.reason}


def check_options(crosswalk: Path | None, taxonomy: Path | None, top_k: int | None) -> None:
    """Raise a `ParameterError` for options that do not go together."""
    if taxonomy is not None and crosswalk is None:
        raise ParameterError("--taxonomy is the version that --crosswalk FILE leads to; name that too.")
    if crosswalk is not None and top_k is not None:
        raise ParameterError("--crosswalk maps the label of a row, and --top-k lists several; leave one out.")
