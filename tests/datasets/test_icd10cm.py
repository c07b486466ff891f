"""The built-in ICD-10-CM set."""

from importlib.metadata import version

import numpy as np
import pytest

from cladist.datasets import Dataset, load_icd10cm
from cladist.datasets.loaders import official_codes
from cladist.errors import ParameterError
from cladist.features import text_features

# level: training rows, different labels among them, test rows, nodes
COUNTS = {
    "chapter": (98_505, 22, 12_589, 22),
    "block": (98_483, 297, 12_589, 22 + 297),
    "category": (98_225, 1_918, 12_584, 22 + 285 + 1_918),
    "code": (98_225, 98_186, 12_584, 22 + 285 + 98_186),
}
COUNTED_EDITION = "1.5."  # the package's version whose edition of the classification was counted


@pytest.fixture(scope="module")
def by_level() -> dict[str, Dataset]:
    """Every level; all but one with words alone, since counting pairs and characters takes most of the time."""
    found = {"category": load_icd10cm(level="category")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(official_codes, "text_features", lambda: text_features(words=(1, 1), characters=False))
        found |= {level: load_icd10cm(level=level) for level in COUNTS if level != "category"}  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("level", COUNTS)
def test_counts(by_level: dict[str, Dataset], level: str) -> None:
    if not version("simple-icd-10-cm").startswith(COUNTED_EDITION):
        pytest.skip("another edition of ICD-10-CM has other counts")
    data = by_level[level]
    found = len(data.y_train), len(np.unique(data.y_train)), len(data.y_test), data.taxonomy.n_nodes
    assert found == COUNTS[level]


@pytest.mark.parametrize("level", COUNTS)
def test_rows_fit_together(by_level: dict[str, Dataset], level: str) -> None:
    data = by_level[level]
    assert data.X_train.shape == (len(data.y_train), len(data.feature_names))
    assert data.X_test.shape == (len(data.y_test), len(data.feature_names))
    assert data.X.dtype == np.float32
    assert data.X.has_sorted_indices
    assert len(data.texts_train) == len(data.y_train)
    assert len(data.texts_test) == len(data.y_test)
    assert set(data.y_test) <= set(data.y_train)
    assert set(data.descriptions) == set(data.taxonomy.names)
    assert all(data.descriptions.values())


@pytest.mark.parametrize("level", ["chapter", "block", "category"])
def test_labels_are_the_leaves(by_level: dict[str, Dataset], level: str) -> None:
    taxonomy = by_level[level].taxonomy
    assert set(by_level[level].y_train) == {taxonomy.names[v] for v in taxonomy.leaves}
    assert set(taxonomy.depth[taxonomy.leaves]) == {["chapter", "block", "category"].index(level)}


def test_labels_are_every_code_from_the_category_down(by_level: dict[str, Dataset]) -> None:
    taxonomy = by_level["code"].taxonomy
    assert set(by_level["code"].y_train) == {n for n, d in zip(taxonomy.names, taxonomy.depth, strict=True) if d >= 2}


def test_a_row_is_labelled_with_its_ancestor(by_level: dict[str, Dataset]) -> None:
    text = "Typhoid pneumonia"
    found = {level: data.y_train[data.texts_train == text].tolist() for level, data in by_level.items()}
    assert found == {"chapter": ["1"], "block": ["A00-A09"], "category": ["A01"], "code": ["A01.03"]}
    assert by_level["code"].taxonomy.path("A01.03") == ["1", "A00-A09", "A01", "A01.0", "A01.03"]


def test_the_test_part_has_inclusion_terms(by_level: dict[str, Dataset]) -> None:
    data = by_level["category"]
    assert data.y_test[data.texts_test == "Classical cholera"].tolist() == ["A00"]


def test_a_block_named_like_its_category_is_told_apart(by_level: dict[str, Dataset]) -> None:
    data = by_level["category"]
    assert data.taxonomy.path("Z66") == ["21", "Z66-Z66", "Z66"]
    assert np.count_nonzero(data.y_train == "Z66") == 2  # the package lists the code twice
    assert np.count_nonzero(data.y_test == "Z66") == 2
    assert np.count_nonzero(by_level["block"].y_train == "Z66-Z66") == 2


def test_features_are_learnt_from_the_training_part_alone(by_level: dict[str, Dataset]) -> None:
    data = by_level["category"]
    assert (np.diff(data.X_train.tocsc().indptr) > 0).all()
    assert "cholera due" in data.feature_names


def test_an_unknown_level() -> None:
    with pytest.raises(ParameterError, match="level must be one of 'chapter', 'block', 'category', 'code'"):
        load_icd10cm(level="leaf")  # type: ignore[arg-type]
