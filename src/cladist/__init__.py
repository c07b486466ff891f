"""cladist: hierarchical classification.

The public names, imported when first used, so that ``import cladist`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cladist._version import __version__
from cladist.registry import METHODS as _METHODS

_LAZY = {
    "HierarchicalClassifier": "cladist.learners.base",
    "RelationGraph": "cladist.taxonomy",
    "Relations": "cladist.learners.recursive.relations",
    "RiverClassifier": "cladist.learners.online.river_adapter",
    "Taxonomy": "cladist.taxonomy",
    "LabelMatrix": "cladist.labels",
    "load": "cladist.persistence.models",
    "save": "cladist.persistence.models",
    "show_versions": "cladist.versions",
    "Thresholded": "cladist.learners.thresholded",
    **{method.class_name: method.target.partition(":")[0] for method in _METHODS},
}
_ROOMS = ("datasets", "decoders", "errors", "evaluation", "features", "labels", "losses", "metrics", "taxonomy")

# RiverClassifier needs an extra, without which ``from cladist import *`` must not fail.
__all__ = ["__version__", *sorted(_LAZY.keys() - {"RiverClassifier"}), *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _ROOMS:
        return import_module(f"cladist.{name}")
    raise AttributeError(f"module 'cladist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "RiverClassifier"])
