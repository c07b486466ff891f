"""``cladist migrate MODEL``: a saved model carried over to a new version of its taxonomy."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cladist.cli import output
from cladist.errors import ParameterError

if TYPE_CHECKING:
    from cladist.taxonomy import Crosswalk

WEIGHTS = {
    "one-to-one": "the old ones",
    "rename": "the old ones",
    "move": "the old ones",
    "split": "each part has those of the whole",
    "merge": "the sum of theirs",
    "retire": "gone",
    "new": "the mean of the labels below the parent, turned to the title",
}


def run(
    terminal: output.Terminal,
    model: Path,
    out: Path | None,
    walk: tuple[Path | None, Path | None, tuple[str | None, str | None]],
    report: Path | None,
    unused: dict[str, Any],
) -> None:
    """Carry a model over and save it; `unused` are the options for tables, by flag, of which none may be given."""
    crosswalk, new, columns = walk
    given = [flag for flag, value in unused.items() if value]
    if given:
        raise ParameterError(f"{given[0]} is for tables, and {model} is a model; leave it out.")
    if out is None:
        raise ParameterError("Name the folder of the new model with --out NEWMODEL.")
    if new is None:
        raise ParameterError("Name the new taxonomy with --to NEW.")
    _check_folder(out, model)
    output.check_target(report, model, out, crosswalk, new)
    from cladist.storage import check_replaceable, lock_folder

    check_replaceable(out)
    with lock_folder(out), terminal.bars():
        walk_used, sizes = _carry_over(model, out, crosswalk, new, columns)
    values = {"model": str(model), "out": str(out), **sizes, "counts": dict(walk_used.counts)}
    if report is not None:
        output.write_text(report, json_format.dumps(values, indent=2, ensure_ascii=False) + "\n")
    terminal.answer(values)
    terminal.show(*describe(values))


def _check_folder(out: Path, model: Path) -> None:
    """Refuse a folder that is the old model or lies in it, or around it."""
    target, source = out.resolve(), model.resolve()
    if target.is_relative_to(source) or source.is_relative_to(target):
        raise ParameterError(f"{out} and {model} are one folder, or one lies in the other; write to another folder.")


def _carry_over(
    model: Path, out: Path, crosswalk: Path | None, new: Path, columns: tuple[str | None, str | None]
) -> tuple[Crosswalk, dict[str, Any]]:
    """Write the model of the new version; return the crosswalk, and how many labels there were and are."""
    from cladist.cli.input import DataSource, learner_of, open_model, read_tree
    from cladist.cli.other_version import mapping
    from cladist.learners.migration.models import migrate
    from cladist.persistence.models import save

    fitted, notes = open_model(model)
    before = learner_of(fitted).taxonomy_
    after = read_tree(new, DataSource(str(new), path_sep=notes.get("path_sep") or None))
    walk = before.diff(after) if crosswalk is None else mapping(before, after, crosswalk, columns)
    moved = migrate(fitted, walk, taxonomy=after)
    save(moved, out, notes=notes)
    classes = {name: len(learner_of(one).classes_) for name, one in (("classes_before", fitted), ("classes", moved))}
    return walk, classes


def describe(values: dict[str, Any]) -> Iterator[Any]:
    """Yield the report for people."""
    rows = [[kind, f"{count:,}", WEIGHTS[kind]] for kind, count in values["counts"].items()]
    yield output.table(["entries", "count", "weights"], rows)
    yield (
        f"The model is in {values['out']}: {values['classes']:,} labels, of which there were "
        f"{values['classes_before']:,}. Weights of split and new labels are a beginning, until rows tell them apart."
    )
