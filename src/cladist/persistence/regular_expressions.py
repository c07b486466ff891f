r"""Regular expressions from files: only those that Python matches in bounded time are accepted.

Python's matcher backtracks: `(a+)+$` has exponentially many ways through a text of a's. A pattern is accepted if each
of its alternatives is deterministic (its Glushkov automaton has one transition per character): then there is one way
through a text from each start, and nothing is tried twice. Matching takes linear time for patterns that match wherever
they begin to, such as `\w+`, and at most quadratic time for others, such as `\w+!`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, pairwise
from typing import NoReturn

from cladist.errors import ModelFormatError

LONGEST = 1000  # characters of a pattern
MOST_POSITIONS = 100  # that match a character, with counted repetitions written out
_FLAGS = re.compile(r"\(\?([aimsu]+)\)")
_EMPTY = re.compile(r"\\[bBAZ]|\^|\$")  # assertions, which match no character
_LOOKAROUND = re.compile(r"\(\?(?:=|!|<=|<!)")
_GROUP = re.compile(r"\(\?:|\(\?P<\w+>|\((?!\?)")
_CLASS = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
_PLAIN = re.compile(r"\\[wWdDsSnrtfv]|\\[^a-zA-Z0-9]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|[^\\()\[\]|*+?]", re.DOTALL)
_COUNT = re.compile(r"\{(\d{1,4})?(,(\d{1,4})?)?\}")


def check_pattern(pattern: str) -> None:
    r"""Raise a `ModelFormatError` unless each alternative of a regular expression is deterministic.

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
            _refuse(f"it has {len(pattern):,} characters, more than {LONGEST:,}")
        _Parser(pattern).check()
    except _AmbiguousError as reason:
        raise ModelFormatError(
            f"The regular expression {pattern[:60]!r} may take too long on some texts: {reason}. If the model is "
            "your own, load it with trusted=True; otherwise do without it."
        ) from None
    except (re.error, OverflowError, RecursionError) as error:
        raise ModelFormatError(f"{pattern[:60]!r} is no regular expression: {error}.") from None


class _AmbiguousError(Exception):
    """The pattern is not deterministic, or not understood."""


def _refuse(reason: str) -> NoReturn:
    raise _AmbiguousError(reason)


@dataclass
class _Part:
    """A part of a pattern: whether it matches the empty text, and the positions where it may begin and end."""

    nullable: bool = True
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)


class _Parser:
    """Parses a pattern into positions, which match one character each, and the positions that may follow each."""

    def __init__(self, pattern: str) -> None:
        flags = _FLAGS.match(pattern)
        self.flags = flags.group() if flags else ""
        self.text, self.at = pattern, len(self.flags)
        self.atoms: list[str] = []
        self.follow: list[list[int]] = []

    def check(self) -> None:
        """Refuse a pattern if a character could be matched at two positions."""
        while True:
            self._check_choice(self._parse_sequence().first)
            if self.at == len(self.text):
                break
            self._expect("|")
        for followers in self.follow:
            self._check_choice(followers)

    def _check_choice(self, positions: list[int]) -> None:
        for one, other in combinations(positions, 2):
            atoms = self.atoms[one], self.atoms[other]
            if one == other or _overlap(_ranges(self.flags + atoms[0]), _ranges(self.flags + atoms[1])):
                _refuse(f"a character may be matched by {atoms[0]!r} at one place or by {atoms[1]!r} at another")

    # ---------------------------------------------------------------- parsing

    def _parse_alternatives(self) -> _Part:
        parts = [self._parse_sequence()]
        while self._skip("|"):
            parts.append(self._parse_sequence())
        if sum(part.nullable for part in parts) > 1:
            _refuse("two alternatives may match nothing")
        joined = _Part(any(part.nullable for part in parts))
        for part in parts:
            joined.first += part.first
            joined.last += part.last
        return joined

    def _parse_sequence(self) -> _Part:
        whole = _Part()
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            whole = self._concatenate(whole, self._parse_repeat())
        return whole

    def _parse_repeat(self) -> _Part:
        start = self.at
        part = self._parse_atom()
        least, most = self._parse_count()
        if (least, most) == (1, 1):
            return part
        if part.nullable:
            _refuse("it repeats what may match nothing")
        end, whole = self.at, _Part()
        for k in range(max(least, 1 if most is None else most)):
            if k:  # a copy of the positions
                self.at = start
                part = self._parse_atom()
            if k >= least:
                part = self._optional_tail(start, most - k if most is not None else 1)
            whole = self._concatenate(whole, part)
            if k >= least:
                break
        if most is None:
            self._link(part.last, part.first)
            whole.nullable = whole.nullable or least == 0
        self.at = end
        return whole

    def _optional_tail(self, start: int, n: int) -> _Part:
        """Return x? for n = 1, (x(x)?)? for n = 2, and so on: nested copies, so that it is clear which are left out."""
        tail = _Part()
        for _ in range(n):
            self.at = start
            tail = self._concatenate(self._parse_atom(), tail)
            tail.nullable = True
        return tail

    def _parse_atom(self) -> _Part:
        if assertion := _EMPTY.match(self.text, self.at):
            self.at = assertion.end()
            return _Part()
        if look := _LOOKAROUND.match(self.text, self.at):
            self.at = look.end()
            self._parse_character()
            self._expect(")")
            return _Part()
        if opened := _GROUP.match(self.text, self.at):
            self.at = opened.end()
            part = self._parse_alternatives()
            self._expect(")")
            return part
        return self._add_position(self._parse_character())

    def _parse_character(self) -> str:
        match = _CLASS.match(self.text, self.at) or _PLAIN.match(self.text, self.at)
        if match is None:
            _refuse(f"{self.text[self.at : self.at + 8]!r} is not understood here")
        self.at = match.end()
        return "[{]" if match.group() == "{" else match.group()

    def _parse_count(self) -> tuple[int, int | None]:
        """Return the least and the most repetitions of the part before; greedy or not makes no difference."""
        least: int = 1
        most: int | None = 1
        if match := _COUNT.match(self.text, self.at):
            if match.group() not in ("{}", "{,}"):
                least = int(match[1] or 0)
                most = (int(match[3]) if match[3] else None) if match[2] else least
                self.at = match.end()
                self._skip("?")
        elif self.text[self.at : self.at + 1] in ("*", "+", "?") and self.at < len(self.text):
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self.text[self.at]]
            self.at += 1
            self._skip("?")
        return least, most

    def _skip(self, mark: str) -> bool:
        is_next = self.text.startswith(mark, self.at)
        self.at += len(mark) if is_next else 0
        return is_next

    def _expect(self, mark: str) -> None:
        if not self._skip(mark):
            _refuse(f"{self.text[self.at : self.at + 8]!r} is not understood here")

    # ---------------------------------------------------------------- positions

    def _add_position(self, atom: str) -> _Part:
        if len(self.atoms) >= MOST_POSITIONS:
            _refuse(f"it matches a character at more than {MOST_POSITIONS} places")
        self.atoms.append(atom)
        self.follow.append([])
        return _Part(False, [len(self.atoms) - 1], [len(self.atoms) - 1])

    def _link(self, last: list[int], first: list[int]) -> None:
        for position in last:
            self.follow[position] += first

    def _concatenate(self, before: _Part, after: _Part) -> _Part:
        self._link(before.last, after.first)
        first = before.first + (after.first if before.nullable else [])
        last = after.last + (before.last if after.nullable else [])
        return _Part(before.nullable and after.nullable, first, last)


@lru_cache(maxsize=1)
def _all_characters() -> str:
    return "".join(map(chr, range(0x110000)))


@lru_cache(maxsize=256)
def _ranges(atom: str) -> list[tuple[int, int]]:
    """Return the ranges of characters that an atom matches."""
    flags = _FLAGS.match(atom)
    start = flags.end() if flags else 0
    runs = re.compile(f"{atom[:start]}(?:{atom[start:]})+")
    return [match.span() for match in runs.finditer(_all_characters())]


def _overlap(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    """Tell whether two lists of ranges share a character."""
    return any(one[1] > other[0] for one, other in pairwise(sorted(some + others)))
