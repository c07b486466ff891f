"""The methods there are: command-line name → class, as text, so that reading this imports nothing heavy.

`methods()` is cladist's own table, `METHODS`, followed by the methods of installed packages, which name them in their
entry points under ``cladist.methods``, and those added with `register`. `cladist.load`, the command line, the laws in
the tests and the documentation all read it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any

from cladist.errors import CladistWarning, ParameterError

ENTRY_POINTS = "cladist.methods"  # the group in a package's metadata


@dataclass(frozen=True)
class Method:
    """One learner: where it lives and where it comes from."""

    name: str  # on the command line, ``--method NAME``
    target: str  # ``module:Class``
    paper: str
    summary: str
    takes_dags: bool = False  # whether it learns on taxonomies in which nodes have several parents
    package: str = ""  # the installed package that provides it; "" for cladist's own
    registered: type | None = None  # the class itself, if `register` added it

    @property
    def class_name(self) -> str:
        """The class's public name, as in ``cladist.Hieron``."""
        return self.target.partition(":")[2]

    def load(self) -> Any:
        """Import the class; a `ParameterError` says which package is at fault if that fails."""
        if self.registered is not None:
            return self.registered
        module, _, attribute = self.target.partition(":")
        try:
            loaded = getattr(import_module(module), attribute)
        except Exception as problem:
            if not self.package:
                raise
            raise ParameterError(
                f"The method {self.name!r} of the package {self.package} cannot be imported from {self.target} "
                f"({type(problem).__name__}: {problem}); repair or remove that package."
            ) from problem
        if self.package:
            _require_classifier(loaded, self.name)
        return loaded


METHODS: tuple[Method, ...] = (
    Method(
        "hr-svm",
        "cladist.learners.recursive:RecursiveSVM",
        "Gopal & Yang 2013 (HR-SVM)",
        "linear SVMs trained together, each label's weights pulled towards its parent's or related labels'",
        takes_dags=True,
    ),
    Method(
        "hr-lr",
        "cladist.learners.recursive:RecursiveLogistic",
        "Gopal & Yang 2013 (HR-LR)",
        "logistic regressions trained together, shared in the same way; has probabilities",
        takes_dags=True,
    ),
    Method(
        "hieron",
        "cladist.learners.online.hieron:Hieron",
        "Dekel, Keshet & Singer 2004",
        "large-margin prototypes that share what their paths share; online, batch, kernel",
    ),
    Method(
        "h-rls",
        "cladist.learners.online.rls:HierarchicalRLS",
        "Cesa-Bianchi, Gentile & Zaniboni 2006 (H-RLS, SH-RLS, S-RLS)",
        "least squares at every node, row by row, on the rows that reach its parent; sets of labels",
    ),
    Method(
        "h-perc",
        "cladist.learners.online.perceptron:HierarchicalPerceptron",
        "Cesa-Bianchi, Gentile & Zaniboni 2006 (H-PERC, PERC)",
        "a perceptron at every node, on the rows that reach its parent: quick, last or averaged; sets of labels",
    ),
    Method(
        "top-down",
        "cladist.learners.local.top_down:TopDown",
        "Dekel et al. 2004 (greedy); Gopal & Yang 2013 (TD)",
        "a classifier at every inner node, followed from the root to a leaf",
    ),
    Method(
        "h-svm",
        "cladist.learners.local.nodewise:NodewiseSVM",
        "Cesa-Bianchi et al. 2006, Rousu et al. 2005 (H-SVM)",
        "a linear SVM at every node, on the rows that reach its parent; sets of labels",
    ),
    Method(
        "per-node",
        "cladist.learners.local.per_node:LocalPerNode",
        "Silla & Freitas 2011 (LCN); HiClass",
        "a classifier of any kind at every node, with six policies for its rows; sets of labels, probabilities",
    ),
    Method(
        "per-level",
        "cladist.learners.local.per_level:LocalPerLevel",
        "Silla & Freitas 2011 (LCL); HiClass",
        "a classifier of any kind at every level; has probabilities",
    ),
    Method(
        "hp",
        "cladist.learners.structured.perceptrons:HardPerceptron",
        "Liu, Tu, Qian & Zhang 2013 (HP)",
        "weights with a large margin over all labellings, from the worst row of each round; sets of labels",
    ),
    Method(
        "sp",
        "cladist.learners.structured.perceptrons:StochasticPerceptron",
        "Liu, Tu, Qian & Zhang 2013 (SP)",
        "weights with a large margin over all labellings, from rows drawn by their margins; sets of labels",
    ),
    Method(
        "ksp",
        "cladist.learners.structured.perceptrons:KernelStochasticPerceptron",
        "Liu, Tu, Qian & Zhang 2013 (KSP)",
        "the stochastic perceptron (SP) with kernels; sets of labels",
    ),
    Method(
        "h-m3",
        "cladist.learners.structured.max_margin_markov:MaxMarginMarkov",
        "Rousu, Saunders, Szedmak & Shawe-Taylor 2005 (H-M³)",
        "a Markov network on the tree with a margin over all labellings; sets of labels, kernels, probabilities",
    ),
    Method(
        "structural-svm",
        "cladist.learners.structured.structural_svm:StructuralSVM",
        "Tsochantaridis et al. 2005, Cai & Hofmann 2004 (LM-2, HSVM)",
        "weights of nodes with a margin over all outputs that grows with their loss; single labels and sets",
    ),
    Method(
        "ot",
        "cladist.learners.structured.orthogonal_transfer:OrthogonalTransfer",
        "Zhou, Xiao & Wu 2011 (OT)",
        "weights with a margin between siblings, nearly orthogonal to those of their ancestors",
    ),
    Method(
        "hblr",
        "cladist.learners.bayesian:BayesianLogistic",
        "Gopal, Yang, Bai & Niculescu-Mizil 2012 (HBLR)",
        "Bayesian logistic regression, each node's weights drawn around its parent's; has probabilities",
    ),
    Method(
        "svm",
        "cladist.learners.flat:FlatSVM",
        "the flat baseline of all five papers",
        "a linear SVM for every label against all others",
        takes_dags=True,
    ),
    Method(
        "lr",
        "cladist.learners.flat:FlatLogistic",
        "Gopal & Yang 2013 (LR)",
        "logistic regression for every label against all others; has probabilities",
        takes_dags=True,
    ),
)


# Learners around a learner: they are saved and loaded like methods, and have no name on the command line.
WRAPPERS: tuple[Method, ...] = (
    Method("", "cladist.learners.thresholded:Thresholded", "", "a learner that scores, and thresholds for its scores"),
    Method("", "cladist.learners.calibrated:CalibratedClassifier", "", "a classifier, with calibrated probabilities"),
    Method("", "cladist.learners.decision_classifier:DecisionClassifier", "", "a rule over calibrated probabilities"),
    Method("", "cladist.learners.blended:BlendedClassifier", "", "several classifiers whose scores are added"),
)
TEXT_CLASSIFIER = Method("", "cladist.learners.text:TextClassifier", "", "text features and a method")  # a Pipeline
_registered: dict[str, Method] = {}  # by name, in the order they came


def methods() -> tuple[Method, ...]:
    """Return all methods: cladist's own, those of installed packages, and those that `register` added.

    No class is imported. An entry point whose name is taken, or that names no class, is left out with a warning.

    Examples
    --------
    >>> [method.name for method in methods()][:3]
    ['hr-svm', 'hr-lr', 'hieron']
    """
    return tuple(_every())


def _every() -> Iterator[Method]:
    """Yield all methods, cladist's own first, so that packages are looked through only for names that are not ours."""
    yield from METHODS
    yield from _installed()
    yield from _registered.values()


def find(name: str) -> Method:
    """Return the method with this command-line name."""
    for method in _every():
        if method.name == name:
            return method
    raise ParameterError(f"There is no method {name!r}; the methods are {', '.join(m.name for m in methods())}.")


def find_class(class_name: str) -> Method | None:
    """Return the method or wrapper whose class has this name, or None."""
    return next((m for m in chain(WRAPPERS, _every()) if m.class_name == class_name), None)


def register(name: str, cls: type, *, paper: str = "", summary: str = "") -> None:
    """Add a method for this process: it can then be saved, loaded and found like cladist's own.

    A package that is installed names its methods in its entry points instead, which no program has to call.

    Parameters
    ----------
    name : str
        The name that ``cladist train --method`` would have for it; one that is taken is refused.
    cls : subclass of cladist.HierarchicalClassifier
        The learner. A class of the same name from the same module takes the place of the one before.
    paper, summary : str
        Where the method comes from and one line on it, for ``cladist methods``.

    Examples
    --------
    >>> import cladist
    >>> class Mine(cladist.HierarchicalClassifier): ...
    >>> register("svm", Mine)
    Traceback (most recent call last):
    cladist.errors.ParameterError: The method 'svm' (Mine) cannot be added: cladist has a method 'svm' already.
    """
    _require_classifier(cls, name)
    method = Method(name, f"{cls.__module__}:{cls.__name__}", paper, summary, registered=cls)
    others = [other for other in (*methods(), *WRAPPERS) if (other.name, other.target) != (name, method.target)]
    problem = _conflict(method, others)
    if problem:
        raise ParameterError(f"The method {name!r} ({cls.__name__}) cannot be added: {problem}.")
    _registered[name] = method


@cache
def _installed() -> tuple[Method, ...]:
    """Return the methods that installed packages name in their entry points."""
    from importlib.metadata import entry_points

    accepted: list[Method] = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        package, summary = (point.dist.name, point.dist.metadata["Summary"]) if point.dist else ("(unknown)", "")
        method = Method(point.name, point.value, f"package {package}", summary or package, package=package)
        problem = _conflict(method, (*METHODS, *WRAPPERS, *accepted))
        if problem:
            said = f"The method {point.name!r} of the package {package} is left out: {problem}."
            warnings.warn(said, CladistWarning, stacklevel=2)
        else:
            accepted.append(method)
    return tuple(accepted)


def _conflict(method: Method, others: Iterable[Method]) -> str:
    """Return why a method cannot stand beside others, or ""."""
    if not re.fullmatch(r"[\w.]+:[A-Za-z_]\w*", method.target):
        return f"it names {method.target!r}, and 'module:Class' is wanted"
    for other in others:
        owner = other.package or ("this program" if other.registered else "cladist")
        if other.name == method.name:
            return f"{owner} has a method {method.name!r} already"
        if other.class_name == method.class_name:
            return f"{owner} has a class {method.class_name!r} already, and models are loaded by the class's name"
    return ""


def _require_classifier(cls: Any, name: str) -> None:
    """Refuse anything but a subclass of the base class; by its methods, since this module imports no learner."""
    if not (isinstance(cls, type) and hasattr(cls, "validate_fit") and hasattr(cls, "unpack_state")):
        raise ParameterError(f"The method {name!r} must be a subclass of cladist.HierarchicalClassifier; got {cls!r}.")
