"""cladist: hierarchical classification.

The public names, imported when first used, so that ``import cladist`` is quick.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cladist._version import __version__
from cladist.registry import METHODS as _METHODS

if TYPE_CHECKING:  # names for type checkers and editors; at run time they are imported when first used
    # isort: off
    from cladist import (
        calibration as calibration,
        datasets as datasets,
        decisions as decisions,
        decoders as decoders,
        errors as errors,
        evaluation as evaluation,
        features as features,
        labels as labels,
        losses as losses,
        metrics as metrics,
        taxonomy as taxonomy,
    )

    # isort: on
    from cladist.labels import LabelMatrix as LabelMatrix
    from cladist.learners.auto import auto as auto
    from cladist.learners.base import HierarchicalClassifier as HierarchicalClassifier
    from cladist.learners.bayesian import BayesianLogistic as BayesianLogistic
    from cladist.learners.blended import BlendedClassifier as BlendedClassifier
    from cladist.learners.calibrated import CalibratedClassifier as CalibratedClassifier
    from cladist.learners.decision_classifier import DecisionClassifier as DecisionClassifier
    from cladist.learners.encoded_classifier import EncodedClassifier as EncodedClassifier
    from cladist.learners.flat import FlatLogistic as FlatLogistic
    from cladist.learners.flat import FlatSVM as FlatSVM
    from cladist.learners.local.nodewise import NodewiseSVM as NodewiseSVM
    from cladist.learners.local.per_level import LocalPerLevel as LocalPerLevel
    from cladist.learners.local.per_node import LocalPerNode as LocalPerNode
    from cladist.learners.local.top_down import TopDown as TopDown
    from cladist.learners.migration.models import migrate as migrate
    from cladist.learners.online.hieron import Hieron as Hieron
    from cladist.learners.online.perceptron import HierarchicalPerceptron as HierarchicalPerceptron
    from cladist.learners.online.river_adapter import RiverClassifier as RiverClassifier
    from cladist.learners.online.rls import HierarchicalRLS as HierarchicalRLS
    from cladist.learners.recursive import RecursiveLogistic as RecursiveLogistic
    from cladist.learners.recursive import RecursiveSVM as RecursiveSVM
    from cladist.learners.structured.max_margin_markov import MaxMarginMarkov as MaxMarginMarkov
    from cladist.learners.structured.orthogonal_transfer import OrthogonalTransfer as OrthogonalTransfer
    from cladist.learners.structured.perceptrons import HardPerceptron as HardPerceptron
    from cladist.learners.structured.perceptrons import (
        KernelStochasticPerceptron as KernelStochasticPerceptron,
    )
    from cladist.learners.structured.perceptrons import StochasticPerceptron as StochasticPerceptron
    from cladist.learners.structured.structural_svm import StructuralSVM as StructuralSVM
    from cladist.learners.text import TextClassifier as TextClassifier
    from cladist.learners.text_explanation import explain as explain
    from cladist.learners.thresholded import Thresholded as Thresholded
    from cladist.mixed_rows import MixedRows as MixedRows
    from cladist.persistence.models import load as load
    from cladist.persistence.models import save as save
    from cladist.solvers.relations import Relations as Relations
    from cladist.taxonomy import Crosswalk as Crosswalk
    from cladist.taxonomy import RelationGraph as RelationGraph
    from cladist.taxonomy import Taxonomy as Taxonomy
    from cladist.versions import show_versions as show_versions

_LAZY = {
    "BlendedClassifier": "cladist.learners.blended",
    "CalibratedClassifier": "cladist.learners.calibrated",
    "Crosswalk": "cladist.taxonomy",
    "DecisionClassifier": "cladist.learners.decision_classifier",
    "EncodedClassifier": "cladist.learners.encoded_classifier",
    "HierarchicalClassifier": "cladist.learners.base",
    "RelationGraph": "cladist.taxonomy",
    "Relations": "cladist.solvers.relations",
    "MixedRows": "cladist.mixed_rows",
    "RiverClassifier": "cladist.learners.online.river_adapter",
    "TextClassifier": "cladist.learners.text",
    "explain": "cladist.learners.text_explanation",
    "Taxonomy": "cladist.taxonomy",
    "LabelMatrix": "cladist.labels",
    "auto": "cladist.learners.auto",
    "load": "cladist.persistence.models",
    "migrate": "cladist.learners.migration.models",
    "save": "cladist.persistence.models",
    "show_versions": "cladist.versions",
    "Thresholded": "cladist.learners.thresholded",
    **{method.class_name: method.target.partition(":")[0] for method in _METHODS},
}
_ROOMS = (
    "calibration",
    "checkpoints",
    "datasets",
    "decisions",
    "decoders",
    "errors",
    "evaluation",
    "execution",
    "features",
    "labels",
    "losses",
    "metrics",
    "taxonomy",
)

# RiverClassifier needs an extra, without which ``from cladist import *`` must not fail.
__all__ = ["__version__", *sorted(_LAZY.keys() - {"RiverClassifier"}), *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _ROOMS:
        return import_module(f"cladist.{name}")
    near = get_close_matches(name.lower(), known := {known.lower(): known for known in __dir__()}, n=1, cutoff=0.75)
    meant = f"; did you mean {known[near[0]]!r}?" if near else ""
    raise AttributeError(f"module 'cladist' has no attribute {name!r}{meant}")


def __dir__() -> list[str]:
    return sorted([*__all__, "RiverClassifier"])
