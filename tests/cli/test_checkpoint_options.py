"""``train --checkpoint`` and ``--executor``: the same command goes on, another is refused; unknown engines."""

import pytest

from tests.cli.conftest import COLUMNS, call


@pytest.fixture
def train(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("sample", ".").exit_code == 0

    def run(*options):
        data = ("train.csv", "--taxonomy", "taxonomy.csv", *COLUMNS, "--out", "model", "--quiet")
        return call("train", *data, "--method", "top-down", *options)

    return run


def test_a_checkpoint_serves_the_same_command_alone(train):
    for _ in range(2):
        assert train("--checkpoint", "kept").exit_code == 0
    other = train("--checkpoint", "kept", "--param", "C=2")
    assert other.exit_code != 0
    assert "belongs to a fit with parameters=" in other.stderr.replace("\n", " ")


def test_an_engine_that_there_is_not(train):
    refused = train("--executor", "spark")
    assert refused.exit_code != 0
    assert "--executor must be ray; got 'spark'" in refused.stderr.replace("\n", " ")


def test_a_method_that_does_not_train_in_parts(train):
    refused = train("--executor", "ray", "--method", "hieron")
    assert refused.exit_code != 0
    assert "top-down" in refused.stderr
