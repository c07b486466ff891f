"""What is wrong with an ARFF row, in words."""

from __future__ import annotations

import difflib
import math
import re

from cladist.datasets.formats.arff.header import BLANKS, Header
from cladist.datasets.formats.arff.names import LONGEST_PATH
from cladist.kernels import arff_tokens as tokens
from cladist.taxonomy import Taxonomy

_FIELD = re.compile(r"""'(?:[^'\\\n]|\\.)*+'?|"(?:[^"\\\n]|\\.)*+"?|[^,\n}]*+""")
_LABEL = re.compile(r"[^@,\n}'\"]*+")


def problem_of(
    error: int, near: bytes, attribute: int, header: Header, taxonomy: Taxonomy, first_index: int | None
) -> str:
    """Return the sentence for an error of the kernel; `near` is the text from its position on."""
    text = near.decode("utf-8", "backslashreplace")
    field, name = _shown(_FIELD, text), _name(header, attribute)
    n = len(header.kinds)
    if error == tokens.BAD_NUMBER:
        return _bad_number(text, field, name)
    if error == tokens.UNKNOWN_VALUE:
        near_values = difflib.get_close_matches(field, header.values[attribute][:20_000], n=1)
        hint = f"; did you mean {near_values[0]!r}?" if near_values else "; missing is written ?."
        return f"{field!r} is not among the values of {name!r}{hint}"
    if error == tokens.UNKNOWN_LABEL:
        label = _shown(_LABEL, text)
        if len(_LABEL.match(text)[0]) > LONGEST_PATH:  # type: ignore[index]
            most = f"{LONGEST_PATH:,} characters, the most of a label that is a path"
            return f"the label {label!r} is no node's name, and has more than {most}."
        return f"the label {label!r} is not in the hierarchy{taxonomy.suggestion(label)}"
    last, following = n - 1 + (first_index or 0), _name(header, attribute + 1)
    return {
        tokens.EMPTY_LABEL: "a label is empty; single @ join labels, and ? stands for none.",
        tokens.MANY_LABELS: f"the row has more than {tokens.MOST_LABELS:,} labels.",
        tokens.UNCLOSED_QUOTE: f"the quote of {field!r} is not closed on its line.",
        tokens.TOO_FEW: f"the row ends after {attribute + 1} of {n} values; {following!r} is missing.",
        tokens.TOO_MANY: f"the row has more values than the {n} attributes of the header.",
        tokens.NO_COMMA: f"wanted a comma behind the value of {name!r}, got {field!r}; quote values with blanks.",
        tokens.WEIGHT: "the row has a weight in braces; weights are not read, remove them.",
        tokens.OTHER_KIND: "dense rows and sparse rows in braces do not mix in a file; the first row is "
        f"{'dense' if first_index is None else 'sparse'}.",
        tokens.BAD_INDEX: f"wanted an index and a value as in {{1 0.5, 3 2}}, got {field!r}.",
        tokens.OUT_OF_RANGE: f"the index of {field!r} is not in {first_index} … {last}.",
        tokens.REPEATED: f"the row has a second value for {name!r}: {field!r}.",
        tokens.UNCLOSED_ROW: "the row is not closed with a brace on its line.",
    }[error]


def _name(header: Header, attribute: int) -> str:
    return list(header.names)[attribute] if attribute < len(header.kinds) else ""


def _shown(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.match(text)
    shown = found[0].strip(BLANKS) if found else ""
    return shown if len(shown) <= 60 else shown[:60] + "…"


def _bad_number(text: str, field: str, name: str) -> str:
    found = _FIELD.match(text)
    try:
        is_finite = found is not None and math.isfinite(float(found[0]))
    except ValueError:
        is_finite = False
    if is_finite:
        return f"{field!r} does not fit into this dtype; read the file with dtype=np.float64."
    return f"wanted a number or ? for {name!r}, got {field!r}."
