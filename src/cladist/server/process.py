"""How a server runs: one process that listens at an address."""

from __future__ import annotations

from typing import Any

import uvicorn


def run(app: Any, host: str, port: int) -> None:
    """Answer requests at an address until a signal to stop; those that have begun are finished."""
    uvicorn.run(app, host=host, port=port, log_level="warning")
