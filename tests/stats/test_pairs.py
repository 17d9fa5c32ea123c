from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import UsageError
from runner.stats.bootstrap import paired_bootstrap
from runner.stats.clustered import mcnemar_p
from runner.stats.pairs import judge_many, judge_pairs
from runner.stats.verdict import Verdict


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
        assert "all_ties" in ties.warnings
    assert not judge_pairs([1] * 50, [1] * 50).equivalent  # 1 - .025^(1/50) = 7.1 %
    assert judge_pairs([1] * 100, [1] * 100).equivalent  # 3.6 %
    for found in (nothing, alone, ties):
        json.dumps(found.to_dict(), allow_nan=False)
        assert "nan" not in found.line()


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
