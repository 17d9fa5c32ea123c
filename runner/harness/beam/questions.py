"""The probing questions of a BEAM chat, parsed strictly: ``{ability: [question, …]}``.

Gold lies in another field for every kind of ability. The Hugging Face copy has the whole as the text of a Python
literal, which is read as data and bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from runner.data.fields import FieldReader, kind
from runner.data.literal import parse_literal

# Where an ability's gold lies. Questions are numbered in this order, which is that of the published files.
GOLD: Final = {
    "abstention": "ideal_response",
    "contradiction_resolution": "ideal_answer",
    "event_ordering": "answer",
    "information_extraction": "answer",
    "instruction_following": "expected_compliance",
    "knowledge_update": "answer",
    "multi_session_reasoning": "answer",
    "preference_following": "expected_compliance",
    "summarization": "ideal_summary",
    "temporal_reasoning": "answer",
}
ABSTENTION: Final = "abstention"
ORDERING: Final = "event_ordering"


@dataclass(frozen=True)
class ProbingQuestion:
    """One probing question. ``evidence`` are message ids, each once."""

    ability: str
    question: str
    answer: str
    rubric: tuple[str, ...]
    evidence: tuple[str, ...]
    unresolved: tuple[str, ...]


def probes(
    where: FieldReader, value: object, known: Mapping[int, list[str]], met: Counter[str]
) -> tuple[ProbingQuestion, ...]:
    """Return the questions of a chat, by ability.

    Parameters
    ----------
    where
        The chat, for messages.
    value
        The decoded questions, or the text of a literal.
    known
        The names of the messages that have each id.
    met
        Traps, counted up.

    Raises
    ------
    DatasetError
        On an unknown ability, a missing field, an empty rubric, or anything else that the format does not have.
    """
    where = where.at(", questions")
    if isinstance(value, str):
        value = parse_literal(where, value)
        met["questions told as a Python literal"] += 1
    by_ability = where.mapping(value, GOLD, ())
    found = []
    for ability, field in GOLD.items():
        for number, item in enumerate(where.at(f", {ability}").list(by_ability.get(ability, []))):
            found.append(_probe(where.at(f", {ability} {number}"), ability, field, item, known, met))
    if not found:
        raise where.fail("there are none")
    return tuple(found)


def _probe(
    where: FieldReader, ability: str, field: str, value: object, known: Mapping[int, list[str]], met: Counter[str]
) -> ProbingQuestion:
    item = where.mapping(value, None, ("question", field, "rubric"))
    rubric = tuple(where.at(", rubric").text(point) for point in where.at(", rubric").list(item["rubric"]))
    if not rubric:
        raise where.fail("the rubric has no point")
    mentions = item.get("total_mentions")
    met["total_mentions that is not the number of points"] += type(mentions) is int and mentions != len(rubric)
    cited = item.get("source_chat_ids")
    met[f"source_chat_ids {_shape(cited)}"] += ability != ABSTENTION
    evidence: dict[str, None] = {}
    unresolved = []
    for number in dict.fromkeys(_cited(where.at(", source_chat_ids"), cited)):
        names = known.get(number, [])
        if len(names) == 1:
            evidence[names[0]] = None
        else:  # of two messages of one id, nothing tells which is meant
            unresolved.append(f"{number}{' (twice)' if names else ''}")
    return ProbingQuestion(
        ability=ability,
        question=where.at(", question").text(item["question"]).strip(),
        answer=_gold(where.at(f", {field}"), item[field], met),
        rubric=rubric,
        evidence=tuple(evidence),
        unresolved=tuple(unresolved),
    )


def _gold(where: FieldReader, value: object, met: Counter[str]) -> str:
    """Return the ideal answer, which may be empty, since the points are graded. A list becomes lines."""
    if value in (None, "", []):
        met["ideal answers that are empty"] += 1
        return ""
    if isinstance(value, list):
        return "\n".join(where.answer(item) for item in value)
    return where.answer(value)


def _shape(cited: object) -> str:
    if cited is None:
        return "absent"
    if not cited:
        return "empty"
    nested = isinstance(cited, list) and any(isinstance(item, list) for item in cited)
    return "a list of lists" if nested else kind(cited)


def _cited(where: FieldReader, value: object) -> Iterator[int]:
    """Yield the message ids of a list, of lists in it, of a mapping of lists, or of nothing."""
    if value is None:
        return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _cited(where, item)
    elif type(value) is int:
        yield value
    else:
        raise where.fail(f"expected message ids, found {kind(value)}")
