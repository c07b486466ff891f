"""The routes of an ML backend of Label Studio: predictions for tasks, and annotations to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from cladist.errors import DatasetError, ParameterError
from cladist.server.bodies import TasksBody
from cladist.server.failures import failure
from cladist.server.label_studio import Labels, annotations_of, id_of, read_control, text_of
from cladist.server.learner import content_of
from cladist.server.model_routes import json_response, slots_of
from cladist.server.served import Question
from cladist.server.slots import Slot

router = APIRouter(tags=["Label Studio"])
predict_router = APIRouter(tags=["Label Studio"])
EVENTS = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "START_TRAINING")
EVENT_EXAMPLE = {
    "action": "ANNOTATION_CREATED",
    "project": {"id": 1, "label_config": '<View><Text name="text" value="$text"/></View>'},
    "task": {"id": 7, "data": {"text": "broken left wrist"}},
    "annotation": {"id": 3, "result": [{"type": "taxonomy", "value": {"taxonomy": [["S62"]]}}]},
}
EVENT = Body(examples=[EVENT_EXAMPLE])


def slot_of(request: Request) -> Slot:
    """Return the model that the path names, or the first one."""
    return slots_of(request).find(request.path_params.get("model"))


@router.get("/health", summary="Whether the backend is up, as Label Studio asks")
async def health(request: Request) -> Response:
    """Answer as long as the process lives."""
    return json_response({"status": "UP", "model_class": type(slot_of(request).model.learner).__name__})


@router.post("/setup", summary="Connect a project of Label Studio")
async def setup(request: Request, body: dict[str, Any]) -> Response:
    """Check the labelling configuration of a project, and give the version of the model."""
    read_control(body.get("schema") or body.get("label_config"))
    return json_response({"model_version": version_of(slot_of(request))})


@predict_router.post("/predict", summary="Predict tasks of Label Studio")
async def predict_tasks(request: Request, body: TasksBody) -> Response:
    """Give a prediction for each task."""
    return await answer_tasks(request, slot_of(request), body)


async def answer_tasks(request: Request, slot: Slot, body: TasksBody) -> Response:
    """Return the predictions for some tasks, in the form of Label Studio."""
    control, settings = read_control(body.label_config), request.app.state.settings
    if slot.model.n_features is not None:
        raise ParameterError("This model was trained on numbers, and tasks hold texts.")
    if len(body.tasks) > settings.max_rows:
        raise ParameterError(f"A request may have {settings.max_rows:,} tasks; this one has {len(body.tasks):,}.")
    texts = [text_of(slot.model, task, control)[: settings.max_text] for task in body.tasks]
    if not texts:
        return json_response({"results": [], "model_version": version_of(slot)})
    question = Question(paths=False, proba=slot.model.has_probabilities)
    model, answers = await slot.predict(np.array(texts, dtype=object), question)
    labels, version, results = Labels(model.nodes, control), version_of(slot), []
    for answer in answers:
        found = answer["candidates"]
        scores = [candidate.get("probability", candidate.get("score")) for candidate in found]
        score = min((value for value in scores if value is not None), default=0.0)
        nodes = [candidate["node"] for candidate in found]
        results.append({"result": labels.result(nodes), "score": score, "model_version": version})
    return json_response({"results": results, "model_version": version})


@router.post("/fit", summary="Learn from annotations of Label Studio")
@router.post("/train", include_in_schema=False)
@router.post("/webhook", summary="Learn from an event of Label Studio")
async def learn(request: Request, body: dict[str, Any] = EVENT) -> Response:
    """Keep the annotations as corrections; a model that learns row by row has learnt them when this is answered."""
    event = body.get("action") or body.get("event")
    if event is not None and event not in EVENTS:
        return json_response({"status": "ignored", "result": None})
    slot = slot_of(request)
    project = body.get("project")
    config = body.get("label_config") or (project.get("label_config") if isinstance(project, dict) else None)
    control = read_control(config)
    contents = list(_contents(slot, body, control, request.app.state.settings.max_rows))
    kept = learnt = 0
    try:
        for content in contents:
            receipt, is_learnt = await slot.learn(content)
            kept += not receipt.is_duplicate
            learnt += is_learnt and not receipt.is_duplicate
    except (DatasetError, OSError) as error:
        return failure(503, f"The annotations were not kept: {error}", Retry_After="60")
    result = {"annotations": len(contents), "kept": kept, "learnt": learnt, "model_version": version_of(slot)}
    return json_response({"status": "ok", "result": result}, 201)


def _contents(slot: Slot, body: dict[str, Any], control: Any, most: int) -> Any:
    """Yield the corrections in a request; annotations that were cancelled or have no label are left out."""
    labels = Labels(slot.model.nodes, control)
    for count, (task, annotation) in enumerate(annotations_of(body)):
        if count == most:
            raise ParameterError(f"A request may have {most:,} annotations.")
        names = labels.read(annotation)
        if names and not annotation.get("was_cancelled"):
            text = text_of(slot.model, task, control)
            yield content_of(slot.model, id_of(annotation, text, names), names, text=text)


def version_of(slot: Slot) -> str:
    """Return what Label Studio shows as the version: name and version of the model."""
    return f"{slot.name}-{slot.model.version}" if slot.model.version else slot.name
