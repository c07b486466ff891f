"""Models behind HTTP: `create_app` makes a web application of FastAPI, which ``cladist serve`` runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cladist.server.app import create_app
    from cladist.server.evaluation import Evaluation, LabelledRows
    from cladist.server.settings import Settings

__all__ = ["Evaluation", "LabelledRows", "Settings", "create_app"]

# Imported when they are asked for: reading a log of corrections needs no web framework.
_MODULES = {
    "create_app": "cladist.server.app",
    "Evaluation": "cladist.server.evaluation",
    "LabelledRows": "cladist.server.evaluation",
    "Settings": "cladist.server.settings",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
