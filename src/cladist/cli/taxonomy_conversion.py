"""A taxonomy written in another format, or first made another shape that the format can hold."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

from cladist.errors import ParameterError, TaxonomyError

WITHOUT_DAGS = ("paths", "indented")


class TaxonomyFormat(StrEnum):
    """The formats a taxonomy file can have."""

    edges = "edges"
    paths = "paths"
    csv = "csv"
    tsv = "tsv"
    json = "json"
    indented = "indented"
    rcv1 = "rcv1"


def check_convertible(out: Path | None, *, flatten: bool = False, spanning_forest: bool = False) -> None:
    """Raise unless a taxonomy can be written so, before work is done; shapes are only for what is written."""
    from cladist.files import PACKED_ENDINGS, data_suffix

    if flatten and spanning_forest:
        raise ParameterError("--flatten and --spanning-forest are two shapes; give one of them.")
    if out is None and (flatten or spanning_forest):
        option = "--flatten" if flatten else "--spanning-forest"
        raise ParameterError(f"{option} is about the file that is written; name it with --convert OUT.")
    if out is not None and data_suffix(out).removeprefix(".") not in list(TaxonomyFormat):
        endings = ", ".join(f".{kind}" for kind in TaxonomyFormat)
        *some, last = PACKED_ENDINGS
        raise TaxonomyError(
            f"{out}: the ending says what to convert to, and must be one of {endings}, with {', '.join(some)} or "
            f"{last} behind it to pack it."
        )


def reshaped(taxonomy: Any, *, flatten: bool, spanning_forest: bool) -> Any:
    """Return the star of a taxonomy's nodes, or them with one parent each, or the taxonomy itself."""
    if flatten:
        return taxonomy.flattened()
    return taxonomy.spanning_forest() if spanning_forest else taxonomy


def convert(taxonomy: Any, out: Path, *, sep: str = "/") -> int:
    """Write a taxonomy in the format that the ending names, packed if a second ending says so.

    Returns
    -------
    int
        How many titles the format has no place for.
    """
    from cladist.files import data_suffix
    from cladist.taxonomy.formats.writer import HOLD_TITLES

    check_convertible(out)
    kind = data_suffix(out).removeprefix(".")
    try:
        taxonomy.write(out, format=kind, sep=sep)
    except TaxonomyError as problem:
        sentence = str(problem)
        if kind in WITHOUT_DAGS and taxonomy.kind == "dag":
            sentence += " --spanning-forest and --flatten make it a tree or forest."
        raise TaxonomyError(sentence if sentence.startswith(str(out)) else f"{out}: {sentence}") from problem
    return 0 if kind in HOLD_TITLES else len(taxonomy.titles)


def titles_left_out(n_titles: int, out: Path) -> str:
    """Return the remark that a file has no place for titles.

    Examples
    --------
    >>> titles_left_out(2, Path("tree.paths"))
    '2 titles are left out: tree.paths has no place for them; .csv, .tsv and .rcv1 have.'
    """
    from cladist.taxonomy.formats.writer import HOLD_TITLES

    *some, last = (f".{kind}" for kind in HOLD_TITLES)
    are, them = ("title is", "it") if n_titles == 1 else ("titles are", "them")
    return f"{n_titles:,} {are} left out: {out} has no place for {them}; {', '.join(some)} and {last} have."
