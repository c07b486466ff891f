"""One XML record of WIPO-alpha → its symbols and texts; nothing outside the file is ever read for it.

The standard library's expat parses; it neither follows the DTD nor loads entities. Declared entities, which can make
a small file a huge text, are refused, and so are files, tags and nestings beyond what a patent can have.
"""

from __future__ import annotations

import html.entities
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import IO, NoReturn
from xml.parsers import expat

from cladist.errors import TaxonomyError
from cladist.files import Source, opened, refuse
from cladist.taxonomy.formats.ipc import IpcSymbol, parse_ipc

PARTS = {"title": "ti", "abstract": "ab", "claims": "cl", "text": "txt"}
ENCODINGS = (None, "utf-8", "utf-16", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252")

LARGEST_RECORD = 32 * 2**20  # bytes; patents with long listings have a few megabytes
LONGEST_TAG = 2**20  # bytes of one tag or comment
DEEPEST = 100  # elements inside each other
_BLOCK = 1 << 16


@dataclass
class Record:
    """What is kept of a patent: its main symbol, the others, and the parts asked for, by name."""

    main: IpcSymbol
    others: list[IpcSymbol] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


def read_record(path: Source, parts: Iterable[str], *, main_only: bool = False) -> Record:
    """Read one file; with `main_only`, symbols beside the main one are passed over, whatever they are."""
    with opened(path) as stream:
        return _Parser(path, parts, main_only).parsed(stream)


class _Parser:
    """Expat's handlers, and what they have met so far."""

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

    def parsed(self, stream: IO[bytes]) -> Record:
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
        """Take an entity of the DTD, which is not read, for HTML's; what HTML does not know stays as it is written."""
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
