"""scikit-learn without pandas and scipy.stats, which take longer to import than the rest of it.

scikit-learn imports both for functions that no command calls. Here pandas is left out, as if it were not installed, and
scipy.stats is imported when one of its names is first used. Later imports of either work as usual. Import this module
before any other that imports scikit-learn.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class DeferredModule(ModuleType):
    """Stands in `sys.modules` for a module until one of its names is used."""

    __file__ = None  # `inspect` asks all modules for it

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def _import_sklearn() -> None:
    modules: dict[str, Any] = sys.modules
    modules.setdefault("scipy.stats", DeferredModule("scipy.stats"))
    is_hidden = modules.setdefault("pandas", None) is None  # None makes its import fail
    try:
        import_module("sklearn")
    finally:
        if is_hidden:
            del modules["pandas"]


if "sklearn" not in sys.modules:
    _import_sklearn()
