"""The examples of HiClass's README and documents, for both libraries: only the import and names differ.

Each takes the name of a library and returns the predictions. Random forests have a seed, which the originals lack.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

X_TRAIN, X_TEST = [[1], [2], [3], [4]], [[4], [3], [2], [1]]
ANIMALS = [
    ["Animal", "Mammal", "Sheep"],
    ["Animal", "Mammal", "Cow"],
    ["Animal", "Reptile", "Snake"],
    ["Animal", "Reptile", "Lizard"],
]
POLICIES = ("exclusive", "less_exclusive", "less_inclusive", "inclusive", "siblings", "exclusive_siblings")


def classes(library: str) -> Any:
    """Return the module with HiClass's class names."""
    if library == "hiclass":
        import hiclass

        return hiclass
    import cladist.hiclass

    return cladist.hiclass


def quick_start(library: str, **options: Any) -> Any:
    """README, quick start; hello_hiclass; with options, binary_policies."""
    rf = RandomForestClassifier(random_state=0)
    classifier = classes(library).LocalClassifierPerNode(local_classifier=rf, **options)
    classifier.fit(X_TRAIN, ANIMALS)
    return classifier.predict(X_TEST)


def pipeline(library: str) -> Any:
    """README, pipelines; pipeline."""
    X_train = ["Struggling to repay loan", "Unable to get annual report"]
    X_test = ["Unable to get annual report", "Struggling to repay loan"]
    Y_train = [["Loan", "Student loan"], ["Credit reporting", "Reports"]]
    lr = LogisticRegression()
    model = Pipeline(
        [
            ("count", CountVectorizer()),
            ("tfidf", TfidfTransformer()),
            ("lcppn", classes(library).LocalClassifierPerParentNode(local_classifier=lr)),
        ]
    )
    model.fit(X_train, Y_train)
    return model.predict(X_test)


def empty_levels(library: str) -> Any:
    """plot_empty_levels, with the ragged array of 5.0.8."""
    import numpy as np

    X_train, X_test = [[1], [2], [3], [4], [5]], [[5], [4], [3], [2], [1]]
    rows = [["Bird"], ["Reptile", "Snake"], ["Reptile", "Lizard"], ["Mammal", "Cat"], ["Mammal", "Wolf", "Dog"]]
    Y_train = np.array(rows, dtype=object)
    classifier = classes(library).LocalClassifierPerParentNode(local_classifier=LogisticRegression())
    classifier.fit(X_train, Y_train)
    return classifier.predict(X_test)


def model_persistence(library: str) -> Any:
    """plot_model_persistence."""
    X_train, X_test = [[1, 2], [3, 4], [5, 6], [7, 8]], [[7, 8], [5, 6], [3, 4], [1, 2]]
    classifier = classes(library).LocalClassifierPerLevel(local_classifier=LogisticRegression())
    classifier.fit(X_train, ANIMALS)
    return pickle.loads(pickle.dumps(classifier)).predict(X_test)


def parallel_training(library: str) -> Any:
    """plot_parallel_training, on the rows of the pipeline example instead of a download; a data frame of paths."""
    import pandas as pd

    titles = pd.Series(["Struggling to repay loan", "Unable to get annual report"] * 3)
    frame = pd.DataFrame([["Loan", "Student"], ["Credit", "Reports"]] * 3, columns=["Cat1", "Cat2"])
    lr = LogisticRegression(max_iter=1000)
    local = classes(library).LocalClassifierPerParentNode(local_classifier=lr, n_jobs=2)
    model = Pipeline([("count", CountVectorizer()), ("tfidf", TfidfTransformer()), ("lcppn", local)])
    model.fit(titles, frame)
    return model.predict(titles)


def calibration(library: str) -> Any:
    """plot_calibration: the probabilities of the last level, rounded."""
    X_cal, Y_cal = [[5], [6], [7], [8]], [ANIMALS[k] for k in (1, 0, 3, 2)]
    classifier = classes(library).LocalClassifierPerNode(
        local_classifier=RandomForestClassifier(random_state=0),
        calibration_method="isotonic",
        probability_combiner="multiply",
    )
    classifier.fit(X_TRAIN, ANIMALS)
    classifier.calibrate(X_cal, Y_cal)
    return classifier.predict_proba(X_TEST).round(6).tolist()


EXAMPLES: dict[str, Callable[[str], Any]] = {
    "README, quick start": quick_start,
    "README, pipelines": pipeline,
    **{f"binary policies, {name}": partial(quick_start, binary_policy=name) for name in POLICIES},
    "different number of levels": empty_levels,
    "model persistence": model_persistence,
    "parallel training": parallel_training,
    "calibration": calibration,
}
