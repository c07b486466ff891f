"""Models behind HTTP: `create_app` makes a web application of FastAPI, which ``cladist serve`` runs.

The names are imported on first use, so that what needs no web framework, such as the explorer as one file, works
without one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cladist.server.app import create_app
    from cladist.server.evaluation import Evaluation, LabelledRows
    from cladist.server.findings import Finding, read_findings
    from cladist.server.settings import Settings

__all__ = ["Evaluation", "Finding", "LabelledRows", "Settings", "create_app", "read_findings"]

_MODULES = {
    "create_app": "app",
    "Evaluation": "evaluation",
    "LabelledRows": "evaluation",
    "Finding": "findings",
    "read_findings": "findings",
    "Settings": "settings",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"cladist.server.{_MODULES[name]}"), name)
