"""Times of the bootstrap and the gate's statistics, each beside a plain Python loop that draws the same numbers.

Run: python tests/bench/gate_speed.py
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from runner.stats.bootstrap import paired_bootstrap
from runner.stats.paired import judge_many
from runner.stats.resample import Resampler, _kept_weights

RESAMPLES = 10_000
REFERENCE_RESAMPLES = 100  # the plain loop is slow: a hundredth of it is timed, and multiplied


def plain_loop(clusters: int) -> float:
    """Seconds that ``random.Random`` takes for all resamples, one ``randrange`` and two additions a draw."""
    sums, counts = [1.0] * clusters, [40.0] * clusters
    rng = random.Random(7)
    start = time.perf_counter()
    for _ in range(REFERENCE_RESAMPLES):
        top = bottom = 0.0
        for _ in range(clusters):
            c = rng.randrange(clusters)
            top += sums[c]
            bottom += counts[c]
    return (time.perf_counter() - start) * RESAMPLES / REFERENCE_RESAMPLES


def best(call: Callable[[], object], times: int = 3) -> float:
    """Least seconds of some runs."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def peak_mb(call: Callable[[], object]) -> float:
    """Peak of the memory that a call allocates, numpy's included."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    chooser = np.random.default_rng(0)
    print(f"{'case':<46}{'seconds':>9}{'bar':>7}{'peak MB':>9}{'plain loop':>12}{'ratio':>8}")
    for n, k, bar in ((2_000, 50, 0.1), (1_000_000, 50, None), (2_000, 2_000, 1.0)):
        deltas = chooser.integers(-1, 2, n).astype(float)
        keys = None if k == n else [f"c{i % k:02d}" for i in range(n)]

        def call(deltas: np.ndarray = deltas, keys: list[str] | None = keys) -> object:
            _kept_weights.cache_clear()  # a draw of its own, as the first one of a process is
            return paired_bootstrap(deltas, keys, resamples=RESAMPLES)

        seconds, reference = best(call), plain_loop(k)
        shown = f"{bar:.1f}" if bar else "-"
        print(
            f"{f'paired_bootstrap, n = {n:,}, {k:,} clusters':<46}{seconds:>9.3f}{shown:>7}{peak_mb(call):>9.1f}"
            f"{reference:>12.2f}{reference / seconds:>7.0f}×"
        )
    sums, counts = chooser.integers(-9, 10, 50).astype(float), np.full(50, 20_000.0)
    seconds = best(lambda: Resampler(50, RESAMPLES).ratios(sums, counts))
    print(f"{'the draw alone, 50 clusters (any n)':<46}{seconds:>9.3f}")

    arms, categories, n = 10, 20, 2_000
    a = chooser.integers(0, 2, n).astype(float)
    b = np.repeat(chooser.integers(0, 2, (arms, n)).astype(float), categories, axis=0)
    present = np.tile(np.arange(n) % categories == np.arange(categories)[:, None], (arms, 1))
    for k in (10, 50):
        keys = [f"c{i // (n // k):02d}" for i in range(n)]
        seconds = best(lambda keys=keys: judge_many(a, b, keys, present=present))  # type: ignore[misc]
        print(f"{f'20 categories × 10 arms, n = 2,000, {k} clusters':<46}{seconds:>9.3f}{'1.0':>7}")
    from_disk(arms, categories, n)


def from_disk(arms: int, categories: int, n: int) -> None:
    """The whole gate of recorded runs: reading, summaries, comparability, statistics."""
    from runner.analysis.summary import summarise
    from runner.gate.sweep import gate
    from runner.record.rundir import RunDir
    from tests.support.recorded import answered, arm_config, write_run

    with tempfile.TemporaryDirectory() as folder:
        for arm in range(arms):
            coin = random.Random(arm)
            rows = [
                answered(i, coin.random() < 0.6, cluster=i % 50, category=str(i // 50 % categories), keys=f"{arm}{i}")
                for i in range(n)
            ]
            run = RunDir(
                write_run(Path(folder) / f"{arm}-a{arm}", rows, arm=arm_config(f"a{arm}", knobs={"graph": arm}))
            )
            run.write_summary(summarise(run, run.instrument()), "complete")  # as a run ends
        seconds = best(lambda: gate([Path(folder)], {"categories": "all"}))
    print(f"{'the same from disk, a gate of recorded runs':<46}{seconds:>9.3f}{'1.0':>7}")


if __name__ == "__main__":
    main()
