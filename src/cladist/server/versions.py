"""New versions of models: a thread looks at their folders, and puts what is saved there in place of what is served."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from cladist.server.served import ServedModel
from cladist.server.slots import Slot
from cladist.storage.folder import MANIFEST, read_manifest

LOGGER = logging.getLogger("cladist.server")
Signature = tuple[int, int, int] | None
TRIES = 5


def signature_of(folder: Path) -> Signature:
    """Return what changes when a model is saved to a folder; None while there is none."""
    try:
        status = (folder / MANIFEST).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def version_of(folder: Path) -> str:
    """Return the first digits of the checksum of what is saved in a folder."""
    return str(json.loads(read_manifest(folder)).get("checksum"))[:12]


def load_version(folder: Path, *, mmap: bool = False) -> ServedModel:
    """Return the model in a folder, and its version, both of the same save."""
    for _ in range(TRIES):
        version = version_of(folder)
        model = ServedModel.load(folder, version, mmap=mmap)
        if version_of(folder) == version:
            break
    return model


class Watch:
    """A thread that looks at the folders of some models.

    A request is answered by the version that is in place when its batch begins, so that none is dropped; a version that
    cannot be loaded is reported in the log, and the one before goes on.

    Parameters
    ----------
    slots : sequence of Slot
    every : float
        Seconds between two looks.
    prepare : callable, optional
        Called with each new version before it is put in place.
    """

    def __init__(
        self, slots: Sequence[Slot], every: float, prepare: Callable[[Slot, ServedModel], None] | None = None
    ) -> None:
        self.slots = [slot for slot in slots if slot.folder is not None]
        self.every, self.prepare = every, prepare
        self.seen = {slot.name: slot.signature for slot in self.slots}
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, name="cladist-versions", daemon=True)

    def start(self) -> None:
        """Begin to look, if it is wanted."""
        if self.every and self.slots:
            self.thread.start()

    def stop(self) -> None:
        """End the thread; a version that is being loaded is not waited for."""
        self.stopping.set()

    def _run(self) -> None:
        while not self.stopping.wait(self.every):
            for slot in self.slots:
                self.look(slot)

    def look(self, slot: Slot) -> bool:
        """Replace a model by what its folder holds if that has changed; return whether it was replaced."""
        assert slot.folder is not None
        signature = signature_of(slot.folder)
        if signature is None or signature == self.seen[slot.name]:
            return False
        self.seen[slot.name] = signature
        try:
            model = load_version(slot.folder, mmap=slot.settings.mmap)
            if model.version == slot.model.version:
                return False
            if self.prepare is not None:
                self.prepare(slot, model)
            slot.replace(model)
        except Exception:
            LOGGER.exception(
                "The new version of %s in %s cannot be served; the one before stays", slot.name, slot.folder
            )
            return False
        LOGGER.info("%s is now version %s", slot.name, model.version)
        return True
