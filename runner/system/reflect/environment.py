"""The environment of reflect: its knobs and settings as variables, and nothing else of the user's.

Names and defaults: the project's "Configuration reference". An absent knob is on, so every one is exported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from runner.config import Strict
from runner.errors import ConfigError
from runner.record.instrument import UNKNOWN
from runner.safe import hide_value_of
from runner.system._bridge.bridge import BridgeSettings

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]

_EMBEDDER: Final = "all-mpnet-base-v2"  # reflect's defaults
_CROSS_ENCODER: Final = "cross-encoder/ms-marco-MiniLM-L-6-v2"
_INHERITED: Final = ("PATH", "LANG", "TMPDIR")
_INHERITED_PREFIXES: Final = ("LC_", "HF_", "TRANSFORMERS_", "SENTENCE_TRANSFORMERS_", "TORCH", "OMP_", "MKL_", "CUDA")


class ReflectKnobs(Strict):
    """The nine arms of the engine, each exported as 0 or 1."""

    graph_arm: bool
    cross_encoder: bool
    mmr: bool
    temporal: bool
    temporal_arm: bool
    bitemporal_edges: bool
    fuzzy_cache: bool
    followup: bool
    tiered_inject: bool

    def exported(self) -> dict[str, str]:
        """Return the variables of the knobs."""
        return {variable(name): str(int(value)) for name, value in self.model_dump().items()}


class Floors(Strict):
    """The share of the question's words that a candidate of an arm must hold; 0 is off."""

    vector: Share = 0.0
    bm25: Share = 0.0
    graph: Share = 0.0
    temporal: Share = 0.0


class ReflectSettings(BridgeSettings):
    """The engine's commands, and its settings besides the knobs; all of them are exported."""

    python: str = "python3"  # runs recall.py
    recall: str = "recall.py"
    reflect: str = "reflect"
    embed_model: str = _EMBEDDER
    ce_model: str = _CROSS_ENCODER
    hyde: bool = False  # its own `claude -p`, one call per question: neither journalled nor priced
    min_overlap: Share = 0.0
    min_score: Floors = Floors()
    concurrency: Annotated[int, Field(ge=1, le=64)] = 3  # recall processes: each loads its models
    timeout_s: Seconds = 90.0  # one recall; it hangs at times
    index_s: Seconds = 1800.0
    daemon: bool = False  # its model daemon: faster, shared between runs, and outlives them
    env_from: tuple[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], ...] = ()  # handed on by name


def variable(knob: str) -> str:
    """The environment variable of a knob."""
    return "REFLECT_TIERED_INJECT" if knob == "tiered_inject" else f"RECALL_{knob.upper()}"


def exported(settings: ReflectSettings, knobs: ReflectKnobs) -> dict[str, str]:
    """Return the variables of all knobs and settings."""
    floors = {f"RECALL_ARM_{name.upper()}_MIN_SCORE": f"{at:g}" for name, at in settings.min_score.model_dump().items()}
    return {
        **knobs.exported(),
        **floors,
        "REFLECT_EMBED_MODEL": settings.embed_model,
        "REFLECT_CE_MODEL": settings.ce_model,
        "REFLECT_RECALL_HYDE": str(int(settings.hyde)),
        "REFLECT_RECALL_MIN_OVERLAP": f"{settings.min_overlap:g}",
        "REFLECT_NO_DAEMON": str(int(not settings.daemon)),
        "REFLECT_RECALL_DEBUG": "1",  # else a failure is an empty output
        "RECALL_ECONOMICS": "0",
    }


def environment(settings: ReflectSettings, bin_dir: Path) -> dict[str, str]:
    """Return the variables that every process inherits, with ``reflect`` first on its path.

    Raises
    ------
    ConfigError
        When a variable that is to be handed on is not set.
    """
    absent = [name for name in settings.env_from if name not in os.environ]
    if absent:
        raise ConfigError([f"arm.settings.env_from: {name} is not set in the environment" for name in absent])
    for name in settings.env_from:
        hide_value_of(name)
    names = [name for name in os.environ if name in _INHERITED or name.startswith(_INHERITED_PREFIXES)]
    kept = {name: os.environ[name] for name in (*names, *settings.env_from)}
    # Its models stay where the user has them: else each namespace would fetch its own.
    kept.setdefault("HF_HOME", str(Path.home() / ".cache" / "huggingface"))
    path = os.pathsep.join([str(bin_dir.resolve()), kept.get("PATH", os.defpath)])
    who = {"NAME": "memory-runner", "EMAIL": "memory-runner@localhost"}  # `reflect init` commits, and must be somebody
    git = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    return {**kept, **git, "PATH": path, "PYTHONUTF8": "1"}


def folders(kb: Path, state: Path, home: Path) -> dict[str, str]:
    """Return the variables that keep one namespace in its own folders."""
    return {
        "GLOBAL_LEARNINGS_PATH": str(kb),
        "RECALL_LEARNINGS_ROOT": str(kb),
        "REFLECT_STATE_DIR": str(state),
        "REFLECT_DB_PATH": str(state / "reflect.db"),
        "REFLECT_METRICS_PATH": str(state / "metrics.jsonl"),
        "XDG_CACHE_HOME": str(state / "xdg"),
        "HOME": str(home),
    }


def revision(model: str, env: Mapping[str, str], home: str = "") -> str:
    """Return a model with its revision in the hub's cache, else ``unknown``."""
    name = model if "/" in model or not home else f"{home}/{model}"
    hub = Path(env.get("HF_HUB_CACHE") or Path(env["HF_HOME"]) / "hub")
    try:
        found = (hub / f"models--{name.replace('/', '--')}" / "refs" / "main").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return UNKNOWN
    return f"{model}@revision:{found[:40]}" if re.fullmatch(r"[0-9a-f]{7,64}", found) else UNKNOWN
