"""Methods that a program adds: found by name and by class, and refused where a name is taken."""

from __future__ import annotations

import pytest

import cladist
from cladist import registry
from cladist.errors import ModelFormatError, ParameterError


def new_class(name="Mine"):
    return type(name, (cladist.HierarchicalClassifier,), {})


def test_a_registered_class_is_found_by_both_names():
    cls = new_class()
    registry.register("mine", cls, paper="a paper", summary="a summary")
    method = registry.find("mine")
    assert method is registry.find_class("Mine") is registry.methods()[-1]
    assert method.load() is cls
    assert (method.paper, method.summary, method.package) == ("a paper", "a summary", "")


def test_a_class_may_be_defined_again():
    registry.register("mine", new_class())
    again = new_class()
    registry.register("mine", again)
    assert registry.find("mine").load() is again
    assert [method.name for method in registry.methods()].count("mine") == 1


@pytest.mark.parametrize(
    ("name", "cls", "said"),
    [
        ("svm", new_class(), "cladist has a method 'svm' already"),
        ("mine", new_class("Hieron"), "cladist has a class 'Hieron' already"),
        ("mine", new_class("Thresholded"), "cladist has a class 'Thresholded' already"),
        ("mine", int, "must be a subclass of cladist.HierarchicalClassifier; got <class 'int'>"),
        ("mine", "Mine", "must be a subclass of cladist.HierarchicalClassifier; got 'Mine'"),
    ],
)
def test_what_cannot_be_registered(name, cls, said):
    with pytest.raises(ParameterError, match=said):
        registry.register(name, cls)
    assert registry.methods()[-1].name != "mine"


def test_two_names_for_one_class_name():
    registry.register("mine", new_class())
    with pytest.raises(ParameterError, match="this program has a class 'Mine' already, and models are loaded by"):
        registry.register("yours", new_class())


def test_a_learner_without_hooks_says_which_it_lacks(tmp_path):
    class Bare(cladist.HierarchicalClassifier):
        def __init__(self, taxonomy=None):
            self.taxonomy = taxonomy

        def fit(self, X, y):
            _, labels = self.validate_fit(X, y)
            self.set_classes(labels.nodes("Bare"))
            return self

    model = Bare().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(TypeError, match=r"Bare has no class_scores\(X\)"):
        model.predict([[0.0]])
    with pytest.raises(ModelFormatError, match="only cladist's own learners can, and those"):
        model.save(tmp_path / "model")
    registry.register("bare", Bare)
    with pytest.raises(ModelFormatError, match=r"Bare has no pack_state\(\)"):
        model.save(tmp_path / "model")
    with pytest.raises(ModelFormatError, match=r"Bare has no unpack_state\(\)"):
        model.unpack_state({}, {})
    model.answers_sets = True
    with pytest.raises(TypeError, match=r"Bare has no predict_sets\(X\)"):
        model.predict_sets([[0.0]])
