"""A gate over pairs of an answerable question and its unanswerable twin: an item a pair, scored as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from runner.config import GateConfig
from runner.gate import Comparison, compare
from runner.harness.musique.score import METRICS
from runner.record.rundir import RunDir
from runner.score.pairs import made_of_pairs, pair_scores
from runner.types import READER_ERROR, Row
from tests.support.recorded import answered, arm_config, write_run

METRIC = "group_answer_sufficiency_f1"
MADE = made_of_pairs(METRICS)


def twins(name: int, f1: float, answers: float, declines: float, *, failed: str = "") -> list[Row]:
    """Both rows of a pair: the answerable one's F1 where it answered, and whether the other declined."""
    seen = {"answer_f1": f1, "answer_sufficiency_f1": answers * f1, "sufficiency": answers}
    blind = {"answer_f1": None, "answer_sufficiency_f1": declines, "sufficiency": declines}
    rows = []
    for at, (tag, metrics) in enumerate((("yes", seen), ("no", blind))):
        row = answered(2 * name + at, False, cluster=name, tags={"answerable": tag}, metrics=metrics)
        rows.append(replace(row, status=READER_ERROR, label="", metrics={}) if tag in failed.split() else row)
    return rows


def gated(tmp_path: Path, a: list[Row], b: list[Row]) -> Comparison:
    one, two = (
        write_run(tmp_path / f"{at}-{name}", rows, arm=arm_config(name))
        for at, (name, rows) in enumerate((("a", a), ("b", b)))
    )
    return compare(one, two, GateConfig(metric=METRIC, max_error_share=0.5))


def test_declining_everything_is_worth_nothing(tmp_path: Path) -> None:
    """A answers four pairs of ten with F1 .5 and declines their twins: .2. B declines everything: 0, not .5."""
    a = [row for pair in range(10) for row in twins(pair, 0.5, 1.0, 1.0 if pair < 4 else 0.0)]
    b = [row for pair in range(10) for row in twins(pair, 0.0, 0.0, 1.0)]
    found = gated(tmp_path, a, b)
    assert found.verdict is not None
    assert (found.verdict.n, found.verdict.clusters) == (10, 10)
    assert found.verdict.mean_a == pytest.approx(pair_scores(a, MADE)[METRIC]) == pytest.approx(0.2)
    assert found.verdict.mean_b == pytest.approx(pair_scores(b, MADE)[METRIC]) == 0
    assert found.verdict.delta == pytest.approx(-0.2)


def test_a_pair_that_failed_in_part_is_one_failure(tmp_path: Path) -> None:
    a = [row for pair in range(8) for row in twins(pair, 1.0, 1.0, 1.0)]
    failed = {0: "yes", 1: "no", 2: "yes no"}
    b = [row for pair in range(8) for row in twins(pair, 0.5, 1.0, 1.0, failed=failed.get(pair, ""))]
    found = gated(tmp_path, a, b)
    assert found.verdict is not None
    assert found.verdict.n == 5
    assert found.errors == (0, 3)
    # five pairs lose one half; the three that failed lose all, or nothing
    assert found.bounds == pytest.approx((-(5 * 0.5 + 3) / 8, -(5 * 0.5) / 8))


def test_a_question_without_its_twin_has_no_value(tmp_path: Path) -> None:
    a = [row for pair in range(8) for row in twins(pair, 1.0, 1.0, 1.0)][:-1]
    found = gated(tmp_path, a, [row for pair in range(8) for row in twins(pair, 0.5, 1.0, 1.0)][:-1])
    assert found.verdict is not None
    assert found.verdict.n == 7
    assert pair_scores(RunDir(tmp_path / "0-a").rows(), MADE)["pairs"] == 7
