"""``cladist taxonomy OLD --diff NEW``: the crosswalk proposed between two versions of a taxonomy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cladist.cli import output
from cladist.errors import ParameterError
from cladist.files import data_suffix

if TYPE_CHECKING:
    from cladist.taxonomy import Crosswalk

ENDINGS = (".csv", ".tsv")
LOW = 0.9  # entries below it are shown for people to check
MOST_SHOWN = 12


def run(
    terminal: output.Terminal,
    old: str,
    new: Path,
    out: Path | None,
    html: Path | None,
    data: str | None,
    columns: tuple[str | None, str | None, tuple[str, ...]],
    **reading: Any,
) -> None:
    """Propose, show and write the crosswalk between two files."""
    if out is not None and data_suffix(out) not in ENDINGS:
        raise ParameterError(f"A crosswalk is written as {' or '.join(ENDINGS)}; got {str(out)!r}.")
    label, label_sep, text = columns
    if data is not None and not (label and text):
        raise ParameterError("To compare by the words of rows, name the columns of --data with --text and --label.")
    output.check_inputs(new)
    output.check_target(out, old, new, data)
    output.check_target(html, old, new, data, out)
    from cladist.cli.taxonomy import read_file

    with terminal.bars():
        before, after = read_file(old, **reading), read_file(str(new), **reading)
        texts = None if data is None else read_texts(data, text, label or "", label_sep)
        walk = before.diff(after, texts=texts)
    values: dict[str, Any] = {"counts": walk.counts, "faults": [asdict(fault) for fault in walk.check()]}
    if out is not None:
        walk.write(out)
        values["out"] = str(out)
        terminal.note(f"Written to {out}")
    else:
        values["entries"] = [asdict(entry) for entry in walk if entry.kind != "one-to-one"]
    if html is not None:
        from cladist.report.crosswalk_drawing import crosswalk_page

        output.write_text(html, crosswalk_page(walk, title=f"{Path(old).name} → {new.name}"))
        values["html"] = str(html)
        terminal.note(f"The page is in {html}")
    terminal.answer(values)
    terminal.show(*describe(walk))


def read_texts(data: str, text: tuple[str, ...], label: str, label_sep: str | None) -> tuple[list[str], list[str]]:
    """Return texts and labels of the rows of a table; a row of several labels counts for each."""
    from cladist.datasets.formats.tables.reader import join_text
    from cladist.datasets.formats.tables.records import label_text, read_records

    texts, labels = [], []
    for line, record in read_records(data, columns=(*text, label)):
        name = label_text(record[label]) or ""
        for part in name.split(label_sep) if label_sep else [name]:
            if part.strip():
                texts.append(join_text(data, line, record, text))
                labels.append(part.strip())
    return texts, labels


def describe(walk: Crosswalk) -> Iterator[Any]:
    """Yield the crosswalk for people."""
    yield str(walk)
    doubtful = sorted((e for e in walk if e.confidence < LOW and e.old and e.new), key=lambda e: e.confidence)
    if doubtful:
        rows = [[str(e.old), str(e.new), e.kind, f"{e.confidence:.0%}", e.evidence] for e in doubtful[:MOST_SHOWN]]
        yield f"{len(doubtful):,} entries are less than {LOW:.0%} sure; check them first:"
        yield output.table(["old", "new", "kind", "sure", "evidence"], rows)
    yield from (fault.sentence for fault in walk.check() if fault.kind != "missing-new")
