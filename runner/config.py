"""The composed experiment as pydantic models; every problem of a config is a line that a person can act on.

``conf/`` says what can be said; this module says what it means. Settings of one harness or one system are plain
mappings here and are checked by the harness or the system itself (``Settings``, ``Knobs``), which live on a higher
floor.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from runner.errors import ConfigError
from runner.safe import looks_secret, mask, names_secret, secrets_in

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$", max_length=80)]
# A module name: what `runner.harness.<name>` and `runner.system.<name>` accept.
ModuleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]


@dataclass(frozen=True)
class LocalPath:
    """Marks a setting, a harness's own included, as a path: ``Annotated[str | None, LocalPath()]``.

    Such a path is made absolute before it is recorded, so that a run can be resumed from any folder.

    Attributes
    ----------
    kind
        ``file`` or ``folder``: the text is a path where there is one, and a name otherwise.
    prefix
        The text is a path behind this prefix, and something else without it.
    """

    kind: Literal["any", "file", "folder"] = "any"
    prefix: str = ""

    def absolute(self, value: Any) -> Any:
        """Return a text, or each text of a list, as an absolute path where it is one."""
        if isinstance(value, list):
            return [self.absolute(item) for item in value]
        if not isinstance(value, str) or not value or not value.startswith(self.prefix):
            return value
        path = own_path(value.removeprefix(self.prefix))
        named = (self.kind == "file" and not path.is_file()) or (self.kind == "folder" and not path.is_dir())
        return value if named else f"{self.prefix}{path.absolute()}"


class Strict(BaseModel):
    """Base of every config model: an unknown key is an error, values are frozen."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        # `from` is a word of Python: its field is `from_`, and everywhere else it is what a person writes.
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
    )


class Dataset(Strict):
    """The source of the data. ``path`` uses a local copy; ``sha256: null`` leaves it unpinned, on record."""

    path: Annotated[str | None, LocalPath()] = None
    url: str | None = None
    version: str = ""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


class HarnessConfig(Strict):
    name: ModuleName
    dataset: Dataset = Dataset()
    patches: Annotated[list[str], LocalPath()] = []  # gold patches, each a file
    k: Annotated[int, Field(ge=1, le=1000)] = 10  # the K of recall@K
    settings: dict[str, Any] = {}


class Recall(Strict):
    """The read side of an arm. ``None`` means no bound."""

    limit: Annotated[int, Field(ge=1)] | None = 10
    max_chars: Annotated[int, Field(ge=1)] | None = None
    mode: str = "default"


class ArmConfig(Strict):
    name: Name
    system: ModuleName
    ingest: dict[str, Any] = {}
    recall: Recall = Recall()
    knobs: dict[str, Any] = {}
    settings: dict[str, Any] = {}


class CommandOutput(Strict):
    """Dotted paths into the JSON that a command-line model prints."""

    text: str = "result"
    model: str | None = None
    input_tokens: str | None = "usage.input_tokens"
    output_tokens: str | None = "usage.output_tokens"
    cached_tokens: str | None = None
    usd: str | None = "total_cost_usd"
    error: str | None = "is_error"


class ModelConfig(Strict):
    """A reader or a judge. Everything but the endpoint and the limits is part of the instrument."""

    name: Name
    # `imported`: it answered in another harness, whose results were imported; nothing can be asked of it here.
    # `ask`, of a reader: the memory system answers by itself. `rule`, of a judge: the benchmark's own rule grades.
    provider: Literal["none", "openai", "command", "fake", "imported", "ask", "rule"] = "none"
    model: str = ""
    pinned: str = ""  # the model that published numbers used; another one prints the comparability warning
    params: dict[str, Any] = {}  # temperature, max_tokens, seed, … sent as they are
    prompt: Annotated[str, LocalPath("file")] = ""  # reader: a file under conf/reader/prompts, or a path
    rubric: Annotated[str, LocalPath("file")] = ""  # judge: a file under conf/judge/rubrics, or a path
    # judge: for questions whose right answer is that the memory does not hold it
    abstain_rubric: Annotated[str, LocalPath("file")] = ""
    base_url: str | None = None
    api_key_env: str | None = "OPENAI_API_KEY"
    timeout_s: Annotated[float, Field(gt=0)] = 60.0  # one request
    deadline_s: Annotated[float, Field(gt=0)] = 600.0  # one call with all its retries and waits
    attempts: Annotated[int, Field(ge=1)] = 4
    concurrency: Annotated[int, Field(ge=1, le=4096)] = 64  # the ceiling; a 429 shrinks it
    command: list[str] = []
    output: CommandOutput = CommandOutput()

    @model_validator(mode="after")
    def _complete(self) -> ModelConfig:
        if self.provider == "openai" and not self.model:
            raise ValueError("provider 'openai' needs a model")
        if self.provider == "command" and not self.command:
            raise ValueError("provider 'command' needs a command")
        return self


class SliceConfig(Strict):
    """The scenarios, categories and questions that are asked: always a deterministic set of question ids.

    Applied in this order: ``scenarios``, ``categories``, ``per_category`` (first N of each category in each
    scenario), ``questions``, ``limit`` (first N overall).
    """

    name: Name = "all"
    scenarios: list[str | int] | None = None  # ids, or positions from 0
    categories: list[str | int] | None = None
    per_category: Annotated[int, Field(ge=1)] | None = None
    questions: list[str] | None = None
    limit: Annotated[int, Field(ge=1)] | None = None


class GateConfig(Strict):
    name: Name = "default"
    metric: str = "auto"  # auto: recall@K on the recall axis, accuracy on the accuracy axis
    categories: Literal["comparable", "all"] = "comparable"  # overall_comparable or overall_all
    baseline: str | None = None  # an arm's name; the first arm of the sweep when null
    min_delta: Annotated[float, Field(ge=-100, le=100)] = 0.0  # percentage points; negative: non-inferiority
    # Percentage points of run-to-run noise, or from:DIR, measured by the A/A sweep in DIR.
    band: Annotated[float | str, LocalPath(prefix="from:")] = 4.0
    interval: Literal["auto", "percentile"] = "auto"
    resamples: Annotated[int, Field(ge=100, le=1_000_000)] = 10_000
    seed: int = 7
    max_error_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    treatment: list[str] = []  # instrument rows that a person declares to be the treatment
    same: list[str] = []  # instrument rows that are unknown and that a person declares to be the same in both arms
    # What `calibrate` wrote: the difference corrected for the judge's own errors.
    calibration: Annotated[str | None, LocalPath()] = None
    # Labels that people gave to these answers (CSV): prediction-powered inference.
    human: Annotated[str | None, LocalPath()] = None
    enabled: bool = True

    @field_validator("band", mode="before")
    @classmethod
    def _points(cls, value: Any) -> Any:
        number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100
        if number or (isinstance(value, str) and re.fullmatch(r"from:.+", value)):
            return float(value) if number else value
        raise ValueError("give points from 0 to 100, or from:DIR of an A/A sweep")

    @field_validator("treatment", "same", mode="before")
    @classmethod
    def _one(cls, value: Any) -> Any:
        """Take ``gate.treatment=embedder`` as well as ``[embedder]``."""
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_or_the_other(self) -> GateConfig:
        both = [row for row in self.same if row in self.treatment]
        if both:
            raise ValueError(f"{both[0]} is declared to be the same and to be the treatment; say one of them")
        return self

    @property
    def band_source(self) -> str | None:
        """Return the directory of the A/A sweep that measures the band; ``None`` when it is a number."""
        return self.band.removeprefix("from:") if isinstance(self.band, str) else None


class Budget(Strict):
    """The recall budget shared by the arms of a sweep."""

    name: Name = "default"
    limit: Annotated[int, Field(ge=1)] | None = 10
    max_chars: Annotated[int, Field(ge=1)] | None = None


class RunConfig(Strict):
    repeats: Annotated[int, Field(ge=1, le=99)] = 1
    replicate: Annotated[int, Field(ge=0)] = 0  # run.replicate=0,1 is an A/A sweep
    concurrency: Annotated[int, Field(ge=1, le=4096)] = 64  # questions in flight
    scenarios_in_flight: Annotated[int, Field(ge=1, le=256)] = 4
    search_s: Annotated[float, Field(gt=0)] = 120.0  # one search
    write_s: Annotated[float, Field(gt=0)] = 3600.0  # writing one scenario's history
    settle_s: Annotated[float, Field(gt=0)] = 120.0  # from a write to when it can be found
    max_usd: Annotated[float, Field(gt=0)] | None = None
    max_calls: Annotated[int, Field(ge=1)] | None = None
    no_progress_s: Annotated[float, Field(gt=0)] = 900.0
    stop_after_errors: Annotated[int, Field(ge=1)] | None = 25  # so many failures in a row end the run
    texts: bool = True  # keep hits, contexts and answers in texts.jsonl
    prices: Annotated[str | None, LocalPath()] = None  # a price file of one's own
    # A recorded run, whose answers another judge grades.
    from_: Annotated[str | None, Field(alias="from"), LocalPath()] = None
    sample: Annotated[int, Field(ge=1)] | None = None  # with run.from: so many of its answers, drawn with run.seed
    seed: int = 7
    # Token F1, BLEU-1 and ROUGE-L of a simplified answer, by the words alone, by the judge or by a model of that name.
    lexical: Annotated[str, Field(pattern=r"^[\w./:@+-]+$")] = "off"
    stop_when_decided: bool = False  # end an arm of a sweep when the e-value against the baseline decides


class Experiment(Strict):
    """One experiment: harness × arm × reader/judge × slice."""

    harness: HarnessConfig
    arm: ArmConfig
    reader: ModelConfig
    judge: ModelConfig
    slice: SliceConfig = SliceConfig()
    budget: Budget = Budget()
    gate: GateConfig = GateConfig()
    run: RunConfig = RunConfig()

    @model_validator(mode="after")
    def _axis(self) -> Experiment:
        if self.reader.provider == "none" and self.judge.provider != "none":
            raise ValueError(
                f"judge={self.judge.name} has no answers to grade while reader=none: "
                f"choose a reader (reader=gpt-4.1-mini)"
            )
        if self.reader.provider != "none" and self.judge.provider == "none":
            raise ValueError(
                f"reader={self.reader.name} needs a judge: choose one (judge=gpt-4.1), or judge=rule where the "
                f"benchmark grades by a rule of its own"
            )
        if self.reader.provider == "rule":
            raise ValueError("reader: provider 'rule' grades answers and gives none; it is a judge (judge=rule)")
        if self.judge.provider == "ask":
            raise ValueError("judge: provider 'ask' answers and grades nothing; it is a reader (reader=ask)")
        return self

    @property
    def axis(self) -> str:
        """Return ``recall`` without a reader, else ``accuracy``. The two never share a table."""
        return "recall" if self.reader.provider == "none" else "accuracy"


def own_path(text: str | Path) -> Path:
    """Return a path as a person writes it: ``~`` expanded where there is such a home, else left as it is."""
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def conf_dir() -> Path:
    """Return the absolute path of the shipped configs: inside the package in a wheel, beside it in a checkout."""
    here = Path(__file__).resolve().parent
    shipped = here / "conf"
    return shipped if shipped.is_dir() else here.parent / "conf"


def cache_dir() -> Path:
    """Return the folder of embeddings and fetched data: ``$MEMORY_RUNNER_CACHE``, else the user's cache folder."""
    chosen = os.environ.get("MEMORY_RUNNER_CACHE")
    if chosen:
        return own_path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("agent-memory-runner")


def digest(value: object) -> str:
    """Return the sha256 of a value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: Path) -> str:
    """Return the sha256 of a file's bytes, read in chunks; a file that cannot be read raises ``OSError``."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def absolute_paths(values: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Return values of a section, and of the sections within it, with what is marked as a path made absolute."""
    out = dict(values)
    for key, field in keys_of(model).items():
        path = next((item for item in field.metadata if isinstance(item, LocalPath)), None)
        if key in out and path is not None:
            out[key] = path.absolute(out[key])
        elif isinstance(out.get(key), Mapping):
            out[key] = absolute_paths(out[key], field.annotation)
    return out


def flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as dotted keys; lists and empty mappings stay as they are."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        name = f"{prefix}{key}"
        if isinstance(item, Mapping) and item:
            flat.update(flatten(item, f"{name}."))
        else:
            flat[name] = item
    return flat


# --- problems, by key ----------------------------------------------------------------------------------------------


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"``, or nothing."""
    close = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.6)
    return f" (did you mean '{close[0]}'?)" if close else ""


def problems(error: ValidationError, model: type[BaseModel], prefix: str = "") -> list[str]:
    """Return a line for each problem of a validation, by dotted key; values that could be secret are masked."""
    lines = []
    for item in error.errors(include_url=False):
        path = [str(part) for part in item["loc"]]
        key = prefix + ".".join(path)
        value = item.get("input")
        if item["type"] == "extra_forbidden":
            known = list(_fields_at(model, path[:-1]))
            lines.append(f"{key}: no such key{did_you_mean(path[-1], known)}")
        elif item["type"] == "missing":
            lines.append(f"{key}: is missing")
        else:
            message = item["msg"].removeprefix("Value error, ")
            shown = "" if isinstance(value, Mapping | BaseModel) else f", got {_shown(key, value)}"
            lines.append(f"{key}: {message}{shown}" if key else message)
    return list(dict.fromkeys(lines))


def _shown(key: str, value: object) -> str:
    if names_secret(key) or looks_secret(key, value):
        return "***"
    text = mask(repr(value))
    return text if len(text) <= 80 else text[:77] + "..."


def keys_of(model: Any) -> dict[str, Any]:
    """Return the keys that a person may write in a section, with their fields; empty where there are none."""
    return {field.alias or name: field for name, field in getattr(model, "model_fields", {}).items()}


def _fields_at(model: type[BaseModel], path: list[str]) -> dict[str, Any]:
    current: Any = model
    for part in path:
        if part.isdigit():  # an item of a list
            current = next(iter(get_args(current)), None)
            continue
        fields = keys_of(current)
        if part not in fields:
            return {}
        current = fields[part].annotation
    return keys_of(current)


def checked(model: type[BaseModel], values: Mapping[str, Any], prefix: str = "") -> BaseModel:
    """Return the values as a validated model.

    Raises
    ------
    ConfigError
        With one line per problem.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError(problems(error, model, prefix)) from None
    except OverflowError:
        raise ConfigError([f"{prefix.rstrip('.')}: holds a number that is too large"]) from None


_DEEPEST = 60  # mappings and lists within each other; a YAML whose alias holds itself has no end
_MOST_VALUES = 1_000_000  # of a config; aliases within aliases multiply


def odd_values(config: Mapping[str, Any]) -> list[str]:
    """Return a line for every key and value that JSON, and so a record or a request, cannot hold.

    A config that holds itself has one line.
    """
    found: list[str] = []
    left: list[tuple[str, Any, int]] = [("", config, 0)]
    count = 0
    while left:
        key, value, depth = left.pop()
        count += 1
        if depth > _DEEPEST or count > _MOST_VALUES:
            return [f"{'.'.join(key.split('.')[:3])}: holds itself, or more than a config can hold"]
        if isinstance(value, Mapping):
            below = [(f"{key}.{name}" if key else str(name), name, item) for name, item in value.items()]
            found += [
                f"{place}: a key is a text; write '{name}' in quotes"
                for place, name, _ in below
                if not isinstance(name, str)
            ]
            left += [(place, item, depth + 1) for place, _, item in below]
        elif isinstance(value, list | tuple):
            left += [(key, item, depth + 1) for item in value]
        elif isinstance(value, float) and not math.isfinite(value):
            found.append(f"{key}: {value} is no number")
    return found


def load(values: Mapping[str, Any]) -> Experiment:
    """Return the composed mapping as an :class:`Experiment`.

    Raises
    ------
    ConfigError
        With every problem by key; a value that looks like a credential is one of them.
    """
    odd = odd_values(values)
    if odd:
        raise ConfigError(list(dict.fromkeys(odd)))
    flat = flatten(values)
    # By their own shape, by the name of their key, or because a secret of the environment has that value.
    known = [key for key, value in flat.items() if isinstance(value, str) and mask(value) != value]
    secret = list(dict.fromkeys([*secrets_in(values), *known]))
    found = [
        f"{key}: holds what looks like a credential; name an environment variable instead (api_key_env: OPENAI_API_KEY)"
        for key in secret
    ]
    try:
        experiment = Experiment.model_validate(dict(values))
    except ValidationError as error:
        found += [line for line in problems(error, Experiment) if line.split(":")[0] not in secret]
    except OverflowError:
        found.append("the config holds a number that is too large")
    if found:
        raise ConfigError(found)
    return experiment
