"""The bodies of requests, with examples for the description of the interface."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from cladist.learners.row_decisions import DecisionOptions
from cladist.server.served import Question

Text = Annotated[str, Field(description="A text to classify.")]
Row = dict[str, Any]
LABEL_CONFIG = '<View><Text name="text" value="$text"/><Taxonomy name="code" toName="text"/></View>'
MODEL_FIELD = Field(None, description="The model that answers; the first one of the server without.")


class Rows(BaseModel):
    """Rows to classify: texts, or values by feature or by text column."""

    model_config = ConfigDict(extra="forbid")
    texts: list[Text] | None = Field(None, description="Texts, for a model trained on texts.")
    rows: list[Row] | None = Field(
        None, description="Values by feature, for a model trained on numbers; or the text columns of a table."
    )
    model: str | None = MODEL_FIELD


class PredictBody(Rows):
    """A request for predictions."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"texts": ["broken left wrist"], "top_k": 3},
                {"texts": ["broken left wrist", "bitten by a dog"], "min_confidence": 0.9},
                {"rows": [{"title": "rain coat", "description": "for hikers"}]},
                {"rows": [{"petal length": 1.4, "petal width": 0.2}]},
            ]
        },
    )
    top_k: int | None = Field(None, ge=1, le=1000, description="Give the K best labels of each row, best first.")
    paths: bool = Field(True, description="Give the path from the root to each label.")
    proba: bool = Field(False, description="Give calibrated probabilities of labels and of the nodes on their paths.")
    min_confidence: float | None = Field(
        None, ge=0, le=1, description="Give the deepest node whose probability reaches this."
    )
    minimise: str | None = Field(
        None, max_length=40, description="Give the node of least expected loss, such as tree-distance."
    )
    conformal: float | None = Field(
        None, ge=0, le=1, description="Give a set of labels that has the true one with probability 1 − this."
    )
    abstain: bool = Field(False, description="Give no label to rows that are unlike those of training.")

    def question(self) -> Question:
        """Return what is asked, without the rows."""
        decisions = DecisionOptions(False, self.min_confidence, self.minimise, self.conformal, self.abstain)
        return Question(self.top_k, self.paths, self.proba, decisions)


class TasksBody(BaseModel):
    """A request of Label Studio for predictions."""

    model_config = ConfigDict(
        extra="allow",
        protected_namespaces=(),
        json_schema_extra={
            "examples": [
                {
                    "tasks": [{"id": 7, "data": {"text": "broken left wrist"}}],
                    "label_config": LABEL_CONFIG,
                    "project": "1.1700000000",
                    "params": {"context": None},
                }
            ]
        },
    )
    tasks: list[Row] = Field(description="The tasks, each with its data.")
    label_config: str | None = Field(None, description="The labelling configuration of the project.")


def kind_of_body(body: Any) -> str:
    """Return which of the two requests for predictions a body is."""
    return "tasks" if isinstance(body, TasksBody) or (isinstance(body, dict) and "tasks" in body) else "rows"


class FeedbackBody(BaseModel):
    """A correction: a text or a row, and its true labels."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"id": "visit-4711", "text": "broken left wrist", "labels": ["S62"]},
                {"row": {"petal length": 1.4, "petal width": 0.2}, "labels": ["setosa"]},
            ]
        },
    )
    id: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="What tells this correction from others; sent again, it is not learnt twice.",
    )
    text: str | None = Field(None, description="The text.")
    row: Row | None = Field(None, description="The values by feature or by text column.")
    labels: list[str] = Field(description="The true label, or labels where the model predicts sets.", max_length=1000)
    model: str | None = MODEL_FIELD


AnyPredictBody = Annotated[
    Annotated[PredictBody, Tag("rows")] | Annotated[TasksBody, Tag("tasks")], Discriminator(kind_of_body)
]


class ExplainBody(Rows):
    """A request for explanations."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"texts": ["broken left wrist"], "labels": ["S62"]}]}
    )
    labels: list[str] | None = Field(None, description="The label to explain of each row; the predicted ones without.")
