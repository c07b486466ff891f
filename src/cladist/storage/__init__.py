"""A manifest and named arrays ↔ a folder: atomic, checksummed, without pickle. Knows no class of ours."""

from cladist.storage.array_file import is_mapped, is_unread
from cladist.storage.lock import locked
from cladist.storage.reader import read_content, read_folder
from cladist.storage.spool import Spool
from cladist.storage.strings import pack_strings, unpack_strings
from cladist.storage.values import from_json_value, to_json_value
from cladist.storage.writer import check_replaceable, write_folder

__all__ = [
    "Spool",
    "check_replaceable",
    "from_json_value",
    "is_mapped",
    "is_unread",
    "locked",
    "pack_strings",
    "read_content",
    "read_folder",
    "to_json_value",
    "unpack_strings",
    "write_folder",
]
