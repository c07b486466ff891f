"""Each feature that docs/guides/parity.md says is there names a test, and the test exists."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.test_user_mistakes import MISTAKES as MISTAKES_OF_COMMANDS
from tests.test_user_mistakes import MISTAKES

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "guides" / "parity.md"


def rows() -> list[tuple[str, str, str]]:
    lines = [line.strip("|").split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    return [
        (name.strip(), answer.strip(), test.strip(" `")) for name, answer, test in lines if name.strip() != "feature"
    ]


def problem(answer: str, test: str) -> str:
    if answer.startswith("no"):
        return "" if not test else "a feature that is missing names a test"
    if not answer.startswith(("yes", "partly")):
        return "it says neither yes, partly nor no"
    file, _, function = test.partition("::")
    if not (TESTS / file).is_file():
        return f"there is no {file}"
    text = (TESTS / file).read_text(encoding="utf-8")
    return "" if re.search(rf"^def {function}\(", text, re.M) else f"{file} has no {function}"


def test_every_yes_names_a_test_that_exists() -> None:
    found = rows()
    assert len(found) > 40
    assert {name: problem(answer, test) for name, answer, test in found if problem(answer, test)} == {}


def test_a_missing_test_is_found() -> None:
    assert problem("yes", "test_parity.py::test_a_missing_test_is_found") == ""
    assert "has no test_nothing" in problem("yes", "test_parity.py::test_nothing")
    assert "there is no nowhere.py" in problem("partly: some", "nowhere.py::test")
    assert problem("perhaps", "")


def test_the_number_of_mistakes_is_the_number_tested() -> None:
    told = {name: answer for name, answer, _ in rows() if name.startswith("answers")}
    assert list(told.values()) == [f"yes, for {len(kind)} mistakes" for kind in (MISTAKES, MISTAKES_OF_COMMANDS)]
