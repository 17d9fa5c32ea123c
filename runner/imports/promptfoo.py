"""promptfoo results: ``promptfoo eval -o results.json`` (or ``.jsonl``), summary version 3 and its elders.

Layout: ``{evalId, results: {version, results: [row], prompts, stats: {successes, failures, errors}}, config, …}``; a
row is ``{provider: {id, label}, prompt: {label, raw}, vars, testCase: {vars, assert, metadata}, testIdx, promptIdx,
success, score, failureReason, response: {output}, gradingResult, error}``. One provider is one arm; so is each of
several prompts under it.

``success`` is the label, except where it is none: ``failureReason`` 2 and a row without output are errors of the
reader, a grader that failed (``graderError``) is one of the judge, and so is a row without any assertion, which
promptfoo counts as passed. ``--repeat`` asks a test again under a new index: rows of one test are told by its variables
and assertions, or by an id (``question_id`` or ``id`` in its variables or metadata).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from runner.config import digest
from runner.data.fields import identifier, listed, mapping, optional, text, word
from runner.data.jsonl import objects
from runner.data.result_file import ResultFile, read_document
from runner.errors import DatasetError
from runner.imports import Format, Given, Results
from runner.imports._shared.labels import MISSING
from runner.types import CORRECT, JUDGE_ERROR, READER_ERROR, WRONG, Gold

_ERROR: Final = 2  # of failureReason
_UNCHECKED: Final = "no assertion"
_ID: Final = ("question_id", "id")
_QUESTION: Final = ("question", "query", "input")
_GOLD: Final = ("answer", "gold", "expected", "reference", "ground_truth")
_CATEGORY: Final = ("category", "question_type")
_CLUSTER: Final = ("cluster", "conversation", "conversation_id")
# Services whose ids name a model; a script, a URL or a package says nothing of the model behind it.
_MODEL: Final = re.compile(
    r"(?:openai|anthropic|azure|google|vertex|mistral|openrouter|groq|deepseek|xai|ollama):"
    r"(?:(?:chat|responses|completion|messages):)?(.+)"
)


class Promptfoo(Format):
    name = "promptfoo"

    def read(self, files: Sequence[ResultFile]) -> list[Results]:
        rows = [(number, *row) for number, file in enumerate(files) for row in _rows(file)]
        prompts: dict[str, set[str]] = {}
        for _, where, row in rows:
            prompts.setdefault(_provider(row, where)[0], set()).add(_prompt(row, where))
        arms: dict[tuple[str, str], Results] = {}
        repeats: dict[tuple[object, ...], int] = {}
        for number, where, row in rows:
            provider, model = _provider(row, where)
            prompt = _prompt(row, where)
            several = len(prompts[provider]) > 1
            arm = arms.setdefault(
                (provider, prompt), Results([], name=f"{provider}-{prompt}" if several else provider, reader=model)
            )
            given = _question(row, where, number)
            asked = (provider, prompt, number, given.id)
            repeats[asked] = repeats.get(asked, 0) + 1
            given.repeat = str(repeats[asked])
            arm.given.append(given)
        for arm in arms.values():
            unchecked = sum(given.reason == _UNCHECKED for given in arm.given)
            if unchecked:
                arm.lines.append(f"rows without an assertion (a pass to promptfoo): {unchecked}")
        return list(arms.values())


_OWN: Final = frozenset({"gradingResult", "promptIdx", "provider", "testCase", "testIdx"})


def _rows(file: ResultFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the result rows of a file, in the order of their tests."""
    if file.path.suffix in (".jsonl", ".ndjson"):
        lines = sorted(objects(file), key=lambda row: _index(row[1]))
        if not any(_OWN & row.keys() for _, row in lines):
            raise DatasetError(f"{file.name}: no line has {', '.join(sorted(_OWN))}: these are no promptfoo results")
        yield from lines
        return
    whole = mapping(read_document(file), file.name)
    summary = whole.get("results")
    items = summary if isinstance(summary, list) else mapping(summary, f"{file.name}, results").get("results")
    found = [
        (f"{file.name}, result {position}", mapping(item, f"{file.name}, result {position}"))
        for position, item in enumerate(listed(items, f"{file.name}, results.results"))
    ]
    yield from sorted(found, key=lambda row: _index(row[1]))


def _index(row: dict[str, Any]) -> int:
    value = row.get("testIdx")
    return value if isinstance(value, int) else 0


def _provider(row: dict[str, Any], where: str) -> tuple[str, str]:
    """Return the name of a provider, and the model that its id names."""
    value = row.get("provider")
    about = value if isinstance(value, dict) else {"id": value}
    name = text(about.get("id"), f"{where}, provider")
    model = _MODEL.fullmatch(name)
    return text(about.get("label"), f"{where}, provider, label") or name or "provider", model[1] if model else ""


def _prompt(row: dict[str, Any], where: str) -> str:
    """Return what tells a prompt from the others: the start of its id, else its label."""
    value = row.get("promptId")
    if isinstance(value, str) and value:
        return text(value, f"{where}, promptId")[:8]
    prompt = row.get("prompt")
    label = prompt.get("label") if isinstance(prompt, dict) else None
    return text(label, f"{where}, prompt, label")


def _question(row: dict[str, Any], where: str, file: int) -> Given:
    case = mapping(row.get("testCase") or {}, f"{where}, testCase")
    told = mapping(case.get("vars") or row.get("vars") or {}, f"{where}, vars")
    variables = {key: value for key, value in told.items() if not key.startswith("_")}
    metadata = mapping(case.get("metadata") or {}, f"{where}, metadata")
    about = {**metadata, **variables}

    def first(keys: Sequence[str]) -> Any:
        return next((about[key] for key in keys if about.get(key) not in (None, "")), None)

    name = first(_ID)
    if name is None:
        name = "test-" + digest([variables, case.get("assert"), case.get("description")])[:16]
    label, said, reason = _label(row, where)
    right = first(_GOLD)
    return Given(
        id=identifier(name, where),
        label=label,
        said=said,
        file=file,
        answer=_output(row, where),
        reason=reason,
        cluster=word(first(_CLUSTER), f"{where}, cluster"),
        category=word(first(_CATEGORY), f"{where}, category"),
        question=optional(first(_QUESTION), f"{where}, question"),
        gold=None if right is None else Gold(answers=(text(right, f"{where}, gold"),)),
    )


def _output(row: dict[str, Any], where: str) -> str:
    response = row.get("response")
    value = response.get("output") if isinstance(response, dict) else None
    if isinstance(value, dict | list):
        import json

        value = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text(value, f"{where}, output")


def _label(row: dict[str, Any], where: str) -> tuple[str, str, str]:
    response = mapping(row.get("response") or {}, f"{where}, response")
    grading = mapping(row.get("gradingResult") or {}, f"{where}, gradingResult")
    error = text(row.get("error"), f"{where}, error")[:500]
    if response.get("error") or response.get("output") is None:
        return READER_ERROR, "no output", error or "no output"
    if row.get("failureReason") == _ERROR:
        return JUDGE_ERROR, "error", error or "grading failed"
    if _grader_failed(grading):
        return JUDGE_ERROR, "grader error", error or "the grader failed"
    if grading.get("reason") == "No assertions":
        return JUDGE_ERROR, _UNCHECKED, _UNCHECKED
    success = row.get("success")
    if not isinstance(success, bool):
        return JUDGE_ERROR, MISSING, "no success"
    reason = text(grading.get("reason"), f"{where}, reason")[:500]
    return (CORRECT, "pass", reason) if success else (WRONG, "fail", reason)


def _grader_failed(grading: dict[str, Any], depth: int = 0) -> bool:
    metadata = grading.get("metadata")
    if isinstance(metadata, dict) and metadata.get("graderError"):
        return True
    parts = grading.get("componentResults")
    inner = parts if isinstance(parts, list) and depth < 8 else []
    return any(_grader_failed(part, depth + 1) for part in inner if isinstance(part, dict))


FORMAT = Promptfoo
