"""Every YAML that is shipped composes, validates, and heads with a command that runs it."""

from __future__ import annotations

import functools
import re
import shlex
from pathlib import Path

import pytest

from runner import harness as harnesses
from runner import system as systems
from runner.cli._words import choices, overrides
from runner.cli.run import compose, expand
from runner.config import load
from runner.errors import ConfigError
from tests.conftest import ROOT

CONF = ROOT / "conf"
composed = functools.cache(compose)  # many heads name the same job
FILES = sorted(path for path in CONF.rglob("*.yaml") if path.parent != CONF)


@pytest.mark.parametrize("file", FILES, ids=lambda path: str(path.relative_to(CONF)))
def test_heads_with_the_command_that_runs_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    lines = file.read_text(encoding="utf-8").splitlines()
    # The config system reads a package directive on the first line only.
    first = lines[1] if lines[0].startswith("# @package") else lines[0]
    found = re.fullmatch(r"# (?P<env>(?:[A-Z_]+=\S+ )*)python -m runner (?P<words>.+)", first)
    assert found, first
    words = shlex.split(found["words"])
    group, name = file.parent.name, file.name.removesuffix(".yaml")
    named = [word.lstrip("+").split("=", 1) for word in words if "=" in word]
    assert any(key == group and name in value.split(",") for key, value in named), first
    assert overrides.checked(words, ()) == words
    jobs = expand(words)
    assert jobs
    for job in jobs:
        experiment = load(composed(tuple(job)))
        harnesses.build(experiment.harness)
        systems.build(experiment.arm)


@pytest.mark.parametrize("file", [*FILES, CONF / "config.yaml"], ids=lambda path: str(path.relative_to(CONF)))
def test_names_itself_and_is_listed(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    group, name = file.parent.name, file.name.removesuffix(".yaml")
    if group in ("experiment", "conf"):
        return
    # A harness may have choices of data: longmemeval_m is longmemeval with another file.
    names = {name, *(name[:end] for end, letter in enumerate(name) if letter == "_" and group == "harness")}
    assert any(f"\nname: {item}\n" in f"\n{text}\n" for item in names)
    assert name in choices.choices(group, [CONF])


def test_shipped_defaults_are_the_models_defaults() -> None:
    """config.yaml states every key of `run`, so that a person finds it there, with the value the model has."""
    from runner.config import RunConfig

    composed = compose(["+arm=no_memory"])
    assert composed["run"] == RunConfig().model_dump()
    assert load(composed).axis == "recall"


@pytest.mark.parametrize(
    ("stated", "words", "limit", "max_chars"),
    [
        ("", (), 10, None),
        ("", ("budget=top8",), 8, 3000),
        ("", ("budget=top8", "budget.limit=9"), 9, 3000),
        ("", ("budget=top8", "arm.recall.limit=5"), 5, 3000),
        ("recall: {}", ("budget=top8",), 8, 3000),
        ("recall: {limit: 3}", ("budget=top8",), 3, 3000),
        ("recall: {limit: null, max_chars: 70}", ("budget=top8",), None, 70),
    ],
)
def test_an_arm_recalls_what_the_budget_allows(
    tmp_path: Path, stated: str, words: tuple[str, ...], limit: int | None, max_chars: int | None
) -> None:
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm" / "own.yaml").write_text(f"name: own\nsystem: bm25\n{stated}\n", encoding="utf-8")
    given = ["+arm=own", *words, "--config-dir", str(tmp_path)]
    assert overrides.checked(given, ()) == given
    (job,) = expand(given)
    recall = load(compose(job, [tmp_path])).arm.recall
    assert (recall.limit, recall.max_chars, recall.mode) == (limit, max_chars, "default")


@pytest.mark.parametrize("key", ["name", "system"])
def test_an_arm_without_a_name_or_a_system_is_told_so(tmp_path: Path, key: str) -> None:
    (tmp_path / "arm").mkdir()
    stated = {"name": "own", "system": "bm25"}
    del stated[key]
    (tmp_path / "arm" / "own.yaml").write_text("".join(f"{name}: {value}\n" for name, value in stated.items()))
    with pytest.raises(ConfigError, match=f"^arm.{key}: is missing$"):
        load(compose(["+arm=own"], [tmp_path]))
