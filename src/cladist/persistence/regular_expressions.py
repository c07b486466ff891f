r"""Regular expressions from files: only those that Python matches in bounded time are accepted.

Python's matcher backtracks: `(a+)+$` has exponentially many ways through a text of a's. A pattern is accepted if each
of its alternatives is deterministic (its Glushkov automaton has one transition per character): then there is one way
through a text from each start, and nothing is tried twice. Matching takes linear time for patterns that match wherever
they begin to, such as `\w+`, and at most quadratic time for others, such as `\w+!`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, combinations, pairwise
from typing import Any, NamedTuple, NoReturn

from cladist.errors import ModelFormatError

LONGEST = 1000  # characters of a pattern
MOST_POSITIONS = 100  # that match a character, with counted repetitions written out
_FLAGS = re.compile(r"\(\?[aimsu]+\)")
_CHARACTER = (
    r"\[\^?\]?(?:[^\]\\]|\\.)*\]|\\[wWdDsSnrtfv]|\\[^a-zA-Z0-9]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|[^\\()\[\]|*+?]"
)
_TOKEN = re.compile(
    rf"(?P<assertion>\\[bBAZ]|\^|\$|\(\?<?[=!](?:{_CHARACTER})\))"  # these match no character
    rf"|(?P<open>\(\?:|\(\?P<\w+>|\((?!\?))|(?P<close>\))|(?P<or>\|)|(?P<character>{_CHARACTER})",
    re.DOTALL,
)
_COUNT = re.compile(r"([*+?]|\{(?!\})([0-9]*)(,?)([0-9]*)\})\??")  # greedy or not makes no difference


def check_pattern(pattern: str) -> None:
    """Raise a `ModelFormatError` unless each alternative of a regular expression is deterministic."""
    try:
        re.compile(pattern)
        if len(pattern) > LONGEST:
            _refuse(f"it has {len(pattern):,} characters, more than {LONGEST:,}")
        match = _FLAGS.match(pattern)
        flags = match.group() if match else ""
        alternatives, end = _parse_alternatives(pattern, len(flags))
        if end < len(pattern):
            _refuse(f"{pattern[end : end + 8]!r} is not understood here")
        _Automaton(flags).check(alternatives)
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


# A sequence of (atom, least, most repetitions); an atom is a character, None for an assertion, or alternatives.
_Sequence = list[tuple[Any, int, int | None]]


def _parse_alternatives(pattern: str, at: int) -> tuple[list[_Sequence], int]:
    """Return the alternatives that begin at a place of a pattern, and where they end: at a bracket, or the end."""
    alternatives: list[_Sequence] = [[]]
    while at < len(pattern) and pattern[at] != ")":
        token = _TOKEN.match(pattern, at)
        if token is None:
            _refuse(f"{pattern[at : at + 8]!r} is not understood here")
        at = token.end()
        if token.lastgroup == "or":
            alternatives.append([])
            continue
        atom: Any = token.group() if token.lastgroup == "character" else None
        if token.lastgroup == "open":
            atom, at = _parse_alternatives(pattern, at)
            at += 1  # the closing bracket
        least, most, at = _parse_count(pattern, at)
        alternatives[-1].append((atom, least, most))
    return alternatives, at


def _parse_count(pattern: str, at: int) -> tuple[int, int | None, int]:
    """Return the least and the most repetitions (None: any number) of the atom before a place, and where they end."""
    match = _COUNT.match(pattern, at)
    if match is None:
        return 1, 1, at
    if match[1] in ("*", "+", "?"):
        return (1 if match[1] == "+" else 0), (1 if match[1] == "?" else None), match.end()
    most = match[4] if match[3] else match[2]
    return int(match[2] or 0), int(most) if most else None, match.end()


class _Part(NamedTuple):
    """A part of a pattern: whether it matches the empty text, and the positions where it may begin and end."""

    nullable: bool
    first: list[int]
    last: list[int]


class _Automaton:
    """The positions of a pattern, which match one character each, and the positions that may follow each."""

    def __init__(self, flags: str) -> None:
        self.flags = flags
        self.characters: list[str] = []
        self.follow: list[list[int]] = []

    def check(self, alternatives: list[_Sequence]) -> None:
        """Refuse a pattern if a character could be matched at two positions after the same one, or at the start."""
        choices = [self._add_sequence(sequence).first for sequence in alternatives]
        for one, other in chain.from_iterable(combinations(positions, 2) for positions in choices + self.follow):
            some, others = self.characters[one], self.characters[other]
            ranges = sorted(_find_ranges(self.flags, some) + _find_ranges(self.flags, others))
            if one == other or any(before[1] > after[0] for before, after in pairwise(ranges)):
                _refuse(f"a character may be matched by {some!r} at one place or by {others!r} at another")

    def _add_sequence(self, sequence: _Sequence) -> _Part:
        whole = _Part(True, [], [])
        for atom, least, most in sequence:
            whole = self._concatenate(whole, self._add_repeated(atom, least, most))
        return whole

    def _add_repeated(self, atom: Any, least: int, most: int | None) -> _Part:
        """Write repetitions out: x{2,} as xx+, and x{1,3} as x(x(x)?)?, so that it is clear which are left out."""
        copy = self._add(atom)
        if (least, most) == (1, 1):
            return copy
        if copy.nullable:
            _refuse("it repeats what may match nothing")
        if most is None:
            self._link(copy.last, copy.first)
        whole = _Part(True, [], [])
        n_copies = max(least, 1) if most is None else most
        for k in reversed(range(n_copies)):
            whole = self._concatenate(copy if k == n_copies - 1 else self._add(atom), whole)
            if k >= least:
                whole = whole._replace(nullable=True)
        return whole

    def _add(self, atom: Any) -> _Part:
        if atom is None:
            return _Part(True, [], [])
        if isinstance(atom, list):
            parts = [self._add_sequence(sequence) for sequence in atom]
            if sum(part.nullable for part in parts) > 1:
                _refuse("two alternatives may match nothing")
            first = [position for part in parts for position in part.first]
            last = [position for part in parts for position in part.last]
            return _Part(any(part.nullable for part in parts), first, last)
        if len(self.characters) >= MOST_POSITIONS:
            _refuse(f"it matches a character at more than {MOST_POSITIONS} places")
        self.characters.append("[{]" if atom == "{" else atom)
        self.follow.append([])
        return _Part(False, [len(self.follow) - 1], [len(self.follow) - 1])

    def _concatenate(self, before: _Part, after: _Part) -> _Part:
        self._link(before.last, after.first)
        first = before.first + (after.first if before.nullable else [])
        last = after.last + (before.last if after.nullable else [])
        return _Part(before.nullable and after.nullable, first, last)

    def _link(self, last: list[int], first: list[int]) -> None:
        for position in last:
            self.follow[position] += first


@lru_cache(maxsize=1)
def _all_characters() -> str:
    return "".join(map(chr, range(0x110000)))


@lru_cache(maxsize=256)
def _find_ranges(flags: str, character: str) -> list[tuple[int, int]]:
    """Return the ranges of characters that an atom matches."""
    return [match.span() for match in re.finditer(f"{flags}(?:{character})+", _all_characters())]
