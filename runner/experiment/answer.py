"""The answer to a question: by a reader over its context, or by the memory system itself."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from runner.config import ModelConfig, digest
from runner.errors import ModelFault, SystemFault
from runner.experiment.model_calls import Ledger
from runner.llm import Model, Request
from runner.llm.reader import Reader
from runner.record import journal
from runner.types import ANSWER_TRUNCATED, Answer, Completion, Hit, Query, Question, Usage


@dataclass(frozen=True)
class AnswerAttempt:
    """One answer: its text, the served model, and its use by role.

    ``hits`` are what the memory read for it, where it answered by itself and says so.
    """

    text: str
    model: str
    used: tuple[str, Usage]
    flags: tuple[str, ...] = ()
    hits: tuple[Hit, ...] | None = None


# Answers one repeat of a question. Raises ModelFault when the reader or the memory fails.
Answerer = Callable[[int], Awaitable[AnswerAttempt]]


class ReaderAnswers:
    """Has a reader's model answer questions."""

    def __init__(self, reader: Reader, model: Model, ledger: Ledger) -> None:
        self._reader, self._model, self._ledger = reader, model, ledger

    def over(self, question: Question, context: str) -> Answerer:
        """Return the answerer of a question over its context."""
        request = self._reader.request(question, context)

        async def answer(repeat: int) -> AnswerAttempt:
            reply = await self._ledger.complete(self._model, request, question.id, "reader", repeat)
            cut = (ANSWER_TRUNCATED,) if reply.finish == "length" else ()
            return AnswerAttempt(reply.text.strip(), reply.model, ("reader", reply.usage), cut)

        return answer


class MemoryAnswers:
    """Has a memory system answer questions by itself: journalled, budgeted and resumed like a reader."""

    def __init__(self, config: ModelConfig, ledger: Ledger) -> None:
        self._config, self._ledger = config, ledger

    def over(self, question: Question, query: Query, ask: Callable[[], Awaitable[Answer]]) -> Answerer:
        """Return the answerer of a question by the memory itself."""
        request = Request(messages=(), sha256=digest(msgspec.to_builtins(query)))
        model = _Memory(self._config, ask)

        async def answer(repeat: int) -> AnswerAttempt:
            reply = await self._ledger.complete(model, request, question.id, "ask", repeat)
            given = msgspec.json.decode(reply.text, type=Answer)
            return AnswerAttempt(given.text.strip(), given.model, ("ask", reply.usage), given.notes, given.hits)

        return answer


class _Memory(Model):
    """Asks a memory system as if it were a model: its reply is the whole answer, as JSON."""

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
        # The use of its own models is known where it reports one; that it was asked once, always.
        reported = answer.usage or Usage(usd=None, measured=False)
        usage = replace(reported, calls=max(1, reported.calls), seconds=time.perf_counter() - start)
        return Completion(text=journal.encoded(answer).decode(), model=answer.model, usage=usage)
