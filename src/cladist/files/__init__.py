"""Files of other people: opened with limits, written whole or not at all, and the one dialect of delimited text."""

from cladist.files.atomic import NamedFile, naming, replacing, written
from cladist.files.open import (
    LARGEST_TEXT,
    LONGEST_LINE,
    PACKED_ENDINGS,
    Source,
    byte_lines,
    data_suffix,
    decoded,
    opened,
    read_text,
    refuse,
    shown_name,
    text_lines,
    whole_lines,
)

__all__ = [
    "LARGEST_TEXT",
    "LONGEST_LINE",
    "PACKED_ENDINGS",
    "NamedFile",
    "Source",
    "byte_lines",
    "data_suffix",
    "decoded",
    "naming",
    "opened",
    "read_text",
    "refuse",
    "replacing",
    "shown_name",
    "text_lines",
    "whole_lines",
    "written",
]
