"""WIPO-alpha: English patents as XML records, labelled with symbols of the International Patent Classification.

The standard library's expat parses the records; it neither follows the DTD nor loads entities. Declared entities, which
can make a huge text of a small file, are refused, and so are files larger than a patent.
"""

from __future__ import annotations

import html.entities
import io
import os
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from typing import Any, NoReturn
from xml.parsers import expat

from cladist import progress
from cladist.datasets.dataset import Dataset, as_objects
from cladist.datasets.loaders.catalogue import files_below, parts_below, read_bytes
from cladist.errors import ParameterError, TaxonomyError, one_of
from cladist.files import iterate_text_lines, open_for_reading, refuse
from cladist.taxonomy import Taxonomy, as_taxonomy
from cladist.taxonomy.formats.ipc import LEVELS, IpcSymbol, ipc_taxonomy, parse_ipc

Folder = str | PathLike[str]

PARTS = {"title": "ti", "abstract": "ab", "claims": "cl", "text": "txt"}
ENCODINGS = (None, "utf-8", "utf-16", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252")

LARGEST_RECORD = 32 * 2**20  # bytes; patents with long listings have a few megabytes


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
    part_names = list(dict.fromkeys([parts] if isinstance(parts, str) else parts))
    if not part_names or not all(part in PARTS for part in part_names):
        raise ParameterError(f"read_wipo_alpha: parts must be some of {', '.join(map(repr, PARTS))}; got {parts!r}.")
    tree = None if taxonomy is None else as_taxonomy(taxonomy)
    names_by_symbol = {} if tree is None else _names_by_symbol(tree)
    name_of: dict[IpcSymbol, str] = {}  # each name is held once
    split = _files(folder)
    texts: list[str] = []
    rows: list[list[str]] = []
    ends: list[int] = []
    with progress.task("Reading WIPO-alpha", total=sum(map(len, split))) as task:
        for paths in split:
            for path in paths:
                record = _Record(path, part_names, main_only)
                if section in (None, record.symbols[0].head[0]):
                    texts.append(record.text)
                    labels = dict.fromkeys(_label(path, symbol, level) for symbol in record.symbols)
                    for label in labels:
                        if tree is not None and label not in names_by_symbol:
                            refuse(
                                path, None, None, f"{label.name} is not in the taxonomy{tree.suggestion(label.name)}"
                            )
                        name_of.setdefault(label, names_by_symbol.get(label, label.name))
                    rows.append([name_of[label] for label in labels])
                task.advance()
            ends.append(len(texts))
    if not any(texts):
        problem = f"there is no English {' or '.join(part_names)} in any of its {sum(map(len, split))} records"
        refuse(folder, None, None, f"{problem}{'' if section is None else f' of section {section}'}.", kind="no-rows")
    y: Any = as_objects([row[0] for row in rows]) if main_only else rows
    tree = tree or ipc_taxonomy(name_of, level=level)
    fields: dict[str, Any] = {"taxonomy": tree, "source": f"WIPO-alpha, {fspath(folder)}"}
    if len(ends) == 2:
        fields |= {"train_rows": slice(0, ends[0]), "test_rows": slice(ends[0], ends[1])}
    return Dataset(as_objects(texts), y, **fields)


def _label(path: str, symbol: IpcSymbol, level: str) -> IpcSymbol:
    label = symbol.at(level)
    if label is None:
        refuse(path, None, None, f"{symbol.name} is a {symbol.level}, above the level asked for, {level}.")
    return label


def _names_by_symbol(taxonomy: Taxonomy) -> dict[IpcSymbol, str]:
    """Return the nodes that are IPC symbols, in any spelling."""
    names: dict[IpcSymbol, str] = {}
    for name in taxonomy:
        try:
            symbol = parse_ipc(name)
        except TaxonomyError:
            continue  # a root above the sections, say
        if symbol in names:
            raise TaxonomyError(f"The nodes {names[symbol]!r} and {name!r} are the same IPC symbol.")
        names[symbol] = name
    return names


def _files(folder: Folder) -> list[list[str]]:
    """Return the paths of all records, or, where the collection is split, of those for training and for testing."""
    parts = parts_below(folder)
    split = [files_below(part, ".xml") for part in parts or [folder]]
    for place, paths in zip(parts or [folder], split, strict=True):
        if not paths:
            refuse(place, None, None, "there are no .xml files.")
    lists = [os.path.join(folder, f"{part}.txt") for part in ("train", "test")]
    n_lists = sum(map(os.path.isfile, lists))
    if parts or not n_lists:
        return split
    if n_lists == 1:
        refuse(folder, None, None, "of train.txt and test.txt, only one is there.")
    path_of: dict[str, str] = {}
    for path in split[0]:
        name = _record_name(path)
        path_of[name] = "" if name in path_of else path
    return [list(_listed_files(listing, path_of)) for listing in lists]


def _listed_files(listing: str, path_of: dict[str, str]) -> Iterator[str]:
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


class _Record:
    """The symbols of a patent, the main one first, and the wanted parts of its text; its methods are expat's handlers.

    With `main_only`, the other symbols are ignored, even malformed ones.
    """

    def __init__(self, path: str, parts: list[str], main_only: bool) -> None:
        self.path, self.main_only = path, main_only
        self.symbols: list[IpcSymbol] = []
        self.texts = {PARTS[part]: io.StringIO() for part in parts}
        self.open: list[io.StringIO | None] = []  # of each open element, the part it belongs to
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.XmlDeclHandler = self._declaration
        self.expat.EntityDeclHandler = self._entity
        self.expat.SkippedEntityHandler = self._unknown_entity
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self._characters
        try:
            self.expat.Parse(read_bytes(path, LARGEST_RECORD), True)
        except expat.ExpatError as problem:
            what = expat.ErrorString(problem.code) or "malformed"
            refuse(path, problem.lineno, problem.offset + 1, f"not well-formed XML ({what}).")
        if not self.symbols:
            self._refuse('the record has no <ipcs mc="…">, its main IPC symbol.')
        self.text = " ".join(filter(None, (part.getvalue().strip() for part in self.texts.values())))
        del self.expat, self.texts  # which refer to each other, and would stay in memory

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
        if not self.open and name != "record":
            self._refuse(f"a WIPO-alpha file holds one <record>; this one holds <{name[:80]}>.")
        if name == "ipcs":
            if self.symbols:
                self._refuse("the record has two <ipcs>, but one main IPC symbol is wanted.")
            self._symbol(attributes, "mc")
        elif name == "ipc" and not self.main_only:
            self._symbol(attributes, "ic")
        self._characters(" ")  # an element inside a part is a paragraph, where a word ends
        part = self.open[-1] if self.open else None
        if part is None and attributes.get("xml:lang", "EN").upper().startswith("EN"):
            part = self.texts.get(name)
        self.open.append(part)

    def _end(self, name: str) -> None:
        self._characters(" ")
        self.open.pop()

    def _characters(self, text: str) -> None:
        if self.open and self.open[-1] is not None:
            self.open[-1].write(text)

    def _symbol(self, attributes: dict[str, str], name: str) -> None:
        try:
            self.symbols.append(parse_ipc(attributes.get(name, "")))
        except TaxonomyError as problem:
            self._refuse(f"{name}={problem}")
