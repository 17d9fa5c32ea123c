"""Stands in for an adapter of logos' continuity benchmark: its ops, its one text, and no ids.

STAND_IN_FAULT makes it fail, STAND_IN_LOG is a file that gets every request.
"""

import json
import os
import re
import sys
import time

FAULT = os.environ.get("STAND_IN_FAULT", "")


def words(text):
    return set(re.findall(r"\w{3,}", text.lower()))


def answer(store, request):
    op = request["op"]
    if op == "reset":
        store.clear()
        return {"ok": True}
    if op == "write":
        if FAULT == "refuse":
            return {"ok": False, "error": f'unknown event kind "{request["event"]["kind"]}"'}
        store.append(request["event"])
        return {"ok": True}
    if op == "read":
        if FAULT == "die":
            sys.exit(3)
        if FAULT == "hang":
            time.sleep(60)
        query = request["query"]
        asked = words(query["task"])
        found = sorted(store, key=lambda event: -len(asked & words(event["flat"])))
        texts, used = [], 0
        for event in found:
            flat = event["flat"]
            if event["failed"]:
                flat += " Ruled out: " + "; ".join(event["failed"])
            used += len(flat) // 4 + 1
            if used > query["budget"] and texts:
                break
            texts.append(flat)
        return {"ok": True, "text": "\n\n".join(texts)}
    if op == "close":
        return {"ok": True}
    return {"ok": False, "error": f"unknown op {op}"}


def main():
    if "--probe" in sys.argv:
        if FAULT == "probe":
            print("ollama unreachable at http://localhost:11434", file=sys.stderr)
            return 1
        return 0
    store = []
    for line in sys.stdin:
        request = json.loads(line)
        if os.environ.get("STAND_IN_LOG"):
            with open(os.environ["STAND_IN_LOG"], "a") as file:  # noqa: PTH123
                file.write(json.dumps({"pid": os.getpid(), **request}) + "\n")
        print(json.dumps(answer(store, request)), flush=True)
        if request["op"] == "close":
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
