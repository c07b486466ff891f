"""WIPO-alpha: English patents as XML records, labelled with symbols of the International Patent Classification.

The standard library's expat parses the records; it neither follows the DTD nor loads entities. Declared entities, which
can make a huge text of a small file, are refused, and so are files, tags and nestings larger than a patent has.
"""

from __future__ import annotations

import html.entities
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import IO, Any, NoReturn
from xml.parsers import expat

from cladist import progress
from cladist.datasets.dataset import Dataset, as_objects
from cladist.datasets.loaders.catalogue import files_below, parts_below
from cladist.errors import ParameterError, TaxonomyError, one_of
from cladist.files import Source, iterate_text_lines, open_for_reading, refuse
from cladist.taxonomy import Taxonomy, as_taxonomy
from cladist.taxonomy.formats.ipc import LEVELS, IpcSymbol, ipc_taxonomy, parse_ipc

Folder = str | PathLike[str]

PARTS = {"title": "ti", "abstract": "ab", "claims": "cl", "text": "txt"}
ENCODINGS = (None, "utf-8", "utf-16", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252")

LARGEST_RECORD = 32 * 2**20  # bytes; patents with long listings have a few megabytes
LONGEST_TAG = 2**20  # bytes of one tag or comment
DEEPEST = 100  # elements inside each other
_BLOCK = 1 << 16


def read_wipo_alpha(
    folder: Folder,
    *,
    section: str | None = None,
    level: str = "main-group",
    parts: Sequence[str] = tuple(PARTS),
    main_only: bool = True,
    taxonomy: Any = None,
) -> Dataset[Taxonomy]:
    """Read the XML records below a folder as texts with IPC labels.

    Parameters
    ----------
    folder : path
        One ``.xml`` file per patent, packed or not, in folders of any depth. If the folder holds two folders
        ``train`` and ``test``, or two files ``train.txt`` and ``test.txt`` that list the names of the files
        (without ``.xml``), one per line, the Dataset comes split; files on neither list are left out.
    section : {"A", …, "H"}, optional
        Only patents whose main symbol is in this section.
    level : {"section", "class", "subclass", "main-group", "subgroup"}
        The level of the labels.
    parts : sequence of {"title", "abstract", "claims", "text"}
        The parts of each text, joined by a blank. "text" is the description, by far the longest.
    main_only : bool
        Label a patent with its main symbol; False: also with its others.
    taxonomy : Taxonomy, or what one can be built from, optional
        Nodes are named by IPC symbols in any spelling, and every label must be one of them. None: the
        taxonomy that the symbols of the records span.

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
    wanted = [parts] if isinstance(parts, str) else list(parts)
    if not wanted or not all(isinstance(part, str) and part in PARTS for part in wanted):
        choices = ", ".join(map(repr, PARTS))
        raise ParameterError(f"read_wipo_alpha: parts must be some of {choices}; got {parts!r}.")
    wanted = list(dict.fromkeys(wanted))
    labels = _SymbolNames(level, None if taxonomy is None else as_taxonomy(taxonomy))
    split = _files(folder)
    texts, rows, ends = _read_records(split, labels, wanted, section, main_only)
    if not any(texts):
        problem = f"there is no English {' or '.join(wanted)} in any of its {sum(map(len, split))} records"
        refuse(folder, None, None, f"{problem}{'' if section is None else f' of section {section}'}.", kind="no-rows")
    y: Any = as_objects([row[0] for row in rows]) if main_only else rows
    fields: dict[str, Any] = {"taxonomy": labels.tree(), "source": f"WIPO-alpha, {fspath(folder)}"}
    if len(ends) == 2:
        fields |= {"train_rows": slice(0, ends[0]), "test_rows": slice(ends[0], ends[1])}
    return Dataset(as_objects(texts), y, **fields)


def _read_records(
    split: list[list[str]], labels: _SymbolNames, parts: list[str], section: str | None, main_only: bool
) -> tuple[list[str], list[list[str]], list[int]]:
    """Return texts and labels of the records of a section, and the number of rows up to the end of each part."""
    texts: list[str] = []
    rows: list[list[str]] = []
    ends: list[int] = []
    with progress.task("Reading WIPO-alpha", total=sum(map(len, split))) as task:
        for paths in split:
            for path in paths:
                record = read_record(path, parts, main_only=main_only)
                if section in (None, record.main.head[0]):
                    texts.append(" ".join(filter(None, (record.texts[part] for part in parts))))
                    rows.append(labels.of(path, [record.main, *record.others]))
                task.advance()
            ends.append(len(texts))
    return texts, rows, ends


class _SymbolNames:
    """Symbols → names of nodes at a level, each name held once."""

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
            refuse(path, None, None, f"{symbol.name} is a {symbol.level}, above the level asked for, {self.level}.")
        if label not in self.name_of:
            if self.taxonomy is not None and label not in self.given:
                refuse(path, None, None, f"{label.name} is not in the taxonomy{self.taxonomy.suggestion(label.name)}")
            self.name_of[label] = self.given.get(label, label.name)
        return self.name_of[label]

    def tree(self) -> Taxonomy:
        """Return the given taxonomy, or the one that the symbols span."""
        return self.taxonomy or ipc_taxonomy(self.name_of, level=self.level)


def _files(folder: Folder) -> list[list[str]]:
    """Return the paths of all records, or, where the collection is split, of those for training and for testing."""
    parts = parts_below(folder)
    if parts is not None:
        split = [files_below(part, ".xml") for part in parts]
    else:
        split = _split_by_lists(folder, files_below(folder, ".xml"))
    for place, paths in zip(parts or [folder] * 2, split, strict=False):
        if not paths:
            refuse(place, None, None, "there are no .xml files.")
    return split


def _split_by_lists(folder: Folder, paths: list[str]) -> list[list[str]]:
    """Split paths by the files train.txt and test.txt, if they are there."""
    lists = [os.path.join(folder, f"{part}.txt") for part in ("train", "test")]
    exist = [os.path.isfile(path) for path in lists]
    if not any(exist):
        return [paths]
    if not all(exist):
        refuse(folder, None, None, "of train.txt and test.txt, only one is there.")
    path_of: dict[str, str] = {}
    for path in paths:
        name = _record_name(path)
        path_of[name] = "" if name in path_of else path
    return [list(_find_records(listing, path_of)) for listing in lists]


def _find_records(listing: str, path_of: dict[str, str]) -> Iterator[str]:
    """Yield the paths that the lines of a list name; a record stands on one list, once."""
    with open_for_reading(listing) as stream:
        for line, text in iterate_text_lines(listing, stream):
            if not (entry := text.strip()):
                continue
            path = path_of.pop(_record_name(entry), None)
            if not path:
                several = "several files have this name"
                problem = several if path == "" else "there is no such file, or it is listed already"
                refuse(listing, line, None, f"{entry[:80]!r}: {problem}.", kind="bad-list")
            yield path


def _record_name(path: str) -> str:
    return os.path.basename(path).lower().partition(".xml")[0]


# ---------------------------------------------------------------- one record


@dataclass
class Record:
    """The main symbol of a patent, its other symbols, and the wanted parts of its text by name."""

    main: IpcSymbol
    others: list[IpcSymbol] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


def read_record(path: Source, parts: Iterable[str], *, main_only: bool = False) -> Record:
    """Read one file; with `main_only`, the other symbols are ignored, even malformed ones."""
    with open_for_reading(path) as stream:
        return _RecordParser(path, parts, main_only).parse(stream)


class _RecordParser:
    """Handlers of expat, and the record that they have read so far."""

    def __init__(self, path: Source, parts: Iterable[str], main_only: bool) -> None:
        self.path, self.main_only = path, main_only
        self.texts = {PARTS[part]: io.StringIO() for part in parts}
        self.main: IpcSymbol | None = None
        self.others: list[IpcSymbol] = []
        self.depth = 0
        self.inside = 0  # the depth of the part that is being read, 0: none
        self.out: io.StringIO | None = None
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.XmlDeclHandler = self._declaration
        self.expat.EntityDeclHandler = self._entity
        self.expat.SkippedEntityHandler = self._unknown_entity
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self._characters

    def parse(self, stream: IO[bytes]) -> Record:
        try:
            n_bytes = 0
            while block := stream.read(_BLOCK):
                n_bytes += len(block)
                self.expat.Parse(block, False)
                if n_bytes - self.expat.CurrentByteIndex > LONGEST_TAG:
                    self._refuse(f"a tag or comment is longer than {LONGEST_TAG:,} bytes.")
                if n_bytes > LARGEST_RECORD:
                    self._refuse(f"the record is longer than {LARGEST_RECORD:,} bytes.")
            self.expat.Parse(b"", True)
        except expat.ExpatError as problem:
            what = expat.ErrorString(problem.code) or "malformed"
            refuse(self.path, problem.lineno, problem.offset + 1, f"not well-formed XML ({what}).")
        if self.main is None:
            refuse(self.path, self.expat.CurrentLineNumber, 1, 'the record has no <ipcs mc="…">, its main IPC symbol.')
        part_of = {tag: part for part, tag in PARTS.items()}
        texts = {part_of[tag]: out.getvalue().strip() for tag, out in self.texts.items()}
        return Record(self.main, self.others, texts)

    def _refuse(self, problem: str) -> NoReturn:
        refuse(self.path, self.expat.CurrentLineNumber, self.expat.CurrentColumnNumber + 1, problem)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            self._refuse(f"the encoding {encoding!r} is not read; save the file as UTF-8.")

    def _entity(self, name: str, *_: object) -> None:
        self._refuse(f"the record declares the entity {name!r}; a record of WIPO-alpha declares none.")

    def _unknown_entity(self, name: str, is_parameter: bool) -> None:
        """Read an entity of the DTD as HTML's entity of that name; others stay as they are written."""
        if not is_parameter:
            self._characters(html.entities.html5.get(f"{name};", f"&{name};"))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == 1 and name != "record":
            self._refuse(f"a WIPO-alpha file holds one <record>; this one holds <{name[:80]}>.")
        if self.depth > DEEPEST:
            self._refuse(f"more than {DEEPEST} elements are inside each other.")
        if name == "ipcs":
            if self.main is not None:
                self._refuse("the record has two <ipcs>, but one main IPC symbol is wanted.")
            self.main = self._symbol(attributes, "mc")
        elif name == "ipc" and not self.main_only:
            self.others.append(self._symbol(attributes, "ic"))
        elif self.out is not None:
            self.out.write(" ")  # an element inside a part is a paragraph, where a word ends
        elif name in self.texts and attributes.get("xml:lang", "EN").upper().startswith("EN"):
            self.out, self.inside = self.texts[name], self.depth

    def _end(self, name: str) -> None:
        if self.out is not None:
            self.out.write(" ")
            if self.depth == self.inside:
                self.out = None
        self.depth -= 1

    def _characters(self, text: str) -> None:
        if self.out is not None:
            self.out.write(text)

    def _symbol(self, attributes: dict[str, str], name: str) -> IpcSymbol:
        try:
            return parse_ipc(attributes.get(name, ""))
        except TaxonomyError as problem:
            self._refuse(f"{name}={problem}")
