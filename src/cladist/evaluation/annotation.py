"""Tasks for annotation tools, and what people have labelled there: Label Studio and doccano."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from os import PathLike
from typing import Any, NamedTuple

from cladist.errors import DatasetError, LabelError, shorten
from cladist.evaluation.suggestion import Suggestion
from cladist.files import open_for_reading
from cladist.taxonomy import Taxonomy

SEPARATOR = "/"  # of paths in doccano, where a label is a text
FROM_NAME, TO_NAME = "taxonomy", "text"  # names of the tags in the labelling configuration
MOST_BYTES = 2**30  # of a file of annotations


class Annotated(NamedTuple):
    """A text that a person has labelled: its row in the data, −1 if unknown, and the names of its nodes."""

    text: str
    row: int
    labels: list[str]


def label_studio_config(taxonomy: Taxonomy) -> str:
    """Return the labelling configuration of a project in Label Studio: a text and the taxonomy as nested choices.

    Examples
    --------
    >>> print(label_studio_config(Taxonomy.from_paths(["sport/chess", "art"])))
    <View>
      <Text name="text" value="$text"/>
      <Taxonomy name="taxonomy" toName="text" showFullPath="true">
        <Choice value="sport"><Choice value="chess"/></Choice>
        <Choice value="art"/>
      </Taxonomy>
    </View>
    """
    forest = taxonomy if taxonomy.kind != "dag" else taxonomy.spanning_forest()

    def choice(v: int) -> str:
        inside = "".join(map(choice, forest.child_ids(v).tolist()))
        tag = f'<Choice value="{escape(_part(forest, v))}"'
        return f"{tag}>{inside}</Choice>" if inside else f"{tag}/>"

    lines = "".join(f"    {choice(v)}\n" for v in forest.roots.tolist())
    return (
        f'<View>\n  <Text name="{TO_NAME}" value="$text"/>\n  <Taxonomy name="{FROM_NAME}" toName="{TO_NAME}" '
        f'showFullPath="true">\n{lines}  </Taxonomy>\n</View>'
    )


def label_studio_tasks(suggestion: Suggestion, texts: Sequence[str], model_version: str = "cladist") -> list[Any]:
    """Return tasks of Label Studio, with the most probable label of each as a prediction.

    Parameters
    ----------
    suggestion : Suggestion
    texts : sequence of str
        The texts of all rows that were suggested from.
    """
    tasks = []
    for k, row in enumerate(suggestion.rows.tolist()):
        value = {"taxonomy": [_path(suggestion.taxonomy, suggestion.labels[k][0])]}
        result = {"from_name": FROM_NAME, "to_name": TO_NAME, "type": "taxonomy", "value": value}
        score = round(float(suggestion.probabilities[k, 0]), 4)
        predictions = [{"model_version": model_version, "score": score, "result": [result]}]
        tasks.append({"data": {"text": str(texts[row]), "row": row + 1}, "predictions": predictions})
    return tasks


def doccano_lines(suggestion: Suggestion, texts: Sequence[str]) -> Iterator[str]:
    """Yield lines of JSON for doccano, with the path of the most probable label of each text."""
    for k, row in enumerate(suggestion.rows.tolist()):
        label = SEPARATOR.join(_path(suggestion.taxonomy, suggestion.labels[k][0]))
        yield json.dumps({"text": str(texts[row]), "label": [label], "row": row + 1}, ensure_ascii=False)


def read_annotations(path: str | PathLike[str], taxonomy: Taxonomy) -> list[Annotated]:
    """Return what people have labelled, from an export of Label Studio (JSON) or doccano (JSON lines or JSON).

    Tasks without an annotation, and those that were skipped, are left out.

    Parameters
    ----------
    path : path
    taxonomy : Taxonomy
        Its paths are the choices; a label that is none of them is a `DatasetError`.
    """
    with open_for_reading(path) as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DatasetError(f"{path}: wanted at most {MOST_BYTES // 2**20} MiB of annotations.")
    found = []
    for number, task in enumerate(_tasks(path, content), 1):
        try:
            found += [_read_task(task, taxonomy)] if isinstance(task, dict) else [_fail()]
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as problem:
            said = str(problem) if isinstance(problem, LabelError) else "it has no text, or no list of labels."
            raise DatasetError(f"{path}, task {number}: {said}") from problem
    return [entry for entry in found if entry is not None]


def _fail() -> Any:
    raise TypeError


def _tasks(path: Any, content: bytes) -> Iterable[Any]:
    try:
        text = content.decode("utf-8-sig")
        if text.lstrip()[:1] == "[":
            tasks = json.loads(text)
        else:
            tasks = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as problem:
        raise DatasetError(f"{path}: wanted JSON or JSON lines of Label Studio or doccano ({problem}).") from problem
    return tasks


def _read_task(task: dict[str, Any], taxonomy: Taxonomy) -> Annotated | None:
    """Return the text and the labels of a task; None without an annotation."""
    if "data" in task:
        given = [one for one in task.get("annotations", []) if not one.get("was_cancelled")]
        if not given:
            return None
        results = [part for part in given[-1]["result"] if part["type"] == "taxonomy"]
        paths = [list(map(str, path)) for part in results for path in part["value"]["taxonomy"]]
        return Annotated(str(task["data"]["text"]), int(task["data"].get("row", 0)) - 1, _nodes(paths, taxonomy))
    labels = task["label"] if "label" in task else task["labels"]
    if not labels:
        return None
    paths = [str(label).split(SEPARATOR) for label in labels]
    row = task.get("row", task.get("meta", {}).get("row", 0) if isinstance(task.get("meta"), dict) else 0)
    return Annotated(str(task["text"]), int(row) - 1, _nodes(paths, taxonomy))


def _nodes(paths: list[list[str]], taxonomy: Taxonomy) -> list[str]:
    """Return the names of the deepest nodes of paths; annotation tools also list their ancestors."""
    ids = []
    for path in paths:
        v = _find(path, taxonomy)
        if v is None:
            raise LabelError(f"the label {shorten(SEPARATOR.join(path))} is no path of the taxonomy.")
        ids.append(v)
    above = {u for v in ids for u in taxonomy.ids_above(v).tolist()}
    return [taxonomy.names[v] for v in dict.fromkeys(ids) if v not in above]


def _find(path: list[str], taxonomy: Taxonomy) -> int | None:
    """Return the node of a path of parts, or of a name that contains the separator."""
    whole = taxonomy.find_path(path)
    if whole is not None:
        return whole
    wanted = SEPARATOR.join(path)
    for k in range(len(path)):
        v = taxonomy.find(SEPARATOR.join(path[k:]))
        if v is not None and SEPARATOR.join(_path(taxonomy, taxonomy.names[v])) == wanted:
            return v
    return None


def _path(taxonomy: Taxonomy, name: str) -> list[str]:
    return [str(part) for part in taxonomy.shortest_path_parts(taxonomy.index(name))]


def _part(taxonomy: Taxonomy, v: int) -> str:
    return taxonomy.names[v] if taxonomy.parts is None else taxonomy.parts[v]
