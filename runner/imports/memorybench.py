"""The ``report.json`` of supermemory's memorybench.

Layout: ``{provider, benchmark, runId, judge, answeringModel, summary: {totalQuestions, correctCount, accuracy},
evaluations: [{questionId, questionType, question, score, label: "correct" | "incorrect", explanation, hypothesis,
groundTruth, searchResults, …}]}``. The label counts, not the score, which some benchmarks grade in parts.

Two things a report does not say. A question whose evaluation did not finish is not in it, and not in its total either.
And LoCoMo's categories carry other names than the paper gives them: its "single-hop" is category 1, the multi-hop one.
Ids ``conv-26-q5`` are LoCoMo's conversation and index.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from runner.data.fields import field, gold, identifier, listed, mapping, optional, text, word
from runner.data.result_file import ResultFile, read_document
from runner.errors import DatasetError
from runner.harness.locomo_qa.conversations import BENCHMARK
from runner.harness.locomo_qa.format import ADVERSARIAL
from runner.imports import Format, Given, Results
from runner.imports._shared.labels import label_of

_LOCOMO_ID: Final = re.compile(r"(conv-\d{1,4})-q(\d{1,6})")
_LOCOMO_TYPES: Final = {
    "single-hop": "1",
    "multi-hop": "2",
    "temporal": "3",
    "world-knowledge": "4",
    "adversarial": ADVERSARIAL,
}
_HARNESSES: Final = {"locomo": BENCHMARK, "longmemeval": "longmemeval"}


class MemoryBench(Format):
    name = "memorybench"

    def read(self, files: Sequence[ResultFile]) -> list[Results]:
        found = Results([])
        facts: dict[str, set[str]] = {"benchmark": set(), "provider": set(), "judge": set(), "answeringModel": set()}
        for number, file in enumerate(files):
            whole = mapping(read_document(file), file.name)
            for key, values in facts.items():
                values.add(text(whole.get(key), f"{file.name}, {key}"))
            benchmark = text(whole.get("benchmark"), file.name).lower()
            for position, item in enumerate(field(whole, "evaluations", file.name, listed)):
                where = f"{file.name}, evaluation {position}"
                found.given.append(_question(mapping(item, where), where, benchmark, number))
            summary = mapping(whole.get("summary") or {}, f"{file.name}, summary")
            for ours, theirs in (("questions", "totalQuestions"), ("correct", "correctCount")):
                if isinstance(summary.get(theirs), int):
                    found.stated[ours] = summary[theirs]
        for key, values in facts.items():
            if len(values) > 1:
                told = ", ".join(sorted(value or "none" for value in values))
                raise DatasetError(f"the files name several values as {key} ({told}); import one arm at a time")
        benchmark = facts["benchmark"].pop().lower()
        found.harness = _HARNESSES.get(benchmark, "")
        found.reader, found.judge = facts["answeringModel"].pop(), facts["judge"].pop()
        provider = facts["provider"].pop()
        found.lines.append(f"benchmark {benchmark or 'not told'}, provider {provider or 'not told'}")
        if found.harness == BENCHMARK:
            found.cluster = "conversation"
            found.lines.append("memorybench names LoCoMo's categories otherwise; they were taken by their number")
        return [found]


def _question(item: dict[str, Any], where: str, benchmark: str, file: int) -> Given:
    told = field(item, "questionId", where, identifier)
    category = word(item.get("questionType"), f"{where}, questionType")
    name, cluster, abstain = told, "", False
    if benchmark == "locomo":
        at = _LOCOMO_ID.fullmatch(told)
        if at is None:
            raise DatasetError(f"{where}: '{told}' is no id of a LoCoMo question (conv-26-q5)")
        cluster = at[1]
        name, category = f"{cluster}/{int(at[2])}", _LOCOMO_TYPES.get(category, category)
        abstain = category == ADVERSARIAL
    elif benchmark == "longmemeval":
        abstain = "_abs" in told
    label, said = label_of(item.get("label"))
    return Given(
        id=name,
        label=label,
        said=said,
        file=file,
        answer=text(item.get("hypothesis"), f"{where}, hypothesis"),
        reason=text(item.get("explanation"), f"{where}, explanation")[:500],
        cluster=cluster,
        category=category,
        question=optional(item.get("question"), f"{where}, question"),
        gold=gold(item.get("groundTruth"), f"{where}, groundTruth", abstain=abstain),
    )


FORMAT = MemoryBench
