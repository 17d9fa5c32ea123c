from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import UsageError
from runner.stats.bootstrap import paired_bootstrap
from runner.stats.clustered import mcnemar_p, widened
from runner.stats.multiple import holm
from runner.stats.paired import judge_many, judge_pairs
from runner.stats.verdict import Verdict, verdict_of


def arms(wins: int, ties: int, losses: int) -> tuple[list[int], list[int]]:
    """0/1 labels; half of the ties are right in both arms."""
    same = [i % 2 for i in range(ties)]
    return [0] * wins + [1] * losses + same, [1] * wins + [0] * losses + same


def test_everything_beside_the_verdict() -> None:
    a, b = arms(40, 440, 20)
    found = judge_pairs(a, b)
    assert (found.verdict, found.reason, found.warnings) == ("pass", None, ())
    assert (found.n, found.clusters, found.wins, found.losses, found.ties) == (500, 500, 40, 20, 440)
    assert (found.mean_a, found.mean_b) == (0.48, 0.52)
    assert (found.delta, found.discordance) == (0.04, 0.12)
    assert found.percentile == paired_bootstrap([1.0] * 40 + [-1.0] * 20 + [0.0] * 440)
    assert found.mcnemar_p == mcnemar_p(40, 20) == found.companion_p
    assert found.sign_flip is not None
    assert found.sign_flip.p == pytest.approx(found.mcnemar_p)
    assert found.icc is None  # one item a cluster
    # n = 500, psi = .12: ((1.96 * sqrt(.12) + .8416 * sqrt(.12 - d^2)) / d)^2 = 500
    assert found.mde is not None
    d = found.mde
    assert ((1.95996 * 0.12**0.5 + 0.84162 * (0.12 - d * d) ** 0.5) / d) ** 2 == pytest.approx(500, rel=1e-4)
    assert found.needed_n is None
    assert "PASS; +4.0 pp; 95% CI +1.0 .. +7.0 pp (percentile); n = 500, 500 clusters, 60 discordant" in found.line()


def test_under_powered_says_how_many_pairs() -> None:
    found = judge_pairs(*arms(6, 52, 2))
    assert (found.verdict, found.reason) == ("unresolved", "under_powered")
    # psi = 8/60, d = 4/60: (1.95996 * sqrt(.13333) + .84162 * sqrt(.13333 - .0044444))^2 / .0044444
    # = (.71568 + .30215)^2 / .0044444 = 233.1
    assert found.needed_n == 234


def test_a_bound_that_only_reaches_zero_is_no_pass() -> None:
    found = judge_pairs(*arms(8, 50, 2))
    assert found.verdict == "unresolved"
    assert found.percentile is not None
    assert found.percentile.low == 0


def test_six_clusters_of_the_seed() -> None:
    a, b = arms(8, 50, 2)
    found = judge_pairs(a, b, [f"c{i // 10}" for i in range(60)])
    assert (found.verdict, found.deciding_kind) == ("unresolved", "widened")
    assert "few_clusters" in found.warnings
    assert found.sign_flip is not None
    assert found.sign_flip.p == 1  # one cluster differs from 0: both signs are as far
    assert found.companion_p == 1


def test_percentile_mode_is_the_letter() -> None:
    a = [0] * 20
    b = [1, 1, 1, 0] * 5
    clusters = [f"c{i // 4}" for i in range(20)]
    assert judge_pairs(a, b, clusters).reason == "too_few_clusters"
    letter = judge_pairs(a, b, clusters, mode="percentile")
    assert letter.verdict == "pass"
    assert set(letter.warnings) >= {"too_few_clusters", "fragile_pass"}  # the least p of five clusters is 1/16


def test_few_discordant_pairs_make_a_pass_fragile() -> None:
    a, b = arms(5, 45, 0)
    found = judge_pairs(a, b, mode="percentile")
    assert (found.verdict, found.warnings) == ("pass", ("fragile_pass",))
    assert judge_pairs(*arms(6, 44, 0)).warnings == ()  # p = 1/32


def test_leverage() -> None:
    # Forty clusters of ten with sums of +1 (16), -1 (4) and 0 (20): 12 items with a standard error of 4, a pass that
    # no single cluster carries.
    sums = [1] * 16 + [-1] * 4 + [0] * 20

    def judged(sums: list[int]) -> Verdict:
        deltas = [float(np.sign(s)) if i < abs(s) else 0.0 for s in sums for i in range(10)]
        keys = [f"c{c:02d}" for c in range(len(sums)) for _ in range(10)]
        return judge_pairs(np.zeros(len(deltas)), deltas, keys)

    calm = judged(sums)
    assert (calm.verdict, calm.warnings) == ("pass", ())
    # One more cluster, which loses nine: 3 with a standard error of 10, and without it the pass above.
    pulled = judged([*sums, -9])
    assert (pulled.verdict, pulled.warnings) == ("unresolved", ("leverage",))


def test_leverage_of_a_large_cluster_near_the_mean() -> None:
    # Neither end of the drop-one means, but without its 60 items the rest no longer passes.
    sums, sizes = [12, 2, 4, 3, 4, -1, 9, -3, 3, 0], [60] + [12] * 9
    deltas = np.concatenate(
        [[np.sign(s)] * abs(s) + [0] * (n - abs(s)) for s, n in zip(sums, sizes, strict=True)]
    ).astype(float)
    found = judge_pairs(deltas < 0, deltas > 0, np.repeat(np.arange(10), sizes))
    assert (found.verdict, found.deciding_kind) == ("pass", "widened")
    assert "leverage" in found.warnings


def test_single_items_have_no_leverage_also_among_other_rows() -> None:
    keys = [0, 0, *range(1, 40)]
    b = np.array([1, 1, *[1] * 9, *[0] * 30])
    alone = np.arange(41) > 0
    whole, singles = judge_many([0] * 41, [b, b], keys, present=[alone | ~alone, alone])
    assert whole.clusters == singles.clusters == 40
    assert singles == judge_pairs([0] * 40, b[alone], keys[1:])


def test_leverage_against_dropping_each_cluster() -> None:
    chooser = np.random.default_rng(2)
    told = []
    for _ in range(40):
        sizes = chooser.integers(8, 30, 8)
        keys = np.repeat(np.arange(8), sizes)
        means = chooser.normal(0.1, 0.1, 8).clip(-0.3, 0.3)[keys]
        draw = chooser.random(keys.size)
        deltas = np.where(draw < (0.3 + means) / 2, 1.0, np.where(draw > 1 - (0.3 - means) / 2, -1.0, 0.0))
        found = judge_pairs(deltas < 0, deltas > 0, keys)
        if found.deciding_kind != "widened":
            continue
        flips, near = False, False
        for c in range(8):
            rest = keys != c
            shown = paired_bootstrap(deltas[rest], keys[rest], method="exact")
            bounds = widened(shown.mean, shown.low, shown.high, 7)
            flips |= verdict_of(shown.mean, bounds.low, bounds.high)[0] != found.verdict
            near |= min(abs(bounds.low), abs(bounds.high)) < 0.08 * (bounds.high - bounds.low)
        if not near:  # a resampled bound has noise
            told.append(flips)
            assert ("leverage" in found.warnings) == flips
    assert {True, False} == set(told)


def test_unclustered_is_said() -> None:
    assert judge_pairs(*arms(40, 440, 20), unclustered=True).warnings == ("unclustered",)


def test_non_inferiority() -> None:
    a, b = arms(10, 480, 10)
    assert judge_pairs(a, b, min_delta=-0.03).verdict == "pass"
    assert judge_pairs(a, b, min_delta=-0.03).warnings == ()
    assert judge_pairs(a, b).verdict == "unresolved"
    assert judge_pairs(a, b, min_delta=0.05).verdict == "fail"


def test_graded_scores_have_no_mcnemar() -> None:
    found = judge_pairs([0.5, 0.2, 0.3, 0.1, 0.0, 0.4, 0.2], [0.7, 0.4, 0.35, 0.5, 0.1, 0.45, 0.3])
    assert found.mcnemar_p is None
    assert found.verdict == "pass"
    assert found.companion_p == pytest.approx(2 / 128)


def test_nothing_and_one_cluster_and_all_ties_never_pass() -> None:
    nothing = judge_pairs([], [])
    assert (nothing.verdict, nothing.reason, nothing.delta) == ("unresolved", "no_items", None)
    for mode in ("auto", "percentile"):
        alone = judge_pairs([0, 0, 0], [1, 1, 1], ["a"] * 3, mode=mode, min_delta=-0.5)
        assert (alone.verdict, alone.reason) == ("unresolved", "too_few_clusters")
        assert (alone.percentile, alone.deciding) == (None, None)
    for min_delta in (0.0, -0.05):
        ties = judge_pairs([1] * 50, [1] * 50, min_delta=min_delta)
        assert (ties.verdict, ties.reason, ties.mde) == ("unresolved", "noise_floor", None)
        assert ties.mde_note == "all_ties"
        assert "all_ties" in ties.warnings
    assert not judge_pairs([1] * 50, [1] * 50).equivalent  # 1 - .025^(1/50) = 7.1 %
    assert judge_pairs([1] * 100, [1] * 100).equivalent  # 3.6 %
    for found in (nothing, alone, ties):
        json.dumps(found.to_dict(), allow_nan=False)
        assert "nan" not in found.line()


@pytest.mark.parametrize(
    ("n", "k", "min_delta", "verdict"),
    [
        (10_000, None, -0.02, "pass"),  # 1 - .025^(1/10000) = .04 %
        (100, None, -0.02, "unresolved"),  # 3.6 %
        (10_000, 10, -0.02, "unresolved"),  # ten clusters: 31 %
        (6, None, 0.01, "unresolved"),  # 46 %
        (10_000, None, 0.01, "fail"),
        (10_000, None, 0.0, "unresolved"),
    ],
)
@pytest.mark.parametrize("mode", ["auto", "percentile"])
def test_all_ties_against_a_threshold(n, k, min_delta, verdict, mode) -> None:
    clusters = None if k is None else np.arange(n) % k
    found = judge_pairs(np.ones(n), np.ones(n), clusters, min_delta=min_delta, mode=mode, resamples=200)
    assert (found.verdict, found.deciding_kind) == (verdict, "tie_bound")
    assert found.deciding is not None
    assert found.deciding.high == pytest.approx(1 - 0.025 ** (1 / (k or n)))
    assert "all_ties" in found.warnings
    assert "fragile_pass" not in found.warnings


def test_all_ties_in_another_unit() -> None:
    values = np.linspace(0, 50, 200)  # seconds: a pair can differ by 50
    found = judge_pairs(values, values)
    assert found.deciding is not None
    assert found.deciding.high == pytest.approx(50 * (1 - 0.025 ** (1 / 200)))


def test_clusters_all_alike_are_said() -> None:
    # Six clusters with one win in ten: no width, and a share of 1 - .025^(1/6) = 46 % could be otherwise.
    b = [int(i % 10 == 0) for i in range(60)]
    found = judge_pairs([0] * 60, b, [i // 10 for i in range(60)])
    assert found.percentile is not None
    assert (found.percentile.low, found.percentile.high) == (0.1, 0.1)
    assert (found.verdict, found.warnings) == ("pass", ("few_clusters", "no_spread"))
    # Nearly so: with ninety wins in each of the clusters of 900 and one more in one, .0001 wide.
    b = [int(i % 10 == 0) for i in range(5400)]
    b[1] = 1
    assert "no_spread" in judge_pairs([0] * 5400, b, [i // 900 for i in range(5400)]).warnings
    # Every item won in twelve clusters: 26 % of them could be lost without turning it.
    assert judge_pairs([0] * 300, [1] * 300, [i % 12 for i in range(300)]).warnings == ("few_clusters",)
    assert "no_spread" in judge_pairs([0.0] * 6, [0.05] * 6).warnings
    assert judge_pairs(np.zeros(10_000), np.full(10_000, 0.05), resamples=200).warnings == ()  # .04 % of 1.05


def test_a_dominant_cluster_is_the_reason() -> None:
    keys = [0] * 970 + [c for c in range(1, 6) for _ in range(6)]
    a, b = np.zeros(1000), (np.arange(1000) % 4 == 0).astype(float)
    found = judge_pairs(a, b, keys)
    assert (found.verdict, found.reason, found.clusters) == ("unresolved", "dominant_cluster", 6)
    assert found.deciding_kind == "percentile"
    assert found.percentile == paired_bootstrap(b, keys)
    assert (found.mde, found.mde_note, found.needed_n) == (None, "dominant_cluster", None)


def test_needed_is_more_than_there_are() -> None:
    keys = np.repeat(np.arange(7), [60] + [10] * 6)  # g_eff = 120² / 4200 = 3.43 of 7
    seen = 0
    for seed in range(30):
        deltas = np.random.default_rng(seed).choice([-1, 0, 1], 120, p=[0.05, 0.65, 0.3])
        found = judge_pairs(deltas < 0, deltas > 0, keys, resamples=300)
        assert (found.deciding_kind, found.needed_n) == ("cr3_t", None)
        found = judge_pairs(deltas < 0, deltas > 0, np.arange(120) % 6, min_delta=0.211, resamples=300)
        if found.reason == "under_powered":
            seen += 1
            assert found.needed_n is not None
            assert found.needed_n > 120
    assert seen > 5


def test_the_detectable_effect_grows_with_the_interval() -> None:
    # Ten clusters of twenty with two wins and two losses each: a negative ICC, so no inflation. psi = .2, n = 200:
    # d = .0873 solves ((1.95996 * sqrt(.2) + .84162 * sqrt(.2 - d²)) / d)² = 200.
    a = [0, 0, 1, 1, *[0] * 16] * 10
    b = [1, 1, 0, 0, *[0] * 16] * 10
    found = judge_pairs(a, b, [i // 20 for i in range(200)])
    assert found.deciding_kind == "widened"
    assert found.mde is not None
    d = found.mde / 1.21662  # f(10)
    assert ((1.95996 * 0.2**0.5 + 0.84162 * (0.2 - d * d) ** 0.5) / d) ** 2 == pytest.approx(200, rel=1e-3)


def test_the_detectable_effect_never_vanishes_without_a_word() -> None:
    found = judge_pairs(*arms(2, 58, 0))  # psi = 1/30: d of Connor's formula is 6.4 pp, beyond 3.3
    assert found.mde is not None
    assert found.mde > 2 / 60
    assert found.mde_note == "beyond_discordance"
    assert "more than the share of pairs that disagree" in found.line()
    # Six clusters of four, each all won or all lost: psi = 1 and ICC = 1, six independent units. d = .87 solves
    # ((1.95996 + .84162 * sqrt(1 - d²)) / d)² = 6, and times f(6) = 1.437 it is more than any two arms can differ.
    a = [i // 4 % 2 for i in range(24)]
    alike = judge_pairs(a, [1 - value for value in a], [i // 4 for i in range(24)])
    assert (alike.mde, alike.mde_note) == (None, "beyond_range")
    assert "cannot be told (not even the greatest difference there can be)" in alike.line()
    assert judge_pairs([], []).mde_note == "no_items"


@pytest.mark.parametrize(("n", "fragile"), [(103, True), (1000, False)])
def test_few_discordant_pairs_of_a_non_inferior_arm(n, fragile) -> None:
    # No loss in 103 single items leaves 1 - .025^(1/103) = 3.5 % of losses possible, in 1000 .37 %.
    found = judge_pairs([0] * n, [1] + [0] * (n - 1), min_delta=-0.02)
    assert (found.verdict, "fragile_pass" in found.warnings) == ("pass", fragile)


def test_discordance_of_labels() -> None:
    a, b = np.array([0.0, 0.0, 1.0, 1.0] * 5), np.array([1.0, 0.0, 1.0, 0.0] * 5)
    differ = np.array([True, True, False, True] * 5)  # the second: abstained against wrong, equal in value
    here = np.arange(20) < 8
    whole, part = judge_many(a, [b, b], present=[here | ~here, here], differ=differ[None, :])
    assert (whole.discordance, part.discordance) == (0.75, 0.75)
    assert (whole.wins, whole.losses, whole.ties) == (5, 5, 10)
    assert whole.mde == judge_pairs(a, b).mde
    assert judge_pairs(a, b).discordance == 0.5
    with pytest.raises(UsageError, match="differ: shape"):
        judge_many(a, [b, b], differ=differ[:5])


def test_the_least_p_tells_what_holm_can_reach() -> None:
    b = [int(i % 10 <= i // 10) for i in range(60)]
    found = judge_pairs([0] * 60, b, [i // 10 for i in range(60)])
    assert found.companion_p == found.companion_least_p == 1 / 32
    assert holm([found.companion_least_p] * 2).tolist() == [1 / 16] * 2
    assert judge_pairs(*arms(3, 20, 2)).companion_least_p == 2 / 2**5  # five discordant pairs
    assert judge_pairs([], []).companion_least_p is None
    assert found.to_dict()["companion_least_p"] == 1 / 32


@pytest.mark.parametrize(
    ("a", "b", "kwargs", "says"),
    [
        ([1, 0], [1], {}, "pair the arms by question id"),
        ([1, float("nan")], [1, 0], {}, "a: 1 of 2 values are not finite"),
        ([1, 0], ["x", "y"], {}, "b: every value must be a number"),
        ([1, 0], [1, 0], {"band": -1}, "band"),
        ([1, 0], [1, 0], {"band": float("nan")}, "band"),
        ([1, 0], [1, 0], {"min_delta": float("nan")}, "min_delta"),
        ([1, 0], [1, 0], {"mode": "bca"}, "choose auto or percentile"),
        ([], [], {"mode": "bca"}, "choose auto or percentile"),
        ([1, 0], [1, 0], {"clusters": ["a", None]}, "has no cluster"),
    ],
)
def test_bad_input(a, b, kwargs, says) -> None:
    with pytest.raises(UsageError, match=says):
        judge_pairs(a, b, **kwargs)


def test_many_equals_one_by_one() -> None:
    chooser = np.random.default_rng(5)
    a, b = chooser.integers(0, 2, 300), chooser.integers(0, 2, (3, 300))
    keys = [f"c{i % 40:02d}" for i in range(300)]
    many = judge_many(a, b, keys, min_delta=0.01)
    assert many == [judge_pairs(a, row, keys, min_delta=0.01) for row in b]


def test_a_category_uses_its_own_items() -> None:
    chooser = np.random.default_rng(6)
    a, b = chooser.integers(0, 2, 300), chooser.integers(0, 2, 300)
    here = np.arange(300) < 120
    values = b.astype(float)
    values[200] = np.nan  # not present: never looked at
    found, empty, whole = judge_many(
        a, [values, values, b], [f"c{i % 10}" for i in range(300)], present=[here, here & ~here, here | ~here]
    )
    assert (found.n, found.clusters) == (120, 10)
    assert found.delta == pytest.approx((b[:120] - a[:120]).mean())
    assert found.wins == int((b[:120] > a[:120]).sum())
    assert empty.reason == "no_items"
    assert whole.n == 300


@pytest.mark.parametrize("grouped", [True, False])
def test_clusters_without_an_item_are_not_drawn(grouped) -> None:
    chooser = np.random.default_rng(4)
    a, b = chooser.integers(0, 2, 300), chooser.integers(0, 2, 300)
    keys = np.arange(300) % 30
    here = np.stack([keys < 10, keys >= 18, keys < 3, np.ones(300, dtype=bool)])
    many = judge_many(a, np.tile(b, (4, 1)), keys if grouped else None, present=here)
    for mask, found in zip(here, many, strict=True):
        assert found == judge_pairs(a[mask], b[mask], keys[mask] if grouped else None)


def test_icc_reaches_the_mde() -> None:
    a = [0] * 200
    b = [int(c % 2 == 0) for c in range(20) for _ in range(10)]  # clusters all alike within: ICC 1
    found = judge_pairs(a, b, [f"c{i // 10}" for i in range(200)])
    alone = judge_pairs(a, b)
    assert found.icc == pytest.approx(1)
    assert alone.mde is not None
    assert found.mde is not None
    assert found.mde > 2 * alone.mde


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40), st.integers(1, 9))
def test_swapping_the_arms_swaps_the_verdict(pairs, k) -> None:
    a, b = zip(*pairs, strict=True)
    keys = [i % k for i in range(len(pairs))]
    one, other = judge_pairs(a, b, keys, resamples=200), judge_pairs(b, a, keys, resamples=200)
    opposite = {"pass": "fail", "fail": "pass", "unresolved": "unresolved"}
    assert other.verdict == opposite[one.verdict]
    assert other.delta == pytest.approx(-(one.delta or 0))
    assert (other.wins, other.losses) == (one.losses, one.wins)
    json.dumps(one.to_dict(), allow_nan=False)


def _audit(folder, name):
    results = json.loads((folder / "locomo_audit" / name).read_text())["detailed_results"]
    found = {}
    for conversation, items in results.items():
        for item in items:
            repeats = list(item["llm_judgments"].values())
            found[item["question_id"]] = (conversation, int(2 * sum(repeats) > len(repeats)), len(set(repeats)) > 1)
    return found


def test_two_real_arms(shared_data) -> None:
    b, a = (_audit(shared_data, f"gpt-4.1-mini-{arm}.json") for arm in ("cot", "memos"))
    assert a.keys() == b.keys()
    assert (sum(v[1] for v in b.values()), sum(v[1] for v in a.values())) == (1427, 1264)
    assert sorted(sum(item[2] for item in arm.values()) for arm in (a, b)) == [10, 14]  # items whose repeats disagree
    ids = sorted(a)
    found = judge_pairs([a[i][1] for i in ids], [b[i][1] for i in ids], [a[i][0] for i in ids])
    assert (found.n, found.clusters, found.wins, found.losses) == (1540, 10, 186, 23)
    assert found.percentile is not None
    assert [round(100 * v, 2) for v in (found.percentile.mean, found.percentile.low, found.percentile.high)] == [
        10.58,
        8.95,
        12.50,
    ]
    assert (found.verdict, found.deciding_kind) == ("pass", "widened")
    assert found.warnings == ("few_clusters",)
