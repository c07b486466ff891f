"""`RiverClassifier`: an online learner as a classifier of the library river, one dictionary at a time."""

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
    """An online learner behind river's interface: `learn_one`, `predict_one`.

    Features may come and go: their names are hashed into so many columns. A label that has not been seen becomes a new
    node: a root, or, where it is a path and the learner has a taxonomy, a leaf at its end.

    Parameters
    ----------
    model : Hieron, HierarchicalRLS or HierarchicalPerceptron, optional
        Not fitted, or fitted on rows that this hashing made. None: a `HierarchicalPerceptron` without a taxonomy.
    n_features : int
        The number of columns.
    sep : str
        What separates the parts of labels that are paths.

    Notes
    -----
    None of the online learners has probabilities, so that `predict_proba_one` is river's own, which says so. A label's
    path is `model.taxonomy_.path(label)` of `learner`.

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
        self._learner: Any = None  # a copy of `model` once something is learnt
        self._label_of: dict[str, Any] = {}  # as river's data spells them

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"n_features": 256}

    @property
    def learner(self) -> Any:
        """The learner as it is now; before the first row, the one given."""
        if self._learner is not None:
            return self._learner
        return HierarchicalPerceptron() if self.model is None else self.model

    def _row(self, x: dict[Any, Any]) -> Any:
        named = {str(name): value for name, value in x.items() if value is not None}
        return self._hasher.transform([named])

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn one row.

        Parameters
        ----------
        x : dict
            Features by name; the values are numbers, or texts, which stand for a feature of their own.
        y : label
        """
        name = str(y)
        if self._learner is None:
            given = self.learner
            self._learner = given if hasattr(given, "rows_seen_") else clone(given)
        learner, row = self._learner, self._row(x)
        if not hasattr(learner, "rows_seen_") and learner.taxonomy is None:
            learner.partial_fit(row, [name], classes=[name])
            self._label_of[name] = y
            return
        node = self._node(learner, name)
        if node not in self._label_of:
            self._label_of[sys.intern(node)] = y if node == name else node
        learner.partial_fit(row, [node])

    def _node(self, learner: Any, name: str) -> str:
        """Return the name of a label's node, which is made if there is none."""
        begun = hasattr(learner, "rows_seen_")
        taxonomy = learner.taxonomy_ if begun else learner._given_taxonomy()
        found, parts = taxonomy.find(name), name.split(self.sep)
        if found is None and len(parts) > 1:
            found = taxonomy.find_path(parts)
        if found is not None:
            return str(taxonomy.names[found])
        above = taxonomy.find_path(parts[:-1]) if len(parts) > 1 else None
        new = (name, None) if above is None else (parts[-1], taxonomy.names[above])
        if begun:
            learner.add_node(*new)
        else:
            learner.set_params(taxonomy=taxonomy.with_node(*new))
        grown = learner.taxonomy_ if begun else learner.taxonomy
        return str(next(iter(set(grown.names) - set(taxonomy.names))))

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the label predicted for a row; None before anything is learnt."""
        if self._learner is None and not hasattr(self.learner, "rows_seen_"):
            return None
        found = str(self.learner.predict(self._row(x))[0])
        return self._label_of.get(found, found)
