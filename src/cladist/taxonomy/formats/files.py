"""Taxonomy files on disk: reading them whole, writing them whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from cladist.errors import TaxonomyError
from cladist.files import Source, data_suffix, read_text, shown_name, written
from cladist.taxonomy.formats.reader import ENDINGS, FORMATS, READ_ONLY, OnCycle, parse, recognise
from cladist.taxonomy.formats.writer import as_format
from cladist.taxonomy.taxonomy import Taxonomy

OTHER_FILES = {
    ".arff": " (cladist.datasets.read_arff_hmc reads their taxonomy with their rows)",
    **dict.fromkeys((".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xls", ".xlsx", ".ods", ".zip", ".npz"), ""),
}


def read_taxonomy(
    path: Source,
    *,
    format: str | None,  # noqa: A002
    sep: str,
    on_cycle: OnCycle = "error",
) -> Taxonomy:
    """Read a taxonomy from a file; `format` None recognises it by ending, then by content."""
    _check_format(format, (*FORMATS, *READ_ONLY))
    _check_ending(path, format)
    text = read_text(path, error=TaxonomyError)
    try:
        return parse(text, format or recognise(text, data_suffix(path), sep), sep=sep, on_cycle=on_cycle)
    except TaxonomyError as problem:
        raise TaxonomyError(f"{shown_name(path)}: {problem}") from None


def _check_format(format: str | None, among: tuple[str, ...]) -> None:  # noqa: A002
    if format is not None and format not in among:
        raise TaxonomyError(f"format must be one of {', '.join(among)}; got {format!r}.")


def write_taxonomy(
    taxonomy: Taxonomy,
    path: str | os.PathLike[str],
    *,
    format: str | None,  # noqa: A002
    sep: str,
) -> None:
    """Write a taxonomy; the file appears whole or not at all."""
    _check_format(format, FORMATS)
    _check_ending(path, format)
    target = Path(path)
    chosen = format or ENDINGS.get(data_suffix(target), "edges")
    text = as_format(taxonomy, chosen, sep=sep)
    if format is None and recognise(text, data_suffix(target), sep) != chosen:
        raise TaxonomyError(
            f"{target}: with these names the file would not be recognised as edges; end its name in .edges, or "
            "write .json or .csv."
        )
    if "\0" in text:
        raise TaxonomyError(f"{target}: a name has a character 0, which no text file can hold; write JSON instead.")
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as problem:
        line = text[text.rfind("\n", 0, problem.start) + 1 :].partition("\n")[0]
        raise TaxonomyError(f"{target}: {line!r} cannot be written as UTF-8: {problem.reason}.") from None
    with written(target, error=TaxonomyError) as stream:
        stream.write(content)


def _check_ending(path: Source, format: str | None) -> None:  # noqa: A002
    """Refuse files that hold something else, which would be taken for edges."""
    ending = data_suffix(path)
    if format is None and ending in OTHER_FILES:
        raise TaxonomyError(
            f"{shown_name(path)}: {ending} files are no taxonomy files{OTHER_FILES[ending]}; taxonomies are read from "
            f"{', '.join(FORMATS)} and MeSH's tree files."
        )
