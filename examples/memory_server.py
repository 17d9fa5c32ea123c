"""A small memory behind the `command` bridge: JSON lines on stdin and stdout. Nothing but Python is needed.

    python examples/memory_server.py FOLDER

The notes of a namespace are a file of JSON lines, which is the source of truth. The index over their words is derived:
it can be thrown away at any time and is made again from the notes. The same store is served over HTTP by
memory_server_http.py and over MCP by memory_server_mcp.py.
"""

import hashlib
import json
import math
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

ABOUT = {
    "build": "example-memory 1",
    "embedder": "none",
    "capabilities": {
        "timestamps": True,  # an event's time is kept and comes back with a hit
        "roles": True,  # so is who said it
        "namespaces": True,
        "asynchronous": False,  # what is written can be found at once
        "honours_k": True,
        "sources": True,  # hits name the events they came from
        "durable": True,  # survives the loss of its index
        "ranked": True,  # hits come best first
        "answers": True,  # answers a question by itself
    },
    "ops": ["holds", "drop_derived", "erase", "close"],
}
COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at by did do does for from how i in is it of on or that the to was what when who",
    )
)


class Store:
    """Notes in files, one folder a namespace, and an index in memory for those that were asked."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.indexes = {}

    def reset(self, ns):
        self.erase(ns)
        self.home(ns).mkdir(parents=True)
        (self.home(ns) / "notes.jsonl").touch()

    def write(self, ns, events):
        with (self.home(ns) / "notes.jsonl").open("a", encoding="utf-8") as notes:
            for event in events:
                notes.write(json.dumps(event) + "\n")
        self.drop_derived(ns)

    def search(self, ns, text, k=None, max_chars=None, max_tokens=None):
        """The notes that share the rarest words with the question, best first, within the budget."""
        index = self.indexes.get(ns) or self.indexes.setdefault(ns, Index(self.notes(ns)))
        room = min([chars for chars in (max_chars, max_tokens and 4 * max_tokens) if chars is not None], default=None)
        hits, used = [], 0
        for score, note in index.best(text):
            used += len(spoken(note)) + 30  # a reader sees the date before it
            if (k is not None and len(hits) >= k) or (hits and room is not None and used > room):
                break
            hits.append(
                {
                    "key": note["id"],
                    "text": spoken(note),
                    "score": round(score, 6),
                    "sources": [note["id"]],
                    "time": note.get("time"),
                }
            )
        return hits

    def ask(self, ns, text):
        """An answer and what it was read from: the best note as it stands. A real memory asks a model here."""
        read = self.search(ns, text, k=1)
        return (read[0]["text"] if read else "I do not know that."), read

    def holds(self, ns, ids):
        """Which of these events there is anything of."""
        kept = {note["id"] for note in self.notes(ns)}
        return [name for name in ids if name in kept]

    def drop_derived(self, ns):
        self.indexes.pop(ns, None)

    def erase(self, ns):
        self.drop_derived(ns)
        shutil.rmtree(self.home(ns), ignore_errors=True)

    def notes(self, ns):
        with (self.home(ns) / "notes.jsonl").open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def home(self, ns):
        return self.folder / hashlib.sha256(ns.encode()).hexdigest()[:24]


class Index:
    """Words, weighed by how rare they are (BM25 with its usual constants)."""

    def __init__(self, notes):
        self.notes = notes
        self.counts = [Counter(words(spoken(note))) for note in notes]
        self.seen_in = Counter(word for count in self.counts for word in count)
        self.mean = sum(map(Counter.total, self.counts)) / max(1, len(notes)) or 1

    def best(self, text):
        asked = sorted(set(words(text)))
        scored = [(self.score(asked, count), at) for at, count in enumerate(self.counts)]
        scored.sort(key=lambda pair: (-pair[0], pair[1]))
        return [(score, self.notes[at]) for score, at in scored if score > 0]

    def score(self, asked, count):
        long = 0.25 + 0.75 * count.total() / self.mean
        return sum(
            math.log(1 + (len(self.notes) - self.seen_in[word] + 0.5) / (self.seen_in[word] + 0.5))
            * (count[word] * 2.5 / (count[word] + 1.5 * long))
            for word in asked
            if word in count
        )


def words(text):
    return [word for word in re.findall(r"\w+", text.lower()) if word not in COMMON]


def spoken(note):
    return f"{note['actor']}: {note['text']}" if note.get("actor") else note["text"]


def answer(store, request):
    """What one request gets, besides `ok`."""
    op, ns = request["op"], request.get("ns")
    if op == "probe":
        return ABOUT
    if op == "write":
        store.write(ns, request["events"])
        return {"written": len(request["events"])}
    if op == "search":
        bounds = {name: request.get(name) for name in ("k", "max_chars", "max_tokens")}
        return {"hits": store.search(ns, request["text"], **bounds)}
    if op == "ask":
        said, read = store.ask(ns, request["text"])
        return {"answer": said, "hits": read}
    if op == "holds":
        return {"holds": store.holds(ns, request["events"])}
    if op in ("reset", "drop_derived", "erase"):
        getattr(store, op)(ns)
        return {}
    if op == "close":
        return {}
    raise ValueError(f"unknown op {op!r}")


def main():
    store = Store(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            said = {"ok": True, **answer(store, request)}
        except Exception as error:  # a failure is told, never an empty list
            said = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"id": request["id"], **said}), flush=True)


if __name__ == "__main__":
    main()
