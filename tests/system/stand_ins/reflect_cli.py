"""Stands in for the command `reflect`: its words, its folders, its exit codes and its environment; no models.

The index is a JSON file where the real one has a graph: made by `reindex`, read by `recall.py`, and gone when it is
deleted. `STAND_IN_FAULT` makes it fail, `STAND_IN_LOG` is a file that gets a line for every call.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path


def matter(text):
    """Front matter and body of a note; its values are JSON, or bare."""
    _, head, body = text.split("---\n", 2)
    found = {}
    for line in head.splitlines():
        key, _, value = line.partition(": ")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found, body


def log():
    if os.environ.get("STAND_IN_LOG"):
        with Path(os.environ["STAND_IN_LOG"]).open("a") as file:
            file.write(json.dumps({"kind": "reflect", "argv": sys.argv[1:], "env": dict(os.environ)}) + "\n")


def main(words):
    log()
    fault = os.environ.get("STAND_IN_FAULT", "")
    if words == ["--version"]:
        print("reflect, version 0.3.0")
        return 0
    kb = Path(os.environ.get("GLOBAL_LEARNINGS_PATH") or Path.home() / ".learnings")
    cache = kb / "nano_graphrag_cache"
    (kb / "documents").mkdir(parents=True, exist_ok=True)
    cache.mkdir(exist_ok=True)
    if words == ["init"]:
        if not os.environ.get("GIT_AUTHOR_EMAIL"):
            print("fatal: unable to auto-detect email address", file=sys.stderr)
            return 1
        (kb / ".gitignore").write_text("nano_graphrag_cache/\n")
        return 0
    if words == ["reindex", "--force"]:
        if fault == "slim":
            print("Traceback …\nModuleNotFoundError: No module named 'networkx'", file=sys.stderr)
            return 1
        if fault == "hang_reindex":
            time.sleep(60)
        shutil.rmtree(cache)
        cache.mkdir()
        notes = sorted((kb / "documents").glob("*.md"))
        if fault == "no_index":
            return 0
        index = [matter(note.read_bytes().decode()) for note in notes]
        for note in notes:
            note.with_suffix(".entities.yaml").write_text("entities: []\n")
        (cache / "vdb_chunks.json").write_text(json.dumps(index))
        return 0
    print(f"Error: No such command '{words[0] if words else ''}'.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
