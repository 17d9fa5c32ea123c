"""Config: every error at once, by key, masked, with a hint."""

from __future__ import annotations

from typing import Any

import pytest

from runner.config import flatten, load
from runner.errors import ConfigError
from runner.safe import looks_secret, mask, secrets_in

NONE = {"name": "none", "provider": "none"}
KEY = "sk-" + "a1B2" * 8


def values(**changes: Any) -> dict[str, Any]:
    return {
        "harness": {"name": "locomo_qa"},
        "arm": {"name": "a", "system": "bm25"},
        "reader": dict(NONE),
        "judge": dict(NONE),
        **changes,
    }


def test_every_problem_is_told_at_once_by_key() -> None:
    with pytest.raises(ConfigError) as caught:
        load(
            values(
                harness={"name": "locomo_qa", "kay": 10},
                arm={"name": "a", "system": "bm25", "recall": {"limit": "ten", "max_char": 5}},
                run={"repeats": 0, "max_usd": -1},
                gates={},
            )
        )
    told = {line.split(":")[0]: line for line in caught.value.problems}
    assert set(told) == {
        "harness.kay", "arm.recall.limit", "arm.recall.max_char", "run.repeats", "run.max_usd", "gates",
    }  # fmt: skip
    assert "did you mean 'max_chars'" in told["arm.recall.max_char"]
    assert "did you mean 'gate'" in told["gates"]
    assert "'ten'" in told["arm.recall.limit"]
    assert caught.value.exit_code == 2


def test_a_missing_section_is_told() -> None:
    with pytest.raises(ConfigError, match="arm: is missing"):
        load({k: v for k, v in values().items() if k != "arm"})


def test_a_secret_is_refused_and_never_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        load(values(reader={**NONE, "api_key": KEY, "base_url": f"https://user:{KEY}@host/v1"}))
    text = str(caught.value)
    assert "reader.api_key: holds what looks like a credential" in text
    assert "reader.base_url" in text
    assert "a1B2" not in text


@pytest.mark.parametrize(
    ("reader", "judge", "match"),
    [
        ({"name": "r", "provider": "openai", "model": "m"}, NONE, "needs a judge"),
        (NONE, {"name": "j", "provider": "openai", "model": "m"}, "no answers to grade while reader=none"),
        ({"name": "r", "provider": "openai"}, NONE, "needs a model"),
        ({"name": "r", "provider": "command"}, NONE, "needs a command"),
    ],
)
def test_an_axis_needs_both_models_or_none(reader: dict[str, Any], judge: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        load(values(reader=reader, judge=judge))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("x", KEY),
        ("x", "ghp_" + "a" * 36),
        ("x", "AKIA" + "A" * 16),
        ("x", "Bearer " + "a" * 20),
        ("api_key", "plain-but-long"),
        ("arm.settings.token", "12345678"),
        ("x", "https://me:hunter22@host"),
        ("x", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"),
    ],
)
def test_what_looks_like_a_credential(key: str, value: str) -> None:
    assert looks_secret(key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("api_key_env", "OPENAI_API_KEY"),
        ("api_key", "${oc.env:OPENAI_API_KEY}"),
        ("max_tokens", "200"),
        ("name", "skip-the-risk-of-something-long"),
        ("harness.dataset.sha256", "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"),
        ("base_url", "http://127.0.0.1:8080/v1"),
        ("x", 5),
        ("x", ""),
        ("arm.recall.mode", "keyword"),
    ],
)
def test_what_does_not(key: str, value: object) -> None:
    assert not looks_secret(key, value)


def test_secrets_in_lists_and_masks() -> None:
    assert secrets_in({"a": {"b": ["x", KEY]}}) == ["a.b"]
    assert mask(f"sent {KEY} to x") == "sent *** to x"


def test_flatten() -> None:
    assert flatten({"a": {"b": 1, "c": {}}, "d": [1]}) == {"a.b": 1, "a.c": {}, "d": [1]}
