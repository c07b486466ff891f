"""``cladist taxonomy``: describe, check, draw and convert a taxonomy, and compare it with labelled data."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cladist import progress
from cladist.cli import output
from cladist.errors import ParameterError, TaxonomyError
from cladist.files import PACKED_ENDINGS, data_suffix

if TYPE_CHECKING:
    from cladist.cli.input import DataSource
    from cladist.taxonomy import Taxonomy
    from cladist.taxonomy.inspection import Coverage, Findings, UnknownLabel

EXAMPLE = (
    "Examples: [bold]cladist taxonomy tree.csv --svg tree.svg[/bold]"
    "\n\n[bold]cladist taxonomy tree.csv --data train.csv --label category[/bold]"
    "\n\n[bold]cladist taxonomy train.csv --label category --path-sep ' > ' --convert tree.csv[/bold]"
    "\n\n[bold]cladist taxonomy tree.csv --convert tree.json.gz[/bold]"
    "\n\n[bold]cladist taxonomy old.csv --diff new.csv --out crosswalk.csv[/bold]"
    "\n\n[bold]zcat tree.txt.gz | cladist taxonomy - --format edges[/bold]"
)
# The formats that are written; those that are read are these, ARFF headers and LSHTC hierarchies, among others.
TaxonomyFormat = StrEnum("TaxonomyFormat", "edges paths csv tsv json indented rcv1")
TaxonomyInput = StrEnum("TaxonomyInput", "edges paths csv tsv json indented rcv1 mesh obo owl xlsx ods arff lshtc")
WITHOUT_DAGS = ("paths", "indented")
FILE_HELP = (
    "Edges, paths, CSV, TSV, JSON, indented text, RCV1, MeSH, OBO, OWL, .xlsx, .ods or ARFF; - for standard input. "
    "With --label and without --data, labelled data: the taxonomy is the tree of this column."
)
CONVERT_HELP = "Write it to this file, in the format of its extension, as in .csv or .csv.gz."
FOREST_HELP = "Convert it to a forest with one parent per node, the deepest."
SEP_HELP = "The separator of path parts, in FILE and in labels."
CROSSWALK = "Crosswalk"
DIFF_HELP = "Propose the crosswalk from FILE to this new version of it; with --data, also by the words of rows."
OUT_HELP = "Write the crosswalk to this file: .csv or .tsv."
HTML_HELP = "Write the crosswalk as a page."
LABELS_HELP = f"Compare it with labelled data. {output.DATA_HELP}"


def command(
    terminal: output.Terminal,
    file: Annotated[str, output.argument("FILE", FILE_HELP)],
    convert_to: Annotated[Path | None, output.option("--convert OUT", CONVERT_HELP)] = None,
    flatten: Annotated[
        bool, output.option("--flatten", "Convert it to a star of its nodes, without inner levels.")
    ] = False,
    spanning_forest: Annotated[bool, output.option("--spanning-forest", FOREST_HELP)] = False,
    svg: Annotated[Path | None, output.option("--svg FILE", "Write a drawing to this file.")] = None,
    diff: Annotated[Path | None, output.option("--diff NEW", DIFF_HELP, CROSSWALK)] = None,
    out: Annotated[Path | None, output.option("--out -o FILE", OUT_HELP, CROSSWALK)] = None,
    html: Annotated[Path | None, output.option("--html FILE", HTML_HELP, CROSSWALK)] = None,
    drop_cycles: Annotated[
        bool, output.option("--drop-cycles", "Drop the edges that close cycles, and list them.")
    ] = False,
    format: Annotated[  # noqa: A002
        TaxonomyInput | None, output.option("--format", "The format of FILE, if it is not recognised.")
    ] = None,
    path_sep: Annotated[str | None, output.option("--path-sep TEXT", SEP_HELP, show_default="/ in FILE")] = None,
    data: Annotated[str | None, output.option("--data FILE", LABELS_HELP, output.DATA)] = None,
    text: output.Texts = None,
    label: output.Label = None,
    label_sep: output.LabelSep = None,
    data_format: Annotated[
        output.DataFormat | None, output.option("--data-format", output.FORMAT_HELP, output.DATA)
    ] = None,
) -> None:
    """Describe, check, draw and convert a taxonomy."""
    if path_sep == "":
        raise ParameterError("--path-sep must not be empty; leave it out if nothing is separated.")
    if file == data == "-":
        raise ParameterError("FILE and --data are both standard input; name a file for one of them.")
    output.check_inputs(file, data)
    reading: dict[str, Any]
    if diff is None and (out is not None or html is not None):
        raise ParameterError("--out and --html are of the crosswalk; name the new version of FILE with --diff NEW.")
    if text and diff is None:
        raise ParameterError("--text is for --diff NEW, which compares the words of rows.")
    if diff is not None:
        from cladist.cli import revision

        reading = {"format": format and format.value, "path_sep": path_sep, "drop_cycles": drop_cycles}
        revision.run(terminal, file, diff, out, html, data, (label, label_sep, tuple(text or ())), **reading)
        return
    of_column = label is not None and data is None  # the taxonomy is the tree of a column
    if of_column:
        data = file
    from cladist.cli import taxonomy_report
    from cladist.cli.input import DataSource
    from cladist.report.taxonomy_drawing import taxonomy_drawing

    columns = (label, label_sep, path_sep)
    source = None if data is None else DataSource(data, data_format and data_format.value, (), *columns, labelled=True)
    _check_data(source, {"--label": label, "--label-sep": label_sep, "--data-format": data_format})
    check_convertible(convert_to, flatten=flatten, spanning_forest=spanning_forest)
    output.check_target(convert_to, file, data)
    output.check_target(svg, file, data, convert_to)
    reading = {"format": format and format.value, "path_sep": path_sep, "drop_cycles": drop_cycles}
    with terminal.bars():
        description = describe(None if of_column else file, source, **reading)
    values = taxonomy_report.to_dict(description)
    if convert_to is not None:
        shape = description.taxonomy
        shape = shape.flattened() if flatten else shape.spanning_forest() if spanning_forest else shape
        notes = convert(shape, convert_to, sep=path_sep or "/")
        values["converted_to"] = str(convert_to)
        terminal.note(f"Written to {convert_to}", *notes)
    if svg is not None:
        rows = None if description.coverage is None else description.coverage.rows_below
        output.write_text(svg, taxonomy_drawing(description.taxonomy, title=_short_name(file), rows=rows))
        values["svg"] = str(svg)
        terminal.note(f"The drawing is in {svg}")
    terminal.answer(values)
    terminal.show(*taxonomy_report.render(description, "" if source is None else source.name))


class Description(NamedTuple):
    """A taxonomy, its properties, and its comparison with labelled data, if any."""

    taxonomy: Taxonomy
    findings: Findings
    coverage: Coverage | None = None
    unknown: tuple[UnknownLabel, ...] = ()


def describe(
    file: str | None,
    source: DataSource | None = None,
    *,
    format: str | None = None,  # noqa: A002
    path_sep: str | None = None,
    drop_cycles: bool = False,
) -> Description:
    """Read and inspect a taxonomy, and compare it with labelled data if `source` is given.

    Without a `file`, the taxonomy is the tree of the labels in `source`.
    """
    from cladist.cli.taxonomy_report import column_tree, compare
    from cladist.taxonomy.inspection import inspect

    if file is None:
        assert source is not None
        taxonomy, coverage = column_tree(source)
        return Description(taxonomy, inspect(taxonomy), coverage)

    try:
        taxonomy = read_file(file, format=format, path_sep=path_sep, drop_cycles=drop_cycles)
    except TaxonomyError as problem:
        if "must be in the header" in str(problem):
            problem.add_note("If this is labelled data, name the column of its labels with --label COLUMN.")
        raise
    findings = inspect(taxonomy)
    return Description(taxonomy, findings, *(() if source is None else compare(taxonomy, source)))


def read_file(file: str, *, format: str | None, path_sep: str | None, drop_cycles: bool) -> Taxonomy:  # noqa: A002
    """Return the taxonomy of a file, or of standard input."""
    from cladist.cli.input import read_taxonomy

    # Reading a file reports its progress, and building the taxonomy takes time after its last byte.
    with progress.task(f"Reading {_short_name(file)}"):
        return read_taxonomy(
            sys.stdin.buffer if file == "-" else file,
            format=format,
            sep=path_sep or "/",
            drop_cycles=drop_cycles,
            advice="leave {} out with --drop-cycles",
        )


def _check_data(source: DataSource | None, options: dict[str, Any]) -> None:
    """Raise a `ParameterError` if options about data are given without data, or do not suit it."""
    if source is not None:
        source.check_extension()
        source.check_columns(text=False)
        return
    for flag, value in options.items():
        if value is not None:
            raise ParameterError(f"{flag} is about labelled data; name its file with --data FILE.")


def _short_name(file: str) -> str:
    return "standard input" if file == "-" else Path(file).name


def check_convertible(out: Path | None, *, flatten: bool = False, spanning_forest: bool = False) -> None:
    """Raise an error if a taxonomy cannot be converted to this file or shape; shapes need a file."""
    if flatten and spanning_forest:
        raise ParameterError("--flatten and --spanning-forest are two shapes; give one of them.")
    if out is None and (flatten or spanning_forest):
        flag = "--flatten" if flatten else "--spanning-forest"
        raise ParameterError(f"{flag} is about the file that is written; name it with --convert OUT.")
    if out is not None and data_suffix(out).removeprefix(".") not in list(TaxonomyFormat):
        suffixes = ", ".join(f".{kind}" for kind in TaxonomyFormat)
        *packed, last = PACKED_ENDINGS
        raise TaxonomyError(
            f"{out}: the file extension says what to convert to, and must be one of {suffixes}, with "
            f"{', '.join(packed)} or {last} behind it to compress it."
        )


def convert(taxonomy: Any, out: Path, *, sep: str = "/") -> list[str]:
    """Write a taxonomy in the format of the file extension; return notes of the texts that it cannot store."""
    from cladist.taxonomy.formats.writer import HOLD_TEXTS, HOLD_TITLES

    check_convertible(out)
    kind = data_suffix(out).removeprefix(".")
    try:
        taxonomy.write(out, format=kind, sep=sep)
    except TaxonomyError as error:
        sentence = str(error)
        if kind in WITHOUT_DAGS and taxonomy.kind == "dag":
            sentence += " --spanning-forest and --flatten make it a tree or forest."
        raise TaxonomyError(sentence if sentence.startswith(str(out)) else f"{out}: {sentence}") from error
    notes = []
    for what, holders in (("title", HOLD_TITLES), ("description", HOLD_TEXTS), ("synonym", HOLD_TEXTS)):
        n_texts = 0 if kind in holders else len(getattr(taxonomy, f"{what}s"))
        if n_texts:
            *some, last = (f".{kind}" for kind in holders)
            are, them = (f"{what} is", "it") if n_texts == 1 else (f"{what}s are", "them")
            place = f"{out} has no place for {them}; {', '.join(some)} and {last} have."
            notes.append(f"{n_texts:,} {are} left out: {place}")
    return notes
