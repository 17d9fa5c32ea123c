"""Every shipped reader and judge: composes, connects, and says how to run it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from runner.config import ModelConfig, conf_dir
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
        "none", "gpt-4o-mini", "gpt-4.1-mini", "local", "sonnet", "extractive_fake"
    }  # fmt: skip
    assert {file.stem for file in FILES if file.parent.name == "judge"} == {
        "none", "gpt-4o-2024-08-06", "gpt-4.1", "gpt-4.1-strict", "local", "opus", "sonnet", "haiku", "lexical_fake"
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
    if config.provider == "none":
        return
    if file.parent.name == "reader":
        assert Reader(config).prompt_sha256
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


def test_another_model_than_the_pinned_one_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_JUDGE_MODEL", "gpt-4o-mini")
    warning = override_warning(loaded(conf_dir() / "judge" / "gpt-4.1.yaml"))
    assert warning is not None
    assert "'gpt-4o-mini'" in warning
    assert "'gpt-4.1'" in warning
