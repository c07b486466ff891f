"""`Block`: some lines of a file as bytes, for compiled parsers, which knows where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from cladist.files import Source, refuse

Bytes = npt.NDArray[np.uint8]
LINE_FEED = 10


@dataclass
class Block:
    """Some lines of a file as bytes."""

    source: Source
    text: Bytes
    lines_before: int

    def place(self, position: int) -> tuple[int, int]:
        """Return line and column (in bytes) of a position, both from 1."""
        feeds = np.flatnonzero(self.text[:position] == LINE_FEED)
        line_start = int(feeds[-1]) + 1 if len(feeds) else 0
        return self.lines_before + len(feeds) + 1, position - line_start + 1

    def refuse(self, position: int, problem: str) -> NoReturn:
        """Raise a `DatasetError` about what stands at this position."""
        refuse(self.source, *self.place(position), problem)

    def token(self, position: int) -> str:
        """Return what stands at this position up to the next blank, cut where it is long."""
        words = self.text[position : position + 41].tobytes().split(maxsplit=1)
        shown = words[0].decode("utf-8", "backslashreplace") if words else ""
        return shown if len(shown) <= 40 else shown[:40] + "…"
