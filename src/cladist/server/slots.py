"""`Slot`: the place of a model in a server, its present version and the queue of requests to it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cladist.errors import CladistError, ParameterError
from cladist.server.batches import Batches, Job
from cladist.server.counters import BATCHES, BUSY, FEEDBACK, RELOADS, Counters
from cladist.server.evaluation import Evaluation
from cladist.server.feedback_log import ConflictError, FeedbackLog, Receipt
from cladist.server.learner import Learning
from cladist.server.served import Question, ServedModel, stacked
from cladist.server.settings import Settings

LOGGER = logging.getLogger("cladist.server")


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
        self.name, self.settings, self.folder = name, settings, folder
        self.log = FeedbackLog(log_path(name, folder, settings))
        self.learning = self.prepared(model)
        self.signature: Any = None  # of what its folder held when it was loaded
        self.counters: Counters | None = None
        self.batches = Batches(
            self._process,
            max_rows=settings.batch_rows,
            wait=settings.batch_wait,
            max_waiting=settings.queue_rows,
        )
        self.writing = Batches(self._write, max_rows=settings.batch_rows, wait=0.0, max_waiting=settings.queue_rows)

    def stop(self) -> None:
        """End the threads, after the requests that wait."""
        self.writing.stop()
        self.batches.stop()

    @property
    def model(self) -> ServedModel:
        """The present version."""
        return self.learning.model

    @property
    def evaluation(self) -> Evaluation | None:
        """The evaluation of the present version, if there is one."""
        return self.model.evaluation

    def prepared(self, model: ServedModel) -> Learning:
        """Return a version that has learnt the corrections in the log."""
        learning = Learning(model, self.log)
        learning.catch_up()
        return learning

    def replace(self, model: ServedModel) -> None:
        """Answer by another version from the next batch on, once it has learnt the corrections in the log."""
        self.learning = self.prepared(model)
        if self.counters is not None:
            self.counters.add(RELOADS, (self.name,))

    async def learn(self, content: dict[str, Any]) -> tuple[Receipt, bool]:
        """Write a correction to the log; return its receipt, and whether the model has learnt it.

        A model that learns has learnt it then, and any request that comes later is answered by what it knows now.
        """
        receipt: Receipt = await self.writing.ask(content, 1)
        if not self.learning.is_online:
            return receipt, False
        learning: Learning = await self.batches.ask(("learn",), 0)
        return receipt, receipt.sequence <= learning.sequence and receipt.sequence not in learning.refused

    async def predict(self, inputs: Any, question: Question) -> tuple[ServedModel, list[dict[str, Any]]]:
        """Return the version that answered, and the predictions of some rows."""
        model, answer = await self.batches.ask(("predict", inputs, question), inputs.shape[0])
        return model, answer

    async def explain(self, inputs: Any, labels: Sequence[str] | None) -> tuple[ServedModel, list[dict[str, Any]]]:
        """Return the version that answered, and the explanations of some rows."""
        model, answer = await self.batches.ask(("explain", inputs, labels), inputs.shape[0])
        return model, answer

    async def call(self, function: Callable[[ServedModel], Any]) -> Any:
        """Return what a function says about the model, computed while the model does not change."""
        if self.learning.is_online:
            return await self.batches.ask(("call", function), 0)
        return await asyncio.to_thread(function, self.model)

    def _process(self, jobs: Sequence[Job]) -> None:
        """Answer some requests, in the thread of this slot; predictions together, as far as they can be."""
        started = time.perf_counter()
        learning = self.learning
        model = learning.model
        try:
            learning.catch_up()
        except CladistError:  # the log is damaged, and what is known of it still answers
            LOGGER.exception("The log of corrections cannot be read")
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
            elif job.request[0] == "learn":
                job.set(learning)
            elif job.request[0] == "call":
                _call(model, job)
        if self.counters is not None:
            self.counters.observe(BATCHES, (self.name,), sum(job.n_rows for job in jobs))
            self.counters.add(BUSY, (self.name,), time.perf_counter() - started)

    def _write(self, jobs: Sequence[Job]) -> None:
        """Write corrections to the log together, or each by itself if one of them is refused."""
        try:
            receipts = self.log.append([job.request for job in jobs])
            for job, receipt in zip(jobs, receipts, strict=True):
                job.set(receipt)
            if self.counters is not None:
                self.counters.add(FEEDBACK, (self.name,), sum(not receipt.is_duplicate for receipt in receipts))
        except ConflictError:
            for job in jobs:
                try:
                    job.set(self.log.append([job.request])[0])
                except ConflictError as error:
                    job.set(error)


def _call(model: ServedModel, job: Job) -> None:
    try:
        job.set(job.request[1](model))
    except Exception as error:
        job.set(error)


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
            slot.stop()


def log_path(name: str, folder: Path | None, settings: Settings) -> Path:
    """Return the file of the corrections to a model: in the folder of the settings, or beside that of the model."""
    if settings.feedback is not None:
        return settings.feedback / f"{name}.feedback"
    place = Path(name) if folder is None else folder.resolve()
    return place.with_name(f"{place.name}.feedback")
