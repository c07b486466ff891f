"""The tokens of ARFF data rows: names, numbers, sets of labels. Bytes in, codes and values out.

Every text must end with a line feed, which is what lets the loops run without a check for the end.

Names (nominal values, labels) are found in a table ``(slots, starts, owners, codes, pool)``: entry e is the bytes
``pool[starts[e]:starts[e + 1]]`` of attribute ``owners[e]`` and stands for ``codes[e]``; `slots` is a hash table of
entries, −1 where empty, whose length is a power of two.
"""

import numpy as np

from cladist.kernels.decimals import number
from cladist.kernels.jit import kernel

LINE_FEED, SPACE, DOUBLE_QUOTE, PERCENT, SINGLE_QUOTE, COMMA = 10, 32, 34, 37, 39, 44
QUESTION_MARK, AT, BACKSLASH, OPEN, CLOSE = 63, 64, 92, 123, 125

# What an attribute is.
IGNORED, NUMERIC, NOMINAL, LABELS = range(4)

# What can be wrong with a row; the caller puts it into words.
FINE, BAD_NUMBER, UNKNOWN_VALUE, UNKNOWN_LABEL, EMPTY_LABEL, MANY_LABELS, UNCLOSED_QUOTE = range(7)
TOO_FEW, TOO_MANY, NO_COMMA, WEIGHT, OTHER_KIND, BAD_INDEX, OUT_OF_RANGE, REPEATED, UNCLOSED_ROW = range(7, 16)

MOST_LABELS = 100_000  # of a row; the richest real ones have some hundreds


@kernel
def _hash(text, start, end, owner):
    """Return a hash of 31 bits (FNV-1a); its products fit into int64."""
    h = np.int64(owner) + 2166136261
    for i in range(start, end):
        h = ((h ^ np.int64(text[i])) * 16777619) & 0x7FFFFFFF
    return h


@kernel
def fill_slots(slots, starts, owners, pool):
    """Put every entry of a table into its slots; of equal ones, the first is found."""
    mask = len(slots) - 1
    for e in range(len(owners)):
        s = _hash(pool, starts[e], starts[e + 1], owners[e]) & mask
        while slots[s] >= 0:
            s = (s + 1) & mask
        slots[s] = e


@kernel
def find(text, start, end, owner, table):
    """Return the code of an attribute's name, or −1."""
    slots, starts, owners, codes, pool = table
    mask = len(slots) - 1
    s = _hash(text, start, end, owner) & mask
    while slots[s] >= 0:
        e = slots[s]
        first = starts[e]
        if owners[e] == owner and starts[e + 1] - first == end - start:
            k = 0
            while k < end - start and pool[first + k] == text[start + k]:
                k += 1
            if k == end - start:
                return np.int64(codes[e])
        s = (s + 1) & mask
    return np.int64(-1)


@kernel
def is_blank(c):
    """Tell whether a byte is a blank other than a line feed."""
    return c == SPACE or c == 9 or 11 <= c <= 13


@kernel
def past_blanks(text, i):
    """Return the position of the first byte from i on that is no blank."""
    while is_blank(text[i]):
        i += 1
    return i


@kernel
def past_line(text, i):
    """Return the position after the next line feed."""
    while text[i] != LINE_FEED:
        i += 1
    return i + 1


@kernel
def _ends_field(c, closing):
    return c in (COMMA, LINE_FEED, PERCENT, closing)


@kernel
def token(text, i, closing):
    """Find the token at i; return (its start, its end, position after it). A quote that is not closed: start −1.

    `closing` is one more byte that ends a token. A blank and a percent sign begin a comment.
    """
    quote = text[i]
    j = i
    if quote in (SINGLE_QUOTE, DOUBLE_QUOTE):
        j += 1
        while text[j] != quote:
            if text[j] == LINE_FEED:
                return -1, i, i
            j += 2 if text[j] == BACKSLASH and text[j + 1] != LINE_FEED else 1
        return i + 1, j, j + 1
    while not (text[j] == COMMA or text[j] == LINE_FEED or text[j] == closing):
        if text[j] == PERCENT and j > i and is_blank(text[j - 1]):
            break
        j += 1
    end = j
    while end > i and is_blank(text[end - 1]):
        end -= 1
    return i, end, j


@kernel
def _is_missing(text, i, closing):
    return text[i] == QUESTION_MARK and _ends_field(text[past_blanks(text, i + 1)], closing)


@kernel
def numeric(text, i, closing, largest):
    """Read a number; return (it, whether it is sure, position after it, error). Missing is NaN.

    A number whose last bit is in doubt is the caller's to read.
    """
    if _is_missing(text, i, closing):
        return np.nan, True, i + 1, FINE
    x, sure, end = number(text, i)
    if end < 0 or not (is_blank(text[end]) or _ends_field(text[end], closing)) or (sure and abs(x) > largest):
        return 0.0, True, i, BAD_NUMBER
    return x, sure, end, FINE


@kernel
def nominal(text, i, attribute, closing, table):
    """Read a value of a nominal attribute; return (its code, whether it is sure, position after it, error).

    Missing is −1. A quoted value with backslashes is the caller's to read.
    """
    if _is_missing(text, i, closing):
        return np.int64(-1), True, i + 1, FINE
    start, end, after = token(text, i, closing)
    if start < 0:
        return np.int64(0), True, i, UNCLOSED_QUOTE
    if start > i:
        for j in range(start, end):
            if text[j] == BACKSLASH:
                return np.int64(0), False, after, FINE
    code = find(text, start, end, attribute, table)
    if code < 0:
        return np.int64(0), True, i, UNKNOWN_VALUE
    return code, True, after, FINE


@kernel
def label_set(text, i, attribute, closing, table, ids, n):
    """Read ``label@label…`` or ``?``; return (number of labels so far, position after them, error)."""
    start, end, after = token(text, i, closing)
    if start < 0:
        return n, i, UNCLOSED_QUOTE
    if end == start + 1 and text[start] == QUESTION_MARK:
        return n, after, FINE
    most = n + MOST_LABELS
    while True:
        stop = start
        while stop < end and text[stop] != AT:
            stop += 1
        last = stop
        while start < last and is_blank(text[start]):
            start += 1
        while start < last and is_blank(text[last - 1]):
            last -= 1
        if start == last:
            return n, start, EMPTY_LABEL
        if n == most:
            return n, start, MANY_LABELS
        code = find(text, start, last, attribute, table)
        if code < 0:
            return n, start, UNKNOWN_LABEL
        ids[n] = code
        n += 1
        if stop == end:
            return n, after, FINE
        start = stop + 1


@kernel
def row_end(text, i):
    """Tell what is wrong with what stands behind the last value of a row, if anything."""
    c = text[i]
    if c in (LINE_FEED, PERCENT):
        return FINE
    if c == OPEN or (c == COMMA and text[past_blanks(text, i + 1)] == OPEN):
        return WEIGHT
    return TOO_MANY if c == COMMA else NO_COMMA
