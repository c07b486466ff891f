"""The kernel of RCV1's judgements and its pure Python twin agree, and find every error."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.kernels import svmlight as rcv1


@contextmanager
def in_python() -> Iterator[None]:
    """Replace every compiled helper by its twin."""
    with pytest.MonkeyPatch.context() as patch:
        for helper in (rcv1.digits, rcv1._past_blanks):
            patch.setattr(rcv1, helper.py_func.__name__, helper.py_func)
        yield


def judged(parse, text: bytes) -> list:
    """Run a parse with arrays just large enough; return everything it found."""
    n_lines = text.count(b"\n")
    starts, ends, documents = (np.zeros(n_lines, np.int32) for _ in range(3))
    keys = np.zeros(n_lines, np.uint64)
    n, error, position = parse(np.frombuffer(text, np.uint8), (starts, ends, keys), documents)
    return [n, error, position, *(array[:n].tolist() for array in (starts, ends, keys, documents))]


pieces = st.sampled_from(
    [
        b"E11 2286 1\n",
        b"C15",
        b" ",
        b"\t",
        b"\r",
        b"\n",
        b"1",
        b"0",
        b"2147483647",
        b"2147483648",
        b"9" * 20,
        b"\0",
        b"\xff",
    ]
)


@given(st.lists(pieces, max_size=20))
def test_judgements_equal_their_twin(parts: list[bytes]) -> None:
    text = b"".join(parts) + b"\n"
    compiled = judged(rcv1.parse_judgements, text)
    with in_python():
        assert judged(rcv1.parse_judgements.py_func, text) == compiled


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"E11 2286 1\n\n  M\t7  1 \r\n", [2, rcv1.FINE, 23, [0, 14], [3, 15], [0x453131, 0x4D], [2286, 7]]),
        (b"E11 x 1\n", [0, rcv1.BAD_DOCUMENT, 4]),
        (b"E11\n", [0, rcv1.BAD_DOCUMENT, 3]),
        (b"E11 2147483648 1\n", [0, rcv1.BAD_DOCUMENT, 4]),
        (b"E11 5x 1\n", [0, rcv1.BAD_DOCUMENT, 4]),
        (b"E11 5\n", [0, rcv1.NOT_ONE, 5]),
        (b"E11 5 0\n", [0, rcv1.NOT_ONE, 6]),
        (b"E11 5 11\n", [0, rcv1.NOT_ONE, 6]),
        (b"E11 5 1 1\n", [0, rcv1.NOT_ONE, 6]),
        (b"\0 5 1\n", [0, rcv1.BAD_TOPIC, 0]),
        (b"M 5 1\n" + b"x" * 1001 + b" 5 1\n", [1, rcv1.BAD_TOPIC, 6]),
    ],
)
def test_judgements(text: bytes, expected: list) -> None:
    assert judged(rcv1.parse_judgements, text)[: len(expected)] == expected
