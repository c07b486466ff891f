"""Write taxonomy files, from which the reader returns an equal taxonomy.

A name that a format cannot hold is an error that names the formats that can.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cladist.errors import TaxonomyError, quoted
from cladist.files import LARGEST_TEXT, data_suffix, open_for_writing
from cladist.taxonomy.construction import name_paths
from cladist.taxonomy.formats import rdf
from cladist.taxonomy.formats.node_rows import BETWEEN_SYNONYMS, split_synonyms
from cladist.taxonomy.formats.reader import ENDINGS, FORMATS, NO_PARENT, RDF, check_ending, check_format, recognise
from cladist.taxonomy.structure import splits_back
from cladist.taxonomy.taxonomy import Taxonomy

HOLD_TITLES = ("csv", "tsv", "json", "rcv1")  # formats that can hold the titles of nodes
HOLD_TEXTS = ("csv", "tsv", "json")  # formats that can hold descriptions and synonyms too


def write_taxonomy(
    taxonomy: Taxonomy,
    path: str | PathLike[str],
    *,
    format: str | None,  # noqa: A002
    sep: str,
    lang: str | None = "en",
) -> None:
    """Write a taxonomy; the file appears whole or not at all."""
    check_format(format, (*FORMATS, *RDF))
    check_ending(path, format)
    target = Path(path)
    kind = format or (ENDINGS | rdf.FORMATS).get(data_suffix(target), "edges")
    if kind in RDF:
        from cladist.taxonomy.formats.skos import format_skos

        text = format_skos(taxonomy, kind, lang=lang)
    else:
        text = format_taxonomy(taxonomy, kind, sep=sep)
    if format is None and recognise(text, data_suffix(target), sep) != kind:
        raise TaxonomyError(
            f"{target}: with these names the file would not be recognised as edges; end its name in .edges, or "
            "write .json or .csv."
        )
    if "\0" in text:
        raise TaxonomyError(f"{target}: a name has a character 0, which no text file can hold; write JSON instead.")
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as problem:
        line = text[text.rfind("\n", 0, problem.start) + 1 :].partition("\n")[0]
        raise TaxonomyError(f"{target}: {line!r} cannot be written as UTF-8: {problem.reason}.") from None
    with open_for_writing(target, error=TaxonomyError) as stream:
        stream.write(content)


def format_taxonomy(taxonomy: Taxonomy, format: str, *, sep: str = "/") -> str:  # noqa: A002
    """Return the text of a taxonomy file."""
    writers: dict[str, Callable[[Taxonomy], Iterator[str]]] = {
        "edges": _edge_lines,
        "paths": lambda t: _path_lines(t, sep),
        "csv": lambda t: _column_lines(t, ","),
        "tsv": lambda t: _column_lines(t, "\t"),
        "json": _json_lines,
        "indented": lambda t: _indented_lines(t, sep),
        "rcv1": _rcv1_lines,
    }
    return "".join(line + "\n" for line in writers[format](taxonomy))


def _refuse(name: str, format: str, why: str) -> None:  # noqa: A002
    raise TaxonomyError(
        f"The format {format!r} cannot hold the name {quoted(name)} ({why}); write JSON or CSV instead."
    )


def _check_plain(name: str, format: str) -> str:  # noqa: A002
    if name != name.strip() or any(c in name for c in "\t\n\r") or name.startswith(("#", "\ufeff")):
        _refuse(name, format, "it has a tab, a line break, spaces at an end or begins with '#'")
    return name


def _edge_lines(taxonomy: Taxonomy) -> Iterator[str]:
    names = [_check_plain(name, "edges") for name in taxonomy.names]
    if taxonomy.kind == "dag":
        # Roots first and edges by child: nodes are then read in their order.
        yield from (names[v] for v in taxonomy.roots)
        yield from (f"{parent}\t{child}" for parent, child in taxonomy.edges())
        return
    roots = len(taxonomy.roots)
    alone = len(taxonomy) == roots
    for v, name in enumerate(names):
        children = taxonomy.child_ids(v)
        if v < roots and not len(children):
            if alone and any(c.isspace() or c == "/" for c in name):
                _refuse(name, "edges", "without a single edge, a name with spaces or '/' reads as a path")
            yield name
        for c in children:
            yield f"{name}\t{names[c]}"


def _path_lines(taxonomy: Taxonomy, sep: str) -> Iterator[str]:
    """Yield the path of every leaf, depth first, so that siblings are read in their order."""
    _check_path_names(taxonomy, sep)
    _check_size(_measure_paths(taxonomy), "paths")
    for v in _walk_depth_first(taxonomy):
        if taxonomy.is_leaf[v]:
            parts = taxonomy.path_parts(v)
            for part in parts:
                if not splits_back(_check_plain(part, "paths"), sep):
                    _refuse(part, "paths", f"it contains {sep!r}, or ends as that begins")
            if len(parts) == 1 == len(taxonomy.levels) and any(c.isspace() for c in parts[0]):
                _refuse(parts[0], "paths", "a path of one part with spaces reads as several parts")
            yield sep.join(parts)


def _check_path_names(taxonomy: Taxonomy, sep: str) -> None:
    """Refuse names that a reader, which sees only the paths, would not give to the nodes."""
    if taxonomy.kind == "dag":
        raise TaxonomyError("Paths and indented text hold trees and forests only; write a DAG as edges, CSV or JSON.")
    parts = taxonomy.parts or taxonomy.names
    names_read = name_paths(parts, taxonomy.parent.tolist(), sep)
    for name, again in zip(taxonomy.names, names_read, strict=True):
        if name != again:
            _refuse(name, "paths", f"its path reads back as {again!r}")


def _check_size(n_characters: int, format: str) -> None:  # noqa: A002
    """Refuse texts of quadratic size: in a deep tree every line repeats all nodes above it, or is indented by them."""
    if n_characters > LARGEST_TEXT:
        raise TaxonomyError(
            f"As {format} this taxonomy would take about {n_characters:,} characters, over the limit of "
            f"{LARGEST_TEXT:,}; write edges, CSV or JSON instead."
        )


def _measure_paths(taxonomy: Taxonomy) -> int:
    """Return the approximate number of characters in the paths of all leaves."""
    length = np.array([len(part) + 1 for part in taxonomy.parts or taxonomy.names])
    for level in taxonomy.levels[1:]:
        length[level] += length[taxonomy.parent[level]]
    return int(length[taxonomy.leaves].sum())


def _column_lines(taxonomy: Taxonomy, delimiter: str) -> Iterator[str]:
    out = io.StringIO()
    joined = {name: _join_synonyms(name, texts) for name, texts in taxonomy.synonyms.items()}
    texts = {"name": taxonomy.titles, "description": taxonomy.descriptions, "synonyms": joined}
    texts = {column: of_name for column, of_name in texts.items() if of_name}
    cells = (*taxonomy.names, *(text for of_name in texts.values() for text in of_name.values()))
    # The reader strips blanks outside quotes, and older versions of csv do not quote a lone carriage return.
    all_quoted = any(text != text.strip(" ") or "\r" in text for text in cells)
    style: dict[str, Any] = {"quoting": csv.QUOTE_ALL} if all_quoted else {}
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n", **style)
    writer.writerow(["node", "parent", *texts])
    for name, parent in _iterate_links(taxonomy):
        writer.writerow([name, parent or "", *(of_name.get(name, "") for of_name in texts.values())])
    yield out.getvalue().removesuffix("\n")


def _join_synonyms(name: str, synonyms: tuple[str, ...]) -> str:
    """Return the cell of the synonyms of a node; one that would not come back is refused."""
    cell = BETWEEN_SYNONYMS.join(synonyms)
    if split_synonyms(cell) != synonyms:
        unfit = next(text for text in synonyms if split_synonyms(text) != (text,))
        raise TaxonomyError(
            f"A table cannot hold the synonym {quoted(unfit)} of {quoted(name)}, since it has {BETWEEN_SYNONYMS!r} or "
            "blanks at an end; write JSON instead."
        )
    return cell


def _iterate_links(taxonomy: Taxonomy) -> Iterator[tuple[str, str | None]]:
    """Yield (root, None) for every root, then (child, parent) for every edge, in the order of `names`."""
    yield from ((taxonomy.names[v], None) for v in taxonomy.roots)
    yield from ((child, parent) for parent, child in taxonomy.edges())


def _json_lines(taxonomy: Taxonomy) -> Iterator[str]:
    """Yield {child: parent}, for a DAG a list of [root] and [parent, child]; with texts, a list of objects."""
    rows = _iterate_links(taxonomy)
    if taxonomy.titles or taxonomy.descriptions or taxonomy.synonyms:
        yield "[\n" + ",\n".join(_json_records(taxonomy)) + "\n]"
        return
    if taxonomy.kind == "dag":
        yield json.dumps([[child] if parent is None else [parent, child] for child, parent in rows], ensure_ascii=False)
    else:
        yield json.dumps(dict(rows), ensure_ascii=False, indent=0)


def _json_records(taxonomy: Taxonomy) -> Iterator[str]:
    """Yield an object per node, roots first, with the texts it has; in a DAG, "parent" may be a list."""
    titles, descriptions, synonyms = taxonomy.titles, taxonomy.descriptions, taxonomy.synonyms
    for name in taxonomy.names:
        above = taxonomy.parents_of(name)
        parent = above if len(above) > 1 else above[0] if above else None
        texts = {"name": titles.get(name), "description": descriptions.get(name), "synonyms": synonyms.get(name)}
        record = {"node": name, "parent": parent, **{key: text for key, text in texts.items() if text}}
        yield json.dumps(record, ensure_ascii=False)


def _walk_depth_first(taxonomy: Taxonomy) -> Iterator[int]:
    """Yield every node after its parent and before its next sibling."""
    stack = [int(v) for v in reversed(taxonomy.roots)]
    while stack:
        v = stack.pop()
        stack.extend(taxonomy.child_ids(v)[::-1].tolist())
        yield v


def _indented_lines(taxonomy: Taxonomy, sep: str) -> Iterator[str]:
    _check_path_names(taxonomy, sep)
    _check_size(2 * int(taxonomy.depth.sum(dtype=np.int64)), "indented text")
    parts = taxonomy.parts or taxonomy.names
    for v in _walk_depth_first(taxonomy):
        yield "  " * int(taxonomy.depth[v]) + _check_plain(parts[v], "indented")


def _rcv1_lines(taxonomy: Taxonomy) -> Iterator[str]:
    titles = taxonomy.titles
    for name in taxonomy.names:
        if name == NO_PARENT or any(c.isspace() for c in _check_plain(name, "rcv1")):
            _refuse(name, "rcv1", f"it has spaces, or means {NO_PARENT!r}")
    for name, parent in _iterate_links(taxonomy):
        title = " ".join(titles.get(name, "").split())
        described = f" child-description: {title}" if title else ""
        yield f"parent: {parent or NO_PARENT} child: {name}{described}"
