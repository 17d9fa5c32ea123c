"""What looking while a run goes on does, by simulation: to an ordinary interval, and to the e-value.

A data set has ``--pairs`` paired questions in clusters of one size; the arms differ on a question with probability
``--discordance``, and B is better by ``--effect`` points on average. A cluster is won or lost by the sign of its sum,
as ``run.stop_when_decided`` counts it.

- peeking: the share of data sets in which the lower bound of an ordinary 95 % interval (the normal one, which the
  bootstrap's is at this n) lies above 0 at one of so many evenly spaced looks. One look promises 2.5 %.
- e-value: the share that stops with a win, and with a loss, when it is looked at after every unit. Both together are
  promised to be at most 5 %, each 2.5 %.
- both: stopped with a win, or not stopped and passed by the interval at the end, as a watched arm is gated.
- asked: the mean share of questions until the end or the stop.

Run: python tests/bench/sequential.py [--sets 20000] [--pairs 500] [--size 1] [--effect 0] [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from runner.stats.sequential import ALPHA, log_e_value

CHUNK = 2_000


def simulate(
    rng: np.random.Generator, sets: int, pairs: int, size: int, discordance: float, effect: float, looks: int
) -> dict[str, float]:
    """Shares over ``sets`` data sets of ``pairs`` questions in clusters of ``size``."""
    k = pairs // size
    limit = -np.log(ALPHA)
    table = np.array([[log_e_value(w, m - w) if w <= m else 0.0 for w in range(k + 1)] for m in range(k + 1)])
    seen = dict.fromkeys(("once", "peeked", "won", "lost", "both", "asked"), 0.0)
    for start in range(0, sets, CHUNK):
        many = min(CHUNK, sets - start)
        draw = rng.random((many, pairs))
        deltas = (draw < (discordance + effect) / 2).astype(float) - (draw > 1 - (discordance - effect) / 2)
        passes = [_passes(deltas[:, : pairs * look // looks]) for look in range(1, looks + 1)]
        sums = deltas[:, : k * size].reshape(many, k, size).sum(axis=2)
        wins, units = np.cumsum(sums > 0, axis=1), np.cumsum(sums != 0, axis=1)
        agrees = np.sign(np.cumsum(sums, axis=1)) == np.sign(2 * wins - units)
        crossed = (table[units, wins] >= limit) & agrees
        stopped = crossed.any(axis=1)
        first = np.where(stopped, crossed.argmax(axis=1), k - 1)
        won = stopped & (2 * wins > units)[np.arange(many), first]
        seen["once"] += passes[-1].sum()
        seen["peeked"] += np.any(passes, axis=0).sum()
        seen["won"] += won.sum()
        seen["lost"] += (stopped & ~won).sum()
        seen["both"] += (won | (~stopped & passes[-1])).sum()
        seen["asked"] += ((first + 1) / k).sum()
    return {name: float(value) / sets for name, value in seen.items()}


def _passes(deltas: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    half = 1.96 * deltas.std(axis=1) / np.sqrt(deltas.shape[1])
    passed: np.ndarray[Any, Any] = deltas.mean(axis=1) - half > 0
    return passed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=20_000)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--size", type=int, nargs="+", default=[1, 5, 25])
    parser.add_argument("--discordance", type=float, default=0.16)
    parser.add_argument("--effect", type=float, nargs="+", default=[0.0, 5.0, 10.0], help="points")
    parser.add_argument("--looks", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    print(f"{chosen.pairs} independent questions, {chosen.discordance:.0%} discordant, {chosen.sets} data sets, in %")
    print(
        f"{'points':>7}{'a cluster':>11}{'one look':>10}{f'{chosen.looks} looks':>9}{'e: won':>9}{'e: lost':>9}"
        f"{'e or end':>10}{'asked':>8}"
    )
    for effect in chosen.effect:
        for size in chosen.size:
            rng = np.random.default_rng([chosen.seed, size, round(100 * effect)])
            found = simulate(rng, chosen.sets, chosen.pairs, size, chosen.discordance, effect / 100, chosen.looks)
            cells = [100 * found[name] for name in ("once", "peeked", "won", "lost", "both", "asked")]
            print(
                f"{effect:>7g}{size:>11}{cells[0]:>10.1f}{cells[1]:>9.1f}{cells[2]:>9.1f}{cells[3]:>9.1f}"
                f"{cells[4]:>10.1f}{cells[5]:>8.0f}"
            )


if __name__ == "__main__":
    main()
