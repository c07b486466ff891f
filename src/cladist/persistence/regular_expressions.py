r"""Regular expressions from files: which of them are read in time that grows with the text, and not without end.

What is promised is one way through a text from each place where a match may begin: linear time for patterns that match
wherever they begin to, such as `\w+`, and at most the square of a text's length for others, such as `\w+!`.

Python's matcher tries one way through a pattern after the other; `(a+)+$` has as many ways through a text of a's as
there are sums. A pattern is taken if each of its alternatives is deterministic: after each character, the next one
can be matched at one place of the alternative at most. Then there is one way through it, and nothing to try twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import NoReturn

from cladist.errors import ModelFormatError

LONGEST = 1000  # characters of a pattern
MOST_PLACES = 100  # that match a character, repetitions by number written out
_FLAGS = re.compile(r"\(\?([aimsu]+)\)")
_SKIPPED = re.compile(r"\\[bBAZ]|\^|\$")  # match no character
_LOOK = re.compile(r"\(\?(?:=|!|<=|<!)")
_OPEN = re.compile(r"\(\?:|\(\?P<\w+>|\((?!\?)")
_CLASS = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
_PLAIN = re.compile(r"\\[wWdDsSnrtfv]|\\[^a-zA-Z0-9]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|[^\\()\[\]|*+?]", re.DOTALL)
_COUNT = re.compile(r"\{(\d{1,4})?(,(\d{1,4})?)?\}")


def check_pattern(pattern: str) -> None:
    r"""Raise a `ModelFormatError` unless a regular expression has one way through a text from each place at most.

    Examples
    --------
    >>> check_pattern(r"(?u)\b\w\w+\b")
    >>> check_pattern(r"\w+(?:[-']\w+)*|[^\w\s]")
    >>> check_pattern(r"(a+)+$")
    Traceback (most recent call last):
    cladist.errors.ModelFormatError: The regular expression '(a+)+$' may take too long on some texts: ...
    """
    try:
        re.compile(pattern)
        if len(pattern) > LONGEST:
            raise _DoubtError(f"it has {len(pattern):,} characters, more than {LONGEST:,}")
        _Reader(pattern).check()
    except _DoubtError as doubt:
        raise ModelFormatError(
            f"The regular expression {pattern[:60]!r} may take too long on some texts: {doubt}. If the model is "
            "your own, load it with trusted=True; otherwise do without it."
        ) from None
    except (re.error, OverflowError, RecursionError) as error:
        raise ModelFormatError(f"{pattern[:60]!r} is no regular expression: {error}.") from None


class _DoubtError(Exception):
    """What cannot be shown to have one way through a text."""


@dataclass
class _Part:
    """A piece of a pattern: whether it matches nothing, and at which places it may begin and end."""

    empty: bool = True
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)


class _Reader:
    """Reads a pattern into places that match one character each, and which of them may follow each other."""

    def __init__(self, pattern: str) -> None:
        flags = _FLAGS.match(pattern)
        self.text, self.at = pattern, flags.end() if flags else 0
        self.flags = flags.group() if flags else ""
        self.atoms: list[str] = []
        self.follow: list[list[int]] = []

    def check(self) -> None:
        """Refuse a pattern one of whose alternatives leaves a choice."""
        while True:
            self._check_choice(self._sequence().first)
            if self.at == len(self.text):
                break
            self._expect("|")
        for followers in self.follow:
            self._check_choice(followers)

    def _check_choice(self, places: list[int]) -> None:
        for one, other in combinations(places, 2):
            atoms = self.atoms[one], self.atoms[other]
            if one == other or _overlap(_ranges(self.flags + atoms[0]), _ranges(self.flags + atoms[1])):
                _doubt(f"a character may be matched by {atoms[0]!r} at one place or by {atoms[1]!r} at another")

    # ---------------------------------------------------------------- reading

    def _alternatives(self) -> _Part:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        if sum(part.empty for part in parts) > 1:
            _doubt("two alternatives may match nothing")
        joined = _Part(any(part.empty for part in parts))
        for part in parts:
            joined.first += part.first
            joined.last += part.last
        return joined

    def _sequence(self) -> _Part:
        whole = _Part()
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            whole = self._joined(whole, self._repeated())
        return whole

    def _repeated(self) -> _Part:
        start = self.at
        part = self._atom()
        least, most = self._count()
        if (least, most) == (1, 1):
            return part
        if part.empty:
            _doubt("it repeats what may match nothing")
        end, whole = self.at, _Part()
        for k in range(max(least, 1 if most is None else most)):
            if k:  # a copy of the places
                self.at = start
                part = self._atom()
            if k >= least:
                part = self._optional_tail(start, most - k if most is not None else 1)
            whole = self._joined(whole, part)
            if k >= least:
                break
        if most is None:
            self._link(part.last, part.first)
            whole.empty = whole.empty or least == 0
        self.at = end
        return whole

    def _optional_tail(self, start: int, n: int) -> _Part:
        """Return x? of n = 1, (x(x)?)? of n = 2, and so on: copies that leave no choice which of them is left out."""
        tail = _Part()
        for _ in range(n):
            self.at = start
            tail = self._joined(self._atom(), tail)
            tail.empty = True
        return tail

    def _atom(self) -> _Part:
        if _skip := _SKIPPED.match(self.text, self.at):
            self.at = _skip.end()
            return _Part()
        if look := _LOOK.match(self.text, self.at):
            self.at = look.end()
            self._character()
            self._expect(")")
            return _Part()
        if opened := _OPEN.match(self.text, self.at):
            self.at = opened.end()
            part = self._alternatives()
            self._expect(")")
            return part
        return self._place(self._character())

    def _character(self) -> str:
        found = _CLASS.match(self.text, self.at) or _PLAIN.match(self.text, self.at)
        if found is None:
            _doubt(f"{self.text[self.at : self.at + 8]!r} is not looked into here")
        self.at = found.end()
        return "[{]" if found.group() == "{" else found.group()

    def _count(self) -> tuple[int, int | None]:
        """Read how often what stands before is repeated, and whether greedily, which does not matter."""
        least: int = 1
        most: int | None = 1
        if found := _COUNT.match(self.text, self.at):
            if found.group() not in ("{}", "{,}"):
                least = int(found[1] or 0)
                most = (int(found[3]) if found[3] else None) if found[2] else least
                self.at = found.end()
                self._take("?")
        elif self.text[self.at : self.at + 1] in ("*", "+", "?") and self.at < len(self.text):
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self.text[self.at]]
            self.at += 1
            self._take("?")
        return least, most

    def _take(self, mark: str) -> bool:
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) if found else 0
        return found

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            _doubt(f"{self.text[self.at : self.at + 8]!r} is not looked into here")

    # ---------------------------------------------------------------- places

    def _place(self, atom: str) -> _Part:
        if len(self.atoms) >= MOST_PLACES:
            _doubt(f"it matches a character at more than {MOST_PLACES} places")
        self.atoms.append(atom)
        self.follow.append([])
        return _Part(False, [len(self.atoms) - 1], [len(self.atoms) - 1])

    def _link(self, last: list[int], first: list[int]) -> None:
        for place in last:
            self.follow[place] += first

    def _joined(self, before: _Part, after: _Part) -> _Part:
        self._link(before.last, after.first)
        first = before.first + (after.first if before.empty else [])
        last = after.last + (before.last if after.empty else [])
        return _Part(before.empty and after.empty, first, last)


def _doubt(reason: str) -> NoReturn:
    raise _DoubtError(reason)


@lru_cache(maxsize=1)
def _all_characters() -> str:
    return "".join(map(chr, range(0x110000)))


@lru_cache(maxsize=256)
def _ranges(atom: str) -> list[tuple[int, int]]:
    """Return which characters an atom matches: from which to which."""
    flags = _FLAGS.match(atom)
    start = flags.end() if flags else 0
    runs = re.compile(f"{atom[:start]}(?:{atom[start:]})+")
    return [found.span() for found in runs.finditer(_all_characters())]


def _overlap(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    """Tell whether two lists of ranges, in order, share a character."""
    pairs: Iterator[tuple[int, int]] = iter(others)
    start, end = next(pairs, (0x110000, 0x110000))
    for low, high in some:
        while end <= low:
            start, end = next(pairs, (0x110000, 0x110001))
        if start < high:
            return True
    return False
