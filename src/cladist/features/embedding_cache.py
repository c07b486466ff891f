"""Vectors of texts kept on disk, by the hash of the model's name and the text, in one file of limited size."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cladist.errors import DatasetError

FILE = "embeddings.sqlite"
MOST_BYTES = 2 * 2**30  # of vectors; the oldest half goes when there are more
KEYS_AT_ONCE = 500  # in one query
WAIT = 60.0  # seconds for another process to finish writing


def user_cache() -> Path:
    """Return the folder in which this user's programs keep what can be computed again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "cladist"


class EmbeddingCache:
    """The vectors of texts that a model has seen before.

    Parameters
    ----------
    folder : path
        The folder of the file, made if it is not there.
    model : str
        What tells one model from another: its name, and the version of its package.
    most_bytes : int
        The size of all vectors from which on the oldest half is dropped.
    """

    def __init__(self, folder: str | os.PathLike[str], model: str, most_bytes: int = MOST_BYTES) -> None:
        self.path, self.most_bytes = Path(folder) / FILE, most_bytes
        self._start = hashlib.sha256(model.encode("utf-8", "surrogatepass"))

    def key(self, text: str) -> bytes:
        """Return the name under which the vector of a text is kept."""
        digest = self._start.copy()
        digest.update(b"\0" + text.encode("utf-8", "surrogatepass"))
        return digest.digest()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=WAIT)) as connection, connection:
                connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB, added REAL)")
                yield connection
        except (sqlite3.Error, OSError) as problem:
            raise DatasetError(
                f"The cache of embeddings in {self.path} cannot be used ({problem}); delete it, or name another folder."
            ) from problem

    def find(self, texts: Sequence[str]) -> dict[str, npt.NDArray[np.float32]]:
        """Return the vectors of those texts that are there."""
        key_of = {self.key(text): text for text in texts}
        keys, found = list(key_of), {}
        with self._open() as connection:
            for first in range(0, len(keys), KEYS_AT_ONCE):
                some = keys[first : first + KEYS_AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some)
                for key, vector in rows:
                    if isinstance(vector, bytes) and len(vector) % 4 == 0:  # else somebody has altered the file
                        found[key_of[bytes(key)]] = np.frombuffer(vector, np.float32)
        return found

    def add(self, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        """Keep the vectors of texts; the oldest go where there are too many."""
        now = time.time()
        with self._open() as connection:
            rows = ((self.key(text), vector.tobytes(), now) for text, vector in zip(texts, vectors, strict=True))
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            (size,) = connection.execute("SELECT COALESCE(SUM(LENGTH(vector)), 0) FROM vectors").fetchone()
            if size > self.most_bytes:
                oldest = "SELECT key FROM vectors ORDER BY added, key LIMIT (SELECT (COUNT(*) + 1) / 2 FROM vectors)"
                connection.execute(f"DELETE FROM vectors WHERE key IN ({oldest})")
