"""What users get wrong in Python, and what the answer must name; mistakes at the command line are in tests/cli."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import cladist
from cladist import (
    DecisionClassifier,
    FlatLogistic,
    FlatSVM,
    LocalPerNode,
    RecursiveSVM,
    StructuralSVM,
    Taxonomy,
    TextClassifier,
    TopDown,
)
from cladist.decisions import Confidence
from cladist.errors import LabelWarning
from cladist.labels import encode

TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
SHOP = Taxonomy.from_paths(["phones/cases", "laptops/cases", "laptops/bags"])
X, Y = np.eye(3).repeat(4, axis=0), np.repeat(["tennis", "chess", "art"], 4)
PATHS = [["sport", "tennis"], ["sport", "chess"], ["art"]] * 4
TEXTS = ["some text"] * 12

# The mistake, what is called, and patterns that all must occur in the answer.
MISTAKES = {
    "texts without a vectorizer": (lambda: FlatSVM(TREE).fit(TEXTS, Y), ["rows of numbers", r"text_features\(\)"]),
    "a column of texts": (
        lambda: TopDown(TREE).fit(np.array(TEXTS)[:, None], Y),
        [r"text_features\(\)", r"OneHotEncoder\(\)"],
    ),
    "lists of lists without a taxonomy": (
        lambda: FlatSVM().fit(X, PATHS),
        [r"\['sport', 'tennis'\]", 'for paths, give decode="single"', r"np.array\(rows", "for sets, write sets"],
    ),
    "a list of paths as taxonomy": (
        lambda: FlatSVM(["sport/tennis", "sport/chess"]).fit(X, Y),
        ["'sport/tennis'", r"Taxonomy\.from_paths"],
    ),
    "a list of lists as taxonomy": (
        lambda: FlatSVM([["sport", "racket", "tennis"]]).fit(X, Y),
        ["racket", r"Taxonomy\.from_paths"],
    ),
    "labels encoded by scikit-learn": (
        lambda: RecursiveSVM(TREE).fit(X, np.repeat([0, 1, 2], 4)),
        ["numbers from 0 to 2", "VotingClassifier", r"EncodedClassifier\(learner, labels=y\)"],
    ),
    "a taxonomy in OneVsRestClassifier": (
        lambda: OneVsRestClassifier(RecursiveSVM(TREE)).fit(X, Y),
        ["y holds 0 and 1", "leave the taxonomy out"],
    ),
    "predict_proba of an SVM": (
        lambda: FlatSVM(TREE).fit(X, Y).predict_proba(X),
        ["FlatSVM has no predict_proba", r"CalibratedClassifier\(model\)", "FlatLogistic"],
    ),
    "HiClass's local_classifier": (
        lambda: LocalPerNode(local_classifier=FlatSVM()),
        ["no parameter 'local_classifier'", "`estimator`", r"cladist\.hiclass"],
    ),
    "a misspelt parameter": (lambda: FlatSVM(TREE, max_itr=3), ["no parameter 'max_itr'", "did you mean 'max_iter'"]),
    "an ambiguous last part": (
        lambda: FlatSVM(SHOP).fit(X, np.repeat(["cases", "bags", "phones"], 4)),
        ["'cases'", "'phones/cases', 'laptops/cases'"],
    ),
    "an ambiguous name of a node": (lambda: SHOP.index("cases"), ["'phones/cases', 'laptops/cases'"]),
    "labels with another separator": (
        lambda: FlatSVM(TREE).fit(X, np.repeat(["sport > tennis", "sport > chess", "art"], 4)),
        ["'sport > tennis'", "joined by '/'", "split labels at ' > '"],
    ),
    "joined paths without a taxonomy": (
        lambda: FlatSVM().fit(X, np.repeat(["sport > tennis", "sport > chess", "art"], 4)),
        ["no hierarchy", "2 of 3 labels contain ' > '", r"Taxonomy\.from_paths\(set\(y\), sep=' > '\)"],
    ),
    "labels at inner nodes": (
        lambda: TopDown(TREE).fit(X, np.repeat(["tennis", "sport", "art"], 4)),
        ["can never predict", "'sport'", "4 of 12 rows", "stop=True"],
    ),
    "several labels for a method of one": (
        lambda: TopDown(TREE).fit(X, [{"tennis", "art"}] * 12),
        ["one label per row", "row 0 has 2 labels: 'art', 'tennis'", "NodewiseSVM"],
    ),
    "a path that does not exist": (
        lambda: TopDown(TREE).fit(X, np.array([["art", "tennis"]] * 12)),
        ["Row 0", "art → tennis is not a path"],
    ),
    "an unknown label": (lambda: FlatSVM(TREE).fit(X, ["tenis", *Y[1:]]), ["Row 0", "did you mean 'tennis'"]),
    "a missing label": (lambda: FlatSVM(TREE).fit(X, [None, *Y[1:]]), ["Row 0 has no label"]),
    "bytes as labels": (lambda: FlatSVM(TREE).fit(X, Y.astype("S")), [r"astype\(str\)"]),
    "a DAG for a method of trees": (
        lambda: TopDown(Taxonomy.from_edges([("a", "x"), ("b", "x")])).fit(X, ["x"] * 12),
        ["'x' has the parents 'a' and 'b'", "RecursiveSVM", r"spanning_forest\(\)"],
    ),
    "a name where an id is wanted": (lambda: TREE.path_parts("tennis"), [r"path\('tennis'\)", r"index\('tennis'\)"]),
    "no labels at all": (
        lambda: FlatSVM(TREE).fit(X, Y).predict_top_k(X, 0),
        ["k must be a whole number from 1 up", "got 0"],
    ),
    "the score of an inner node": (
        lambda: FlatSVM(TREE).fit(X, Y).decision_function(X, nodes=["sport"]),
        ["'sport' is not among classes_"],
    ),
    "other columns than in training": (
        lambda: FlatSVM(TREE).fit(X, Y).predict(np.eye(5)),
        ["X has 5 features", "expecting 3"],
    ),
    "missing values": (lambda: FlatSVM(TREE).fit(np.full((12, 3), np.nan), Y), ["contains NaN", "imputer"]),
    "C by a wrong word": (lambda: StructuralSVM(TREE, C="auto").fit(X, Y), ["C must be positive"]),
    "a single text": (
        lambda: TextClassifier("top-down", TREE).fit(TEXTS, Y).predict("tennis ball"),
        ["a list of texts, got one text", r"write \[text\]"],
    ),
    "rows as they come for a method of all rows": (
        lambda: FlatSVM(TREE).partial_fit(X, Y),
        ["FlatSVM has no partial_fit", "Hieron"],
    ),
    "a class in the place of a classifier": (
        lambda: TopDown(TREE, estimator=LinearSVC).fit(X, Y),
        ["estimator must be a classifier", r"a class; write LinearSVC\(\)"],
    ),
    "a number in the place of a rule": (
        lambda: DecisionClassifier(FlatLogistic(TREE), rule=0.9).fit(X, Y),
        ["must be a rule of cladist.decisions", r"Confidence\(0\.9\)"],
    ),
    "per cent for a level of confidence": (
        lambda: DecisionClassifier(FlatLogistic(TREE), rule=Confidence(90)).fit(X, Y),
        ["level must be over 0 and at most 1", "got 90"],
    ),
    "a misspelt name of a class": (lambda: cladist.RecursiveSvm, ["did you mean 'RecursiveSVM'"]),
    "a folder without a model": (lambda: cladist.load("nowhere"), ["nowhere is not a folder"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_answer_names_what_to_do(mistake):
    call, wanted = MISTAKES[mistake]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except (ValueError, TypeError, AttributeError) as problem:
            answers = [str(problem)]
        else:
            answers = [str(warning.message) for warning in caught if warning.category is LabelWarning]
    assert len(answers) == 1, answers
    for pattern in wanted:
        assert re.search(pattern, answers[0]), (pattern, answers[0])


def test_what_is_right_is_not_answered():
    """The same calls without the mistake: no error and no warning."""
    FlatSVM(TREE).fit(X, Y).predict_top_k(X, 3)
    FlatSVM().fit(X, np.repeat(["tennis / squash", "chess", "art"], 4))  # one label with a separator is a name
    TopDown(TREE, stop=True).fit(X, np.repeat(["tennis", "sport", "art"], 4))
    encode(PATHS, TREE)
