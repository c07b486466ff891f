"""An environment of its own for every peer, made when it is first needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.speed.peers.catalogue import PEERS


class NotAvailableError(Exception):
    """A peer cannot be installed or run; the message says why."""


def default_cache() -> Path:
    """Return the folder for environments and data, unless told otherwise."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "cladist" / "peers"


def python_of(name: str, cache: Path) -> str:
    """Return the interpreter of a peer's environment; make the environment if it is not there yet."""
    installs = PEERS[name].installs
    if not installs:
        return sys.executable
    folder = cache / "environments" / f"{name}-python{sys.version_info.major}.{sys.version_info.minor}"
    python, stamp = folder / "bin" / "python", folder / "installed.json"
    wanted = json.dumps(installs)
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"{name}: making its environment …", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        _call([sys.executable, "-m", "venv", str(folder)])
        for arguments in installs:
            _call([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments])
        stamp.write_text(wanted)  # last, so that an environment half made is made anew
    return str(python)


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotAvailableError(f"cannot be installed, {reason(done.stderr or done.stdout)}")


def reason(complaints: str) -> str:
    """Return the line of a program's complaints that says most: its last error, or its last line."""
    lines = [line.strip() for line in complaints.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["without a word"])[-1]
