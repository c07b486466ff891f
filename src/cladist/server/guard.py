"""`Guard`: what every request passes first: its host, its token, its rate and size; and the headers of every answer."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import logging
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cladist.errors import visible
from cladist.server.counters import LATENCY, OTHER, REQUESTS, Counters
from cladist.server.failures import failure
from cladist.server.settings import Settings

LOGGER = logging.getLogger("cladist.server")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
WITHOUT_TOKEN = ("/", "/healthz", "/readyz", "/favicon.ico")  # and everything below /static/
NEED_TOKEN = ("/feedback", "/fit", "/train", "/webhook")  # also where reading needs none, and as the end of a path
MOST_CLIENTS = 10_000  # whose rates are remembered


class Guard:
    """Refuse requests to another host, without the token they need, too many or too large; add headers to answers."""

    def __init__(self, app: ASGIApp, settings: Settings, counters: Counters) -> None:
        self.app, self.settings, self.counters = app, settings, counters
        self.token = None if settings.token is None else settings.token.encode()
        self.rates = Rates(settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = Answer(send)
        started = time.perf_counter()
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, answer)
        else:
            await self._pass(scope, receive, answer)
        route = getattr(scope.get("route"), "path", OTHER).removeprefix("/label-studio").removeprefix("/{model}")
        self.counters.add(REQUESTS, (route, str(answer.status)))
        self.counters.observe(LATENCY, (route,), time.perf_counter() - started)

    async def _pass(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        body = Body(receive, self.settings.max_body)
        try:
            async with asyncio.timeout(self.settings.timeout):
                await self.app(scope, body, answer)
        except Exception as error:
            if answer.status or not isinstance(error, TimeoutError):
                LOGGER.error("%s %s failed", scope["method"], visible(scope["path"]), exc_info=error)
                if not answer.status:
                    await failure(500, "The server failed to answer; its log says why.")(scope, receive, answer)
                return
            seconds = f"{self.settings.timeout:g} s"
            late = failure(503, f"There was no answer within {seconds}.", Retry_After="5")
            slow = failure(408, f"The request was not complete within {seconds}.")
            await (late if body.is_complete else slow)(scope, receive, answer)

    def _refusal(self, scope: Scope) -> Any:
        headers, path = Headers(scope=scope), scope["path"]
        hosts = self.settings.hosts
        if hosts and host_of(headers.get("host", "")) not in hosts:
            return failure(421, "This server is not known under that name; --host-name NAME adds one.")
        if not self._may_pass(path, headers):
            return failure(
                401, "This needs the server's token, as Authorization: Bearer TOKEN.", WWW_Authenticate="Bearer"
            )
        is_check = path.endswith(("/healthz", "/readyz"))  # which monitors ask, beside the client at the same address
        wait = 0 if is_check else self.rates.wait((scope.get("client") or ("",))[0])
        if wait:
            return failure(
                429, "There were too many requests from this address; ask again later.", Retry_After=str(wait)
            )
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length[:20]) > self.settings.max_body:
            return failure(413, too_large(self.settings.max_body))
        return None

    def _may_pass(self, path: str, headers: Headers) -> bool:
        if path in WITHOUT_TOKEN or path.startswith("/static/"):
            return True
        if self.settings.is_open and not path.rstrip("/").endswith(NEED_TOKEN):
            return True
        given = token_of(headers.get("authorization", ""))
        return self.token is not None and given is not None and hmac.compare_digest(given, self.token)


class Answer:
    """Sends an answer with the headers of every answer, and remembers its status."""

    def __init__(self, send: Send) -> None:
        self.send, self.status = send, 0

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message).update(HEADERS)
        await self.send(message)


class Body:
    """Receives the body of a request, up to a number of bytes."""

    def __init__(self, receive: Receive, most: int) -> None:
        self.receive, self.most = receive, most
        self.size, self.is_complete = 0, False

    async def __call__(self) -> Message:
        """Receive a part of the request."""
        message = await self.receive()
        self.size += len(message.get("body", b""))
        self.is_complete = self.is_complete or not message.get("more_body", False)
        if self.size > self.most:
            raise HTTPException(413, too_large(self.most))
        return message


class Rates:
    """How many requests each client may send: `rate` per second on average, and as many at once."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.left: dict[str, tuple[float, float]] = {}  # by client: requests left, and when that was

    def wait(self, client: str) -> int:
        """Count a request; return 0, or after how many seconds the client may ask again."""
        if not self.rate:
            return 0
        now, most = time.monotonic(), max(1.0, self.rate)
        left, before = self.left.pop(client, (most, now))
        left = min(most, left + (now - before) * self.rate)
        if len(self.left) >= MOST_CLIENTS:
            self.left.pop(next(iter(self.left)))  # the one that asked longest ago
        self.left[client] = (left - 1 if left >= 1 else left, now)
        return 0 if left >= 1 else max(1, round((1 - left) / self.rate))


def too_large(most: int) -> str:
    """Return the sentence about a request that is too large."""
    return f"A request may have {most:,} bytes; send fewer rows at once."


def token_of(value: str) -> bytes | None:
    """Return the token in a header Authorization: as it is after Bearer, or as the password of any user after Basic."""
    kind, _, given = value.partition(" ")
    if kind.lower() == "bearer":
        return given.strip().encode("utf-8", "replace")
    if kind.lower() == "basic":
        try:
            return base64.b64decode(given.strip(), validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return None
    return None


def host_of(value: str) -> str:
    """Return a Host header without its port."""
    name, colon, port = value.rpartition(":")
    return (name if colon and (port.isdigit() or not port) else value).lower()
