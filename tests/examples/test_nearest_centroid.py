"""The example package of a method: found by its entry point, trained from the command line, saved and loaded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "examples" / "nearest-centroid"


def install(folder: Path, *, name: str = "nearest-centroid", points: dict[str, str] | None = None) -> None:
    """Lay a package out in a folder as pip does, from its pyproject.toml and without a build backend."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    shutil.copytree(PROJECT / "src", folder, dirs_exist_ok=True)
    info = folder / f"{name.replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    described = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {project['version']}\nSummary: {project['description']}\n"
    )
    (info / "METADATA").write_text(described)
    listed = points or project["entry-points"]["cladist.methods"]
    lines = [f"{key} = {value}" for key, value in listed.items()]
    (info / "entry_points.txt").write_text("\n".join(["[cladist.methods]", *lines, ""]))


@pytest.fixture
def site(tmp_path):
    install(tmp_path / "site")
    return tmp_path / "site"


def run(site: Path, *command: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
    """Run Python with a folder of packages on its path."""
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done


def cladist(site: Path, *command: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
    return run(site, "-m", "cladist.cli", *command, fails=fails)


def test_train_predict_and_load_a_method_of_another_package(site, tmp_path):
    rows = [row for row in json.loads(cladist(site, "methods", "--json").stdout) if row["name"] == "nearest-centroid"]
    assert [(row["class"], row["paper"]) for row in rows] == [("NearestCentroid", "package nearest-centroid")]
    assert "nearest centroids" in rows[0]["summary"]
    data, model = tmp_path / "data.csv", tmp_path / "model"
    data.write_text("text,label\n" + "a red tent,camp/tent\na warm coat,wear/coat\n" * 6)
    options = ["--text", "text", "--label", "label", "--path-sep", "/"]
    cladist(
        site, "train", str(data), *options, "--method", "nearest-centroid", "--param", "power=1", "--out", str(model)
    )
    code = (
        f"model = __import__('cladist').load({str(model)!r}); print(model[-1].power, *model.predict(['tent', 'coat']))"
    )
    assert run(site, "-c", code).stdout.split() == ["1", "camp/tent", "wear/coat"]
    told = cladist(site, "evaluate", str(model), str(data), "--json").stdout
    assert json.loads(told)
    refused = cladist(site, "train", str(data), *options, "--method", "nearest-centroid", "--param", "power=nan",
                      "--out", str(model), fails=True)  # fmt: skip
    assert "power must be a finite number" in refused.stderr


def test_without_its_package_a_model_is_refused_by_its_class(site, tmp_path):
    model = tmp_path / "model"
    code = (
        "import nearest_centroid; nearest_centroid.NearestCentroid().fit([[0.0], [1.0]], ['a', 'b'])"
        f".save({str(model)!r})"
    )
    run(site, "-c", code)
    refused = run(tmp_path, "-c", f"import cladist; cladist.load({str(model)!r})", fails=True)
    assert "It holds a 'NearestCentroid', which this version of cladist does not know" in refused.stderr


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ({"mine": "no_such_module:Mine"}, "The method 'mine' of the package others cannot be imported from no_"),
        ({"mine": "nearest_centroid:Nobody"}, "The method 'mine' of the package others cannot be imported from near"),
        ({"mine": "json:JSONDecoder"}, "The method 'mine' must be a subclass of cladist.HierarchicalClassifier"),
        ({"mine": "json"}, "The method 'mine' of the package others is left out: it names 'json', and 'module:Class'"),
        ({"svm": "nearest_centroid:Mine"}, "The method 'svm' of the package others is left out: cladist has a method"),
        ({"mine": "nearest_centroid:Hieron"}, "The method 'mine' of the package others is left out: cladist has a cl"),
        ({"nearest-centroid": "x:Mine"}, "is left out: nearest-centroid has a method 'nearest-centroid' already"),
    ],
)  # fmt: skip
def test_a_broken_entry_point_is_told_in_a_sentence_and_harms_no_other(site, tmp_path, points, said):
    install(site, name="others", points=points)
    listed = cladist(site, "methods", "--json")
    assert "nearest-centroid" in {row["name"] for row in json.loads(listed.stdout)}
    data = tmp_path / "data.csv"
    data.write_text("text,label\na,x\nb,y\nc,x\n")
    options = [str(data), "--text", "text", "--label", "label", "--out", str(tmp_path / "model")]
    told = listed.stderr
    if "left out" not in said:
        told = cladist(site, "train", *options, "--method", "mine", fails=True).stderr
    assert said in told
    assert len(told.splitlines()) == 1
    assert "Traceback" not in told


def test_importing_cladist_looks_through_no_packages(site):
    code = (
        "from cladist import Hieron, registry; registry.find('svm'); print(registry._installed.cache_info().currsize)"
    )
    assert run(site, "-c", code).stdout.strip() == "0"
