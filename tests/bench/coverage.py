"""Coverage and false passes of each interval, and of the rule ``gate.interval: auto``, by simulation.

A data set has ``n`` paired items in ``k`` clusters of one size, deltas −1, 0 and 1, and no difference between the arms.
The mean delta of a cluster is normal; its variance makes the intraclass correlation of the deltas the one asked for,
which is measured and printed beside it. A false pass is a lower bound above 0. The last column is the power of the rule
``auto`` at the minimum detectable effect that the gate and ``plan`` state for so many clusters: 80 % or more.

Run: python tests/bench/coverage.py [--sets 2000] [--resamples 1000] [--clusters 6 10 30] [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from runner.stats.bootstrap import percentiles
from runner.stats.clustered import Bounds, cr3_interval, widened
from runner.stats.interval import decide_interval
from runner.stats.power import icc_of_sums, minimum_detectable_effect
from runner.stats.resample import Resampler

DISCORDANCE = 0.7  # ψ; high, so that few normal draws are cut


def data_set(
    rng: np.random.Generator, n: int, k: int, icc: float, effect: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Deltas and cluster codes: in a cluster with mean delta u an item wins with (ψ + u)/2 and loses with (ψ − u)/2.

    A delta has variance ψ − effect² and two of one cluster have covariance Var(u), so that the intraclass correlation
    is Var(u)/(ψ − effect²); u is normal about the effect, and cut at ±ψ, beyond which no cluster can be.
    """
    codes = np.arange(n) * k // n
    spread = np.sqrt(icc * (DISCORDANCE - effect**2))
    means = np.clip(rng.normal(effect, spread, k), -DISCORDANCE, DISCORDANCE)
    win = (DISCORDANCE + means[codes]) / 2
    draw = rng.random(n)
    return (draw < win) * 1.0 - (draw > 1 - (DISCORDANCE - win)) * 1.0, codes


def power(k: int, n: int, icc: float, sets: int, resamples: int, seed: int) -> str:
    """Share of passes at the stated effect, and the effect."""
    effect = minimum_detectable_effect(n, DISCORDANCE, cluster_size=n / k, icc=icc, clusters=k)
    if effect is None:
        return "cannot tell"
    rng = np.random.default_rng([seed, k, 1])
    sums, counts = np.empty((sets, k)), np.empty((sets, k))
    for i in range(sets):
        items, codes = data_set(rng, n, k, icc, effect)
        sums[i] = np.bincount(codes, weights=items, minlength=k)
        counts[i] = np.bincount(codes, minlength=k)
    ratios = Resampler(k, resamples).ratios(sums, counts)
    passed = 0
    for i in range(sets):
        bounds = decide_interval(sums[i], counts[i], Bounds(*percentiles(ratios[i]))).interval
        passed += bounds is not None and bounds.low > 0
    return f"{100 * passed / sets:.1f} at {100 * effect:.1f} pp"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=2_000)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--clusters", type=int, nargs="+", default=[6, 10, 30])
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--icc", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    names = ("percentile", "× f(k)", "CR3-t", "ignoring clusters", "auto")
    print(
        f"n = {chosen.items}, ICC {chosen.icc}, {chosen.sets} data sets; coverage of 95 % / false pass (nominal 2.5 %)"
    )
    print("clusters  " + "".join(f"{name:>20}" for name in names) + f"{'ICC seen':>12}{'power':>18}")
    for k in chosen.clusters:
        rng = np.random.default_rng([chosen.seed, k])
        covered, passed, iccs = dict.fromkeys(names, 0), dict.fromkeys(names, 0), []
        sums, counts = np.empty((chosen.sets, k)), np.empty((chosen.sets, k))
        items = np.empty((chosen.sets, chosen.items))
        for i in range(chosen.sets):
            items[i], codes = data_set(rng, chosen.items, k, chosen.icc)
            sums[i] = np.bincount(codes, weights=items[i], minlength=k)
            counts[i] = np.bincount(codes, minlength=k)
            iccs.append(icc_of_sums(sums[i], counts[i], float(items[i] @ items[i])) or 0.0)
        ratios = Resampler(k, chosen.resamples).ratios(sums, counts)  # one draw serves every data set
        for i in range(chosen.sets):
            mean = float(items[i].mean())
            shown = Bounds(*percentiles(ratios[i]))
            # With one item a cluster the bootstrap interval is the normal one to the third digit at this n.
            half = 1.96 * float(items[i].std()) / chosen.items**0.5
            found = {
                "percentile": shown,
                "× f(k)": widened(mean, shown.low, shown.high, k),
                "CR3-t": cr3_interval(sums[i], counts[i]),
                "ignoring clusters": Bounds(mean - half, mean + half),
                "auto": decide_interval(sums[i], counts[i], shown).interval,
            }
            for name, bounds in found.items():
                if bounds is not None:
                    covered[name] += bounds.low <= 0 <= bounds.high
                    passed[name] += bounds.low > 0
        cells = (f"{100 * covered[name] / chosen.sets:.1f} / {100 * passed[name] / chosen.sets:.1f}" for name in names)
        stated = power(k, chosen.items, chosen.icc, chosen.sets, chosen.resamples, chosen.seed)
        print(f"{k:>8}  " + "".join(f"{cell:>20}" for cell in cells) + f"{np.mean(iccs):>12.3f}{stated:>18}")


if __name__ == "__main__":
    main()
