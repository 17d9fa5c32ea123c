"""An MCP server over stdio without an SDK: newline-delimited JSON-RPC, protocol 2025-06-18, well or broken by name.

    python broken_mcp.py FAULT FOLDER [--at N] [--log FILE]

Tools: remember(user, notes), recall(user, query, limit), answer(user, question), forget(user). A fault happens at the
N-th call of `recall`, and those of an answer at that of `answer`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))

from memory_server import Store

FAULTS = (
    *("none", "exits", "hangs", "hangs_with_a_child", "error", "rpc_error", "unknown_tool", "plain_text", "blocks"),
    *("empty", "garbage", "floods", "long_line", "no_greeting", "exits_at_start", "bad_schema"),
    *("blank_answer", "answer_error", "year", "two_blocks"),
)


def tool(name, **takes):
    properties = {key: {"type": kind} for key, kind in takes.items()}
    schema = {"type": "object", "properties": properties, "required": [key for key in takes if key != "limit"]}
    return {"name": name, "description": name, "inputSchema": schema}


TOOLS = [
    tool("remember", user="string", notes="array"),
    tool("recall", user="string", query="string", limit="integer"),
    tool("answer", user="string", question="string"),
    tool("forget", user="string"),
]


def text(value):
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def recall(fault, number, hits):
    """The result of a search, or what happens instead."""
    if fault == "exits":
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(5)
    if fault in ("hangs", "hangs_with_a_child"):
        if fault == "hangs_with_a_child":
            child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
            Path(os.environ["CHILD_PID"]).write_text(str(child.pid))
        time.sleep(600)
    if fault == "error":
        return {"content": [text("the index is locked")], "isError": True}
    if fault == "rpc_error":
        return None
    if fault == "plain_text":
        return {"content": [text("I remember nothing of the kind.")]}
    if fault == "blocks":
        return {"content": [text(hit) for hit in hits]}
    if fault == "empty":
        return {"content": []}
    if fault == "garbage":
        print("Loading weights: 100%", flush=True)
    if fault == "floods":
        while True:
            print("noise")
    if fault == "long_line":
        for _ in range(100):
            sys.stdout.write("x" * 1_000_000)
        sys.stdout.flush()
    if fault == "bad_schema":
        return {"content": "no list of blocks"}
    return {"content": [text({"results": hits})], "structuredContent": {"results": hits}}


def answered(fault, said, read):
    """The result of a question: structured, or the bare text of an answer, or what happens instead."""
    if fault == "blank_answer":
        return {"content": [text(" ")]}
    if fault == "answer_error":
        return {"content": [text("the model is overloaded")], "isError": True}
    if fault == "year":
        return {"content": [text("2023")]}
    if fault == "two_blocks":
        return {"content": [text("Ada did."), text("In May.")]}
    used = {"answer": said, "used": read, "model": "small", "usage": {"in": 12, "out": 3}}
    return {"content": [text(used)], "structuredContent": used}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=FAULTS)
    parser.add_argument("folder")
    parser.add_argument("--at", type=int, default=1)
    parser.add_argument("--log")  # a file for every tool that is called
    options = parser.parse_args()
    store, seen = Store(options.folder), 0
    if options.fault == "exits_at_start":
        print("no licence key", file=sys.stderr, flush=True)
        sys.exit(4)
    for line in sys.stdin:
        message = json.loads(line)
        number, method, params = message.get("id"), message["method"], message.get("params", {})
        if number is None:
            continue
        if options.fault == "no_greeting":
            time.sleep(600)
        if method == "initialize":
            about = {"name": "reference", "version": "2.1"}
            version = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
            send({"id": number, "result": version})
        elif method == "tools/list":
            send({"id": number, "result": {"tools": TOOLS}})
        elif method == "tools/call":
            name, given = params["name"], params.get("arguments", {})
            if options.log:
                with Path(options.log).open("a", encoding="utf-8") as log:
                    log.write(json.dumps(params) + "\n")
            if name == "remember":
                store.write(given["user"], given["notes"])
                send({"id": number, "result": {"content": [], "structuredContent": {"stored": len(given["notes"])}}})
            elif name == "forget":
                store.reset(given["user"])
                send({"id": number, "result": {"content": [text("done")]}})
            elif name == "answer":
                seen += 1
                fault = options.fault if seen == options.at else "none"
                send({"id": number, "result": answered(fault, *store.ask(given["user"], given["question"]))})
            elif name == "recall":
                seen += 1
                fault = options.fault if seen == options.at else "none"
                result = recall(fault, number, store.search(given["user"], given["query"], given.get("limit")))
                if result is None:
                    send({"id": number, "error": {"code": -32603, "message": "it broke inside"}})
                else:
                    send({"id": number, "result": result})
            else:
                send({"id": number, "error": {"code": -32602, "message": f"Unknown tool: {name}"}})
        else:
            send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    main()
