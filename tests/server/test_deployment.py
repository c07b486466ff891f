"""What the pages on deployment tell to run is what the command takes."""

import configparser
import json
import re
from pathlib import Path

import pytest
import typer

from cladist.cli import replay, serve
from cladist.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("guides/server.md", "guides/deployment.md", "command-line.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def options_of(name: str) -> set[str]:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    return {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("page", PAGES)
def test_the_options_in_the_docs_are_those_of_the_commands(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8").replace(" \\\n", " ")
    lines = [line for _, block in BLOCK.findall(text) for line in block.splitlines()]
    found = 0
    for name in ("serve", "replay"):
        for line in lines:
            _, called, rest = line.partition(f"cladist {name} ")
            if called:
                found += 1
                assert set(re.findall(r"(?<!\S)(--[a-z-]+)", rest)) <= options_of(name), line
    assert found


def test_the_unit_and_the_image_start_the_server() -> None:
    blocks = dict(BLOCK.findall((DOCS / "guides/deployment.md").read_text(encoding="utf-8")))
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.read_string(blocks["ini"])
    words = unit["Service"]["ExecStart"].split()
    assert words[1] == "serve"
    assert unit["Install"]["WantedBy"] == "multi-user.target"
    assert serve.TOKEN_FILE_VARIABLE in blocks["ini"]
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", blocks["dockerfile"], re.M)
    words = json.loads(entry)
    assert words[:2] == ["cladist", "serve"]
    assert {word for word in words if word.startswith("--")} <= options_of("serve")


def test_each_option_is_described() -> None:
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    section = text.partition("\n## cladist serve\n")[2].partition("\n## cladist replay\n")[0]
    shared = {"--json", "--quiet", "-q", "--debug", "--help"}
    assert [
        option for option in options_of("serve") - shared if option.startswith("--") and option not in section
    ] == []
    assert replay.EXAMPLE
