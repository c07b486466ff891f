"""The routes that a model answers: predictions and explanations, and what there is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from cladist._version import __version__
from cladist.errors import ParameterError
from cladist.server.bodies import AnyPredictBody, ExplainBody, Rows, TasksBody
from cladist.server.counters import WAITING, Counters, escaped
from cladist.server.served import ServedModel, check_labels
from cladist.server.settings import Settings
from cladist.server.slots import Slots

router = APIRouter()


def to_json(content: Any) -> bytes:
    """Return values as JSON text; halves of characters, which UTF-8 has not, become question marks."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")


def json_response(content: Any, status: int = 200) -> Response:
    """Return JSON that was made here, so that it need not be checked again."""
    return Response(to_json(content), status, media_type="application/json")


def slots_of(request: Request) -> Slots:
    """Return the models of the application."""
    slots: Slots = request.app.state.slots
    return slots


def inputs_of(model: ServedModel, body: Rows, settings: Settings) -> Any:
    """Return the rows of a request as a model takes them."""
    if (body.texts is None) == (body.rows is None):
        raise ParameterError("Send either `texts` or `rows`.")
    given: Any = body.texts if body.rows is None else body.rows
    if not given:
        raise ParameterError("Send at least one row.")
    if len(given) > settings.max_rows:
        raise ParameterError(f"A request may have {settings.max_rows:,} rows; this one has {len(given):,}.")
    if model.n_features is not None:
        if body.rows is None:
            raise ParameterError("This model was trained on numbers; send `rows`, each an object of value by feature.")
        return model.matrix_of(body.rows)
    texts = body.texts if body.rows is None else model.texts_of(body.rows)
    longest = max(map(len, texts or ()))
    if longest > settings.max_text:
        raise ParameterError(f"A text may have {settings.max_text:,} characters; one here has {longest:,}.")
    return np.array(texts, dtype=object)


@router.post("/predict", summary="Predict labels")
async def predict(request: Request, body: AnyPredictBody) -> Response:
    """Give each row its label, the K best labels, or a decision by probabilities.

    Tasks of Label Studio, which asks here if the server itself is its backend, are answered in its form.
    """
    if isinstance(body, TasksBody):
        from cladist.server.label_studio_routes import answer_tasks

        return await answer_tasks(request, slots_of(request).default, body)
    slot = slots_of(request).find(body.model)
    inputs = inputs_of(slot.model, body, request.app.state.settings)
    model, predictions = await slot.predict(inputs, body.question())
    return json_response({"model": slot.name, "version": model.version, "predictions": predictions})


@router.post("/explain", summary="Explain predictions")
async def explain(request: Request, body: ExplainBody) -> Response:
    """Say what the words of a text, or the features of a row, add to the score of its label at each node."""
    slot = slots_of(request).find(body.model)
    inputs = inputs_of(slot.model, body, request.app.state.settings)
    if body.labels is not None:
        if len(body.labels) != inputs.shape[0]:
            raise ParameterError(f"Send one label per row; there are {len(body.labels)} for {inputs.shape[0]} rows.")
        check_labels(slot.model, body.labels)
    model, explanations = await slot.explain(inputs, body.labels)
    return json_response({"model": slot.name, "version": model.version, "explanations": explanations})


@router.get("/model", summary="Describe the models")
async def describe(request: Request) -> Response:
    """Say which models there are, what they take and what they can do."""
    slots = slots_of(request)
    models = [
        {
            "name": slot.name,
            **slot.model.describe(),
            "evaluation": slot.evaluation and slot.evaluation.summary(),
            "feedback": {"log": slot.log.size > 0, "learnt": slot.learning.sequence},
        }
        for slot in slots.by_name.values()
    ]
    return json_response({"cladist": __version__, "default": slots.default.name, "models": models})


@router.get("/metrics", summary="Numbers for Prometheus", response_class=PlainTextResponse)
async def numbers(request: Request) -> Response:
    """Give the numbers of requests, seconds, batches, waiting rows and corrections, of all processes together."""
    counters: Counters = request.app.state.counters
    versions = []
    for slot in slots_of(request).by_name.values():
        counters.set(WAITING, (slot.name,), slot.batches.waiting)
        labels = f'model="{escaped(slot.name)}",version="{escaped(slot.model.version)}"'
        versions.append(f"cladist_model_info{{{labels}}} 1\n")
    text = counters.text() + "# TYPE cladist_model_info gauge\n" + "".join(versions)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/healthz", summary="Whether the process lives")
async def health() -> PlainTextResponse:
    """Answer as long as the process lives."""
    return PlainTextResponse("ok\n")


@router.get("/readyz", summary="Whether requests are answered")
async def ready(request: Request) -> PlainTextResponse:
    """Answer 200 while the models are loaded and the server is not about to stop."""
    is_ready = bool(request.app.state.is_ready)
    return PlainTextResponse("ready\n" if is_ready else "not ready\n", 200 if is_ready else 503)
