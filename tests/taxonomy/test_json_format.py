"""JSON is read as its paths, in memory and time that follow its size, and refused where it is wrong."""

import gc
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import TaxonomyError
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
        ('{"a": {},\n"b": {"c": 1}}', "Below b → c, an object, a list or null is expected; got '1'."),
        ('{"a": "b",\n"c": {}}', "Below a, an object, a list or null is expected; got 'b'."),
        ('{"a":\n[{"b": {}},\nnull]}', "Below a, a list holds names and objects; this one holds 'None'."),
        ('{"a": [\n["b"]]}', "Below a, a list holds names and objects; this one holds another list."),
        ('["a", ["b", "c"]]', "Below the top, a list holds names and objects; this one holds another list."),
        ('{"a": {\n"": {}}}', "A node needs a name; there is an empty one below a."),
        ('{"a\\n": 1.5}', "Below a\\n, an object, a list or null is expected; got '1.5'."),
        ('{"": {}}', "A node needs a name; there is an empty one below the top."),
        ('{"a": {"b": {},\n"c": {"b": {}},\n"b": []}}', "The key 'b' is in one JSON object twice."),
        ('{"a": [{"b": {"c": {}, "c": {}}}]}', "The key 'c' is in one JSON object twice."),
        ('{"a": {"b": {},}}', "line 1, column 16: not JSON: Expecting property name enclosed in double quotes."),
        ('{"a": ["b",]}', "line 1, column 12: not JSON: Expecting value."),
        ('{"a": [,"b"]}', "line 1, column 8: not JSON: Expecting value."),
        ('{"a": {}}\n{"b": {}}', "line 2, column 1: not JSON: Extra data."),
        ('{"a": {"b": {}]}', "line 1, column 15: not JSON: Expecting ',' delimiter."),
        ('{"a": {b: {}}}', "line 1, column 8: not JSON: Expecting property name enclosed in double quotes."),
        ('{"a": {}, 1: {}}', "line 1, column 11: not JSON: Expecting property name enclosed in double quotes."),
        ('{"a": [\n' + "1" * 5_000 + "]}", "This JSON holds a number that is no name"),
        ('[["a", "b"],\n["a", ["b"]]]', f'entry 1: {EDGE_WANTED}; this is \'["a", ["b"]]\'.'),
        ('[["a"], {"b": ["c"]}]', f'entry 1: {EDGE_WANTED}; this is \'{{"b": ["c"]}}\'.'),
        ('[["a"], null]', f"entry 1: {EDGE_WANTED}; this is 'null'."),
        ("[[]]", f"entry 0: {EDGE_WANTED}; this is '[]'."),
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
    with pytest.raises(TaxonomyError, match="Below … → n12 → n13 → n14 → n15 → n16 → n17 → n18 → n19, an object"):
        parse(text, "json")


@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ('[{"a":', "}]")])
def test_nesting_has_a_limit(opening, closing):
    assert len(parse(opening * 200 + "{}" + closing * 200, "json")) == 200
    with pytest.raises(TaxonomyError, match="This JSON is nested too deeply; write it flat"):
        parse(opening * 100_000 + "{}" + closing * 100_000, "json")


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


@pytest.mark.parametrize("wrong", [["a"] * 1_000, {"b": [{}] * 1_000}])
def test_a_wrong_edge_is_shown_by_its_beginning(wrong):
    with pytest.raises(TaxonomyError, match="a list of edges holds") as caught:
        parse(json.dumps([["a"], wrong]), "json")
    assert len(str(caught.value)) < 300


def test_many_names_far_down_take_a_few_steps_each():
    """A walk from the root to each would take as many as it is deep."""

    def text(n_names):
        return '{"a":' * 400 + json.dumps(list(range(n_names))) + "}" * 400

    assert len(parse(text(100_000), "json")) == 100_000 + 400
    few, more = (steps(lambda n=n: parse(text(n), "json")) for n in (100, 1_100))
    assert more - few < 1_000 * 400
