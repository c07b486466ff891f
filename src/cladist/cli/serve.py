"""``cladist serve``: models behind HTTP, with a page to explore them."""

from __future__ import annotations

import ipaddress
import os
import secrets
import warnings
from pathlib import Path
from stat import S_IRWXG, S_IRWXO
from typing import Annotated, Any

from cladist.cli import output
from cladist.errors import CladistError, ParameterError

EXAMPLE = (
    "Examples: [bold]cladist serve model --data test.csv[/bold]"
    '\n\n[bold]curl localhost:8000/predict --json \'{"texts": ["acute bronchitis"], "top_k": 3}\'[/bold]'
)
TOKEN_VARIABLE, TOKEN_FILE_VARIABLE = "CLADIST_TOKEN", "CLADIST_TOKEN_FILE"
LEAST_TOKEN = 16  # characters
TOKEN_HELP = f"The file with the token; without, that in {TOKEN_VARIABLE} or the file in {TOKEN_FILE_VARIABLE}."
LIMITS, MODELS = "Limits", "Models"


def command(
    terminal: output.Terminal,
    models: Annotated[
        list[str], output.argument("MODEL…", "Model folders, or NAME=FOLDER; the first one is the default.")
    ],
    data: Annotated[
        str | None, output.option("--data FILE", "Labelled rows, to show the numbers of each node.", MODELS)
    ] = None,
    findings: Annotated[
        Path | None,
        output.option(
            "--findings FILE", "What [bold]cladist doctor --json[/bold] found, to be shown at its nodes.", MODELS
        ),
    ] = None,
    feedback: Annotated[
        Path | None,
        output.option("--feedback FOLDER", "Where corrections are kept.", MODELS, show_default="beside each model"),
    ] = None,
    reload: Annotated[
        float,
        output.option("--reload S", "Look for a new version of a model every S seconds; 0: never.", MODELS, min=0),
    ] = 2.0,
    uri_prefix: Annotated[
        str, output.option("--uri-prefix TEXT", "What makes names of nodes the URIs of subjects, for Annif.", MODELS)
    ] = "",
    host: Annotated[str, output.option("--host ADDRESS", "The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, output.option("--port N", "The port; 0: a free one.", min=0, max=65535)] = 8000,
    workers: Annotated[int, output.option("--workers N", "Processes that answer.", min=1, max=256)] = 1,
    token_file: Annotated[Path | None, output.option("--token-file FILE", TOKEN_HELP)] = None,
    host_name: Annotated[
        list[str] | None,
        output.option("--host-name NAME", "Another name of this server, as behind a proxy; repeat it."),
    ] = None,
    proxy: Annotated[
        list[str] | None, output.option("--proxy ADDRESS", "A proxy whose word about clients is taken; repeat it.")
    ] = None,
    max_rows: Annotated[int, output.option("--max-rows N", "Rows of a request.", LIMITS, min=1)] = 1000,
    max_text: Annotated[int, output.option("--max-text N", "Characters of a text.", LIMITS, min=1)] = 100_000,
    max_body: Annotated[int, output.option("--max-body N", "Bytes of a request.", LIMITS, min=1)] = 4 << 20,
    timeout: Annotated[float, output.option("--timeout S", "Seconds of a request.", LIMITS, min=0.1)] = 30.0,
    rate: Annotated[
        float, output.option("--rate N", "Requests per second and client; 0: any number.", LIMITS, min=0)
    ] = 0.0,
    queue: Annotated[
        int, output.option("--queue N", "Rows that may wait; others are answered by 429.", LIMITS, min=1)
    ] = 4096,
) -> None:
    """Answer requests over HTTP, and show the model in a browser.

    POST /predict takes texts or rows of values and answers labels with their
    paths; POST /explain says why; POST /feedback takes corrections, from which
    online models learn at once; GET /taxonomy, /nodes/ID and /model show the
    model. /openapi.json describes all of them. Annif and Label Studio find
    what they ask for below /annif and /label-studio.

    Corrections need the token; at an address other than loopback, everything
    does. A new version saved to the folder of a model is served from then on.
    """
    named = named_folders(models)
    output.check_inputs(data, findings)
    for folder in named.values():
        output.check_inputs(model=folder)
    is_local = is_loopback(host)
    token = read_token(token_file)
    if token is None and not is_local:
        raise ParameterError(
            f"Others can reach {host}, so requests need a token: write one into a file, and name it by --token-file."
        )
    if feedback is not None and not feedback.is_dir():
        raise ParameterError(f"{feedback} is not a folder; make it, or name another one by --feedback.")
    _require_web()
    from cladist.server.findings import read_findings
    from cladist.server.process import Plan, listen, run
    from cladist.server.settings import LOOPBACK, Settings

    is_new, names = token is None, [name.lower() for name in host_name or ()]
    token = token or secrets.token_urlsafe(24)
    settings = Settings(
        token=token, is_open=is_local, hosts=(*LOOPBACK, *names) if is_local or names else (),
        max_rows=max_rows, max_text=max_text, max_body=max_body, timeout=timeout, rate=rate, queue_rows=queue,
        feedback=feedback, reload_every=reload, mmap=workers > 1, uri_prefix=uri_prefix,
    )  # fmt: skip
    rows = None if data is None else read_rows(next(iter(named.values())), data, terminal)
    found = () if findings is None else read_findings(findings)
    listener = listen(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
    # The address has a line of its own, so that it can be copied; the page takes the token from behind the #.
    terminal.note("The server listens until Ctrl+C stops it, at", f"{address}{f'#token={token}' if is_new else ''}")
    terminal.answer({"address": address, "token": token if is_new else None, "models": list(named)})
    run(Plan(named, settings, rows, tuple(proxy or ()), found), listener, workers=workers)


def named_folders(models: list[str]) -> dict[str, Path]:
    """Return the folders of models by name, which is that of the folder unless it is given as NAME=FOLDER."""
    named: dict[str, Path] = {}
    for text in models:
        name, equals, path = text.partition("=")
        is_named = bool(equals) and not Path(text).exists()
        folder = Path(path if is_named else text)
        name = name if is_named else folder.resolve().name
        if name in named:
            raise ParameterError(f"Two models are called {name!r}; give one of them another name, as NAME=FOLDER.")
        named[name] = folder
    return named


def is_loopback(host: str) -> bool:
    """Return whether only processes of this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_token(file: Path | None) -> str | None:
    """Return the token in a file, or in the environment; None without either."""
    token, where = os.environ.get(TOKEN_VARIABLE), f"The environment variable {TOKEN_VARIABLE}"
    if file is None and (named := os.environ.get(TOKEN_FILE_VARIABLE)):
        file = Path(named)
    if file is not None:
        token, where = file.read_text(encoding="utf-8"), str(file)
        # systemd lets a service read its credentials by an access list, whose mask stat shows as bits of the group.
        others = S_IRWXO if str(file.parent) == os.environ.get("CREDENTIALS_DIRECTORY") else S_IRWXG | S_IRWXO
        if os.name == "posix" and file.stat().st_mode & others:
            warnings.warn(f"{file} can be read by others; chmod 600 keeps the token in it secret.", stacklevel=2)
    if token is None:
        return None
    token = token.strip()
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ParameterError(
            f"{where} must hold a token of {LEAST_TOKEN} or more ASCII characters without spaces, such as the output "
            "of openssl rand -base64 24."
        )
    return token


def _require_web() -> None:
    """Raise an error that says how to install what the server needs, if it is missing."""
    try:
        import cladist.server.process  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "cladist":
            raise
        raise CladistError(
            f"The server needs {error.name}, which is not installed: python -m pip install 'cladist[web]'."
        ) from None


def read_rows(folder: Path, data: str, terminal: output.Terminal) -> Any:
    """Return labelled rows as a server keeps them, read as the notes of a model say."""
    from cladist.cli import evaluate
    from cladist.cli.input import DataSource, open_model, resolve
    from cladist.server import LabelledRows

    model, notes = open_model(folder)
    source = resolve(DataSource(data, labelled=True), model, notes, folder)
    with terminal.bars():
        rows = evaluate.read_rows(model, source, notify=terminal.note)
    is_text = getattr(rows.X, "ndim", 1) == 1
    texts = [str(text) for text in rows.X] if is_text else [f"row {k}" for k in range(1, len(rows.y) + 1)]
    return LabelledRows(rows.X, rows.y, texts)
