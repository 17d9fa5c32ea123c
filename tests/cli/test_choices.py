"""The keys that a choice states, through the choices beside it that it builds on."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.cli._words import overrides
from runner.cli._words.choices import stated
from runner.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n", {"a": 1}),
        ("", {}),
        ("defaults: [base, _self_]\nname: own\nknobs: {k: 2}\n", {"name": "own", "knobs": {"g": True, "k": 2}}),
        ("defaults: [base, more, _self_]\nname: own\n", {"name": "own", "knobs": {"g": False, "k": 1}, "x": []}),
        ("defaults: [own, _self_]\n", None),  # builds on itself
        ("defaults: [absent, _self_]\n", None),
        ("defaults: [_self_, base]\n", None),  # the config system knows
        ("defaults: [{/reader: none}, _self_]\n", None),
        ("a: [\n", None),
    ],
)
def test_what_a_choice_states(tmp_path: Path, text: str, expected: object) -> None:
    (tmp_path / "base.yaml").write_text("name: base\nknobs: {g: true, k: 1}\n")
    (tmp_path / "more.yaml").write_text("knobs: {g: false}\nx: []\n")
    (tmp_path / "own.yaml").write_text(text)
    assert stated(tmp_path / "own.yaml") == expected


def test_a_misspelt_knob_of_an_arm_that_builds_on_another_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"arm 'hybrid' states no such key in arm\.knobs \(did you mean 'graph'\?\)"):
        overrides.checked(["+arm=hybrid", "arm.knobs.grph=true"], ())
    assert overrides.checked(["+arm=hybrid", "arm.knobs.graph=true"], ())
