"""A small data set for every harness, written in its source's own layout, traps included.

``SAMPLES`` maps a name to a function that writes the data into a folder and gives the config that reads it, with the
words of the data that no system may ever receive. ``tests/harness/_base/test_contract.py`` runs on all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from runner.config import HarnessConfig
from tests.support.harness_samples.beam import beam, beam_plans, beam_rows
from tests.support.harness_samples.dialogue_consistency import dialogue, dialogue_lines
from tests.support.harness_samples.locomo_qa import locomo
from tests.support.harness_samples.longmemeval import longmemeval
from tests.support.harness_samples.membench import membench, membench_sampled
from tests.support.harness_samples.memoryagentbench import memoryagentbench, memoryagentbench_rows
from tests.support.harness_samples.msc_dmr import msc_dmr
from tests.support.harness_samples.musique import musique, musique_full
from tests.support.harness_samples.retrieval_recall import labels, relied_on
from tests.support.harness_samples.sample import Sample


def synthetic(folder: Path) -> Sample:
    settings = {"scenarios": 7, "events": 36, "questions": 3}
    return Sample(HarnessConfig(name="synthetic_memory", settings=settings))


def handoff(folder: Path) -> Sample:
    return Sample(HarnessConfig(name="handoff", settings={"only": "cave-tunnel"}))


def quality(folder: Path) -> Sample:
    return Sample(HarnessConfig(name="quality", k=5))


SAMPLES: dict[str, Callable[[Path], Sample]] = {
    "quality": quality,
    "retrieval_recall": labels,
    "retrieval_recall relied_on": relied_on,
    "synthetic_memory": synthetic,
    "handoff": handoff,
    "locomo_qa": locomo,
    "longmemeval": longmemeval,
    "beam": beam,
    "beam rows": beam_rows,
    "beam plans": beam_plans,
    "membench": membench,
    "membench sampled": membench_sampled,
    "dialogue_consistency": dialogue,
    "dialogue_consistency lines": dialogue_lines,
    "memoryagentbench": memoryagentbench,
    "memoryagentbench rows": memoryagentbench_rows,
    "musique": musique,
    "musique full": musique_full,
    "msc_dmr": msc_dmr,
}
