"""`Guard`: what every request passes first: its host, its token and its size; and the headers of every answer."""

from __future__ import annotations

import hmac
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cladist.server.failures import failure
from cladist.server.settings import Settings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
WITHOUT_TOKEN = ("/", "/healthz", "/readyz", "/favicon.ico")  # and everything below /static/
NEED_TOKEN = ("/feedback",)  # also where reading needs none


class Guard:
    """Refuse requests to another host, without the token they need, or too large; add headers to every answer."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self.token = None if settings.token is None else settings.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._refusal(scope["path"], headers)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        await self.app(scope, limited(receive, self.settings.max_body), send_with_headers)

    def _refusal(self, path: str, headers: Headers) -> Any:
        hosts = self.settings.hosts
        if hosts and host_of(headers.get("host", "")) not in hosts:
            return failure(421, "This server is not known under that name; --host-name NAME adds one.")
        if not self._may_pass(path, headers):
            return failure(
                401, "This needs the server's token, as Authorization: Bearer TOKEN.", WWW_Authenticate="Bearer"
            )
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length[:20]) > self.settings.max_body:
            return failure(413, f"A request may have {self.settings.max_body:,} bytes; send fewer rows at once.")
        return None

    def _may_pass(self, path: str, headers: Headers) -> bool:
        if path in WITHOUT_TOKEN or path.startswith("/static/"):
            return True
        if self.settings.is_open and path not in NEED_TOKEN:
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if self.token is None or kind.lower() != "bearer":
            return False
        return hmac.compare_digest(given.strip().encode("utf-8", "replace"), self.token)


def host_of(value: str) -> str:
    """Return a Host header without its port."""
    name, colon, port = value.rpartition(":")
    return (name if colon and (port.isdigit() or not port) else value).lower()


def limited(receive: Receive, max_body: int) -> Receive:
    """Return a function that receives no more than some bytes."""
    received = 0

    async def receive_limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > max_body:
            from starlette.exceptions import HTTPException

            raise HTTPException(413, f"A request may have {max_body:,} bytes; send fewer rows at once.")
        return message

    return receive_limited
