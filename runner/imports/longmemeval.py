"""LongMemEval: hypothesis files, label files and the reference, joined by ``question_id`` whatever their order.

Layout (xiaowu0162/LongMemEval): answers are JSON lines ``{question_id, hypothesis}``; the evaluation writes them again
with ``autoeval_label: {model, label}``. Other people's evaluations say ``evaluation: yes`` or ``label: …`` instead, as
lines or as one list. The reference is the dataset, ``{question_id, question_type, question, answer, …}``; of it only
these four are read, so the oracle file serves as well as a large one. Which file is which is told by its keys.

Labels may be truth values or texts that begin with yes or no; only the first word counts. A question whose id holds
``_abs`` cannot be answered: its label says whether the answer was to abstain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, field

from runner.config import Strict
from runner.data.fields import field as required
from runner.data.fields import gold, identifier, optional, text, word
from runner.data.jsonl import objects
from runner.data.result_file import ResultFile
from runner.errors import DatasetError
from runner.imports import Format, Given, Results
from runner.imports._shared.labels import label_of
from runner.types import JUDGE_ERROR, READER_ERROR

_LABELS: Final = ("autoeval_label", "evaluation", "label")


class Missing(Strict):
    """``--missing``: whether a question of the reference without a result is an error of the reader, or left out."""

    missing: Literal["error", "leave"] = "error"


class _Labelled(Struct):
    file: int
    label: str
    said: str
    hypothesis: str | None


class _Known(Struct):
    """Everything that the files say of one question."""

    category: str = ""
    question: str | None = None
    gold: Any = None
    labels: list[_Labelled] = field(default_factory=list)
    hypotheses: list[tuple[int, str]] = field(default_factory=list)
    reference: int | None = None


class LongMemEval(Format):
    name = "longmemeval"
    Settings = Missing
    settings: Missing

    def read(self, files: Sequence[ResultFile]) -> list[Results]:
        known: dict[str, _Known] = {}
        judges: set[str] = set()
        for number, file in enumerate(files):
            seen: set[str] = set()
            for where, entry in objects(file):
                name = required(entry, "question_id", where, identifier)
                if name in seen:
                    raise DatasetError(f"{where}: the question {name} stands twice in this file; keep one")
                seen.add(name)
                _take(known.setdefault(name, _Known()), entry, where, number, judges)
        if len(judges) > 1:
            raise DatasetError(f"the labels are those of {', '.join(sorted(judges))}; import each judge as its own arm")
        found = Results([], harness=self.name, judge="".join(judges))
        unanswered = [name for name, item in known.items() if not item.labels and not item.hypotheses]
        for name, item in known.items():
            found.given += _answers(name, item, self.settings.missing == "leave")
        if unanswered:
            left = self.settings.missing == "leave"
            how = "left out" if left else "each an error of the reader (--missing leave leaves them out)"
            found.lines.append(f"questions of the reference without a result: {len(unanswered)}, {how}")
        abstentions = sum("_abs" in name for name in {given.id for given in found.given})
        found.lines.append(f"questions that cannot be answered (_abs in the id): {abstentions}")
        return [found]


def _take(known: _Known, item: dict[str, Any], where: str, file: int, judges: set[str]) -> None:
    keys = [key for key in _LABELS if key in item]
    if len(keys) > 1:
        raise DatasetError(f"{where}: has both '{keys[0]}' and '{keys[1]}'; leave the label that counts")
    hypothesis = optional(item.get("hypothesis"), f"{where}, hypothesis")
    if keys:
        value = item[keys[0]]
        if isinstance(value, dict):
            model = text(value.get("model"), f"{where}, {keys[0]}, model")
            judges |= {model} if model else set()
            value = value.get("label")
        label, said = label_of(value)
        known.labels.append(_Labelled(file, label, said, hypothesis))
    elif hypothesis is not None:
        known.hypotheses.append((file, hypothesis))
    else:
        known.reference = file
    abstain = "_abs" in str(item["question_id"])
    _settle(known, "category", word(item.get("question_type"), f"{where}, question_type") or None, where)
    _settle(known, "question", optional(item.get("question"), f"{where}, question"), where)
    _settle(known, "gold", gold(item.get("answer"), f"{where}, answer", abstain=abstain), where)


def _settle(known: _Known, what: str, value: object, where: str) -> None:
    before = getattr(known, what)
    if value is None or before == value:
        return
    if before:
        raise DatasetError(f"{where}: another {what} than in an earlier file; these are files of two datasets")
    setattr(known, what, value)


def _answers(name: str, known: _Known, leave: bool) -> Iterable[Given]:
    shared: dict[str, Any] = {"id": name, "category": known.category, "question": known.question, "gold": known.gold}
    said = {hypothesis for _, hypothesis in known.hypotheses}
    if len(said) > 1:
        raise DatasetError(
            f"the question {name} has two hypotheses; several runs need a label file each, which holds its own"
        )
    for item in known.labels:
        if item.hypothesis is not None and said and said != {item.hypothesis}:
            raise DatasetError(f"the question {name} was labelled with another hypothesis than the one given")
        answer = item.hypothesis if item.hypothesis is not None else "".join(said)
        yield Given(label=item.label, said=item.said, file=item.file, answer=answer, **shared)
    if known.labels:
        return
    if known.hypotheses:
        file, answer = known.hypotheses[0]
        yield Given(label=JUDGE_ERROR, said="missing", file=file, answer=answer, reason="no label", **shared)
    elif not leave:
        reason = "no result in any file"
        yield Given(label=READER_ERROR, said="missing", file=known.reference or 0, reason=reason, **shared)


FORMAT = LongMemEval
