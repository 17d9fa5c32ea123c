"""Retrieval on LoCoMo, arm by arm: share of evidence in the top 10, MRR and time, by category.

::

    python tests/bench/locomo_retrieval.py locomo10.json bm25 dense arms_off arms_on
    python tests/bench/locomo_retrieval.py locomo10.json arms_off arms_on --without conv-26   # knobs were tuned on it
    python tests/bench/locomo_retrieval.py locomo10.json arms_off --alone                      # each knob on its own

Categories 1 to 4, turns. Models run cold unless ``--cache`` names a folder.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[2])  # not this folder: numba would take coverage.py for its own

from runner.cli.run import compose
from runner.config import ArmConfig, Dataset, HarnessConfig, SliceConfig, load
from runner.harness import build as build_harness
from runner.system import Opening, build
from runner.types import Query, Question, Scenario

K = 10
Found = tuple[str, float, float]  # category, share of evidence found, reciprocal rank


def arm_of(name: str, **knobs: Any) -> ArmConfig:
    """A shipped arm with ten hits, and knobs changed."""
    arm = load(compose([f"arm={name}", f"budget.limit={K}", "budget.max_chars=null"])).arm
    return arm.model_copy(update={"knobs": arm.knobs | knobs})


async def measure(arm: ArmConfig, scenarios: list[Scenario], cache_dir: Path | None) -> tuple[list[Found], float]:
    system = build(arm)
    start = time.perf_counter()
    await system.open(Opening(cache_dir=cache_dir))
    rows: list[Found] = []

    async def one(scenario: Scenario, question: Question) -> None:
        gold = set(question.gold.evidence)
        query = Query(text=question.text, now=question.now, k=K)
        keys = [hit.key for hit in (await system.search(scenario.id, query)).hits]
        rank = next((at for at, key in enumerate(keys, 1) if key in gold), None)
        rows.append((question.category, len(gold & set(keys)) / len(gold), 1 / rank if rank else 0.0))

    for scenario in scenarios:
        receipt = await system.write(scenario.id, scenario.events)
        await system.settle(scenario.id, receipt, 600.0)
        await asyncio.gather(*(one(scenario, item) for item in scenario.questions if item.gold.evidence))
        await system.erase(scenario.id)
    await system.close()
    return rows, time.perf_counter() - start


def line(name: str, rows: list[Found], seconds: float) -> str:
    groups = defaultdict(list)
    for row in rows:
        groups[row[0]].append(row)
    parts = [
        f"{fmean(r[1] for r in part):.3f}/{fmean(r[2] for r in part):.3f}"
        for part in (rows, *(groups[c] for c in sorted(groups)))
    ]
    return f"{name:24} {len(rows):5} " + " ".join(f"{part:>11}" for part in parts) + f" {seconds:8.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("arms", nargs="+")
    parser.add_argument("--only", nargs="*", help="conversations to take")
    parser.add_argument("--without", nargs="*", default=[], help="conversations to leave out")
    parser.add_argument("--alone", action="store_true", help="also the first arm with each of its knobs on alone")
    parser.add_argument("--cache", type=Path, help="folder of cached embeddings and scores")
    chosen = parser.parse_args()
    harness = build_harness(HarnessConfig(name="locomo_qa", dataset=Dataset(path=str(chosen.dataset))))
    everything = harness.load(SliceConfig(categories=["1", "2", "3", "4"], scenarios=chosen.only))
    scenarios = [scenario for scenario in everything if scenario.id not in chosen.without]
    categories = sorted({item.category for scenario in scenarios for item in scenario.questions})
    print(f"{'recall@10/MRR':24} {'n':>5} {'all':>11} " + " ".join(f"{c:>11}" for c in categories) + f" {'seconds':>8}")
    arms = {name: arm_of(name) for name in chosen.arms}
    if chosen.alone:
        first = arms[chosen.arms[0]]
        switches = [knob for knob, value in first.knobs.items() if value is False and knob != "hyde"]
        arms |= {f"{chosen.arms[0]} +{knob}": arm_of(chosen.arms[0], **{knob: True}) for knob in switches}
    for name, arm in arms.items():
        print(line(name, *asyncio.run(measure(arm, scenarios, chosen.cache))), flush=True)


if __name__ == "__main__":
    main()
