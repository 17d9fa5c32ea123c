"""``ingest.mode``: a model rewrites a history before a memory system gets it, for any system.

``verbatim``
    The events as they are; the default, and nothing of this module runs.
``extract``
    Atomic notes, written by a model from one session at a time; only they are stored. A note's sources are the events
    of the part that it was written from.
``digest``
    A running summary over the whole history; only the last one is stored. It has no sources.

A reply is kept in the cache by what was asked (prompt, model with its parameters and endpoint, text), never by name, so
that arms which differ elsewhere share one ingest. A call goes through the run: journalled, priced, within the budget. A
failure is an ingest error, never an empty memory.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_validator

from runner.config import ArmConfig, ModelConfig, Strict, checked
from runner.system import MemorySystem

VERBATIM: Final = "verbatim"


class RewriteSettings(Strict):
    """The keys of ``arm.ingest`` that any system takes."""

    mode: Literal["verbatim", "extract", "digest"] = "verbatim"
    model: ModelConfig | None = None  # or the name of one behind OPENAI_BASE_URL; not asked where the mode is verbatim
    prompt: str | None = None  # a file of conf/arm/prompts or a path; null: the one of the mode
    part_chars: Annotated[int, Field(ge=200, le=1_000_000)] = 8_000  # of a session that one call reads

    @field_validator("model", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return {"name": "ingest", "provider": "openai", "model": value, "params": {"temperature": 0}}


def split_ingest(arm: ArmConfig, kind: type[MemorySystem]) -> tuple[RewriteSettings, ArmConfig]:
    """Split an arm into the settings of the rewriting and the arm as the system itself reads it.

    A key that the system's own ``Ingest`` has is the system's.

    Raises
    ------
    ConfigError
        When a key or a value of the rewriting is wrong.
    """
    names = [name for name in RewriteSettings.model_fields if name not in kind.Ingest.model_fields]
    ours = {name: value for name, value in arm.ingest.items() if name in names}
    rewrite = checked(RewriteSettings, ours, "arm.ingest.")
    assert isinstance(rewrite, RewriteSettings)
    rest = {name: value for name, value in arm.ingest.items() if name not in names}
    return rewrite, arm.model_copy(update={"ingest": rest}) if ours else arm
