"""`Settings`: who may ask a server, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


@dataclass(frozen=True)
class Settings:
    """Who may ask a server, and how much.

    Parameters
    ----------
    token : str or None
        The bearer token that feedback needs; without one, there is no feedback.
    is_open : bool
        Whether requests that change nothing need no token.
    hosts : tuple of str
        The names under which the server may be addressed (the header Host); empty: any. A web page elsewhere cannot
        reach a server on this machine through a name of its own.
    max_body, max_rows, max_text : int
        The bytes of a request, its rows, and the characters of each text.
    timeout : float
        Seconds until a request is given up.
    rate : float
        Requests per second and client; 0: no limit.
    batch_rows : int
        Rows that are predicted together.
    batch_wait : float
        Seconds that a batch waits for further requests.
    queue_rows : int
        Rows that may wait for a model; requests beyond them are answered by 429.
    feedback : path or None
        The folder of the logs of corrections; by default each log is beside the folder of its model.
    reload_every : float
        Seconds between two looks at the folders of the models; 0: they are not looked at.
    mmap : bool
        Whether large weights stay in their files, which several processes then share.
    uri_prefix : str
        What stands before the names of nodes in answers to Annif, whose subjects are URIs.
    """

    token: str | None = None
    is_open: bool = True
    hosts: tuple[str, ...] = LOOPBACK
    max_body: int = 4 << 20
    max_rows: int = 1000
    max_text: int = 100_000
    timeout: float = 30.0
    rate: float = 0.0
    batch_rows: int = 256
    batch_wait: float = 0.002
    queue_rows: int = 4096
    feedback: Path | None = None
    reload_every: float = 2.0
    mmap: bool = False
    uri_prefix: str = ""
