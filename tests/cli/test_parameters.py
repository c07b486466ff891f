"""Parameters from the command line and options from a config file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import RecursiveSVM, Relations
from cladist.cli.train import merge_options, new_learner, parse_parameters, read_config
from cladist.errors import ParameterError


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans())
def test_numbers_and_truths_are_read_as_written(value):
    written = str(value).lower()
    assert parse_parameters([f"x={written}"]) == {"x": value} or abs(value) >= 2**63


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("rbf", "rbf"),
        ('"two words"', "two words"),
        ("'x=y'", "x=y"),
        ('["a", "b"]', ["a", "b"]),
        (" 1e-3 ", 0.001),
        ("None", "None"),
    ],
)
def test_texts_and_lists(written, value):
    assert parse_parameters([f"x={written}"]) == {"x": value}


@pytest.mark.parametrize("written", ["x", "x=", "=1", "x=0,1", "x=two words", "x=1\ny = 2", "x=[1", "x=-"])
def test_what_is_no_value(written):
    with pytest.raises(ParameterError, match="--param"):
        parse_parameters([written])


def test_twice_is_once_too_often():
    with pytest.raises(ParameterError, match="given twice"):
        parse_parameters(["x=1", "x=2"])


def config(folder: Path, text: str) -> Path:
    path = folder / "train.toml"
    path.write_text(text)
    return path


def test_names_may_have_dashes(tmp_path):
    assert read_config(config(tmp_path, 'label-sep = ";"\nzero_based = true\n')) == {
        "label_sep": ";",
        "zero_based": True,
        "text": [],
    }


def test_the_command_line_wins_option_by_option(tmp_path):
    file = config(tmp_path, 'text = ["a", "b"]\nhashing = true\nmethod = "hieron"\n[param]\nC = 1\nmax_iter = 2\n')
    given_options = {"text": None, "hashing": False, "method": None, "param": {"C": 3}}
    assert merge_options(given_options, file) == {
        "text": ["a", "b"],
        "hashing": False,
        "method": "hieron",
        "param": {"C": 3, "max_iter": 2},
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("method = ", "not a TOML file"),
        ("metod = 'hieron'", "no option 'metod'; the options are"),
        ("method = 3", "method must be a text; got 3"),
        ("text = [1]", "text must be"),
        ("hashing = 1", "hashing must be true or false"),
        ("param = 1", "param must be a table"),
        ("format = 'xls'", "format must be one of csv"),
    ],
)
def test_what_a_config_file_may_not_say(tmp_path, text, said):
    with pytest.raises(ParameterError, match=said):
        read_config(config(tmp_path, text))


def test_options_of_relations_are_written_with_their_parameter():
    given = parse_parameters(["relations=related.tsv", "relations__ridge=0.5", "C=2"])
    model = new_learner("hr-svm", given)
    assert isinstance(model, RecursiveSVM)
    assert (model.relations, model.C) == (Relations("related.tsv", ridge=0.5), 2)
    with pytest.raises(ParameterError, match=r"write --param relations__ridge=0\.5"):
        new_learner("hr-svm", {"ridge": 0.5})
    with pytest.raises(ParameterError, match="no parameter 'relations__rigde'"):
        new_learner("hr-svm", {"relations__rigde": 0.5})
