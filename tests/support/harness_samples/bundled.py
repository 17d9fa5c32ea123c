"""The benchmarks whose data is bundled or generated, made small."""

from __future__ import annotations

from pathlib import Path

from runner.config import HarnessConfig
from tests.support.harness_samples.sample import Sample


def synthetic(folder: Path) -> Sample:
    settings = {"scenarios": 7, "events": 36, "questions": 3}
    return Sample(HarnessConfig(name="synthetic_memory", settings=settings))


def handoff(folder: Path) -> Sample:
    return Sample(HarnessConfig(name="handoff", settings={"only": "cave-tunnel"}))


def quality(folder: Path) -> Sample:
    return Sample(HarnessConfig(name="quality", k=5))


SAMPLES = {"synthetic_memory": synthetic, "handoff": handoff, "quality": quality}
