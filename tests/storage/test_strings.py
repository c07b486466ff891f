import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.errors import ModelFormatError
from cladist.storage import pack_strings, unpack_strings
from tests.steps import steps


@given(st.lists(st.text()))
def test_strings_come_back(strings):
    packed = pack_strings(strings)
    assert packed["utf8"].dtype == np.uint8
    assert packed["offsets"].dtype == np.int64
    assert unpack_strings(**packed) == strings


@pytest.mark.parametrize("offender", ["\ud800", "a\udfffb", 3, None, b"bytes"])
def test_what_is_not_text_is_named(offender):
    with pytest.raises(ModelFormatError, match="String 2 cannot be saved") as caught:
        pack_strings(["a", "", offender, "b"])
    assert repr(offender) in str(caught.value)


@given(
    st.binary(max_size=6),
    st.lists(st.integers(-2, 8) | st.sampled_from([2**62, -(2**63)]), max_size=5),
)
def test_any_arrays_are_read_or_refused(raw, offsets):
    utf8, offsets = np.frombuffer(raw, np.uint8), np.array(offsets, np.int64)
    try:
        strings = unpack_strings(utf8, offsets)
    except ModelFormatError:
        return
    assert pack_strings(strings)["utf8"].tobytes() == raw
    assert pack_strings(strings)["offsets"].tolist() == offsets.tolist()


@pytest.mark.parametrize(
    ("utf8", "offsets", "message"),
    [
        (b"ab", [0, 2, 1, 2], "must rise from 0 to the number of bytes, 2"),
        (b"ab", [0, 1], "must rise"),
        (b"ab", [1, 2], "must rise"),
        (b"", [], "must rise"),
        ("é".encode(), [0, 1, 2], "not valid UTF-8"),
        (b"\xed\xa0\x80", [0, 3], "not valid UTF-8"),
    ],
)
def test_bad_packs_are_refused(utf8, offsets, message):
    with pytest.raises(ModelFormatError, match=message):
        unpack_strings(np.frombuffer(utf8, np.uint8), np.array(offsets, np.int64))


def test_other_types_are_refused():
    packed = pack_strings(["a"])
    with pytest.raises(ModelFormatError, match="1-D uint8 and a 1-D int64"):
        unpack_strings(packed["utf8"], packed["offsets"].astype(float))
    with pytest.raises(ModelFormatError, match="1-D uint8 and a 1-D int64"):
        unpack_strings(packed["utf8"][None], packed["offsets"])


def test_many_strings_take_a_few_steps_each():
    strings = [f"wörd {i}" for i in range(10**4)]
    assert unpack_strings(**pack_strings(strings)) == strings
    assert steps(lambda: unpack_strings(**pack_strings(strings))) < 100 * len(strings)
