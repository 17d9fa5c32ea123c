"""The gate over recorded runs: each outcome, its exit code, and what stands beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from runner.config import GateConfig, checked
from runner.errors import ConfigError, Refused, UsageError
from runner.gate import Comparison, compare
from runner.gate.sweep import gate
from runner.report.verdict import pair_notes
from runner.types import Row
from tests.support.recorded import answered, arm_config, failed, write_run


def pair(tmp_path: Path, a: list[Row], b: list[Row], **settings: Any) -> Comparison:
    one = write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    two = write_run(tmp_path / "1-b", b, arm=arm_config("b"))
    return compare(one, two, GateConfig(**settings))


def arms(wins: int, ties: int, losses: int, **more: Any) -> tuple[list[Row], list[Row]]:
    """B wins, ties and loses in this order, in clusters of one."""
    outcome = [(False, True)] * wins + [(True, True)] * ties + [(True, False)] * losses
    a = [answered(i, x, cluster=i, keys="a", **more) for i, (x, _) in enumerate(outcome)]
    b = [answered(i, y, cluster=i, keys="b", **more) for i, (_, y) in enumerate(outcome)]
    return a, b


def test_pass_by_the_published_table(tmp_path: Path) -> None:
    """500 items, 40 wins, 20 losses: +4.0 pp, +1.0 .. +7.0 pp, which passes."""
    found = pair(tmp_path, *arms(40, 440, 20))
    assert found.outcome == "pass"
    assert found.verdict is not None
    assert found.verdict.delta == pytest.approx(0.04)
    assert found.verdict.percentile is not None
    assert round(found.verdict.percentile.low, 3) == 0.010
    assert round(found.verdict.percentile.high, 3) == 0.070
    assert found.verdict.discordance == pytest.approx(60 / 500)


def test_a_bound_that_only_reaches_zero_is_unresolved(tmp_path: Path) -> None:
    found = pair(tmp_path, *arms(8, 50, 2))
    assert (found.outcome, found.reason) == ("unresolved", "under_powered")
    assert found.verdict is not None
    assert found.verdict.needed_n is not None
    assert found.verdict.needed_n > 60


def test_fail_and_non_inferiority(tmp_path: Path) -> None:
    a, b = arms(20, 440, 40)
    assert pair(tmp_path, a, b).outcome == "fail"
    assert compare(tmp_path / "0-a", tmp_path / "1-b", GateConfig(min_delta=-8)).outcome == "pass"


def test_few_clusters(tmp_path: Path) -> None:
    a = [answered(i, i % 2 == 0, cluster=i % 5, keys="a") for i in range(100)]
    b = [answered(i, True, cluster=i % 5, keys="b") for i in range(100)]
    found = pair(tmp_path, a, b)
    assert (found.outcome, found.reason) == ("unresolved", "too_few_clusters")


def test_an_abstention_counts_as_wrong(tmp_path: Path) -> None:
    a, b = arms(0, 40, 0)
    b = [answered(i, True, cluster=i, keys="b", label="ABSTAIN", labels=("ABSTAIN",)) for i in range(40)]
    found = pair(tmp_path, a, b)
    assert found.verdict is not None
    assert found.verdict.delta == -1.0
    assert found.outcome == "fail"


def test_a_vacuous_ablation_is_refused(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    same = [answered(i, row.label == "CORRECT", cluster=i, keys="a") for i, row in enumerate(b)]
    found = pair(tmp_path, a, same)
    assert found.outcome == "refused"
    assert "vacuous" in found.reason
    assert "run-to-run noise" in found.reason


def test_the_same_configuration_twice_is_a_null_with_its_band(tmp_path: Path) -> None:
    a, b = arms(13, 138, 13)
    one = write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    two = write_run(
        tmp_path / "1-a",
        [answered(i, r.label == "CORRECT", cluster=i, keys="a") for i, r in enumerate(b)],
        arm=arm_config("a"),
    )
    found = compare(one, two, GateConfig())
    assert found.outcome == "null"
    assert found.null_band is not None
    assert round(found.null_band, 3) == 0.061  # 164 items, 13 wins, 13 losses: −6.1 .. +6.1 pp


def test_a_fake_never_passes(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    one = write_run(tmp_path / "0-a", a, arm=arm_config("a"), fakes=["judge lexical_fake"])
    two = write_run(tmp_path / "1-b", b, arm=arm_config("b"), fakes=["judge lexical_fake"])
    found = compare(one, two, GateConfig())
    assert found.outcome == "refused"
    assert "fake" in found.reason
    assert found.verdict is not None  # shown, for a first look


def test_errors_are_excluded_counted_and_bounded(tmp_path: Path) -> None:
    """Four of 100 questions failed in B: without them 20 wins of 96; with them against B, and for it."""
    a = [answered(i, False, cluster=i, keys="a") for i in range(100)]
    b = [answered(i, i < 20, cluster=i, keys="b") for i in range(96)]
    b += [
        Row(id=f"c{i}/{i}", scenario=f"c{i}", cluster=f"c{i}", category="1", status="judge_unparseable")
        for i in range(96, 100)
    ]
    found = pair(tmp_path, a, b)
    assert found.verdict is not None
    assert found.verdict.n == 96
    assert found.verdict.delta == pytest.approx(20 / 96)
    assert found.errors == (0, 4)
    assert found.bounds == pytest.approx((20 / 100, 24 / 100))
    assert found.outcome == "pass"


def test_too_many_errors_refuse(tmp_path: Path) -> None:
    a, b = arms(10, 90, 0)
    b[:6] = map(failed, b[:6])
    found = pair(tmp_path, a, b)
    assert found.outcome == "refused"
    assert "6 of 100 questions failed (6.0%)" in found.reason
    assert "--retry-errors" in found.reason


def test_a_confound_refuses_with_row_values_and_why(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    one = write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    two = write_run(tmp_path / "1-b", b, arm=arm_config("b"), instrument={"judge.model": "openai:other"})
    found = compare(one, two, GateConfig())
    assert found.outcome == "refused"
    assert found.verdict is None
    assert "judge.model: 'x' against 'openai:other'" in found.reason
    assert compare(one, two, GateConfig(treatment=["judge.model"])).outcome == "pass"


def test_an_unfinished_run_is_incomplete(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    one = write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    two = write_run(tmp_path / "1-b", b[:400], arm=arm_config("b"), questions=500, slice_of=b)
    found = compare(one, two, GateConfig())
    assert found.outcome == "incomplete"
    assert "100 questions are missing" in found.reason


def test_recall_is_not_measurable_without_sources(tmp_path: Path) -> None:
    a = [answered(i, True, cluster=i, label="", labels=(), metrics={"recall@10": 1.0}) for i in range(40)]
    b = [answered(i, True, cluster=i, label="", labels=(), keys="b", metrics={"recall@10": None}) for i in range(40)]
    one = write_run(tmp_path / "0-a", a, arm=arm_config("a"), axis="recall")
    two = write_run(tmp_path / "1-b", b, arm=arm_config("b"), axis="recall")
    found = compare(one, two, GateConfig())
    assert found.outcome == "unmeasurable"
    assert "not measurable for b" in found.reason
    with pytest.raises(UsageError, match="recall axis"):
        compare(one, two, GateConfig(metric="accuracy_abstain_wrong"))
    with pytest.raises(UsageError, match="not recorded"):
        compare(one, two, GateConfig(metric="recal@10"))


def test_both_denominators_of_a_gold_patch(tmp_path: Path) -> None:
    """Of 60 items the patch excludes 10, all of them wins: the headline goes by the 50 others, both are told."""
    a, b = arms(20, 40, 0)
    for rows in (a, b):
        rows[:10] = [replace(row, flags=("gold_excluded",)) for row in rows[:10]]
    found = pair(tmp_path, a, b)
    assert found.verdict is not None
    assert (found.verdict.n, found.verdict.wins) == (50, 10)
    published = found.others["all questions (those with corrupt gold included)"]
    assert (published.n, published.wins) == (60, 20)


def test_the_headline_leaves_category_5_out_and_tells_the_other(tmp_path: Path) -> None:
    a, b = arms(10, 50, 0)
    a += [answered(i, True, cluster=i, category="5", keys="a") for i in range(60, 90)]
    b += [answered(i, False, cluster=i, category="5", keys="b") for i in range(60, 90)]
    found = pair(tmp_path, a, b)
    assert found.verdict is not None
    assert found.verdict.n == 60
    everything = found.others["overall_all"]
    assert (everything.n, everything.wins, everything.losses) == (90, 10, 30)
    assert set(found.categories) == {"1 multi-hop", "5 adversarial"}


def test_stable_only_is_shown_and_never_decides(tmp_path: Path) -> None:
    a, b = arms(30, 30, 0)
    b[:5] = [replace(row, labels=("CORRECT", "WRONG", "CORRECT")) for row in b[:5]]
    found = pair(tmp_path, a, b)
    assert found.verdict is not None
    assert found.verdict.wins == 30
    assert found.others["stable-only"].wins == 25


def test_the_last_row_of_a_retried_question_counts(tmp_path: Path) -> None:
    a, b = arms(0, 40, 0)
    failed = [Row(id=r.id, scenario=r.scenario, cluster=r.cluster, category="1", status="reader_error") for r in b]
    one = write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    two = write_run(tmp_path / "1-b", failed + b, arm=arm_config("b"), questions=40)
    found = compare(one, two, GateConfig())
    assert found.errors == (0, 0)
    assert found.verdict is not None
    assert found.verdict.n == 40


def test_gate_of_a_sweep_with_a_failed_arm(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    write_run(tmp_path / "1-b", b, arm=arm_config("b"))
    (tmp_path / "2-c").mkdir()
    (tmp_path / "2-c" / "failure.json").write_text(json.dumps({"reason": "no server"}))
    jobs = [{"number": n, "overrides": [f"+arm={arm}"]} for n, arm in enumerate("abcd")]
    (tmp_path / "sweep.json").write_text(json.dumps({"format": 1, "jobs": jobs}))
    found = gate([tmp_path])
    assert (found.outcome, found.exit_code) == ("incomplete", 1)
    assert found.failed == [("2-c", "no server"), ("3 +arm=d", "never started")]
    assert [p.outcome for p in found.groups[0].comparisons] == ["pass"]
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("arms_of", "code"), [((40, 440, 20), 0), ((20, 440, 40), 3), ((5, 50, 5), 4)], ids=["pass", "fail", "unresolved"]
)
def test_exit_codes(tmp_path: Path, arms_of: tuple[int, int, int], code: int) -> None:
    a, b = arms(*arms_of)
    write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    write_run(tmp_path / "1-b", b, arm=arm_config("b"))
    assert gate([tmp_path]).exit_code == code


def test_baseline_holm_and_names(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    write_run(tmp_path / "1-b", b, arm=arm_config("b", knobs={"graph": True}))
    write_run(tmp_path / "2-b", [*b], arm=arm_config("b", knobs={"graph": False, "mmr": True}))
    found = gate([tmp_path], {"baseline": "b [graph=True]"})
    group = found.groups[0]
    assert group.baseline == "b [graph=True]"
    assert [arm.name for arm in group.arms] == ["a", "b [graph=True]", "b [graph=False, mmr=True]"]
    assert all(p.holm_p is None or 0 <= p.holm_p <= 1 for p in group.comparisons)
    with pytest.raises(UsageError, match="no such arm here; there are a, b"):
        gate([tmp_path], {"baseline": "zzz"})


def test_a_choice_by_name_tells_arms_apart_by_that_name(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    ask, judge = {"name": "ask", "provider": "ask"}, {"name": "j", "provider": "openai", "model": "j"}
    mini = {"name": "mini", "provider": "openai", "model": "m"}
    for number, reader in enumerate([ask, mini, {**mini, "model": "n"}]):
        write_run(
            tmp_path / f"{number}-own",
            [a, b, b][number],
            arm=arm_config("own"),
            config={"reader": reader, "judge": judge},
        )
    (group,) = gate([tmp_path]).groups
    assert [arm.name for arm in group.arms] == [
        "own [reader=ask, reader.model=]",
        "own [reader=mini, reader.model=m]",
        "own [reader=mini, reader.model=n]",
    ]
    write_run(tmp_path / "two" / "0-own", a, arm=arm_config("own"), config={"reader": ask, "judge": judge})
    write_run(tmp_path / "two" / "1-own", b, arm=arm_config("own"), config={"reader": mini, "judge": judge})
    (group,) = gate([tmp_path / "two"]).groups
    assert [arm.name for arm in group.arms] == ["own [reader=ask]", "own [reader=mini]"]


def test_a_sweep_over_the_instrument_is_refused_not_split(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    write_run(
        tmp_path / "1-a", b, arm=arm_config("a"), instrument={"judge.model": "y"}, config={"judge": {"name": "y"}}
    )
    assert gate([tmp_path]).exit_code == 5


def test_two_settings_make_two_groups(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    for number, (name, rows, budget) in enumerate([("a", a, "s"), ("b", b, "s"), ("a", b, "l"), ("b", a, "l")]):
        write_run(tmp_path / f"{number}-{name}", rows, arm=arm_config(name), config={"budget": {"name": budget}})
    found = gate([tmp_path])
    assert [group.setting for group in found.groups] == [{"budget.name": "s"}, {"budget.name": "l"}]
    assert [p.outcome for group in found.groups for p in group.comparisons] == ["pass", "fail"]
    assert found.exit_code == 3


def test_zero_items_all_ties_one_arm(tmp_path: Path) -> None:
    a, b = arms(0, 40, 0)
    found = pair(tmp_path / "ties", a, b)
    assert found.outcome == "unresolved"
    empty = pair(tmp_path / "none", [], [])
    assert (empty.outcome, empty.reason) == ("unresolved", "no_items")
    write_run(tmp_path / "one" / "0-a", a, arm=arm_config("a"))
    alone = gate([tmp_path / "one"])
    assert (alone.outcome, alone.exit_code) == ("none", 0)
    with pytest.raises(UsageError, match="named twice"):
        gate([tmp_path / "one" / "0-a"] * 2)


def test_the_same_configuration_that_differs_beyond_chance_is_refused(tmp_path: Path) -> None:
    """Code that changed under one name looks like this: an A/A pair whose interval excludes 0 is no null."""
    a, b = arms(40, 440, 0)
    one = write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    two = write_run(tmp_path / "1-a", b, arm=arm_config("a"))
    found = compare(one, two, GateConfig())
    assert found.outcome == "refused"
    assert "something changed that no setting tells" in found.reason
    assert found.null_band is None


@pytest.mark.parametrize("row", ["reader.model", "judge.model", "judge.rubric", "reader.prompt"])
def test_an_ablation_behind_retrieval_is_not_vacuous(tmp_path: Path, row: str) -> None:
    a, b = arms(40, 440, 20)
    b = [replace(item, keys="a") for item in b]
    one = write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    two = write_run(tmp_path / "1-a", b, arm=arm_config("a"), instrument={row: "y"})
    assert compare(one, two, GateConfig(treatment=[row])).outcome == "pass"
    assert compare(one, two, GateConfig()).outcome == "refused"


def test_bounds_when_both_arms_failed_on_the_same_question(tmp_path: Path) -> None:
    """50 questions, B wins 10; one failed in both arms, one in A alone where B was right."""
    a = [answered(i, False, cluster=i, keys="a") for i in range(50)]
    b = [answered(i, i < 10, cluster=i, keys="b") for i in range(50)]
    a[49], b[49], a[0] = failed(a[49]), failed(b[49]), failed(a[0])
    found = pair(tmp_path, a, b)
    assert found.verdict is not None
    assert (found.verdict.n, found.verdict.wins) == (48, 9)
    # low: 9 wins, question 0 a tie, question 49 a loss; high: 9 + 1 + 1
    assert found.bounds == pytest.approx((8 / 50, 11 / 50))


def test_as_published_reads_the_metric_against_published_gold(tmp_path: Path) -> None:
    """60 questions: patched gold gives B 20 wins; as published it is 6, and 10 questions are excluded by the patch."""

    def rows(keys: str, patched: int, published: int) -> list[Row]:
        out = []
        for i in range(60):
            metrics = {"recall@10": float(i < patched), "published_recall@10": float(i < published)}
            flags = ("gold_excluded",) if i >= 50 else ()
            out.append(answered(i, True, cluster=i, keys=keys, label="", labels=(), metrics=metrics, flags=flags))
        return out

    one = write_run(tmp_path / "0-a", rows("a", 0, 0), arm=arm_config("a"), axis="recall")
    two = write_run(tmp_path / "1-b", rows("b", 20, 6), arm=arm_config("b"), axis="recall")
    found = compare(one, two, GateConfig())
    assert found.verdict is not None
    assert (found.verdict.n, found.verdict.wins) == (50, 20)
    published = found.others["all questions (those with corrupt gold included)"]
    assert (published.n, published.wins) == (60, 6)


def test_the_value_of_an_arm_is_that_of_the_denominator_the_gate_reads(tmp_path: Path) -> None:
    a, b = arms(0, 40, 0)
    a += [answered(i, False, cluster=i, category="5", keys="a") for i in range(40, 80)]
    b += [answered(i, False, cluster=i, category="5", keys="b") for i in range(40, 80)]
    write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    write_run(tmp_path / "1-b", b, arm=arm_config("b"))
    for categories, value in (("comparable", 1.0), ("all", 0.5)):
        told = gate([tmp_path], {"categories": categories}).to_dict()["groups"][0]
        assert [arm["value"] for arm in told["arms"]] == [value, value]
        assert told["comparisons"][0]["verdict"]["mean_b"] == value


def test_the_baseline_does_not_move_when_it_failed(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    write_run(tmp_path / "1-b", a, arm=arm_config("b"))
    write_run(tmp_path / "2-c", b, arm=arm_config("c"))
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "failure.json").write_text(json.dumps({"reason": "no server"}))
    jobs = [{"number": n, "overrides": [f"+arm={arm}"]} for n, arm in enumerate("abc")]
    (tmp_path / "sweep.json").write_text(json.dumps({"format": 1, "jobs": jobs}))
    for changes in ({}, {"baseline": "a"}):
        found = gate([tmp_path], changes)
        assert found.exit_code == 1
        assert found.groups[0].baseline == "a (missing)"
        assert found.groups[0].comparisons == []


def test_an_unranked_control_does_not_decide_a_sweep(tmp_path: Path) -> None:
    def rows(keys: str, value: float | None) -> list[Row]:
        metrics = {"recall@10": value, "fraction@all": 1.0}
        return [answered(i, True, cluster=i, keys=keys, label="", labels=(), metrics=metrics) for i in range(40)]

    write_run(tmp_path / "0-a", rows("a", 0.0), arm=arm_config("a"), axis="recall")
    write_run(tmp_path / "1-b", rows("b", 1.0), arm=arm_config("b"), axis="recall")
    write_run(tmp_path / "2-c", rows("c", None), arm=arm_config("c"), axis="recall")
    found = gate([tmp_path])
    assert [p.outcome for p in found.groups[0].comparisons] == ["pass", "unmeasurable"]
    assert found.exit_code == 0
    assert gate([tmp_path / "0-a", tmp_path / "2-c"]).exit_code == 5


def test_holm_counts_only_arms_that_got_a_verdict(tmp_path: Path) -> None:
    a, b = arms(40, 440, 20)
    write_run(tmp_path / "0-a", a, arm=arm_config("a"))
    write_run(tmp_path / "1-b", b, arm=arm_config("b"))
    write_run(tmp_path / "2-c", b, arm=arm_config("c"), fakes=["embedder hashed"])
    alone = gate([tmp_path]).groups[0].comparisons
    assert [p.outcome for p in alone] == ["pass", "refused"]
    assert all(p.holm_p is None for p in alone)
    write_run(tmp_path / "3-d", b, arm=arm_config("d"))
    adjusted = gate([tmp_path]).groups[0].comparisons
    p = adjusted[0].verdict.companion_p  # type: ignore[union-attr]
    assert [x.holm_p for x in adjusted] == [pytest.approx(2 * p), None, pytest.approx(2 * p)]


def test_an_arm_does_not_choose_its_own_denominator(tmp_path: Path) -> None:
    """B cannot be measured on the 140 questions that it would have missed: no pass on the 160 others."""
    a = [
        answered(i, True, cluster=i % 12, keys="a", label="", labels=(), metrics={"recall@10": float(i % 2)})
        for i in range(300)
    ]
    b = [
        answered(
            i, True, cluster=i % 12, keys="b", label="", labels=(), metrics={"recall@10": None if i < 140 else 1.0}
        )
        for i in range(300)
    ]
    one = write_run(tmp_path / "0-a", a, arm=arm_config("a"), axis="recall")
    two = write_run(tmp_path / "1-b", b, arm=arm_config("b"), axis="recall")
    found = compare(one, two, GateConfig())
    assert found.outcome == "refused"
    assert "not measurable on 140 of 300 questions" in found.reason


def test_the_error_share_is_that_of_the_headline(tmp_path: Path) -> None:
    """97 of 1540 headline questions failed: 6.3 %, whatever the 446 clean ones of another category."""
    a = [answered(i, False, cluster=i % 40, keys="a") for i in range(1540)]
    b = [answered(i, i % 2 == 0, cluster=i % 40, keys="b") for i in range(1540)]
    b[:97] = map(failed, b[:97])
    for rows, keys in ((a, "a"), (b, "b")):
        rows += [answered(i, True, cluster=i % 40, category="5", keys=keys) for i in range(1540, 1986)]
    found = pair(tmp_path, a, b)
    assert found.outcome == "refused"
    assert "97 of 1540 questions failed (6.3%)" in found.reason


def test_a_pass_that_the_errors_could_undo_says_so(tmp_path: Path) -> None:
    a, b = arms(30, 420, 12)
    b[30:48] = [failed(row, "judge_error") for row in b[30:48]]
    found = pair(tmp_path, a, b)
    assert found.outcome == "pass"
    assert found.bounds is not None
    assert found.bounds[0] == pytest.approx((30 - 12 - 18) / 462)
    assert any(note.startswith("errors_could_undo") for note in found.notes)


def test_repeats_get_a_rank_test_and_identical_retrieval_is_told(tmp_path: Path) -> None:
    """Eight clusters, means of three labels each; scipy's exact signed ranks are the oracle."""
    from scipy.stats import wilcoxon

    def labels(right: int) -> tuple[str, ...]:
        return ("CORRECT",) * right + ("WRONG",) * (3 - right)

    a = [answered(i, False, cluster=i // 2, keys="same" if i < 4 else f"a{i}", labels=labels(0)) for i in range(16)]
    gains = [0, 1, 2, 3, 1, 1, 2, 2, 3, 3, 3, 2, 0, 2, 1, 3]
    b = [
        answered(i, gain >= 2, cluster=i // 2, keys="same" if i < 4 else f"b{i}", labels=labels(gain))
        for i, gain in enumerate(gains)
    ]
    write_run(tmp_path / "0-a", a, arm=arm_config("a"), instrument={"repeats": 3})
    write_run(tmp_path / "1-b", b, arm=arm_config("b"), instrument={"repeats": 3})
    (pair,) = gate([tmp_path]).groups[0].comparisons
    means = [(gains[2 * c] + gains[2 * c + 1]) / 6 for c in range(8)]
    assert pair.wilcoxon_p == pytest.approx(wilcoxon(np.round(means, 12)).pvalue)
    assert pair.identical_share == 0.25
    notes = " ".join(pair_notes(pair))
    assert "identical retrieval 25%" in notes
    assert "Wilcoxon over means p 0.0" in notes


def test_a_band_is_measured_by_an_a_a_sweep(tmp_path: Path) -> None:
    def sweep(folder: Path, flips: int, arms: tuple[str, str], **more: object) -> Path:
        rows = [answered(i, i % 2 == 0, keys=f"{arms[0]}{i}") for i in range(100)]
        others = [
            answered(i, (i % 2 == 0) ^ (i % 10 == 2 + i // 10 % 2 and i < flips), keys=f"{arms[1]}{i}x")
            for i in range(100)
        ]
        for number, (name, found) in enumerate(zip(arms, (rows, others), strict=True)):
            write_run(folder / f"{number}-{name}", found, arm=arm_config(name), **more)  # type: ignore[arg-type]
        return folder

    null = sweep(tmp_path / "null", 40, ("a", "a2"))
    # the same arm twice: what differs is the name alone
    text = (null / "1-a2" / "config.yaml").read_text().replace("graph: true", "graph: false")
    (null / "1-a2" / "config.yaml").write_text(text)
    real = sweep(tmp_path / "real", 100, ("a", "b"))
    (measured,) = gate([null]).groups[0].comparisons
    assert measured.outcome == "null"
    assert measured.null_band is not None
    (pair,) = gate([real], {"band": f"from:{null}"}).groups[0].comparisons
    assert pair.verdict is not None
    assert pair.verdict.band == pytest.approx(measured.null_band)
    assert any("measured by the A/A pair" in note and "another memory" not in note for note in pair.notes)
    elsewhere = sweep(tmp_path / "elsewhere", 100, ("c", "d"))
    for folder in elsewhere.iterdir():
        config = folder / "config.yaml"
        config.write_text(config.read_text().replace("system: hybrid", "system: dense"))
    (pair,) = gate([elsewhere], {"band": f"from:{null}"}).groups[0].comparisons
    assert any("of another memory (a)" in note for note in pair.notes)
    (null / "1-a2").rename(tmp_path / "away")
    with pytest.raises(UsageError, match="holds no A/A pair"):
        gate([real], {"band": f"from:{null}"})
    other = sweep(tmp_path / "other", 40, ("a", "a2"), instrument={"dataset.sha256": "else"})
    (other / "1-a2" / "config.yaml").write_text(text)
    with pytest.raises(Refused, match=r"measured with another instrument \(dataset.sha256"):
        gate([real], {"band": f"from:{other}"})
    with pytest.raises(UsageError, match="no such directory"):
        gate([real], {"band": "from:nowhere"})


def test_a_person_declares_what_a_record_does_not_know(tmp_path: Path) -> None:
    rows = {"judge.model": "unknown", "judge.rubric": "unknown", "embedder": "unknown"}
    for number, name in enumerate("ab"):
        found = [answered(i, (i + number) % 3 == 0, keys=f"{name}{i}") for i in range(100)]
        write_run(tmp_path / f"{number}-{name}", found, arm=arm_config(name), instrument=rows)
    (pair,) = gate([tmp_path]).groups[0].comparisons
    assert pair.outcome == "refused"
    assert {confound.row for confound in pair.comparability.confounds} == set(rows)
    (pair,) = gate([tmp_path], {"same": ["judge"], "treatment": ["embedder"]}).groups[0].comparisons
    assert pair.outcome in ("pass", "fail", "unresolved")
    assert pair.to_dict()["declared_same"] == ["judge.model", "judge.rubric"]
    assert any("declared to be the same by a person" in note for note in pair.notes)
    with pytest.raises(UsageError, match="'juge' is not a row of the instrument"):
        gate([tmp_path], {"same": ["juge"]})


def test_what_is_known_and_differs_cannot_be_declared_away(tmp_path: Path) -> None:
    for number, name in enumerate("ab"):
        found = [answered(i, True, keys=f"{name}{i}") for i in range(100)]
        write_run(tmp_path / f"{number}-{name}", found, arm=arm_config(name), instrument={"judge.model": name})
    (pair,) = gate([tmp_path], {"same": ["judge"]}).groups[0].comparisons
    assert pair.outcome == "refused"
    assert "judge.model" in pair.reason


@pytest.mark.parametrize("patched", ["a", "b"])
def test_a_patch_of_either_arm_leaves_its_questions_out_of_both(tmp_path: Path, patched: str) -> None:
    for number, name in enumerate("ab"):
        more = [{"flags": ("gold_excluded",)} if name == patched and i < 10 else {} for i in range(100)]
        found = [answered(i, (i + number) % 3 == 0, keys=f"{name}{i}", **more[i]) for i in range(100)]
        write_run(tmp_path / f"{number}-{name}", found, arm=arm_config(name))
    (pair,) = gate([tmp_path]).groups[0].comparisons
    assert pair.verdict is not None
    assert pair.verdict.n == 90
    assert pair.others["all questions (those with corrupt gold included)"].n == 100
    assert f"the gold patch of {patched} leaves 10 questions out of both arms" in pair.notes


def test_a_row_is_not_both_the_same_and_the_treatment() -> None:
    with pytest.raises(ConfigError, match="judge is declared to be the same and to be the treatment"):
        checked(GateConfig, {"same": ["judge"], "treatment": ["judge"]}, "gate.")
    for band in (-1, 101, "from:", "wide", None, True):
        with pytest.raises(ConfigError, match=r"gate.band: give points from 0 to 100, or from:DIR"):
            checked(GateConfig, {"band": band}, "gate.")


def test_several_declarations_go_into_one_word(tmp_path: Path, cli: Any) -> None:
    rows = {"judge.model": "unknown", "embedder": "unknown"}
    for number, name in enumerate("ab"):
        found = [answered(i, (i + number) % 3 == 0, keys=f"{name}{i}") for i in range(60)]
        write_run(tmp_path / name, found, arm=arm_config(name), instrument=rows)
    done = cli("gate", "a", "b", "--declare", "judge=same,embedder=treatment", "--json")
    assert done.returncode in (0, 3, 4), done.stderr
    (pair,) = json.loads(done.stdout)["groups"][0]["comparisons"]
    assert pair["declared_same"] == ["judge.model"]


def test_ties_are_no_evidence_for_a_threshold(tmp_path: Path) -> None:
    found = pair(tmp_path, *arms(0, 79, 0), min_delta=-2.0)
    assert found.verdict is not None
    assert (found.verdict.verdict, found.verdict.sign_flip, found.verdict.companion_p) == ("unresolved", None, None)
    assert found.category_p == {}
