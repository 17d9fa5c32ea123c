"""Stands in for reflect's `recall.py`: its options, its JSON, and its way of failing without a word.

It reads the knobs that the real one reads: RECALL_GRAPH_ARM, RECALL_CROSS_ENCODER, RECALL_MMR, RECALL_TEMPORAL,
RECALL_TEMPORAL_ARM, RECALL_BITEMPORAL_EDGES, RECALL_FUZZY_CACHE and RECALL_FOLLOWUP, each of them on when it is absent.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path


def on(name):
    return os.environ.get(name, "1") != "0"


def words(text):
    return set(re.findall(r"\w{3,}", text.lower()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("query", nargs="*")
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--max-chars", type=int, default=2000)
    parser.add_argument("--confidence", choices=["HIGH", "MEDIUM", "LOW", "ANY"], default="ANY")
    parser.add_argument("--format", choices=["markdown", "json"], default="markdown")
    parser.add_argument("--no-cache", action="store_true")
    args = parser.parse_args()
    if os.environ.get("STAND_IN_LOG"):
        with Path(os.environ["STAND_IN_LOG"]).open("a") as file:
            file.write(json.dumps({"kind": "recall", "argv": sys.argv[1:], "env": dict(os.environ)}) + "\n")
    query = " ".join(args.query).strip()
    if not query:
        print("error: empty query", file=sys.stderr)
        return 2
    fault = os.environ.get("STAND_IN_FAULT", "")
    if fault == "hang":
        child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
        Path(os.environ["STAND_IN_LOG"]).with_suffix(".pid").write_text(str(child.pid))
        time.sleep(60)
    if fault == "garbage":
        print("Loading weights: 100%")
        return 0
    if fault == "flood":
        sys.stderr.write("x" * 5_000_000)
    index = Path(os.environ["GLOBAL_LEARNINGS_PATH"]) / "nano_graphrag_cache" / "vdb_chunks.json"
    if fault == "error" or not index.exists():
        # The real one: an empty output, exit code 0, and a line only for whoever asks for it.
        if os.environ.get("REFLECT_RECALL_DEBUG"):
            print("recall: reflect search exit 1", file=sys.stderr)
        return 0
    asked = words(query)
    scored = []
    for at, (matter, body) in enumerate(json.loads(index.read_text())):
        shared = len(asked & words(body))
        recency = at / 1000 if on("RECALL_TEMPORAL_ARM") else 0.0
        scored.append((-shared - recency, at, matter))
    scored.sort()
    floor = float(os.environ.get("REFLECT_RECALL_MIN_OVERLAP", "0"))
    best = int(-scored[0][0]) / max(1, len(asked)) if scored else 0.0
    gated = bool(floor and best < floor)
    found = [] if gated else scored[: args.limit]
    results = [
        {"id": m.get("id") or m.get("name") or "?", "title": str(m["title"]), "key_insight": "", "confidence": "MEDIUM"}
        for _, _, m in found
    ]
    if fault == "unknown_id" and results:
        results[0]["id"] = "?"
    print(json.dumps({"query": query, "mode": "naive", "count": len(results), "ood_gated": gated, "results": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
