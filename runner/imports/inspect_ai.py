"""Inspect logs (UKGovernmentBEIS/inspect_ai), ``.eval`` or JSON, read without the library.

Layout: ``{version, status, eval: {task, model, dataset, config: {epochs}, model_roles, scorers}, results, samples:
[{id, epoch, input, target, metadata, output: {completion, choices}, scores: {<scorer>: {value, answer, explanation}},
error, invalidation}]}``. An ``.eval`` file is a ZIP of JSON files: ``header.json`` (``_journal/start.json`` while a run
has not ended) and ``samples/<id>_epoch_<epoch>.json``, read one at a time.

Epochs are repeats. A value ``C`` is correct, ``I`` wrong, ``N`` no answer: an abstention; ``P`` counts 0.5 and a number
what it says, correct from ``--threshold`` on, 1 unless told otherwise. A sample that failed or was invalidated, and one
that its scorer left unscored, is an error and not wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from runner.config import Strict
from runner.data.fields import gold, identifier, listed, mapping, text, word
from runner.data.result_file import ResultFile
from runner.errors import DatasetError, UsageError
from runner.imports import Format, Given, Results
from runner.imports._shared.eval_log import open_log
from runner.imports._shared.labels import MISSING, label_of, shorten
from runner.types import ABSTAIN, CORRECT, JUDGE_ERROR, JUDGE_UNPARSEABLE, LABELS, READER_ERROR, WRONG

_LETTERS: Final = {"C": 1.0, "P": 0.5, "I": 0.0}
_NO_ANSWER: Final = "N"
_CATEGORY: Final = ("category", "question_type")
_CLUSTER: Final = ("cluster", "conversation", "conversation_id")
# Scorers of the library that ask no model.
_EXACT: Final = frozenset({"match", "includes", "pattern", "answer", "exact", "f1", "choice", "math"})
_ATTACHED: Final = "attachment://"


class Flags(Strict):
    """``--score``: which scorer counts, where there are several. ``--threshold``: from which value on it is correct."""

    score: str | None = None
    threshold: Annotated[float, Field(gt=0, le=1)] = 1.0


class InspectAI(Format):
    name = "inspect_ai"
    Settings = Flags
    settings: Flags

    def read(self, files: Sequence[ResultFile]) -> list[Results]:
        found = Results([])
        models: set[str] = set()
        judges: set[str] = set()
        scorers: set[str] = set()
        partial = 0
        for number, file in enumerate(files):
            head, samples = open_log(file)
            spec = mapping(head.get("eval") or {}, f"{file.name}, eval")
            status = text(head.get("status"), f"{file.name}, status")
            if status != "success":
                found.lines.append(f"WARNING: {file.name}: the log's status is '{status or 'not told'}', not 'success'")
            models.add(text(spec.get("model"), f"{file.name}, eval, model"))
            _state(found, spec, file.name)
            for where, sample in samples:
                given, name, part = self._sample(sample, where, number)
                found.given.append(given)
                scorers |= {name} if name else set()
                partial += part
            judges |= {_judge(spec, name, file.name) for name in scorers}
        if len(models) > 1 or len(judges) > 1:
            told = ", ".join(sorted(value or "none told" for value in (models if len(models) > 1 else judges)))
            raise DatasetError(f"the logs are of several models ({told}); import one arm at a time")
        model = "".join(models)
        found.reader = model.partition("/")[2] or model
        found.fakes = [f"reader {model}"] if model.startswith("mockllm/") else []
        found.judge = "".join(judges)
        found.scorer = "".join(f"inspect_ai/{name}" for name in scorers & _EXACT) if len(scorers) == 1 else ""
        found.lines.append(f"scorer: {', '.join(sorted(scorers)) or 'none'}")
        if partial:
            found.lines.append(f"partly right, counted by --threshold {self.settings.threshold:g}: {partial}")
        return [found]

    def _sample(self, sample: dict[str, Any], where: str, file: int) -> tuple[Given, str, bool]:
        name = identifier(sample.get("id"), f"{where}, id")
        metadata = mapping(sample.get("metadata") or {}, f"{where}, metadata")
        label, said, reason, scorer, part = self._label(sample, where)
        given = Given(
            id=name,
            label=label,
            said=said,
            repeat=text(sample.get("epoch"), f"{where}, epoch"),
            file=file,
            answer=_completion(sample, where),
            reason=reason[:500],
            cluster=_first(metadata, _CLUSTER, where),
            category=_first(metadata, _CATEGORY, where),
            question=_input(sample, where),
            gold=gold(sample.get("target"), f"{where}, target"),
        )
        return given, scorer, part

    def _label(self, sample: dict[str, Any], where: str) -> tuple[str, str, str, str, bool]:
        """Label, what the log says, why, by which scorer, and whether it is a part of a point."""
        error = sample.get("error")
        if error:
            reason = error.get("message") if isinstance(error, dict) else error
            return READER_ERROR, "error", text(reason, f"{where}, error"), "", False
        if sample.get("invalidation"):
            return READER_ERROR, "invalidated", "the sample was invalidated", "", False
        scores = mapping(sample.get("scores") or {}, f"{where}, scores")
        if not scores and isinstance(sample.get("score"), dict):
            scores = {"score": sample["score"]}  # logs of early 2024
        if not scores:
            return JUDGE_ERROR, MISSING, "no score", "", False
        scorer = self._scorer(scores, where)
        score = mapping(scores.get(scorer) or {}, f"{where}, scores, {scorer}")
        reason = text(score.get("explanation"), f"{where}, explanation")
        label, said, part = self._value(score.get("value"))
        return label, said, reason or ("" if label in LABELS else f"value {said}"), scorer, part

    def _scorer(self, scores: dict[str, Any], where: str) -> str:
        wanted = self.settings.score
        if wanted is None and len(scores) > 1:
            raise UsageError(f"{where}: several scorers, {', '.join(scores)}; choose one with --score NAME")
        if wanted is not None and wanted not in scores:
            raise UsageError(f"--score {wanted}: {where} has no such scorer; it has {', '.join(scores)}")
        return wanted or next(iter(scores))

    def _value(self, value: object) -> tuple[str, str, bool]:
        if value == _NO_ANSWER:
            return ABSTAIN, _NO_ANSWER, False
        number = _LETTERS.get(value) if isinstance(value, str) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value)
        if number is None:
            if isinstance(value, dict | list):
                return JUDGE_UNPARSEABLE, "several values", False
            return (*label_of(value), False)
        if not 0 <= number <= 1:
            return JUDGE_UNPARSEABLE, f"{number:g}", False
        said = shorten(str(value))
        return (CORRECT if number >= self.settings.threshold else WRONG), said, 0 < number < 1


# --- fields --------------------------------------------------------------------------------------------------------


def _state(found: Results, spec: dict[str, Any], name: str) -> None:
    """Note how many questions and repeats the log says it has."""
    about = mapping(spec.get("dataset") or {}, f"{name}, eval, dataset")
    config = mapping(spec.get("config") or {}, f"{name}, eval, config")
    if isinstance(about.get("samples"), int) and config.get("limit") is None and config.get("sample_id") is None:
        found.stated["questions"] = about["samples"]
    if isinstance(config.get("epochs"), int):
        found.stated["repeats"] = config["epochs"]


def _judge(spec: dict[str, Any], scorer: str, name: str) -> str:
    """Return the grader's model, where the log tells it."""
    for item in listed(spec.get("scorers") or [], f"{name}, eval, scorers"):
        about = mapping(item, f"{name}, eval, scorers")
        if about.get("name") in (scorer, f"inspect_ai/{scorer}"):
            options = mapping(about.get("options") or {}, f"{name}, eval, scorers, options")
            model = text(options.get("model"), f"{name}, scorer, model")
            if model:
                return model.partition("/")[2] or model
    roles = mapping(spec.get("model_roles") or {}, f"{name}, eval, model_roles")
    grader = roles.get("grader")
    model = text(grader.get("model") if isinstance(grader, dict) else grader, f"{name}, model_roles, grader")
    return (model.partition("/")[2] or model) if scorer.startswith("model_graded") else ""


def _first(metadata: dict[str, Any], keys: Sequence[str], where: str) -> str:
    value = next((metadata[key] for key in keys if metadata.get(key) not in (None, "")), None)
    return word(value, f"{where}, metadata")


def _input(sample: dict[str, Any], where: str) -> str | None:
    """Return the question: the input, or the last message of the user."""
    value = sample.get("input")
    if isinstance(value, list):
        said = [m for m in value if isinstance(m, dict) and m.get("role") == "user"]
        value = said[-1].get("content") if said else None
    return None if value is None else _resolved(_joined(value, where), sample, where)


def _completion(sample: dict[str, Any], where: str) -> str:
    output = mapping(sample.get("output") or {}, f"{where}, output")
    value = output.get("completion")
    if value is None:
        choices = listed(output.get("choices") or [], f"{where}, choices")
        first = choices[0] if choices and isinstance(choices[0], dict) else {}
        message = first.get("message")
        value = message.get("content") if isinstance(message, dict) else None
    return _resolved(_joined(value, where), sample, where)


def _joined(content: object, where: str) -> str:
    """Return the words of a message, which may come in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(text(part, f"{where}, content") for part in parts)
    return text(content, f"{where}, content")


def _resolved(value: str, sample: dict[str, Any], where: str) -> str:
    """Look up a long text, which is kept beside the sample and only named in it."""
    attached = sample.get("attachments")
    if value.startswith(_ATTACHED) and isinstance(attached, dict):
        return text(attached.get(value.removeprefix(_ATTACHED), value), f"{where}, attachments")
    return value


FORMAT = InspectAI
