"""`RiverClassifier`: an online learner as a classifier of the library river, which takes one dictionary at a time."""

from __future__ import annotations

import sys
from typing import Any

from sklearn.base import clone
from sklearn.feature_extraction import FeatureHasher

from cladist.errors import ParameterError
from cladist.learners.online.base import OnlineClassifier
from cladist.learners.online.perceptron import HierarchicalPerceptron

try:
    from river.base import Classifier
except ImportError as missing:
    raise ImportError("RiverClassifier needs the package river; install cladist with the extra 'river'.") from missing


class RiverClassifier(Classifier):
    """An online learner with river's interface: `learn_one`, `predict_one`.

    Features may come and go: their names are hashed to columns. A new label becomes a new node: a root or, if it is a
    path and the learner has a taxonomy, a leaf at its end.

    Parameters
    ----------
    model : Hieron, HierarchicalRLS or HierarchicalPerceptron, optional
        The learner, not fitted, or fitted on rows hashed the same way. None: a `HierarchicalPerceptron` without a
        taxonomy.
    n_features : int
        The number of columns.
    sep : str
        The separator of the parts of labels that are paths.

    Notes
    -----
    The online learners have no probabilities, so `predict_proba_one` is river's own, which raises. The path of a label
    is ``learner.taxonomy_.path(label)``.

    Examples
    --------
    >>> from cladist import Hieron, RiverClassifier
    >>> model = RiverClassifier(Hieron({"tennis": "sport", "chess": "sport"}))
    >>> model.learn_one({"board": 1.0, "rook": 2.0}, "chess")
    >>> model.learn_one({"racket": 1.0}, "tennis")
    >>> model.learn_one({"tee": 1.0, "club": 1.0}, "sport/golf")
    >>> model.predict_one({"rook": 1.0}), model.predict_one({"tee": 1.0})
    ('chess', 'golf')
    >>> model.learner.taxonomy_.path("golf")
    ['sport', 'golf']
    """

    def __init__(self, model: Any = None, n_features: int = 2**16, sep: str = "/") -> None:
        self.model = model
        self.n_features = n_features
        self.sep = sep
        if model is not None and not isinstance(model, OnlineClassifier):
            raise ParameterError(
                f"RiverClassifier takes a learner that learns row by row; {type(model).__name__} does not."
            )
        self._hasher = FeatureHasher(n_features, alternate_sign=False)
        self._learner: Any = None  # a copy of `model` after the first row
        self._label_of: dict[str, Any] = {}  # labels as the stream spells them, by node

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"n_features": 256}

    @property
    def learner(self) -> Any:
        """The learner in its current state; before the first row, the parameter `model`."""
        if self._learner is not None:
            return self._learner
        return HierarchicalPerceptron() if self.model is None else self.model

    def _hash_row(self, x: dict[Any, Any]) -> Any:
        return self._hasher.transform([{str(name): value for name, value in x.items() if value is not None}])

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Train on one row.

        Parameters
        ----------
        x : dict
            Features by name. Values are numbers, or texts, each of which is a feature of its own.
        y : label
            The label of the row, or its path.
        """
        name = str(y)
        if self._learner is None:
            start = self.learner
            self._learner = start if hasattr(start, "rows_seen_") else clone(start)
        learner, row = self._learner, self._hash_row(x)
        if not hasattr(learner, "rows_seen_") and learner.taxonomy is None:
            learner.partial_fit(row, [name], classes=[name])
            self._label_of[name] = y
            return
        node = self._find_or_add_node(learner, name)
        if node not in self._label_of:
            self._label_of[sys.intern(node)] = y if node == name else node
        learner.partial_fit(row, [node])

    def _find_or_add_node(self, learner: Any, name: str) -> str:
        """Return the name of a label's node, which is added if there is none."""
        is_fitted = hasattr(learner, "rows_seen_")
        taxonomy = learner.taxonomy_ if is_fitted else learner._given_taxonomy()
        parts = name.split(self.sep)
        node = taxonomy.find(name)
        if node is None and len(parts) > 1:
            node = taxonomy.find_path(parts)
        if node is not None:
            return str(taxonomy.names[node])
        parent = taxonomy.find_path(parts[:-1]) if len(parts) > 1 else None
        leaf = (name, None) if parent is None else (parts[-1], taxonomy.names[parent])
        if is_fitted:
            learner.add_node(*leaf)
        else:
            learner.set_params(taxonomy=taxonomy.with_node(*leaf))
        grown = learner.taxonomy_ if is_fitted else learner.taxonomy
        return str(next(iter(set(grown.names) - set(taxonomy.names))))

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the predicted label of one row; None before the first row.

        Parameters
        ----------
        x : dict
            Features by name, as for `learn_one`.
        **kwargs
            Ignored; part of river's interface.
        """
        if self._learner is None and not hasattr(self.learner, "rows_seen_"):
            return None
        label = str(self.learner.predict(self._hash_row(x))[0])
        return self._label_of.get(label, label)
