"""A million rows in 50 clusters, gated from disk: seconds and peak memory.

    python tests/bench/gate_million.py [--rows 1000000]

Writes two runs of that many rows into a temporary folder, then times the gate in a process of its own beside a plain
read of the same files with the json module, in the same minute on the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

GATE = """
import json, re, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from runner.gate.sweep import gate
start = time.perf_counter()
found = gate([Path(sys.argv[2])])
print(json.dumps({"seconds": time.perf_counter() - start, "outcome": found.outcome,
                  "mb": int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024}))
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    args = parser.parse_args()
    from runner.analysis.summary import summarise
    from runner.record.rundir import RunDir
    from tests.support.recorded import answered, arm_config, write_run

    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate("ab"):
            coin, share = random.Random(name), 0.6 + 0.01 * number
            rows = [
                answered(i, coin.random() < share, cluster=i % 50, keys=f"{name}{i:015d}", context="0" * 16)
                for i in range(args.rows)
            ]
            run = RunDir(write_run(Path(folder) / f"{number}-{name}", rows, arm=arm_config(name)))
            run.write_summary(summarise(run, run.instrument()), "complete")
            del rows
        size = sum(path.stat().st_size for path in Path(folder).glob("*/rows.jsonl"))
        start = time.perf_counter()
        for path in sorted(Path(folder).glob("*/rows.jsonl")):
            with path.open("rb") as file:
                for line in file:
                    json.loads(line)
        plain = time.perf_counter() - start
        told = []
        for _ in range(2):  # the second gate finds the columns of the first in the cache
            done = subprocess.run(
                [sys.executable, "-c", GATE, str(ROOT), folder],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "MEMORY_RUNNER_CACHE": f"{folder}/cache"},
            )
            told.append(json.loads(done.stdout))
    for when, gated in zip(("first seen", "seen before"), told, strict=True):
        print(
            f"2 x {args.rows:,} rows, {size / 1e6:.0f} MB, {when}: gated in {gated['seconds']:.1f} s, "
            f"peak {gated['mb']:.0f} MB, {gated['outcome']}; reading the same files with json takes {plain:.1f} s "
            f"({gated['seconds'] / plain:.2f} x)"
        )


if __name__ == "__main__":
    main()
