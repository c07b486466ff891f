"""Every public parameter has words: each name in a signature is explained in the docstring."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import pytest

import cladist

PACKAGES = ("datasets", "decoders", "evaluation", "execution", "features", "labels", "losses", "metrics", "taxonomy")
MODULES = ("metrics.significance", "metrics.scorers", "decoders.thresholds")
ENTRY = re.compile(r"^(\*{0,2}\w[\w, *]*?) ?(?::[^\n]*)?\n((?:[ \t]+\S[^\n]*\n?|\n)*)", re.M)
SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", re.M | re.S)
ENTRY = re.compile(r"^(\*{0,2}\w[\w, *]*?) ?(?::[^\n]*)?\n((?:[ \t]+\S[^\n]*\n?|\n)*)", re.M)
SELF_EXPLAINING = {"self", "cls", "X", "y", "y_true", "y_pred", "taxonomy", "name", "path", "folder", "args", "kwargs"}


def public_objects():
    """Yield every public class and function, and the public methods of the classes, with their names."""
    sources = {"cladist": cladist.__all__}
    for name in (*PACKAGES, *MODULES):
        module = import_module(f"cladist.{name}")
        sources[module.__name__] = getattr(module, "__all__", [])
    seen = set()
    for module_name, names in sources.items():
        module = import_module(module_name)
        for name in names:
            thing = getattr(module, name)
            if id(thing) in seen or not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            seen.add(id(thing))
            yield f"{module_name}.{name}", thing


def explained(docstring: str) -> set[str]:
    """Return the parameters that a numpydoc section lists with at least one indented line of words, or on one line."""
    entries = [entry for section in SECTION.findall(docstring) for entry in ENTRY.findall(section)]
    return {name.strip(" *") for names, words in entries if words.strip() for name in names.split(",")}


def missing(thing) -> list[str]:
    """Return the parameters of a class or function that its docstring does not explain."""
    try:
        parameters = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return []
    documented = explained(inspect.getdoc(thing) or "")
    return [name for name in parameters if name not in documented | SELF_EXPLAINING and not name.startswith("_")]


OBJECTS = dict(public_objects())


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_every_parameter_has_words(name):
    thing = OBJECTS[name]
    if inspect.isclass(thing) and issubclass(thing, BaseException | tuple):
        return
    assert missing(thing) == []
