"""The routes that show a taxonomy: children, search, columns for drawing, and single nodes."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from cladist.server.columns import COLUMNS, encoded_column
from cladist.server.evaluation import automation_of
from cladist.server.model_routes import json_response, slots_of
from cladist.server.slots import Slot
from cladist.server.words import top_words

router = APIRouter()

ModelName = Annotated[str | None, Query(description="The model; the first one of the server without.", max_length=200)]


def entry(slot: Slot, v: int) -> dict[str, Any]:
    """Return a node with its numbers, if the model has been evaluated."""
    found = slot.model.nodes.entry(v)
    return found if slot.evaluation is None else found | {"metrics": slot.evaluation.metrics(v)}


def checked(slot: Slot, node: int) -> int:
    """Return the number of a node, or raise a 404."""
    if not 0 <= node < slot.model.nodes.taxonomy.n_nodes:
        raise HTTPException(404, f"There is no node {node}; they are numbered from 0 in the order of the taxonomy.")
    return node


@router.get("/taxonomy", summary="Browse or search the taxonomy")
async def taxonomy(
    request: Request,
    model: ModelName = None,
    node: Annotated[int | None, Query(description="Give the children of this node; without, the roots.")] = None,
    q: Annotated[
        str | None, Query(max_length=200, description="Give the nodes with these words in name or title.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Response:
    """Give the children of a node, or the nodes that a search finds, each with its path."""
    slot = slots_of(request).find(model)
    nodes = slot.model.nodes
    head = {"model": slot.name, "version": slot.model.version, "n_nodes": nodes.taxonomy.n_nodes}
    if q is not None:
        found = (await asyncio.to_thread(nodes.search, q, offset + limit))[offset:]
        return json_response({**head, "results": [entry(slot, v) | {"path": nodes.path(v)} for v in found]})
    children = nodes.taxonomy.roots if node is None else nodes.taxonomy.child_ids(checked(slot, node))
    shown = [entry(slot, int(v)) for v in children[offset : offset + limit]]
    parent = None if node is None else entry(slot, node) | {"path": nodes.path(node)}
    return json_response({**head, "node": parent, "total": len(children), "children": shown})


@router.get("/taxonomy/arrays", summary="The taxonomy as columns")
async def arrays(
    request: Request,
    model: ModelName = None,
    columns: Annotated[
        str, Query(max_length=200, description=f"Columns, joined by commas, of {', '.join(COLUMNS)}.")
    ] = ",".join(COLUMNS),
    packed: Annotated[
        bool,
        Query(description="Give numbers as base64 of little-endian int32 or float32, NaN for null."),
    ] = False,
) -> Response:
    """Give one list per column, with an entry per node; columns that need an evaluation are left out without one."""
    slot = slots_of(request).find(model)
    wanted = list(dict.fromkeys(columns.split(",")))
    if unknown := sorted(set(wanted) - set(COLUMNS)):
        raise HTTPException(422, f"There is no column {unknown[0][:40]!r}; there are {', '.join(COLUMNS)}.")
    served = slot.model  # a new version may take its place meanwhile
    head = {"model": slot.name, "version": served.version, "n_nodes": served.nodes.taxonomy.n_nodes}
    encoded = await asyncio.to_thread(lambda: [encoded_column(served, name, packed) for name in wanted])
    parts = zip(wanted, encoded, strict=True)
    listed = b",".join(json.dumps(name).encode() + b":" + part for name, part in parts if part is not None)
    start = json.dumps(head, ensure_ascii=False)[:-1].encode("utf-8", "replace")
    return Response(start + b', "columns": {' + listed + b"}}", media_type="application/json")


@router.get("/automation", summary="How many rows are answered at each level of confidence")
async def automation(request: Request, model: ModelName = None) -> Response:
    """Give a curve: by level of confidence, the shares of rows answered at a leaf, above, or not, and of errors.

    It is of the rows of the evaluation, or else of rows held out in training; null for a model without probabilities.
    """
    slot = slots_of(request).find(model)
    curve = await slot.call(automation_of)
    return json_response({"model": slot.name, "version": slot.model.version, **curve})


@router.get("/findings", summary="What doctor has found")
async def findings(request: Request, model: ModelName = None) -> Response:
    """Give the findings of ``cladist doctor`` that the server was started with, of nodes that the model has."""
    slot = slots_of(request).find(model)
    taxonomy = slot.model.nodes.taxonomy
    found = [finding for finding in request.app.state.findings if all(name in taxonomy for name in finding.nodes)]
    return json_response({"model": slot.name, "findings": [finding._asdict() for finding in found]})


@router.get("/nodes/{node}", summary="One node")
async def one_node(request: Request, node: int, model: ModelName = None) -> Response:
    """Give a node's path, numbers, confusions, top words and sample errors."""
    slot = slots_of(request).find(model)
    nodes = slot.model.nodes
    found = entry(slot, checked(slot, node)) | {"path": nodes.path(node), "children": []}
    found["children"] = [entry(slot, int(v)) for v in nodes.taxonomy.child_ids(node)[:100]]
    found["words"] = await slot.call(lambda served: top_words(served, node))
    told = (
        {"metrics": None, "confusions": [], "errors": []}
        if slot.evaluation is None
        else slot.evaluation.describe(node, nodes)
    )
    return json_response({"model": slot.name, "version": slot.model.version, **found, **told})
