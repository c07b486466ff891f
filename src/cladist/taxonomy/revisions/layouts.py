"""Where the codes stand in a correspondence table: our own layout, and those in which offices publish them.

Recognised by their headers: NACE and ISIC (``NACE Rev. 2 code``, ``ISIC31code``), ISCO (``ISCO 88 code``), NAICS and
SOC (``2017 NAICS Code``, ``O*NET-SOC 2010 Code``), and ICD-10-CM's conversion table (``Current code``, ``Previous
Code(s)``). Lines above the header, as spreadsheets have them, are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

LINES_ABOVE_HEADER = 30  # at most; titles and notes of a spreadsheet
NO_CODE = frozenset({"", "-", "–", "—", "n/a", "na", "none", "no match", "no code", "nomatch", "nodx"})

_OLD_WORDS = re.compile(r"\b(old|source|from|previous|prior)\b")
_NEW_WORDS = re.compile(r"\b(new|target|to|current)\b")
_CODE = re.compile(r"(\b|(?<=\d))codes?(\(s\))?(?![a-z])")
_SCHEMES = r"nace|isic|isco|naics|cpa|cpc|coicop|sitc|prodcom|soc|o\*net-soc|noc|anzsic|icd|atc|nuts|hs|cn|esco"
_SCHEME = re.compile(rf"(\d{{4}} )?({_SCHEMES})\b.*")
_TEXT = re.compile(
    r"title|heading|label|descri|name|part|detail|comment|note|effective|date|level|text|change|explanation|relation"
)
_NOTE = re.compile(r"detail|comment|note|specific piece|explanation|evidence")


@dataclass(frozen=True)
class Layout:
    """The columns of a table, by their places; `own` is our own layout, whose rows are checked strictly."""

    old: int
    new: int
    kind: int | None = None
    confidence: int | None = None
    note: int | None = None
    own: bool = False
    lists: frozenset[int] = frozenset()
    """Columns whose cells may list several codes."""


def find_layout(header: Sequence[str], columns: tuple[str, str] | None = None) -> Layout | None:
    """Return the layout of a table with this header, or None if it does not tell; `columns` names old and new."""
    names = [" ".join(name.casefold().split()) for name in header]
    if columns is not None:
        wanted = [" ".join(name.casefold().split()) for name in columns]
        if not set(wanted) <= set(names):
            return None
        return _describe(names, names.index(wanted[0]), names.index(wanted[1]))
    if "old" in names and "new" in names:
        kind, confidence, evidence = (
            names.index(name) if name in names else None for name in ("kind", "confidence", "evidence")
        )
        return Layout(names.index("old"), names.index("new"), kind, confidence, evidence, own=True)
    for is_code in (_is_code, _is_scheme):
        found = [k for k, name in enumerate(names) if is_code(name)]
        if len(found) == 2:
            return _describe(names, *_direct(names, *found))
    return None


def _is_code(name: str) -> bool:
    return _CODE.search(name) is not None and not re.match("part", name)


def _is_scheme(name: str) -> bool:
    plain = name in ("source", "target", "from", "to")
    return plain or (_SCHEME.fullmatch(name) is not None and not _TEXT.search(name))


def _direct(names: Sequence[str], first: int, second: int) -> tuple[int, int]:
    """Return the places of old and new: as their headers say, or else from left to right."""
    is_turned = _NEW_WORDS.search(names[first]) is not None and _OLD_WORDS.search(names[second]) is not None
    return (second, first) if is_turned else (first, second)


def _describe(names: Sequence[str], old: int, new: int) -> Layout:
    note = next((k for k, name in enumerate(names) if k not in (old, new) and _NOTE.search(name)), None)
    lists = frozenset(k for k in (old, new) if re.search(r"codes\b|code\(s\)", names[k]))
    return Layout(old, new, note=note, lists=lists)


def split_codes(cell: str, *, lists: bool) -> list[str | None]:
    """Return the codes of a cell; [None] where it says that there is none."""
    cells = re.split(r"\s*[,;]\s*", cell.strip()) if lists else [cell.strip()]
    codes = [code for code in cells if code.casefold() not in NO_CODE]
    return list(dict.fromkeys(codes)) or [None]
