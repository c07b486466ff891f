"""Tasks and annotations of Label Studio: which texts they are about, and how labels are written in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from cladist.errors import DatasetError, ParameterError
from cladist.server.nodes import Nodes
from cladist.server.served import ServedModel

KINDS = {"taxonomy": "Taxonomy", "choices": "Choices"}  # by type of result: the tag of its control
MOST_CONFIG = 1 << 22  # characters
Path = tuple[str, ...]


@dataclass(frozen=True)
class Control:
    """The control of a labelling configuration that takes labels.

    Attributes
    ----------
    kind : {"taxonomy", "choices"}
    name, to_name : str
        Its own name and that of what it labels.
    value : str
        The name in a task's data of what it labels.
    paths : set of tuples of str
        The paths to its choices; empty if they come from elsewhere.
    """

    kind: str = "taxonomy"
    name: str = "taxonomy"
    to_name: str = "text"
    value: str = "text"
    paths: frozenset[Path] = field(default_factory=frozenset)


def read_control(config: Any) -> Control:
    """Return the first control for labels in a configuration; the usual names without one."""
    if not config:
        return Control()
    if not isinstance(config, str) or len(config) > MOST_CONFIG or "<!" in config.replace("<!--", ""):
        raise ParameterError("The labelling configuration must be XML without declarations.")
    try:
        root = ElementTree.fromstring(config)
    except (ElementTree.ParseError, ValueError) as problem:
        raise ParameterError(f"The labelling configuration is no XML: {problem}.") from None
    for kind, tag in KINDS.items():
        for found in root.iter(tag):
            to_name = found.get("toName") or "text"
            target = next((part for part in root.iter() if part.get("name") == to_name), None)
            value = "" if target is None else (target.get("value") or "")
            paths = frozenset(_choices(found, ()))
            return Control(kind, found.get("name") or kind, to_name, value.lstrip("$") or "text", paths)
    raise ParameterError("The labelling configuration has neither Taxonomy nor Choices, which take labels.")


def _choices(parent: Any, above: Path) -> Iterator[Path]:
    for choice in parent.findall("Choice"):
        path = (*above, choice.get("alias") or choice.get("value") or "")
        yield path
        yield from _choices(choice, path)


def text_of(model: ServedModel, task: Any, control: Control) -> str:
    """Return the text of a task: the columns that the model was trained on, or what the control labels."""
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise DatasetError("A task is an object with an object `data`.")
    columns = [str(name) for name in model.notes.get("text") or ()]
    if columns and all(name in data for name in columns):
        return model.texts_of([data])[0]
    if control.value not in data:
        raise DatasetError(f"The data of a task have no {control.value!r}.")
    return str(data[control.value])


class Labels:
    """How the labels of a model are written in a configuration: by names, by parts of paths, or by titles."""

    def __init__(self, nodes: Nodes, control: Control) -> None:
        self.nodes, self.control = nodes, control

    def forms(self, v: int) -> Iterator[Path]:
        """Yield the ways in which the path to a node may be written."""
        taxonomy = self.nodes.taxonomy
        ids = [int(u) for u in taxonomy.shortest_path_ids(v)]
        yield tuple(taxonomy.shortest_path_parts(v))
        yield tuple(taxonomy.names[u] for u in ids)
        yield tuple(self.nodes.title(u) for u in ids)

    def write(self, v: int) -> Path:
        """Return the path to a node as the configuration has it; by parts if it has none."""
        forms = list(self.forms(v))
        if self.control.kind == "choices":
            forms = [(form[-1],) for form in forms]
        return next((form for form in forms if form in self.control.paths), forms[0])

    def result(self, found: Sequence[int]) -> list[dict[str, Any]]:
        """Return the result of a prediction of some nodes."""
        paths = [list(self.write(v)) for v in found]
        value = paths if self.control.kind == "taxonomy" else [path[-1] for path in paths]
        place = {"from_name": self.control.name, "to_name": self.control.to_name, "type": self.control.kind}
        return [{**place, "value": {self.control.kind: value}}] if paths else []

    def read(self, annotation: Any) -> list[str]:
        """Return the names of the nodes that an annotation gives."""
        names: dict[str, None] = {}
        for part in annotation.get("result") or []:
            if not isinstance(part, dict) or part.get("type") not in KINDS or not isinstance(part.get("value"), dict):
                continue
            for given in part["value"].get(part["type"]) or []:
                path = [given] if isinstance(given, str) else given
                if not isinstance(path, list) or not path or not all(isinstance(step, str) for step in path):
                    raise DatasetError("A label in an annotation is a text or a list of texts.")
                names[self._find(path)] = None
        return list(names)

    def _find(self, path: Sequence[str]) -> str:
        taxonomy = self.nodes.taxonomy
        v = taxonomy.find_path(path)
        if v is None:
            v = taxonomy.find(path[-1])
        if v is None:
            v = self.nodes.find_titles(path)
        if v is None:
            raise DatasetError(f"The taxonomy has no node {path[-1][:80]!r}{taxonomy.suggestion(path[-1])}")
        return taxonomy.names[v]


def annotations_of(body: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the tasks and annotations of a request: of an event, or of all tasks of a project."""
    if isinstance(body.get("annotation"), dict) and isinstance(body.get("task"), dict):
        yield body["task"], body["annotation"]
        return
    tasks = body.get("annotations") or body.get("tasks") or []
    if not isinstance(tasks, list):
        raise ParameterError("`annotations` is a list of tasks with their annotations.")
    for task in tasks:
        if not isinstance(task, dict):
            raise ParameterError("`annotations` is a list of tasks with their annotations.")
        for annotation in task.get("annotations") or task.get("completions") or []:
            if isinstance(annotation, dict):
                yield task, annotation


def id_of(annotation: dict[str, Any], text: str, labels: Sequence[str]) -> str:
    """Return an id for a correction: the same for an event that comes twice, another one for an annotation changed."""
    content = json.dumps([text, sorted(labels)]).encode()
    return f"label-studio-{str(annotation.get('id'))[:40]}-{hashlib.sha256(content).hexdigest()[:12]}"
