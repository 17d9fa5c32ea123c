"""Coverage of the interval of ``gate.human`` by the number of labelled pairs, by simulation.

Two arms answer the same questions, and are right on them at given rates with a given share of questions decided by one
common draw; a judge passes right and wrong answers of either arm at its own rates. People label some pairs, the judge
all 1,500. Where the arms seldom differ, few labels hold few pairs that do, and the interval is too narrow: hence the
least number of labelled pairs that the gate takes.

Run: python tests/bench/human_coverage.py [--sets 2000] [--labelled 50 100 200] [--seed 7]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path[0] = str(Path(__file__).resolve().parents[2])  # not this folder: numba would take coverage.py for its own

from runner.stats.ppi import prediction_powered

QUESTIONS = 1_500
ARMS = ((0.70, 0.75, 0.80), (0.90, 0.92, 0.85), (0.70, 0.72, 0.95))  # accuracy of A, of B, share decided in common
JUDGES = ((0.98, 0.03), (0.95, 0.15), (0.90, 0.30))  # TPR, FPR


def one(
    rng: np.random.Generator, n: int, arms: tuple[float, float, float], judge: tuple[float, float]
) -> tuple[bool, float, float]:
    """Whether the interval covers the true difference, half its width, and whether people saw no pair differ."""
    (a, b, common), (tpr, fpr) = arms, judge
    shared, own = rng.random(QUESTIONS), rng.random(QUESTIONS)
    right = [shared < a, np.where(rng.random(QUESTIONS) < common, shared, own) < b]
    passed = [rng.random(QUESTIONS) < np.where(truth, tpr, fpr) for truth in right]
    truth = right[1].astype(float) - right[0]
    said = passed[1].astype(float) - passed[0]
    if np.ptp(truth[:n]) == 0:
        return False, 0.0, True  # the gate refuses it
    found = prediction_powered(truth[:n], said[:n], said[n:])
    return found.low <= b - a <= found.high, (found.high - found.low) / 2, False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=2_000)
    parser.add_argument("--labelled", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    print(f"{'labelled':>8}  {'arms':>18}  {'TPR, FPR':>10}  {'covers %':>8}  {'± pp':>5}  {'refused %':>9}")
    for n in chosen.labelled:
        for arms in ARMS:
            for judge in JUDGES:
                rng = np.random.default_rng(chosen.seed)
                told = [one(rng, n, arms, judge) for _ in range(chosen.sets)]
                kept = [(covers, half) for covers, half, refused in told if not refused]
                covers = 100 * np.mean([covers for covers, _ in kept])
                half = 100 * np.mean([half for _, half in kept])
                names = " ".join(f"{value:.2f}" for value in arms), " ".join(f"{value:.2f}" for value in judge)
                refused = 100 * (1 - len(kept) / len(told))
                print(f"{n:>8}  {names[0]:>18}  {names[1]:>10}  {covers:>8.1f}  {half:>5.1f}  {refused:>9.1f}")


if __name__ == "__main__":
    main()
