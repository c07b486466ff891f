"""`save` and `load`: every learner, alone or behind a text pipeline, as a folder that holds no code.

The manifest names the class, its parameters and plain fitted values; the arrays hold the rest. Loading looks up class
names in a fixed table, calls the constructor with known parameters, and fills in checked arrays.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cladist import registry
from cladist.errors import CladistError, ModelFormatError, shorten
from cladist.labels import LabelForm
from cladist.persistence import model_card
from cladist.persistence.foreign import (
    ARRAY,
    FOREIGN,
    from_text,
    is_foreign,
    pack_foreign,
    to_text,
    trust,
    unpack_foreign,
)
from cladist.persistence.model_schema import CONTENT, STATE, check_model, check_values, is_declared
from cladist.persistence.transformers import check_width, decode_transformer, encode_transformer
from cladist.storage import (
    check_replaceable,
    from_json_value,
    pack_strings,
    read_folder,
    to_json_value,
    unpack_strings,
    write_beside,
    write_folder,
)
from cladist.storage.array_groups import Arrays, are_row_ends, check_nodes, group, prefixed
from cladist.storage.folder import MANIFEST
from cladist.taxonomy.arrays import pack_taxonomy, unpack_taxonomy
from cladist.taxonomy.relations import RelationGraph

# Arrays that `mmap=True` leaves in their file: weights of linear models in all forms, which are only read.
LARGE = re.compile(r".*/weights/(blocks|sparse/(classes|values)|differences/(features|ends|lanes|values))")
LONG_LIST = 10_000  # texts in notes, such as the names of features, above which they are written as arrays
NOT_PART_OF_A_MODEL = (
    "taxonomy",
    "relations",
    "estimator",
    "estimators",
    "strategy",
    "rule",
    "checkpoint",
    "executor",
    "label_features",
)  # packed separately, or not saved


def save(model: Any, folder: Any, *, notes: dict[str, Any] | None = None, note_arrays: Arrays | None = None) -> None:
    """Write a fitted learner, or a Pipeline of text features and a learner, to a folder.

    The folder appears whole or not at all; an older model in it is replaced. It holds ``manifest.json`` and arrays in
    safetensors, no pickle, and a model card, ``README.md``; a card that was edited and no longer says that it was
    written with the model is left as it is.

    Parameters
    ----------
    model : learner or scikit-learn Pipeline
        A Pipeline's steps before the learner may be `TextFeatures`, TF-IDF, counting, hashing, scaling, and unions of
        these. Other steps, and classifiers inside a learner, need skops (the extra ``skops``).
    folder : path
        A new folder, an empty one, or a model to replace.
    notes : dict, optional
        Plain values to keep beside the model, such as the columns of the table it was trained on; `load_notes` reads
        them.
    note_arrays : dict of str to array, optional
        Arrays to keep beside the model; `load_noted` reads them with the notes and the model.

    Examples
    --------
    >>> import tempfile, cladist
    >>> model = cladist.Hieron().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    >>> folder = tempfile.mkdtemp()
    >>> cladist.save(model, folder)
    >>> cladist.load(folder).predict([[0.0, 2.0]]).tolist()
    ['a']
    """
    learner = model[-1] if isinstance(model, Pipeline) else model
    if _find_class(type(learner).__name__) is not type(learner):
        raise ModelFormatError(
            f"{_describe(learner)} cannot be saved as a cladist model; only cladist's own learners can, and those that "
            "a package or cladist.registry.register adds, alone or as the last step of a Pipeline."
        )
    content, arrays = pack_model(model)
    arrays.update(prefixed("notes", note_arrays or {}))
    content = {**content, "notes": _pack_notes(notes or {}, arrays)}
    card = model_card.model_card(content, model)
    check_replaceable(folder)
    # Where there is a model, the new one comes last: whoever did not get so far saves again, and tidies up.
    is_new = not (Path(folder) / MANIFEST).is_file()
    if not is_new:
        write_beside(folder, model_card.NAME, card, replaces=model_card.is_ours)
    write_folder(folder, content, arrays)
    if is_new:
        write_beside(folder, model_card.NAME, card, replaces=model_card.is_ours)


def pack_model(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return the manifest entries and the arrays of a fitted learner, or of a Pipeline that ends in one."""
    learner, steps, features, arrays = model, None, None, {}
    if is_text_model := type(model) is registry.TEXT_CLASSIFIER.load():
        check_is_fitted(model[-1])
    if type(model) is Pipeline or is_text_model:
        learner, steps = model[-1], [name for name, _ in model.steps]
        if len(model) > 1:
            features, feature_arrays = encode_transformer(model[:-1])
            arrays.update(prefixed("features", feature_arrays))
    content, learner_arrays = pack_learner(learner)
    arrays.update(prefixed("model", learner_arrays))
    own = {"text_classifier": model.pack_parameters()} if is_text_model else {}
    return {"steps": steps, "features": features, "model": content, **own}, arrays


def pack_learner(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return the manifest entry and the arrays of a fitted learner."""
    name = type(model).__name__
    if _find_class(name) is not type(model):  # inside a learner
        if not is_foreign(model):
            raise ModelFormatError(f"{_describe(model)} is no estimator, and cannot be saved.")
        entry, data = pack_foreign(model)
        return entry, {ARRAY: data}
    check_is_fitted(model)
    content: dict[str, Any] = {"class": name, **_pack_parameters(model)}
    content["n_features"] = int(getattr(model, "n_features_in_", 1))  # a wrapper of a Pipeline of texts has none
    arrays: Arrays = {}
    if hasattr(model, "feature_names_in_"):
        arrays.update(prefixed("feature_names", pack_strings([str(n) for n in model.feature_names_in_])))
    if hasattr(type(model), "set_classes"):  # a learner, and not a wrapper of one
        content["taxonomy"], taxonomy_arrays = pack_taxonomy(model.taxonomy_)
        content["label_form"] = model.label_form_.to_dict()
        arrays.update(prefixed("taxonomy", taxonomy_arrays))
        arrays["class_nodes"] = model.class_nodes_
    state, state_arrays = model.pack_state()
    content["state"] = to_json_value(state, f"{name}'s state")
    return content, {**arrays, **prefixed("state", state_arrays)}


def _pack_parameters(model: Any) -> dict[str, Any]:
    name, params = type(model).__name__, model.get_params(deep=False)
    if not isinstance(params.get("scoring"), str):  # code that a search called, which a model needs no more
        params = {key: None if key == "scoring" else value for key, value in params.items()}
    content: dict[str, Any] = {
        "parameters": {
            key: to_json_value(value, f"{name}'s parameter {key}")
            for key, value in params.items()
            if key not in NOT_PART_OF_A_MODEL
        },
        "has_taxonomy": params.get("taxonomy") is not None,
    }
    packs_own = hasattr(type(model), "packs_estimators")  # with its state
    if (inner := params.get("estimator")) is not None and not packs_own:
        if isinstance(inner, dict):
            raise ModelFormatError(
                f"A {name} with several classifiers cannot be saved; give it one, or use LocalPerNode, which can."
            )
        if _find_class(type(inner).__name__) is not type(inner):
            content["estimator"] = to_text(inner)
        else:
            content["estimator"] = {"class": type(inner).__name__, **_pack_parameters(inner)}
    return content


def _find_class(name: str) -> Any:
    """Return the learner of a name in the registry, the fixed table of classes that a model folder may hold."""
    method = registry.find_class(name)
    return None if method is None else method.load()


def _describe(model: Any) -> str:
    return f"{type(model).__module__.partition('.')[0]}'s {type(model).__name__}"


def load(folder: Any, *, mmap: bool = False, verify: bool = False, trusted: bool | Collection[str] = False) -> Any:
    """Read a model that `save` wrote; nothing in the folder is executed.

    Another process may save to the folder meanwhile: the result is one saved model, the old or the new.

    Parameters
    ----------
    folder : path
        The folder of the model.
    mmap : bool
        Leave the weights of ``weights="dense"``, ``"sparse"`` and ``"differences"`` in their file, and read only those
        that a prediction needs: for models that are larger than memory, loaded for a few rows, or by several processes,
        which share them. Everything else is read and verified. The file must not be written to meanwhile; saving
        another model to the folder does not. For the weights left there, type and shape are verified: a class or
        feature that does not exist is noticed when it is used, and altered numbers are not.
    verify : bool
        With `mmap`: also read the weights left in the file once, to verify their checksum and their content.
        Without `mmap` everything is always verified.
    trusted : bool or collection of str
        True: also accept a vectorizer whose regular expression may take too long on some texts, for a model of your
        own. Names of types: also accept these types in steps and classifiers of other libraries; the error about types
        that are not known lists their names.

    Returns
    -------
    learner or Pipeline
        The saved model; it predicts the same, and online learners can continue to train.
    """
    return load_noted(folder, mmap=mmap, verify=verify, trusted=trusted)[0]


def load_noted(
    folder: Any, *, mmap: bool = False, verify: bool = False, trusted: bool | Collection[str] = False
) -> tuple[Any, dict[str, Any], Arrays]:
    """Read a model, its notes and the arrays beside it, all of one and the same save; see `load`."""
    keep_in_file = (lambda name: LARGE.fullmatch(name) is not None) if mmap else None
    content, arrays = read_folder(folder, keep_in_file=keep_in_file, verify=verify)
    if "kind" in content:
        raise ModelFormatError(f"{folder} is a packed data set, not a model; Dataset.open reads it.")
    with trust(() if isinstance(trusted, bool) else [trusted] if isinstance(trusted, str) else trusted):
        model = _unpack_model(folder, content, arrays, trusted is True)
    return model, _unpack_notes(folder, content, arrays), group("notes", arrays)


def _unpack_model(folder: Any, content: dict[str, Any], arrays: Arrays, trusted: bool) -> Any:
    try:
        return unpack_model(content, arrays, trusted=trusted)
    except CladistError as problem:
        raise ModelFormatError(f"{folder}: {problem}") from problem
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as problem:
        if _is_from_numba(problem):  # a fault of the machine or of cladist, not of the model
            raise
        raise ModelFormatError(f"{folder}: this model's content does not fit together ({problem!r}).") from problem


def unpack_model(content: dict[str, Any], arrays: Arrays, *, trusted: bool = False) -> Any:
    """Return the learner or Pipeline that `pack_model` packed."""
    learner = unpack_learner(content["model"], group("model", arrays))
    if content["steps"] is None and content["features"] is None:
        return learner
    return _unpack_pipeline(learner, content, arrays, trusted)


def _is_from_numba(problem: BaseException) -> bool:
    """Tell whether an error arose where kernels are compiled or loaded."""
    frames = traceback.walk_tb(problem.__traceback__)
    return any(frame.f_globals.get("__name__", "").partition(".")[0] == "numba" for frame, _ in frames)


def _unpack_pipeline(learner: Any, content: dict[str, Any], arrays: Arrays, trusted: bool) -> Pipeline:
    """Return a Pipeline of the saved steps and a learner; names, steps and numbers of features must agree."""
    names, before = content["steps"], []
    if content["features"] is not None:
        features = decode_transformer(content["features"], group("features", arrays), trusted=trusted)
        if type(features) is not Pipeline:
            raise ModelFormatError("The steps before its learner are no Pipeline.")
        check_width(features, learner.n_features_in_, "transformer")
        before = features.steps
    if not isinstance(names, list) or names[:-1] != [name for name, _ in before] or not isinstance(names[-1], str):
        raise ModelFormatError(f"Its steps are {repr(names)[:80]}, which are not those that it holds.")
    steps = [*before, (names[-1], learner)]
    own = content.get("text_classifier")
    if own is None:
        return Pipeline(steps)
    if not isinstance(own, dict) or set(own) != {"method", "calibrate"} or not isinstance(own["method"], str):
        raise ModelFormatError(f"Its parameters as a TextClassifier are {shorten(own)}.")
    return registry.TEXT_CLASSIFIER.load().of_steps(steps, **own)


def unpack_learner(content: dict[str, Any], arrays: Arrays) -> Any:
    """Return the learner that `pack_learner` packed."""
    if content.get("class") == FOREIGN:
        return unpack_foreign(content, arrays.get(ARRAY))
    check_values(content, CONTENT)
    model = _unpack_parameters(content)
    state = from_json_value(content["state"])
    if is_declared(model):
        check_values(state, STATE)
    model.n_features_in_ = int(content["n_features"])
    check_model(model, arrays)
    if names := group("feature_names", arrays):
        model.feature_names_in_ = np.array(unpack_strings(**names), dtype=object)
    if hasattr(type(model), "set_classes"):  # a learner, and not a wrapper of one
        _unpack_classes(model, content, arrays)
    model.unpack_state(state, group("state", arrays))
    model.check_parameters()
    return model


def _unpack_parameters(content: dict[str, Any]) -> Any:
    """Return an unfitted learner with the saved parameters."""
    if content.get("class") == FOREIGN:
        return from_text(content)
    cls = _find_class(content["class"])
    if cls is None:
        raise ModelFormatError(f"It holds a {content['class']!r}, which this version of cladist does not know.")
    constructor_parameters = inspect.signature(cls).parameters
    parameters = {key: from_json_value(value) for key, value in content["parameters"].items()}
    for key, value in parameters.items():
        if callable(value):  # a kernel that is a function is not saved
            raise ModelFormatError(f"Its parameter {key!r} is a function or a type, which no saved model has.")
        if key in NOT_PART_OF_A_MODEL:
            raise ModelFormatError(f"Its parameters hold {key!r}, which a model file keeps elsewhere.")
    if hasattr(cls, "from_old_parameters"):
        parameters = cls.from_old_parameters(parameters)
    for key in parameters:
        if key not in constructor_parameters:
            raise ModelFormatError(f"{content['class']} has no parameter {key!r} in this version of cladist.")
    if "estimator" in content:
        parameters["estimator"] = _unpack_parameters(content["estimator"])
    return cls(None, **parameters) if hasattr(cls, "packs_estimators") else cls(**parameters)


def _unpack_classes(model: Any, content: dict[str, Any], arrays: Arrays) -> None:
    """Set the taxonomy, the form of y and the classes, if the learner could have been trained with them."""
    model.taxonomy_ = unpack_taxonomy(content["taxonomy"], group("taxonomy", arrays))
    if content["has_taxonomy"]:
        model.taxonomy = model.taxonomy_
    model.label_form_ = LabelForm.from_dict(content["label_form"])
    nodes = arrays["class_nodes"].astype(np.int64)
    check_nodes(nodes, model.taxonomy_.n_nodes)
    model.label_form_.check_fits(model.taxonomy_, nodes)
    model.check_label_form(getattr(model, "decode", "auto"))
    if not model.takes_dags:
        model.taxonomy_.require_tree(type(model).__name__)
    if not len(nodes) and not model.decodes_sets:
        raise ModelFormatError("It has no class, and predicts one for each row.")
    model.set_classes(nodes)


def pack_relations(relations: RelationGraph | None) -> Arrays:
    """Return the arrays of a label graph; none without one."""
    if relations is None:
        return {}
    adjacency, names = relations.adjacency, prefixed("names", pack_strings(list(relations.names)))
    indptr, indices = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)
    return {**names, "indptr": indptr, "indices": indices, "weights": adjacency.data.astype(np.float64)}


def unpack_relations(arrays: Arrays) -> RelationGraph | None:
    """Return the label graph that `pack_relations` packed: undirected, with positive weights."""
    if not arrays:
        return None
    names, weights = unpack_strings(**group("names", arrays)), arrays["weights"].astype(np.float64)
    indptr, indices = arrays["indptr"].astype(np.int64), arrays["indices"].astype(np.int64)
    fits = len(indices) == len(weights) and are_row_ends(indptr, len(names), len(indices))
    fits = fits and bool(np.all((indices >= 0) & (indices < len(names)))) and len(set(names)) == len(names)
    if fits and bool(np.all((weights > 0) & (weights < np.inf))):
        adjacency = sparse.csr_array((weights, indices, indptr), shape=(len(names),) * 2)
        n_entries = adjacency.nnz
        adjacency.sum_duplicates()
        if adjacency.nnz == n_entries and not adjacency.diagonal().any() and (adjacency != adjacency.T).nnz == 0:
            return RelationGraph(names, adjacency)
    raise ModelFormatError("The label graph in this model is damaged.")


def load_notes(folder: Any) -> dict[str, Any]:
    """Read the notes that `save` was given; an older model has none."""
    content, arrays = read_folder(folder, keep_in_file=lambda name: not name.startswith("note_texts/"))
    return _unpack_notes(folder, content, arrays)


def _pack_notes(notes: dict[str, Any], arrays: Arrays) -> Any:
    """Return notes as JSON values; long lists of texts go to `arrays`, since a manifest has a limit of size."""

    def pack_texts(value: Any, where: str, depth: int) -> dict[str, str] | None:
        if type(value) is not list or len(value) < LONG_LIST or not all(type(text) is str for text in value):
            return None
        name = f"note_texts{where.removeprefix('notes')}"
        arrays.update(prefixed(name, pack_strings(value)))
        return {"$texts": name}

    return to_json_value(notes, "notes", extend=pack_texts)


def _unpack_notes(folder: Any, content: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    def unpack_texts(tag: str, body: Any, where: str, depth: int) -> list[str] | None:
        if tag != "$texts":
            return None
        parts = group(body, arrays) if isinstance(body, str) and body.startswith("note_texts/") else {}
        if parts.keys() != {"utf8", "offsets"}:
            raise ModelFormatError(f"{folder}: the texts of this model's {where} are missing.")
        return unpack_strings(**parts)

    notes = from_json_value(content.get("notes", {}), "notes", extend=unpack_texts)
    if not isinstance(notes, dict):
        raise ModelFormatError(f"{folder}: this model's notes are not a table of names and values.")
    return notes
