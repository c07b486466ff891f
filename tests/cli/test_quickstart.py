"""The commands of the quick start run as they stand there, on a smaller catalogue."""

import csv
import re
import shlex
from pathlib import Path

from tests.cli.conftest import call

PAGE = Path(__file__).parents[2] / "docs" / "quickstart.md"
N_ROWS = 900


def commands() -> list[list[str]]:
    (block,) = re.findall(r"```bash\n(cladist sample.*?)```", PAGE.read_text(), re.DOTALL)
    return [shlex.split(line) for line in block.replace("\\\n", " ").splitlines()]


def rows_of(name: str) -> list[dict[str, str]]:
    with open(name, newline="") as file:
        return list(csv.DictReader(file))


def test_from_a_file_to_joined_predictions_explanations_and_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = commands()
    assert lines[0][-2:] == ["--rows", "20000"]
    lines[0][-1] = str(N_ROWS)
    for word, *arguments in lines:
        if word == "cd":
            monkeypatch.chdir(tmp_path / arguments[0])
            continue
        result = call(*arguments)
        assert (word, result.exit_code) == ("cladist", 0), result.stderr
    rows, test, filed = (rows_of(name) for name in ("shop.csv", "shop-test.csv", "filed.csv"))
    assert len(rows) == N_ROWS
    assert [(row["sku"], row["category"]) for row in filed] == [(row["sku"], row["category"]) for row in test]
    assert {row["sku"] for row in test} <= {row["sku"] for row in rows}
    right = sum(row["label"] == row["category"] for row in filed) / len(filed)
    assert right > 0.8
    assert all(row["path"] == row["label"] for row in filed)
    accuracy = re.search(r"<td>accuracy</td><td>([0-9.]+)", Path("report.html").read_text())
    assert accuracy is not None
    assert abs(float(accuracy[1]) - right) < 1e-4
    assert Path("why.html").read_text().count("class='cladist-explanation'") == 20
