"""Taxonomy files on disk: reading them whole, writing them whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from cladist.errors import TaxonomyError
from cladist.taxonomy.reading import ENDINGS, FORMATS, parse, recognise
from cladist.taxonomy.taxonomy import Taxonomy
from cladist.taxonomy.writing import as_format


def read_taxonomy(path: str | os.PathLike[str], *, format: str | None, sep: str) -> Taxonomy:  # noqa: A002
    """Read a taxonomy from a file; `format` None recognises it by ending, then by content."""
    source = Path(path)
    _check_format(format)
    text = _read_text(source)
    try:
        return parse(text, format or recognise(text, source.suffix.lower(), sep), sep=sep)
    except TaxonomyError as problem:
        raise TaxonomyError(f"{source}: {problem}") from None


def _read_text(source: Path) -> str:
    """Return a file's text as it stands: a line break inside a quoted name is part of the name."""
    try:
        content = source.read_bytes()
    except (OSError, ValueError) as problem:  # a ValueError is a path that no file can have
        raise TaxonomyError(f"Cannot read the taxonomy file {source}: {problem}.") from problem
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise TaxonomyError(
            f"{source}: line {line}: this is not UTF-8 (byte 0x{content[problem.start]:02x}); save the file as UTF-8."
        ) from None


def _check_format(format: str | None) -> None:  # noqa: A002
    if format is not None and format not in FORMATS:
        raise TaxonomyError(f"format must be one of {', '.join(FORMATS)}; got {format!r}.")


def write_taxonomy(
    taxonomy: Taxonomy,
    path: str | os.PathLike[str],
    *,
    format: str | None,  # noqa: A002
    sep: str,
) -> None:
    """Write a taxonomy; the file appears whole or not at all."""
    _check_format(format)
    target = Path(path)
    chosen = format or ENDINGS.get(target.suffix.lower(), "edges")
    text = as_format(taxonomy, chosen, sep=sep)
    if format is None and recognise(text, target.suffix.lower(), sep) != chosen:
        raise TaxonomyError(
            f"{target}: with these names the file would not be recognised as edges; end its name in .edges, or "
            "write .json or .csv."
        )
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as problem:
        line = text[text.rfind("\n", 0, problem.start) + 1 :].partition("\n")[0]
        raise TaxonomyError(f"{target}: {line!r} cannot be written as UTF-8: {problem.reason}.") from None
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, target)
    except BaseException as problem:
        temporary.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise TaxonomyError(f"Cannot write the taxonomy file {target}: {problem}.") from problem
        raise
