"""The data rows of ARFF text: bytes in, values and label ids out.

A row is dense, ``1.5,?,red,a/b@c``, or sparse, ``{1 1.5, 4 a/b@c}``. The buffers to fill are the caller's; parsing
stops before a row that might not fit, and is called again from there.

`schema` is (kind, first column, number of values, nominal attributes): of each attribute the first three, then a list.
`labels` is (ids, end of each row, start of each row); `ids` holds at least `MOST_LABELS`.
`unsure` gets (row or entry, attribute, start, end) of each value that the caller must read himself; it holds at least
one an attribute.
"""

import numpy as np

from cladist.kernels.arff_tokens import (
    BAD_INDEX,
    CLOSE,
    COMMA,
    FINE,
    LABELS,
    LINE_FEED,
    MOST_LABELS,
    NO_COMMA,
    NOMINAL,
    NUMERIC,
    OPEN,
    OTHER_KIND,
    OUT_OF_RANGE,
    PERCENT,
    REPEATED,
    TOO_FEW,
    UNCLOSED_QUOTE,
    UNCLOSED_ROW,
    is_blank,
    label_set,
    nominal,
    numeric,
    past_blanks,
    past_line,
    row_end,
    token,
)
from cladist.kernels.decimals import digits
from cladist.kernels.jit import kernel

NO_LABEL, SEVERAL_LABELS = -1, -2


@kernel
def _note(unsure, n, where, attribute, start, end):
    unsure[n, 0], unsure[n, 1], unsure[n, 2], unsure[n, 3] = where, attribute, start, end
    return n + 1


@kernel
def _dense_row(text, i, schema, largest, table, X, row, ids, n_labels, unsure, n_unsure):
    """Read one row; return (position, labels so far, unsure values so far, error, the last attribute)."""
    kinds, first_column, n_values, _ = schema
    for attribute in range(len(kinds)):
        i = past_blanks(text, i)
        start, kind, sure = i, kinds[attribute], True
        if kind == NUMERIC:
            x, sure, i, error = numeric(text, i, LINE_FEED, largest)
            X[row, first_column[attribute]] = x
        elif kind == NOMINAL:
            code, sure, i, error = nominal(text, i, attribute, LINE_FEED, table)
            column = first_column[attribute]
            X[row, column : column + n_values[attribute]] = np.nan if code < 0 else 0.0
            if sure and code >= 0:
                X[row, column + code] = 1.0
        elif kind == LABELS:
            n_labels, i, error = label_set(text, i, attribute, LINE_FEED, table, ids, n_labels)
        else:
            opening, _, i = token(text, i, LINE_FEED)
            error = UNCLOSED_QUOTE if opening < 0 else FINE
        if not sure:
            n_unsure = _note(unsure, n_unsure, row, attribute, start, i)
        if error != FINE:
            return i, n_labels, n_unsure, error, attribute
        i = past_blanks(text, i)
        if attribute + 1 < len(kinds):
            if text[i] != COMMA:
                is_over = text[i] == LINE_FEED or text[i] == PERCENT
                return i, n_labels, n_unsure, TOO_FEW if is_over else NO_COMMA, attribute
            i += 1
    return i, n_labels, n_unsure, row_end(text, i), len(kinds) - 1


@kernel
def parse_dense(text, i, schema, largest, table, X, labels, unsure):
    """Parse dense rows of `text` from position i on, as many as there is room for.

    `X` (rows × columns) is filled, with a column for each value of a nominal attribute; `largest` is the largest
    magnitude of a number. Returns (position, rows, labels, unsure values, error, attribute); the position and the
    attribute are those of the error.
    """
    ids, ends, starts = labels
    n_rows = n_labels = n_unsure = 0
    while i < len(text):
        i = past_blanks(text, i)
        if text[i] != LINE_FEED and text[i] != PERCENT:
            has_room = n_labels + MOST_LABELS <= len(ids) and n_unsure + len(schema[0]) <= len(unsure)
            if n_rows == len(X) or not has_room:
                break
            if text[i] == OPEN:
                return i, n_rows, n_labels, n_unsure, OTHER_KIND, 0
            starts[n_rows] = i
            i, n_labels, n_unsure, error, attribute = _dense_row(
                text, i, schema, largest, table, X, n_rows, ids, n_labels, unsure, n_unsure
            )
            if error != FINE:
                return i, n_rows, n_labels, n_unsure, error, attribute
            ends[n_rows] = n_labels
            n_rows += 1
        i = past_line(text, i)
    return i, n_rows, n_labels, n_unsure, FINE, 0


@kernel
def _put(columns, values, n, first, count, x):
    """Add an entry x in each of `count` columns; return the number of entries."""
    for k in range(count):
        columns[n], values[n] = first + k, x
        n += 1
    return n


@kernel
def _sparse_row(text, i, schema, rules, table, entries, n, ids, n_labels, unsure, n_unsure, seen, row):
    """Read the row whose brace is at i; return (position, entries, labels, unsure values so far, error, attribute)."""
    kinds, first_column, n_values, _ = schema
    columns, values, _ = entries
    largest, first_index = rules
    i = past_blanks(text, i + 1)
    attribute = np.int64(0)
    is_open = text[i] != CLOSE
    while is_open:
        i = past_blanks(text, i)
        index, end, lost = digits(text, i, np.int64(0))
        if end == i or not is_blank(text[end]):
            return i, n, n_labels, n_unsure, UNCLOSED_ROW if text[i] == LINE_FEED else BAD_INDEX, attribute
        attribute = index - first_index
        if lost > 0 or not 0 <= attribute < len(kinds):
            return i, n, n_labels, n_unsure, OUT_OF_RANGE, attribute
        if seen[attribute] == row:
            return i, n, n_labels, n_unsure, REPEATED, attribute
        seen[attribute] = row
        i = past_blanks(text, end)
        start, kind, entry, sure = i, kinds[attribute], n, True
        if kind == NUMERIC:
            x, sure, i, error = numeric(text, i, CLOSE, largest)
            n = _put(columns, values, n, first_column[attribute], 1, x)
        elif kind == NOMINAL:
            code, sure, i, error = nominal(text, i, attribute, CLOSE, table)
            if code < 0:
                n = _put(columns, values, n, first_column[attribute], n_values[attribute], np.nan)
            else:
                n = _put(columns, values, n, first_column[attribute] + code, 1, 1.0)
        elif kind == LABELS:
            n_labels, i, error = label_set(text, i, attribute, CLOSE, table, ids, n_labels)
        else:
            opening, _, i = token(text, i, CLOSE)
            error = UNCLOSED_QUOTE if opening < 0 else FINE
        if not sure:
            n_unsure = _note(unsure, n_unsure, entry, attribute, start, i)
        if error != FINE:
            return i, n, n_labels, n_unsure, error, attribute
        i = past_blanks(text, i)
        is_open = text[i] == COMMA
        if is_open:
            i += 1
        elif text[i] != CLOSE:
            return i, n, n_labels, n_unsure, UNCLOSED_ROW if text[i] == LINE_FEED else NO_COMMA, attribute
    i = past_blanks(text, i + 1)
    return i, n, n_labels, n_unsure, row_end(text, i), attribute


@kernel
def parse_sparse(text, i, schema, rules, table, entries, labels, unsure, seen, rows_before):
    """Parse sparse rows of `text` from position i on, as many as there is room for.

    `rules` is (largest magnitude of a number, index of the first attribute), `entries` is (columns, values, end of
    each row), to be filled; the first two hold at least one an attribute's column. A nominal attribute that a row does
    not name has its first value. `seen` holds the last row, counted from 1, that named each attribute.
    Returns (position, rows, entries, labels, unsure values, error, attribute).
    """
    columns, values, entry_ends = entries
    ids, ends, starts = labels
    _, first_column, n_values, nominals = schema
    n_columns = 0 if len(n_values) == 0 else int(np.max(first_column + n_values))
    n_rows = n = n_labels = n_unsure = 0
    while i < len(text):
        i = past_blanks(text, i)
        if text[i] != LINE_FEED and text[i] != PERCENT:
            has_room = n_labels + MOST_LABELS <= len(ids) and n_unsure + len(schema[0]) <= len(unsure)
            if n_rows == len(entry_ends) or n + n_columns > len(columns) or not has_room:
                break
            if text[i] != OPEN:
                return i, n_rows, n, n_labels, n_unsure, OTHER_KIND, 0
            starts[n_rows] = i
            row = rows_before + n_rows + 1
            i, n, n_labels, n_unsure, error, attribute = _sparse_row(
                text, i, schema, rules, table, entries, n, ids, n_labels, unsure, n_unsure, seen, row
            )
            if error != FINE:
                return i, n_rows, n, n_labels, n_unsure, error, attribute
            for k in nominals:
                if seen[k] != row:
                    n = _put(columns, values, n, first_column[k], 1, 1.0)
            entry_ends[n_rows], ends[n_rows] = n, n_labels
            n_rows += 1
        i = past_line(text, i)
    return i, n_rows, n, n_labels, n_unsure, FINE, 0


@kernel
def only_labels(ids, ends, parent_start, parents, marks, stack, only):
    """Find each row's one label that is not implied by another: `NO_LABEL` or `SEVERAL_LABELS` where there is none.

    Node ids are topological, so the highest id of a row is above no other; all others must be above it. `marks` and
    `stack` have a place a node; `marks` must hold no row number from 0 on.
    """
    start = 0
    for row in range(len(ends)):
        end = ends[row]
        only[row] = NO_LABEL if start == end else ids[start:end].max()
        if end - start > 1:
            marks[only[row]] = row
            stack[0], n = only[row], 1
            while n > 0:
                n -= 1
                v = stack[n]
                for k in range(parent_start[v], parent_start[v + 1]):
                    p = parents[k]
                    if marks[p] != row:
                        marks[p] = row
                        stack[n] = p
                        n += 1
            for k in range(start, end):
                if marks[ids[k]] != row:
                    only[row] = SEVERAL_LABELS
                    break
        start = end
