"""The comparison of two arms: its verdict and the numbers behind it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from runner.record.compare import Comparability
from runner.stats.agreement import Agreement
from runner.stats.export import Exportable
from runner.stats.judge_error import CAVEATS, Corrected, JudgeRates
from runner.stats.ppi import PredictionPowered
from runner.stats.sequential import Crossing
from runner.stats.verdict import Outcome, Verdict


@dataclass
class Comparison:
    """A pair of arms: what may be said, and the numbers behind it.

    Attributes
    ----------
    outcome
        ``pass``, ``fail``, ``unresolved``, ``refused``, ``incomplete``, ``null`` for an A/A pair, or ``unmeasurable``.
    reason
        Why, in a word or a line.
    verdict
        The statistics of the headline, also under a refusal for a fake; ``None`` when the pair does not compare.
    others
        The same statistics of the other denominators and of the stable-only pair. Shown, never the gate.
    categories
        Per category; Benjamini–Hochberg adjusted. Never a headline.
    bounds
        The difference if every errored question had gone against B, and if for it. Points are fractions.
    identical_share
        Share of the headline's questions for which both arms retrieved the same keys and context. Near 1, a label that
        changed was the reader's or the judge's, not the retrieval's.
    wilcoxon_p
        Two-sided Wilcoxon signed-rank test over the means of the independent units (clusters, or single questions),
        repeats averaged. Beside the bootstrap, never the gate.
    early, early_p
        Of an arm that was watched while it ran: the moment at which the e-value decided, which is then the outcome
        whatever the interval says; and 1 over the greatest e-value, a p-value that holds whenever one stops.
    hint
        Under a refusal for what a record leaves unknown: the command with the declarations that a person could make.
    corrected, human
        What a calibration of the judge (``gate.calibration``) and people's labels (``gate.human``) say beside the
        verdict. Never in its place.
    """

    a: str
    b: str
    metric: str
    axis: str
    outcome: str
    reason: str
    comparability: Comparability
    verdict: Verdict | None = None
    others: dict[str, Verdict] = field(default_factory=dict)
    categories: dict[str, Verdict] = field(default_factory=dict)
    category_p: dict[str, float] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    errors: tuple[int, int] = (0, 0)
    null_band: float | None = None
    identical_share: float | None = None
    wilcoxon_p: float | None = None
    hint: str = ""
    holm_p: float | None = None
    early: Crossing | None = None
    early_p: float | None = None
    corrected: JudgeCorrection | None = None
    human: HumanCheck | None = None
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "axis": self.axis,
            "metric": self.metric,
            "outcome": self.outcome,
            "reason": self.reason,
            "treatment": {key: list(pair) for key, pair in self.comparability.treatment.items()},
            "bundle": self.comparability.bundle,
            "ablation_of": self.comparability.ablated,
            "confounds": [{"row": c.row, "a": c.a, "b": c.b, "why": c.why} for c in self.comparability.confounds],
            "declared_same": self.comparability.declared,
            "notes": self.notes,
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
            "holm_p": self.holm_p,
            "early": None if self.early is None else {**self.early.to_dict(), "anytime_p": self.early_p},
            "errors": list(self.errors),
            "bounds_with_errors": None if self.bounds is None else list(self.bounds),
            "null_band": self.null_band,
            "identical_share": self.identical_share,
            "wilcoxon_p": self.wilcoxon_p,
            "corrected": None if self.corrected is None else self.corrected.to_dict(),
            "human": None if self.human is None else self.human.to_dict(),
            "others": {name: verdict.to_dict() for name, verdict in self.others.items()},
            "categories": {
                name: {**verdict.to_dict(), "bh_p": self.category_p.get(name)}
                for name, verdict in self.categories.items()
            },
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return :meth:`to_dict` as JSON text; ``null`` where there is no number."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        head = f"{self.b} against {self.a}, {self.metric}: {self.outcome.upper()}"
        if self.early is not None:
            return f"{head} ({self.reason}: {self.early})"
        if self.verdict is not None and self.outcome in ("pass", "fail", "unresolved"):
            return f"{self.b} against {self.a}, {self.metric}: {self.verdict.line()}"
        return f"{head} ({self.reason})" if self.reason else head


@dataclass(frozen=True)
class Correction:
    """A corrected difference: with which rates, what it came to, and the verdict that it would have given.

    ``verdict`` is ``None`` where nothing may be corrected (``result.flag``).
    """

    rates: JudgeRates
    result: Corrected
    verdict: Outcome | None

    def to_dict(self) -> dict[str, Any]:
        return {"rates": self.rates.to_dict(), **self.result.to_dict(), "verdict": self.verdict}


@dataclass(frozen=True)
class JudgeCorrection:
    """The corrections by a calibration, beside a verdict.

    Attributes
    ----------
    specific, vague
        With the false positives of specific wrong answers (the main one), and with those of vague ones; ``vague`` is
        ``None`` where none were graded.
    categories
        By category, with the rates of the category; shown, never a headline.
    raw
        The verdict of the raw difference, which decides.
    notes
        What must be said about the calibration: a fake judge, rows that a person declared, drift.
    """

    source: str
    judge: str
    made: str
    specific: Correction
    vague: Correction | None
    categories: dict[str, Correction]
    raw: Outcome
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = field(default=CAVEATS)

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "judge": self.judge,
            "made": self.made,
            "raw_verdict": self.raw,
            "specific": self.specific.to_dict(),
            "vague": None if self.vague is None else self.vague.to_dict(),
            "categories": {name: item.to_dict() for name, item in self.categories.items()},
            "notes": list(self.notes),
            "caveats": list(self.caveats),
        }


INDEPENDENT: Final = (
    "items are taken as independent: ppi-python does not cluster, so with few clusters it is too narrow"
)


AT_RANDOM: Final = "the labelled items must be a random sample of the questions, the same in both arms"


@dataclass(frozen=True)
class JudgeAgainstPeople(Exportable):
    """The judge held against people on the answers of one arm: agreement, and who passes what the other fails."""

    agreement: Agreement
    judge_only: int  # passed by the judge, not by people
    people_only: int


@dataclass(frozen=True)
class HumanCheck(Exportable):
    """The estimates from people's labels, beside a verdict.

    Attributes
    ----------
    difference, arms
        B − A over the pairs, and the accuracy of each arm by name; ``None`` where too few items are labelled.
    against
        Of each arm, by name, the judge held against people.
    pairs
        Items of the headline that people labelled in both arms.
    unused
        Labels of answers outside the headline, or without a judge's label.
    reason
        Why there is no difference.
    """

    source: str
    difference: PredictionPowered | None
    arms: dict[str, PredictionPowered | None]
    against: dict[str, JudgeAgainstPeople]
    pairs: int
    unused: int
    reason: str = ""
    caveats: tuple[str, ...] = (INDEPENDENT, AT_RANDOM)
