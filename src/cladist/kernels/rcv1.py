"""Parsing of RCV1's judgements, and of the document numbers that its rows begin with.

A judgement is a line ``topic document 1``. Every text must end with a line feed, which is what lets the inner loops
run without a check for the end.
"""

import numpy as np

from cladist.kernels.decimals import ZERO, digits
from cladist.kernels.jit import kernel

LINE_FEED, SPACE = 10, 32
HIGHEST_DOCUMENT = 2**31 - 1  # numbers are int32; RCV1's end at 810,596

# What can be wrong with a line; the caller puts it into words.
FINE, BAD_TOPIC, BAD_DOCUMENT, NOT_ONE = range(4)


@kernel
def _past_blanks(text, i):
    while text[i] == SPACE or text[i] == 9 or 11 <= text[i] <= 13:
        i += 1
    return i


@kernel
def _document(text, i):
    """Read a document's number; return (number, position after it or −1)."""
    document, end, lost = digits(text, i, np.int64(0))
    fine = end > i and lost == 0 and document <= HIGHEST_DOCUMENT and text[end] <= SPACE
    return document, (end if fine else -1)


@kernel
def parse_judgements(text, longest, topics, documents):
    """Parse the judgements of `text`, which ends with a line feed.

    Parameters
    ----------
    text : uint8 array
    longest : int
        How many bytes a topic may have.
    topics : (start, end, key), arrays to fill
        Where each topic stands and its last eight bytes.
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
            if i == start or i - start > longest:
                return n, BAD_TOPIC, start
            starts[n], ends[n], keys[n] = start, i, key
            i = _past_blanks(text, i)
            document, end = _document(text, i)
            if end < 0:
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


@kernel
def document_numbers(text, starts, documents):
    """Read the number at each of the `starts` into `documents`; return the first that is none, or −1."""
    for k in range(len(starts)):
        document, end = _document(text, starts[k])
        if end < 0:
            return k
        documents[k] = document
    return -1
