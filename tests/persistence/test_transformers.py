"""A transformer that can be saved comes back the same in every bit; any other is refused by name."""

import json
import sys
from collections import UserList
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    StandardScaler,
)

from cladist.errors import ModelFormatError, ParameterError
from cladist.features import TextFeatures
from cladist.persistence.transformers import check_width, decode_transformer, encode_transformer
from cladist.storage import read_folder, write_folder

TEXTS = ["Acute bronchitis, mild", "chronic bronchitis", "Fièvre aiguë", "fracture of the left hand", "fever"]
DENSE = np.random.default_rng(0).normal(size=(6, 3))
GAPS = np.where(np.arange(18).reshape(6, 3) % 7 == 0, np.nan, DENSE)
SPARSE = sp.csr_matrix(np.where(np.abs(DENSE) > 0.5, DENSE, 0))
WORDS = ["bronchitis", "fever", "hand"]
FORGOTTEN = {"_stop_words_id", "_transformers_feature_names_out"}

CASES = {
    "tfidf": (TfidfVectorizer(), TEXTS),
    "tfidf-options": (
        TfidfVectorizer(
            ngram_range=(1, 2),
            sublinear_tf=True,
            dtype=np.float32,
            stop_words="english",
            max_df=0.9,
            min_df=1,
        ),
        TEXTS,
    ),
    "tfidf-no-idf": (TfidfVectorizer(use_idf=False, norm=None, strip_accents="unicode"), TEXTS),
    "tfidf-cut": (TfidfVectorizer(max_features=4), TEXTS),
    "tfidf-chars": (TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False), TEXTS),
    "count": (CountVectorizer(binary=True, dtype=np.dtype("int32")), TEXTS),
    "count-int": (CountVectorizer(dtype=int, stop_words=["the", "of"]), TEXTS),
    "words-list": (CountVectorizer(vocabulary=WORDS), TEXTS),
    "words-tuple": (TfidfVectorizer(vocabulary=tuple(WORDS)), TEXTS),
    "words-set": (CountVectorizer(vocabulary=set(WORDS)), TEXTS),
    "words-dict": (TfidfVectorizer(vocabulary={"hand": 0, "fever": 2, "bronchitis": np.int64(1)}), TEXTS),
    "words-objects": (CountVectorizer(vocabulary=np.array(WORDS, dtype=object)), TEXTS),
    "words-array": (CountVectorizer(vocabulary=np.array(WORDS)), TEXTS),
    "hashing": (HashingVectorizer(n_features=2**6, alternate_sign=False, dtype=np.float32), TEXTS),
    "text-features": (TextFeatures(), TEXTS),
    "text-features-options": (
        TextFeatures(words=True, characters=(3, 5), min_df=2, max_features=9, sublinear_tf=True, dtype=np.float64),
        TEXTS,
    ),
    "text-features-words": (TextFeatures(characters=False), TEXTS),
    "text-features-characters": (TextFeatures(words=False), TEXTS),
    "text-features-hashing": (TextFeatures(hashing=True, n_features=65), TEXTS),
    "tfidf-transformer": (TfidfTransformer(norm="l1"), abs(SPARSE)),
    "standard": (StandardScaler(), DENSE),
    "standard-gaps": (StandardScaler(), GAPS),
    "standard-float32": (StandardScaler(), DENSE.astype(np.float32)),
    "standard-sparse": (StandardScaler(with_mean=False), SPARSE),
    "standard-idle": (StandardScaler(with_mean=False, with_std=False), SPARSE),
    "max-abs": (MaxAbsScaler(), DENSE),
    "max-abs-sparse": (MaxAbsScaler(), SPARSE),
    "min-max": (MinMaxScaler(feature_range=(-1, 2.5), clip=True), GAPS),
    "normalizer": (Normalizer(norm="max"), SPARSE),
    "pipeline": (make_pipeline(CountVectorizer(), TfidfTransformer(), MaxAbsScaler()), TEXTS),
    "pipeline-passthrough": (Pipeline([("skip", "passthrough"), ("scale", StandardScaler())]), DENSE),
    "union": (
        FeatureUnion(
            [("words", TfidfVectorizer()), ("hash", HashingVectorizer(n_features=32)), ("none", "drop")],
            transformer_weights={"words": 0.5, "hash": np.float64(2)},
        ),
        TEXTS,
    ),
    "union-passthrough": (FeatureUnion([("as is", "passthrough"), ("scaled", StandardScaler())]), DENSE),
    "columns-by-index": (
        ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", "passthrough", slice(1, 2))]),
        DENSE,
    ),
    "columns-by-mask": (
        ColumnTransformer([("a", MaxAbsScaler(), [True, False, True])], remainder=StandardScaler()),
        DENSE,
    ),
    "columns-by-array": (
        ColumnTransformer([("a", MaxAbsScaler(), np.array([0, 1]))], remainder="passthrough"),
        DENSE,
    ),
    "columns-sparse": (
        ColumnTransformer([("a", MaxAbsScaler(), [0]), ("none", StandardScaler(), [])], remainder="drop"),
        SPARSE,
    ),
    "nested": (
        FeatureUnion(
            [
                ("deep", make_pipeline(FeatureUnion([("w", CountVectorizer())]), TfidfTransformer())),
                ("chars", TfidfVectorizer(analyzer="char")),
            ]
        ),
        TEXTS,
    ),
}


def same(a, b):
    """Compare deeply: types, values, bits of arrays, parameters and fitted attributes of estimators."""
    if isinstance(a, BaseEstimator):
        mine, yours = ({k: v for k, v in vars(x).items() if k not in FORGOTTEN} for x in (a, b))
        return type(a) is type(b) and same(mine, yours)
    if sp.issparse(a):
        parts = ("data", "indices", "indptr")
        return type(a) is type(b) and a.shape == b.shape and all(same(vars(a)[p], vars(b)[p]) for p in parts)
    if isinstance(a, np.ndarray):
        bits = np.array_equal(a, b) if a.dtype == object else a.tobytes() == b.tobytes()
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and bits
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, UserList):  # scikit-learn before 1.9
        return same(a.data, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (int, np.integer)):  # a vocabulary may hold either kind of integer
        return bool(a == b)
    return type(a) is type(b) and bool(a == b or a != a)


def through_disk(transformer, folder):
    encoded, arrays = encode_transformer(transformer)
    write_folder(folder, encoded, arrays)
    return decode_transformer(*read_folder(folder))


def names_out(transformer):
    try:
        return list(transformer.get_feature_names_out())
    except (AttributeError, NotFittedError, ParameterError) as error:
        return type(error)


@pytest.mark.parametrize("case", CASES)
def test_fitted_transformers_come_back(case, tmp_path):
    transformer, X = CASES[case]
    fitted = clone(transformer).fit(X)
    restored = through_disk(fitted, tmp_path)
    assert same(fitted, restored)
    assert same(fitted.transform(X), restored.transform(X))
    assert names_out(fitted) == names_out(restored)
    assert same(fitted.get_params(), restored.get_params())
    assert same(fitted.transform(X[:2]), through_disk(restored, tmp_path).transform(X[:2]))


@pytest.mark.parametrize("case", CASES)
def test_unfitted_transformers_come_back(case, tmp_path):
    transformer, X = CASES[case]
    restored = through_disk(clone(transformer), tmp_path)
    assert same(clone(transformer), restored)
    assert names_out(transformer) == names_out(restored)
    assert same(clone(transformer).fit_transform(X), restored.fit_transform(X))


def frame():
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"text": TEXTS, "age": [3.0, 40, 50, 61, 7], "dose": range(5), "title": TEXTS[::-1]})


@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
def test_columns_by_name(tmp_path, remainder):
    table = frame().drop(columns="title")
    columns = ColumnTransformer(
        [("text", TfidfVectorizer(), "text"), ("age", StandardScaler(), ["age"])], remainder=remainder
    ).fit(table)
    restored = through_disk(columns, tmp_path)
    assert same(columns, restored)
    shuffled = table[["dose", "text", "age"]]
    assert same(columns.transform(shuffled), restored.transform(shuffled))
    assert names_out(columns) == names_out(restored)


def test_remainder_by_name(tmp_path):
    table = frame()[["age", "dose"]]
    columns = ColumnTransformer([("age", StandardScaler(), ["age"])], remainder=MinMaxScaler()).fit(table)
    restored = through_disk(columns, tmp_path)
    assert same(columns.transform(table), restored.transform(table))
    assert names_out(columns) == names_out(restored)


def test_frames_as_output(tmp_path):
    table = frame()[["age", "dose"]]
    union = FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())]).set_output(transform="pandas")
    union.fit_transform(table)
    restored = through_disk(union, tmp_path)
    assert union.transform(table).equals(restored.transform(table))
    assert list(restored.transform(table).columns) == list(union.get_feature_names_out())


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.text(alphabet="abc é.\n😀"), min_size=1, max_size=6),
    seen=st.lists(st.text(alphabet="abcd é😀"), min_size=1, max_size=4),
    analyzer=st.sampled_from(["word", "char", "char_wb"]),
    ngrams=st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    dtype=st.sampled_from([np.float32, np.float64]),
    cut=st.none() | st.integers(1, 5),
)
def test_any_texts(texts, seen, analyzer, ngrams, dtype, cut):
    vectorizer = TfidfVectorizer(
        analyzer=analyzer,
        ngram_range=ngrams,
        dtype=dtype,
        max_features=cut,
        token_pattern=r"\w+" if analyzer == "word" else None,
    )
    try:
        vectorizer.fit(texts)
    except ValueError:  # an empty vocabulary
        return
    encoded, arrays = encode_transformer(vectorizer)
    restored = decode_transformer(json.loads(json.dumps(encoded, allow_nan=False)), arrays)
    assert same(vectorizer, restored)
    assert same(vectorizer.transform(seen), restored.transform(seen))


def test_arrays_are_named_by_their_place():
    union = CASES["nested"][0]
    _, arrays = encode_transformer(clone(union).fit(TEXTS))
    assert "FeatureUnion/transformer_list/1/1/_tfidf/idf_" in arrays
    assert "FeatureUnion/transformer_list/0/1/steps/0/1/transformer_list/0/1/vocabulary_/utf8" in arrays


class MyScaler(StandardScaler):
    pass


class NotAnEstimator:
    def transform(self, X):
        return X


@pytest.mark.parametrize(
    ("transformer", "message"),
    [
        (
            TfidfVectorizer(tokenizer=str.split),
            "^TfidfVectorizer/tokenizer: a value of type method_descriptor",
        ),
        (CountVectorizer(analyzer=lambda text: []), "^CountVectorizer/analyzer: a value of type function"),
        (HashingVectorizer(preprocessor=str.lower), "^HashingVectorizer/preprocessor: "),
        (TruncatedSVD(), r"^sklearn\.\S+\.TruncatedSVD cannot be saved in cladist's own format; .* needs skops, which"),
        (
            make_pipeline(TfidfVectorizer(), TruncatedSVD()),
            "TruncatedSVD cannot be saved .* pip install 'cladist.skops.'",
        ),
        (make_pipeline(StandardScaler(), LogisticRegression()), "LogisticRegression cannot be saved"),
        (MyScaler(), r"MyScaler cannot be saved in cladist's own format"),
        (FeatureUnion([("mine", MyScaler())]), "MyScaler cannot be saved in cladist's own format"),
        (FeatureUnion([("odd", NotAnEstimator())]), "^FeatureUnion/transformer_list/0/1: .*NotAnEstimator"),
        (FunctionTransformer(np.log1p), "^FunctionTransformer/func: "),
        (
            ColumnTransformer([("a", StandardScaler(), make_column_selector("x"))]),
            "^ColumnTransformer/transformers/0/2: a value of type make_column_selector",
        ),
        (Pipeline([("a", StandardScaler())], memory="cache"), "^Pipeline/memory: a cache cannot be saved"),
        (CountVectorizer(vocabulary=["a", "\ud800"]), "cannot be written as JSON: .* surrogates not allowed"),
        (CountVectorizer(vocabulary={"\ud800"}), "^CountVectorizer/vocabulary: String 0 cannot be saved"),
        (CountVectorizer(vocabulary={1, 2}), "^CountVectorizer/vocabulary: a value of type set"),
        (CountVectorizer(vocabulary=np.array([1, None])), "^CountVectorizer/vocabulary: String 0"),
        ("passthrough", "cannot be saved; these can"),
        (None, "cannot be saved; these can"),
        (StandardScaler, "cannot be saved; these can"),
    ],
)
def test_what_cannot_be_saved_is_named(transformer, message, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)  # as if it were not installed
    with pytest.raises(ModelFormatError, match=message):
        write_folder(tmp_path / "model", *encode_transformer(transformer))


def test_attributes_of_others_are_not_lost_in_silence():
    scaler = StandardScaler().fit(DENSE)
    scaler.note = "mine"
    with pytest.raises(ModelFormatError, match="the attribute 'note' is not one that fit gives"):
        encode_transformer(scaler)


@pytest.mark.parametrize("kind", ["filename", "file"])
def test_texts_are_never_names_of_files(kind):
    """A stranger's model would open whatever a row names."""
    for vectorizer in (TfidfVectorizer(), CountVectorizer(), HashingVectorizer()):
        with pytest.raises(ModelFormatError, match=f"input='{kind}' cannot be saved or loaded"):
            encode_transformer(make_pipeline(clone(vectorizer).set_params(input=kind)))
        encoded, arrays = encode_transformer(clone(vectorizer).fit(TEXTS))
        encoded["params"]["input"] = kind
        with pytest.raises(ModelFormatError, match=f"input='{kind}' cannot be saved or loaded"):
            decode_transformer(encoded, arrays)


CHANGES = {
    "no number": lambda array: np.where(np.arange(len(array)) == 0, np.nan, array),
    "infinite": lambda array: np.where(np.arange(len(array)) == 0, -np.inf, array),
    "shorter": lambda array: array[:-1],
    "longer": lambda array: np.append(array, array[:1]),
    "other shape": lambda array: array[None],
    "other type": lambda array: array.astype(bool),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("case", ["tfidf", "nested", "standard", "max-abs", "min-max", "tfidf-transformer"])
def test_fitted_arrays_that_cannot_be_are_refused(case, change):
    transformer, X = CASES[case]
    encoded, arrays = encode_transformer(clone(transformer).fit(X))
    numbers = [name for name, array in arrays.items() if array.dtype.kind == "f"]
    assert numbers
    for name in numbers:
        with pytest.raises(ModelFormatError):
            check_width(decode_transformer(encoded, {**arrays, name: CHANGES[change](arrays[name])}), 3, "it")


def test_a_pipeline_inside_itself_is_refused():
    pipeline = Pipeline([("a", StandardScaler())])
    pipeline.steps.append(("self", pipeline))
    with pytest.raises(ModelFormatError, match="nested more than"):
        encode_transformer(pipeline)


def test_a_vocabulary_that_is_no_numbering_is_kept_as_it_is():
    for words in ({"a": 0, "b": 0}, {"a": 1}, {"a": "x", "b": 1}, {"a": -1, "b": 0}, {}):
        restored = decode_transformer(*encode_transformer(CountVectorizer(vocabulary=words)))
        assert restored.vocabulary == words


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e, a: e.update({"class": "LogisticRegression"}), "'LogisticRegression' is no class"),
        (lambda e, a: e.update({"class": ["Pipeline"]}), "is no class"),
        (lambda e, a: e.pop("class"), "None is no class"),
        (lambda e, a: e.update({"class": "StandardScaler"}), "transformer/params: 'analyzer' is not known"),
        (lambda e, a: e.update(params=[]), "transformer/params: an object was wanted"),
        (lambda e, a: e.update(fitted=None), "transformer/fitted: an object was wanted"),
        (
            lambda e, a: e["params"].update(run="rm"),
            "'run' is not known to scikit-learn .* saved with scikit-l",
        ),
        (lambda e, a: e["fitted"].update(transform=1), "transformer/fitted: 'transform' is not known"),
        (lambda e, a: e["fitted"].update(__class__=1), "transformer/fitted: '__class__' is not known"),
        (lambda e, a: e["fitted"].update(_tfidf={"$transformer": 3}), "must be an object, not 3"),
        (lambda e, a: e["fitted"].update(vocabulary_={"$array": ["x"]}), "the array .* is missing"),
        (lambda e, a: e["fitted"].update(vocabulary_={"$slice": [1]}), "cannot be read as '\\$slice'"),
        (lambda e, a: a.clear(), "the array 'TfidfVectorizer/_tfidf/idf_' is missing"),
        (lambda e, a: a.update({"TfidfVectorizer/vocabulary_/utf8": np.zeros(1)}), "Packed strings must be"),
    ],
)
def test_forged_transformers_are_refused(change, message):
    encoded, arrays = encode_transformer(TfidfVectorizer().fit(TEXTS))
    change(encoded, arrays)
    with pytest.raises(ModelFormatError, match=message):
        decode_transformer(encoded, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e["fitted"].pop("tfidf_"), "TextFeatures lacks the attribute 'tfidf_'"),
        (lambda e: e["fitted"].update(characters_=None), "the vectorizer does not work"),
        (lambda e: e["fitted"].update(words_=e["fitted"]["characters_"]), "attribute 'words_' of TextFeatures cannot"),
        (lambda e: e["params"].update(character_share=2.0), "character_share must be in"),
        (lambda e: e["params"].update(hashing="x"), "hashing must be"),
        (lambda e: e["params"].update(n_features=8.0), "n_features must be a whole number"),
        (lambda e: e["params"].update(hashing=True, words="ab"), "the vectorizer does not work"),
    ],
)
def test_forged_text_features_are_refused(change, message):
    encoded, arrays = encode_transformer(TextFeatures().fit(TEXTS))
    change(encoded)
    with pytest.raises(ModelFormatError, match=message):
        decode_transformer(encoded, arrays)


def test_characters_without_their_weights_are_refused():
    """The trial text of loading need not have the n-gram whose weight is missing."""
    vectorizer = TextFeatures().fit(TEXTS)
    width = len(vectorizer.get_feature_names_out())
    check_width(vectorizer, width, "it")
    with pytest.raises(ModelFormatError, match="columns, and the learner's"):
        check_width(vectorizer, width - 1, "it")
    vectorizer.tfidf_.idf_ = vectorizer.tfidf_.idf_[:-1]
    with pytest.raises(ModelFormatError, match="weights for"):
        check_width(vectorizer, width, "it")


def test_a_vocabulary_with_a_term_twice_is_refused():
    encoded, arrays = encode_transformer(CountVectorizer(vocabulary={"ab": 0, "ac": 1}))
    arrays["CountVectorizer/vocabulary/utf8"] = np.frombuffer(b"abab", np.uint8)
    with pytest.raises(ModelFormatError, match="a term is in the vocabulary twice"):
        decode_transformer(encoded, arrays)


def test_a_cache_of_pickles_is_never_opened():
    encoded, arrays = encode_transformer(Pipeline([("a", StandardScaler())]))
    encoded["params"]["memory"] = "cache"
    with pytest.raises(ModelFormatError, match="memory: a cache cannot be"):
        decode_transformer(encoded, arrays)


def test_missing_parameters_are_refused():
    with pytest.raises(ModelFormatError, match="Pipeline cannot be made from what was saved"):
        decode_transformer({"class": "Pipeline", "params": {}, "fitted": {}}, {})


KEYS = ["class", "params", "fitted", "scale_", "steps", "copy", "$tuple"]
KEYS += ["$transformer", "$array", "$strings", "$set", "$slice", "$list"]
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["Pipeline", "MaxAbsScaler"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(params=junk, fitted=junk, name=st.sampled_from(["Pipeline", "StandardScaler"]))
def test_any_json_is_decoded_or_refused(params, fitted, name):
    try:
        restored = decode_transformer({"class": name, "params": params, "fitted": fitted}, {})
    except ModelFormatError:
        return
    assert type(restored).__name__ == name


def test_a_vectorizer_saved_by_format_version_1_is_read():
    golden = Path(__file__).parents[1] / "storage" / "golden" / "tfidf-1"
    restored = decode_transformer(*read_folder(golden))
    wanted = FeatureUnion([("words", TfidfVectorizer(ngram_range=(1, 2))), ("as is", "drop")]).fit(TEXTS)
    assert names_out(restored) == names_out(wanted)
    assert restored.transformer_list[0][1].get_params() == wanted.transformer_list[0][1].get_params()
    np.testing.assert_allclose(restored.transform(TEXTS).toarray(), wanted.transform(TEXTS).toarray())


# ---------------------------------------------------------------- texts and columns


def forged_columns(transformer, X, columns):
    """A fitted ColumnTransformer from a file whose first part has other columns."""
    encoded, arrays = encode_transformer(clone(transformer).fit(X))
    encoded["fitted"]["transformers_"][0]["$tuple"][2] = columns
    return decode_transformer(encoded, arrays)


TABLE = np.array([["a text", "1.5"], ["another text", "2"]], dtype=object)
VECTORIZERS = [CountVectorizer(), TfidfVectorizer(), HashingVectorizer(n_features=8), TextFeatures()]
OF_TEXTS = [
    *VECTORIZERS,
    make_pipeline(CountVectorizer(), TfidfTransformer()),
    FeatureUnion([("a", CountVectorizer()), ("b", TfidfVectorizer())]),
]
OF_COLUMNS = [
    StandardScaler(),
    MinMaxScaler(),
    MaxAbsScaler(),
    Normalizer(),
    SimpleImputer(),
    "passthrough",
    make_pipeline(SimpleImputer(), StandardScaler()),
    make_pipeline("passthrough", StandardScaler()),
    FeatureUnion([("a", StandardScaler()), ("b", MaxAbsScaler())]),
    ColumnTransformer([("a", StandardScaler(), [0])]),
]


@pytest.mark.parametrize("part", OF_TEXTS, ids=lambda part: type(part).__name__)
def test_a_vectorizer_takes_one_column(part):
    transformer = ColumnTransformer([("texts", part, 0)])
    assert forged_columns(transformer, TABLE, 1).transform(TABLE).shape[0] == 2
    for columns in ([0], [0, 1], [True, False], {"$slice": [0, 1, None]}):
        with pytest.raises(ModelFormatError, match="one column of texts"):
            forged_columns(transformer, TABLE, columns)


@pytest.mark.parametrize("part", OF_COLUMNS, ids=lambda part: part if isinstance(part, str) else type(part).__name__)
def test_any_other_part_takes_a_list_of_columns(part):
    transformer = ColumnTransformer([("numbers", part, [0, 1])])
    for columns in ([0, 1], [True, True, False], {"$slice": [0, 2, None]}):
        assert forged_columns(transformer, DENSE, columns).transform(DENSE).shape[0] == len(DENSE)
    for columns in (0, 2, -1):
        with pytest.raises(ModelFormatError, match="several columns"):
            forged_columns(transformer, DENSE, columns)


def test_a_single_column_by_name_is_one_column():
    table = frame()[["age", "dose"]]
    transformer = ColumnTransformer([("numbers", StandardScaler(), ["age", "dose"])])
    assert forged_columns(transformer, table, ["dose", "age"]).transform(table).shape == (len(table), 2)
    with pytest.raises(ModelFormatError, match="several columns"):
        forged_columns(transformer, table, "age")


def test_a_part_that_is_dropped_may_have_any_columns():
    transformer = ColumnTransformer([("nothing", "drop", [0]), ("numbers", StandardScaler(), [1])])
    for columns in (0, [0, 1], {"$slice": [0, 1, None]}):
        assert forged_columns(transformer, DENSE, columns).transform(DENSE).shape == (len(DENSE), 1)


@pytest.mark.parametrize("vectorizer", VECTORIZERS, ids=lambda part: type(part).__name__)
def test_texts_come_before_columns(vectorizer):
    """What a scaler makes of texts is no text, and one input is not both."""
    fitted = clone(vectorizer).fit(TEXTS)
    scaler = StandardScaler(with_mean=False).fit(fitted.transform(TEXTS))
    n_columns = scaler.n_features_in_
    check_width(Pipeline([("texts", fitted), ("scaled", scaler)]), n_columns, "it")
    with pytest.raises(ModelFormatError, match="leaves no texts"):
        check_width(Pipeline([("scaled", scaler), ("texts", fitted)]), n_columns, "it")
    with pytest.raises(ModelFormatError, match="take texts, and others columns"):
        check_width(FeatureUnion([("texts", fitted), ("scaled", scaler)]), 2 * n_columns, "it")


@pytest.mark.parametrize("n_missing", [0, 1, 3])
def test_an_imputer_drops_the_columns_without_a_fill_value(n_missing):
    """A scaler after an imputer that drops all columns would raise in every prediction."""
    imputer = SimpleImputer().fit(DENSE)
    scaler = StandardScaler().fit(DENSE)
    imputer.statistics_[:n_missing] = np.nan
    pipeline = Pipeline([("filled", imputer), ("scaled", scaler)])
    if n_missing == 0:
        check_width(pipeline, 3, "it")
        return
    with pytest.raises(ModelFormatError, match=f"StandardScaler wants 3 columns, and is given {3 - n_missing}"):
        check_width(pipeline, 3, "it")
    for keeps in (SimpleImputer(keep_empty_features=True), SimpleImputer(strategy="constant")):
        keeps.fit(DENSE).statistics_[:n_missing] = np.nan
        check_width(Pipeline([("filled", keeps), ("scaled", scaler)]), 3, "it")
