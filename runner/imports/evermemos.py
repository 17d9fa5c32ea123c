"""EverMemOS ``eval_results.json``, which dial481/locomo-audit publishes for its own arms too.

Layout: ``{total_questions, correct, accuracy, detailed_results: {<user>: [{question_id, question, golden_answer,
generated_answer, llm_judgments: {judgment_1: true, …}, category}]}, metadata?: {answer_model, judge_model, num_runs,
…}}``. Every judgment is a repeat over one answer. Ids are ``<dataset>_<conversation>_qa<index>`` with positions in the
dataset's file; those of LoCoMo become our own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from runner.data.fields import field, gold, identifier, listed, mapping, optional, text, word
from runner.data.result_file import ResultFile, read_document
from runner.errors import DatasetError
from runner.harness.locomo_qa.conversations import BENCHMARK, NAMES
from runner.harness.locomo_qa.format import ADVERSARIAL
from runner.imports import Format, Given, Results
from runner.imports._shared.labels import label_of

_ID = re.compile(r"locomo_(\d{1,4})_qa(\d{1,6})")


class EverMemOS(Format):
    name = "evermemos"

    def read(self, files: Sequence[ResultFile]) -> list[Results]:
        found = Results([], cluster="conversation")
        outside: set[str] = set()
        facts: dict[str, set[str]] = {"answer_model": set(), "judge_model": set(), "answer_prompt": set()}
        for number, file in enumerate(files):
            whole = mapping(read_document(file), file.name)
            for user, items in field(whole, "detailed_results", file.name, mapping).items():
                for position, item in enumerate(listed(items, f"{file.name}, {user}")):
                    where = f"{file.name}, {user}, entry {position}"
                    found.given += _question(mapping(item, where), where, user, number, outside)
            about = mapping(whole.get("metadata") or {}, f"{file.name}, metadata")
            for key, names in facts.items():
                names.add(text(about.get(key), f"{file.name}, metadata, {key}"))
            _state(found, whole, about)
        for key, names in facts.items():
            if len(names) > 1:
                told = ", ".join(sorted(name or "none" for name in names))
                raise DatasetError(f"the files name several values as {key} ({told}); import one arm at a time")
        found.reader, found.judge, found.prompt = (names.pop() for names in facts.values())
        mapped = sum(item.id not in outside for item in found.given)
        if outside and mapped:
            raise DatasetError(
                f"'{sorted(outside)[0]}' is no id of LoCoMo and others are; import one dataset at a time"
            )
        found.harness = "" if outside else BENCHMARK
        return [found]


def _question(item: dict[str, Any], where: str, user: str, file: int, outside: set[str]) -> list[Given]:
    told = field(item, "question_id", where, identifier)
    at = _ID.fullmatch(told)
    category = word(item.get("category"), f"{where}, category")
    if at is None:
        outside.add(told)
        name, cluster = told, identifier(user, where)
    else:
        if int(at[1]) >= len(NAMES):
            raise DatasetError(f"{where}: {told} is beyond the {len(NAMES)} conversations of LoCoMo")
        cluster = NAMES[int(at[1])]
        name = f"{cluster}/{int(at[2])}"
    abstain = at is not None and category == ADVERSARIAL
    shared: dict[str, Any] = {
        "id": name,
        "file": file,
        "answer": text(item.get("generated_answer"), f"{where}, generated_answer"),
        "cluster": cluster,
        "category": category,
        "question": optional(item.get("question"), f"{where}, question"),
        "gold": gold(item.get("golden_answer"), f"{where}, golden_answer", abstain=abstain),
    }
    judgments = mapping(item.get("llm_judgments") or {"": None}, f"{where}, llm_judgments")
    out = []
    for key, value in judgments.items():
        label, said = label_of(value)
        number = re.search(r"(\d{1,9})$", key)
        out.append(Given(label=label, said=said, repeat=number[1] if number else key, **shared))
    return out


def _state(found: Results, whole: dict[str, Any], about: dict[str, Any]) -> None:
    """Note what the file says of itself; sums over files, and the number of repeats of the last."""
    for ours, value in (("questions", whole.get("total_questions")), ("correct", whole.get("correct"))):
        if isinstance(value, int) and not isinstance(value, bool):
            found.stated[ours] = found.stated.get(ours, 0) + value
    if isinstance(about.get("num_runs"), int):
        found.stated["repeats"] = about["num_runs"]


FORMAT = EverMemOS
