"""`Slot`: the place of a model in a server, its present version and the queue of requests to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cladist.errors import CladistError, ParameterError
from cladist.server.batches import Batches, Job
from cladist.server.evaluation import Evaluation
from cladist.server.served import Question, ServedModel, stacked
from cladist.server.settings import Settings


class UnknownModelError(CladistError):
    """A request names a model that the server does not have."""


class Slot:
    """A model under a name: its present version, and the thread that answers requests to it.

    Parameters
    ----------
    name : str
    model : ServedModel
    settings : Settings
    folder : path or None
        Where the model is from.
    """

    def __init__(self, name: str, model: ServedModel, settings: Settings, folder: Path | None = None) -> None:
        self.name, self.model, self.settings, self.folder = name, model, settings, folder
        self.evaluation: Evaluation | None = None
        self.batches = Batches(
            self._process,
            max_rows=settings.batch_rows,
            wait=settings.batch_wait,
            max_waiting=settings.queue_rows,
        )

    async def predict(self, inputs: Any, question: Question) -> tuple[ServedModel, list[dict[str, Any]]]:
        """Return the version that answered, and the predictions of some rows."""
        model, answer = await self.batches.ask(("predict", inputs, question), inputs.shape[0])
        return model, answer

    async def explain(self, inputs: Any, labels: Sequence[str] | None) -> tuple[ServedModel, list[dict[str, Any]]]:
        """Return the version that answered, and the explanations of some rows."""
        model, answer = await self.batches.ask(("explain", inputs, labels), inputs.shape[0])
        return model, answer

    def _process(self, jobs: Sequence[Job]) -> None:
        """Answer some requests, in the thread of this slot; predictions together, as far as they can be."""
        model = self.model
        together = [job for job in jobs if job.request[0] == "predict"]
        try:
            if together:
                inputs = stacked([job.request[1] for job in together])
                answers = model.answer_all([job.request[1:] for job in together], inputs)
                for job, answer in zip(together, answers, strict=True):
                    job.set((model, answer))
        except Exception:  # one of the requests is to blame: each is answered by itself
            for job in together:
                _answer_alone(model, job)
        for job in jobs:
            if job.request[0] == "explain":
                _answer_alone(model, job)


def _answer_alone(model: ServedModel, job: Job) -> None:
    kind, inputs, asked = job.request
    try:
        job.set((model, (model.predict if kind == "predict" else model.explain)(inputs, asked)))
    except Exception as error:
        job.set(error)


class Slots:
    """The models of a server by name, the first one of which is the default."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        if not slots:
            raise ParameterError("A server needs at least one model.")
        self.by_name = {slot.name: slot for slot in slots}
        if len(self.by_name) < len(slots):
            raise ParameterError("Two models have the same name; name them as NAME=FOLDER.")

    @property
    def default(self) -> Slot:
        """The first model."""
        return next(iter(self.by_name.values()))

    def find(self, name: str | None) -> Slot:
        """Return the model of a name, the first one without."""
        if name is None:
            return self.default
        if name not in self.by_name:
            raise UnknownModelError(f"There is no model {name[:80]!r}; there are {', '.join(self.by_name)}.")
        return self.by_name[name]

    def stop(self) -> None:
        """End the threads of all models, after the requests that wait."""
        for slot in self.by_name.values():
            slot.batches.stop()
