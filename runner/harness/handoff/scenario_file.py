"""A handoff scenario as a person writes it: one YAML file, every key of it checked, every problem told by its key."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from runner.config import Strict, problems
from runner.errors import ConfigError
from runner.harness._base.shipped import read_shipped
from runner.plain_yaml import NotPlainYamlError, plain_yaml
from runner.types import Fact

FAMILIES: Final = ("continuity", "memory", "durability")
MOST_FILLER: Final = 20_000  # events of one scenario that are made

PHRASES: Final = read_shipped(Path(__file__).with_name("phrases.yaml"), dict[str, tuple[str, ...]])

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _clock(value: datetime) -> datetime:
    if value.tzinfo is not None:
        raise ValueError("write a date and a time without a zone, on the scenario's own clock (2026-03-02 10:14)")
    return value


class EventSpec(Strict):
    """One thing that happened. ``project`` is the scenario's own when it is left out, ``""`` for none."""

    time: datetime
    actor: Text
    kind: Literal["message", "fact", "doc", "note", "checkpoint", "commit"] = "message"
    project: str | None = None
    title: str = ""  # of a doc
    text: str = ""
    task: str = ""  # of a checkpoint, as are the following
    decisions: tuple[Text, ...] = ()
    failed: tuple[Text, ...] = ()
    questions: tuple[Text, ...] = ()
    next: str = ""

    _naive = field_validator("time")(_clock)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        structured = [name for name in ("task", "decisions", "failed", "questions", "next") if getattr(self, name)]
        if self.kind == "checkpoint":
            if not structured:
                raise ValueError("a checkpoint says something in task, decisions, failed, questions or next")
            return self
        if structured:
            raise ValueError(f"{', '.join(structured)}: only a checkpoint has these; kind is '{self.kind}'")
        if not self.text.strip():
            raise ValueError("text is missing or empty")
        if self.title and self.kind != "doc":
            raise ValueError(f"title: only a doc has one; kind is '{self.kind}'")
        return self


class FactSpec(Strict):
    """Something that is looked for: one of ``any``, every one of ``all``, or one of a list of ``phrases``."""

    label: Text
    any: tuple[Text, ...] = ()
    all: tuple[Text, ...] = ()
    phrases: Literal["not_known", "old", "conflict"] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.any or self.all or self.phrases):
            raise ValueError(f"the fact '{self.label}' is empty; give it any: or all:")
        return self

    def fact(self) -> Fact:
        listed = PHRASES[self.phrases] if self.phrases else ()
        return Fact(label=self.label, any=(*self.any, *listed), all=self.all)


class GoldSpec(Strict):
    """The right answer as facts. ``answer`` is for a judge; without it the carried facts are listed."""

    carry: tuple[FactSpec, ...] = ()
    avoid: tuple[FactSpec, ...] = ()
    signal: tuple[FactSpec, ...] = ()
    abstain: bool = False
    answer: str = ""

    def facts(self) -> list[tuple[str, FactSpec]]:
        """Return every fact with its key (``carry.0``)."""
        named = (("carry", self.carry), ("avoid", self.avoid), ("signal", self.signal))
        return [(f"{name}.{index}", fact) for name, facts in named for index, fact in enumerate(facts)]

    def terms(self) -> list[str]:
        """Return every text that the gold looks for."""
        facts = (fact.fact() for _, fact in self.facts())
        return [item for fact in facts for item in (*fact.any, *fact.all)]


class QuerySpec(Strict):
    """The question of the arriving agent. ``budget`` is in tokens, at four characters each."""

    task: Text
    agent: Text
    budget: Annotated[int, Field(ge=1, le=1_000_000)]
    project: str | None = None  # the scenario's own when left out


class ScenarioSpec(Strict):
    """A history, what is asked of it, and the gold.

    ``expect`` predicts a plain store: one that keeps text verbatim and ranks it against the query, ten hits at most.
    ``wordings`` are further ways to ask ``query.task``. ``haystack`` events of no consequence are mixed into the
    history; a variant of the scenario has ``distractors`` more of them.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=80)]
    family: Literal["continuity", "memory", "durability"]
    skill: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
    why: Text
    expect: Literal["pass", "fail"]
    project: Text
    now: datetime
    query: QuerySpec
    wordings: list[Text]
    events: Annotated[list[EventSpec], Field(min_length=1)]
    haystack: Annotated[int, Field(ge=0, le=MOST_FILLER)] = 0
    distractors: Annotated[int, Field(ge=0, le=MOST_FILLER)] = 12
    gold: GoldSpec
    drop_derived: bool = False

    _naive = field_validator("now")(_clock)

    @property
    def asked(self) -> list[str]:
        """The task as written, then its other wordings."""
        return [self.query.task, *self.wordings]


def read_spec(path: Path) -> ScenarioSpec:
    """Read a scenario file and check it by its schema.

    Raises
    ------
    ConfigError
        With every problem, each line headed by the file's name.
    """
    try:
        value = plain_yaml(path.read_text(encoding="utf-8"))
        if value is None:
            raise NotPlainYamlError("the file is empty")
        return ScenarioSpec.model_validate(value)
    except ValidationError as error:
        found = problems(error, ScenarioSpec)
    except OSError as error:
        found = [f"cannot be read ({error.strerror or error})"]
    except UnicodeDecodeError:
        found = ["is not UTF-8; save it as UTF-8"]
    except NotPlainYamlError as error:
        found = [f"is not the YAML of a scenario: {error}"]
    raise ConfigError([f"{path.name}: {line}" for line in found])
