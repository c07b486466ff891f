"""Parsing of svmlight, LSHTC and RCV1 text: bytes in, index, value and label arrays out.

A row is ``label,label index:value index:value # comment``. `measure` returns how much room a text needs, `parse_rows`
fills the arrays, `sort_rows` sorts indices where a format allows any order. A judgement of RCV1 is ``topic document
1``. Every text must end with a line feed, so that the inner loops need no check for the end.

Decimal numbers become Python's ``float``, bit for bit: `to_float` reports whether its result is proven to be the
nearest double, and the caller parses the other numbers (ties, very long or very large ones).
"""

from fractions import Fraction

import numpy as np

from cladist.kernels.jit import kernel

LINE_FEED, SPACE, HASH, PLUS, COMMA, MINUS, POINT, ZERO, COLON = 10, 32, 35, 43, 44, 45, 46, 48, 58

# Errors of a row; the caller puts them into words.
FINE, BAD_TOKEN, NEGATIVE, OUT_OF_RANGE, UNSORTED, BAD_VALUE = range(6)
NO_LABEL, SEVERAL_LABELS, BAD_LABEL, LONG_LABEL, NO_ID = range(6, 11)
BAD_TOPIC, BAD_DOCUMENT, NOT_ONE = range(11, 14)  # of a judgement

MOST_LABELS = 100_000  # of a row; the richest real ones have some hundreds
LONGEST_LABEL = 1_000  # in bytes: longer than any name, and a message can still show it
HIGHEST_DOCUMENT = 2**31 - 1  # document numbers are int32; those of RCV1 end at 810,596

MOST_DIGITS = 18  # of a mantissa that fits into int64
MOST_POWER = 120  # beyond it the products below could leave the range where their errors are bounded
_EXACT_INTEGER = 2**53  # integers up to here are doubles
_EXACT_POWER = 22  # 10**22 is the last power of ten that is a double
_SPLIT = 134217729.0  # 2**27 + 1: cuts a double into two halves whose products are exact
_DOUBT = 2.0**-99  # bound on the relative error of a product of pairs: a few times 2**-106, with room

_POWERS = [Fraction(10) ** k for k in range(-MOST_POWER, MOST_POWER + 1)]
_HIGH = np.array([float(p) for p in _POWERS])
_LOW = np.array([float(p - Fraction(float(p))) for p in _POWERS])


@kernel
def to_float(mantissa, power):
    """Return (mantissa · 10**power, whether that is certainly the nearest double); mantissa ≥ 0.

    Large cases multiply pairs of doubles: the true value is between p + (q − ε) and p + (q + ε), and rounding
    is monotone, so where both ends round to one double that is the answer (Dekker 1971, Clinger 1990).
    """
    if mantissa == 0:
        return 0.0, True
    if mantissa <= _EXACT_INTEGER and -_EXACT_POWER <= power <= _EXACT_POWER:
        if power < 0:
            return float(mantissa) / _HIGH[MOST_POWER - power], True
        return float(mantissa) * _HIGH[MOST_POWER + power], True
    if not -MOST_POWER <= power <= MOST_POWER:
        return 0.0, False
    a = float(mantissa)
    a_rest = float(mantissa - np.int64(a))
    b = _HIGH[MOST_POWER + power]
    p = a * b
    cut = _SPLIT * a
    a_high = cut - (cut - a)
    a_low = a - a_high
    cut = _SPLIT * b
    b_high = cut - (cut - b)
    b_low = b - b_high
    rest = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low
    q = rest + (a * _LOW[MOST_POWER + power] + a_rest * b)
    doubt = p * _DOUBT
    return p + q, p + (q - doubt) == p + (q + doubt)


@kernel
def digits(text, i, value):
    """Read decimal digits after `value`; return (value, position after them, digits that did not fit)."""
    most = 10 ** (MOST_DIGITS - 1)
    lost = 0
    while ZERO <= text[i] <= ZERO + 9:
        if value < most:
            value = value * 10 + np.int64(text[i]) - ZERO
        else:
            lost += 1
        i += 1
    return value, i, lost


@kernel
def number(text, i):
    """Read ``[+-]digits[.digits][e[+-]digits]``; return (value, sure, position after it or −1)."""
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    mantissa, end, lost = digits(text, i, np.int64(0))
    n_digits = end - i
    power = 0
    if text[end] == POINT:
        start = end + 1
        mantissa, end, lost_after = digits(text, start, mantissa)
        n_digits += end - start
        power = start - end
        lost += lost_after
    if n_digits == 0:
        return 0.0, True, -1
    if text[end] == 101 or text[end] == 69:  # e, E
        start = end + 1
        down = text[start] == MINUS
        if down or text[start] == PLUS:
            start += 1
        exponent, end, _ = digits(text, start, np.int64(0))
        if end == start:
            return 0.0, True, -1
        power += -exponent if down else exponent
    value, sure = to_float(mantissa, power)
    return (-value if negative else value), sure and lost == 0, end


@kernel
def _past_blanks(text, i):
    while text[i] == SPACE or text[i] == 9 or 11 <= text[i] <= 13:
        i += 1
    return i


@kernel
def _ends_token(c):
    return 9 <= c <= 13 or c in (SPACE, HASH)


@kernel
def measure(text):
    """Return bounds on (lines, features, labels) of a text, and where a row has more than `MOST_LABELS`, or −1."""
    lines = features = commas = on_line = 0
    in_labels = True
    for i in range(len(text)):
        c = text[i]
        if c == LINE_FEED:
            lines += 1
            on_line = 0
            in_labels = True
        elif c == COLON:
            features += 1
            in_labels = False
        elif c == HASH:
            in_labels = False
        elif c == COMMA and in_labels:
            commas += 1
            on_line += 1
            if on_line == MOST_LABELS:
                return lines, features, commas, i
    return lines, features, lines + commas, -1


@kernel
def _labels(text, i, n, several, loose, labels):
    """Read the labels at i; return (position after them, number of labels so far, error)."""
    starts, ends, keys, _, _ = labels
    token, first = i, n
    start, key = i, np.uint64(0)
    while True:
        c = text[i]
        over = _ends_token(c)
        if over or c == COMMA:
            if i == start:
                return i, n, BAD_LABEL
            if i - start > LONGEST_LABEL:
                return start, n, LONG_LABEL
            starts[n], ends[n], keys[n] = start, i, key
            n += 1
            if over:
                break
            while loose and text[i + 1] == SPACE:
                i += 1
            start, key = i + 1, np.uint64(0)
        elif c == COLON:  # a row without labels begins with its first feature
            if loose and n > first:
                return start, n, BAD_LABEL
            return token, first, FINE if several else NO_LABEL
        elif c < SPACE:
            return i, n, BAD_LABEL
        else:
            key = (key << np.uint64(8)) | np.uint64(c)
        i += 1
    return (i, n, FINE) if several or n == first + 1 else (ends[first], n, SEVERAL_LABELS)


@kernel
def _features(text, i, n, n_unsure, loose, with_id, rules, features):
    """Read the features up to the end of the line; return (position, number so far, number unsure, error)."""
    lowest, highest, largest = rules
    indices, values, unsure, _ = features
    previous = np.int64(-1)
    while True:
        i = _past_blanks(text, i)
        if text[i] == LINE_FEED or text[i] == HASH:
            return i, n, n_unsure, NO_ID if with_id else FINE
        index, colon, lost = digits(text, i, np.int64(0))
        if colon == i or text[colon] != COLON:
            return i, n, n_unsure, NEGATIVE if text[i] == MINUS else BAD_TOKEN
        if with_id and index > 0:
            return i, n, n_unsure, NO_ID
        if not with_id and (lost > 0 or not lowest <= index <= highest):
            return i, n, n_unsure, OUT_OF_RANGE
        if index <= previous and not loose:
            return i, n, n_unsure, UNSORTED
        value, sure, end = number(text, colon + 1)
        if end < 0 or not _ends_token(text[end]) or (sure and abs(value) > largest and not with_id):
            return colon + 1, n, n_unsure, BAD_VALUE
        i = end
        if with_id:
            with_id = False
            continue
        indices[n], values[n] = index, value
        if not sure:
            unsure[n_unsure, 0], unsure[n_unsure, 1] = n, colon + 1
            n_unsure += 1
        previous = index
        n += 1


@kernel
def parse_rows(text, form, rules, labels, features):
    """Parse the rows of `text`; return (rows, unsure numbers, error, its position).

    `form` is (several, loose, with_id): whether a row may have any number of labels instead of one; whether spaces may
    follow the commas between labels and indices may come in any order; whether every row's first feature is ``0:`` and
    the number of the document, which is left out. `rules` is (lowest index, highest index, largest magnitude).

    Arrays to fill: `labels` is (start, end, key, end of row, start of row), where a key is the last eight bytes of a
    label and a row ends with a number of labels; `features` is (index, value, unsure, end of row), where `unsure` gets
    (feature, start) of each number that the caller must parse.
    """
    several, loose, with_id = form
    i = n_rows = n_labels = n_features = n_unsure = 0
    while i < len(text):
        i = _past_blanks(text, i)
        if text[i] != LINE_FEED and text[i] != HASH:
            labels[4][n_rows] = i
            i, n_labels, error = _labels(text, i, n_labels, several, loose, labels)
            if error == FINE:
                i, n_features, n_unsure, error = _features(
                    text, i, n_features, n_unsure, loose, with_id, rules, features
                )
            if error != FINE:
                return n_rows, n_unsure, error, i
            labels[3][n_rows], features[3][n_rows] = n_labels, n_features
            n_rows += 1
        while text[i] != LINE_FEED:
            i += 1
        i += 1
    return n_rows, n_unsure, FINE, i


@kernel
def sort_rows(row_ends, indices, values):
    """Sort each row's features by index, in place; return (row, index) of the first index that repeats, or (−1, −1)."""
    start = np.int64(0)
    for row in range(len(row_ends)):
        end = row_ends[row]
        rises = True
        for k in range(start + 1, end):
            rises = rises and indices[k - 1] < indices[k]
        if not rises:
            order = np.argsort(indices[start:end], kind="mergesort")
            indices[start:end] = indices[start:end][order]
            values[start:end] = values[start:end][order]
            for k in range(start + 1, end):
                if indices[k - 1] == indices[k]:
                    return row, np.int64(indices[k])
        start = np.int64(end)
    return -1, np.int64(-1)


@kernel
def parse_judgements(text, topics, documents):
    """Parse the judgements of `text`; return (judgements, error, its position).

    `topics` is (start, end, key), the place of each topic and its last eight bytes; these arrays and the int32 array
    `documents` are filled.
    """
    starts, ends, keys = topics
    i = n = 0
    while i < len(text):
        i = _past_blanks(text, i)
        if text[i] != LINE_FEED:
            start, key = i, np.uint64(0)
            while text[i] > SPACE:
                key = (key << np.uint64(8)) | np.uint64(text[i])
                i += 1
            if i == start or i - start > LONGEST_LABEL:
                return n, BAD_TOPIC, start
            starts[n], ends[n], keys[n] = start, i, key
            i = _past_blanks(text, i)
            document, end, lost = digits(text, i, np.int64(0))
            if end == i or lost > 0 or document > HIGHEST_DOCUMENT or text[end] > SPACE:
                return n, BAD_DOCUMENT, i
            documents[n] = document
            i = _past_blanks(text, end)
            end = _past_blanks(text, i + (text[i] == ZERO + 1))
            if text[i] != ZERO + 1 or text[end] != LINE_FEED:
                return n, NOT_ONE, i
            i = end
            n += 1
        i += 1
    return n, FINE, i
