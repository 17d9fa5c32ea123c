"""CPU seconds of commands that must be light, each the median of five processes, beside a bare interpreter.

    python tests/bench/startup.py

``resume`` is of a finished run, made first in a temporary folder.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def cpu(words: list[str], folder: str) -> float:
    """Median user + system seconds of the whole process."""
    seconds = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return statistics.median(seconds)


def main() -> None:
    run = [sys.executable, "-m", "runner"]
    with tempfile.TemporaryDirectory() as folder:
        bare = cpu([sys.executable, "-c", "pass"], folder)
        small = ["+arm=no_memory", "harness.settings.scenarios=4", "hydra.run.dir=done"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([*run, *small], cwd=folder, env=env, capture_output=True, check=True)
        for words in (["--help"], ["list"], ["+arm=arms_of"], ["+arm=bm25", "run.repeat=3"], ["resume", "done"]):
            took = cpu([*run, *words], folder)
            print(f"{' '.join(words):24} {took:.2f} CPU s ({took / bare:.0f} x a bare interpreter)")


if __name__ == "__main__":
    main()
