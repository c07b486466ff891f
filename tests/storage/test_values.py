import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.errors import ModelFormatError
from cladist.storage import from_json_value, to_json_value
from cladist.storage.values import DTYPES, MAX_DEPTH

numpy_types = [np.dtype(name).type for name in DTYPES]
numbers = st.integers() | st.floats()
scalars = (
    st.none()
    | st.booleans()
    | numbers
    | st.text()
    | st.sampled_from([bool, int, float, *numpy_types])
    | st.sampled_from([np.dtype(name) for name in DTYPES])
    | st.sampled_from(numpy_types).flatmap(lambda kind: st.integers(0, 1).map(kind))
    | st.floats(width=32).map(np.float32)
    | st.floats().map(np.float64)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.sampled_from(["$tuple", "$numpy", "$dict"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (float, np.floating)):
        return (math.isnan(a) and math.isnan(b)) or repr(a) == repr(b)
    return bool(a == b)


@given(values)
def test_values_come_back_with_their_types(value):
    text = json.dumps(to_json_value(value, "value"), allow_nan=False)
    assert same(from_json_value(json.loads(text)), value)


def test_types_stay_themselves():
    assert from_json_value(to_json_value(np.float32, "dtype")) is np.float32
    assert from_json_value(to_json_value(float, "dtype")) is float
    assert to_json_value({np.str_("a"): np.str_("b")}, "names") == {"a": "b"}
    assert to_json_value({"C": np.float64(0.5)}, "params") == {"C": {"$numpy": ["float64", 0.5]}}


class Words(list):
    pass


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (len, "builtin_function_or_method"),
        (lambda x: x, "function"),
        (np.random.RandomState(0), "RandomState"),
        (np.random.default_rng(0), "Generator"),
        (np.zeros(2), "ndarray"),
        (object(), "object"),
        (1j, "complex"),
        (b"a", "bytes"),
        ({1, 2}, "set"),
        ({1: 2}, "dict"),
        (Words("ab"), "Words"),
        (Words, "type"),
        (np.longdouble(1), "longdouble"),
        (np.dtype(">f4"), "Float32DType"),
        (np.dtype("O"), "ObjectDType"),
    ],
)
def test_what_cannot_be_saved_is_named(value, name):
    with pytest.raises(ModelFormatError, match=rf"^Hieron/kernel/1: a value of type {name} cannot be saved"):
        to_json_value([1, value], "Hieron/kernel")


junk = st.recursive(
    st.none() | st.booleans() | numbers | st.sampled_from(["float32", "bool", "int8", "inf", "numpy.int8", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["$tuple", "$dict", "$float", "$numpy", "$dtype", "$type", "$else", "a"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=8,
)


@given(junk)
def test_any_json_is_read_or_refused(value):
    try:
        restored = from_json_value(value)
    except ModelFormatError:
        return
    assert same(from_json_value(to_json_value(restored, "again")), restored)


@pytest.mark.parametrize(
    "value",
    [
        {"$numpy": ["int8", 300]},
        {"$numpy": ["int8", 1.5]},
        {"$numpy": ["bool", 1]},
        {"$numpy": ["float32", "1.5"]},
        {"$numpy": ["float32", {"a": 1}]},
        {"$numpy": [["float32"], 1.5]},
        {"$type": "os.system"},
        {"$type": ["int"]},
        {"$dtype": "object"},
        {"$float": "1.5"},
        {"$tuple": 3},
        {"$dict": []},
        {"$new": 1},
        {"$tuple": [], "a": 1},
    ],
)
def test_forged_tags_are_refused(value):
    with pytest.raises(ModelFormatError, match=r"^params/0: .* cannot be read as"):
        from_json_value([value], "params")


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_depth_is_limited_both_ways():
    assert from_json_value(to_json_value(nested(MAX_DEPTH), "value")) == nested(MAX_DEPTH)
    with pytest.raises(ModelFormatError, match="nested more than 64 deep"):
        to_json_value(nested(MAX_DEPTH + 1), "value")
    with pytest.raises(ModelFormatError, match="nested more than 64 deep"):
        from_json_value(nested(MAX_DEPTH + 1))
    endless: list = []
    endless.append(endless)
    with pytest.raises(ModelFormatError, match="nested more than 64 deep"):
        to_json_value(endless, "value")


def test_others_may_extend_the_values():
    def write(value, where, depth):
        return {"$set": sorted(value)} if isinstance(value, set) else None

    def read(tag, body, where, depth):
        return set(body) if tag == "$set" else None

    written = to_json_value({"words": ({"b", "a"}, 1)}, "params", extend=write)
    assert written == {"words": {"$tuple": [{"$set": ["a", "b"]}, 1]}}
    assert from_json_value(written, extend=read) == {"words": ({"b", "a"}, 1)}
