"""A slice of a benchmark: the scenarios and questions that a config chooses, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from runner.config import SliceConfig, did_you_mean
from runner.errors import ConfigError, DatasetError
from runner.record.id_set import IdSet
from runner.types import Scenario


@dataclass
class Census:
    """A slice, counted: what ``plan`` shows and the instrument pins."""

    questions: int = 0
    scenarios: int = 0
    clusters: int = 0
    events: int = 0
    history_chars: int = 0
    gradings: int = 0  # judge calls that one answer to every question takes
    judged: int = 0  # questions that a judge grades; the others are graded by the benchmark's own rule
    existing: str = ""  # namespace of a corpus that is there already; the first, where there are several
    by_category: Counter[str] = field(default_factory=Counter)
    sha256: str = ""  # over the question ids, whatever their order


def sliced(
    name: str, scenarios: Iterable[Scenario], chosen: SliceConfig, categories: Collection[str] | None
) -> Iterator[Scenario]:
    """Yield the scenarios of a slice; questions outside the slice are left out, events never are.

    Parameters
    ----------
    name
        Of the benchmark, for messages.
    scenarios
        All of them.
    chosen
        The slice.
    categories
        Ids of its categories; ``None``: all.

    Raises
    ------
    ConfigError
        When the slice names a scenario, category or question that does not exist, or leaves nothing.
    """
    ids = set(chosen.questions) if chosen.questions is not None else None
    pending = None if chosen.scenarios is None else {str(item) for item in chosen.scenarios}
    left = chosen.limit
    total = 0
    seen_names: list[str] = []
    for position, scenario in enumerate(scenarios):
        seen_names.append(scenario.id)
        if chosen.scenarios is not None and pending is not None:
            if scenario.id not in chosen.scenarios and position not in chosen.scenarios:
                continue
            pending -= {scenario.id, str(position)}
        kept = []
        taken: Counter[str] = Counter()
        for question in scenario.questions:
            if categories is not None and question.category not in categories:
                continue
            if chosen.per_category is not None and taken[question.category] >= chosen.per_category:
                continue
            taken[question.category] += 1
            if ids is not None and question.id not in ids:
                continue
            if left is not None:
                if left == 0:
                    break
                left -= 1
            kept.append(question)
        if kept:
            total += len(kept)
            if ids is not None:
                ids -= {question.id for question in kept}
            yield replace(scenario, questions=tuple(kept))
        if left == 0 or (pending is not None and not pending) or (ids is not None and not ids):
            break
    if pending and left != 0 and not (ids is not None and not ids):
        first = sorted(pending)[0]
        raise ConfigError(
            [
                f"slice.scenarios: {name} has no scenario '{first}'{did_you_mean(first, seen_names)}; "
                f"it has {len(seen_names)}: {', '.join(seen_names[:12])}{', …' if len(seen_names) > 12 else ''}"
            ]
        )
    if ids and left != 0:
        raise ConfigError([f"slice.questions: {name} has no question '{sorted(ids)[0]}' in this slice"])
    if total == 0:
        raise ConfigError([f"slice: leaves no question of {name}; widen slice.categories or slice.scenarios"])


def census_of(name: str, scenarios: Iterable[Scenario]) -> Census:
    """Count scenarios and hash the ids of their questions, in one pass.

    Parameters
    ----------
    name
        Of the benchmark, for messages.
    scenarios
        As :func:`sliced` yields them.

    Raises
    ------
    DatasetError
        When two scenarios or two questions share an id.
    """
    census = Census()
    names: set[str] = set()
    clusters: set[str] = set()
    sha = IdSet()
    for scenario in scenarios:
        if scenario.id in names:
            raise DatasetError(f"{name}: two scenarios share the id '{scenario.id}'")
        names.add(scenario.id)
        census.existing = census.existing or scenario.existing
        clusters.update(question.cluster or scenario.cluster for question in scenario.questions)
        ids = [question.id for question in scenario.questions]
        if len(set(ids)) != len(ids):
            raise DatasetError(f"{name}: two questions of scenario '{scenario.id}' share an id")
        census.questions += len(ids)
        census.events += len(scenario.events)
        census.history_chars += sum(len(event.text) for event in scenario.events)
        sha.add(question.id.encode() for question in scenario.questions)
        for question in scenario.questions:
            census.by_category[question.category] += 1
            if not question.rule:
                census.judged += 1
                census.gradings += len(question.gold.points) or 1
    census.scenarios = len(names)
    census.clusters = len(clusters)
    census.sha256 = sha.hexdigest()
    return census
