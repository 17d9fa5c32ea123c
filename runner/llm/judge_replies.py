"""Read a judge's reply strictly: exactly one verdict, or ``judge_unparseable``.

A rubric file names the reading that its replies want: ``label`` (CORRECT, WRONG or ABSTAIN), ``yes-no`` (the first
word, never a "yes" somewhere in a sentence), ``score`` (0, 0.5 or 1 for one point of a rubric), ``whole-score`` (the
same, where a half counts as nothing), ``summary`` (counts, of which the score is fluency times F1) or ``entailment``
(entailment, neutral or contradiction).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from runner.http import start_of
from runner.llm.json_in_text import json_objects
from runner.score.choice import nli
from runner.types import ABSTAIN, CORRECT, JUDGE_UNPARSEABLE, LABELS, WRONG, Label

_WORD = re.compile(r"^[\s*_`#\"'>]*(?:label\s*[:=]\s*)?[*_`\"']*(correct|wrong|abstain)[*_`\"'.]*\s*$", re.IGNORECASE)
_FIRST = re.compile(r"^[\s*_`#\"'>]*(yes|no)\b(?!\s*(?:and|or|/)\s*(?:yes|no)\b)", re.IGNORECASE)
_NUMBER = re.compile(
    r"^[\s*_`#\"'>]*(?:score\s*[:=]\s*)?[*_`\"']*(0(?:\.0|\.5)?|1(?:\.0)?)[*_`\"'.]*\s*$", re.IGNORECASE
)
_COUNTS: Final = ("fluency", "key_points", "told", "sentences", "supported")  # of a summary
_HALF: Final = 0.5  # of the points from which an answer counts as correct where a label is wanted


def parse(text: str) -> Label:
    """Read a judge's reply.

    >>> parse('{"label": "WRONG", "reason": "another city"}').value
    'WRONG'
    >>> parse("INCORRECT").value
    'judge_unparseable'
    """
    said: list[tuple[str, str]] = []
    objects, broken = json_objects(text, pairs=True)
    for item in [] if broken else objects:
        labels = [value for key, value in item if key.lower() == "label"]
        said += [(_canonical(value), _reason(item)) for value in labels]
    first = text.strip().partition("\n")
    if match := _WORD.match(first[0]):
        said.append((match[1].upper(), first[2].strip()))
    values = {value for value, _ in said}
    if len(values) != 1 or not values <= set(LABELS):
        why = "contradictory labels" if len(values) > 1 else "no label"
        return Label(value=JUDGE_UNPARSEABLE, reason=f"{why}: {start_of(text)}")
    return Label(value=said[0][0], reason=" ".join(said[0][1].split())[:500])


def yes_no(text: str) -> Label:
    """CORRECT for a reply whose first word is yes, WRONG for no.

    >>> [yes_no(reply).value for reply in ("Yes.", "no, because the answer says yes", "The answer is yes")]
    ['CORRECT', 'WRONG', 'judge_unparseable']
    """
    if match := _FIRST.match(text):
        right = match[1].lower() == "yes"
        return Label(value=CORRECT if right else WRONG, reason=" ".join(text[match.end() :].split())[:500])
    return Label(value=JUDGE_UNPARSEABLE, reason=f"neither yes nor no: {start_of(text)}")


def point_score(text: str) -> Label:
    """One point of a rubric: 1, 0.5 or 0, as ``{"score": …}`` or as the first line.

    >>> point_score('{"score": 0.5, "reason": "half of it"}').score
    0.5
    >>> point_score("0.7").value
    'judge_unparseable'
    """
    said: list[tuple[float, str]] = []
    objects, broken = json_objects(text, pairs=True)
    for item in [] if broken else objects:
        for key, value in item:
            if key.lower() == "score":
                said.append((_number(value), _reason(item)))
    if match := _NUMBER.match(text.strip().partition("\n")[0]):
        said.append((float(match[1]), ""))
    values = {value for value, _ in said}
    if len(values) != 1 or not values <= {0.0, 0.5, 1.0}:
        return Label(value=JUDGE_UNPARSEABLE, reason=f"no score of 0, 0.5 or 1: {start_of(text)}")
    score, reason = said[0]
    return Label(value=CORRECT if score >= _HALF else WRONG, reason=" ".join(reason.split())[:500], score=score)


def whole_score(text: str) -> Label:
    """Read a score as :func:`point_score` does, but count half a point as 0.

    Some published code casts the score to an integer.

    >>> whole_score('{"score": 0.5, "reason": "half of it"}').score
    0.0
    """
    label = point_score(text)
    if label.score is None:
        return label
    met = label.score >= 1
    return Label(value=CORRECT if met else WRONG, reason=label.reason, score=float(met))


def summary(text: str) -> Label:
    """Counts of what a summary holds: its score is fluency times the F1 of key points told and sentences supported.

    ``{"fluency": 0 or 1, "key_points": n, "told": n, "sentences": n, "supported": n}``, each key once. Source: the
    scorer of InfBench summaries in MemoryAgentBench (``llm_based_eval/summarization_evaluate.py``), after HELMET.

    >>> summary('{"fluency": 1, "key_points": 4, "told": 2, "sentences": 2, "supported": 2}').score
    0.6666666666666666
    """
    objects, broken = json_objects(text, pairs=True)
    told = [item for item in ([] if broken else objects) if any(key == "fluency" for key, _ in item)]
    counts = {key: value for item in told for key, value in item if type(value) is int}
    keys = [key for item in told for key, _ in item]
    if len(told) != 1 or any(keys.count(key) != 1 or key not in counts for key in _COUNTS):
        return Label(value=JUDGE_UNPARSEABLE, reason=f"no counts of a summary: {start_of(text)}")
    fluency, points, found, sentences, supported = (counts[key] for key in _COUNTS)
    if fluency not in (0, 1) or not 0 <= found <= points or not 0 <= supported <= sentences or not points:
        return Label(value=JUDGE_UNPARSEABLE, reason=f"counts that cannot be: {start_of(text)}")
    recall, precision = found / points, supported / sentences if sentences else 0.0
    score = fluency * 2 * recall * precision / (recall + precision) if recall + precision else 0.0
    reason = f"fluency {fluency}, key points {found}/{points}, sentences {supported}/{sentences} {_reason(told[0])}"
    return Label(value=CORRECT if score >= _HALF else WRONG, reason=" ".join(reason.split())[:500], score=score)


def entailment_label(text: str) -> Label:
    """CORRECT for a reply that says entailment, WRONG for neutral and contradiction.

    >>> [entailment_label(reply).value for reply in ("Entailment.", "contradiction", "entailment or neutral")]
    ['CORRECT', 'WRONG', 'judge_unparseable']
    """
    said = nli(text)
    if not said.value:
        return Label(value=JUDGE_UNPARSEABLE, reason=f"{said.why}: {start_of(text)}")
    return Label(value=CORRECT if said.value == "entailment" else WRONG, reason=said.value)


def label_of_points(labels: list[Label]) -> Label:
    """Return one label for all points of a rubric, with their mean score; the first point at fault is the label."""
    fault = next((label for label in labels if label.score is None), None)
    if fault is not None:
        return fault
    score = sum(label.score or 0.0 for label in labels) / len(labels)
    reason = "; ".join(f"{label.score:g} {label.reason}".strip() for label in labels)
    return Label(value=CORRECT if score >= _HALF else WRONG, reason=reason[:2000], score=score)


READINGS: Final[Mapping[str, Callable[[str], Label]]] = {
    "label": parse,
    "yes-no": yes_no,
    "score": point_score,
    "whole-score": whole_score,
    "summary": summary,
    "entailment": entailment_label,
}


def _reason(item: list[tuple[str, Any]]) -> str:
    return next((value for key, value in item if key.lower() == "reason" and isinstance(value, str)), "")


def _canonical(value: Any) -> str:
    word = value.strip().upper() if isinstance(value, str) else json.dumps(value, default=str)
    return word if word in (CORRECT, WRONG, ABSTAIN) else f"not a label: {word}"


def _number(value: Any) -> float:
    if isinstance(value, bool):
        return -1.0
    try:
        return float(value)
    except (TypeError, ValueError):
        return -1.0
