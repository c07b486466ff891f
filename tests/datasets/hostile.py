"""What a stranger might send: damaged files, and files too large to make."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st


class Repeated:
    """A stream of `n_bytes` that repeats a piece; nothing of it is held, and it knows how much was read."""

    name = "hostile.txt"

    def __init__(self, head: bytes, piece: bytes, n_bytes: int) -> None:
        self.head, self.piece, self.n_left = head, piece, n_bytes
        self.n_read = 0

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            raise AssertionError("a stream of this size must not be read at once")
        size = min(size, self.n_left)
        block = self.head + self.piece * (size // len(self.piece) + 1)
        self.head = b""
        self.n_left -= size
        self.n_read += size
        return block[:size]


def peak_memory(work: Callable[[], Any]) -> tuple[Any, int, int]:
    """Return what the work returned, how much memory that takes, and the most that was taken meanwhile."""
    tracemalloc.start()
    try:
        result = work()
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return result, held, peak


def damaged(content: bytes, *pieces: bytes) -> st.SearchStrategy[bytes]:
    """Bytes made from a valid file by cutting and inserting at a few places, or at random."""
    piece = st.sampled_from([b"\n", b"\r", b" ", b"\t", b"\0", b"\xff", b"0", b"-", b"9" * 20, *pieces])
    splice = st.tuples(st.integers(0, 2**16), st.integers(0, 12), piece | st.binary(max_size=6))
    return st.binary(max_size=80) | st.lists(splice, min_size=1, max_size=4).map(lambda s: _spliced(content, s))


def _spliced(content: bytes, splices: list[tuple[int, int, bytes]]) -> bytes:
    for place, removed, added in splices:
        start = place % (len(content) + 1)
        content = content[:start] + added + content[start + removed :]
    return content
