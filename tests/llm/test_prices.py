"""Prices: listed or unknown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from runner.errors import ConfigError
from runner.llm.prices import Prices


def test_dollars_by_hand() -> None:
    prices = Prices.load()
    # 10,000 of which 4,000 cached, 500 out, at 2.00, 0.50 and 8.00 dollars a million
    assert prices.usd("gpt-4.1", 10_000, 500, 4_000) == pytest.approx(0.012 + 0.002 + 0.004)
    assert prices.usd("gpt-4o-mini", 1_000_000, 1_000_000) == pytest.approx(0.75)
    assert prices.usd("gpt-4o-2024-05-13", 1_000_000, 0, 1_000_000) == pytest.approx(5.0)  # no cached price listed
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", prices.date)
    assert len(prices.sha256) == 64


def test_snapshots_match_their_name_and_nothing_else_is_guessed() -> None:
    prices = Prices.load()
    listed = prices.find("gpt-4.1-mini")
    assert listed is not None
    assert prices.find("gpt-4.1-mini-2025-04-14") == prices.find("gpt-4.1-mini-20250414") == listed
    assert prices.find("gpt-4o-2024-08-06") != prices.find("gpt-4o-2024-05-13")  # each is listed
    for name in ("gpt-4.1-mini-turbo", "gpt-4.1-mini-2025", "gpt-4", "openai/gpt-4.1", "GPT-4.1", "", "-2024-08-06"):
        assert prices.usd(name, 1, 1) is None


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"date": "2026-01-01", "models": {"mine": {"input": 1, "output": 2}}}))
    assert Prices.load(str(file)).usd("mine", 1_000_000, 1_000_000) == 3.0


BAD = ["", "[]", '{"models": {}}', '{"date": "x", "models": {"m": {"input": 1}}}']
BAD += ['{"date": "x", "models": {"m": {"input": -1, "output": 1}}}', '{"date": "x", "models": {}, "currency": "EUR"}']


@pytest.mark.parametrize("text", BAD)
def test_a_bad_file_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prices.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"run\.prices"):
        Prices.load(str(file))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        Prices.load(str(tmp_path / "none.json"))
