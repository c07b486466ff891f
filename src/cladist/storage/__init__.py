"""A manifest and named arrays ↔ a folder: atomic, checksummed, without pickle. Independent of all other packages."""

from cladist.locks import lock_folder
from cladist.storage.array_groups import pack_strings, unpack_strings
from cladist.storage.folder import check_replaceable, read_folder, write_beside, write_folder
from cladist.storage.tensor_file import is_mapped, is_unread
from cladist.storage.values import from_json_value, to_json_value

__all__ = [
    "check_replaceable",
    "from_json_value",
    "is_mapped",
    "is_unread",
    "lock_folder",
    "pack_strings",
    "read_folder",
    "to_json_value",
    "unpack_strings",
    "write_beside",
    "write_folder",
]
