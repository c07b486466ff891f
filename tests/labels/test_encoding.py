"""Every form of y becomes the same matrix, and comes back as it was written."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from cladist import LabelMatrix, Taxonomy, TopDown
from cladist.errors import LabelError
from cladist.labels import LabelForm, encode
from tests.strategies import awkward_names, forests, node_sets, path_lists, plain_names

TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])  # sport, art, tennis, chess
CODES = Taxonomy.from_parents(
    {11: None, 1101: 11, 1102: 11, "31-33": None, 311: "31-33", 2**53 + 1: None, 1: 2**53 + 1}
)
SHOP = Taxonomy.from_paths(["all/phones/cases", "all/laptops/cases", "all/laptops/bags"])


def rendered(y, taxonomy):
    """Encode, send the form through what a model file holds, and write the labels in it."""
    encoded = encode(y, taxonomy)
    return LabelForm.from_dict(encoded.form.to_dict()).render(encoded.labels)


def same(one, other):
    """Equal in class, type and every value, missing ones included."""
    assert type(one) is type(other)
    if isinstance(other, pd.Series):
        pd.testing.assert_series_equal(one, other)
    elif isinstance(other, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    elif sparse.issparse(other):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.toarray(), other.toarray())
    elif isinstance(other, np.ndarray):
        assert one.dtype.kind == other.dtype.kind
        assert other.dtype.kind == "U" or one.dtype == other.dtype
        assert one.shape == other.shape
        assert [repr(a) for a in one.ravel()] == [repr(b) for b in other.ravel()]
    else:
        assert one == other
    return True


def objects(rows):
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


# ---------------------------------------------------------------- single labels


NAMES = ["chess", "art", "sport", "chess"]
SINGLE = {
    "array of text": np.array(NAMES),
    "object array": np.array(NAMES, dtype=object),
    "Series": pd.Series(NAMES),
    "Series of objects": pd.Series(NAMES, dtype=object),
    "Series of strings": pd.Series(NAMES, dtype="string"),
    "categorical": pd.Series(NAMES, dtype="category"),
    "categorical with more categories": pd.Series(pd.Categorical(NAMES, [*TREE.names, "other"])),
    "ordered categorical": pd.Series(pd.Categorical(NAMES, ["chess", "art", "sport"], ordered=True)),
    "Series with a name": pd.Series(NAMES, name="topic"),
    "Series with a number for a name": pd.Series(NAMES, name=0),
}


@pytest.mark.parametrize("y", SINGLE.values(), ids=SINGLE)
def test_names_come_back_as_they_were(y):
    encoded = encode(y, TREE)
    assert encoded.taxonomy is TREE
    assert not encoded.form.is_multi
    assert encoded.labels.nodes("test").tolist() == [3, 1, 0, 3]
    assert same(rendered(y, TREE), y)


INTEGERS = {
    **{np.dtype(t).name: np.array([1101, 11, 311], dtype=t) for t in ("i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8")},
    "object array of integers": np.array([1101, 11, 311], dtype=object),
    "object array of floats": np.array([1101.0, 11.0, 311.0], dtype=object),
    "numbers and text": np.array([1101, "31-33", 311], dtype=object),
    "text of numbers": np.array(["1101", "11", "311"]),
    "Series of integers": pd.Series([1101, 11, 311]),
    "Series of small integers": pd.Series([1101, 11, 311], dtype="int16"),
    "Series of nullable integers": pd.Series([1101, 11, 311], dtype="Int32"),
    "Series of floats": pd.Series([1101.0, 11.0, 311.0]),
    "Series of nullable floats": pd.Series([1101.0, 11.0, 311.0], dtype="Float64"),
    "categorical of integers": pd.Series([1101, 11, 311], dtype="category"),
}


@pytest.mark.parametrize("y", INTEGERS.values(), ids=INTEGERS)
def test_labels_whose_text_is_a_name_are_accepted(y):
    expected = [CODES.index(str(label).removesuffix(".0")) for label in y]
    assert encode(y, CODES).labels.nodes("test").tolist() == expected
    assert same(rendered(y, CODES), y)


@pytest.mark.parametrize("y", [NAMES, tuple(NAMES), pd.Index(NAMES), pd.Categorical(NAMES), iter], ids=type)
def test_a_list_of_names_comes_back_as_an_array(y):
    if y is iter:
        y = Sequence(NAMES)
    back = rendered(y, TREE)
    assert isinstance(back, np.ndarray)
    assert back.tolist() == NAMES


class Sequence:
    """Nothing but an array interface."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def test_what_has_an_array_interface_is_an_array():
    assert rendered(Sequence(np.array([[1, 0, 0, 1]])), TREE).tolist() == [[1, 0, 0, 1]]
    assert rendered(Sequence(np.array([["sport", "chess"]])), TREE).tolist() == [["sport", "chess"]]
    assert rendered(range(11, 12), CODES).tolist() == [11]


def test_truth_values_are_labels():
    taxonomy = Taxonomy.from_parents({"any": None, True: "any", False: "any"})
    for y in (np.array([True, False]), pd.Series([True, False]), pd.Series([True, False], dtype="boolean")):
        assert encode(y, taxonomy).labels.nodes("test").tolist() == [1, 2]
        assert same(rendered(y, taxonomy), y)
    form = encode(pd.Series([True, False]), taxonomy).form
    assert form.render_nodes(np.array([0, 1]), taxonomy).tolist() == ["any", True]


def test_a_prediction_outside_the_categories_is_added_to_them():
    form = encode(pd.Series(["chess", "art"], dtype="category"), TREE).form
    back = form.render_nodes(np.array([0, 3]), TREE)
    assert back.tolist() == ["sport", "chess"]
    assert back.cat.categories.tolist() == ["art", "chess", "sport"]


def test_numbers_that_are_only_spelt_like_names_stay_text():
    taxonomy = Taxonomy.from_parents(dict.fromkeys(["007", "7", "1_0", "inf", "nan", "1e3", "-0"]))
    for y in (np.array([7]), np.array([7.0])):
        values = encode(y, taxonomy).form.values(taxonomy).tolist()
        assert values == ["007", 7, "1_0", "inf", "nan", "1e3", "-0"]


def test_predictions_that_are_no_numbers_stand_as_text_beside_them():
    for y in (np.array([1101, 11]), pd.Series([1101, 11]), pd.Series([1101, 11], dtype="Int64")):
        back = encode(y, CODES).form.render_nodes(np.array([CODES.index("31-33"), CODES.index(311)]), CODES)
        assert list(back) == ["31-33", 311]
        assert type(back) is type(y)


@given(forests(names=st.one_of(plain_names, awkward_names)), st.data())
def test_any_names_in_any_array(taxonomy, data):
    # A name that is missing to the eye, such as "nan", is a name; numpy's texts cannot end in a null character.
    assume(not any(name.endswith("\x00") for name in taxonomy.names))
    y = data.draw(st.lists(st.sampled_from(taxonomy.names), min_size=1))
    nodes = [taxonomy.index(name) for name in y]
    for form in (np.array(y), np.array(y, dtype=object), pd.Series(y, dtype=object)):
        assert encode(form, taxonomy).labels.nodes("test").tolist() == nodes
        assert same(rendered(form, taxonomy), form)


# ---------------------------------------------------------------- joined paths


def test_joined_paths_come_back_as_joined_paths():
    for y in (
        np.array(["all/phones/cases", "all/laptops/bags", "all/laptops", "all"]),
        np.array(["phones/cases", "laptops/bags", "laptops"]),
        np.array(["bags", "all/phones/cases", "laptops"]),
    ):
        assert same(rendered(y, SHOP), y)
    mixed = encode(["bags", "all/laptops/bags"], SHOP)
    assert mixed.form.render(mixed.labels).tolist() == ["bags", "bags"]
    assert rendered([["laptops/bags", "phones/cases"], []], SHOP) == [["phones/cases", "laptops/bags"], []]
    below = encode(np.array(["laptops/bags"]), SHOP).form
    assert below.values(SHOP).tolist() == ["all", "phones", "laptops", "phones/cases", "laptops/cases", "laptops/bags"]


@given(path_lists(parts=st.text("ab", min_size=1, max_size=1)), st.data())
def test_every_joined_path_is_a_label(paths, data):
    taxonomy = Taxonomy.from_paths(paths, sep=">")
    nodes = data.draw(st.lists(st.integers(0, len(taxonomy) - 1), min_size=1))
    y = np.array([taxonomy.joined_path(v) for v in nodes])
    assert encode(y, taxonomy).labels.nodes("test").tolist() == nodes
    assert same(rendered(y, taxonomy), y)


# ---------------------------------------------------------------- sets


ROWS = [["art", "chess"], ["sport"], [], ["tennis", "chess"]]
SETS = {
    "lists": ROWS,
    "sets": [set(row) for row in ROWS],
    "frozensets": [frozenset(row) for row in ROWS],
    "tuples": [tuple(row) for row in ROWS],
    "object array of lists": objects(ROWS),
    "object array of sets": objects([set(row) for row in ROWS]),
    "Series of lists": pd.Series(ROWS, name="topics"),
    "Series of tuples": pd.Series([tuple(row) for row in ROWS]),
}


@pytest.mark.parametrize("y", SETS.values(), ids=SETS)
def test_sets_come_back_as_they_were(y):
    encoded = encode(y, TREE)
    assert encoded.form.is_multi
    np.testing.assert_array_equal(
        encoded.labels.to_indicator().toarray(), [[1, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1]]
    )
    back = rendered(y, TREE)
    assert type(back) is type(y)
    assert list(map(type, back)) == list(map(type, y))
    assert list(back) == list(y)


def test_arrays_of_labels_a_row_come_back_as_lists():
    rows = [np.array(row, dtype=object) for row in ROWS]
    assert rendered(rows, TREE) == ROWS
    assert rendered(pd.Series(rows), TREE).tolist() == ROWS


def test_a_tuple_of_sets_is_a_list_of_sets():
    assert rendered(({"art"}, set()), TREE) == [{"art"}, set()]


def test_ancestors_and_repeats_are_implied():
    y = [["chess", "sport", "chess"], ["sport", "art"]]
    assert rendered(y, TREE) == [["chess"], ["sport", "art"]]


def test_sets_of_numbers():
    assert rendered([{1101, 311}, set()], CODES) == [{1101, 311}, set()]
    assert rendered([[11.0, 311]], CODES) == [[11.0, 311.0]]
    assert rendered([[], []], CODES) == [[], []]


@given(node_sets())
def test_any_sets(case):
    taxonomy, rows = case
    named = [{taxonomy.names[v] for v in row} for row in rows]
    labels = encode(named, taxonomy).labels
    assert labels == LabelMatrix.from_sets(named, taxonomy)
    frontier = [set(row) for row in labels.frontier_names()]
    assert rendered(frontier, taxonomy) == frontier
    assert encode(frontier, taxonomy).labels == labels


# ---------------------------------------------------------------- paths


PATH_LISTS = {
    "ragged": [["sport", "chess"], ["art"], ["sport"]],
    "tuples": [("sport", "chess"), ("art",)],
    "padded": [["sport", "chess"], ["art", ""]],
    "padded with None": [["sport", "chess"], ["art", None]],
    "object array": objects([["sport", "chess"], ["art"]]),
    "Series": pd.Series([["sport", "chess"], ["art"]], name="topic"),
}


@pytest.mark.parametrize("y", PATH_LISTS.values(), ids=PATH_LISTS)
def test_lists_that_are_paths_come_back_as_the_same_paths(y):
    for taxonomy, lists in ((TREE, "auto"), (TREE, "paths"), (None, "paths")):
        encoded = encode(y, taxonomy, lists=lists)
        assert encoded.form.kind == "path lists"
        assert not encoded.form.is_multi
        assert encoded.taxonomy.names[encoded.labels.nodes("test")[0]] == "chess"
        assert same(LabelForm.from_dict(encoded.form.to_dict()).render(encoded.labels), y)


def test_lists_below_the_only_root():
    y = [["laptops", "bags"], ["phones", "cases"]]
    assert rendered(y, SHOP) == y
    assert encode(y, SHOP).form.below_root
    assert encode([["phones"], ["laptops"]], SHOP).form.kind == "sets"  # names as well as paths
    assert encode([["phones"], ["laptops"]], SHOP, lists="paths").form.kind == "path lists"


def test_parts_of_paths_may_be_numbers():
    assert rendered([[11, 1101], [11]], CODES) == [[11, 1101], [11]]


@pytest.mark.parametrize("y", [[["sport", "chess"], ["art"]], [["red", "large"], ["large"]], [["art"], ["sport"]]])
def test_lists_without_a_taxonomy_are_refused(y):
    with pytest.raises(LabelError, match=r"may be a path or a set of labels; for paths, .*; for sets, write sets"):
        encode(y)
    assert encode(y, lists="sets").form.kind == "sets"


def test_a_list_that_is_no_path_is_told():
    with pytest.raises(LabelError, match="row 1 has 2 labels: 'art', 'chess', which are no path"):
        TopDown(TREE).fit(np.eye(2), [["sport", "chess"], ["art", "chess"]])
    with pytest.raises(LabelError, match="Row 1: art → ches is not a path of the taxonomy"):
        encode([["sport", "chess"], ["art", "ches"]], TREE, lists="paths")
    assert encode([["chess"], ["art"]], TREE, lists="paths").labels.nodes("test").tolist() == [3, 1]


CUBE = np.array([[["art", ""], ["sport", "chess"]], [["sport", ""], ["", ""]], [["", ""], ["", ""]]])
PATH_SETS = {
    "sets": [{("sport", "chess"), ("art",)}, {("sport",)}, set()],
    "frozensets": [frozenset({("sport", "chess"), ("art",)}), frozenset({("sport",)}), frozenset()],
    "lists of tuples": [[("art",), ("sport", "chess")], [("sport",)], []],
    "lists of lists": [[["art"], ["sport", "chess"]], [["sport"]], []],
    "padded": [[["art", ""], ["sport", "chess"]], [["sport", ""]], []],
    "tuples": [(("art",), ("sport", "chess")), (("sport",),), ()],
    "object array": objects([[["art"], ["sport", "chess"]], [["sport"]], []]),
    "Series": pd.Series([{("sport", "chess"), ("art",)}, {("sport",)}, set()], name="topics"),
    "3-D array": CUBE,
    "3-D object array": CUBE.astype(object),
}


@pytest.mark.parametrize("y", PATH_SETS.values(), ids=PATH_SETS)
def test_sets_of_paths_come_back_as_the_same_paths(y):
    wanted = [{"art", "chess"}, {"sport"}, set()]
    for taxonomy in (TREE, None):
        encoded = encode(y, taxonomy)
        assert encoded.form.is_multi
        assert list(map(set, encoded.labels.frontier_names())) == wanted
        back = LabelForm.from_dict(encoded.form.to_dict()).render(encoded.labels)
        assert type(back) is type(y)
        assert encode(back, encoded.taxonomy).labels == encoded.labels
    back = rendered(y, TREE)
    assert same(back, y) if isinstance(y, np.ndarray) else list(back) == list(y)


def test_a_3_d_array_grows_with_what_is_predicted():
    form = encode(CUBE[1:, :1, :1], TREE).form
    back = form.render(encode([["art", "tennis"], []], TREE).labels)
    assert back.tolist() == [[["art", ""], ["sport", "tennis"]], [["", ""], ["", ""]]]


def test_names_beside_paths_are_refused():
    with pytest.raises(LabelError, match=r"Row 1 has 'art' beside paths.*write \('art',\)"):
        encode([[("sport", "chess")], ["art"]], TREE)


def padded(filler, dtype=object):
    return np.array([["sport", "chess"], ["art", filler], ["sport", filler]], dtype=dtype)


PATHS = {
    "text": padded("", str),
    "objects": padded(""),
    "None": padded(None),
    "NaN": padded(float("nan")),
    "wider than the taxonomy": np.array([["sport", "chess", ""], ["art", "", ""], ["sport", "", ""]]),
    "frame": pd.DataFrame(padded(""), columns=["area", "topic"]),
    "frame of numbered columns": pd.DataFrame(padded("")),
    "frame with None": pd.DataFrame(padded(None), columns=["area", "topic"]),
    "frame with NaN": pd.DataFrame(padded(float("nan")), columns=["area", "topic"]),
    "frame of objects with None": pd.DataFrame(padded(None), dtype=object),
    "frame of strings with NA": pd.DataFrame(padded(None), dtype="string"),
    "frame of categories": pd.DataFrame(padded(None), dtype="category"),
    "columns of one name": pd.DataFrame(padded(""), columns=["a", "a"]),
}


@pytest.mark.parametrize("y", PATHS.values(), ids=PATHS)
def test_paths_come_back_as_they_were(y):
    encoded = encode(y, TREE)
    assert not encoded.form.is_multi
    assert encoded.labels.nodes("test").tolist() == [3, 1, 0]
    assert same(rendered(y, TREE), y)


NUMBER_PATHS = {
    "object array": (np.array([[11, 1101], [11, None]], dtype=object), ["1101", "11"]),
    "frame with a hole": (pd.DataFrame({"a": [11, 11], "b": [1101, None]}), ["1101", "11"]),
    "frame of nullable integers": (pd.DataFrame({"a": [11, 11], "b": [1101, None]}, dtype="Int64"), ["1101", "11"]),
    "frame without a hole": (pd.DataFrame({"a": [11, 11], "b": [1101, 1102]}), ["1101", "1102"]),
    "frame of text and numbers": (pd.DataFrame({"a": ["31-33", "11"], "b": [311, 1101]}), ["311", "1101"]),
    "frame of text that are numbers": (pd.DataFrame({"a": [11, 11], "b": ["1101", ""]}), ["1101", "11"]),
    "frame of codes too long for a float": (
        pd.DataFrame({"a": [2**53 + 1, 2**53 + 1], "b": [1.0, None]}),
        ["1", "9007199254740993"],
    ),
}


@pytest.mark.parametrize(("y", "names"), NUMBER_PATHS.values(), ids=NUMBER_PATHS)
def test_paths_of_numbers_come_back_as_they_were(y, names):
    assert encode(y, CODES).labels.frontier_names() == [[name] for name in names]
    assert same(rendered(y, CODES), y)


def test_paths_may_leave_out_the_only_root():
    y = np.array([["phones", "cases"], ["laptops", ""]])
    encoded = encode(y, SHOP)
    assert encoded.labels.frontier_names() == [["all/phones/cases"], ["laptops"]]
    assert same(rendered(y, SHOP), y)
    root = encoded.form.render_nodes(np.array([0, 1]), SHOP)
    assert root.tolist() == [["", ""], ["phones", ""]]
    whole = np.array([["all", "phones", "cases"], ["all", "", ""]])
    assert same(rendered(whole, SHOP), whole)
    mixed = np.array([["all", "phones", "cases"], ["laptops", "", ""]])
    assert rendered(mixed, SHOP).tolist() == [["all", "phones", "cases"], ["all", "laptops", ""]]


def test_predictions_deeper_than_y_get_more_columns():
    y = np.array([["a", "b"], ["a", ""]])
    taxonomy = Taxonomy.from_paths(["a/b/c"])
    form = encode(y, taxonomy).form
    assert same(form.render_nodes(np.array([1, 0]), taxonomy), y)
    assert form.render_nodes(np.array([1, 2]), taxonomy).tolist() == [["a", "b", ""], ["a", "b", "c"]]
    frame = encode(pd.DataFrame(y, columns=["x", "y"]), taxonomy).form.render_nodes(np.array([2]), taxonomy)
    assert frame.columns.tolist() == ["x", "y", "level_2"]


@given(path_lists(parts=st.text("ab", min_size=1, max_size=1)), st.data())
def test_any_paths(paths, data):
    """Rows of one path each, as HiClass writes them; the taxonomy given, or built from the rows themselves."""
    width = max(max(map(len, paths)), 2)
    filler = data.draw(st.sampled_from(["", None, float("nan")]))
    y = np.array([[*path, *[filler] * (width - len(path))] for path in paths], dtype=object)
    taxonomy = Taxonomy.from_paths(paths)
    for given_taxonomy in (taxonomy, None):
        encoded = encode(y, given_taxonomy)
        assert encoded.taxonomy == taxonomy
        assert encoded.labels.nodes("test").tolist() == [taxonomy.find_path(path) for path in paths]
        assert same(rendered(y, given_taxonomy), y)
    frame = pd.DataFrame(y, columns=[f"level {k}" for k in range(width)])
    assert same(rendered(frame, taxonomy), frame)
    if filler == "":
        assert same(rendered(y.astype(str), taxonomy), y.astype(str))


# ---------------------------------------------------------------- indicators


BITS = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
INDICATORS = {
    **{np.dtype(t).name: BITS.astype(t) for t in ("?", "i1", "i8", "u1", "f4", "f8")},
    "fortran": np.asfortranarray(BITS),
    **{
        f"{kind}_{container}": getattr(sparse, f"{kind}_{container}")(BITS)
        for kind in ("csr", "csc", "coo", "lil")
        for container in ("array", "matrix")
    },
    "csr of floats": sparse.csr_matrix(BITS.astype(float)),
    "frame": pd.DataFrame(BITS, columns=TREE.names),
    "frame of truth values": pd.DataFrame(BITS.astype(bool), columns=TREE.names),
    "frame of floats": pd.DataFrame(BITS.astype(float)),
    "frame of nullable integers": pd.DataFrame(BITS, dtype="Int8"),
    "frame of nullable truth values": pd.DataFrame(BITS, dtype="boolean"),
    "frame of several types": pd.DataFrame(
        {"a": [True, False, True], "b": [0, 0, 1], "c": [0.0, 0, 1], "d": [1, 0, 1]}
    ),
}


@pytest.mark.parametrize("y", INDICATORS.values(), ids=INDICATORS)
def test_indicators_come_back_as_they_were(y):
    encoded = encode(y, TREE)
    assert encoded.form.is_multi
    np.testing.assert_array_equal(encoded.labels.to_indicator().toarray(), BITS)
    assert same(rendered(y, TREE), y)


def test_a_label_matrix_comes_back_itself():
    labels = LabelMatrix.from_sets(ROWS, TREE)
    encoded = encode(labels, TREE)
    assert encoded.labels is labels
    assert encoded.form.is_multi
    assert encoded.form.render(labels) is labels
    assert encode(labels).taxonomy is TREE


# ---------------------------------------------------------------- one column


@pytest.mark.parametrize(
    "column",
    [
        np.array([["chess"], ["art"]]),
        np.array([["chess"], ["art"]], dtype=object),
        pd.DataFrame({"y": ["chess", "art"]}),
    ],
)
def test_one_column_is_raveled_with_scikit_learns_warning(column):
    with pytest.warns(DataConversionWarning, match="column-vector"):
        encoded = encode(column, TREE)
    assert encoded.form.kind == "single"
    assert encoded.form.render(encoded.labels).tolist() == ["chess", "art"]


# ---------------------------------------------------------------- without a taxonomy


STARS = {
    "text": np.array(["b", "a", "ä", "B", "a"]),
    "integers": np.array([10, 9, -1, 10]),
    "floats": np.array([10.0, 9.0, -1.0]),
    "truth values": np.array([True, False, True]),
    "objects": np.array(["b", "a"], dtype=object),
    "large integers": np.array([2**62, 2**62 + 1, 3]),
    "unsigned": np.array([2**64 - 1, 0], dtype=np.uint64),
}


@pytest.mark.parametrize("y", STARS.values(), ids=STARS)
def test_without_a_taxonomy_names_make_a_star_sorted_as_numpy_does(y):
    encoded = encode(y)
    assert np.all(encoded.taxonomy.parent == -1)
    classes = encoded.form.values(encoded.taxonomy)
    expected, inverse = np.unique(y, return_inverse=True)
    assert same(classes, expected.astype(classes.dtype))
    assert classes.dtype.kind == y.dtype.kind
    assert encoded.labels.nodes("test").tolist() == inverse.tolist()
    assert same(rendered(y, None), y)


def test_without_a_taxonomy_sets_make_a_star():
    encoded = encode([{"b"}, {"a", "c"}, set()])
    assert encoded.taxonomy.names == ("a", "b", "c")
    assert encoded.form.render(encoded.labels) == [{"b"}, {"a", "c"}, set()]


def test_without_a_taxonomy_paths_build_theirs():
    y = pd.DataFrame({"area": ["sport", "art", "sport"], "topic": ["chess", None, "tennis"]})
    encoded = encode(y)
    assert encoded.taxonomy == Taxonomy.from_paths(["sport/chess", "art", "sport/tennis"])
    assert encoded.form.render(encoded.labels, index=y.index).equals(y)


# ---------------------------------------------------------------- the row index


def test_the_row_index_of_x_is_given_to_the_answer():
    index = pd.Index(["x", "y", "z"])
    nodes = np.array([3, 1, 0])
    labels = LabelMatrix.from_nodes(nodes, TREE)
    for y in (pd.Series(NAMES), pd.Series(ROWS), PATHS["frame"], INDICATORS["frame"]):
        form = encode(y, TREE).form
        assert form.render(labels, index=index).index.equals(index)
        assert form.render_nodes(nodes, TREE, index=index).index.equals(index)


def test_labels_that_are_paths_and_names_at_once_are_paths():
    taxonomy = Taxonomy.from_paths(["home/pots", "garden/pots", "garden/hoses"])
    form = encode(["home/pots", "garden/pots"], taxonomy).form  # as nodes they are called the same
    assert form.spell(taxonomy.index("hoses"), taxonomy) == "garden/hoses"
    assert encode(["home", "garden"], taxonomy).form.spell(taxonomy.index("hoses"), taxonomy) == "hoses"
