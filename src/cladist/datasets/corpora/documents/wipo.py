"""WIPO-alpha: English patents as XML records, labelled with symbols of the International Patent Classification."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike, fspath
from typing import Any

from cladist import progress
from cladist.datasets import folders
from cladist.datasets.corpora.documents.wipo_records import PARTS, read_record
from cladist.datasets.dataset import Dataset
from cladist.datasets.rows import as_objects
from cladist.errors import DatasetError, ParameterError, TaxonomyError, one_of
from cladist.files import opened, text_lines
from cladist.taxonomy import Taxonomy, as_taxonomy
from cladist.taxonomy.formats.ipc import LEVELS, IpcSymbol, ipc_taxonomy, parse_ipc

Folder = str | PathLike[str]


def read_wipo_alpha(
    folder: Folder,
    *,
    section: str | None = None,
    level: str = "main-group",
    parts: Sequence[str] = tuple(PARTS),
    main_only: bool = True,
    taxonomy: Any = None,
) -> Dataset:
    """Read the XML records below a folder as texts with IPC labels.

    Parameters
    ----------
    folder : path
        One file a patent, ``.xml``, packed or not, in folders of any depth. If the folder holds two folders
        ``train`` and ``test``, or two files ``train.txt`` and ``test.txt`` that list the names of the files
        (without ``.xml``) one a line, the Dataset comes split; files on neither list are left out.
    section : {"A", …, "H"}, optional
        Only patents whose main symbol is in this section.
    level : {"section", "class", "subclass", "main-group", "subgroup"}
        What the labels are.
    parts : sequence of {"title", "abstract", "claims", "text"}
        What the texts are made of, joined by a blank. "text" is the description, by far the longest.
    main_only : bool
        Label a patent with its main symbol; False: also with its others.
    taxonomy : Taxonomy, or what one can be built from, optional
        Nodes are named by IPC symbols in any spelling, and every label must be one of them. None: what the symbols
        seen span.

    Returns
    -------
    Dataset
        `X` an array of texts; `y` an array of node names or, with ``main_only=False``, a list of lists of them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "1.xml").write_text(
    ...         '<record><ipcs mc="D01B00106"/><tis><ti xml:lang="EN">Hemp</ti></tis></record>'
    ...     )
    ...     data = read_wipo_alpha(folder, section="D")
    >>> data.X, data.y
    (array(['Hemp'], dtype=object), array(['D01B 1/00'], dtype=object))
    """
    one_of("read_wipo_alpha", "level", level, LEVELS)
    one_of("read_wipo_alpha", "section", section, (None, *"ABCDEFGH"))
    wanted = _checked_parts(parts)
    labels = _Labels(level, None if taxonomy is None else as_taxonomy(taxonomy))
    split = _files(folder)
    texts: list[str] = []
    rows: list[list[str]] = []
    ends: list[int] = []
    with progress.task("Reading WIPO-alpha", total=sum(map(len, split))) as task:
        for paths in split:
            for path in paths:
                record = read_record(path, wanted, main_only=main_only)
                if section in (None, record.main.head[0]):
                    texts.append(" ".join(filter(None, (record.texts[part] for part in wanted))))
                    rows.append(labels.of(path, [record.main, *record.others]))
                task.advance()
            ends.append(len(texts))
    if not any(texts):
        raise DatasetError(
            f"{fspath(folder)}: there is no English {' or '.join(wanted)} in any of its {sum(map(len, split))} records"
            f"{'' if section is None else f' of section {section}'}."
        )
    y: Any = as_objects([row[0] for row in rows]) if main_only else rows
    fields: dict[str, Any] = {"taxonomy": labels.tree(), "source": f"WIPO-alpha, {fspath(folder)}"}
    if len(ends) == 2:
        fields |= {"train_rows": slice(0, ends[0]), "test_rows": slice(ends[0], ends[1])}
    return Dataset(as_objects(texts), y, **fields)


def _checked_parts(parts: Sequence[str]) -> list[str]:
    wanted = [parts] if isinstance(parts, str) else list(parts)
    if not wanted or not all(isinstance(part, str) and part in PARTS for part in wanted):
        choices = ", ".join(map(repr, PARTS))
        raise ParameterError(f"read_wipo_alpha: parts must be some of {choices}; got {parts!r}.")
    return list(dict.fromkeys(wanted))


class _Labels:
    """Symbols seen → names of nodes at a level, each name kept once."""

    def __init__(self, level: str, taxonomy: Taxonomy | None) -> None:
        self.level, self.taxonomy = level, taxonomy
        self.name_of: dict[IpcSymbol, str] = {}
        self.given: dict[IpcSymbol, str] = {}
        for name in taxonomy or ():
            try:
                symbol = parse_ipc(name)
            except TaxonomyError:
                continue  # a root above the sections, say
            if symbol in self.given:
                raise TaxonomyError(f"The nodes {self.given[symbol]!r} and {name!r} are the same IPC symbol.")
            self.given[symbol] = name

    def of(self, path: str, symbols: Iterable[IpcSymbol]) -> list[str]:
        """Return the different labels of one record, in order."""
        return list(dict.fromkeys(self._name(path, symbol) for symbol in symbols))

    def _name(self, path: str, symbol: IpcSymbol) -> str:
        label = symbol.at(self.level)
        if label is None:
            raise DatasetError(f"{path}: {symbol.name} is a {symbol.level}, above the level asked for, {self.level}.")
        if label not in self.name_of:
            if self.taxonomy is not None and label not in self.given:
                raise DatasetError(f"{path}: {label.name} is not in the taxonomy{self.taxonomy.suggestion(label.name)}")
            self.name_of[label] = self.given.get(label, label.name)
        return self.name_of[label]

    def tree(self) -> Taxonomy:
        """Return the given taxonomy, or what the symbols seen span."""
        return self.taxonomy or ipc_taxonomy(self.name_of, level=self.level)


def _files(folder: Folder) -> list[list[str]]:
    """Return the paths of all records, or, where the collection is split, of those for training and for testing."""
    parts = folders.parts_below(folder)
    if parts is not None:
        split = [folders.files_below(part, ".xml") for part in parts]
    else:
        split = _on_lists(folder, folders.files_below(folder, ".xml"))
    for place, paths in zip(parts or [folder] * 2, split, strict=False):
        if not paths:
            raise DatasetError(f"{fspath(place)}: there are no .xml files.")
    return split


def _on_lists(folder: Folder, paths: list[str]) -> list[list[str]]:
    """Split paths as the files train.txt and test.txt say, if they are there."""
    lists = [os.path.join(folder, f"{part}.txt") for part in folders.PARTS]
    there = [os.path.isfile(path) for path in lists]
    if not any(there):
        return [paths]
    if not all(there):
        raise DatasetError(f"{fspath(folder)}: of train.txt and test.txt, only one is there.")
    path_of: dict[str, str] = {}
    for path in paths:
        name = _record_name(path)
        path_of[name] = "" if name in path_of else path
    return [[_listed(listing, *entry, path_of) for entry in _entries(listing)] for listing in lists]


def _entries(listing: str) -> Iterator[tuple[int, str]]:
    with opened(listing) as stream:
        yield from ((line, text.strip()) for line, text in text_lines(listing, stream) if text.strip())


def _listed(listing: str, line: int, entry: str, path_of: dict[str, str]) -> str:
    """Return the path that a line of a list means; a record stands on one list, once."""
    path = path_of.pop(_record_name(entry), None)
    if not path:
        problem = "several files have this name" if path == "" else "there is no such file, or it is listed already"
        raise DatasetError(f"{listing}, line {line}: {entry[:80]!r}: {problem}.")
    return path


def _record_name(path: str) -> str:
    return os.path.basename(path).lower().partition(".xml")[0]
