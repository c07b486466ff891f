"""Regular expressions in model files: those that are read in linear time are taken, no other."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from cladist.errors import ModelFormatError
from cladist.persistence.regular_expressions import check_pattern
from cladist.persistence.transformers import decode_transformer, encode_transformer

GOOD = [
    *(vectorizer().token_pattern for vectorizer in (CountVectorizer, HashingVectorizer, TfidfVectorizer)),
    r"(?u)\b\w+\b",
    r"[^\s]+",
    r"\S+",
    r"[a-zA-Z]+(?:'[a-z]+)?",
    r"\w+|[^\w\s]",
    r"\w+|\S",
    r"\w+(?:[-']\w+)*",
    r"(?i)\b[a-z]{2,}\b",
    r"\d{1,3}(?:,\d{3})*(?:\.\d+)?",
    r"(?u)(?<!\w)(\w+)(?!\w)",
    r"#?\w+?",
    r"(?:ab|cd)*e",
    r"[]\w-]+",
    r"x{,3}y{2}z{",
    "",
]
EVIL = [
    r"(a+)+$",
    r"(a*)*b",
    r"(a|a)*b",
    r"(a|aa)+$",
    r"(.*)*x",
    r"(x+x+)+y",
    r"\w+-?\w+",
    r"\w*\d*x",
    r"(\w+\s?)+$",
    r"([a-zA-Z]+)*$",
    r"(\w|\d)+$",
    r"(a?){25}a{25}",
    r"(?:a?b?){30}c",
    r"((ab)?)*c",
    r"(?:a|)*b",
    r"(?:|a)(?:|a)(?:|a)b",
    r"(a+){2,}b",
    r"((a|b)*a(a|b)*)+c",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"(?i)(a|A)*b",
    r"(\d|[\u0600-\u06ff])*x",  # Arabic digits are digits
    r"(?=(a+)+)b",
    r"(a)\1*",
    r"(?x) ( a + ) + $",
    r"[a-z]{1,1000}",
    r"(?:a{,})*b",  # to Python, `{,}` is `*`
    r"(?:a{00000,})*b",
    "a" * 2000,
]


@pytest.mark.parametrize("pattern", GOOD)
def test_patterns_of_every_day_are_taken(pattern):
    check_pattern(pattern)


@pytest.mark.parametrize("pattern", EVIL, ids=lambda pattern: pattern[:30])
def test_patterns_that_leave_choices_are_refused(pattern):
    with pytest.raises(ModelFormatError, match="may take too long"):
        check_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(", "[", "*", r"\w{9,1}", "a" * 10 + "(?P<>b)"])
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(ModelFormatError, match="no regular expression"):
        check_pattern(pattern)


# ---------------------------------------------------------------- against a matcher that counts its steps

ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: (
        st.tuples(st.just("then"), inner, inner)
        | st.tuples(st.just("or"), inner, inner)
        | st.tuples(st.sampled_from("*+?"), inner)
    ),
    max_leaves=6,
)


def written(pattern):
    """The pattern as text."""
    if isinstance(pattern, str):
        return pattern
    if pattern[0] in ("then", "or"):
        return f"(?:{written(pattern[1])}{'|' if pattern[0] == 'or' else ''}{written(pattern[2])})"
    return f"(?:{written(pattern[1])}){pattern[0]}"


def ends(pattern, text, at, count):
    """Yield where each way through a pattern ends, one after the other, and count the characters looked at."""
    if isinstance(pattern, str):
        count[0] += 1
        if at < len(text) and re.fullmatch(pattern, text[at]):
            yield at + 1
    elif pattern[0] == "then":
        for middle in ends(pattern[1], text, at, count):
            yield from ends(pattern[2], text, middle, count)
    elif pattern[0] == "or":
        yield from ends(pattern[1], text, at, count)
        yield from ends(pattern[2], text, at, count)
    else:
        for middle in ends(pattern[1], text, at, count):
            if pattern[0] == "?":
                yield middle
            elif middle > at:  # as Python's matcher does not go round on nothing
                yield from ends(("*", pattern[1]), text, middle, count)
        if pattern[0] in "*?":
            yield at


def steps(pattern, text):
    count = [0]
    for _ in ends(pattern, text, 0, count):
        if count[0] > 100_000:
            break
    return count[0]


@settings(max_examples=300)
@given(PATTERNS, st.lists(st.sampled_from("aaab"), min_size=30, max_size=30).map("".join))
def test_what_is_taken_leaves_nothing_to_try_twice(pattern, text):
    try:
        check_pattern(written(pattern))
    except ModelFormatError:
        return
    n_atoms = len(re.findall(r"a\]|b\]|[ab]", written(pattern)))
    for probe in (text, "a" * 30, "ab" * 15):
        assert steps(pattern, probe) <= 3 * n_atoms * (len(probe) + 1)


# ---------------------------------------------------------------- in vectorisers


def test_a_file_with_such_a_pattern_is_refused_unless_it_is_trusted():
    vectorizer = CountVectorizer(token_pattern=r"(\w+-?)+").fit(["a-b c"])
    saved = encode_transformer(vectorizer)
    with pytest.raises(ModelFormatError, match=r"may take too long .* trusted=True"):
        decode_transformer(*saved)
    assert decode_transformer(*saved, trusted=True).vocabulary_ == vectorizer.vocabulary_
