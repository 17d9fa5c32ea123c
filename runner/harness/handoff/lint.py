"""Faults of a scenario that a schema cannot see: free gold, gold that cannot be found, questions that give it away.

An error means that the scenario measures something else than it says; a run refuses it. A note is for the author to
judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from runner.harness.handoff.scenario_file import FactSpec, ScenarioSpec
from runner.harness.handoff.score import CHARS_A_TOKEN, collapsed, states
from runner.harness.handoff.variants import stamp, with_actor

WORDINGS: Final = 3  # the one as written included
_SHORTEST_AVOID: Final = 4  # letters and digits; "$40" stands in "$400" as well
_SHORTEST: Final = 2  # the same of what is to be carried or said
_JOINT: Final = "\n"  # between texts that are searched together: no fact is read across it


def errors(spec: ScenarioSpec) -> Iterator[str]:
    """Yield the problems of a scenario, each headed by its key."""
    yield from _questions(spec)
    yield from _facts(spec)
    late = [index for index, event in enumerate(spec.events) if event.time > spec.now]
    for index in late:
        yield f"events.{index}.time: is after now ({spec.now:%Y-%m-%d %H:%M}); what has not happened is not remembered"
    if not (spec.gold.carry or spec.gold.signal):
        yield "gold: has neither carry nor signal, so that an empty memory passes"
    if (spec.family == "durability") != spec.drop_derived:
        yield "drop_derived: is what the family durability is about; set both or neither"
    least = sum(_least(fact) for fact in spec.gold.carry)
    if least > spec.query.budget * CHARS_A_TOKEN:
        yield (
            f"query.budget: {spec.query.budget} tokens are too small for the gold, whose shortest wording is "
            f"{least} characters ({least // CHARS_A_TOKEN} tokens)"
        )


def notes(spec: ScenarioSpec) -> Iterator[str]:
    """Yield what may be meant and is worth a look."""
    # With its date, as a store that keeps times returns an event.
    history = [collapsed(f"{stamp(event.time)} {with_actor(event, spec)}") for event in spec.events]
    for index, text in enumerate(spec.asked):
        if any(collapsed(text) in said for said in history):
            yield f"{_asked(index)}: an event says the same words; they are taken for an echo and not scored"
    for key, fact in spec.gold.facts():
        if key.startswith("signal") and not fact.phrases and not _in_history(fact, history):
            yield f"gold.{key}: no event says '{_first(fact)}'; only a system that adds it can pass"
    if not spec.distractors:
        yield "distractors: 0, so that the variants ask the same history again"


def _questions(spec: ScenarioSpec) -> Iterator[str]:
    asked = [collapsed(text) for text in spec.asked]
    if len(asked) < WORDINGS:
        yield f"wordings: {len(asked) - 1} beside query.task; a scenario is asked in {WORDINGS} wordings"
    for index, text in enumerate(asked):
        if text in asked[:index]:
            yield f"{_asked(index)}: is the same as {_asked(asked.index(text))}"


def _facts(spec: ScenarioSpec) -> Iterator[str]:
    history = [collapsed(with_actor(event, spec)) for event in spec.events]
    stamps = [collapsed(stamp(event.time)) for event in spec.events]
    asked = [collapsed(text) for text in spec.asked]
    labels = Counter(fact.label for _, fact in spec.gold.facts())
    carried = [collapsed(item) for fact in spec.gold.carry for item in (*fact.any, *fact.all)]
    for key, fact in spec.gold.facts():
        kind, name = key.split(".")[0], f"gold.{key}"
        if labels[fact.label] > 1:
            yield f"{name}.label: '{fact.label}' stands twice; a report names facts by their label"
        if fact.phrases and kind != "signal":
            yield f"{name}.phrases: only a signal may name a list of phrases"
        yield from _too_short(name, kind, fact)
        for item in fact.any + fact.all:
            for index, text in enumerate(asked):
                if kind != "avoid" and collapsed(item) in text:
                    yield f"{name}: '{item}' occurs in {_asked(index)}; whoever repeats the question has it"
                if text in collapsed(item):
                    yield f"{name}: '{item}' contains {_asked(index)}, which is taken for an echo"
        if kind == "avoid" and states(fact.fact(), _JOINT.join(carried)):
            yield f"{name}: '{_first(fact)}' occurs in what is to be carried, and leaks with it"
        if kind != "signal" and not _in_history(fact, history):
            yield f"{name}: no event contains '{_first(fact)}'"
        dated = next((item for item in fact.any for text in stamps if collapsed(item) in text), None)
        if kind != "signal" and dated:
            yield f"{name}: '{dated}' is in the date of an event, which a store may print before it"
        if fact.phrases:
            quoted = next((p for p in fact.fact().any for event in history if collapsed(p) in event), None)
            if quoted:
                yield f"{name}: an event says '{quoted}', so that a store passes by repeating it"


def _too_short(name: str, kind: str, fact: FactSpec) -> Iterator[str]:
    least = _SHORTEST_AVOID if kind == "avoid" else _SHORTEST
    longest = max(fact.all, key=_letters, default="")
    if _letters(longest) >= least:
        return  # every one of `all` must be there, so that one long item holds the others
    for item in fact.any or ((longest,) if longest else ()):
        if _letters(item) < least:
            yield f"{name}: '{item}' is so short that it matches anything; write more of it"


def _letters(text: str) -> int:
    return sum(char.isalnum() for char in text)


def _in_history(fact: FactSpec, history: list[str]) -> bool:
    """Tell whether events contain a fact: one of ``any``, and every one of ``all``, not necessarily in one event."""
    spread = all(any(collapsed(item) in event for event in history) for item in fact.all)
    one = not fact.any or any(collapsed(item) in event for item in fact.any for event in history)
    return spread and one


def _least(fact: FactSpec) -> int:
    """Return the length in characters of the shortest text that holds a fact."""
    return max((len(collapsed(item)) for item in fact.all), default=0) if not fact.any else min(map(len, fact.any))


def _first(fact: FactSpec) -> str:
    return (fact.any or fact.all or (fact.label,))[0]


def _asked(index: int) -> str:
    return "query.task" if index == 0 else f"wordings.{index - 1}"
