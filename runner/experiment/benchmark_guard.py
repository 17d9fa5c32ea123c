"""A guard around a benchmark's scoring: metrics that can be recorded, labels that exist."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runner.analysis.metrics import Metrics
from runner.errors import ConfigError
from runner.harness import Harness
from runner.harness._base.faults import own_code
from runner.types import LABELS, Hit, Label, Question

Scores = dict[str, float | None]


class BenchmarkGuard:
    """The scoring methods of a harness, checked at every call.

    Raises
    ------
    ConfigError
        From every method, when the benchmark's code fails or gives what no record can hold.
    """

    def __init__(self, harness: Harness, axis: str) -> None:
        self._harness = harness
        self._declared = Metrics(harness.metrics)
        self._headline = harness.headline(axis) if axis == "recall" else ""

    def retrieval(self, question: Question, hits: Sequence[Hit]) -> Scores:
        return self._metrics("score_retrieval", question, lambda: self._harness.score_retrieval(question, hits))

    def answer(self, question: Question, answer: str) -> Scores:
        return self._metrics("score_answer", question, lambda: self._harness.score_answer(question, answer))

    def delivered(self, question: Question, text: str, *, failed: bool = False) -> Scores:
        return self._metrics(
            "score_delivered", question, lambda: self._harness.score_delivered(question, text, failed=failed)
        )

    def require_headline(self, metrics: Mapping[str, float | None]) -> None:
        """Refuse a run on the recall axis whose rows do not have its headline metric."""
        if self._headline and self._headline not in metrics:
            raise ConfigError(
                [
                    f"harness '{self._harness.name}': neither score_retrieval nor score_delivered gives "
                    f"'{self._headline}', its headline on the recall axis; give it (None where it is not measurable), "
                    f"or name another in headline()"
                ]
            )

    def grade(self, question: Question, answer: str) -> Label:
        with own_code(self._harness.name, f"grade() on '{question.id}'"):
            label: Any = self._harness.grade(question, answer)
        got = label.value if isinstance(label, Label) else type(label).__name__
        if not isinstance(label, Label) or label.value not in LABELS:
            raise ConfigError(
                [
                    f"harness '{self._harness.name}': grade() on '{question.id}' returned {got!r}; it returns a Label "
                    f"whose value is {', '.join(LABELS[:-1])} or {LABELS[-1]}"
                ]
            )
        if label.score is not None and not (_is_number(label.score) and 0 <= label.score <= 1):
            raise ConfigError(
                [
                    f"harness '{self._harness.name}': grade() on '{question.id}' gave the score {label.score!r}; it is "
                    f"a number from 0 to 1"
                ]
            )
        return label

    def _metrics(self, step: str, question: Question, call: Callable[[], Scores]) -> Scores:
        name = self._harness.name
        with own_code(name, f"{step}() on '{question.id}'"):
            given: Any = call()
        if not isinstance(given, dict):
            raise ConfigError([f"harness '{name}': {step}() returns a dict of metrics, and not {type(given).__name__}"])
        scores: Scores = {}
        for metric, value in given.items():
            if value is None:
                scores[metric] = None
                continue
            declared = self._declared.find(metric) if isinstance(metric, str) else None
            share = declared is not None and declared.share
            if not isinstance(metric, str) or not _is_number(value) or (share and not 0 <= float(value) <= 1):
                what = "a share from 0 to 1" if share else "a finite number"
                raise ConfigError(
                    [
                        f"harness '{name}': {step}() on '{question.id}' gave {metric} = {value!s:.60}; a metric is "
                        f"{what}, or None where it is not measurable"
                    ]
                )
            scores[metric] = float(value)
        return scores


def _is_number(value: Any) -> bool:
    return type(value) is not bool and isinstance(value, numbers.Real) and math.isfinite(float(value))
