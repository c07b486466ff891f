"""What Annif's backend ``http`` asks for: suggestions for a text, and whether the project is trained.

Its ``endpoint`` is ``http://HOST:PORT/annif/MODEL/suggest``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from math import exp
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from cladist.errors import ParameterError
from cladist.server.model_routes import json_response, slots_of
from cladist.server.served import Question
from cladist.server.slots import Slot

router = APIRouter(prefix="/annif", tags=["Annif"])
MOST = 1000


@router.post("/{model}/suggest", summary="Suggest subjects, as Annif asks")
async def suggest(
    request: Request,
    model: str,
    text: Annotated[str, Form(description="The text.")],
    limit: Annotated[int, Form(ge=1, description="The number of suggestions.")] = 10,
) -> Response:
    """Give the best labels of a text as subjects: probabilities if the model has them, or else σ(score)."""
    slot = slots_of(request).find(model)
    if slot.model.n_features is not None:
        raise ParameterError("This model was trained on numbers, and Annif sends texts.")
    longest = request.app.state.settings.max_text
    question = Question(top_k=min(limit, MOST), paths=False, proba=slot.model.has_probabilities)
    # Annif sends whole documents, so that a long one is cut and not refused.
    _, answer = await slot.predict(np.array([text[:longest]], dtype=object), question)
    prefix = request.app.state.settings.uri_prefix
    return json_response([subject(slot, candidate, prefix) for candidate in answer[0]["candidates"]])


@router.get("/{model}", summary="Whether a model is trained, as Annif asks")
async def project(request: Request, model: str) -> Response:
    """Describe a model as Annif describes a project."""
    slot = slots_of(request).find(model)
    learner = slot.model.learner
    modified = None if slot.signature is None else datetime.fromtimestamp(slot.signature[1] / 1e9, UTC).isoformat()
    about: dict[str, Any] = {"project_id": slot.name, "name": slot.name, "language": None}
    about |= {
        "backend": {"backend_id": "cladist"},
        "is_trained": True,
        "modification_time": modified,
        "classes": len(learner.classes_),
    }
    return json_response(about)


def subject(slot: Slot, candidate: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return a label as a subject of Annif."""
    name = slot.model.nodes.taxonomy.names[candidate["node"]]
    score = candidate.get("probability", candidate.get("score"))
    if "probability" not in candidate:
        score = 1 / (1 + exp(-min(700.0, max(-700.0, score or 0.0))))
    return {"uri": uri_of(name, prefix), "label": candidate["title"], "notation": name, "score": score}


def uri_of(name: str, prefix: str) -> str:
    """Return the URI of a node: its name if that is one, or else the prefix and the name."""
    return name if "://" in name else prefix + quote(name, safe="/:;,@!$'()*+~")
