"""Nested JSON is walked as `json.loads` would read it, in little memory and time, and refused line by line."""

import gc
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import TaxonomyError
from cladist.taxonomy.formats.json import DEEPEST
from cladist.taxonomy.formats.reader import parse
from tests.steps import steps

EDGE_WANTED = "a list of edges holds [parent, child] or [node]"

names = st.sampled_from(["a", "b", "c", "d/e", "é 日", 'q"\\\n', "1", "\ud800"])


def containers(inner):
    entries = st.one_of(names, st.integers(-2, 3), st.dictionaries(names, inner, max_size=3))
    return st.dictionaries(names, inner, max_size=4) | st.lists(entries, max_size=5)


documents = containers(st.recursive(st.none() | st.just({}) | st.just([]), containers, max_leaves=20))
layouts = st.fixed_dictionaries({"indent": st.sampled_from([None, 0, 2]), "ensure_ascii": st.booleans()})


def paths_of(content, path=()):
    """Walk what `json.loads` gives; the plain way, which holds the whole of it."""
    if isinstance(content, dict):
        for name, below in content.items():
            yield (*path, name)
            yield from paths_of(below, (*path, name))
    for entry in content if isinstance(content, list) else []:
        yield from paths_of(entry, path) if isinstance(entry, dict) else [(*path, entry)]


def outcome(build):
    """What there is to see of a taxonomy, or why there is none."""
    try:
        taxonomy = build()
    except TaxonomyError as problem:
        return str(problem)
    return taxonomy.names, list(taxonomy.edges()), [taxonomy.joined_path(v) for v in range(len(taxonomy))]


@given(documents, layouts, st.sampled_from(["/", " ", "::"]))
def test_nested_json_is_read_as_its_paths(content, layout, sep):
    text = json.dumps({"root": content}, **layout)
    paths = paths_of(json.loads(text))
    assert outcome(lambda: parse(text, "json", sep=sep)) == outcome(lambda: Taxonomy.from_paths(paths, sep=sep))


@given(documents, layouts, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 2), st.sampled_from('{}[],:"1 \\n'))))
def test_what_is_not_json_is_refused(content, layout, mutations):
    text = json.dumps(content, **layout)
    for place, length, piece in mutations:
        text = text[:place] + piece + text[place + length :]
    try:
        taxonomy = parse(text, "json")
    except TaxonomyError as problem:
        assert "\n" not in str(problem)  # noqa: PT017 - no error at all is fine, too
        return
    json.loads(text)
    assert len(taxonomy) >= 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": {},\n"b": {"c": 1}}', "line 2: below b → c, an object, a list or null is expected; got '1'."),
        ('{"a": "b",\n"c": {}}', "line 1: below a, an object, a list or null is expected; got 'b'."),
        ('{"a":\n[{"b": {}},\nnull]}', "line 3: below a, a list holds names and objects; this one holds 'None'."),
        ('{"a": [\n["b"]]}', "line 2: below a, a list holds names and objects; this one holds another list."),
        ('["a", ["b", "c"]]', "line 1: below the top, a list holds names and objects; this one holds another list."),
        ('{"a": {\n"": {}}}', "A node needs a name; line 2 has an empty one below a."),
        ('{"a\\n": 1.5}', "line 1: below a\\n, an object, a list or null is expected; got '1.5'."),
        ('{"": {}}', "A node needs a name; line 1 has an empty one below the top."),
        ('{"a": {"b": {},\n"c": {"b": {}},\n"b": []}}', "line 3: the key 'b' is in one JSON object twice."),
        ('{"a": [{"b": {"c": {}, "c": {}}}]}', "line 1: the key 'c' is in one JSON object twice."),
        ('{"a": {"b": {},}}', "line 1, column 16: not JSON: another entry is wanted after a comma."),
        ('{"a": ["b",]}', "line 1, column 12: not JSON: another entry is wanted after a comma."),
        ('{"a": [,"b"]}', "line 1, column 8: not JSON: Expecting value."),
        ('{"a": {}}\n{"b": {}}', "line 2, column 1: not JSON: something follows the end."),
        ('{"a": {"b": {}]}', "line 1, column 15: not JSON: ',' is wanted."),
        ('{"a": {b: {}}}', "line 1, column 8: not JSON: a key in double quotes is wanted."),
        ('{"a": {}, 1: {}}', "line 1, column 11: not JSON: a key in double quotes is wanted."),
        ('{"a": [\n' + "1" * 5_000 + "]}", "line 2: this JSON holds a number that is no name"),
        ('[["a", "b"],\n["a", ["b"]]]', f'line 2: {EDGE_WANTED}; this is \'["a", ["b"]]\'.'),
        ('[["a"], {"b": ["c"]}]', f'line 1: {EDGE_WANTED}; this is \'{{"b": ["c"]}}\'.'),
        ('[["a"], null]', f"line 1: {EDGE_WANTED}; this is 'null'."),
        ("[[]]", f"line 1: {EDGE_WANTED}; this is '[]'."),
    ],
)
def test_wrong_values_are_shown_where_they_stand(text, message):
    with pytest.raises(TaxonomyError) as caught:
        parse(text, "json")
    assert str(caught.value).startswith(message)


def test_the_same_name_may_stand_in_a_list_again():
    taxonomy = parse('{"a": ["b", {"b": {"c": []}}, {"b": {"d": {}}}, "b", 7, "7"]}', "json")
    assert taxonomy == Taxonomy.from_paths(["a/b/c", "a/b/d", "a/7"])


def test_a_long_place_is_shown_from_its_end():
    text = "".join(f'{{"n{k}":' for k in range(20)) + "1" + "}" * 20
    with pytest.raises(TaxonomyError, match="below … → n12 → n13 → n14 → n15 → n16 → n17 → n18 → n19, an object"):
        parse(text, "json")


@pytest.mark.parametrize(
    ("opening", "closing", "most"), [('{"a":', "}", DEEPEST - 1), ('[{"a":', "}]", DEEPEST // 2 - 1)]
)
def test_nesting_has_a_limit(opening, closing, most):
    assert len(parse(opening * most + "{}" + closing * most, "json")) == most
    with pytest.raises(TaxonomyError, match="This JSON is nested too deeply; write it flat"):
        parse(opening * (most + 1) + "{}" + closing * (most + 1), "json")


def test_an_empty_sep_is_refused():
    with pytest.raises(TaxonomyError, match="sep, which joins them, is not empty"):
        parse('{"a": {"b": {}}}', "json", sep="")


# ---------------------------------------------------------------- memory and time


def traced(read):
    gc.collect()
    tracemalloc.start()
    try:
        taxonomy = read()
        return taxonomy, *tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("n_topics", "shared"), [(4_000, False), (1_000, True)])
def test_reading_nested_json_takes_at_most_three_times_what_it_returns(tmp_path, n_topics, shared):
    """Measured with the file's text; names stand once, in objects, or in many places, in lists."""
    rows = [[f"class{c}" if shared else f"class{t * 50 + c}" for c in range(50)] for t in range(n_topics)]
    below = rows if shared else [{name: {} for name in row} for row in rows]
    content = {f"area{a}": {f"topic{t}": below[t] for t in range(a, n_topics, 20)} for a in range(20)}
    (tmp_path / "tree.json").write_text(json.dumps(content))
    del rows, below, content
    taxonomy, held, peak = traced(lambda: Taxonomy.read(tmp_path / "tree.json"))
    assert len(taxonomy) == 20 + 51 * n_topics
    assert peak <= 3 * held


MANY_EMPTY = "[" + ",".join(["{}"] * 50_000) + "]"
FEW_BYTES = 2**18  # as Python objects they take 3.6 million


def test_empty_objects_take_no_memory():
    taxonomy, _, peak = traced(lambda: parse(f'{{"r": {MANY_EMPTY}}}', "json"))
    assert taxonomy.names == ("r",)
    assert peak - len(MANY_EMPTY) < FEW_BYTES


@pytest.mark.parametrize("text", [f'[["a", {MANY_EMPTY}]]', f'[["a"], {{"b": {MANY_EMPTY}}}]'])
def test_a_wrong_edge_takes_no_memory(text):
    def message():
        with pytest.raises(TaxonomyError, match="a list of edges holds") as caught:
            parse(text, "json")
        return str(caught.value)

    shown, _, peak = traced(message)
    assert len(shown) < 300
    assert peak < FEW_BYTES


def test_many_names_far_down_take_a_few_steps_each():
    """A walk from the root to each would take as many as it is deep."""

    def text(n_names):
        return '{"a":' * (DEEPEST - 1) + json.dumps(list(range(n_names))) + "}" * (DEEPEST - 1)

    assert len(parse(text(100_000), "json")) == 100_000 + DEEPEST - 1
    few, more = (steps(lambda n=n: parse(text(n), "json")) for n in (100, 1_100))
    assert more - few < 1_000 * DEEPEST
