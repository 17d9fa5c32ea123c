"""Coverage and false passes of each interval, and of the rule ``gate.interval: auto``, by simulation.

A data set has ``n`` paired items in ``k`` clusters of one size, discordance about .16 and no difference between the
arms. An item's delta is the difference of two thresholded normals; what its cluster shares makes the intraclass
correlation of the *deltas* the one asked for, measured and printed beside it. A false pass is a lower bound above 0.

Run: python tests/bench/coverage.py [--sets 2000] [--resamples 1000] [--clusters 6 10 30] [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from runner.stats.bootstrap import percentiles  # noqa: E402
from runner.stats.clustered import Bounds, cr3_interval, widened  # noqa: E402
from runner.stats.interval import decide_interval  # noqa: E402
from runner.stats.power import icc_of_sums  # noqa: E402
from runner.stats.resample import Resampler  # noqa: E402

DISCORDANCE = 0.16


def data_set(rng: np.random.Generator, n: int, k: int, icc: float) -> tuple[np.ndarray, np.ndarray]:
    """Deltas −1, 0, 1 and cluster codes: given its cluster's share, an item wins with ψ/2 + u and loses with ψ/2 − u.

    The variance of a delta is ψ and the covariance within a cluster Var(2u), so that ICC = Var(2u)/ψ exactly, as
    long as |u| ≤ ψ/2; u is 0 or ±ψ/2·√(icc/ψ·…), drawn from two points.
    """
    codes = np.arange(n) * k // n
    shift = np.sqrt(icc * DISCORDANCE) * rng.choice([-1.0, 1.0], k)  # the mean delta of each cluster
    draw = rng.random(n)
    win = (DISCORDANCE + shift[codes]) / 2
    return (draw < win) * 1.0 - (draw > 1 - (DISCORDANCE - win)) * 1.0, codes


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
    print("clusters  " + "".join(f"{name:>20}" for name in names) + f"{'ICC seen':>12}")
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
        print(f"{k:>8}  " + "".join(f"{cell:>20}" for cell in cells) + f"{np.mean(iccs):>12.3f}")


if __name__ == "__main__":
    main()
