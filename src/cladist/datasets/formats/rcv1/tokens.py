"""RCV1's documents as stemmed words: ``.I number``, ``.W``, lines of words, a blank line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.files import LONGEST_LINE, Source, byte_lines, decoded, opened, refuse
from cladist.kernels.rcv1 import HIGHEST_DOCUMENT

_DOCUMENT = re.compile(rb"\.I[ \t]+([0-9]{1,10})")
_LINE_COST = 64  # bytes of memory that a line takes beside its content
_AT_ONCE = 4096  # documents of which it is asked together whether they are wanted

Choose = Callable[[npt.NDArray[np.int32]], npt.NDArray[Any]]


def read_tokens(source: Source, choose: Choose, texts: list[str]) -> None:
    """Add those texts of a file whose numbers are chosen."""
    found = documents(source)
    while some := list(islice(found, _AT_ONCE)):
        kept = choose(np.array([number for number, _ in some], np.int32))
        texts.extend(text for (_, text), is_kept in zip(some, kept, strict=True) if is_kept)


def documents(source: Source) -> Iterator[tuple[int, str]]:
    r"""Yield number and text of each document; the lines of a text are joined by a blank.

    Examples
    --------
    >>> import io
    >>> list(documents(io.BytesIO(b".I 7\n.W\ncat dog\nfish\n\n.I 8\n.W\n")))
    [(7, 'cat dog fish'), (8, '')]
    """
    number: int | None = None
    words: list[bytes] | None = None  # None until '.W'
    line = started = n_bytes = 0
    with opened(source) as stream:
        for line, raw in byte_lines(source, stream):
            content = raw.strip()
            if content.startswith(b".I"):
                if number is not None:
                    yield number, _text(source, line, words, started)
                number, words, started, n_bytes = _number(source, line, content), None, line, 0
            elif content == b".W" and number is not None and words is None:
                words = []
            elif content and words is None:
                wanted = "'.I' and the number of a document" if number is None else "'.W'"
                refuse(source, line, 1, f"wanted {wanted}, got {_shown(content)!r}.")
            elif content and words is not None:
                words.append(content)
                n_bytes += len(content) + _LINE_COST
                if n_bytes > LONGEST_LINE:
                    refuse(source, line, 1, f"document {number} takes more than {LONGEST_LINE:,} bytes.")
        if number is not None:
            yield number, _text(source, line + 1, words, started)


def _number(source: Source, line: int, content: bytes) -> int:
    found = _DOCUMENT.fullmatch(content)
    number = int(found.group(1)) if found else HIGHEST_DOCUMENT + 1
    if number > HIGHEST_DOCUMENT:
        wanted = f"'.I' and the number of a document, at most {HIGHEST_DOCUMENT:,}"
        refuse(source, line, 1, f"wanted {wanted}, got {_shown(content)!r}.")
    return number


def _text(source: Source, line: int, words: list[bytes] | None, started: int) -> str:
    if words is None:
        refuse(source, line, 1, f"the document that begins on line {started} has no '.W'.")
    return decoded(source, b"\n".join(words), started + 2).replace("\n", " ")  # so that it names the line


def _shown(content: bytes) -> str:
    return content[:40].decode("utf-8", "backslashreplace")
