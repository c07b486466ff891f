"""``cladist train --embed``."""

import json

import numpy as np
import pytest

from cladist import load

COLUMNS = ("--text", "title", "--label", "category", "--taxonomy", "taxonomy.csv", "--method", "top-down")


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taxonomy.csv").write_text("node,parent\nbird,\nfish,\nowl,bird\nduck,bird\ntrout,fish\n")
    rows = ["an owl,owl", "owls at night,owl", "a duck,duck", "ducks quack,duck", "a trout,trout", "river trout,trout"]
    (tmp_path / "train.csv").write_text("title,category\n" + "\n".join(rows * 3) + "\n")
    return tmp_path


def test_words_and_an_embedding_without_a_network(run, table):
    pytest.importorskip("wordllama")
    pytest.importorskip("tokenizers")
    run("train", "train.csv", *COLUMNS, "--embed", "wordllama", "--out", "model")
    model = load(table / "model")
    assert model[0].embedding_.n_columns_ == 256
    answers = json.loads(run("predict", "model", "train.csv", "--json").stdout)
    assert len(answers) == 18


def test_a_config_file_may_name_it(run, table):
    pytest.importorskip("wordllama")
    pytest.importorskip("tokenizers")
    (table / "train.toml").write_text('embed = "wordllama"\n')
    run("train", "train.csv", *COLUMNS, "--config", "train.toml", "--out", "model")
    assert load(table / "model")[0].embedding_.model == "wordllama"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--embed", "nonsense"], "'nonsense' is neither 'wordllama', nor a file or folder here"),
        (["--embed", "wordllama", "--hashing"], "--embed and --hashing exclude each other"),
    ],
)
def test_what_is_refused(refused, table, options, problem):
    assert problem in refused("train", "train.csv", *COLUMNS, *options, "--out", "model")
    assert not (table / "model").exists()


def test_numbers_have_no_embedding(refused, table):
    (table / "rows.svm").write_text("owl 1:1\nduck 2:1\n")
    assert "--embed is for texts" in refused("train", "rows.svm", "--embed", "wordllama", "--out", "model")


def test_vectors_computed_before_stand_for_ids(run, table):
    ids = [f"row{k}" for k in range(6)]
    np.savez(table / "vectors.npz", ids=np.array(ids), vectors=np.eye(6))
    labels = ["owl", "duck", "trout"] * 2
    lines = [f"{name},{label}" for name, label in zip(ids, labels, strict=True)]
    (table / "ids.csv").write_text("title,category\n" + "\n".join(lines) + "\n")
    run("train", "ids.csv", *COLUMNS, "--embed", "vectors.npz", "--out", "model")
    assert load(table / "model").predict(ids).tolist() == labels
