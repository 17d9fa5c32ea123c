"""Who answers a question: a reader over what was delivered, or the memory system by itself."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec.structs import replace

from runner.config import ModelConfig, digest
from runner.errors import ModelFault, SystemFault
from runner.experiment.model_calls import Ledger
from runner.llm import Model, Request
from runner.llm.reader import Reader
from runner.record import journal
from runner.record.usage import add
from runner.types import Answer, Completion, Hit, Query, Question, Row, Usage

CUT: Final = "answer_truncated"  # flag of a row whose answer ended at the token limit
# What a metric is given for an answer whose system does not say what it read: not measurable, which is not nothing.
UNTOLD: Final = (Hit(key="", text=""),)


@dataclass(frozen=True)
class AnswerAttempt:
    """One answer. ``hits`` are what the system read for it, where it answered by itself and says so."""

    text: str
    model: str = ""
    flags: tuple[str, ...] = ()
    hits: tuple[Hit, ...] | None = None


# The answer of one repeat, what it used added to the row. A fault of whoever answers is a ModelFault.
Say = Callable[[int, Row], Awaitable[AnswerAttempt]]


async def complete(
    ledger: Ledger, model: Model, request: Request, question: Question, role: str, repeat: int, row: Row
) -> Completion:
    """A recorded reply or a new one, its use added to the row."""
    completion = await ledger.complete(model, request, question.id, role, repeat)
    row.usage[role] = add(row.usage.get(role), completion.usage)
    return completion


class ReaderAnswers:
    """A reader with its model."""

    def __init__(self, reader: Reader, model: Model, ledger: Ledger) -> None:
        self._reader, self._model, self._ledger = reader, model, ledger

    def over(self, question: Question, context: str) -> Say:
        """What answers a question from what was delivered."""
        request = self._reader.request(question, context)

        async def say(repeat: int, row: Row) -> AnswerAttempt:
            reply = await complete(self._ledger, self._model, request, question, "reader", repeat, row)
            return AnswerAttempt(reply.text.strip(), reply.model, (CUT,) if reply.finish == "length" else ())

        return say


class MemoryAnswers:
    """A memory system that answers by itself: journalled, budgeted and resumed as a reader is."""

    def __init__(self, config: ModelConfig, ledger: Ledger) -> None:
        self._config, self._ledger = config, ledger

    def of(self, question: Question, query: Query, ask: Callable[[], Awaitable[Answer]]) -> Say:
        """What answers a question from the memory itself."""
        request = Request(messages=(), sha256=digest(msgspec.to_builtins(query)))
        model = _Memory(self._config, ask)

        async def say(repeat: int, row: Row) -> AnswerAttempt:
            reply = await complete(self._ledger, model, request, question, "ask", repeat, row)
            answer = msgspec.json.decode(reply.text, type=Answer)
            return AnswerAttempt(answer.text.strip(), answer.model, answer.notes, answer.hits)

        return say


class _Memory(Model):
    """One question to a memory system, as a model: its reply is the whole answer, as JSON."""

    def __init__(self, config: ModelConfig, ask: Callable[[], Awaitable[Answer]]) -> None:
        super().__init__(config)
        self._ask = ask

    async def complete(self, request: Request) -> Completion:
        del request
        self.requests += 1
        start = time.perf_counter()
        try:
            answer = await self._ask()
        except SystemFault as fault:
            raise ModelFault(str(fault)) from fault
        # What it asked of its own models is known where it says so; that it was asked once, always.
        told = answer.usage or Usage(usd=None, measured=False)
        usage = replace(told, calls=max(1, told.calls), seconds=time.perf_counter() - start)
        return Completion(text=journal.encoded(answer).decode(), model=answer.model, usage=usage)
