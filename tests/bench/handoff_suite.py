"""The handoff suite: seconds of a sweep over six embedded memories, and memory over many long histories.

    python tests/bench/handoff_suite.py [--long 200] [--events 1000]

The sweep is the real command line, one process, no key. Its seconds stand beside those of the same command with one
scenario, which is what starting costs. The long histories are copies of one scenario with that many filler events, run
through bm25 once for a tenth of them and once for all: peak memory must not grow with their number.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ARMS = "bm25,full_context,full_dump,recency_window,static_file,oracle"
SCENARIO = """\
id: long-{number}
family: memory
skill: recall
why: One line in a long history.
expect: pass
project: harbour
now: 2026-10-19 20:00
query: {{task: Which berth did the harbour office give to the Marigold?, agent: claude, budget: 400}}
wordings: [Where may the Marigold lie?, The Marigold needs her berth. Which one is it?]
events:
  - {{time: 2026-05-10 15:00, actor: elif, kind: note, text: The harbour office gave the Marigold berth 1{number:03d}.}}
haystack: {events}
gold:
  carry: [{{label: the berth, any: ['berth 1{number:03d}']}}]
"""


def run(*words: str, cwd: Path) -> tuple[float, float]:
    """Seconds and peak MB of one command line."""
    code = (
        "import sys, re, pathlib; from runner.cli import main; code = main(sys.argv[1:]); "
        "told = pathlib.Path('/proc/self/status').read_text(); "
        "print('VmHWM', re.search(r'VmHWM:\\s+(\\d+)', told)[1]); sys.exit(code)"
    )
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    seconds = time.perf_counter() - start
    peak = re.search(r"VmHWM (\d+)", done.stdout)
    if done.returncode not in (0, 3, 4, 5) or peak is None:
        raise SystemExit(done.stderr or done.stdout)
    return seconds, int(peak[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", type=int, default=200)
    parser.add_argument("--events", type=int, default=1000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sweep = ("-m", "harness=handoff", f"+arm={ARMS}")
        whole, _ = run(*sweep, cwd=place)
        one, _ = run(*sweep, "harness.settings.only=apollonia", cwd=place)
        print(
            f"the whole suite × {ARMS.count(',') + 1} memories ({ARMS}): {whole:.1f} s; one scenario of it {one:.1f} s"
        )
        peaks = []
        for count in (args.long // 10, args.long):
            mine = place / f"scenarios-{count}"
            mine.mkdir()
            for number in range(count):
                (mine / f"long-{number}.yaml").write_text(SCENARIO.format(number=number, events=args.events))
            words = (f"harness.settings.scenarios={mine}", "harness.settings.shipped=false")
            seconds, peak = run("harness=handoff", "+arm=bm25", *words, cwd=place)
            peaks.append(f"{count} × {args.events:,} events: {seconds:.1f} s, peak {peak:.0f} MB")
        print("; ".join(peaks))


if __name__ == "__main__":
    main()
