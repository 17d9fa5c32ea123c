"""Systems and a benchmark that the tests of answering share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from runner.config import ArmConfig, HarnessConfig, SliceConfig
from runner.errors import SearchError
from runner.harness import DatasetInfo, Harness
from runner.system import Capabilities, MemorySystem, Opening, Provenance, receipt_of
from runner.types import (
    CORRECT,
    WRONG,
    Answer,
    Event,
    Gold,
    Hit,
    Label,
    Query,
    Question,
    Receipt,
    Retrieval,
    Scenario,
    Usage,
)

EVENTS = (
    Event(id="e1", text="Ann keeps bees in the old orchard."),
    Event(id="e2", text="Bob paints his boat red."),
    Event(id="e3", text="The orchard was sold in 2019."),
)


class Tiny(Harness):
    """Three questions of one history: two graded by a rule, one by a judge where ``judged`` says so."""

    name = "tiny"
    categories: ClassVar = {"bees": "bees", "boats": "boats"}
    comparable = frozenset({"bees", "boats"})
    cluster = "history"
    rules = ("substring",)
    tags = ("season",)

    def __init__(self, config: HarnessConfig | None = None, *, judged: bool = False, existing: str = "") -> None:
        super().__init__(config or HarnessConfig(name="tiny"))
        self.judged, self.existing = judged, existing

    def dataset(self) -> DatasetInfo:
        return DatasetInfo(name="tiny", version="1", sha256="0" * 64, pinned=True)

    def read(self) -> Iterator[Scenario]:
        def asked(number: int, text: str, category: str, gold: Gold, season: str, rule: str = "substring") -> Question:
            return Question(
                id=f"t/{number}", text=text, category=category, gold=gold, rule=rule, tags={"season": season},
                reading=f"{text} (say where)",
            )  # fmt: skip

        yield Scenario(
            id="t",
            cluster="t",
            existing=self.existing,
            events=() if self.existing else EVENTS,
            questions=(
                asked(0, "Where are the bees?", "bees", Gold(answers=("old orchard",), evidence=("e1",)), "spring"),
                asked(1, "What colour is the boat?", "boats", Gold(answers=("red",)), "autumn"),
                asked(
                    2,
                    "When was it sold?",
                    "bees",
                    Gold(answers=("2019",)),
                    "spring",
                    "" if self.judged else "substring",
                ),
            ),
        )

    def grade(self, question: Question, answer: str) -> Label:
        assert question.rule == "substring"
        right = question.gold.answers[0] in answer
        return Label(value=CORRECT if right else WRONG, reason="by substring")

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        known = [hit.sources for hit in hits if hit.sources is not None]
        measurable = len(known) == len(hits) and bool(question.gold.evidence)
        found = any(set(item) & set(question.gold.evidence) for item in known)
        return {"recall@10": float(found) if measurable else None}

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        return {"length": float(len(answer))}


class Answerer(MemorySystem):
    """Answers by itself, and keeps what it was called with.

    ``says`` gives the answer of the n-th ask of a question text; an exception is raised.
    """

    def __init__(self, says=None, *, hits: bool | None = True, capabilities: Capabilities | None = None) -> None:
        super().__init__(ArmConfig(name="answerer", system="none"))
        self.capabilities = capabilities or Capabilities(answers=True, existing=True)
        self.says, self.hits = says or {}, hits
        self.calls: list[tuple[str, str]] = []
        self.queries: list[Query] = []
        self.asked: dict[str, int] = {}

    async def open(self, opening: Opening) -> Provenance:
        return Provenance(build="test")

    async def reset(self, ns: str) -> None:
        self.calls.append(("reset", ns))

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        self.calls.append(("write", ns))
        return receipt_of(events)

    async def settle(self, ns: str, receipt: Receipt, deadline_s: float) -> None:
        self.calls.append(("settle", ns))

    async def search(self, ns: str, query: Query) -> Retrieval:
        self.calls.append(("search", ns))
        self.queries.append(query)
        return Retrieval(hits=self._hits())

    def _hits(self, turn: int = 0) -> tuple[Hit, ...]:
        found = [Hit(key=e.id, text=e.text, sources=(e.id,)) for e in EVENTS]
        return tuple(found[turn % 3 :] + found[: turn % 3])

    async def ask(self, ns: str, query: Query) -> Answer:
        self.calls.append(("ask", ns))
        self.queries.append(query)
        text = query.text.removesuffix(" (say where)")
        turn = self.asked.get(text, 0)
        self.asked[text] = turn + 1
        replies = self.says.get(text, ["in the old orchard, red, 2019"])
        reply = replies[turn % len(replies)]
        if isinstance(reply, Exception):
            raise reply
        return Answer(
            text=reply,
            hits=None if self.hits is None else self._hits(turn if self.hits == "turning" else 0),
            model="own-model",
            usage=Usage(input_tokens=10, output_tokens=2, usd=0.001, calls=1),
        )

    async def holds(self, ns: str, events: Sequence[str]) -> frozenset[str] | None:
        return frozenset({"e1"} & set(events))

    async def erase(self, ns: str) -> None:
        self.calls.append(("erase", ns))


FAILS = SearchError("the memory is down")
ALL = SliceConfig()
