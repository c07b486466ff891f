"""The same model behind FastAPI as a tutorial would put it there: a function per request, and no batches."""

from __future__ import annotations

import os

from fastapi import FastAPI
from pydantic import BaseModel

import cladist

app = FastAPI()
model = cladist.load(os.environ["BARE_MODEL"])


class Body(BaseModel):
    """A request."""

    texts: list[str]


@app.post("/predict")
def predict(body: Body) -> dict[str, list[dict[str, object]]]:
    labels, scores = model.predict_top_k(body.texts, 1)
    rows = zip(labels[:, 0].tolist(), scores[:, 0].tolist(), strict=True)
    return {"predictions": [{"label": label, "score": score} for label, score in rows]}
