"""Parsing of svmlight, LSHTC and RCV1 text: bytes in, index, value and label arrays out.

A row is ``label,label index:value index:value # comment``. `measure` returns how much room a text needs, `parse_rows`
fills the arrays, `sort_rows` sorts indices where a format allows any order. A judgement of RCV1 is ``topic document
1``. Every text must end with a line feed, so that the inner loops need no check for the end.
"""

import numpy as np

from cladist.kernels.decimals import MINUS, ZERO, digits, number
from cladist.kernels.jit import kernel

LINE_FEED, SPACE, HASH, COMMA, COLON = 10, 32, 35, 44, 58

# Errors of a row; the caller puts them into words.
FINE, BAD_TOKEN, NEGATIVE, OUT_OF_RANGE, UNSORTED, BAD_VALUE = range(6)
NO_LABEL, SEVERAL_LABELS, BAD_LABEL, LONG_LABEL, NO_ID = range(6, 11)
BAD_TOPIC, BAD_DOCUMENT, NOT_ONE = range(11, 14)  # of a judgement

MOST_LABELS = 100_000  # of a row; the richest real ones have some hundreds
LONGEST_LABEL = 1_000  # in bytes: longer than any name, and a message can still show it
HIGHEST_DOCUMENT = 2**31 - 1  # document numbers are int32; those of RCV1 end at 810,596


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
    """Parse the rows of `text`, which ends with a line feed.

    Parameters
    ----------
    text : uint8 array
    form : (several, loose, with_id), each a bool
        Whether a row may have any number of labels instead of one; whether spaces may follow the commas between
        labels and indices may come in any order; whether every row's first feature is ``0:`` and the number of the
        document, which is left out.
    rules : (lowest index, highest index, largest magnitude of a value)
    labels : (start, end, key, end of row, start of row), arrays to fill
        Where each label stands and its last eight bytes; for each row the number of labels up to its end, and
        where it starts.
    features : (index, value, unsure, end of row), arrays to fill
        `unsure` gets (feature, start) of each number that the caller must parse.

    Returns
    -------
    (rows, unsure numbers, error, its position)
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
    """Parse the judgements of `text`, which ends with a line feed.

    Parameters
    ----------
    text : uint8 array
    topics : (start, end, key), arrays to fill
        The place of each topic and its last eight bytes.
    documents : int32 array to fill

    Returns
    -------
    (judgements, error, its position)
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
