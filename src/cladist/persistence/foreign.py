"""Classifiers and transformers of other libraries ↔ bytes, by skops.io, which runs no code of a file.

skops knows the types of numpy, scipy and scikit-learn. A file with other types is refused, unless each of them is
trusted by its name.
"""

from __future__ import annotations

import io
import zipfile
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cladist.errors import ModelFormatError, quoted, shorten

FOREIGN = "(skops)"  # in the place of a class
ARRAY = "skops"
MOST_TYPES_NAMED = 10
TREE = "sklearn.tree._tree.Tree"  # skops does not know whether its arrays are safe: they are checked here
_trusted: ContextVar[frozenset[str]] = ContextVar("cladist_trusted_types", default=frozenset())


@contextmanager
def trust(types: Collection[str]) -> Iterator[None]:
    """Accept these types inside the block."""
    token = _trusted.set(frozenset(types))
    try:
        yield
    finally:
        _trusted.reset(token)


def is_foreign(thing: Any) -> bool:
    """Tell whether something is an estimator, of a library that scikit-learn's tools take."""
    return not isinstance(thing, type) and hasattr(thing, "get_params") and hasattr(thing, "fit")


def _skops(task: str) -> Any:
    try:
        return import_module("skops.io")
    except ImportError as problem:
        raise ModelFormatError(
            f"{task} needs skops, which is not installed; pip install 'cladist[skops]'."
        ) from problem


def pack_foreign(thing: Any) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    """Return the manifest entry of an estimator, with the types in it that skops does not know, and its bytes."""
    kind = f"{type(thing).__module__}.{type(thing).__qualname__}"
    skops = _skops(f"{kind} cannot be saved in cladist's own format; saving it")
    try:
        data = skops.dumps(thing)
        types = sorted({*skops.get_untrusted_types(data=data)} - {TREE})
    except Exception as problem:
        raise ModelFormatError(f"{kind} cannot be saved: skops refuses it ({shorten(problem, 200)}).") from problem
    return {"class": FOREIGN, "name": kind, "types": types}, np.frombuffer(data, np.uint8)


def unpack_foreign(entry: Any, data: Any) -> Any:
    """Return the estimator that `pack_foreign` packed; types that nobody trusts are refused, with their names."""
    name = quoted(entry.get("name") if isinstance(entry, dict) else entry)
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 1:
        raise ModelFormatError(f"The bytes of its {name} are missing.")
    content = data.tobytes()
    skops = _skops(f"It holds {name}, and loading it")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:  # nothing in it may be larger than it looks
            stored = all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())
            size = sum(info.file_size for info in archive.infolist())
        if not stored or size > len(content):
            raise ModelFormatError(f"Its {name} is packed in another way than cladist packs it.")
        unknown = [kind for kind in skops.get_untrusted_types(data=content) if kind not in {TREE, *_trusted.get()}]
        if unknown:
            shown = ", ".join(unknown[:MOST_TYPES_NAMED]) + (", …" if len(unknown) > MOST_TYPES_NAMED else "")
            raise ModelFormatError(
                f"It holds {name} with types that are not known to be safe: {shown}; if you trust whoever made the "
                f"model, load it with trusted={unknown[:MOST_TYPES_NAMED]!r}."
            )
        thing = skops.loads(content, trusted=sorted({TREE, *_trusted.get()}))
        _check_trees(thing, name)
    except ModelFormatError:
        raise
    except Exception as problem:
        raise ModelFormatError(f"Its {name} cannot be read ({shorten(problem, 200)}).") from problem
    if not is_foreign(thing):
        raise ModelFormatError(f"Its {name} is no estimator, but a {type(thing).__name__}.")
    return thing


def _check_trees(thing: Any, name: str) -> None:
    """Refuse decision trees whose nodes lead out of their arrays, which predicting would follow."""
    waiting, seen = [thing], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | None):
            continue
        seen.add(id(part))
        if f"{type(part).__module__}.{type(part).__qualname__}" == TREE:
            _check_tree(part, name)
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple | set) or (isinstance(part, np.ndarray) and part.dtype == object):
            waiting += list(part.ravel() if isinstance(part, np.ndarray) else part)
        elif hasattr(part, "__dict__"):
            waiting += vars(part).values()


def _check_tree(tree: Any, name: str) -> None:
    n, depth = int(tree.node_count), np.zeros(int(tree.node_count), np.int64)
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    is_leaf, ids = left == -1, np.arange(n)
    fits = n > 0 and bool(np.all(is_leaf | ((left > ids) & (left < n) & (right > ids) & (right < n))))
    fits = fits and bool(np.all(is_leaf | ((feature >= 0) & (feature < tree.n_features))))
    for v in np.flatnonzero(~is_leaf).tolist() if fits else []:  # parents come before their children
        depth[[left[v], right[v]]] = depth[v] + 1
    if not fits or int(depth.max(initial=0)) > tree.max_depth or tree.max_depth > n:
        raise ModelFormatError(f"A decision tree in its {name} is damaged: its nodes do not fit together.")


def to_text(thing: Any) -> dict[str, Any]:
    """Return an unfitted estimator as a manifest entry that holds its bytes."""
    entry, data = pack_foreign(thing)
    return {**entry, "data": b64encode(data.tobytes()).decode()}


def from_text(entry: dict[str, Any]) -> Any:
    """Return what `to_text` packed."""
    try:
        data = b64decode(entry["data"], validate=True)
    except (KeyError, TypeError, ValueError) as problem:
        raise ModelFormatError(f"The bytes of its {quoted(entry.get('name'))} are damaged.") from problem
    return unpack_foreign(entry, np.frombuffer(data, np.uint8))
