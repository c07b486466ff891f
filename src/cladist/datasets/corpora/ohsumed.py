"""OHSUMED: references from MEDLINE of 1987 to 1991, labelled with MeSH descriptors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Literal, NoReturn

from cladist.datasets.dataset import MOST_LABELS, Dataset, as_objects
from cladist.errors import DatasetError, one_of
from cladist.files import Source, display_name, iterate_text_lines, name_source, open_for_reading, read_text, refuse
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.formats.mesh import NODES, Nodes, mesh_taxonomy

FIELDS = "IUSMTPWA"  # identifiers, source, MeSH terms, title, publication type, abstract, authors
LARGEST_RECORD = 8 * 2**20  # bytes in memory; real ones have some thousands

_TAG = re.compile(r"\.([A-Z])(?:\s(.*))?", re.DOTALL)
_WANTED = f"a record is a line .I with a number, then fields, each a line . with one of {FIELDS[1:]} above its text"


def read_ohsumed(
    files: Source | Sequence[Source],
    *,
    mesh: Source,
    below: str | None = "Quality of Health Care",
    tree: Nodes = "descriptors",
    on_cycle: Literal["error", "drop"] = "drop",
) -> Dataset[Taxonomy]:
    r"""Read OHSUMED's files as texts, each labelled with those of its MeSH descriptors that are in a part of MeSH.

    Parameters
    ----------
    files : path, binary stream, or sequence of them
        ``ohsumed.87`` and so on; a folder stands for all the files in it that are named ``ohsumed.…``.
    mesh : path or binary stream
        A MeSH tree file, such as ``mtrees2005.bin``.
    below : str, optional
        The descriptor (or tree number) whose subtree the labels come from; None: all of MeSH.
    tree : {"descriptors", "numbers", "first-number"}
        The nodes, as in `cladist.taxonomy.formats.mesh.mesh_taxonomy`: "descriptors" makes a DAG, "numbers"
        labels a document with every tree number its descriptors have, "first-number" makes a tree of descriptors.
    on_cycle : {"drop", "error"}
        Whether cycles among descriptors are broken or refused; dropped edges are in ``taxonomy.dropped_edges``.

    Returns
    -------
    Dataset
        `X` an array of texts, title and abstract; `y` a list of lists of node names. Documents without a label in the
        subtree are left out. Qualifiers and the star of major topics are no part of a label, and terms that the
        tree file does not know are ignored.

    Examples
    --------
    >>> import io
    >>> mesh = io.BytesIO(b"Quality of Health Care;N05.715\nMedical Audit;N05.715.360\n")
    >>> file = io.BytesIO(b".I 1\n.M\nHuman; Medical Audit/*MT.\n.T\nAn audit.\n.W\nWe looked.\n.I 2\n.T\nA cold.\n")
    >>> data = read_ohsumed(file, mesh=mesh)
    >>> data.X, data.y
    (array(['An audit. We looked.'], dtype=object), [['Medical Audit']])
    """
    one_of("read_ohsumed", "tree", tree, NODES)
    with name_source(mesh):
        taxonomy = mesh_taxonomy(read_text(mesh), nodes=tree, below=below, on_cycle=on_cycle)
    nodes_of: dict[str, list[str]] = {}  # by descriptor: the nodes it is the title of, or its own
    for name in taxonomy.names:
        nodes_of.setdefault(taxonomy.title_of(name) or name, []).append(name)
    texts: list[str] = []
    y: list[list[str]] = []
    sources = _expand_folders(files)
    n_records = 0
    for source in sources:
        for record in records(source):
            n_records += 1
            labels = _labels(source, record, nodes_of)
            if labels:
                texts.append(f"{record.text('T')} {record.text('W')}".strip())
                y.append(labels)
    if not y:
        raise DatasetError(
            f"{display_name(sources[0])}: none of {n_records} records has a MeSH term of the {taxonomy.n_nodes} nodes "
            f"below {below!r}; check that the MeSH tree file and below are the ones meant."
        )
    return Dataset(as_objects(texts), y, taxonomy, source=f"OHSUMED, {', '.join(map(display_name, sources))}")


@dataclass
class Record:
    """One reference: the line it starts on, and its fields by letter."""

    line: int
    fields: dict[str, list[str]] = field(default_factory=dict)

    def text(self, letter: str) -> str:
        """Return a field, its lines joined by a blank; a missing one is empty."""
        return " ".join(self.fields.get(letter, ()))


def records(source: Source) -> Iterator[Record]:
    """Yield the records of a file in SMART's format, one at a time.

    A record starts with ``.I`` and a number; every other field is a line with its letter, then its text. Fields may
    come in any order, be missing, or have several lines.
    """
    record: Record | None = None
    letter, n_bytes = "", 0
    with open_for_reading(source) as stream:
        for line, text in iterate_text_lines(source, stream):
            content = text.strip()
            tag = _TAG.fullmatch(text.rstrip())
            if tag is not None and tag[1] == "I":
                if record is not None:
                    yield record
                record, letter, n_bytes = Record(line), "", 0
            elif tag is not None and tag[1] in FIELDS and not tag[2] and record is not None:
                letter = tag[1]
            elif content:
                if record is None or not letter or tag is not None:
                    shown = repr(content) if len(content) < 60 else repr(content[:56]) + "…"
                    _refuse(source, line, f"{_WANTED}; got {shown}")
                if letter in "MTW":  # the others are not used, and not kept
                    record.fields.setdefault(letter, []).append(content)
                n_bytes += len(content) + 64  # Python needs about this much for a line of any length
                if n_bytes > LARGEST_RECORD:
                    most = f"takes more than {LARGEST_RECORD:,} bytes"
                    _refuse(source, line, f"the record that starts on line {record.line} {most}")
    if record is not None:
        yield record


def _refuse(source: Source, line: int, problem: str) -> NoReturn:
    refuse(source, line, None, f"{problem}.", kind="bad-record")


def _expand_folders(files: Source | Sequence[Source]) -> list[Source]:
    """Return the files to read, in order; a folder stands for those in it."""
    if isinstance(files, (str, PathLike)) or not isinstance(files, Sequence):
        files = [files]
    sources: list[Source] = []
    for file in files:
        if not (isinstance(file, (str, PathLike)) and os.path.isdir(file)):
            sources.append(file)
            continue
        try:
            names = [name for name in sorted(os.listdir(file)) if name.lower().startswith("ohsumed.")]
        except OSError as problem:
            raise DatasetError(f"{display_name(file)}: cannot be read ({problem.strerror}).") from problem
        if not names:
            refuse(file, None, None, "there are no files named ohsumed.… in this folder.")
        sources.extend(os.path.join(file, name) for name in names)
    if not sources:
        raise DatasetError("read_ohsumed wants one file at least; none was given.")
    return sources


def _labels(source: Source, record: Record, nodes_of: dict[str, list[str]]) -> list[str]:
    """Return the nodes of terms such as ``Medical Audit/*MT; Human.``, each once, in order."""
    labels: dict[str, None] = {}
    for term in re.finditer("[^;]+", record.text("M")):
        descriptor = term[0].partition("/")[0].strip(" *")
        # The field ends with a full stop, which may stand behind one of the descriptor's own.
        nodes = nodes_of.get(descriptor) or nodes_of.get(descriptor.removesuffix(".")) or []
        if len(nodes) <= MOST_LABELS:
            labels.update(dict.fromkeys(nodes))
        if max(len(nodes), len(labels)) > MOST_LABELS:
            most = f"{MOST_LABELS:,} labels, which is the most that a row may have"
            _refuse(source, record.line, f"the record that starts here has more than {most}")
    return list(labels)
