"""Every shipped reader and judge: composes, connects, and says how to run it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from runner.cli._words import overrides
from runner.cli.run import compose
from runner.config import ModelConfig, conf_dir, load
from runner.errors import ConfigError
from runner.llm import connect, override_warning
from runner.llm.judge import Judge
from runner.llm.prices import Prices
from runner.llm.reader import Reader

FILES = sorted([*(conf_dir() / "reader").glob("*.yaml"), *(conf_dir() / "judge").glob("*.yaml")])
ENVIRONMENT = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "BENCH_READER_MODEL", "BENCH_JUDGE_MODEL")


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


def loaded(file: Path) -> ModelConfig:
    values: Any = OmegaConf.to_container(OmegaConf.load(file), resolve=True)
    return ModelConfig.model_validate(values)


def test_all_choices_are_there() -> None:
    assert {file.stem for file in FILES if file.parent.name == "reader"} == {
        "none", "ask", "gpt-4o-mini", "gpt-4.1-mini", "local", "sonnet", "extractive_fake"
    }  # fmt: skip
    assert {file.stem for file in FILES if file.parent.name == "judge"} == {
        "none", "rule", "gpt-4o-2024-08-06", "gpt-4.1", "gpt-4.1-strict", "local", "opus", "sonnet", "haiku",
        "lexical_fake",
    }  # fmt: skip


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_shipped_choice(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = loaded(file)
    assert config.name == file.stem
    first = file.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert "python -m runner" in first
    assert config.provider == "none" or f"{file.parent.name}={file.stem}" in first
    assert (config.provider == "fake") == file.stem.endswith("_fake")
    assert override_warning(config) is None
    if config.provider in ("none", "ask", "rule"):
        with pytest.raises(ConfigError, match="is no model"):
            connect(config, Prices.load())
        return
    if file.parent.name == "reader":
        assert Reader(config).identity
    else:
        assert Judge(config).rubric_sha256
    if config.provider == "openai" and config.name != "local":
        with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
            connect(config, Prices.load())
        assert Prices.load().find(config.model) is not None
        monkeypatch.setenv("OPENAI_API_KEY", "x" * 20)
    connect(config, Prices.load())


def test_the_local_server_is_on_this_machine_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    file = conf_dir() / "reader" / "local.yaml"
    assert loaded(file).base_url == "http://127.0.0.1:8080/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://10.0.0.5:9000/v1")
    monkeypatch.setenv("BENCH_READER_MODEL", "qwen")
    assert (loaded(file).base_url, loaded(file).model) == ("http://10.0.0.5:9000/v1", "qwen")


OVERRIDES = [
    (
        ["reader=gpt-4.1-mini", "judge=gpt-4.1", "reader.params.temperature=0.5"],
        {"temperature": 0.5, "max_tokens": 200},
    ),
    (["reader=gpt-4.1-mini", "judge=gpt-4.1", "reader.params.max_tokens=64"], {"temperature": 0, "max_tokens": 64}),
    (
        ["reader=gpt-4o-mini", "judge=gpt-4.1", "+reader.params.top_p=0.9"],
        {"temperature": 0, "max_tokens": 200, "top_p": 0.9},
    ),
    (["reader=local", "judge=local", "~reader.params.seed"], {"temperature": 0, "max_tokens": 200}),
]


@pytest.mark.parametrize(("words", "params"), OVERRIDES, ids=lambda item: str(item)[-40:])
def test_parameters_can_be_set_from_the_command_line(words: list[str], params: dict[str, Any]) -> None:
    argv = [*words, "+arm=bm25"]
    assert overrides.checked(argv, ()) == argv
    assert load(compose(argv, [])).reader.params == params


def test_a_misspelt_parameter_is_told() -> None:
    with pytest.raises(ConfigError, match="did you mean 'temperature'"):
        overrides.checked(["reader=gpt-4.1-mini", "judge=gpt-4.1", "reader.params.temprature=1", "+arm=bm25"], ())


def test_a_model_of_the_environment_is_warned_of_on_the_terminal(
    cli: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    words = ("reader=gpt-4.1-mini", "judge=gpt-4.1", "+arm=bm25", "harness.settings.scenarios=6")
    done = cli("plan", *words, BENCH_READER_MODEL="gpt-4o", OPENAI_API_KEY="a-key-for-this-test")
    assert done.returncode == 0, done.stderr
    shown = " ".join((done.stdout + done.stderr).split())
    assert "model is 'gpt-4o', published numbers used 'gpt-4.1-mini'" in shown
    assert "published numbers used 'gpt-4.1'" not in shown


def test_another_model_than_the_pinned_one_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_JUDGE_MODEL", "gpt-4o-mini")
    warning = override_warning(loaded(conf_dir() / "judge" / "gpt-4.1.yaml"))
    assert warning is not None
    assert "'gpt-4o-mini'" in warning
    assert "'gpt-4.1'" in warning
