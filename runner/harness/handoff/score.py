"""Scores of a text that crosses the boundary between two agents: facts carried, wrong ones leaked, signals given.

Matching is substring, case-insensitive, over collapsed white space; that a number may be written in two ways is for
the author of a scenario to say (``any: [71 percent, 71%]``), not for the matcher to guess. The text that is scored is
what the arriving agent would have in its window: without a verbatim echo of the query, and cut at the budget.

The scores are those of the handoff suite in Coder8124/logos, package ``eval`` (Fidelity, Density, Recall, Pass), with
three differences: an echo counts for nothing, what is beyond the budget is not scored, and a failed scenario that
requires no fact scores 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runner.types import Fact, Gold, Metric

METRICS: Final = (
    Metric("pass", share=True),
    Metric("fidelity", share=True),
    Metric("density", unit="facts per 1,000 tokens"),
    Metric("signal", share=True),
    Metric("tokens", higher=False, unit="tokens"),
    Metric("over_budget", share=True, higher=False),
    Metric("fact_recall", share=True, shown="never"),
    Metric("leakage", share=True, higher=False, shown="never"),
    *(Metric(f"answer_{name}", share=True, shown="never") for name in ("pass", "fidelity", "signal")),
)
PASS_BAR: Final = 0.75  # of fidelity, and of signal where a scenario declares any
CHARS_A_TOKEN: Final = 4
_SPACE: Final = re.compile(r"\s+")
_CUT: Final = "\n"  # where an echo stood: collapsed text has none, so that no fact is read across it
_ROUNDING: Final = 1e-9  # 15/16 · (1 − 1/5) is three quarters, whatever floats make of it


def tokens(text: str) -> int:
    """Return the cost of a text: whole tokens at four characters each, the same estimate for every system."""
    return len(text) // CHARS_A_TOKEN


def collapsed(text: str) -> str:
    """Return a text in lower case, each run of white space one blank: what facts are looked for in."""
    return _SPACE.sub(" ", text).strip().casefold()


def states(fact: Fact, text: str) -> bool:
    """Tell if a collapsed text holds a fact: one of ``any`` (if there are any), and every one of ``all``.

    An empty item is in no text, and a fact without items is never found.
    """
    one = not fact.any or any(_holds(text, item) for item in fact.any)
    return one and bool(fact.any or fact.all) and all(_holds(text, item) for item in fact.all)


def _holds(text: str, item: str) -> bool:
    looked_for = collapsed(item)
    return bool(looked_for) and looked_for in text


def window(text: str, query: str, budget: int | None) -> str:
    """Return the part of a response that counts, collapsed: within the budget, and with no verbatim echo of the query.

    The cut is the longest text that is not over budget (:func:`tokens` counts whole ones), so that a response is over
    budget exactly when some of it goes unread. An echo costs tokens like any other text.
    """
    if budget is not None:
        text = text[: (budget + 1) * CHARS_A_TOKEN - 1]
    text, echo = collapsed(text), collapsed(query)
    return text.replace(echo, _CUT) if echo else text


@dataclass(frozen=True)
class HandoffScore:
    """The score of one response.

    Attributes
    ----------
    missed, leaked, unsignalled
        Labels of the facts that are missing, that should not be there, and that were not said.
    failed
        The system declined or failed: everything scores 0, a scenario that requires nothing included.
    """

    carry: int
    avoid: int
    signals: int
    missed: tuple[str, ...]
    leaked: tuple[str, ...]
    unsignalled: tuple[str, ...]
    tokens: int
    budget: int | None = None
    failed: bool = False

    @property
    def recall(self) -> float:
        """Return facts carried / facts required; 1 when none is required."""
        if self.failed:
            return 0.0
        return (self.carry - len(self.missed)) / self.carry if self.carry else 1.0

    @property
    def leakage(self) -> float:
        """Return wrong facts that came along / those there are; 0 when there are none."""
        return len(self.leaked) / self.avoid if self.avoid else 0.0

    @property
    def fidelity(self) -> float:
        """Return recall · (1 − leakage): a product, because right facts do not undo a wrong one among them."""
        return self.recall * (1 - self.leakage)

    @property
    def signal(self) -> float | None:
        """Return the share of the declared signals that were given; ``None`` when none is declared."""
        if not self.signals:
            return None
        return 0.0 if self.failed else (self.signals - len(self.unsignalled)) / self.signals

    @property
    def density(self) -> float:
        """Return facts carried per thousand tokens; 0 at 0 tokens."""
        carried = 0 if self.failed else self.carry - len(self.missed)
        return 1000 * carried / self.tokens if self.tokens else 0.0

    @property
    def over_budget(self) -> bool:
        return self.budget is not None and self.tokens > self.budget

    @property
    def passed(self) -> bool:
        """Tell if nothing failed, fidelity is at the bar, and signal is where the scenario declares any."""
        signal = self.signal
        bar = PASS_BAR - _ROUNDING
        return not self.failed and self.fidelity >= bar and (signal is None or signal >= bar)

    def metrics(self) -> dict[str, float | None]:
        """Return the metrics that a row records."""
        return {
            "pass": float(self.passed),
            "fidelity": self.fidelity,
            "fact_recall": self.recall,
            "leakage": self.leakage if self.avoid else None,
            "signal": self.signal,
            "density": self.density if self.carry else None,
            "tokens": float(self.tokens),
            "over_budget": float(self.over_budget),
        }


def score_text(
    gold: Gold, response: str, query: str = "", budget: int | None = None, *, failed: bool = False
) -> HandoffScore:
    """Score one response.

    Parameters
    ----------
    gold
        With ``carry``, ``avoid`` and ``signal``.
    response
        All that the system returned; its whole length is its cost.
    query
        The task as it was asked.
    budget
        Tokens that the arriving agent has room for.
    failed
        The system failed or kept nothing: it is scored as if it had returned nothing.
    """
    text = "" if failed else window(response, query, budget)

    def lacking(facts: Sequence[Fact]) -> tuple[str, ...]:
        return tuple(fact.label for fact in facts if not states(fact, text))

    return HandoffScore(
        carry=len(gold.carry),
        avoid=len(gold.avoid),
        signals=len(gold.signal),
        missed=lacking(gold.carry),
        leaked=tuple(fact.label for fact in gold.avoid if states(fact, text)),
        unsignalled=lacking(gold.signal),
        tokens=0 if failed else tokens(response),
        budget=budget,
        failed=failed,
    )
