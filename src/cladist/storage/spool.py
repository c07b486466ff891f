"""An array that grows piece by piece, in memory while it is small and in a temporary file beyond that."""

from __future__ import annotations

import tempfile
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cladist.files import name_errors

IN_MEMORY = 2**26  # bytes; larger arrays go to a file without a name, which ends with its last reader


class Spool:
    """A one-dimensional array to which pieces are appended."""

    def __init__(self, dtype: DTypeLike, *, in_memory: int = IN_MEMORY) -> None:
        self.dtype, self.in_memory = np.dtype(dtype), in_memory
        self.length = 0
        self._pieces: list[NDArray[Any]] = []
        self._file: IO[bytes] | None = None

    def append(self, piece: NDArray[Any]) -> int:
        """Append a piece; return where it begins."""
        piece = np.ascontiguousarray(piece, self.dtype)
        start, self.length = self.length, self.length + len(piece)
        self._pieces.append(piece)
        if self._file is None and self.length * self.dtype.itemsize > self.in_memory:
            self._file = tempfile.TemporaryFile(prefix="cladist-")  # noqa: SIM115 - it lives as long as its array
        if self._file is not None:
            with name_errors(tempfile.gettempdir()):
                self._file.writelines(part.data for part in self._pieces)
            self._pieces = []
        return start

    def array(self) -> NDArray[Any]:
        """Return all pieces as one array, mapped if it is in a file; nothing can be appended later."""
        if self._file is None:
            return np.concatenate([np.zeros(0, self.dtype), *self._pieces])
        with name_errors(tempfile.gettempdir()), self._file as file:  # mapped, it stays until the array goes
            file.flush()
            return np.memmap(file, self.dtype, "r", shape=(self.length,))
