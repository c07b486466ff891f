"""The methods there are: command-line name → class, as text, so that reading this imports nothing heavy.

`cladist.load`, the command line, the laws in the tests and the documentation all read this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from cladist.errors import ParameterError


@dataclass(frozen=True)
class Method:
    """One learner: where it lives and where it comes from."""

    name: str
    target: str
    paper: str
    summary: str
    takes_dags: bool = False

    @property
    def class_name(self) -> str:
        """The class's public name, as in ``cladist.Hieron``."""
        return self.target.partition(":")[2]

    def load(self) -> Any:
        """Import the class."""
        module, _, attribute = self.target.partition(":")
        return getattr(import_module(module), attribute)


METHODS: tuple[Method, ...] = (
    Method(
        "hr-svm",
        "cladist.learners.recursive.svm:RecursiveSVM",
        "Gopal & Yang 2013 (HR-SVM)",
        "linear SVMs learnt together, each label's weights pulled towards its parent's or related labels'",
        takes_dags=True,
    ),
    Method(
        "hr-lr",
        "cladist.learners.recursive.logistic:RecursiveLogistic",
        "Gopal & Yang 2013 (HR-LR)",
        "logistic regressions learnt together, likewise; has probabilities",
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
        "a perceptron at every node, likewise: quick, last or averaged; sets of labels",
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
        "hp",
        "cladist.learners.structured.hard:HardPerceptron",
        "Liu, Tu, Qian & Zhang 2013 (HP)",
        "weights with a large margin over all labellings, from the worst row of each round; sets of labels",
    ),
    Method(
        "sp",
        "cladist.learners.structured.stochastic:StochasticPerceptron",
        "Liu, Tu, Qian & Zhang 2013 (SP)",
        "likewise, from rows drawn by their margins",
    ),
    Method(
        "ksp",
        "cladist.learners.structured.kernel:KernelStochasticPerceptron",
        "Liu, Tu, Qian & Zhang 2013 (KSP)",
        "likewise, with kernels",
    ),
    Method(
        "h-m3",
        "cladist.learners.structured.markov:MaxMarginMarkov",
        "Rousu, Saunders, Szedmak & Shawe-Taylor 2005 (H-M³)",
        "a Markov network on the tree with a margin over all labellings; sets of labels, kernels, probabilities",
    ),
    Method(
        "structural-svm",
        "cladist.learners.structured.svm:StructuralSVM",
        "Tsochantaridis et al. 2005, Cai & Hofmann 2004 (LM-2, HSVM)",
        "weights of nodes with a margin over all outputs that grows with their loss; single labels and sets",
    ),
    Method(
        "svm",
        "cladist.learners.flat.svm:FlatSVM",
        "the flat baseline of all five papers",
        "a linear SVM for every label against all others",
        takes_dags=True,
    ),
    Method(
        "lr",
        "cladist.learners.flat.logistic:FlatLogistic",
        "Gopal & Yang 2013 (LR)",
        "logistic regression for every label against all others; has probabilities",
        takes_dags=True,
    ),
)


def find(name: str) -> Method:
    """Return the method with this command-line name.

    Examples
    --------
    >>> find("hieron").class_name
    'Hieron'
    >>> find("heron")
    Traceback (most recent call last):
    cladist.errors.ParameterError: There is no method 'heron'; the methods are hr-svm, hr-lr, hieron, h-rls, ...
    """
    for method in METHODS:
        if method.name == name:
            return method
    raise ParameterError(f"There is no method {name!r}; the methods are {', '.join(m.name for m in METHODS)}.")


# Learners around a learner: they are saved and loaded like methods, and have no name on the command line.
WRAPPERS: tuple[Method, ...] = (
    Method("", "cladist.learners.thresholded:Thresholded", "", "a learner that scores, and thresholds for its scores"),
)


def find_class(class_name: str) -> Method | None:
    """Return the method or wrapper whose class has this name, or None."""
    return next((m for m in (*METHODS, *WRAPPERS) if m.class_name == class_name), None)
