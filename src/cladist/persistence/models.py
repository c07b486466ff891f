"""`save` and `load`: every learner, alone or behind a text pipeline, as a folder that holds no code.

The manifest names the class, its parameters and plain fitted values; the arrays hold the rest. Loading looks
class names up in a fixed table, calls the constructor with known parameters, and fills in checked arrays.
"""

from __future__ import annotations

import inspect
import re
import traceback
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cladist import registry
from cladist.errors import CladistError, ModelFormatError
from cladist.labels import LabelForm
from cladist.persistence import taxonomies
from cladist.persistence.model_schema import CONTENT, STATE, check_model, check_values, is_declared
from cladist.persistence.transformer_schema import check_width
from cladist.persistence.transformers import decode_transformer, encode_transformer
from cladist.storage import (
    from_json_value,
    pack_strings,
    read_folder,
    to_json_value,
    unpack_strings,
    write_folder,
)
from cladist.storage.array_groups import Arrays, check_nodes, group, prefixed

# What `mmap=True` leaves in its file: the weights of weights="sparse" and "differences", which no learner writes to.
LARGE = re.compile(r".*/weights/(sparse/(classes|values)|differences/(features|ends|lanes|values))")
LONG_LIST = 10_000  # texts in notes, such as the names of features, from which on they are written as arrays
# Packed on their own, or about where it runs.
NOT_PART_OF_A_MODEL = ("taxonomy", "relations", "estimator", "strategy", "executor")


def save(model: Any, folder: Any, *, notes: dict[str, Any] | None = None, note_arrays: Arrays | None = None) -> None:
    """Write a fitted learner, or a Pipeline of text features and a learner, to a folder.

    The folder appears whole or not at all; an older model in it is replaced. It holds ``manifest.json`` and arrays in
    safetensors, no pickle.

    Parameters
    ----------
    model : learner or scikit-learn Pipeline
        A Pipeline's steps before the learner may be TF-IDF, counting, hashing, scaling, and unions of these.
    folder : path
    notes : dict, optional
        Plain values to keep beside the model, such as which columns of a table it was trained on;
        `load_notes` reads them.
    note_arrays : dict of str to array, optional
        Likewise, for what is too much for text; `load_noted` reads both with the model.

    Examples
    --------
    >>> import tempfile, cladist
    >>> model = cladist.Hieron().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    >>> folder = tempfile.mkdtemp()
    >>> cladist.save(model, folder)
    >>> cladist.load(folder).predict([[0.0, 2.0]]).tolist()
    ['a']
    """
    features = None
    arrays: Arrays = prefixed("notes", note_arrays or {})
    learner = model
    if type(model) is Pipeline:
        learner = model[-1]
        if len(model) > 1:
            encoded, feature_arrays = encode_transformer(model[:-1])
            features = encoded
            arrays.update(prefixed("features", feature_arrays))
    content, learner_arrays = pack_learner(learner)
    arrays.update(prefixed("model", learner_arrays))
    steps = [name for name, _ in model.steps] if type(model) is Pipeline else None
    kept = to_json_value(notes or {}, "notes", extend=_shelf(arrays))
    write_folder(folder, {"steps": steps, "features": features, "model": content, "notes": kept}, arrays)


def load(folder: Any, *, mmap: bool = False, verify: bool = False, trusted: bool = False) -> Any:
    """Read a model that `save` wrote; nothing in the folder is executed.

    Another process may save to the folder meanwhile: the model read is one that was saved, the old or the new.

    Parameters
    ----------
    folder : path
    mmap : bool
        Leave the weights of ``weights="sparse"`` and ``"differences"`` in their file, and read of them what a
        prediction needs: for models that are larger than memory, or loaded for a few rows. All else is read and
        verified as ever. The file must not be written to meanwhile; saving another model to the folder does not. Of
        the weights left there, type and shape are verified: what does not belong is noticed when it is used, and
        altered numbers are not.
    verify : bool
        With `mmap`: also read the weights left in the file once, to verify their checksum and their content.
        Without `mmap` everything is always verified.
    trusted : bool
        Also accept a vectoriser whose regular expression may take too long on some texts, for a model of your own.

    Returns
    -------
    learner or Pipeline
        What was saved; it predicts the same, and online learners go on learning.
    """
    return load_noted(folder, mmap=mmap, verify=verify, trusted=trusted)[0]


def load_noted(
    folder: Any, *, mmap: bool = False, verify: bool = False, trusted: bool = False
) -> tuple[Any, dict[str, Any], Arrays]:
    """Read a model, its notes and the arrays noted beside it, all of one and the same save; see `load`."""
    keep_in_file = (lambda name: LARGE.fullmatch(name) is not None) if mmap else None
    content, arrays = read_folder(folder, keep_in_file=keep_in_file, verify=verify)
    return _restored(folder, content, arrays, trusted), _notes(folder, content, arrays), group("notes", arrays)


def _restored(folder: Any, content: dict[str, Any], arrays: Arrays, trusted: bool) -> Any:
    try:
        learner = unpack_learner(content["model"], group("model", arrays))
        if content["steps"] is None and content["features"] is None:
            return learner
        return _pipeline(learner, content, arrays, trusted)
    except CladistError as problem:
        raise ModelFormatError(f"{folder}: {problem}") from problem
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as problem:
        if _is_from_numba(problem):  # a fault of the machine or of ours, not of the model
            raise
        raise ModelFormatError(f"{folder}: this model's content does not fit together ({problem!r}).") from problem


def _pipeline(learner: Any, content: dict[str, Any], arrays: Arrays, trusted: bool) -> Pipeline:
    """Return a learner behind the steps before it, which must be as many as named, and give it its features."""
    names, before = content["steps"], []
    if content["features"] is not None:
        features = decode_transformer(content["features"], group("features", arrays), trusted=trusted)
        if type(features) is not Pipeline:
            raise ModelFormatError("The steps before its learner are no Pipeline.")
        check_width(features, learner.n_features_in_, "transformer")
        before = features.steps
    if not isinstance(names, list) or names[:-1] != [name for name, _ in before] or not isinstance(names[-1], str):
        raise ModelFormatError(f"Its steps are {repr(names)[:80]}, which are not those that it holds.")
    return Pipeline([*before, (names[-1], learner)])


def _is_from_numba(problem: BaseException) -> bool:
    """Tell whether an error arose where kernels are compiled or loaded."""
    frames = traceback.walk_tb(problem.__traceback__)
    return any(frame.f_globals.get("__name__", "").partition(".")[0] == "numba" for frame, _ in frames)


def load_notes(folder: Any) -> dict[str, Any]:
    """Read the notes that `save` was given; an older model has none.

    Examples
    --------
    >>> import tempfile, cladist
    >>> folder = tempfile.mkdtemp()
    >>> model = cladist.Hieron().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    >>> cladist.save(model, folder, notes={"text": ["title"]})
    >>> load_notes(folder)
    {'text': ['title']}
    """
    content, arrays = read_folder(folder, keep_in_file=lambda name: not name.startswith("note_texts/"))
    return _notes(folder, content, arrays)


def _notes(folder: Any, content: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    def from_shelf(tag: str, body: Any, where: str, depth: int) -> list[str] | None:
        if tag != "$texts":
            return None
        parts = group(body, arrays) if isinstance(body, str) and body.startswith("note_texts/") else {}
        if parts.keys() != {"utf8", "offsets"}:
            raise ModelFormatError(f"{folder}: the texts of this model's {where} are missing.")
        return unpack_strings(**parts)

    notes = from_json_value(content.get("notes", {}), "notes", extend=from_shelf)
    if not isinstance(notes, dict):
        raise ModelFormatError(f"{folder}: this model's notes are not a table of names and values.")
    return notes


def _shelf(arrays: Arrays) -> Any:
    """Return what puts long lists of texts among the arrays: a manifest has a limit of size."""

    def to_shelf(value: Any, where: str, depth: int) -> dict[str, str] | None:
        if type(value) is not list or len(value) < LONG_LIST or not all(type(text) is str for text in value):
            return None
        place = f"note_texts{where.removeprefix('notes')}"
        arrays.update(prefixed(place, pack_strings(value)))
        return {"$texts": place}

    return to_shelf


# -------------------------------------------------------------------- learners


def pack_learner(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return what a manifest and an array file hold of a fitted learner."""
    name = type(model).__name__
    if _class_of(name) is not type(model):
        raise ModelFormatError(
            f"{_full_name(type(model))} cannot be saved as a cladist model; only cladist's own learners can, and those "
            "that a package or cladist.registry.register adds, alone or as the last step of a Pipeline."
        )
    check_is_fitted(model)
    content: dict[str, Any] = {"class": name, **_pack_parameters(model)}
    arrays: Arrays = {}
    content["n_features"] = int(model.n_features_in_)
    if hasattr(model, "feature_names_in_"):
        arrays.update(prefixed("feature_names", pack_strings([str(n) for n in model.feature_names_in_])))
    if hasattr(type(model), "set_classes"):  # a learner, and not a wrapper of one
        content["taxonomy"], taxonomy_arrays = taxonomies.pack(model.taxonomy_)
        content["label_form"] = model.label_form_.to_dict()
        arrays.update(prefixed("taxonomy", taxonomy_arrays))
        arrays["class_nodes"] = model.class_nodes_
    state, state_arrays = model.pack_state()
    content["state"] = to_json_value(state, f"{name}'s state")
    arrays.update(prefixed("state", state_arrays))
    return content, arrays


def unpack_learner(content: dict[str, Any], arrays: Arrays) -> Any:
    """Restore what `pack_learner` gave."""
    check_values(content, CONTENT)
    model = _unpack_parameters(content)
    state = from_json_value(content["state"])
    if is_declared(model):
        check_values(state, STATE)
    model.n_features_in_ = int(content["n_features"])
    check_model(model, arrays)
    names = group("feature_names", arrays)
    if names:
        model.feature_names_in_ = np.array(unpack_strings(**names), dtype=object)
    if hasattr(type(model), "set_classes"):  # a learner, and not a wrapper of one
        model.taxonomy_ = taxonomies.unpack(content["taxonomy"], group("taxonomy", arrays))
        if content["has_taxonomy"]:
            model.taxonomy = model.taxonomy_
        model.label_form_ = LabelForm.from_dict(content["label_form"])
        nodes = arrays["class_nodes"].astype(np.int64)
        check_nodes(nodes, model.taxonomy_.n_nodes)
        _check_form(model, nodes)
        if not len(nodes) and not model.decodes_sets:
            raise ModelFormatError("It has no class, and predicts one a row.")
        model.set_classes(nodes)
    model.unpack_state(state, group("state", arrays))
    model.check_parameters()
    return model


def _check_form(model: Any, nodes: Any) -> None:
    """Refuse a taxonomy, or a form of its classes, that the learner would not have learnt from."""
    model.label_form_.check_fits(model.taxonomy_, nodes)
    model._check_form(getattr(model, "decode", "auto"))
    if not model.takes_dags:
        model.taxonomy_.require_tree(type(model).__name__)


# -------------------------------------------------------------------- parameters


def _class_of(name: str) -> Any:
    """Look a class up in the fixed table of what a model folder may hold."""
    method = registry.find_class(name)
    return None if method is None else method.load()


def _full_name(cls: type) -> str:
    return f"{cls.__module__.partition('.')[0]}'s {cls.__name__}"


def _pack_parameters(model: Any) -> dict[str, Any]:
    name = type(model).__name__
    given = model.get_params(deep=False)
    content = {
        "parameters": {
            key: to_json_value(value, f"{name}'s parameter {key}")
            for key, value in given.items()
            if key not in NOT_PART_OF_A_MODEL
        },
        "has_taxonomy": given.get("taxonomy") is not None,
    }
    if given.get("estimator") is not None:
        inner = given["estimator"]
        if _class_of(type(inner).__name__) is not type(inner):
            raise ModelFormatError(
                f"A {name} over {_full_name(type(inner))} cannot be saved this way: cladist writes no other library's "
                "classifiers. Leave `estimator` out, or use one of cladist's own."
            )
        content["estimator"] = {"class": type(inner).__name__, **_pack_parameters(inner)}
    return content


def _unpack_parameters(content: dict[str, Any]) -> Any:
    cls = _class_of(content["class"])
    if cls is None:
        raise ModelFormatError(f"It holds a {content['class']!r}, which this version of cladist does not know.")
    known = inspect.signature(cls).parameters
    parameters = {key: from_json_value(value) for key, value in content["parameters"].items()}
    for key, value in parameters.items():
        if callable(value):  # a kernel that is a function is not saved, so that none comes back
            raise ModelFormatError(f"Its parameter {key!r} is a function or a type, which no saved model has.")
        if key not in known or key in NOT_PART_OF_A_MODEL:
            raise ModelFormatError(f"{content['class']} has no parameter {key!r} in this version of cladist.")
    if "estimator" in content:
        parameters["estimator"] = _unpack_parameters(content["estimator"])
    return cls(**parameters)
