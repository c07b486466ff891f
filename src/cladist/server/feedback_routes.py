"""The route that takes corrections."""

from __future__ import annotations

import secrets

from fastapi import APIRouter, Request
from starlette.responses import Response

from cladist.errors import DatasetError, ParameterError
from cladist.server.bodies import FeedbackBody
from cladist.server.failures import failure
from cladist.server.learner import content_of
from cladist.server.model_routes import json_response, slots_of

router = APIRouter()


@router.post("/feedback", summary="Correct a prediction")
async def feedback(request: Request, body: FeedbackBody) -> Response:
    """Keep the true labels of a row; a model that learns row by row has learnt them when this is answered.

    The answer comes after the correction is on the disk. One with the `id` of an earlier correction is not kept again.
    """
    slot = slots_of(request).find(body.model)
    longest = request.app.state.settings.max_text
    if body.text is not None and len(body.text) > longest:
        raise ParameterError(f"A text may have {longest:,} characters; this one has {len(body.text):,}.")
    given = body.id or secrets.token_hex(8)
    content = content_of(slot.model, given, body.labels, text=body.text, row=body.row)
    try:
        receipt, is_learnt = await slot.learn(content)
    except (DatasetError, OSError) as error:  # the log, which the client cannot help
        return failure(503, f"The correction was not kept: {error}", Retry_After="60")
    return json_response(
        {
            "model": slot.name,
            "id": given,
            "sequence": receipt.sequence,
            "duplicate": receipt.is_duplicate,
            "learnt": is_learnt,
        }
    )
