"""The judge: an answer as a request, and a reply as a label.

Parsing is strict. A reply is a label only if it says exactly one: JSON objects with a ``label``, or a first line that
is just the word. Anything else is ``judge_unparseable``, never WRONG.
"""

from __future__ import annotations

import json
import re
from typing import Any

from runner.config import ModelConfig
from runner.http import start_of
from runner.llm import Request, Requests
from runner.llm.replies import json_objects
from runner.llm.template import Template
from runner.types import ABSTAIN, CORRECT, JUDGE_UNPARSEABLE, LABELS, WRONG, Completion, Label, Question

_KNOWN = frozenset({"question", "gold", "answer"})
_WORD = re.compile(r"^[\s*_`#\"'>]*(?:label\s*[:=]\s*)?[*_`\"']*(correct|wrong|abstain)[*_`\"'.]*\s*$", re.IGNORECASE)


class Judge:
    """Builds what is sent to a judge and reads what comes back.

    Attributes
    ----------
    rubric_sha256, abstain_rubric_sha256
        Of the rubric files: rows of the instrument.

    Raises
    ------
    ConfigError
        When a rubric file is missing or lacks ``{question}``, ``{answer}`` or ``{gold}`` (the abstention rubric has
        no gold to show).
    """

    def __init__(self, config: ModelConfig) -> None:
        asked = frozenset({"question", "answer"})
        self._rubric = Template.load("judge/rubrics", config.rubric, "judge.rubric", _KNOWN, asked | {"gold"})
        self._abstain = Template.load(
            "judge/rubrics", config.abstain_rubric or "abstention", "judge.abstain_rubric", _KNOWN, asked
        )
        self._requests = Requests(config)
        self.rubric_sha256 = self._rubric.sha256
        self.abstain_rubric_sha256 = self._abstain.sha256

    def request(self, question: Question, answer: str) -> Request | Label:
        """What to send for one answer, or its label when no model is needed.

        An explicit refusal is ABSTAIN where there is an answer to give and CORRECT where there is none.
        """
        from runner.score.lexical import is_abstention

        abstain = question.gold.abstain
        if is_abstention(answer):
            return Label(value=CORRECT if abstain else ABSTAIN, reason="explicit refusal")
        golds = question.gold.answers
        gold = golds[0] if len(golds) == 1 else "\n".join(f"- {item}" for item in golds)
        values = {
            "question": question.text,
            "gold": gold or "(none: the memory does not hold the answer)",
            "answer": answer,
        }
        parts = {**values, "gold": "\n".join(golds), "abstain": "yes" if abstain else ""}
        return self._requests.of((self._abstain if abstain else self._rubric).fill(values), parts)

    def label(self, question: Question, completion: Completion) -> Label:
        """The label of a reply: one of ``LABELS``, or ``judge_unparseable`` with the start of the reply."""
        label = parse(completion.text)
        if label.value == JUDGE_UNPARSEABLE and completion.finish == "length":
            return Label(value=label.value, reason=f"cut at the token limit: {label.reason}")
        if question.gold.abstain and label.value == ABSTAIN:
            return Label(value=CORRECT, reason=label.reason)  # to abstain is what was right
        return label


def parse(text: str) -> Label:
    """Read a judge's reply.

    >>> parse('{"label": "WRONG", "reason": "another city"}')
    Label(value='WRONG', reason='another city')
    >>> parse("INCORRECT").value
    'judge_unparseable'
    """
    said: list[tuple[str, str]] = []
    objects, broken = json_objects(text, pairs=True)
    for item in [] if broken else objects:
        labels = [value for key, value in item if key.lower() == "label"]
        reason = next((value for key, value in item if key.lower() == "reason" and isinstance(value, str)), "")
        said += [(_canonical(value), reason) for value in labels]
    first = text.strip().partition("\n")
    if match := _WORD.match(first[0]):
        said.append((match[1].upper(), first[2].strip()))
    values = {value for value, _ in said}
    if len(values) != 1 or not values <= set(LABELS):
        why = "contradictory labels" if len(values) > 1 else "no label"
        return Label(value=JUDGE_UNPARSEABLE, reason=f"{why}: {start_of(text)}")
    return Label(value=said[0][0], reason=" ".join(said[0][1].split())[:500])


def _canonical(value: Any) -> str:
    word = value.strip().upper() if isinstance(value, str) else json.dumps(value, default=str)
    return word if word in (CORRECT, WRONG, ABSTAIN) else f"not a label: {word}"
