"""Model calls of a run: recorded before they are used, never paid twice, within the budget."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

from runner.errors import ModelFault, Stopped
from runner.experiment.spend import Spend
from runner.experiment.stop import StopFlag, StopRequested
from runner.llm import Model, Request
from runner.record.journal import Journal
from runner.types import Call, Completion, Usage

# The question that the running task is asking, for calls that a memory system makes by itself.
current_question: ContextVar[str] = ContextVar("current_question", default="")

FAULT: Final = "fault"  # the `request` of a call that was paid and gave nothing: no request ever matches it


class Ledger:
    """The calls of one run, those of earlier sessions included."""

    def __init__(self, spend: Spend, stop: StopFlag) -> None:
        self.spend = spend
        self._stop = stop
        self._paid: dict[tuple[str, str, int, str], Completion] = {}
        self._journal: Journal[Call] | None = None
        self.finished = 0  # calls of this session

    def remember(self, calls: Iterable[Call], done: set[str], ask_again: set[str]) -> None:
        """Load what is paid: all of it counts, and what belongs to unfinished questions will be used.

        ``ask_again`` are questions whose judge's reply could not be parsed: that reply is not used again, the answer
        that it graded is.
        """
        for call in calls:
            self.spend.count(call.completion.usage, call.role)
            if call.question not in done and not (call.role == "judge" and call.question in ask_again):
                self._paid[call.question, call.role, call.repeat, call.request] = call.completion

    def open(self, journal: Journal[Call]) -> None:
        self._journal = journal

    async def complete(self, model: Model, request: Request, question: str, role: str, repeat: int) -> Completion:
        """Return a recorded reply, or ask for a new one.

        Raises
        ------
        ModelFault
            When the call failed; what it cost all the same is recorded.
        StopRequested
            When the run is stopping or its budget is reached.
        """
        known = self._paid.pop((question, role, repeat, request.sha256), None)
        if known is not None:
            return known
        self._stop.check()
        try:
            reserved = await self.spend.reserve(model.estimate(request), role)
        except Stopped as stop:
            self._stop.pull(stop)
            raise StopRequested from None
        usage: Usage | None = None
        try:
            self._stop.check()  # the run may have been stopped while this one waited for room
            completion = await model.complete(request)
            usage = completion.usage
        except ModelFault as fault:
            usage = fault.usage
            if usage is not None:
                self._write(question, role, repeat, FAULT, Completion(text="", finish=FAULT, usage=usage))
            raise
        finally:
            over = self.spend.settle(reserved, usage, role)
            if over is not None:
                self._stop.pull(over)
        self._write(question, role, repeat, request.sha256, completion)
        return completion

    async def complete_for_system(self, model: Model, request: Request) -> Completion:
        """Complete a request of a memory system that asks a model while it writes or searches."""
        question = current_question.get()  # empty while a history is written
        return await self.complete(model, request, question, "search_model" if question else "ingest_model", 0)

    def _write(self, question: str, role: str, repeat: int, request: str, completion: Completion) -> None:
        assert self._journal is not None
        self.finished += 1
        self._journal.append(Call(question=question, role=role, repeat=repeat, request=request, completion=completion))
