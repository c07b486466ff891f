"""Labels that do not fit: a LabelError that names row and label, whatever form they come in."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cladist import LabelMatrix, Taxonomy
from cladist.errors import LabelError
from cladist.labels import encode
from tests.steps import steps
from tests.strategies import forests

TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])  # sport, art, tennis, chess
CODES = Taxonomy.from_parents({"11": None, "1101": "11"})
nan = float("nan")


def objects(*rows):
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


CASES = {
    # y, everything the message must hold
    "unknown": (["art", "ches"], ["Row 1", "'ches'", "did you mean 'chess'?"]),
    "unknown in an array": (np.array(["art", "art", "x"]), ["Row 2", "'x'", "not in the taxonomy."]),
    "unknown in a Series": (pd.Series(["art", "Art"], index=[7, 8]), ["Row 1", "'Art'", "'art'"]),
    "unknown in a set": ([["art"], [], ["art", "tenis"]], ["Row 2", "'tenis'", "'tennis'"]),
    "unknown number": (np.array([1, 2]), ["Row 0", "1", "not in the taxonomy"]),
    "unknown number in a set": ([{11}], ["Row 0", "11"]),
    "unknown float": ([1.5], ["Row 0", "1.5"]),
    "missing None": (["art", None], ["Row 1", "no label", "None"]),
    "missing NaN": (["art", "art", nan], ["Row 2", "no label", "nan"]),
    "missing numpy NaN": (["art", np.float32("nan")], ["Row 1", "no label"]),
    "missing NaN among objects": (objects("art", nan), ["Row 1", "no label"]),
    "missing NaN among floats": (np.array([nan, 11.0]), ["Row 0", "no label"]),
    "missing text": (np.array(["art", ""]), ["Row 1", "no label", "''"]),
    "missing NA": (["art", pd.NA], ["Row 1", "no label", "NA"]),
    "missing NaT": (["art", pd.NaT], ["Row 1", "no label", "NaT"]),
    "missing in strings": (pd.Series(["art", None], dtype="string"), ["Row 1", "no label"]),
    "missing in a Series": (pd.Series(["art", None]), ["Row 1", "no label"]),
    "missing in nullable integers": (pd.Series([None, 11], dtype="Int64"), ["Row 0", "no label"]),
    "missing in a categorical": (pd.Series(["art", None], dtype="category"), ["Row 1", "no label"]),
    "unknown beside a missing one": (["bad", pd.NA], ["Row 0", "'bad'"]),
    "missing in a set": ([["art"], ["chess", None]], ["Row 1", "no label", "None"]),
    "missing NA in a set": ([["art"], ["chess", pd.NA]], ["Row 1", "no label"]),
    "missing row among sets": ([["art"], None], ["Row 1", "None", "write []"]),
    "mixed rows": ([["art"], "chess"], ["Row 1", "'chess'", "write ['chess']"]),
    "mixed rows, name first": (["art", ["chess"]], ["Row 0", "'art'"]),
    "mixed rows of numbers": ([[11], 11], ["Row 1", "11"]),
    "labels in labels": ([["art", ["chess"]]], ["Row 0", "['chess']", "text or a number"]),
    "tuples in labels": ([["art"], ["art", ("a", "b")]], ["Row 1", "('a', 'b')"]),
    "mappings": ([{"art": 1}, {"art": 1}], ["Row 0", "{'art': 1}"]),
    "bytes": (objects("art", b"art"), ["Row 1", "b'art'"]),
    "bytes array": (np.array([b"art"]), ["texts, integers or objects", "S3"]),
    "dates": (np.array(["2020-01-01"], dtype="M8[D]"), ["texts, integers or objects", "datetime64"]),
    "complex": (np.array([1j]), ["texts, integers or objects", "complex"]),
    "matrices in a list": ([np.zeros((2, 2))], ["Row 0", "text or a number"]),
    "empty list": ([], ["no labels", "0 rows"]),
    "empty array": (np.array([]), ["no labels", "0 rows"]),
    "empty Series": (pd.Series([], dtype=object), ["no labels", "0 rows"]),
    "empty paths": (np.empty((0, 2), dtype=object), ["no labels", "0 rows"]),
    "empty indicator": (np.empty((0, 4)), ["no labels", "0 rows"]),
    "empty sparse": (sparse.csr_array((0, 4)), ["no labels", "0 rows"]),
    "empty frame": (pd.DataFrame({"a": [], "b": []}), ["no labels", "0 rows"]),
    "None": (None, ["NoneType"]),
    "a text": ("art", ["sequence", "str"]),
    "bytes alone": (b"art", ["sequence", "bytes"]),
    "a set": ({"art"}, ["sequence", "set"]),
    "a mapping": ({"art": 1}, ["sequence", "dict"]),
    "a number": (3, ["sequence", "int"]),
    "a generator": ((name for name in ["art"]), ["sequence", "generator"]),
    "no dimension": (np.array("art"), ["one or two dimensions", "()"]),
    "three dimensions": (np.zeros((2, 2, 2)), ["one or two dimensions", "(2, 2, 2)"]),
    "gap": (np.array([["sport", "chess"], ["", "chess"]]), ["Row 1", "gap", "column 0", "chess"]),
    "gap of None": (np.array([[None, "chess"]], dtype=object), ["Row 0", "gap", "column 0"]),
    "gap in the middle": (np.array([["sport", nan, "x"]], dtype=object), ["Row 0", "gap", "column 1"]),
    "empty path": (np.array([["art", ""], ["", ""]]), ["Row 1", "empty path"]),
    "no columns": (np.empty((2, 0), dtype=object), ["Row 0", "empty path"]),
    "wrong path": (np.array([["art", "chess"]]), ["Row 0", "art → chess", "not a path"]),
    "unknown part": (np.array([["art", ""], ["x", "y"]]), ["Row 1", "x → y", "not a path"]),
    "wrong path in a frame": (pd.DataFrame({"a": ["sport", "art"], "b": ["chess", "chess"]}), ["Row 1", "art → chess"]),
    "collections in paths": (np.array([["art", None], [["x"], None]], dtype=object), ["Row 1", "['x']"]),
    "orphan": (np.array([[1, 0, 0, 0], [0, 1, 1, 0]]), ["Row 1", "'tennis'", "'sport'", "ancestors"]),
    "orphan in a sparse matrix": (sparse.csr_array([[0, 0, 0, 1]]), ["Row 0", "'chess'", "'sport'"]),
    "orphan in a frame": (pd.DataFrame([[0, 0, 0, 1]]), ["Row 0", "'chess'", "'sport'"]),
    "too narrow": (np.zeros((2, 3)), ["one column per node", "4", "(2, 3)"]),
    "too wide": (sparse.csr_array(np.zeros((2, 5))), ["one column per node", "4", "(2, 5)"]),
    "too narrow a frame": (pd.DataFrame(np.zeros((2, 3), int)), ["one column per node", "4", "(2, 3)"]),
    "other values": (np.array([[1, 0, 0, 0], [1, 0, 0, 2]]), ["row 1", "2", "'chess'", "only 0 and 1"]),
    "NaN in an indicator": (np.array([[1, nan, 0, 0]]), ["row 0", "nan", "'art'"]),
    "numbers in a frame": (pd.DataFrame([[1, 2], [1, 3]]), ["Row 0", "1 → 2", "not a path"]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize(("y", "wanted"), CASES.values(), ids=CASES)
def test_every_misfit_is_named(y, wanted):
    with pytest.raises(LabelError) as caught:
        encode(y, TREE)
    message = str(caught.value)
    for part in wanted:
        assert part in message
    assert message.endswith((".", "?"))


WITHOUT = {
    "an indicator": (np.eye(2), ["needs a taxonomy"]),
    "a sparse indicator": (sparse.eye_array(2, format="csr"), ["needs a taxonomy"]),
    "missing": (["a", None], ["Row 1", "no label"]),
    "missing in sets": ([{"a", "b"}, {"c", nan}], ["Row 1", "no label"]),
    "continuous": (np.array([1.0, 2.0, 0.5]), ["Unknown label type: continuous", "Row 2", "0.5"]),
    "continuous in sets": ([{1.0}, {2.0, 0.5}], ["continuous", "Row 1", "0.5"]),
    "infinity": (np.array([1.0, np.inf]), ["Row 1", "inf"]),
    "mixture": (["a", "b", 1], ["Row 2".lower(), "1", "'a'", "one type"]),
    "mixture in sets": ([{"a"}, {"b", 1}], ["row 1", "1", "'a'"]),
    "objects without order": ([object(), object()], ["one type"]),
    "tuples as labels": ([["a", ("b", "c")], []], ["Row 0", "('b', 'c')"]),
    "only empty sets": ([[], []], ["No row has a label"]),
    "nothing": ([], ["no labels"]),
}  # fmt: skip


@pytest.mark.parametrize(("y", "wanted"), WITHOUT.values(), ids=WITHOUT)
def test_every_misfit_without_a_taxonomy(y, wanted):
    with pytest.raises(LabelError) as caught:
        encode(y)
    for part in wanted:
        assert part in str(caught.value)


def test_a_matrix_of_another_taxonomy_is_refused():
    with pytest.raises(LabelError, match="another taxonomy"):
        encode(LabelMatrix.from_sets([["art"]], TREE), CODES)
    same = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    assert encode(LabelMatrix.from_sets([["art"]], TREE), same).labels.frontier_names() == [["art"]]


def test_zero_padded_codes_are_not_integers():
    """A code such as 0111 that a table has turned into 111 must not be taken for another one."""
    taxonomy = Taxonomy.from_parents({"0111": None, "01": None})
    with pytest.raises(LabelError, match=r"Row 0: the label 111 is not in the taxonomy; did you mean '0111'\?"):
        encode(np.array([111]), taxonomy)


def test_a_form_for_one_label_refuses_to_write_several():
    form = encode(["art"], TREE).form
    for rows, what in (([["art", "chess"]], "2 labels"), ([[]], "no label")):
        with pytest.raises(LabelError, match=f"exactly one label per row; row 0 has {what}"):
            form.render(LabelMatrix.from_sets(rows, TREE))


@given(
    forests(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=2),
        lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text(max_size=1), inner),
        max_leaves=12,
    ),
    st.booleans(),
)
def test_whatever_comes_it_is_encoded_or_a_label_error(taxonomy, y, with_taxonomy):
    for given_y in (y, [y], [y, "a"], objects(y, "a")):
        try:
            encoded = encode(given_y, taxonomy if with_taxonomy else None)
        except LabelError:
            continue
        else:
            assert len(encoded.labels) == len(given_y)
            encoded.form.render(encoded.labels)


def test_a_label_that_comes_again_is_not_looked_up_again(monkeypatch):
    taxonomy = Taxonomy.from_paths([f"{k % 5}/{k}x" for k in range(50)])
    few = [f"{k % 50}x" for k in range(1_000)]
    looked_up = []
    monkeypatch.setattr(Taxonomy, "find", lambda self, name: looked_up.append(name) or self._id_of[name])
    for y in (few, np.array(few), [[name] for name in few]):
        looked_up.clear()
        assert len(encode(y, taxonomy).labels) == len(few)
        assert len(looked_up) == 50
        assert steps(lambda y=y: encode(y, taxonomy)) < 150 * len(few)
