"""A memory behind the `command` bridge that breaks one clause of the contract, by name.

    python broken.py FAULT FOLDER [--at N]

It is the example memory in everything else. A fault that happens once happens at the N-th request of the op that it is
about (the first one unless told otherwise); where N is counted from, and what a fault is about, stands at the fault.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))

from memory_server import ABOUT, Store, answer

LIES = {
    # Clauses that a system can break while it looks well.
    "ignores_k": "search",
    "mixes_namespaces": "any",
    "loses_order": "write",
    "loses_time": "search",
    "invents_sources": "search",
    "forgets_on_drop": "drop_derived",
    "keeps_after_erase": "erase",
    "refuses_third_event": "write",
    "takes_fewer": "write",
    "answers_for_others": "ask",
    "answers_nothing": "ask",
    "answers_a_number": "ask",
    "answers_no_list": "ask",
    "cites_in_answer": "ask",
    "odd_usage": "ask",
    "holds_more": "holds",
}
BREAKDOWNS = {
    # Ways in which a process fails.
    "dies": "search",
    "dies_writing": "write",
    "hangs": "search",
    "hangs_with_a_child": "search",
    "slow": "search",
    "floods_stderr": "search",
    "floods_stdout": "search",
    "garbage": "search",
    "garbage_before": "search",
    "long_line": "search",
    "half_line": "search",
    "wrong_id": "search",
    "no_object": "search",
    "nan": "search",
    "errors": "search",
    "no_hits": "search",
    "bad_hit": "search",
    "late": "search",
    "slow_start": "probe",
    "no_start": "probe",
    "banner": "probe",
    "says_nothing": "probe",
    "stops_reading": "search",
    "ignores_close": "close",
    "dies_answering": "ask",
    "hangs_answering": "ask",
}


def say(number, said):
    print(json.dumps({"id": number, **said}), flush=True)


def lie(fault, store, request):
    """The answer of a system that breaks a clause."""
    op, ns = request["op"], request.get("ns")
    if fault == "mixes_namespaces" and ns is not None:
        request["ns"] = "everyone"
        if op == "reset" and store.home("everyone").exists():
            return {}
        if op == "erase":
            return {}
    if fault == "ignores_k":
        request["k"] = request["max_chars"] = None
    if fault == "keeps_after_erase" and op == "erase":
        return {}
    if fault == "refuses_third_event" and op == "write" and len(request["events"]) >= 3:
        store.write(ns, request["events"][:2])
        raise ValueError(f"disk full at event {request['events'][2]['id']}")
    if fault == "takes_fewer" and op == "write":
        store.write(ns, request["events"][:-1])
        return {"written": len(request["events"]) - 1}
    if fault == "loses_order" and op == "write":
        request["events"].reverse()
    said = answer(store, request)
    if op == "ask":
        if fault == "answers_for_others":
            files = store.folder.glob("*/notes.jsonl")
            said["answer"] = " ".join(json.loads(line)["text"] for file in files for line in file.open())
        changes = {
            "answers_nothing": {"answer": " "},
            "answers_a_number": {"answer": 1912},
            "answers_no_list": {"hits": {"e0": "text"}},
            "cites_in_answer": {"hits": [{"key": "k", "text": "t", "sources": ["no-such-event"]}]},
            "odd_usage": {"usage": {"input_tokens": -3}},
        }
        said |= changes.get(fault, {})
    if fault == "holds_more" and op == "holds":
        said["holds"] = [*said["holds"], "no-such-event"]
    if fault == "forgets_on_drop" and op == "drop_derived":
        store.reset(ns)
    if op == "search":
        for hit in said["hits"]:
            if fault == "loses_time":
                hit["time"] = None
            if fault == "invents_sources":
                hit["sources"] = ["no-such-event"]
    return said


def break_down(fault, request):
    """What happens instead of an answer, or before it; whether an answer still follows."""
    number = request["id"]
    if fault in ("dies", "dies_writing", "dies_answering"):
        print("about to die: out of luck", file=sys.stderr, flush=True)
        sys.exit(3)
    if fault in ("hangs", "hangs_answering"):
        print("thinking", file=sys.stderr, flush=True)
        time.sleep(600)
    if fault == "hangs_with_a_child":
        child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
        Path(os.environ["CHILD_PID"]).write_text(str(child.pid))
        time.sleep(600)
    if fault == "stops_reading":
        sys.stdin.close()
        time.sleep(600)
    if fault in ("slow", "slow_start"):
        time.sleep(float(os.environ.get("SLOW_S", "0.5")))
        return True
    if fault == "floods_stderr":
        for _ in range(2_000):
            sys.stderr.write("noise " * 1_000 + "\n")
        print("the end of the flood", file=sys.stderr, flush=True)
        return True
    if fault == "floods_stdout":
        while True:
            print("noise", flush=False)
    if fault in ("garbage", "garbage_before", "banner"):
        print("Loading weights: 100%", flush=True)
        return fault == "garbage_before"
    if fault == "long_line":
        block = "x" * 1_000_000
        for _ in range(100):
            sys.stdout.write(block)
        sys.stdout.write("\n")
        sys.stdout.flush()
        return False
    if fault == "half_line":
        sys.stdout.write('{"id": ' + str(number) + ', "ok": tr')
        sys.stdout.flush()
        os._exit(0)
    if fault == "wrong_id":
        say(number + 7_000, {"ok": True, "hits": []})
        return False
    if fault == "no_object":
        print("[]", flush=True)
        return False
    if fault == "nan":
        say(number, {"ok": True, "hits": [{"key": "a", "text": "b", "score": float("nan")}]})
        return False
    if fault == "errors":
        say(number, {"ok": False, "error": "index is locked\nby another process"})
        return False
    if fault == "no_hits":
        say(number, {"ok": True})
        return False
    if fault == "bad_hit":
        say(number, {"ok": True, "hits": [{"key": "a"}]})
        return False
    if fault == "no_start":
        print("cannot open the store: permission denied", file=sys.stderr, flush=True)
        sys.exit(1)
    if fault == "says_nothing":
        return False
    if fault == "ignores_close":
        time.sleep(600)
    raise AssertionError(fault)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=["none", *LIES, *BREAKDOWNS])
    parser.add_argument("folder")
    parser.add_argument("--at", type=int, default=1)
    options = parser.parse_args()
    fault, store, seen = options.fault, Store(options.folder), 0
    held = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == BREAKDOWNS.get(fault):
            seen += 1
            if seen == options.at:
                if fault == "late":  # answered together with the next one, the other way round
                    held = request
                    continue
                if not break_down(fault, request):
                    continue
        try:
            said = {"ok": True, **(ABOUT if request["op"] == "probe" else lie(fault, store, request))}
        except Exception as error:
            said = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        say(request["id"], said)
        if held is not None:
            say(held["id"], {"ok": True, **lie(fault, store, held)})
            held = None


if __name__ == "__main__":
    main()
