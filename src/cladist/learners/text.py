"""`TextClassifier`: text features and a method as one estimator, from texts to labels, paths and explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from cladist import registry
from cladist.errors import ParameterError, quoted, shorten
from cladist.features import text_features
from cladist.learners.text_explanation import TextExplanation, explain
from cladist.taxonomy.structure import is_missing
from cladist.taxonomy.taxonomy import as_taxonomy

AUTO = "auto"
Steps = list[tuple[str, Any]]


class TextClassifier(Pipeline):
    """A classifier of texts: features of their words and characters, and a method on these.

    It is a scikit-learn `Pipeline` of two fitted steps, so it can be indexed: ``model[-1]`` is the learner, and
    ``model[:-1]`` the features. ``cladist train`` writes such a model.

    Parameters
    ----------
    method : str or learner
        A method by its command-line name, see ``cladist methods``; "auto": the one that does best on rows held out; or
        an unfitted learner.
    taxonomy : Taxonomy, or what one can be built from, optional
        The taxonomy of the labels; None: that of labels that are paths, or a star of the labels in y.
    params : dict, optional
        Parameters of the method, by name.
    features : transformer, optional
        Makes rows of numbers from texts; `TextFeatures()` by default, and ``TextFeatures(hashing=True)`` where
        `partial_fit` comes first.
    calibrate : bool
        Whether to fit calibrated probabilities, see `CalibratedClassifier`.
    embedding : Embedding, or what names a model, optional
        Dense vectors of the texts beside their words, see `TextFeatures`; "wordllama" needs no network.
    label_text : None, "prior" or "rows"
        Learn from the words of the taxonomy's nodes, too: their titles, descriptions and synonyms, for `RecursiveSVM`,
        `RecursiveLogistic` and (rows only) `TopDown`. The features of these texts are made by the same transformer,
        which is fitted on them and on the training texts. ``params={"empty_leaf": "text"}`` predicts leaves that have
        no rows.

    Attributes
    ----------
    steps : list of (str, estimator)
        The features and the learner, fitted after `fit`.
    taxonomy_, classes_
        As in the learner.

    Examples
    --------
    >>> import cladist
    >>> texts = ["acute bronchitis", "chronic bronchitis", "fracture of the wrist", "fracture of the ankle"]
    >>> labels = ["lung/acute", "lung/chronic", "bone/wrist", "bone/ankle"]
    >>> model = cladist.TextClassifier("top-down", taxonomy=cladist.Taxonomy.from_paths(labels)).fit(texts, labels)
    >>> model.predict(["a broken ankle"]).tolist()
    ['bone/ankle']
    >>> model.predict_paths(["bronchitis, acute"])
    [['lung', 'acute']]
    >>> why = model.explain(["a broken ankle"])[0]
    >>> next(iter(why.words["ankle"]))
    'ankle'
    """

    memory = None
    verbose = False
    transform_input = None

    def __init__(
        self,
        method: Any = "hr-svm",
        taxonomy: Any = None,
        *,
        params: Mapping[str, object] | None = None,
        features: Any = None,
        calibrate: bool = False,
        embedding: Any = None,
        label_text: str | None = None,
    ) -> None:
        self.method = method
        self.taxonomy = taxonomy
        self.params = params
        self.features = features
        self.calibrate = calibrate
        self.embedding = embedding
        self.label_text = label_text

    @classmethod
    def of_steps(cls, steps: Steps, **parameters: Any) -> TextClassifier:
        """Return a model of fitted steps."""
        model = cls(**parameters)
        model.steps = steps
        return model

    # ---------------------------------------------------------------- as an estimator and a Pipeline

    @property
    def steps(self) -> Steps:
        """The features and the learner; unfitted ones before `fit`."""
        fitted: Steps | None = self.__dict__.get("_steps")
        return self._new_steps(hashing=False) if fitted is None else fitted

    @steps.setter
    def steps(self, steps: Steps) -> None:
        self.__dict__["_steps"] = steps

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep`, also those of parameters that are estimators."""
        return BaseEstimator.get_params(self, deep)

    def set_params(self, **params: Any) -> TextClassifier:
        """Set parameters by name; ``features__words`` is the parameter `words` of the parameter `features`."""
        BaseEstimator.set_params(self, **params)
        return self

    def __getitem__(self, place: Any) -> Any:
        return Pipeline(self.steps[place]) if isinstance(place, slice) else super().__getitem__(place)

    def __getattr__(self, name: str) -> Any:
        if name == "predict_proba":
            raise AttributeError(
                f"TextClassifier: the method {self._method_name()} has no probabilities; calibrate=True fits them, and "
                "hr-lr, lr and hblr have their own."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _method_name(self) -> str:
        return self.method if isinstance(self.method, str) else type(self.method).__name__

    def _learner(self) -> Any:
        """Return the unfitted learner."""
        if isinstance(self.method, str):
            learner = registry.find(self.method).load()()
        elif hasattr(self.method, "set_params") and hasattr(self.method, "fit"):
            learner = clone(self.method)
        else:
            raise ParameterError(
                f"TextClassifier: method must be a name of a method, or a learner; got {shorten(self.method)}."
            )
        own = learner.get_params(deep=True)
        for name in self.params or {}:
            if name not in own:
                names = ", ".join(sorted(key for key in own if "__" not in key))
                raise ParameterError(
                    f"TextClassifier: {self._method_name()} has no parameter {name!r}; it has {names}."
                )
        learner.set_params(**(self.params or {}))
        if self.taxonomy is not None:
            learner.set_params(taxonomy=self.taxonomy)
        if self.calibrate:
            from cladist.learners.calibrated import CalibratedClassifier

            learner = CalibratedClassifier(learner, random_state=0)
        return learner

    def _new_features(self, *, hashing: bool) -> Any:
        if self.features is None:
            return text_features(hashing=hashing, embedding=self.embedding)
        features = clone(self.features)
        if self.embedding is not None:
            if "embedding" not in features.get_params(deep=False):
                raise ParameterError(
                    f"TextClassifier: embedding is for TextFeatures, not {type(features).__name__}; leave one out."
                )
            features.set_params(embedding=self.embedding)
        return features

    def _new_steps(self, *, hashing: bool) -> Steps:
        learner = None if self.method == AUTO else self._learner()
        return [("features", self._new_features(hashing=hashing)), ("model", learner)]

    # ---------------------------------------------------------------- training

    def fit(self, texts: Any, y: Any, sample_weight: Any = None) -> TextClassifier:
        """Train on texts and their labels.

        Parameters
        ----------
        texts : sequence of str, or data frame of texts
            The texts.
        y : labels in any form
            Their labels.
        sample_weight : array-like, optional
            The weight of each text, for methods that have weights.
        """
        texts = as_texts("fit", texts)
        self.__dict__.pop("_steps", None)
        self.__dict__.pop("selection_", None)
        if self.method == AUTO:
            self._fit_auto(texts, y, sample_weight)
            return self
        steps = self._new_steps(hashing=False)
        (_, features), (_, learner) = steps
        if self.calibrate and sample_weight is None:
            from cladist.learners.calibrated import calibrate_pipeline

            model = None if self.label_text is None else clone(self).set_params(calibrate=False)
            self.steps = calibrate_pipeline(steps[:-1], learner.estimator, texts, y, model).steps
            return self
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        rows = (
            features.fit_transform(texts, y) if self.label_text is None else self._fit_both(features, learner, texts, y)
        )
        learner.fit(rows, y, **weights)
        if self.label_text is not None:
            _innermost(learner).set_params(label_features=None)  # which only training needs
        self.steps = steps
        return self

    def _fit_both(self, features: Any, learner: Any, texts: Any, y: Any) -> Any:
        """Fit features to the texts of rows and nodes, give those of nodes to the learner, and return those of rows."""
        inner = _innermost(learner)
        if "label_text" not in inner.get_params(deep=False):
            raise ParameterError(
                f"TextClassifier: label_text is for hr-svm, hr-lr and top-down, not for {self._method_name()}."
            )
        if inner.taxonomy is None:
            raise ParameterError(
                "TextClassifier: label_text needs a taxonomy, whose nodes have titles or descriptions."
            )
        tree = as_taxonomy(inner.taxonomy)
        words = [tree.words_of(name) for name in tree.names]
        n_texts = len(texts)
        together = np.concatenate([texts, np.array(words, dtype=object)])
        if isinstance(getattr(features, "embedding_share", None), str) and features.embedding is not None:
            share = clone(features).fit(texts, y).embedding_share_  # chosen on rows, which have labels
            features.set_params(embedding_share=share)
        rows = features.fit_transform(together)
        inner.set_params(taxonomy=tree, label_text=self.label_text, label_features=rows[n_texts:])
        return rows[:n_texts]

    def _fit_auto(self, texts: Any, y: Any, sample_weight: Any) -> None:
        from cladist.learners.auto import auto

        if self.label_text is not None:
            raise ParameterError("TextClassifier: label_text needs a method with a name, such as 'hr-svm'.")
        if sample_weight is not None:
            raise ParameterError("TextClassifier: method='auto' takes no sample weights; name a method.")
        options: dict[str, Any] = dict(self.params or {})
        found = auto(texts, y, self.taxonomy, features=self._new_features(hashing=False), **options)
        self.selection_ = found.selection_
        self.steps = list(found.steps)
        if self.calibrate:
            from cladist.learners.calibrated import calibrate_pipeline

            learner = clone(found[-1])
            if isinstance(getattr(learner, "C", None), str) and hasattr(found[-1], "C_"):
                learner.set_params(C=found[-1].C_)  # as it was chosen
            steps = [(name, clone(step)) for name, step in found.steps[:-1]]
            self.steps = calibrate_pipeline(steps, learner, texts, y).steps

    def partial_fit(self, texts: Any, y: Any, classes: Any = None) -> TextClassifier:
        """Train an online method on more texts.

        Before any other training, features are hashed, unless `features` is given: later texts may have any words.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        y : labels in any form
            Their labels.
        classes : sequence of labels, optional
            All labels, for the first call without a taxonomy.
        """
        texts = as_texts("partial_fit", texts)
        if "_steps" not in self.__dict__:
            steps = self._new_steps(hashing=True)
            steps[0][1].fit(texts)
            self.steps = steps
        if not hasattr(self[-1], "partial_fit"):
            raise ParameterError(
                f"TextClassifier: {self._method_name()} cannot be trained on more texts; hieron, h-rls and h-perc can."
            )
        self[-1].partial_fit(self[:-1].transform(texts), y, classes=classes)
        return self

    # ---------------------------------------------------------------- prediction

    def predict_paths(self, texts: Any) -> list[Any]:
        """Return the path from the root to the label of each text, as a list of names; of sets, lists of paths.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        """
        return self[-1].predict_paths(self[:-1].transform(as_texts("predict_paths", texts)))

    def predict_top_k(self, texts: Any, k: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the k best labels of each text and their scores, best first, as two (texts × k) arrays.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        k : int
            How many labels; all, if there are fewer.
        """
        return self[-1].predict_top_k(self[:-1].transform(as_texts("predict_top_k", texts)), k)

    def explain(self, texts: Any, nodes: Any = None) -> list[TextExplanation]:
        """Return what each word adds to the label's score at each node of its path; see `cladist.explain`.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        nodes : sequence of labels, optional
            The label to explain for each text; the predicted one by default.
        """
        return explain(self, as_texts("explain", texts), nodes=nodes)

    def save(self, folder: Any) -> None:
        """Write the model to a folder that `cladist.load` reads; see `cladist.save`.

        Parameters
        ----------
        folder : path
            Where to write; an older model there is replaced.
        """
        from cladist.persistence.models import save

        save(self, folder)

    @property
    def taxonomy_(self) -> Any:
        """The taxonomy in use."""
        return self[-1].taxonomy_

    # ---------------------------------------------------------------- saving and loading

    def pack_parameters(self) -> dict[str, Any]:
        """Return the parameters that a model folder keeps beside the steps."""
        return {"method": self._method_name(), "calibrate": bool(self.calibrate)}


def _innermost(learner: Any) -> Any:
    """Return the learner inside wrappers, such as `CalibratedClassifier`."""
    while hasattr(learner, "estimator") and hasattr(learner.estimator, "taxonomy"):
        learner = learner.estimator
    return learner


def as_texts(who: str, texts: Any) -> Any:
    """Return texts as an object array, those of a frame's columns joined by a space; refuse one text, and numbers."""
    if isinstance(texts, str):
        raise ParameterError(f"TextClassifier.{who}: wanted a list of texts, got one text; write [text].")
    if hasattr(texts, "columns"):
        texts = _joined_columns(who, texts)
    values = np.asarray(texts, dtype=object)
    wrong = next((value for value in values.ravel().tolist() if not isinstance(value, str)), None)
    if values.ndim != 1 or wrong is not None:
        came = f"an array of shape {values.shape}" if values.ndim != 1 else shorten(wrong)
        raise ParameterError(
            f"TextClassifier.{who}: wanted one text per row, got {came}; join columns, and write missing texts as ''."
        )
    return values


def _joined_columns(who: str, frame: Any) -> list[str]:
    """Return the texts of each row of a frame joined by a space, as `cladist train` joins columns."""
    names = list(getattr(frame, "column_names", frame.columns))
    rows = (frame if hasattr(frame, "to_numpy") else frame.to_pandas()).to_numpy().astype(object)
    for name, column in zip(names, rows.T, strict=True):
        wrong = next((value for value in column if not isinstance(value, str) and not is_missing(value)), None)
        if wrong is not None:
            raise ParameterError(
                f"TextClassifier.{who}: wanted columns of texts, and {quoted(name)} has {shorten(wrong)}; leave it out."
            )
    return [" ".join(value for value in row if isinstance(value, str) and value) for row in rows]
