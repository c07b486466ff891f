"""Symbols of the International Patent Classification (IPC) in all their spellings, and their taxonomy.

| spelling of group 6 below main group 1 of subclass A01B | where |
|---|---|
| ``A01B 1/06``, ``A01B1/06`` | for people |
| ``A01B   1/06`` | WIPO standard ST.8: the main group right-aligned in four places |
| ``A01B00106`` | WIPO-alpha: the main group in three digits, then the subgroup |
| ``A01B0001060000`` | WIPO's master files: four digits, then the subgroup in six, zeros to its right |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from cladist.errors import TaxonomyError, one_of
from cladist.taxonomy.taxonomy import Taxonomy

LEVELS = ("section", "class", "subclass", "main-group", "subgroup")

_SYMBOL = re.compile(
    r"([A-H](?:[0-9]{2}[A-Z]?)?)"  # a section, a class or a subclass
    r"(?:(?<=.{4})(?: *([0-9]{1,4}) */ *([0-9]{2,6})|([0-9]{3})([0-9]{2,5})|([0-9]{4})([0-9]{6})))?"
)


class IpcSymbol(NamedTuple):
    """A symbol of the IPC.

    Attributes
    ----------
    head : str
        The section, class or subclass: ``A``, ``A01`` or ``A01B``.
    main_group : int
        0 above the level of groups.
    subgroup : str
        The digits behind the slash, at least two: ``00`` is the main group itself, "" is above the groups.

    Examples
    --------
    >>> [symbol.name for symbol in IpcSymbol("A01B", 1, "06").path()]
    ['A', 'A01', 'A01B', 'A01B 1/00', 'A01B 1/06']
    """

    head: str
    main_group: int = 0
    subgroup: str = ""

    @property
    def level(self) -> str:
        """Which of `LEVELS` the symbol names."""
        if self.main_group:
            return "main-group" if self.subgroup == "00" else "subgroup"
        return {1: "section", 3: "class", 4: "subclass"}[len(self.head)]

    @property
    def name(self) -> str:
        """The symbol as people write it, which is the name of its node."""
        return f"{self.head} {self.main_group}/{self.subgroup}" if self.main_group else self.head

    def path(self) -> list[IpcSymbol]:
        """Return the symbols from the section down to this one."""
        above = [IpcSymbol(self.head[:length]) for length in (1, 3, 4) if length <= len(self.head)]
        if self.main_group:
            above.append(IpcSymbol(self.head, self.main_group, "00"))
        return above if self.subgroup in ("", "00") else [*above, self]

    def at(self, level: str) -> IpcSymbol | None:
        """Return the symbol at a level, above this one or itself; None if this one is above that level."""
        return next((symbol for symbol in self.path() if symbol.level == level), None)


def parse_ipc(text: str) -> IpcSymbol:
    """Read an IPC symbol in any of its spellings.

    The third digit of a subgroup and those after it are decimals of the second, so zeros at the end are left out.

    Parameters
    ----------
    text : str
        The symbol.

    Examples
    --------
    >>> parse_ipc("A01B00106") == parse_ipc("A01B   1/06") == parse_ipc("A01B0001060000")
    True
    >>> parse_ipc("D21H").level
    'subclass'
    >>> parse_ipc("A1")
    Traceback (most recent call last):
    cladist.errors.TaxonomyError: 'A1' is no IPC symbol; wanted is one such as 'A01B 1/06', 'A01B00106' or 'A01B'.
    """
    match = _SYMBOL.fullmatch(text.strip(" ")) if isinstance(text, str) else None
    if match is not None:
        head, *groups = match.groups()
        main_group, subgroup = next(((m, s) for m, s in zip(groups[::2], groups[1::2], strict=True) if m), ("0", ""))
        symbol = IpcSymbol(head, int(main_group), subgroup[:2] + subgroup[2:].rstrip("0"))
        if head[1:3] != "00" and bool(symbol.main_group) == bool(subgroup):
            return symbol
    shown = repr(text) if len(repr(text)) < 80 else repr(text)[:76] + "…"
    raise TaxonomyError(f"{shown} is no IPC symbol; wanted is one such as 'A01B 1/06', 'A01B00106' or 'A01B'.")


def ipc_taxonomy(symbols: Iterable[Any], *, level: str = "main-group") -> Taxonomy:
    """Build the part of the IPC that symbols span, from their sections down to a level.

    Subgroups hang below their main groups: a symbol does not show how they are nested by dots.

    Parameters
    ----------
    symbols : iterable of str or IpcSymbol
        The symbols, in any spelling and order; those below `level` are cut there.
    level : {"section", "class", "subclass", "main-group", "subgroup"}
        The deepest level of the taxonomy.

    Returns
    -------
    Taxonomy
        One tree per section; nodes are named as people write them, in the order of the IPC.

    Examples
    --------
    >>> ipc_taxonomy(["D01B00106", "D01B 1/00", "D02G0003000000"]).names
    ('D', 'D01', 'D02', 'D01B', 'D02G', 'D01B 1/00', 'D02G 3/00')
    >>> ipc_taxonomy(["D01B00106", "D02G 3/00"], level="class").names
    ('D', 'D01', 'D02')
    """
    one_of("ipc_taxonomy", "level", level, LEVELS)
    if isinstance(symbols, (str, bytes)) or not isinstance(symbols, Iterable):
        raise TaxonomyError(f"ipc_taxonomy wants several symbols; got {type(symbols).__name__}.")
    deepest: set[IpcSymbol] = set()
    for position, text in enumerate(symbols):
        try:
            symbol = text if isinstance(text, IpcSymbol) else parse_ipc(text)
        except TaxonomyError as problem:
            raise TaxonomyError(f"entry {position}: {problem}") from None
        deepest.add(symbol.at(level) or symbol)
    parents: dict[str, str | None] = {}
    for symbol in sorted(deepest):
        path = [above.name for above in symbol.path()]
        parents.update(zip(path, [None, *path[:-1]], strict=True))
    return Taxonomy.from_parents(parents)
