"""Where a stream's answers go: to a file that can be cut back to what a save knows of it, or to standard output."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from cladist.errors import DatasetError, visible
from cladist.files import NamedFile
from cladist.locks import try_lock_if_supported


class Answers:
    """Lines of JSON, one a row.

    Parameters
    ----------
    out : path or None
        None stands for standard output.
    noted : str or None
        The file that the model has noted at its last save.
    noted_bytes : int
        How many bytes of it belong to rows that the model has consumed.

    Attributes
    ----------
    path : str or None
        What the model is to note; None for what cannot be cut back: standard output, a device or a pipe.
    is_new : bool
        Whether the model has yet to note the file. Until it has, no answer is written there: a run that is killed
        would leave answers that the next one does not know as its own.
    """

    def __init__(self, out: Path | None, noted: str | None = None, noted_bytes: int = 0) -> None:
        self.path: str | None = None
        self.is_new = False
        self.shown = out is None and sys.stdout.isatty()
        if out is None:
            self.file: BinaryIO = sys.stdout.buffer
        elif out.exists() and not out.is_file():
            self.file = io.BufferedWriter(NamedFile(out, "w", name=str(out)))
        else:
            self._open(out, noted, noted_bytes)

    def _open(self, out: Path, noted: str | None, noted_bytes: int) -> None:
        target = out.resolve()
        is_known = noted is not None and target.exists() and _are_same(target, Path(noted))
        if not is_known and target.exists() and target.stat().st_size:
            raise DatasetError(
                f"{out} is not empty, and not the file of answers that the model has noted, so it is not written over; "
                "move it away, or name another file with --out."
            )
        raw = NamedFile(target, "r+" if target.exists() else "x+", name=str(out))
        self.file, self.path, self.is_new = io.BufferedWriter(raw), str(target), not is_known
        keep = noted_bytes if is_known else 0
        try:
            if not try_lock_if_supported(raw.fileno()):
                raise DatasetError(f"{out} is in use: another process writes its answers there; name another file.")
            if self.file.seek(0, os.SEEK_END) < keep:
                raise DatasetError(f"{out} is shorter than when the model was saved; move it away, or write elsewhere.")
            self.file.truncate(keep)
            self.file.seek(keep)
        except BaseException:
            self.file.close()
            raise

    def encoded(self, answer: dict[str, Any]) -> bytes:
        """Return the line of an answer; a terminal gets what it would obey as escapes, which mean the same."""
        line = json.dumps(answer, ensure_ascii=False)
        return (visible(line) if self.shown else line).encode() + b"\n"

    def write(self, lines: list[bytes]) -> None:
        """Write some lines."""
        self.file.write(b"".join(lines))

    def flush(self) -> None:
        """Let others see what was written."""
        self.file.flush()

    def settle(self) -> tuple[str | None, int]:
        """Bring everything to the disk; return what the model is to note: the file, and how long it is."""
        self.file.flush()
        if self.path is None:
            return None, 0
        os.fsync(self.file.fileno())
        return self.path, self.file.tell()

    def close(self) -> None:
        """Close a file; standard output stays open."""
        if self.file is not sys.stdout.buffer:
            with suppress(OSError):  # what could not be written before: the run has failed by it, and said so
                self.file.close()


def _are_same(target: Path, noted: Path) -> bool:
    """Tell whether two paths lead to one file, however they are spelt."""
    return target == noted.resolve() or (noted.exists() and target.samefile(noted))
