"""Parsing of svmlight text: bytes in, index, value and label arrays out.

A row is ``label,label index:value index:value # comment``. `parse_rows` is the entry; every text must end
with a line feed, which is what lets the inner loops run without a check for the end.

Numbers are those of Python's ``float``, bit for bit: `_to_float` answers only where its result is proven to
be the nearest double, and leaves the others (ties, very long or very large numbers) to the caller.
"""

from fractions import Fraction

import numpy as np

from cladist.kernels.jit import kernel

LINE_FEED, SPACE, HASH, COMMA, COLON, PLUS, MINUS, POINT, ZERO = 10, 32, 35, 44, 58, 43, 45, 46, 48

# What can be wrong with a row; the caller puts it into words.
FINE, BAD_TOKEN, NEGATIVE, OUT_OF_RANGE, UNSORTED, BAD_VALUE, NO_LABEL, SEVERAL_LABELS, BAD_LABEL = range(9)

MOST_DIGITS = 18  # a mantissa of so many digits fits into int64
MOST_POWER = 120  # beyond it the products below could leave the range where their errors are bounded
_EXACT_INTEGER = 2**53  # integers up to here are doubles
_EXACT_POWER = 22  # 10**22 is the last power of ten that is a double
_SPLIT = 134217729.0  # 2**27 + 1: cuts a double into two halves whose products are exact
_DOUBT = 2.0**-99  # bound on the relative error of a product of pairs: a few times 2**-106, with room

_POWERS = [Fraction(10) ** k for k in range(-MOST_POWER, MOST_POWER + 1)]
_HIGH = np.array([float(p) for p in _POWERS])
_LOW = np.array([float(p - Fraction(float(p))) for p in _POWERS])


@kernel
def _to_float(mantissa, power):
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
def _digits(text, i, value):
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
def _number(text, i):
    """Read ``[+-]digits[.digits][e[+-]digits]``; return (value, sure, position after it or −1)."""
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    mantissa, end, lost = _digits(text, i, np.int64(0))
    n_digits = end - i
    power = 0
    if text[end] == POINT:
        start = end + 1
        mantissa, end, lost_after = _digits(text, start, mantissa)
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
        exponent, end, _ = _digits(text, start, np.int64(0))
        if end == start:
            return 0.0, True, -1
        power += -exponent if down else exponent
    value, sure = _to_float(mantissa, power)
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
def _labels(text, i, n, several, labels):
    """Read the label token at i; return (position after it, number of labels so far, error)."""
    starts, ends, keys, _, _ = labels
    token, first = i, n
    start, key = i, np.uint64(0)
    while True:
        c = text[i]
        over = _ends_token(c)
        if over or c == COMMA:
            if i == start:
                return i, n, BAD_LABEL
            starts[n], ends[n], keys[n] = start, i, key
            n += 1
            start, key = i + 1, np.uint64(0)
            if over:
                break
        elif c == COLON:  # a row without labels begins with its first feature
            return token, first, FINE if several else NO_LABEL
        elif c < SPACE:
            return i, n, BAD_LABEL
        else:
            key = (key << np.uint64(8)) | np.uint64(c)
        i += 1
    return (i, n, FINE) if several or n == first + 1 else (ends[first], n, SEVERAL_LABELS)


@kernel
def _features(text, i, n, n_unsure, rules, features):
    """Read the features up to the end of the line; return (position, number so far, number unsure, error)."""
    lowest, highest, largest = rules
    indices, values, unsure, _ = features
    previous = np.int64(-1)
    while True:
        i = _past_blanks(text, i)
        if text[i] == LINE_FEED or text[i] == HASH:
            return i, n, n_unsure, FINE
        index, colon, lost = _digits(text, i, np.int64(0))
        if colon == i or text[colon] != COLON:
            return i, n, n_unsure, NEGATIVE if text[i] == MINUS else BAD_TOKEN
        if lost > 0 or not lowest <= index <= highest:
            return i, n, n_unsure, OUT_OF_RANGE
        if index <= previous:
            return i, n, n_unsure, UNSORTED
        value, sure, end = _number(text, colon + 1)
        if end < 0 or not _ends_token(text[end]) or (sure and abs(value) > largest):
            return colon + 1, n, n_unsure, BAD_VALUE
        indices[n], values[n] = index, value
        if not sure:
            unsure[n_unsure, 0], unsure[n_unsure, 1], unsure[n_unsure, 2] = n, colon + 1, end
            n_unsure += 1
        previous = index
        n += 1
        i = end


@kernel
def parse_rows(text, several, rules, labels, features):
    """Parse the rows of `text`, which ends with a line feed.

    Parameters
    ----------
    text : uint8 array
    several : bool
        Whether a row may have any number of labels instead of one.
    rules : (lowest index, highest index, largest magnitude of a value)
    labels : (start, end, key, end of row, start of row), arrays to fill
        Where each label stands and its last eight bytes; for each row the number of labels up to its end, and
        where it starts.
    features : (index, value, unsure, end of row), arrays to fill
        `unsure` gets (feature, start, end) of each number that the caller must parse himself.

    Returns
    -------
    (rows, unsure numbers, error, its position)
    """
    i = n_rows = n_labels = n_features = n_unsure = 0
    while i < len(text):
        i = _past_blanks(text, i)
        if text[i] != LINE_FEED and text[i] != HASH:
            labels[4][n_rows] = i
            i, n_labels, error = _labels(text, i, n_labels, several, labels)
            if error == FINE:
                i, n_features, n_unsure, error = _features(text, i, n_features, n_unsure, rules, features)
            if error != FINE:
                return n_rows, n_unsure, error, i
            labels[3][n_rows], features[3][n_rows] = n_labels, n_features
            n_rows += 1
        while text[i] != LINE_FEED:
            i += 1
        i += 1
    return n_rows, n_unsure, FINE, i
