"""Files of other people: opened with limits, written whole or not at all, and the one dialect of delimited text."""

from cladist.files.atomic import NamedFile, name_errors, open_for_writing, open_replacement
from cladist.files.open import (
    LARGEST_TEXT,
    LONGEST_LINE,
    PACKED_ENDINGS,
    Source,
    data_suffix,
    decode,
    display_name,
    iterate_byte_lines,
    iterate_chunks,
    iterate_text_lines,
    open_for_reading,
    read_text,
    refuse,
)

__all__ = [
    "LARGEST_TEXT",
    "LONGEST_LINE",
    "PACKED_ENDINGS",
    "NamedFile",
    "Source",
    "data_suffix",
    "decode",
    "display_name",
    "iterate_byte_lines",
    "iterate_chunks",
    "iterate_text_lines",
    "name_errors",
    "open_for_reading",
    "open_for_writing",
    "open_replacement",
    "read_text",
    "refuse",
]
