"""Failures as answers: one sentence in ``detail``, and the status that says whose fault it is."""

from __future__ import annotations

from math import ceil
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from cladist.errors import CladistError
from cladist.server.batches import QueueFullError, StoppedError
from cladist.server.feedback_log import ConflictError
from cladist.server.slots import UnknownModelError


def failure(status: int, sentence: str, **headers: str) -> JSONResponse:
    """Return the answer to a request that failed."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse({"detail": sentence}, status, names)


def add_handlers(app: FastAPI) -> None:
    """Make an application answer failures with a sentence."""

    async def invalid(request: Request, error: Any) -> JSONResponse:
        return failure(422, sentence_of(error))

    async def http(request: Request, error: Any) -> JSONResponse:
        return JSONResponse({"detail": str(error.detail)}, error.status_code, getattr(error, "headers", None))

    async def unknown_model(request: Request, error: Exception) -> JSONResponse:
        return failure(404, str(error))

    async def conflict(request: Request, error: Exception) -> JSONResponse:
        return failure(409, str(error))

    async def refused(request: Request, error: Exception) -> JSONResponse:
        return failure(422, " ".join(str(error).split()))

    async def full(request: Request, error: Any) -> JSONResponse:
        seconds = max(1, min(60, ceil(error.seconds)))
        return failure(429, "Too many rows wait to be answered; ask again later.", Retry_After=str(seconds))

    async def stopped(request: Request, error: Exception) -> JSONResponse:
        return failure(503, "The server is about to stop.", Retry_After="1")

    handlers: dict[Any, Any] = {
        RequestValidationError: invalid,
        HTTPException: http,
        UnknownModelError: unknown_model,
        ConflictError: conflict,
        CladistError: refused,
        QueueFullError: full,
        StoppedError: stopped,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def sentence_of(error: RequestValidationError) -> str:
    """Return what is wrong with a request, as one sentence about the first problem."""
    problems = error.errors()
    if not problems:
        return "The request is not valid."
    place = ".".join(str(part) for part in problems[0]["loc"] if part != "body") or "the body"
    more = f" ({len(problems) - 1} more problems)" if len(problems) > 1 else ""
    return f"{place[:200]}: {problems[0]['msg']}{more}."
