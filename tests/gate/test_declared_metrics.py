"""A gate compares shares of which more is better: what the benchmark declares of a metric decides, not its values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.config import GateConfig
from runner.errors import RecordError, UsageError
from runner.gate import Comparison, compare
from tests.support.recorded import answered, arm_config, write_run

DECLARED = [{"name": "steps", "unit": "steps"}, {"name": "odd"}, {"name": "lost", "share": True, "higher": False}]
SHARE = {"name": "quotes", "share": True}


def gated(tmp_path: Path, metric: str, value: float, about: dict[str, Any] | None) -> Comparison:
    """Two arms of 40 questions; the second has more of the metric."""
    one, two = (
        write_run(
            tmp_path / f"{at}-{name}",
            [answered(i, True, cluster=i, keys=name, metrics={metric: value * (at + 1) / 2}) for i in range(40)],
            arm=arm_config(name),
            about=about,
        )
        for at, name in enumerate("ab")
    )
    return compare(one, two, GateConfig(metric=metric))


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        ("steps", "gate.metric=steps: it is counted in steps, and a gate compares shares"),
        ("odd", "gate.metric=odd: it is not a share, and a gate compares shares"),
        ("lost", "gate.metric=lost: less of it is better, and a gate passes what has more"),
    ],
)
def test_what_is_no_share_is_refused_whatever_its_values(tmp_path: Path, metric: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        gated(tmp_path, metric, 1.0, {"metrics": DECLARED})
    assert str(caught.value).startswith(says)


def test_a_declared_share_is_compared_and_damage_beyond_one(tmp_path: Path) -> None:
    assert gated(tmp_path / "fine", "quotes", 1.0, {"metrics": [SHARE]}).outcome == "pass"
    with pytest.raises(RecordError, match=r"quotes lies outside 0 \.\. 1"):
        gated(tmp_path / "damaged", "quotes", 3.0, {"metrics": [SHARE]})


def test_what_nothing_declares_goes_by_its_values(tmp_path: Path) -> None:
    """As in an earlier record: a shipped metric's name says that it is a share, any other is refused beyond one."""
    for name, about in (("declared", {"metrics": []}), ("earlier", None)):
        assert gated(tmp_path / name / "1", "steps", 1.0, about).outcome == "pass"
        with pytest.raises(UsageError, match=r"steps: its values in \S+ lie outside 0 \.\. 1, and a gate compares"):
            gated(tmp_path / name / "2", "steps", 3.0, about)
        with pytest.raises(RecordError, match=r"session_recall@5 lies outside 0 \.\. 1"):
            gated(tmp_path / name / "3", "session_recall@5", 3.0, about)
