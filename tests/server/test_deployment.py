"""What the pages on deployment tell to run is what the command takes."""

import configparser
import json
import re
import shutil
import subprocess
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


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd checks its own units")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    blocks = dict(BLOCK.findall((DOCS / "guides/deployment.md").read_text(encoding="utf-8")))
    unit, program = tmp_path / "etc/systemd/system/cladist.service", tmp_path / "srv/cladist/venv/bin/cladist"
    for folder in (unit.parent, program.parent):
        folder.mkdir(parents=True)
    unit.write_text(blocks["ini"])
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for name in ("sysinit", "basic", "shutdown", "network", "multi-user"):
        (unit.parent / f"{name}.target").write_text("[Unit]\n")
    (version,) = re.findall(r"^systemd (\d+)", run("--version"), re.M)
    if int(version) < 252:
        pytest.skip("an older systemd-analyze reads the units of this machine only")
    assert run("verify", f"--root={tmp_path}", "cladist.service") == ""
    unit.write_text(blocks["ini"].replace("StateDirectory=", "StateFolder="))
    assert "StateFolder" in run("verify", f"--root={tmp_path}", "cladist.service")  # so it has been read


def run(*arguments: str) -> str:
    """Return what systemd-analyze writes."""
    done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True)
    return done.stdout + done.stderr


def test_each_option_is_described() -> None:
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    section = text.partition("\n## cladist serve\n")[2].partition("\n## cladist replay\n")[0]
    shared = {"--json", "--quiet", "-q", "--debug", "--help"}
    assert [
        option for option in options_of("serve") - shared if option.startswith("--") and option not in section
    ] == []
    assert replay.EXAMPLE
